// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes and addresses that the values of a kernel's arguments are: the middle of SimulatedKernel.
#include "api/SimulatedKernel.h"
#include "binary/AmdPackage.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace heddle {
namespace {

uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Whether the metadata or a structure's description says that a number has no fraction.
bool isIntegerName(const std::string &type) {
  for (const char *word : {"int", "long", "short", "char", "size_t", "bool"})
    if (type.find(word) != std::string::npos)
      return true;
  return false;
}

std::string formsOfPointers() {
  return std::string(formsOfBuffers) + "; a null pointer is `null`, another buffer's address `addr:NAME`";
}

} // namespace

void SimulatedKernel::prepareDevice(unsigned device, const Values &values, const Values &extra) {
  for (const Slot &slot : slots)
    if (auto found = values.find(slot.name); found != values.end() && !slot.isStructure) {
      const std::string &text = *found->second[device];
      prepare(slot, within(slot.name, [&] { return parseArgumentValue(text, device, request.devices); }), device);
    }
  for (const auto &[given, texts] : extra) {
    if (!texts[device])
      continue;
    ArgumentValue value = within(
        given, [&, &texts = texts] { return parseArgumentValue(*texts[device], device, request.devices); }, "buffer");
    if (value.kind != ArgumentValue::Kind::Buffer)
      throw ArgumentError(fmt::format("buffer `{}`: `{}` is not a buffer", given, value.text), {formsOfBuffers});
    addBuffer(given, value, device);
  }
}

void SimulatedKernel::addBuffer(const std::string &name, const ArgumentValue &value, unsigned device) {
  std::vector<size_t> &indices = byName[name];
  if (value.onHost && device > 0) {
    if (indices.empty() || buffers[indices[0]].device != -1)
      throw ArgumentError(fmt::format("buffer `{}` is on the host for device {}, and not for device 0", name, device));
    return indices.push_back(indices[0]);
  }
  const PackageArgument *argument = request.package ? request.package->findArgument(name) : nullptr;
  BoundBuffer bound = argument && argument->pointer ? bindBuffer(*argument, value.spec) : makeBuffer(name, value.spec);
  SimulatedBuffer made;
  made.base = name;
  made.device = request.devices > 1 && !value.onHost ? int(device) : -1;
  made.placement = value.placement;
  made.slackBytes = value.slackBytes;
  made.isInitialised = value.isInitialised;
  made.sizeBytes = bound.sizeBytes;
  made.array = std::move(bound.array);
  made.array.name = made.device < 0 ? name : fmt::format("{}@{}", name, device);
  indices.push_back(buffers.size());
  buffers.push_back(std::move(made));
  pointerNames.push_back(std::move(bound.pointers));
}

void SimulatedKernel::putBytes(const AmdArgument &argument, const void *bytes, uint64_t size, unsigned device) {
  std::memcpy(segments[device].data() + argument.offset, bytes, std::min(size, argument.sizeBytes));
}

/// A pointer in any address space, or what may be one where the metadata has no type: a type by value has no `*`. Some
/// metadata give a pointer 4 bytes, and the others to a filler.
bool SimulatedKernel::takesAddress(const Slot &slot) const {
  const AmdArgument &argument = slot.argument;
  if (slot.type || argument.isLdsSize())
    return false;
  bool mayPoint = argument.typeName.empty() || argument.typeName.ends_with('*');
  if (argument.isBuffer() || (argument.sizeBytes == 8 && mayPoint))
    return true;
  if (argument.sizeBytes != 4 || !mayPoint || argument.offset % 8 != 0)
    return false;
  uint64_t begin = argument.offset + 4, end = argument.offset + 8;
  return std::none_of(kernel.arguments.begin(), kernel.arguments.end(), [&](const AmdArgument &other) {
    return other.offset < end && other.offset + other.sizeBytes > begin && !isFiller(other);
  });
}

/// The type that a number is given in: its own, that of the metadata, or of the argument's size and the number's form.
ElementType SimulatedKernel::scalarType(const Slot &slot, const ArgumentValue &value) const {
  using enum ElementType;
  const AmdArgument &argument = slot.argument;
  const std::string &text = value.spec.text;
  if (value.type && uint64_t(elementSizeBytes(*value.type)) != argument.sizeBytes)
    throw ArgumentError(
        fmt::format("{} bytes, and `{}` has {}", argument.sizeBytes, value.text, elementSizeBytes(*value.type)),
        {fmt::format("give a number of {} bytes", argument.sizeBytes)});
  if (value.type)
    return *value.type;
  std::optional<ElementType> named = slot.type ? slot.type : namedType(argument);
  bool isFloating = isFloatingText(text);
  if (isFloating && (named ? !isFloat(*named) : isIntegerName(argument.typeName)))
    throw ArgumentError(fmt::format("`{}` is not a scalar of type {}", text,
                                    named ? elementTypeName(*named) : argument.typeName.c_str()),
                        {fmt::format("give a whole number, or its bits as `f{}:{}`", 8 * argument.sizeBytes, text)});
  if (named)
    return *named;
  switch (argument.sizeBytes) {
  case 1:
    return I8;
  case 2:
    return isFloating ? F16 : I16;
  case 4:
    return isFloating ? F32 : I32;
  case 8:
    return isFloating ? F64 : I64;
  default:
    throw ArgumentError(fmt::format("{} bytes, and `{}` is one number", argument.sizeBytes, text),
                        {"give its bytes as `@file.npy`, its fields as `struct:layout.json`, or 0"});
  }
}

void SimulatedKernel::putScalar(const Slot &slot, const ArgumentValue &value, unsigned device) {
  const AmdArgument &argument = slot.argument;
  if (argument.isLdsSize()) { // after the LDS of the kernel and of earlier arguments
    uint64_t offset = alignUp(kernel.groupBytes + dynamicLds[device], argument.pointeeAlignment);
    uint32_t address = uint32_t(offset);
    dynamicLds[device] = offset - kernel.groupBytes + parseScalar(ElementType::UI32, value.spec.text);
    putBytes(argument, &address, sizeof address, device);
    return;
  }
  if (value.text == "0") // of any size: the segment holds zeros
    return;
  uint64_t bits = parseScalar(scalarType(slot, value), value.spec.text);
  putBytes(argument, &bits, sizeof bits, device);
}

void SimulatedKernel::prepare(const Slot &slot, const ArgumentValue &value, unsigned device) {
  using enum ArgumentValue::Kind;
  const AmdArgument &argument = slot.argument;
  if (value.kind == Scalar) {
    if (argument.isBuffer())
      throw ArgumentError(fmt::format("argument `{}` is a pointer, but `{}` is not a buffer", slot.name, value.text),
                          {formsOfPointers()});
    return within(slot.name, [&] { putScalar(slot, value, device); });
  }
  if (value.kind == Buffer)
    return prepareBuffer(slot, value, device);
  if (!takesAddress(slot))
    throw ArgumentError(fmt::format("argument `{}` has {} bytes by value, but `{}` is an address", slot.name,
                                    argument.sizeBytes, value.text),
                        {"give a number"});
  if (value.kind == Address)
    namedAddresses.push_back({argument.offset, device, slot.name, value});
}

void SimulatedKernel::prepareBuffer(const Slot &slot, const ArgumentValue &value, unsigned device) {
  const AmdArgument &argument = slot.argument;
  if (argument.isLdsSize())
    throw ArgumentError(
        fmt::format("argument `{}` is a number of bytes of LDS, but `{}` is a buffer", slot.name, value.text));
  bool isFile = value.spec.kind == BufferSpec::Kind::File;
  bool wantsBytes = isFile && !argument.isBuffer() && argument.sizeBytes == 4;
  if (takesAddress(slot) && !wantsBytes) {
    addBuffer(slot.name, value, device);
    addresses[device].push_back({argument.offset, byName[slot.name].back()});
    return;
  }
  if (!isFile)
    throw ArgumentError(fmt::format("argument `{}` has {} bytes by value, but `{}` is a buffer of {} bytes", slot.name,
                                    argument.sizeBytes, value.text, value.spec.sizeBytes()),
                        {"give a number, its bytes as `@file.npy`, or its fields as `struct:layout.json`"});
  std::string bytes = readArgumentBytes(value.spec.path);
  if (bytes.size() != argument.sizeBytes)
    throw ArgumentError(fmt::format("argument `{}` has {} bytes, and `{}` has {}", slot.name, argument.sizeBytes,
                                    value.text, bytes.size()),
                        {"give a file of that size, or the whole argument segment"});
  putBytes(argument, bytes.data(), bytes.size(), device);
}

} // namespace heddle
