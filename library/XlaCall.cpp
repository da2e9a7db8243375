// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches of kernels by XLA (docs/jax.md). The attributes of the call hold the whole package, so that executables
// which XLA stores and loads again need no state of the process that made them.
#include "library/Compiler.h"
#include "library/Handles.h"
#include "library/XlaFrame.h"
#include "runtime/Device.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <string_view>

using namespace heddle;

namespace {

// How a kernel's argument is given, by pairs of the attribute `arguments`: kind, then index or bits.
enum ArgumentKind : int64_t { Operand = 0, Result = 1, Bits = 2, NoPointer = 3 };

constexpr int32_t metadataExtension = 1, newestMinor = 3;
constexpr int32_t codeInvalidArgument = 3, codeFailedPrecondition = 9, codeInternal = 13;

void answerMetadata(const xla::Frame &frame, xla::Metadata &metadata) {
  // Of the records that this file reads, versions 0.1 to 0.3 have the same.
  const xla::Functions *functions = frame.functions;
  int32_t minor = functions && functions->version.major == 0 ? functions->version.minor : newestMinor;
  metadata.version.major = 0;
  metadata.version.minor = std::min(minor, newestMinor);
  metadata.traits = 0; // a first launch loads its module, which must not happen in a capture
}

const xla::Elements &attribute(const xla::Frame &frame, std::string_view name, int32_t type) {
  for (int64_t i = 0; i < frame.attributes.size; ++i) {
    const xla::Text &text = *frame.attributes.names[i];
    if (std::string_view(text.data, text.size) != name)
      continue;
    auto &elements = *static_cast<const xla::Elements *>(frame.attributes.values[i]);
    if (frame.attributes.types[i] != xla::elementsAttribute || elements.type != type)
      throw inputError(fmt::format("the attribute `{}` is not an array of {}", name,
                                   type == xla::unsigned8 ? "unsigned bytes" : "64-bit integers"),
                       {"make the call by heddle.jax.call"});
    return elements;
  }
  throw inputError(fmt::format("the call has no attribute `{}`", name), {"make the call by heddle.jax.call"});
}

std::vector<int64_t> integers(const xla::Frame &frame, std::string_view name) {
  const xla::Elements &elements = attribute(frame, name, xla::signed64);
  auto *first = static_cast<const int64_t *>(elements.data);
  return {first, first + elements.size};
}

/// Kernels by device and package; they stay until the process ends, as XLA does not say when it needs one no more.
class LoadedKernels {
public:
  Kernel get(Device &device, std::string_view bytes) {
    std::scoped_lock lock(mutex);
    auto &ofDevice = kernels[device.name()];
    auto found = ofDevice.find(bytes);
    if (found == ofDevice.end())
      found = ofDevice.emplace(bytes, Kernel{device.loadModule(Package::parse(std::string(bytes), "<jax>"))}).first;
    return found->second;
  }

private:
  std::mutex mutex;
  std::map<std::string, std::map<std::string, Kernel, std::less<>>> kernels;
};

LoadedKernels &loadedKernels() {
  static auto *kernels = new LoadedKernels(); // threads of XLA may outlive static objects
  return *kernels;
}

void *pointerOf(const xla::Buffers &buffers, int64_t index, const char *what) {
  if (index < 0 || index >= buffers.size)
    throw inputError(fmt::format("an argument is {} {}, and the call has {}", what, index, buffers.size));
  return buffers.buffers[index]->data;
}

std::vector<LaunchArgument> argumentsOf(const xla::Frame &frame) {
  std::vector<int64_t> pairs = integers(frame, "arguments");
  std::vector<LaunchArgument> arguments;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    switch (pairs[i]) {
    case Operand:
      arguments.push_back(DeviceAddress(uint64_t(pointerOf(frame.operands, pairs[i + 1], "operand"))));
      break;
    case Result:
      arguments.push_back(DeviceAddress(uint64_t(pointerOf(frame.results, pairs[i + 1], "result"))));
      break;
    case Bits:
      arguments.push_back(ScalarBits{uint64_t(pairs[i + 1])});
      break;
    case NoPointer:
      arguments.push_back(DeviceAddress(0));
      break;
    default:
      throw inputError(
          fmt::format("the attribute `arguments` has the kind {} at {}, and kinds are 0 to 3", pairs[i], i));
    }
  return arguments;
}

/// XLA's stream of a GPU. Throws Error{Environment} where XLA has none.
void *streamOf(const xla::Frame &frame) {
  xla::StreamRequest request = {sizeof request, nullptr, frame.context, nullptr};
  if (void *problem = frame.functions->getStream(&request)) {
    frame.functions->destroyError(problem);
    throw environmentError("XLA gives no stream", {"run the call on a GPU, or compile the kernel for the host"});
  }
  return request.stream;
}

int32_t ordinalOf(const xla::Frame &frame) {
  if (frame.functions->sizeBytes < sizeof(xla::Functions))
    return 0; // before version 0.2
  xla::OrdinalRequest request = {sizeof request, nullptr, frame.context, 0};
  if (void *problem = frame.functions->getOrdinal(&request)) {
    frame.functions->destroyError(problem);
    return 0;
  }
  return request.ordinal;
}

/// A thread of XLA waits for its own launches only.
Stream &hostStream(Device &device) {
  thread_local std::unique_ptr<Stream> stream;
  if (!stream)
    stream = device.createStream();
  return *stream;
}

void execute(const xla::Frame &frame) {
  const xla::Elements &package = attribute(frame, "package", xla::unsigned8);
  std::vector<int64_t> where = integers(frame, "place"), grid = integers(frame, "grid");
  if (where.size() != 2 || grid.size() != 3)
    throw inputError(fmt::format("the attributes `place` and `grid` have {} and {} elements, and 2 and 3 are wanted",
                                 where.size(), grid.size()),
                     {"make the call by heddle.jax.call"});
  constexpr const char *places[] = {"host", "cuda", "hip"};
  if (where[0] < 0 || where[0] > 2)
    throw inputError(fmt::format("the attribute `place` is {}, and places are 0 to 2", where[0]));
  bool onHost = where[0] == 0;
  std::shared_ptr<Device> device =
      openAnyDevice(onHost ? std::string("host") : fmt::format("{}:{}", places[where[0]], ordinalOf(frame)));
  Launch launch{.kernel = loadedKernels().get(*device, {static_cast<const char *>(package.data), package.size}),
                .grid = {grid[0], grid[1], grid[2]},
                .arguments = argumentsOf(frame),
                .cooperative = where[1] != 0};
  if (onHost) {
    Stream &stream = hostStream(*device);
    stream.launch(launch);
    stream.synchronize();
  } else {
    std::unique_ptr<Stream> stream = device->adoptStream(streamOf(frame));
    stream->launch(launch);
    if (!launch.kernel.package().sites.empty()) // this call is where XLA takes errors
      stream->synchronize();
  }
}

int32_t codeOf(heddle_status status) {
  return status == HEDDLE_INPUT         ? codeInvalidArgument
         : status == HEDDLE_ENVIRONMENT ? codeFailedPrecondition
                                        : codeInternal;
}

void *fail(const xla::Frame &frame, heddle_status status) {
  std::string message = std::string("heddle: ") + heddle_error_text();
  for (size_t i = 0; i < heddle_error_note_count(); ++i)
    message += std::string("; ") + heddle_error_note(i);
  xla::ErrorRequest request = {sizeof request, nullptr, message.c_str(), codeOf(status)};
  return frame.functions->createError(&request);
}

} // namespace

void *heddle_xla_call(void *call_frame) {
  auto &frame = *static_cast<xla::Frame *>(call_frame);
  for (xla::Extension *each = frame.extensions; each; each = each->next)
    if (each->type == metadataExtension) {
      answerMetadata(frame, *reinterpret_cast<xla::MetadataExtension *>(each)->metadata);
      return nullptr;
    }
  heddle_status status = guarded([&] { execute(frame); });
  return status == HEDDLE_OK ? nullptr : fail(frame, status);
}
