// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks in the words of the kernel's arguments: a device's library says no more than that a value is invalid.
#include "runtime/TensorMap.h"
#include "support/Error.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr uint64_t addressBytes = 16, strideLimit = uint64_t(1) << 40; ///< granularity, and the first that is too large
constexpr int64_t mostAxes = 5, mostBoxElements = 256;
constexpr std::array types = {ElementType::F16,      ElementType::BF16,  ElementType::F32, ElementType::F64,
                              ElementType::I8,       ElementType::I16,   ElementType::I32, ElementType::I64,
                              ElementType::F8E4M3FN, ElementType::F8E5M2};

/// `kernel `k`: tensor map 0`.
std::string mapName(const Package &package, size_t index) {
  return fmt::format("kernel `{}`: tensor map {}", package.kernel, index);
}

std::optional<ElementType> typeOf(const PackageTensorMap &map) {
  auto type = findElementType(map.type);
  return type && std::ranges::find(types, *type) != types.end() ? type : std::nullopt;
}

void checkBox(const std::string &where, const PackageTensorMap &map) {
  auto rank = int64_t(map.box.size());
  if (rank < 1 || rank > mostAxes)
    throw inputError(fmt::format("{} has {} axes; 1 to {} are possible", where, rank, mostAxes));
  auto type = typeOf(map);
  if (!type)
    throw inputError(fmt::format("{}: no map has elements of type `{}`", where, map.type));
  for (int64_t elements : map.box)
    if (elements < 1 || elements > mostBoxElements)
      throw inputError(fmt::format("{}: its box has {} elements along an axis; 1 to {} are possible", where, elements,
                                   mostBoxElements));
  if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
    throw inputError(fmt::format("{}: a swizzle of {} bytes; 0, 32, 64 and 128 are possible", where, map.swizzle));
  int64_t rowBytes = map.box.back() * elementSizeBytes(*type);
  if (rowBytes % int64_t(addressBytes) != 0)
    throw inputError(
        fmt::format("{}: rows of its box have {} bytes, which is no multiple of {}", where, rowBytes, addressBytes));
  if (map.swizzle && rowBytes > map.swizzle)
    throw inputError(fmt::format("{}: rows of its box have {} bytes, and a swizzle of {} bytes allows no longer ones",
                                 where, rowBytes, map.swizzle));
}

/// The base pointer, then sizes, then strides.
void checkArguments(const std::string &where, const Package &package, const PackageTensorMap &map) {
  size_t rank = map.box.size();
  auto argument = size_t(map.argument);
  if (map.argument < 0 || argument + 2 * rank >= package.arguments.size())
    throw inputError(
        fmt::format("{} of {} axes begins at argument {}, and the kernel has {}: a pointer, {} sizes and {} "
                    "strides are needed",
                    where, rank, map.argument, package.arguments.size(), rank, rank));
  for (size_t i = 0; i <= 2 * rank; ++i) {
    const PackageArgument &given = package.arguments[argument + i];
    const char *wanted = i == 0 ? "pointer" : i <= rank ? "i32" : "i64";
    if (given.pointer != (i == 0) || (i > 0 && given.type != wanted))
      throw inputError(fmt::format("{}: argument `{}` is {}, and the map needs {}", where, given.name,
                                   given.pointer ? "a pointer" : given.type, i == 0 ? "a pointer" : wanted));
  }
}

constexpr const char *nextStep =
    "give a tensor whose base and whose rows begin at multiples of 16 bytes: a copy of it, or one with padded rows";

/// The launch's values of one map.
class Resolution {
public:
  Resolution(const Package &package, const PackageTensorMap &map, std::span<const uint64_t> arguments)
      : package(package), map(map), values(arguments.subspan(size_t(map.argument), 1 + 2 * map.box.size())),
        rank(map.box.size()) {}

  TensorMap resolve() const {
    ElementType type = *typeOf(map);
    TensorMap made = {type, elementSizeBytes(type), values[0], {}, {}, {map.box.begin(), map.box.end()}, map.swizzle};
    if (made.address % addressBytes)
      throw inputError(fmt::format("{}: address {:#x} is not a multiple of {} bytes, as a tensor map needs", where(0),
                                   made.address, addressBytes),
                       {nextStep});
    for (size_t axis = 0; axis < rank; ++axis)
      made.sizes.push_back(size(axis));
    made.strideBytes.assign(rank, uint64_t(made.elementBytes));
    checkLastStride();
    for (size_t axis = rank - 1; axis-- > 0;)
      made.strideBytes[axis] = made.sizes[axis] > 1 ? strideBytes(axis, made.elementBytes) : addressBytes;
    return made;
  }

private:
  std::string where(size_t value) const {
    return fmt::format("kernel `{}`: argument `{}`", package.kernel,
                       package.arguments[size_t(map.argument) + value].name);
  }
  uint64_t size(size_t axis) const {
    auto elements = int32_t(values[1 + axis]);
    if (elements < 1)
      throw inputError(fmt::format("{}: {} elements along axis {} of a tensor map; 1 to 2147483647 are possible",
                                   where(1 + axis), elements, axis),
                       {"launch the kernel only for tensors with elements"});
    return uint64_t(elements);
  }
  int64_t stride(size_t axis) const { return int64_t(values[1 + rank + axis]); }
  void checkLastStride() const {
    if (stride(rank - 1) != 1 && size(rank - 1) > 1)
      throw inputError(fmt::format("{}: a stride of {} elements along the last axis of a tensor map, which needs 1",
                                   where(2 * rank), stride(rank - 1)),
                       {"give a tensor whose last axis is contiguous"});
  }
  uint64_t strideBytes(size_t axis, int64_t elementBytes) const {
    int64_t elements = stride(axis);
    std::string name = where(1 + rank + axis);
    if (elements < 0 || uint64_t(elements) >= strideLimit / uint64_t(elementBytes))
      throw inputError(fmt::format("{}: a stride of {} elements of {} bytes along axis {} of a tensor map; 0 to below "
                                   "2^40 bytes are possible",
                                   name, elements, elementBytes, axis),
                       {"give a tensor with smaller strides"});
    uint64_t bytes = uint64_t(elements) * uint64_t(elementBytes);
    if (bytes % addressBytes)
      throw inputError(fmt::format("{}: a stride of {} elements, {} bytes, along axis {} of a tensor map is not a "
                                   "multiple of {} bytes",
                                   name, elements, bytes, axis, addressBytes),
                       {nextStep});
    return bytes;
  }

  const Package &package;
  const PackageTensorMap &map;
  std::span<const uint64_t> values; ///< base, sizes, strides
  size_t rank;
};

} // namespace

void checkTensorMaps(const Package &package) {
  for (size_t i = 0; i < package.tensorMaps.size(); ++i) {
    checkBox(mapName(package, i), package.tensorMaps[i]);
    checkArguments(mapName(package, i), package, package.tensorMaps[i]);
  }
}

std::vector<TensorMap> resolveTensorMaps(const Package &package, std::span<const uint64_t> arguments) {
  std::vector<TensorMap> maps;
  for (const PackageTensorMap &map : package.tensorMaps)
    maps.push_back(Resolution(package, map, arguments).resolve());
  return maps;
}

} // namespace heddle
