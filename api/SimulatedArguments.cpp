// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names, positions and values of a kernel's arguments: the front half of SimulatedKernel.
#include "api/SimulatedKernel.h"
#include "api/Values.h"
#include "binary/AmdAbi.h"
#include "binary/AmdPackage.h"
#include "support/File.h"
#include "support/Npy.h"
#include "support/Suggest.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {
namespace {

constexpr uint64_t mostKernargBytes = 1 << 16;

bool isLdsSize(const AmdArgument &argument) {
  return argument.valueKind == "dynamic_shared_pointer";
}

bool isFiller(const AmdArgument &argument) {
  return argument.valueKind == "by_value" && isFillerName(argument.name);
}

uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// The bytes of a file: of the array where it is a .npy.
std::string readBytes(const std::string &path) {
  std::string bytes = readFile(path);
  return bytes.starts_with("\x93NUMPY") ? parseNpy(bytes, path).bytes : bytes;
}

/// Whether the metadata or a structure's description says that a number has no fraction.
bool isIntegerName(const std::string &type) {
  for (const char *word : {"int", "long", "short", "char", "size_t", "bool"})
    if (type.find(word) != std::string::npos)
      return true;
  return false;
}

std::string formsOfBuffers() {
  return "a buffer is `@file.npy`, `f32[64,128]` (zeros), `rand:f32[64,128]:SEED` or `ptrs:A,B`; a null pointer is "
         "`null`, another buffer's address `addr:NAME`";
}

} // namespace

// ---- Slots ----

void SimulatedKernel::makeSlots() {
  std::map<std::string, unsigned> uses;
  for (const AmdArgument &argument : kernel.arguments)
    uses[argument.name] += !argument.isHidden();
  for (const AmdArgument &argument : kernel.arguments) {
    if (argument.isHidden() || !request.kernarg.empty())
      continue;
    bool isOwn = !argument.name.empty() && uses[argument.name] == 1;
    slots.push_back({isOwn ? argument.name : std::to_string(slots.size()), argument, {}, {}});
  }
  argumentCount = slots.size();
  for (std::string &segment : segments)
    segment.assign(kernel.kernargBytes, '\0');
  if (!request.kernarg.empty())
    takeKernarg();
  for (const NamedValue &given : request.arguments)
    if (isLayout(given.value))
      expand(given);
}

void SimulatedKernel::addFields(const ArgumentLayout &layout, const std::string &prefix, uint64_t base) {
  for (const LayoutField &field : layout.fields) {
    AmdArgument argument;
    argument.name = field.name.substr(field.name.rfind('.') + 1);
    argument.valueKind = field.type ? "by_value" : "global_buffer";
    argument.offset = base + field.offset;
    argument.sizeBytes = field.sizeBytes;
    slots.push_back({prefix + field.name, argument, field.type, field.value});
  }
}

/// `--kernarg`: all bytes of the segment.
void SimulatedKernel::takeKernarg() {
  const std::string &value = request.kernarg;
  std::string bytes;
  if (isLayout(value)) {
    ArgumentLayout layout = parseLayout(value, request.devices);
    addFields(layout, "", 0);
    bytes.resize(layout.sizeBytes);
  } else if (value.starts_with('@') && value.size() > 1) {
    bytes = readBytes(value.substr(1));
  } else {
    throw inputError(fmt::format("`--kernarg {}` is neither bytes nor a structure", value),
                     {"give `--kernarg @file`, with raw bytes or a .npy, or `--kernarg struct:layout.json`"});
  }
  if (bytes.size() > mostKernargBytes)
    throw inputError(
        fmt::format("`--kernarg {}` has {} bytes, and {} are the most", value, bytes.size(), mostKernargBytes));
  bytes.resize(std::max(bytes.size(), segments[0].size()));
  for (std::string &segment : segments)
    segment = bytes;
}

/// An argument that is a structure becomes its fields.
void SimulatedKernel::expand(const NamedValue &given) {
  std::string option = fmt::format("`--arg {}={}`", given.name, given.value.starts_with("{") ? "{...}" : given.value);
  Target target = targetOf(given.name, "--arg");
  if (target.slots.empty())
    throw noArgument(target.name);
  if (target.slots.size() > 1)
    throw repeatedName(target, option);
  if (target.device)
    throw inputError(fmt::format("{}: a structure is given for all devices at once", option),
                     {fmt::format("`--arg {}.FIELD@{}=VALUE` is one device's", target.name, *target.device)});
  Slot &slot = slots[target.slots[0]];
  const AmdArgument argument = slot.argument;
  if (argument.isBuffer() || isLdsSize(argument) || target.slots[0] >= argumentCount)
    throw inputError(fmt::format("{}: `{}` is no argument of bytes by value", option, target.name),
                     {"a structure is given where the kernel takes one by value; "
                      "`--kernarg struct:layout.json` gives the whole argument segment"});
  ArgumentLayout layout = within(target.name, [&] { return parseLayout(given.value, request.devices); });
  if (layout.sizeBytes > argument.sizeBytes || (layout.saysSize && layout.sizeBytes != argument.sizeBytes))
    throw inputError(fmt::format("argument `{}` has {} bytes, and its structure has {}", target.name,
                                 argument.sizeBytes, layout.sizeBytes),
                     {"mend the structure's offsets or `size`; where the kernel reads more than its metadata says, "
                      "`--kernarg struct:layout.json` gives the whole argument segment"});
  slot.isStructure = true;
  addFields(layout, target.name + ".", argument.offset);
}

// ---- Names ----

std::vector<std::string> SimulatedKernel::argumentNotes() const {
  std::vector<std::string> texts;
  size_t fillers = 0;
  for (const Slot &slot : slots) {
    const AmdArgument &argument = slot.argument;
    if (isFiller(argument)) {
      ++fillers;
      continue;
    }
    if (slot.isStructure)
      continue;
    std::string what = argument.isBuffer()   ? "pointer"
                       : slot.type           ? elementTypeName(*slot.type)
                       : isLdsSize(argument) ? "bytes of LDS"
                                             : fmt::format("{} bytes", argument.sizeBytes);
    std::string type = argument.typeName.empty() ? "" : " (" + argument.typeName + ")";
    bool isPosition = !argument.name.empty() && parseWholeNumber(slot.name);
    texts.push_back(fmt::format("{}: {}{}{}", slot.name, what, type, isPosition ? " `" + argument.name + "`" : ""));
  }
  std::string list = texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
  if (fillers)
    list += fmt::format("; {} filler{} 0 unless given", fillers, fillers == 1 ? " is" : "s are");
  return {fmt::format("the arguments of `{}` are {}", kernel.name, list)};
}

/// A position, a name, a name that several arguments have, or the name of a field alone.
std::vector<size_t> SimulatedKernel::slotsNamed(const std::string &name) const {
  if (std::optional<uint64_t> position = parseWholeNumber(name); position && *position < argumentCount)
    return {size_t(*position)};
  std::vector<size_t> repeated, fields;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].name == name)
      return {i};
    if (i < argumentCount && slots[i].argument.name == name)
      repeated.push_back(i);
    if (i >= argumentCount && slots[i].name.ends_with("." + name))
      fields.push_back(i);
  }
  return repeated.empty() ? fields : repeated;
}

/// `NAME` or `NAME@DEVICE`; the target has the slot's name where it is one.
SimulatedKernel::Target SimulatedKernel::targetOf(const std::string &name, const char *option) const {
  Target target{name, std::nullopt, {}};
  if (size_t at = name.rfind('@'); at != std::string::npos) {
    std::optional<uint64_t> device = parseWholeNumber(std::string_view(name).substr(at + 1));
    if (!device || *device >= request.devices)
      throw inputError(fmt::format(
          "`{} {}=...`: `{}` is no device; {}", option, name, name.substr(at + 1),
          request.devices == 1 ? "there is device 0" : fmt::format("there are devices 0 to {}", request.devices - 1)));
    target.name = name.substr(0, at);
    target.device = unsigned(*device);
  }
  target.slots = slotsNamed(target.name);
  if (target.slots.size() == 1)
    target.name = slots[target.slots[0]].name;
  return target;
}

Error SimulatedKernel::noArgument(const std::string &name) const {
  std::vector<std::string> known, notes = argumentNotes();
  for (const Slot &slot : slots)
    known.push_back(slot.name);
  if (std::string close = closestName(name, known); !close.empty())
    notes.insert(notes.begin(), fmt::format("the closest argument is `{}`", close));
  return inputError(fmt::format("kernel `{}` has no argument `{}`", kernel.name, name), notes);
}

/// `what` is the option that used the name.
Error SimulatedKernel::repeatedName(const Target &target, const std::string &what) const {
  std::vector<std::string> names;
  for (size_t slot : target.slots)
    names.push_back(slots[slot].name);
  bool areFields = target.slots[0] >= argumentCount;
  return inputError(
      fmt::format("{}: {} {} of kernel `{}` are named `{}`", what, names.size(), areFields ? "fields" : "arguments",
                  kernel.name, target.name),
      {fmt::format("they are {}", fmt::join(names, ", ")),
       areFields ? "give the whole name" : fmt::format("give the position, as `--arg {}=VALUE`", names[0])});
}

// ---- Collecting ----

/// That the name and the value of an `--arg` or a `--buffer` go together.
void SimulatedKernel::checkTarget(const NamedValue &value, const Target &target, const char *option) const {
  bool isArgument = !target.slots.empty();
  if (std::string_view(option) != "--arg") {
    if (isArgument)
      throw inputError(
          fmt::format("`{} {}=...`: `{}` is an argument of kernel `{}`; a `--buffer` needs a name of its own", option,
                      value.name, target.name, kernel.name));
    return;
  }
  if (!isArgument)
    throw noArgument(target.name);
  if (slots[target.slots[0]].isStructure)
    throw inputError(fmt::format("`--arg {}={}`: `{}` is given as a structure", value.name, value.value, target.name),
                     {fmt::format("`--arg {}.FIELD=VALUE` gives a field of it", target.name)});
  if (target.slots.size() == 1)
    return;
  using enum ArgumentValue::Kind;
  ArgumentValue::Kind kind =
      within(target.name, [&] { return parseArgumentValue(value.value, 0, request.devices).kind; });
  if (kind == Buffer || kind == Address) // one number or null is for all of the name
    throw repeatedName(target, fmt::format("`--arg {}={}`", value.name, value.value));
}

/// What is more special comes later: a repeated name, a name or position, and each of them of one device.
void SimulatedKernel::collect(const std::vector<NamedValue> &given, const char *option, Values &values) const {
  checkRepeated(given, option);
  std::map<std::pair<std::string, std::optional<unsigned>>, const NamedValue *> seen;
  std::vector<std::pair<Target, const NamedValue *>> found;
  for (const NamedValue &value : given) {
    if (isLayout(value.value) && std::string_view(option) == "--arg")
      continue;
    Target target = targetOf(value.name, option);
    checkTarget(value, target, option);
    if (auto [before, isNew] = seen.try_emplace({target.name, target.device}, &value); !isNew)
      throw inputError(fmt::format("`{0} {1}=...` and `{0} {2}=...` are the same: `{3}` and `{4}`", option,
                                   before->second->name, value.name, before->second->value, value.value));
    found.emplace_back(std::move(target), &value);
  }
  for (int rank = 0; rank < 4; ++rank)
    for (const auto &[target, value] : found)
      if (rank == 2 * (target.slots.size() <= 1) + target.device.has_value())
        put(target, value->value, values);
}

void SimulatedKernel::put(const Target &target, const std::string &text, Values &values) const {
  std::vector<std::string> names;
  for (size_t slot : target.slots)
    names.push_back(slots[slot].name);
  if (names.empty())
    names.push_back(target.name);
  for (const std::string &name : names) {
    Texts &texts = values[name];
    texts.resize(request.devices);
    for (unsigned device = 0; device < request.devices; ++device)
      if (!target.device || device == *target.device)
        texts[device] = text;
  }
}

/// What structures say of their fields, and zeros in fillers.
void SimulatedKernel::setDefaults(Values &values) const {
  for (const Slot &slot : slots) {
    std::optional<std::string> otherwise = slot.value;
    if (!otherwise && isFiller(slot.argument) && !slot.isStructure)
      otherwise = "0";
    if (!otherwise)
      continue;
    Texts &texts = values[slot.name];
    texts.resize(request.devices);
    for (std::optional<std::string> &text : texts)
      text = text ? text : otherwise;
  }
}

void SimulatedKernel::checkMissing(const Values &values) const {
  std::vector<std::string> missing;
  for (const Slot &slot : slots) {
    auto found = values.find(slot.name);
    if (slot.isStructure || (found == values.end() && slot.name == amdRecordName))
      continue; // each run has a record of its own
    if (found == values.end()) {
      missing.push_back("`" + slot.name + "`");
      continue;
    }
    for (unsigned device = 0; device < request.devices; ++device)
      if (!found->second[device])
        throw inputError(
            fmt::format("argument `{}` of kernel `{}` is missing on device {}", slot.name, kernel.name, device),
            {fmt::format("`--arg {}=VALUE` is for all devices", slot.name)});
  }
  if (!missing.empty())
    throw inputError(fmt::format("{} {} of kernel `{}` {} missing", missing.size() == 1 ? "argument" : "arguments",
                                 fmt::join(missing, ", "), kernel.name, missing.size() == 1 ? "is" : "are"),
                     argumentNotes());
}

// ---- Values ----

void SimulatedKernel::prepareDevice(unsigned device, const Values &values, const Values &extra) {
  for (const Slot &slot : slots)
    if (auto found = values.find(slot.name); found != values.end() && !slot.isStructure) {
      const std::string &text = *found->second[device];
      prepare(slot, within(slot.name, [&] { return parseArgumentValue(text, device, request.devices); }), device);
    }
  for (const auto &[given, texts] : extra) {
    if (!texts[device])
      continue;
    ArgumentValue value = parseArgumentValue(*texts[device], device, request.devices);
    if (value.kind != ArgumentValue::Kind::Buffer)
      throw inputError(fmt::format("`--buffer {}` makes a buffer, but `{}` is not a buffer", given, value.text));
    addBuffer(given, value, device);
  }
}

void SimulatedKernel::addBuffer(const std::string &name, const ArgumentValue &value, unsigned device) {
  std::vector<size_t> &indices = byName[name];
  if (value.onHost && device > 0) {
    if (indices.empty() || buffers[indices[0]].device != -1)
      throw inputError(fmt::format("buffer `{}` is on the host for device {}, and not for device 0", name, device));
    return indices.push_back(indices[0]);
  }
  const BufferSpec &spec = value.spec;
  SimulatedBuffer made;
  made.base = name;
  made.device = request.devices > 1 && !value.onHost ? int(device) : -1;
  made.placement = value.placement;
  made.slackBytes = value.slackBytes;
  Array &array = made.array;
  array.name = made.device < 0 ? name : fmt::format("{}@{}", name, device);
  if (spec.kind == BufferSpec::Kind::File) {
    NpyArray file = readNpy(spec.path);
    array.type = typeOfDtype(file.dtype, spec.path);
    array.dtype = file.dtype;
    array.shape = std::move(file.shape);
    array.bytes = std::move(file.bytes);
    made.sizeBytes = array.bytes.size();
  } else {
    array.type = spec.type;
    array.dtype = numpyDtype(spec.type);
    array.shape = spec.shape;
    made.sizeBytes = uint64_t(spec.sizeBytes());
    made.isInitialised = value.isInitialised;
    if (spec.kind == BufferSpec::Kind::Random)
      array.bytes = materialize(spec);
  }
  indices.push_back(buffers.size());
  buffers.push_back(std::move(made));
  pointerNames.push_back(spec.names);
}

void SimulatedKernel::putBytes(const AmdArgument &argument, const void *bytes, uint64_t size, unsigned device) {
  std::memcpy(segments[device].data() + argument.offset, bytes, std::min(size, argument.sizeBytes));
}

/// A pointer in any address space, or what may be one where the metadata has no type: a type by value has no `*`. Some
/// metadata give a pointer 4 bytes, and the others to a filler.
bool SimulatedKernel::takesAddress(const Slot &slot) const {
  const AmdArgument &argument = slot.argument;
  if (slot.type || isLdsSize(argument))
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
    throw inputError(
        fmt::format("{} bytes, and `{}` has {}", argument.sizeBytes, value.text, elementSizeBytes(*value.type)),
        {fmt::format("give a number of {} bytes", argument.sizeBytes)});
  if (value.type)
    return *value.type;
  std::optional<ElementType> named = slot.type ? slot.type : namedType(argument);
  bool isFloating = isFloatingText(text);
  if (isFloating && (named ? !isFloat(*named) : isIntegerName(argument.typeName)))
    throw inputError(fmt::format("`{}` is not a scalar of type {}", text,
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
    throw inputError(fmt::format("{} bytes, and `{}` is one number", argument.sizeBytes, text),
                     {"give its bytes as `@file.npy`, its fields as `struct:layout.json`, or 0"});
  }
}

void SimulatedKernel::putScalar(const Slot &slot, const ArgumentValue &value, unsigned device) {
  const AmdArgument &argument = slot.argument;
  if (isLdsSize(argument)) { // after the LDS of the kernel and of earlier arguments
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
      throw inputError(fmt::format("argument `{}` is a pointer, but `{}` is not a buffer", slot.name, value.text),
                       {formsOfBuffers()});
    return within(slot.name, [&] { putScalar(slot, value, device); });
  }
  if (value.kind == Buffer)
    return prepareBuffer(slot, value, device);
  if (!takesAddress(slot))
    throw inputError(fmt::format("argument `{}` has {} bytes by value, but `{}` is an address", slot.name,
                                 argument.sizeBytes, value.text),
                     {"give a number"});
  if (value.kind == Address)
    namedAddresses.push_back({argument.offset, device, slot.name, value});
}

void SimulatedKernel::prepareBuffer(const Slot &slot, const ArgumentValue &value, unsigned device) {
  const AmdArgument &argument = slot.argument;
  if (isLdsSize(argument))
    throw inputError(
        fmt::format("argument `{}` is a number of bytes of LDS, but `{}` is a buffer", slot.name, value.text));
  bool isFile = value.spec.kind == BufferSpec::Kind::File;
  bool wantsBytes = isFile && !argument.isBuffer() && argument.sizeBytes == 4;
  if (takesAddress(slot) && !wantsBytes) {
    addBuffer(slot.name, value, device);
    addresses[device].push_back({argument.offset, byName[slot.name].back()});
    return;
  }
  if (!isFile)
    throw inputError(fmt::format("argument `{}` has {} bytes by value, but `{}` is a buffer of {} bytes", slot.name,
                                 argument.sizeBytes, value.text, value.spec.sizeBytes()),
                     {"give a number, its bytes as `@file.npy`, or its fields as `struct:layout.json`"});
  std::string bytes = readBytes(value.spec.path);
  if (bytes.size() != argument.sizeBytes)
    throw inputError(fmt::format("argument `{}` has {} bytes, and `{}` has {}", slot.name, argument.sizeBytes,
                                 value.text, bytes.size()),
                     {"give a file of that size; `--kernarg @file` gives the whole argument segment"});
  putBytes(argument, bytes.data(), bytes.size(), device);
}

} // namespace heddle
