// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading trusts nothing: sizes are compared with the file before they are used, and every JSON field with its type.
#include "binary/Package.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Hash.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

using Json = nlohmann::ordered_json; // fields stay in the order written, so equal packages give equal bytes

constexpr std::string_view magic("HEDDLEPK");
constexpr size_t headerBytes = 32; // magic 8, version 4, zero 4, JSON size 8, binary size 8
constexpr size_t checksumBytes = 8;

template <typename T>
void appendLittleEndian(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

template <typename T>
T readLittleEndian(const std::string &bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Json argumentToJson(const PackageArgument &argument) {
  return {{"name", argument.name},
          {"type", argument.type},
          {"pointer", argument.pointer},
          {"divisibility", argument.divisibility}};
}

Json siteToJson(const PackageSite &site) {
  Json operands = Json::array();
  for (const PackageSite::Operand &operand : site.operands)
    operands.push_back({{"type", operand.type}, {"shape", operand.shape}, {"signed", operand.isSigned}});
  return {{"operation", site.operation}, {"file", site.file},    {"line", site.line}, {"column", site.column},
          {"message", site.message},     {"operands", operands}, {"hex", site.hex}};
}

Json toJson(const Package &package) {
  Json arguments = Json::array(), sites = Json::array(), limits = Json::array();
  for (const PackageLimit &limit : package.limits)
    limits.push_back(
        {{"what", limit.what}, {"found", limit.found}, {"most", limit.most}, {"consequence", limit.consequence}});
  for (const PackageArgument &argument : package.arguments)
    arguments.push_back(argumentToJson(argument));
  for (const PackageSite &site : package.sites)
    sites.push_back(siteToJson(site));
  return {{"kernel", package.kernel},
          {"entry", package.entry},
          {"target", package.target},
          {"processor", package.processor},
          {"features", package.features},
          {"binaryKind", package.binaryKind},
          {"abiVersion", package.abiVersion},
          {"arguments", arguments},
          {"scratchBytes", package.scratchBytes},
          {"threads", package.threads},
          {"sharedBytes", package.sharedBytes},
          {"dependentLaunch", package.dependentLaunch},
          {"checked", package.checked},
          {"peers", package.peers},
          {"sites", sites},
          {"limits", limits},
          {"remarks", package.remarks},
          {"producer", package.producer},
          {"sourceHash", package.sourceHash}};
}

/// One JSON object, with the path that leads to it for messages.
class Fields {
public:
  Fields(const Json &object, std::string path, const std::string &name)
      : object(object), path(std::move(path)), name(name) {
    if (!object.is_object())
      fail(fmt::format("{} is not an object", this->path.empty() ? "the description" : this->path));
  }

  std::string text(const char *key) const {
    const Json &value = field(key);
    return value.is_string() ? value.get<std::string>() : wrongType<std::string>(key, "a string");
  }
  bool boolean(const char *key) const {
    const Json &value = field(key);
    return value.is_boolean() ? value.get<bool>() : wrongType<bool>(key, "true or false");
  }
  int64_t integer(const char *key, int64_t least) const {
    const Json &value = field(key);
    bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= uint64_t(std::numeric_limits<int64_t>::max())
                                           : value.is_number_integer();
    if (!fits || value.get<int64_t>() < least)
      return wrongType<int64_t>(key, fmt::format("an integer of at least {}", least));
    return value.get<int64_t>();
  }
  /// For fields that packages of before do not have.
  int64_t integer(const char *key, int64_t least, int64_t whenMissing) const {
    return object.contains(key) ? integer(key, least) : whenMissing;
  }
  bool boolean(const char *key, bool whenMissing) const { return object.contains(key) ? boolean(key) : whenMissing; }
  const Json &list(const char *key) const {
    const Json &value = field(key);
    return value.is_array() ? value : wrongType<const Json &>(key, "a list");
  }
  std::vector<std::string> texts(const char *key) const {
    std::vector<std::string> all;
    for (const Json &text : list(key))
      all.push_back(text.is_string() ? text.get<std::string>() : wrongType<std::string>(key, "a list of strings"));
    return all;
  }
  std::string pathOf(const char *key) const { return path.empty() ? key : path + "." + key; }
  Fields element(const char *key, const Json &value, size_t index) const {
    return Fields(value, fmt::format("{}[{}]", pathOf(key), index), name);
  }
  template <typename T>
  T wrongType(const char *key, const std::string &expected) const {
    fail(fmt::format("field `{}` is not {}", pathOf(key), expected));
  }

private:
  const Json &field(const char *key) const {
    auto found = object.find(key);
    if (found == object.end())
      fail(fmt::format("field `{}` is missing", pathOf(key)));
    return *found;
  }
  [[noreturn]] void fail(const std::string &problem) const {
    throw inputError(fmt::format("{}: malformed package: {}", name, problem));
  }

  const Json &object;
  std::string path;
  const std::string &name;
};

PackageArgument readArgument(const Fields &fields) {
  return {fields.text("name"), fields.text("type"), fields.boolean("pointer"), fields.integer("divisibility", 1)};
}

PackageSite::Operand readOperand(const Fields &fields) {
  PackageSite::Operand operand{fields.text("type"), {}, fields.boolean("signed")};
  for (const Json &dimension : fields.list("shape")) {
    if (!dimension.is_number_unsigned() || dimension.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max()))
      fields.wrongType<void>("shape", "a list of dimensions");
    operand.shape.push_back(dimension.get<int64_t>());
  }
  return operand;
}

PackageSite readSite(const Fields &fields) {
  PackageSite site;
  site.operation = fields.text("operation");
  site.file = fields.text("file");
  site.line = fields.integer("line", 0);
  site.column = fields.integer("column", 0);
  site.message = fields.text("message");
  site.hex = fields.boolean("hex");
  for (const Json &operand : fields.list("operands"))
    site.operands.push_back(readOperand(fields.element("operands", operand, site.operands.size())));
  return site;
}

Package fromJson(const Json &json, const std::string &name) {
  Fields fields(json, "", name);
  Package package;
  package.kernel = fields.text("kernel");
  package.entry = fields.text("entry");
  package.target = fields.text("target");
  package.processor = fields.text("processor");
  package.features = fields.texts("features");
  package.binaryKind = fields.text("binaryKind");
  int64_t abiVersion = fields.integer("abiVersion", 0);
  if (abiVersion > std::numeric_limits<uint32_t>::max())
    fields.wrongType<void>("abiVersion", "an integer of 32 bits");
  package.abiVersion = uint32_t(abiVersion);
  for (const Json &argument : fields.list("arguments"))
    package.arguments.push_back(readArgument(fields.element("arguments", argument, package.arguments.size())));
  package.scratchBytes = uint64_t(fields.integer("scratchBytes", 0));
  package.threads = fields.integer("threads", 0, 0);
  package.sharedBytes = uint64_t(fields.integer("sharedBytes", 0, 0));
  package.dependentLaunch = fields.boolean("dependentLaunch", false);
  package.checked = fields.boolean("checked");
  package.peers = fields.boolean("peers", false);
  for (const Json &site : fields.list("sites"))
    package.sites.push_back(readSite(fields.element("sites", site, package.sites.size())));
  if (json.contains("limits"))
    for (const Json &limit : fields.list("limits")) {
      Fields parts = fields.element("limits", limit, package.limits.size());
      package.limits.push_back(
          {parts.text("what"), parts.integer("found", 0), parts.integer("most", 0), parts.text("consequence")});
    }
  if (json.contains("remarks"))
    package.remarks = fields.texts("remarks");
  package.producer = fields.text("producer");
  package.sourceHash = fields.text("sourceHash");
  return package;
}

/// Where JSON and binary lie; checked against the size of the file and the checksum.
struct Layout {
  size_t jsonSize, binarySize;
};

Layout checkLayout(const std::string &bytes, const std::string &name) {
  if (bytes.size() < magic.size() || std::string_view(bytes).substr(0, magic.size()) != magic)
    throw inputError(fmt::format("{}: not a kernel package", name), {"make one with `heddle compile`"});
  auto truncated = [&](const std::string &wanted) {
    return inputError(fmt::format("{}: truncated package: {} bytes of {}", name, bytes.size(), wanted));
  };
  if (bytes.size() < headerBytes)
    throw truncated(fmt::format("at least {}", headerBytes + checksumBytes));
  auto version = readLittleEndian<uint32_t>(bytes, 8);
  if (version != Package::formatVersion)
    throw inputError(
        fmt::format("{}: package format {}, this program reads format {}", name, version, Package::formatVersion),
        {"compile the kernel again, or use the program that made the package"});
  auto jsonSize = readLittleEndian<uint64_t>(bytes, 16), binarySize = readLittleEndian<uint64_t>(bytes, 24);
  uint64_t total = headerBytes + checksumBytes;
  if (__builtin_add_overflow(total, jsonSize, &total) || __builtin_add_overflow(total, binarySize, &total))
    throw truncated("more than 2^64");
  if (bytes.size() < total)
    throw truncated(std::to_string(total));
  if (bytes.size() > total)
    throw inputError(
        fmt::format("{}: trailing bytes in the package: {} bytes instead of {}", name, bytes.size(), total));
  auto stored = readLittleEndian<uint64_t>(bytes, bytes.size() - checksumBytes);
  uint64_t computed = hashBytes(std::string_view(bytes).substr(0, bytes.size() - checksumBytes));
  if (stored != computed)
    throw inputError(
        fmt::format("{}: damaged package: checksum {:016x}, the contents have {:016x}", name, stored, computed));
  return {size_t(jsonSize), size_t(binarySize)};
}

/// Text that is no UTF-8 (a path, say) gets replacement characters.
std::string dump(const Json &json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace

const PackageArgument *Package::findArgument(const std::string &name) const {
  auto found = std::find_if(arguments.begin(), arguments.end(),
                            [&](const PackageArgument &argument) { return argument.name == name; });
  return found == arguments.end() ? nullptr : &*found;
}

std::string Package::serialize() const {
  std::string json = dump(toJson(*this), -1), bytes(magic);
  appendLittleEndian<uint32_t>(bytes, formatVersion);
  appendLittleEndian<uint32_t>(bytes, 0);
  appendLittleEndian<uint64_t>(bytes, json.size());
  appendLittleEndian<uint64_t>(bytes, binary.size());
  bytes += json;
  bytes += binary;
  appendLittleEndian<uint64_t>(bytes, hashBytes(bytes));
  return bytes;
}

std::string Package::describe() const {
  return dump(toJson(*this), 2);
}

Package Package::parse(const std::string &bytes, const std::string &name) {
  Layout layout = checkLayout(bytes, name);
  std::string_view json = std::string_view(bytes).substr(headerBytes, layout.jsonSize);
  Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded())
    throw inputError(fmt::format("{}: malformed package: the description is not JSON", name));
  Package package = fromJson(parsed, name);
  package.binary = bytes.substr(headerBytes + layout.jsonSize, layout.binarySize);
  return package;
}

Package Package::load(const std::string &path) {
  return parse(readFile(path), path);
}

void Package::save(const std::string &path) const {
  writeFileAtomically(path, serialize());
}

} // namespace heddle
