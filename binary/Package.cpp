// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading trusts nothing: every JSON field is compared with its type.
#include "binary/Package.h"
#include "binary/Container.h"
#include "binary/JsonFields.h"
#include "support/Error.h"
#include "support/File.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr ContainerKind packageKind = {"HEDDLEPK",
                                       Package::formatVersion,
                                       "package",
                                       "kernel package",
                                       "make one with `heddle compile`",
                                       "compile the kernel again, or use the program that made the package"};

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

Json tensorMapToJson(const PackageTensorMap &map) {
  return {{"argument", map.argument}, {"type", map.type}, {"box", map.box}, {"swizzle", map.swizzle}};
}

Json toJson(const Package &package) {
  Json arguments = Json::array(), tensorMaps = Json::array(), sites = Json::array(), limits = Json::array();
  for (const PackageLimit &limit : package.limits)
    limits.push_back(
        {{"what", limit.what}, {"found", limit.found}, {"most", limit.most}, {"consequence", limit.consequence}});
  for (const PackageArgument &argument : package.arguments)
    arguments.push_back(argumentToJson(argument));
  for (const PackageTensorMap &map : package.tensorMaps)
    tensorMaps.push_back(tensorMapToJson(map));
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
          {"tensorMaps", tensorMaps},
          {"sites", sites},
          {"limits", limits},
          {"remarks", package.remarks},
          {"producer", package.producer},
          {"sourceHash", package.sourceHash}};
}

PackageTensorMap readTensorMap(const JsonFields &fields) {
  return {fields.integer("argument", 0), fields.text("type"), fields.integers("box", 1), fields.integer("swizzle", 0)};
}

PackageArgument readArgument(const JsonFields &fields) {
  return {fields.text("name"), fields.text("type"), fields.boolean("pointer"), fields.integer("divisibility", 1)};
}

PackageSite::Operand readOperand(const JsonFields &fields) {
  return {fields.text("type"), fields.integers("shape", 0), fields.boolean("signed")};
}

PackageSite readSite(const JsonFields &fields) {
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
  JsonFields fields(json, "", name + ": malformed package");
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
  if (json.contains("tensorMaps"))
    for (const Json &map : fields.list("tensorMaps"))
      package.tensorMaps.push_back(readTensorMap(fields.element("tensorMaps", map, package.tensorMaps.size())));
  for (const Json &site : fields.list("sites"))
    package.sites.push_back(readSite(fields.element("sites", site, package.sites.size())));
  if (json.contains("limits"))
    for (const Json &limit : fields.list("limits")) {
      JsonFields parts = fields.element("limits", limit, package.limits.size());
      package.limits.push_back(
          {parts.text("what"), parts.integer("found", 0), parts.integer("most", 0), parts.text("consequence")});
    }
  if (json.contains("remarks"))
    package.remarks = fields.texts("remarks");
  package.producer = fields.text("producer");
  package.sourceHash = fields.text("sourceHash");
  return package;
}

} // namespace

const PackageArgument *Package::findArgument(const std::string &name) const {
  auto found = std::find_if(arguments.begin(), arguments.end(),
                            [&](const PackageArgument &argument) { return argument.name == name; });
  return found == arguments.end() ? nullptr : &*found;
}

std::string Package::serialize() const {
  return writeContainer(packageKind, {dumpJson(toJson(*this), -1), binary});
}

std::string Package::describe() const {
  return dumpJson(toJson(*this), 2);
}

Package Package::parse(const std::string &bytes, const std::string &name) {
  Container contents = readContainer(packageKind, bytes, name);
  Json parsed = Json::parse(contents.json, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded())
    throw inputError(fmt::format("{}: malformed package: the description is not JSON", name));
  Package package = fromJson(parsed, name);
  package.binary = std::move(contents.binary);
  return package;
}

Package Package::load(const std::string &path) {
  return parse(readFile(path), path);
}

void Package::save(const std::string &path) const {
  writeFileAtomically(path, serialize());
}

} // namespace heddle
