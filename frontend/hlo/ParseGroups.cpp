// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each notation becomes the list of groups at once; the original text is kept for messages.
#include "frontend/hlo/ParseGroups.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace heddle::hlo {
namespace {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  int64_t stride = 1; ///< devices between two adjacent ones along the axis
};

/// A factor of an axis: its coordinate is seen as (pre, size, rest), and this is the middle digit.
struct AxisFactor {
  size_t axis = 0;
  int64_t pre = 1, size = 1;
};

/// The product of the sizes; fails when one is below 1 or the product exceeds mostDevices.
int64_t boundedProduct(Cursor &cursor, Location location, const std::vector<int64_t> &sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size < 1)
      cursor.fail(location,
                  fmt::format("[{}] has a dimension of size {}; expects 1 or more", fmt::join(sizes, ","), size));
    if (__builtin_mul_overflow(product, size, &product) || product > mostDevices)
      cursor.fail(location, fmt::format("[{}] holds more than {} devices", fmt::join(sizes, ","), mostDevices));
  }
  return product;
}

/// 0 .. product-1, reshaped to `sizes`, transposed by `permutation`, flattened.
std::vector<int64_t> transposedIota(const std::vector<int64_t> &sizes, const std::vector<int64_t> &permutation,
                                    int64_t count) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, id = 0;
    for (size_t k = permutation.size(); k-- > 0;) {
      auto dimension = size_t(permutation[k]);
      id += rest % sizes[dimension] * strides[dimension];
      rest /= sizes[dimension];
    }
    ids.push_back(id);
  }
  return ids;
}

/// `[d..]` was read into `sizes`; reads `T(p..)` after it.
std::vector<int64_t> parseTransposedIota(Cursor &cursor, Location location, const std::vector<int64_t> &sizes) {
  std::vector<int64_t> permutation(sizes.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  int64_t count = boundedProduct(cursor, location, sizes);
  Location at = cursor.here();
  if (cursor.peekWord() == "T") {
    cursor.accept("T");
    std::vector<int64_t> written = cursor.integers("(", ")"), sorted = written;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != permutation)
      cursor.fail(at, fmt::format("T({}) is no permutation of the {} dimensions of [{}]", fmt::join(written, ","),
                                  sizes.size(), fmt::join(sizes, ",")));
    permutation = written;
  }
  return transposedIota(sizes, permutation, count);
}

std::vector<std::vector<int64_t>> cut(const std::vector<int64_t> &ids, int64_t size) {
  std::vector<std::vector<int64_t>> groups;
  for (auto next = ids.begin(); next != ids.end(); next += size)
    groups.emplace_back(next, next + size);
  return groups;
}

std::vector<std::vector<int64_t>> parseIotaGroups(Cursor &cursor) {
  Location location = cursor.here();
  std::vector<int64_t> tile = cursor.integers("[", "]");
  if (tile.size() != 2)
    cursor.fail(location, fmt::format("expects [groups,size], got {} dimensions", tile.size()),
                {"write the groups as `[2,4]<=[8]`"});
  cursor.expect("<=");
  Location reshape = cursor.here();
  std::vector<int64_t> sizes = cursor.integers("[", "]");
  int64_t tileProduct = boundedProduct(cursor, location, tile), product = boundedProduct(cursor, reshape, sizes);
  if (tileProduct != product)
    cursor.fail(location, fmt::format("collective device list iota size {} does not match the tile assignment "
                                      "dimensions product {}",
                                      product, tileProduct));
  return cut(parseTransposedIota(cursor, reshape, sizes), tile[1]);
}

std::vector<std::vector<int64_t>> parseListGroups(Cursor &cursor) {
  std::vector<std::vector<int64_t>> groups;
  Location opened = cursor.here();
  cursor.expect("{");
  if (cursor.accept("}"))
    return groups;
  do {
    std::vector<int64_t> group = cursor.integers("{", "}");
    if (!group.empty())
      groups.push_back(std::move(group));
  } while (cursor.accept(","));
  if (cursor.atEnd())
    cursor.fail(opened, "this '{' is not closed");
  cursor.expect("}");
  return groups;
}

std::vector<MeshAxis> parseMeshAxes(Cursor &cursor) {
  std::vector<MeshAxis> axes;
  std::vector<int64_t> sizes;
  Location location = cursor.here();
  cursor.expect("[");
  if (!cursor.accept("]")) {
    do {
      Location at = cursor.here();
      MeshAxis axis;
      axis.name = cursor.quoted();
      cursor.expect("=");
      axis.size = cursor.integer();
      for (const MeshAxis &other : axes)
        if (other.name == axis.name)
          cursor.fail(at, fmt::format("the mesh has two axes named '{}'", axis.name));
      sizes.push_back(axis.size);
      axes.push_back(std::move(axis));
    } while (cursor.accept(","));
    cursor.expect("]");
  }
  boundedProduct(cursor, location, sizes);
  for (size_t i = axes.size(); i-- > 1;)
    axes[i - 1].stride = axes[i].stride * axes[i].size;
  return axes;
}

std::vector<int64_t> parseDeviceIds(Cursor &cursor, int64_t count) {
  Location location = cursor.here();
  cursor.expect("(");
  std::vector<int64_t> ids;
  if (cursor.peek() == '[') {
    ids = parseTransposedIota(cursor, location, cursor.integers("[", "]"));
  } else {
    do
      ids.push_back(cursor.integer());
    while (cursor.accept(","));
  }
  cursor.expect(")");
  if (int64_t(ids.size()) != count)
    cursor.fail(location, fmt::format("{} device ids for a mesh of {} devices", ids.size(), count));
  return ids;
}

size_t parseAxisName(Cursor &cursor, const std::vector<MeshAxis> &axes) {
  Location location = cursor.here();
  std::vector<std::string> known;
  for (const MeshAxis &axis : axes)
    known.push_back(fmt::format("'{}'", axis.name));
  std::vector<std::string> notes = {fmt::format("the axes of the mesh are {}", fmt::join(known, ", "))};
  char next = cursor.peek();
  if (next >= '0' && next <= '9') {
    int64_t number = cursor.integer();
    if (number >= int64_t(axes.size()))
      cursor.fail(location, fmt::format("axis {} of a mesh of {} axes", number, axes.size()), notes);
    return size_t(number);
  }
  std::string name = cursor.quoted();
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return i;
  cursor.fail(location, fmt::format("the mesh has no axis '{}'", name), notes);
}

AxisFactor parseAxisFactor(Cursor &cursor, const std::vector<MeshAxis> &axes) {
  Location location = cursor.here();
  AxisFactor factor;
  factor.axis = parseAxisName(cursor, axes);
  const MeshAxis &axis = axes[factor.axis];
  factor.size = axis.size;
  if (!cursor.accept(":"))
    return factor;
  cursor.expect("(");
  factor.pre = cursor.integer();
  cursor.expect(")");
  factor.size = cursor.integer();
  int64_t product = 0;
  bool bad = factor.pre < 1 || factor.size < 1 || __builtin_mul_overflow(factor.pre, factor.size, &product);
  if (bad || axis.size % product != 0)
    cursor.fail(location, fmt::format("sub-axis :({}){} does not divide axis '{}' of size {}", factor.pre, factor.size,
                                      axis.name, axis.size));
  return factor;
}

std::vector<AxisFactor> parseAxisFactors(Cursor &cursor, const std::vector<MeshAxis> &axes) {
  std::vector<AxisFactor> factors;
  cursor.expect("{");
  if (cursor.accept("}"))
    return factors;
  do {
    Location location = cursor.here();
    AxisFactor factor = parseAxisFactor(cursor, axes);
    for (const AxisFactor &other : factors) {
      auto [outer, inner] = other.pre <= factor.pre ? std::pair(other, factor) : std::pair(factor, other);
      if (other.axis == factor.axis && inner.pre % (outer.pre * outer.size) != 0)
        cursor.fail(location, fmt::format("axis '{}' is named twice", axes[factor.axis].name));
    }
    factors.push_back(factor);
  } while (cursor.accept(","));
  cursor.expect("}");
  return factors;
}

std::vector<std::vector<int64_t>> groupsAlong(const std::vector<MeshAxis> &axes, const std::vector<AxisFactor> &factors,
                                              const std::vector<int64_t> &ids) {
  int64_t size = 1;
  for (const AxisFactor &factor : factors)
    size *= factor.size;
  std::vector<std::vector<int64_t>> members(ids.size());
  for (int64_t place = 0; place < int64_t(ids.size()); ++place) {
    int64_t rank = 0, first = place; // the place of the group's first member numbers the groups
    for (const AxisFactor &factor : factors) {
      const MeshAxis &axis = axes[factor.axis];
      int64_t unit = axis.stride * (axis.size / (factor.pre * factor.size));
      int64_t digit = place / unit % factor.size;
      rank = rank * factor.size + digit;
      first -= digit * unit;
    }
    members[size_t(first)].resize(size_t(size));
    members[size_t(first)][size_t(rank)] = ids[size_t(place)];
  }
  std::erase_if(members, [](const auto &group) { return group.empty(); });
  return members;
}

std::vector<std::vector<int64_t>> parseMeshGroups(Cursor &cursor) {
  std::vector<MeshAxis> axes;
  std::vector<int64_t> ids;
  if (cursor.accept("maximal_mesh")) {
    cursor.expect("[");
    cursor.expect("device_id");
    cursor.expect("=");
    ids = {cursor.integer()};
    cursor.expect("]");
  } else {
    cursor.expect("mesh");
    axes = parseMeshAxes(cursor);
    ids.resize(size_t(axes.empty() ? 1 : axes[0].size * axes[0].stride));
    std::iota(ids.begin(), ids.end(), 0);
    if (cursor.accept(",")) {
      cursor.expect("device_ids");
      cursor.expect("=");
      ids = parseDeviceIds(cursor, int64_t(ids.size()));
    }
  }
  return groupsAlong(axes, parseAxisFactors(cursor, axes), ids);
}

} // namespace

ReplicaGroups parseReplicaGroups(Cursor &cursor) {
  ReplicaGroups result;
  cursor.peek();
  size_t begin = cursor.offset();
  if (cursor.peek() == '[')
    result.groups = parseIotaGroups(cursor);
  else if (cursor.peek() == '{')
    result.groups = parseListGroups(cursor);
  else
    result.groups = parseMeshGroups(cursor);
  result.text = cursor.slice(begin, cursor.offset());
  result.text.erase(result.text.find_last_not_of(" \t\r\n") + 1); // looking for `T(` after an iota
  return result;
}

} // namespace heddle::hlo
