// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that ships a kernel: it links the runtime alone, no compiler and no LLVM. docs/runtime.md shows it.
#include "binary/Package.h"
#include "runtime/Driver.h"
#include "runtime/Event.h"
#include "runtime/Launch.h"
#include "runtime/Stream.h"
#include "support/Error.h"
#include <cstdio>

using namespace heddle;

static void addVectors(const std::string &packagePath, const std::string &deviceName) {
  std::shared_ptr<Device> device = openDevice(deviceName);
  Kernel kernel{device->loadModule(Package::load(packagePath))};

  constexpr uint32_t count = 4000;
  std::vector<float> x(count, 1.5f), y(count, 2.0f), out(count);
  Buffer xOnDevice = device->allocate(count * sizeof(float), "x");
  Buffer yOnDevice = device->allocate(count * sizeof(float), "y");
  Buffer outOnDevice = device->allocate(count * sizeof(float), "out");

  std::unique_ptr<Stream> stream = device->createStream();
  std::shared_ptr<Event> begin = device->createEvent(), end = device->createEvent();
  stream->copyToDevice(xOnDevice, x.data());
  stream->copyToDevice(yOnDevice, y.data());
  stream->record(begin);
  stream->launch({.kernel = kernel,
                  .grid = {(count + 1023) / 1024, 1, 1}, // the kernel's tiles have 1024 elements
                  .arguments = {xOnDevice, yOnDevice, outOnDevice, ScalarBits{count}}});
  stream->record(end);
  stream->copyToHost(out.data(), outOnDevice);
  stream->synchronize(); // throws what went wrong on the way
  std::printf("out[0] = %g, out[%u] = %g\n", out[0], count - 1, out[count - 1]);
  std::fprintf(stderr, "%.3f ms\n", end->millisecondsSince(*begin));
}

int main(int count, char **words) {
  if (count < 2) {
    std::fputs("usage: heddle-run-package vector_add.hpkg [DEVICE]\n", stderr);
    return int(ErrorClass::Input);
  }
  try {
    addVectors(words[1], count > 2 ? words[2] : "host");
  } catch (const Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    for (const std::string &note : error.notes)
      std::fprintf(stderr, "  note: %s\n", note.c_str());
    return int(error.kind);
  }
}
