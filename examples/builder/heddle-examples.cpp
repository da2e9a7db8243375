// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The example program: prints a kernel's text, or runs all kernels on a device and compares each with plain
// loops.
#include "chips/Chip.h"
#include "examples/builder/Cases.h"
#include "runtime/Driver.h"
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "support/Error.h"
#include <cstdio>
#include <cstring>

using namespace heddle;
using namespace heddle::examples;

static const char usage[] =
    "usage: heddle-examples [--device D]   run all kernels on a device (host), compare with plain loops\n"
    "       heddle-examples --emit KERNEL  print a kernel's Triton IR or TTGIR, for `heddle compile` and `heddle "
    "run`\n";

static int emitKernel(const std::string &name) {
  std::string names;
  for (const Case &example : allCases()) {
    if (example.program.name() == name) {
      std::fputs(example.program.text().c_str(), stdout);
      return 0;
    }
    names += " " + example.program.name();
  }
  throw inputError("there is no kernel `" + name + "`", {"the kernels are" + names});
}

static int runAll(const std::string &device) {
  bool allRight = true;
  std::string chip = openDevice(device)->chip().name;
  for (const Case &example : allCases()) {
    if (!example.chip.empty() && example.chip != chip) {
      std::printf("%-18s is for %s only\n", example.program.name().c_str(), example.chip.c_str());
      continue;
    }
    double error = largestError(example, runOnDevice(device, example.program.text(), example));
    allRight &= error <= 1;
    std::printf("%-18s %s (largest error %.2g of what is allowed)\n", example.program.name().c_str(),
                error <= 1 ? "right" : "WRONG", error);
  }
  return allRight ? 0 : int(ErrorClass::WrongResult);
}

int main(int count, char **arguments) {
  try {
    addSimulatedDrivers();
    if (count == 1)
      return runAll("host:0");
    if (count == 3 && !std::strcmp(arguments[1], "--device"))
      return runAll(arguments[2]);
    if (count == 3 && !std::strcmp(arguments[1], "--emit"))
      return emitKernel(arguments[2]);
    bool help = count == 2 && !std::strcmp(arguments[1], "--help");
    std::fputs(usage, help ? stdout : stderr);
    return help ? 0 : int(ErrorClass::Input);
  } catch (const Error &error) {
    std::fprintf(stderr, "heddle-examples: error: %s\n", error.what());
    for (const std::string &note : error.notes)
      std::fprintf(stderr, "note: %s\n", note.c_str());
    return int(error.kind);
  }
}
