// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the JSON of a structure strictly: what it does not know would be another layout than the kernel's, and is
// refused.
#include "api/ArgumentLayout.h"
#include "api/ArgumentValue.h"
#include "support/Error.h"
#include "support/File.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t mostBytes = 1 << 16; ///< of a structure: launches have less
constexpr uint64_t pointerBytes = 8;
constexpr int mostDepth = 32;
const char *const example =
    R"(a structure is {"fields": [{"name": "out", "type": "ptr"}, {"name": "n", "type": "i32", "value": 7}]})";

bool isTrue(const Json &object, const char *key) {
  auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

class LayoutReader {
public:
  LayoutReader(std::string source, unsigned devices) : source(std::move(source)), devices(devices) {}
  ArgumentLayout read(const Json &json);

private:
  struct Extent {
    uint64_t sizeBytes = 0, alignment = 1;
  };
  /// A field's type: an address or a number, and how many of them.
  struct FieldType {
    std::optional<ElementType> element;
    uint64_t elementBytes = pointerBytes, count = 1;
    bool isArray = false;
  };
  [[noreturn]] void fail(const std::string &what, const std::string &note = example) const {
    throw inputError(fmt::format("{}: {}", source, what), {note});
  }
  void checkKeys(const Json &object, const std::string &what, const std::vector<std::string> &known) const;
  void checkFieldKeys(const Json &field, const std::string &structure) const;
  uint64_t numberOf(const Json &object, const char *key, const std::string &what, uint64_t otherwise) const;
  FieldType typeOf(const Json &field, const std::string &name) const;
  std::string textOf(const Json &value, const std::string &name) const;
  std::optional<std::string> valueOf(const Json &field, const FieldType &type, uint64_t index,
                                     const std::string &name) const;
  Extent readFields(const Json &structure, const std::string &prefix, uint64_t base);
  Extent readField(const Json &field, const std::string &name, uint64_t offset);
  Extent readNested(const Json &field, const std::string &name, uint64_t offset);
  uint64_t alignmentOf(const Json &field, const std::string &name, bool isPacked) const;
  void checkOverlaps() const;

  std::string source;
  unsigned devices;
  std::vector<LayoutField> fields;
};

void LayoutReader::checkKeys(const Json &object, const std::string &what, const std::vector<std::string> &known) const {
  if (!object.is_object())
    fail(fmt::format("{} is `{}`, and no object", what, object.dump()));
  for (const auto &[key, unused] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail(fmt::format("{} has `{}`, which is unknown", what, key),
           fmt::format("it may have `{}`", fmt::join(known, "`, `")));
}

/// A number has no `count`, and a structure no `type`: what is not looked at would be another layout than was meant.
void LayoutReader::checkFieldKeys(const Json &field, const std::string &structure) const {
  std::string what = fmt::format("a field of {}", structure);
  if (field.is_object() && field.contains("fields"))
    return checkKeys(field, what + " with `fields`", {"name", "offset", "align", "fields", "count", "packed", "size"});
  if (field.is_object() && field.contains("count"))
    fail(fmt::format("{} has `count`, and no `fields`", what), "an array of numbers is a type, as `i32[4]`");
  checkKeys(field, what, {"name", "type", "value", "offset", "align", "fields"});
}

uint64_t LayoutReader::numberOf(const Json &object, const char *key, const std::string &what,
                                uint64_t otherwise) const {
  auto found = object.find(key);
  if (found == object.end())
    return otherwise;
  if (!found->is_number_unsigned() || found->get<uint64_t>() > mostBytes)
    fail(fmt::format("`{}` of {} is `{}`, and no number from 0 to {}", key, what, found->dump(), mostBytes));
  return found->get<uint64_t>();
}

LayoutReader::FieldType LayoutReader::typeOf(const Json &field, const std::string &name) const {
  auto found = field.find("type");
  if (found == field.end() || !found->is_string())
    fail(fmt::format("field `{}` has no type", name),
         "a type is `ptr`, `i32`, `f32`, `bf16[4]`, or there are `fields`");
  std::string text = found->get<std::string>();
  FieldType type;
  if (size_t open = text.find('['); open != std::string::npos) {
    std::optional<uint64_t> count =
        text.back() == ']' ? parseWholeNumber(std::string_view(text).substr(open + 1, text.size() - open - 2))
                           : std::nullopt;
    if (!count || *count == 0 || *count > mostBytes)
      fail(fmt::format("field `{}` has the type `{}`, whose number of elements is not from 1 to {}", name, text,
                       mostBytes),
           "`i32[4]` are four numbers");
    type.count = *count;
    type.isArray = true;
    text.erase(open);
  }
  if (text == "ptr")
    return type;
  type.element = findElementType(text);
  if (!type.element)
    fail(fmt::format("field `{}` has the type `{}`, which is unknown", name, text),
         "a type is `ptr`, `i8` to `i64`, `ui8` to `ui64`, `f16`, `bf16`, `f32`, `f64`, or such a one with `[N]`");
  type.elementBytes = uint64_t(elementSizeBytes(*type.element));
  return type;
}

std::string LayoutReader::textOf(const Json &value, const std::string &name) const {
  if (value.is_null())
    return "null";
  if (value.is_string())
    return value.get<std::string>();
  if (!value.is_number() && !value.is_boolean())
    fail(fmt::format("field `{}` has the value `{}`", name, value.dump()),
         "a value is a number, a text as an argument takes it, null, or for an array a list of these");
  return value.dump();
}

std::optional<std::string> LayoutReader::valueOf(const Json &field, const FieldType &type, uint64_t index,
                                                 const std::string &name) const {
  auto found = field.find("value");
  if (found == field.end())
    return std::nullopt;
  if (found->is_array()) {
    if (!type.isArray || found->size() != type.count)
      fail(fmt::format("field `{}` has {} elements, and {} values", name, type.count, found->size()),
           "give as many values as elements, or one for all");
    return textOf((*found)[index], name);
  }
  std::string text = textOf(*found, name);
  size_t all = text.starts_with("addr:") ? text.find("@all") : std::string::npos;
  if (all == std::string::npos)
    return text;
  if (type.count != devices)
    fail(fmt::format("field `{}` has {} elements, and `{}` is of {} devices", name, type.count, text, devices),
         fmt::format("declare `ptr[{}]`, or give a list of values", devices));
  return text.replace(all, 4, fmt::format("@{}", index));
}

/// What a field's offset is a multiple of, where it says none.
uint64_t LayoutReader::alignmentOf(const Json &field, const std::string &name, bool isPacked) const {
  uint64_t natural = 1;
  if (auto inner = field.find("fields"); inner != field.end()) {
    bool isInnerPacked = isTrue(field, "packed");
    for (const Json &each : inner->is_array() ? *inner : Json::array())
      natural = std::max(natural, alignmentOf(each, name, isInnerPacked));
  } else {
    natural = typeOf(field, name).elementBytes;
  }
  uint64_t alignment = numberOf(field, "align", fmt::format("field `{}`", name), isPacked ? 1 : natural);
  if (alignment == 0 || (alignment & (alignment - 1)) != 0)
    fail(fmt::format("`align` of field `{}` is {}, and no power of two", name, alignment));
  return alignment;
}

LayoutReader::Extent LayoutReader::readNested(const Json &field, const std::string &name, uint64_t offset) {
  uint64_t count = numberOf(field, "count", fmt::format("field `{}`", name), 1);
  if (count == 0)
    fail(fmt::format("`count` of field `{}` is 0, and an array has at least one structure", name));
  Extent all{0, 1};
  for (uint64_t i = 0; i < count; ++i) {
    std::string prefix = field.contains("count") ? fmt::format("{}[{}].", name, i) : name + ".";
    Extent one = readFields(field, prefix, offset + all.sizeBytes);
    all = {all.sizeBytes + one.sizeBytes, one.alignment};
    if (all.sizeBytes > mostBytes)
      fail(fmt::format("field `{}` has more than {} bytes", name, mostBytes));
  }
  return all;
}

LayoutReader::Extent LayoutReader::readField(const Json &field, const std::string &name, uint64_t offset) {
  if (field.contains("fields"))
    return readNested(field, name, offset);
  FieldType type = typeOf(field, name);
  if (type.count * type.elementBytes > mostBytes)
    fail(fmt::format("field `{}` has {} bytes, and a structure at most {}", name, type.count * type.elementBytes,
                     mostBytes));
  if (fields.size() + type.count > mostBytes) // each has a byte at least
    fail(fmt::format("there are more fields than bytes, of which {} are the most", mostBytes),
         "fields overlap: mend an `offset`");
  for (uint64_t i = 0; i < type.count; ++i)
    fields.push_back({type.isArray ? fmt::format("{}[{}]", name, i) : name, offset + i * type.elementBytes,
                      type.elementBytes, type.element, valueOf(field, type, i, name)});
  return {type.count * type.elementBytes, type.elementBytes};
}

LayoutReader::Extent LayoutReader::readFields(const Json &structure, const std::string &prefix, uint64_t base) {
  std::string what = prefix.empty() ? "the structure" : fmt::format("`{}`", prefix.substr(0, prefix.size() - 1));
  auto list = structure.find("fields");
  if (list == structure.end() || !list->is_array())
    fail(fmt::format("{} has no list of `fields`", what));
  if (list->empty())
    fail(fmt::format("{} has no fields", what));
  if (auto packed = structure.find("packed"); packed != structure.end() && !packed->is_boolean())
    fail(fmt::format("`packed` of {} is `{}`, and neither true nor false", what, packed->dump()));
  bool isPacked = isTrue(structure, "packed");
  Extent all{0, 1};
  std::set<std::string> names;
  for (const Json &field : *list) {
    checkFieldKeys(field, what);
    auto given = field.find("name");
    if (given == field.end() || !given->is_string() || given->get<std::string>().empty())
      fail(fmt::format("a field of {} has no name: `{}`", what, field.dump()));
    std::string name = given->get<std::string>();
    if (name.find_first_of("=@[].+") != std::string::npos)
      fail(fmt::format("a field of {} is named `{}`, and a name has none of `= @ [ ] . +`", what, name));
    if (!names.insert(name).second && !isFillerName(name))
      fail(fmt::format("{} has two fields `{}`", what, name), "give each field a name of its own");
    uint64_t alignment = alignmentOf(field, prefix + name, isPacked);
    uint64_t next = (all.sizeBytes + alignment - 1) / alignment * alignment;
    uint64_t offset = numberOf(field, "offset", fmt::format("field `{}`", prefix + name), next);
    Extent one = readField(field, prefix + name, base + offset);
    all = {std::max(all.sizeBytes, offset + one.sizeBytes), std::max(all.alignment, alignment)};
  }
  uint64_t end = all.sizeBytes;
  if (!isPacked && !prefix.empty())
    all.sizeBytes = (end + all.alignment - 1) / all.alignment * all.alignment;
  all.sizeBytes = numberOf(structure, "size", what, all.sizeBytes);
  if (all.sizeBytes < end)
    fail(fmt::format("{} has `size` {}, and its fields reach to byte {}", what, all.sizeBytes, end),
         "raise `size`, or leave it out");
  return all;
}

void LayoutReader::checkOverlaps() const {
  for (size_t i = 1; i < fields.size(); ++i)
    if (const LayoutField &before = fields[i - 1], &field = fields[i]; before.offset + before.sizeBytes > field.offset)
      fail(fmt::format("fields `{}` (bytes {} to {}) and `{}` (bytes {} to {}) overlap", before.name, before.offset,
                       before.offset + before.sizeBytes - 1, field.name, field.offset,
                       field.offset + field.sizeBytes - 1),
           "mend an `offset`, or leave it out: fields follow each other");
}

ArgumentLayout LayoutReader::read(const Json &json) {
  checkKeys(json, "the structure", {"fields", "size", "packed"});
  ArgumentLayout layout;
  layout.sizeBytes = readFields(json, "", 0).sizeBytes;
  layout.saysSize = json.contains("size");
  if (layout.sizeBytes > mostBytes)
    fail(fmt::format("the structure has {} bytes, and {} are the most", layout.sizeBytes, mostBytes));
  std::sort(fields.begin(), fields.end(),
            [](const LayoutField &a, const LayoutField &b) { return a.offset < b.offset; });
  checkOverlaps();
  layout.fields = std::move(fields);
  return layout;
}

} // namespace

bool isLayout(const std::string &value) {
  return value.starts_with("struct:") || value.starts_with("{");
}

ArgumentLayout parseLayout(const std::string &value, unsigned devices) {
  bool isInline = value.starts_with("{");
  std::string path = isInline ? "" : value.substr(std::string_view("struct:").size());
  if (!isInline && path.empty())
    throw inputError("value `struct:`: the file's name is empty", {"`struct:layout.json` describes a structure"});
  std::string text = isInline ? value : readFile(path), source = isInline ? "the structure's description" : path;
  Json json;
  bool isTooDeep = false;
  try {
    json = Json::parse(text, [&](int depth, Json::parse_event_t, Json &) { return !(isTooDeep |= depth > mostDepth); });
  } catch (const Json::exception &error) {
    std::string what = error.what();
    throw inputError(fmt::format("{} is no JSON: {}", source, what.substr(what.find("] ") + 2)), {example});
  }
  if (isTooDeep)
    throw inputError(fmt::format("{} has structures within structures, more than {} deep", source, mostDepth),
                     {example});
  return LayoutReader(source, devices).read(json);
}

bool isFillerName(const std::string &name) {
  size_t first = name.find_first_not_of('_'), last = name.find_last_not_of("_0123456789");
  if (first == std::string::npos || last == std::string::npos || last < first)
    return false;
  std::string word = name.substr(first, last - first + 1);
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return word == "pad" || word == "padding";
}

} // namespace heddle
