// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/Jagged.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

using namespace heddle::build;

namespace heddle::kernels {

Parameter offsetsParameter() {
  return {"offs",
          {"G"},
          {ElementType::I32, ElementType::I64},
          "where each group ends: ascending, the last one the extent of the axis; a group may be empty"};
}

Option checkOption() {
  return {"check", {"true", "false"}, "false", "a launch fails where offs decreases or passes the end"};
}

Group readGroup(const TypedArguments &values, const Scalar<i32> &g, const Scalar<i32> &extent, bool checks) {
  std::optional<Group> group;
  withType<i32, i64>(values.pointer("offs").type, [&]<class E>() {
    auto offs = values.pointer("offs").as<E>();
    auto inside = [&](const Scalar<E> &index) { return cast<i32>(minimum(maximum(index, 0), cast<E>(extent))); };
    auto begins = load(offs + (g - 1), g > 0, 0), ends = load(offs + g);
    if (checks)
      assertThat(begins >= 0 && begins <= ends && ends <= cast<E>(extent), "offs decreases, or passes the end");
    auto first = inside(begins);
    group = Group{first, maximum(first, inside(ends))};
  });
  return *group;
}

std::string makeOffsets(const ArrayType &type, int64_t extent, uint64_t seed) {
  HostArray offsets{type, std::string(size_t(type.sizeBytes()), '\0')};
  int64_t groups = type.shape[0];
  std::vector<int64_t> ends;
  for (int64_t g = 0; g + 1 < groups; ++g) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    int64_t end = int64_t((seed >> 33) % uint64_t(extent + 1));
    ends.push_back(extent > 64 * groups ? end / 16 * 16 : end); // whole multiples where there is room for them
  }
  ends.push_back(extent);
  std::sort(ends.begin(), ends.end());
  for (int64_t g = 0; g < groups; ++g)
    storeInt(type.type, ends[size_t(g)], offsets.bytes.data() + offsets.offset({g}));
  return offsets.bytes;
}

void requireGroups(const Call &call, const std::string &axis) {
  if (call.extent("G") == 0 && call.extent(axis) > 0)
    throw inputError(fmt::format("kernel `{}`: `offs` has 0 groups, and {} = {}", call.kernel, axis, call.extent(axis)),
                     {fmt::format("one group is `offs` = [{}]", call.extent(axis))});
}

std::vector<int64_t> offsetsOf(const HostArrays &arrays, int64_t extent) {
  const HostArray &offs = arrays.at("offs");
  std::vector<int64_t> ends;
  int64_t last = 0;
  for (int64_t g = 0; g < offs.type.shape[0]; ++g) {
    int64_t end = loadInt(offs.type.type, offs.bytes.data() + offs.offset({g}));
    if (end < last || end > extent)
      throw inputError(fmt::format("offs[{}] is {}, and must be from {}, where the group before it ends, to {}", g, end,
                                   last, extent));
    ends.push_back(last = end);
  }
  if (last != extent)
    throw inputError(fmt::format("the last group ends at {}, and the axis at {}", last, extent),
                     {"elements after the last group would have no scale"});
  return ends;
}

} // namespace heddle::kernels
