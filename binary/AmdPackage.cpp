// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "binary/AmdPackage.h"
#include "binary/AmdAbi.h"
#include "support/Error.h"
#include <fmt/format.h>
#include <map>

namespace heddle {
namespace {

PackageArgument describe(const AmdArgument &argument, size_t position) {
  PackageArgument made;
  made.name = argument.name.empty() ? std::to_string(position) : argument.name;
  made.pointer = argument.isBuffer();
  made.type = made.pointer ? "i8" : fmt::format("i{}", 8 * argument.sizeBytes);
  if (auto type = namedType(argument)) {
    made.type = elementTypeName(*type);
    if (made.type.starts_with("ui")) // kernels take integers without a sign
      made.type.erase(0, 1);
  }
  return made;
}

} // namespace

std::optional<ElementType> namedType(const AmdArgument &argument) {
  using enum ElementType;
  static const std::map<std::string, ElementType> named = {
      {"float", F32}, {"double", F64}, {"half", F16},    {"bfloat", BF16}, {"f32", F32},   {"f64", F64},   {"i1", I1},
      {"i8", I8},     {"i16", I16},    {"i32", I32},     {"i64", I64},     {"char", I8},   {"short", I16}, {"int", I32},
      {"long", I64},  {"uchar", UI8},  {"ushort", UI16}, {"uint", UI32},   {"ulong", UI64}};
  std::string name = argument.typeName;
  if (argument.isBuffer() && name.ends_with('*'))
    name.pop_back();
  auto found = named.find(name);
  if (found == named.end() || (!argument.isBuffer() && uint64_t(elementSizeBytes(found->second)) != argument.sizeBytes))
    return std::nullopt;
  return found->second;
}

std::vector<AmdArgument> explicitArguments(const AmdKernel &kernel) {
  std::vector<AmdArgument> arguments;
  for (const AmdArgument &argument : kernel.arguments) {
    if (argument.isHidden())
      continue;
    uint64_t size = argument.sizeBytes;
    bool isNumber = argument.valueKind == "by_value" && (size == 1 || size == 2 || size == 4 || size == 8);
    if (!isNumber && !(argument.isBuffer() && size == 8))
      throw inputError(fmt::format("kernel `{}`: argument {} is a `{}` of {} bytes; a launch gives pointers and "
                                   "numbers of 1, 2, 4 or 8 bytes",
                                   kernel.name, arguments.size(), argument.valueKind, size),
                       {"`heddle simulate` runs kernels with any arguments"});
    arguments.push_back(argument);
  }
  return arguments;
}

Package packageOfCodeObject(const std::string &file, const std::string &name, const std::string &kernel,
                            int64_t threads, uint64_t sharedBytes) {
  AmdCodeObject object = parseAmdCodeObject(file, name);
  const AmdKernel &found = object.kernel(kernel);
  Package package;
  package.kernel = package.entry = found.name;
  package.target = package.processor = object.chip;
  package.binaryKind = amdBinaryKind;
  package.abiVersion = amdAbiVersion;
  package.threads = threads;
  package.sharedBytes = sharedBytes;
  for (const AmdArgument &argument : explicitArguments(found))
    package.arguments.push_back(describe(argument, package.arguments.size()));
  package.binary = file;
  return package;
}

} // namespace heddle
