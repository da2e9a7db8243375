// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface: devices, buffers, streams, copies and events.
#include "chips/Chip.h"
#include "library/Compiler.h"
#include "library/Handles.h"
#include "library/Json.h"
#include "runtime/Driver.h"
#include <fmt/format.h>

using namespace heddle;

namespace {

std::string nameOrEmpty(const char *name) {
  return name ? name : "";
}

/// The address of a range of a buffer.
uint64_t rangeOf(const Buffer &buffer, uint64_t offset, uint64_t sizeBytes, const char *parameter) {
  if (offset > buffer.sizeBytes() || sizeBytes > buffer.sizeBytes() - offset)
    throw inputError(fmt::format("`{}`: {} bytes from byte {} on do not fit the buffer of {} bytes", parameter,
                                 sizeBytes, offset, buffer.sizeBytes()));
  return buffer.address() + offset;
}

} // namespace

heddle_status heddle_device_open(const char *name, heddle_device *device) {
  return guarded([&] {
    requirePointer(name, "name", "a device's name");
    requirePointer(device, "device", "a place for the handle");
    give(device, DeviceObject{openAnyDevice(name)});
  });
}

heddle_status heddle_device_describe(heddle_device device, heddle_text *json) {
  return guarded([&] {
    auto object = find<DeviceObject>(device, "device");
    requirePointer(json, "json", "a place for the handle");
    Device &each = *object->device;
    MemoryInfo memory = each.memoryInfo();
    nlohmann::ordered_json description = {
        {"name", each.name()},           {"description", each.description()},  {"driver", each.driver().name()},
        {"target", each.chip().name},    {"ordinal", each.ordinal()},          {"memoryBytes", memory.totalBytes},
        {"freeBytes", memory.freeBytes}, {"computeUnits", each.computeUnits()}};
    giveJson(json, description);
  });
}

heddle_status heddle_buffer_create(heddle_device device, uint64_t size_bytes, const char *name, heddle_buffer *buffer) {
  return guarded([&] {
    auto object = find<DeviceObject>(device, "device");
    requirePointer(buffer, "buffer", "a place for the handle");
    give(buffer, BufferObject{object->device->allocate(size_bytes, nameOrEmpty(name))});
  });
}

heddle_status heddle_buffer_adopt(heddle_device device, uint64_t address, uint64_t size_bytes, const char *name,
                                  heddle_buffer *buffer) {
  return guarded([&] {
    auto object = find<DeviceObject>(device, "device");
    requirePointer(buffer, "buffer", "a place for the handle");
    give(buffer, BufferObject{object->device->adopt(address, size_bytes, nameOrEmpty(name))});
  });
}

heddle_status heddle_buffer_get(heddle_buffer buffer, uint64_t *address, uint64_t *size_bytes) {
  return guarded([&] {
    auto object = find<BufferObject>(buffer, "buffer");
    requirePointer(address, "address", "a place for the address");
    requirePointer(size_bytes, "size_bytes", "a place for the number of bytes");
    *address = object->buffer.address();
    *size_bytes = object->buffer.sizeBytes();
  });
}

heddle_status heddle_stream_create(heddle_device device, heddle_stream *stream) {
  return guarded([&] {
    auto object = find<DeviceObject>(device, "device");
    requirePointer(stream, "stream", "a place for the handle");
    give(stream, StreamObject{object->device, object->device->createStream()});
  });
}

heddle_status heddle_stream_adopt(heddle_device device, void *handle, heddle_stream *stream) {
  return guarded([&] {
    auto object = find<DeviceObject>(device, "device");
    requirePointer(stream, "stream", "a place for the handle");
    give(stream, StreamObject{object->device, object->device->adoptStream(handle)});
  });
}

heddle_status heddle_stream_synchronize(heddle_stream stream) {
  return guarded([&] { find<StreamObject>(stream, "stream")->stream->synchronize(); });
}

heddle_status heddle_stream_is_capturing(heddle_stream stream, int32_t *capturing) {
  return guarded([&] {
    auto queue = find<StreamObject>(stream, "stream");
    requirePointer(capturing, "capturing", "a place for the answer");
    *capturing = queue->stream->captureId() ? 1 : 0;
  });
}

heddle_status heddle_copy_to_device(heddle_stream stream, heddle_buffer to, uint64_t to_offset, const void *from,
                                    uint64_t size_bytes) {
  return guarded([&] {
    auto queue = find<StreamObject>(stream, "stream");
    auto object = find<BufferObject>(to, "to");
    uint64_t address = rangeOf(object->buffer, to_offset, size_bytes, "to");
    if (size_bytes == 0)
      return;
    requirePointer(from, "from", "memory of the host");
    queue->stream->copyToDevice(address, from, size_bytes);
  });
}

heddle_status heddle_copy_to_host(heddle_stream stream, void *to, heddle_buffer from, uint64_t from_offset,
                                  uint64_t size_bytes) {
  return guarded([&] {
    auto queue = find<StreamObject>(stream, "stream");
    auto object = find<BufferObject>(from, "from");
    uint64_t address = rangeOf(object->buffer, from_offset, size_bytes, "from");
    if (size_bytes == 0)
      return;
    requirePointer(to, "to", "memory of the host");
    queue->stream->copyToHost(to, address, size_bytes);
  });
}

heddle_status heddle_copy(heddle_stream stream, heddle_buffer to, uint64_t to_offset, heddle_buffer from,
                          uint64_t from_offset, uint64_t size_bytes) {
  return guarded([&] {
    auto queue = find<StreamObject>(stream, "stream");
    auto target = find<BufferObject>(to, "to"), source = find<BufferObject>(from, "from");
    uint64_t end = rangeOf(target->buffer, to_offset, size_bytes, "to");
    uint64_t start = rangeOf(source->buffer, from_offset, size_bytes, "from");
    if (size_bytes > 0)
      queue->stream->copy(end, start, size_bytes);
  });
}

heddle_status heddle_fill(heddle_stream stream, heddle_buffer buffer, uint64_t offset, uint64_t size_bytes,
                          uint8_t value) {
  return guarded([&] {
    auto queue = find<StreamObject>(stream, "stream");
    auto object = find<BufferObject>(buffer, "buffer");
    uint64_t address = rangeOf(object->buffer, offset, size_bytes, "buffer");
    if (size_bytes > 0)
      queue->stream->fill(address, value, size_bytes);
  });
}

heddle_status heddle_event_create(heddle_device device, heddle_event *event) {
  return guarded([&] {
    auto object = find<DeviceObject>(device, "device");
    requirePointer(event, "event", "a place for the handle");
    give(event, EventObject{object->device->createEvent()});
  });
}

heddle_status heddle_event_record(heddle_event event, heddle_stream stream) {
  return guarded([&] {
    auto object = find<EventObject>(event, "event");
    find<StreamObject>(stream, "stream")->stream->record(object->event);
  });
}

heddle_status heddle_stream_wait(heddle_stream stream, heddle_event event) {
  return guarded([&] {
    auto queue = find<StreamObject>(stream, "stream");
    queue->stream->wait(find<EventObject>(event, "event")->event);
  });
}

heddle_status heddle_event_synchronize(heddle_event event) {
  return guarded([&] { find<EventObject>(event, "event")->event->synchronize(); });
}

heddle_status heddle_event_elapsed(heddle_event start, heddle_event end, double *milliseconds) {
  return guarded([&] {
    auto from = find<EventObject>(start, "start"), to = find<EventObject>(end, "end");
    requirePointer(milliseconds, "milliseconds", "a place for the number");
    *milliseconds = to->event->millisecondsSince(*from->event);
  });
}
