// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names, positions and values of a kernel's arguments: the front half of SimulatedKernel.
#include "api/SimulatedKernel.h"
#include "binary/AmdAbi.h"
#include "binary/AmdPackage.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

constexpr uint64_t mostKernargBytes = 1 << 16;

std::string describeUse(NameUse use, const std::string &name) {
  static constexpr const char *forms[] = {"argument `{}`", "buffer `{}`", "output `{}`",
                                          "buffer `{}`",   "`addr:{}`",   "`ptrs:{}`"};
  return fmt::format(fmt::runtime(forms[size_t(use)]), name);
}

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

/// All bytes of the segment.
void SimulatedKernel::takeKernarg() {
  const std::string &value = request.kernarg;
  std::string bytes;
  if (isLayout(value)) {
    ArgumentLayout layout = parseLayout(value, request.devices);
    addFields(layout, "", 0);
    bytes.resize(layout.sizeBytes);
  } else if (value.starts_with('@') && value.size() > 1) {
    bytes = readArgumentBytes(value.substr(1));
  } else {
    throw ArgumentError(fmt::format("the argument segment `{}` is neither bytes nor a structure", value),
                        {"give `@file`, with raw bytes or a .npy, or `struct:layout.json`"});
  }
  if (bytes.size() > mostKernargBytes)
    throw ArgumentError(fmt::format("the argument segment `{}` has {} bytes, and {} are the most", value, bytes.size(),
                                    mostKernargBytes));
  bytes.resize(std::max(bytes.size(), segments[0].size()));
  for (std::string &segment : segments)
    segment = bytes;
}

/// An argument that is a structure becomes its fields.
void SimulatedKernel::expand(const NamedValue &given) {
  std::string what = fmt::format("argument `{}={}`", given.name, given.value.starts_with("{") ? "{...}" : given.value);
  Target target = targetOf(given.name, NameUse::Argument);
  if (target.slots.empty())
    throw noArgument(target.name);
  if (target.slots.size() > 1)
    throw repeatedName(target, what);
  if (target.device)
    throw ArgumentError(fmt::format("{}: a structure is given for all devices at once", what),
                        {fmt::format("`{}.FIELD@{}=VALUE` is one device's", target.name, *target.device)});
  Slot &slot = slots[target.slots[0]];
  const AmdArgument argument = slot.argument;
  if (argument.isBuffer() || argument.isLdsSize() || target.slots[0] >= argumentCount)
    throw ArgumentError(fmt::format("{}: `{}` is no argument of bytes by value", what, target.name),
                        {"a structure is given where the kernel takes one by value; the whole argument segment may be "
                         "given as one instead"});
  ArgumentLayout layout = within(target.name, [&] { return parseLayout(given.value, request.devices); });
  if (layout.sizeBytes > argument.sizeBytes || (layout.saysSize && layout.sizeBytes != argument.sizeBytes))
    throw ArgumentError(fmt::format("argument `{}` has {} bytes, and its structure has {}", target.name,
                                    argument.sizeBytes, layout.sizeBytes),
                        {"mend the structure's offsets or `size`; where the kernel reads more than its metadata says, "
                         "give the whole argument segment as a structure"});
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
    std::string what = argument.isBuffer()    ? "pointer"
                       : slot.type            ? elementTypeName(*slot.type)
                       : argument.isLdsSize() ? "bytes of LDS"
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
SimulatedKernel::Target SimulatedKernel::targetOf(const std::string &name, NameUse use) const {
  Target target{name, std::nullopt, {}};
  if (size_t at = name.rfind('@'); at != std::string::npos) {
    std::optional<uint64_t> device = parseWholeNumber(std::string_view(name).substr(at + 1));
    if (!device || *device >= request.devices)
      throw ArgumentError(fmt::format(
          "{}: `{}` is no device; {}", describeUse(use, name), name.substr(at + 1),
          request.devices == 1 ? "there is device 0" : fmt::format("there are devices 0 to {}", request.devices - 1)));
    target.name = name.substr(0, at);
    target.device = unsigned(*device);
  }
  target.slots = slotsNamed(target.name);
  if (target.slots.size() == 1)
    target.name = slots[target.slots[0]].name;
  return target;
}

ArgumentError SimulatedKernel::noArgument(const std::string &name) const {
  std::vector<std::string> known;
  for (const Slot &slot : slots)
    known.push_back(slot.name);
  return heddle::noArgument(kernel.name, name, known, argumentNotes());
}

/// `what` says where the name was used.
ArgumentError SimulatedKernel::repeatedName(const Target &target, const std::string &what) const {
  std::vector<std::string> names;
  for (size_t slot : target.slots)
    names.push_back(slots[slot].name);
  bool areFields = target.slots[0] >= argumentCount;
  return ArgumentError(fmt::format("{}: {} {} of kernel `{}` are named `{}`", what, names.size(),
                                   areFields ? "fields" : "arguments", kernel.name, target.name),
                       {fmt::format("they are {}", fmt::join(names, ", ")),
                        areFields ? "give the whole name" : fmt::format("give the position, as `{}=VALUE`", names[0])});
}

// ---- Collecting ----

/// That a name and its value go together.
void SimulatedKernel::checkTarget(const NamedValue &value, const Target &target, NameUse use) const {
  bool isArgument = !target.slots.empty();
  if (use != NameUse::Argument) {
    if (isArgument)
      throw notAnOwnName(value.name, target.name, kernel.name);
    return;
  }
  if (!isArgument)
    throw noArgument(target.name);
  if (slots[target.slots[0]].isStructure)
    throw ArgumentError(
        fmt::format("argument `{}={}`: `{}` is given as a structure", value.name, value.value, target.name),
        {fmt::format("`{}.FIELD=VALUE` gives a field of it", target.name)});
  if (target.slots.size() == 1)
    return;
  using enum ArgumentValue::Kind;
  ArgumentValue::Kind kind =
      within(target.name, [&] { return parseArgumentValue(value.value, 0, request.devices).kind; });
  if (kind == Buffer || kind == Address) // one number or null is for all of the name
    throw repeatedName(target, fmt::format("argument `{}={}`", value.name, value.value));
}

/// What is more special comes later: a repeated name, a name or position, and each of them of one device.
void SimulatedKernel::collect(const std::vector<NamedValue> &given, NameUse use, Values &values) const {
  const char *what = use == NameUse::Argument ? "argument" : "buffer";
  checkRepeated(given, what);
  std::map<std::pair<std::string, std::optional<unsigned>>, const NamedValue *> seen;
  std::vector<std::pair<Target, const NamedValue *>> found;
  for (const NamedValue &value : given) {
    if (isLayout(value.value) && use == NameUse::Argument)
      continue;
    Target target = targetOf(value.name, use);
    checkTarget(value, target, use);
    if (auto [before, isNew] = seen.try_emplace({target.name, target.device}, &value); !isNew)
      throw ArgumentError(fmt::format("{}s `{}` and `{}` are the same: `{}` and `{}` are given", what,
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
      missing.push_back(slot.name);
      continue;
    }
    for (unsigned device = 0; device < request.devices; ++device)
      if (!found->second[device])
        throw ArgumentError(
            fmt::format("argument `{}` of kernel `{}` is missing on device {}", slot.name, kernel.name, device),
            {fmt::format("`{}=VALUE` is for all devices", slot.name)});
  }
  if (!missing.empty())
    throw missingArguments(kernel.name, missing, argumentNotes());
}

} // namespace heddle
