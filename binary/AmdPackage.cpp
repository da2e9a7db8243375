// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the description of a package from the metadata of a code object that has none.
#include "binary/AmdPackage.h"
#include "binary/AmdAbi.h"
#include "support/ElementType.h"
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

void requireAmdPackage(const Package &package, const std::string &device, const std::string &chip) {
  std::string kernel = fmt::format("kernel `{}`", package.kernel);
  if (package.target != chip)
    throw inputError(
        fmt::format("{} was compiled for target {}, the device {} is {}", kernel, package.target, device, chip),
        {fmt::format("compile it with `--target {}`", chip)});
  if (package.binaryKind != amdBinaryKind)
    throw inputError(fmt::format("{}: its binary is of kind `{}`, and devices of {} load `{}`", kernel,
                                 package.binaryKind, chip, amdBinaryKind));
  if (package.abiVersion != amdAbiVersion)
    throw inputError(fmt::format("{} was compiled for version {} of the AMD interface, this runtime has version {}",
                                 kernel, package.abiVersion, amdAbiVersion),
                     {"compile it again"});
}

void requireAmdArguments(const Package &package, const std::vector<AmdArgument> &arguments) {
  bool hasRecord = arguments.size() == package.arguments.size() + 1 && arguments.back().sizeBytes == sizeof(uint64_t);
  if (!hasRecord && arguments.size() != package.arguments.size())
    throw inputError(fmt::format("kernel `{}`: the package describes {} arguments, its code object {}", package.kernel,
                                 package.arguments.size(), arguments.size()));
  if (!hasRecord && !package.sites.empty())
    throw inputError(fmt::format("kernel `{}` prints or asserts, and its code object has no argument for the record of "
                                 "that",
                                 package.kernel));
  for (size_t i = 0; i < package.arguments.size(); ++i) {
    const PackageArgument &wanted = package.arguments[i];
    auto type = findElementType(wanted.type);
    uint64_t size = wanted.pointer || !type ? 8 : uint64_t(elementSizeBytes(*type));
    if (wanted.pointer != arguments[i].isBuffer() || arguments[i].sizeBytes < size)
      throw inputError(fmt::format("kernel `{}`, argument `{}`: the package describes {} of {} bytes, its code object "
                                   "{} of {}",
                                   package.kernel, wanted.name, wanted.pointer ? "a pointer" : "a number", size,
                                   arguments[i].isBuffer() ? "a pointer" : "a number", arguments[i].sizeBytes));
  }
}

std::array<uint32_t, 3> workgroupShape(const Package &package, const AmdKernel &kernel) {
  const auto &shape = kernel.requiredWorkgroup;
  if (!shape[0])
    return {uint32_t(package.threads), 1, 1};
  if (uint64_t(shape[0]) * shape[1] * shape[2] != uint64_t(package.threads))
    throw inputError(fmt::format("kernel `{}` is compiled for workgroups of {} x {} x {} work-items, its package says "
                                 "{} work-items",
                                 package.kernel, shape[0], shape[1], shape[2], package.threads));
  return shape;
}

} // namespace heddle
