// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface: kernels, launches, graphs and printed lines.
#include "library/Handles.h"
#include "library/Structures.h"
#include "runtime/Device.h"
#include "runtime/Print.h"
#include <algorithm>
#include <fmt/format.h>

using namespace heddle;

namespace {

constexpr size_t firstOptionsSize = 48; ///< of interface version 1

heddle_launch_options readLaunchOptions(const heddle_launch_options *given) {
  heddle_launch_options options = {sizeof options, {1, 1, 1}, 0, 0, 0};
  if (!given)
    return options;
  options = readStructure(given, firstOptionsSize, "options");
  if (options.reserved != 0)
    throw inputError(fmt::format("`options->reserved` is {}, and must be 0", options.reserved));
  auto &[x, y, z] = options.grid;
  x = x == 0 && y == 0 && z == 0 ? 1 : x;
  y = y == 0 ? 1 : y;
  z = z == 0 ? 1 : z;
  return options;
}

using BufferList = std::vector<std::shared_ptr<BufferObject>>;

/// Appends the buffer to `held`. Throws Error{Input} for one that is not of the stream's device.
DeviceAddress readBuffer(uint64_t bits, size_t index, const Device &device, BufferList &held) {
  auto handle = reinterpret_cast<const void *>(bits);
  auto object = std::static_pointer_cast<BufferObject>(findHandleIfAny(handle, HandleKind::Buffer));
  if (!object)
    object = find<BufferObject>(handle, fmt::format("values[{}]", index).c_str()); // throws
  const Device *owner = object->buffer.device();
  if (owner && owner != &device && owner->name() != device.name())
    throw inputError(
        fmt::format("`values[{}]` is a buffer of {}, and the stream is of {}", index, owner->name(), device.name()));
  held.push_back(std::move(object));
  return DeviceAddress(held.back()->buffer);
}

LaunchArgument readValue(const heddle_value &value, size_t index, const Device &device, BufferList &held) {
  if (value.reserved != 0)
    throw inputError(fmt::format("`values[{}].reserved` is {}, and must be 0", index, value.reserved));
  switch (value.kind) {
  case HEDDLE_SCALAR:
    return ScalarBits{value.bits};
  case HEDDLE_ADDRESS:
    return DeviceAddress(value.bits);
  case HEDDLE_BUFFER:
    return readBuffer(value.bits, index, device, held);
  default:
    throw inputError(fmt::format("`values[{}].kind` is {}, and must be HEDDLE_SCALAR ({}), HEDDLE_ADDRESS ({}) or "
                                 "HEDDLE_BUFFER ({})",
                                 index, value.kind, int(HEDDLE_SCALAR), int(HEDDLE_ADDRESS), int(HEDDLE_BUFFER)));
  }
}

} // namespace

heddle_status heddle_kernel_load(heddle_device device, heddle_package package, heddle_kernel *kernel) {
  return guarded([&] {
    auto object = find<DeviceObject>(device, "device");
    auto loaded = find<PackageObject>(package, "package");
    requirePointer(kernel, "kernel", "a place for the handle");
    give(kernel, KernelObject{Kernel{object->device->loadModule(loaded->package)}});
  });
}

heddle_status heddle_launch(heddle_stream stream, heddle_kernel kernel, const heddle_launch_options *options,
                            const heddle_value *values, size_t count) {
  return guarded([&] {
    auto queue = find<StreamObject>(stream, "stream");
    auto object = find<KernelObject>(kernel, "kernel");
    if (count > 0)
      requirePointer(values, "values", "an array of arguments");
    heddle_launch_options read = readLaunchOptions(options);
    Launch launch{.kernel = object->kernel,
                  .grid = {read.grid[0], read.grid[1], read.grid[2]},
                  .cooperative = read.cooperative != 0,
                  .timeoutSeconds = read.timeout_seconds};
    launch.arguments.reserve(std::min<size_t>(count, 64));
    BufferList held; // until the launch is in the stream: other threads may release them meanwhile
    // A count that is wrong is refused before all of the array is read.
    for (size_t i = 0; i < std::min(count, object->kernel.arguments().size() + 1); ++i)
      launch.arguments.push_back(readValue(values[i], i, *queue->device, held));
    queue->stream->launch(launch);
  });
}

heddle_status heddle_capture_begin(heddle_stream stream) {
  return guarded([&] { find<StreamObject>(stream, "stream")->stream->beginCapture(); });
}

heddle_status heddle_capture_end(heddle_stream stream, heddle_graph *graph) {
  return guarded([&] {
    auto queue = find<StreamObject>(stream, "stream");
    requirePointer(graph, "graph", "a place for the handle");
    give(graph, GraphObject{queue->stream->endCapture()});
  });
}

heddle_status heddle_graph_launch(heddle_stream stream, heddle_graph graph) {
  return guarded([&] {
    auto queue = find<StreamObject>(stream, "stream");
    queue->stream->launch(*find<GraphObject>(graph, "graph")->graph);
  });
}

heddle_status heddle_set_print(heddle_print_function function, void *user) {
  return guarded([&] {
    setPrintSink(function ? PrintSink([=](const std::string &line) { function(line.c_str(), user); }) : PrintSink());
  });
}
