// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks the offsets, reads a group's range in the kernel, and plans one launch for all groups.
#include "kernels/Jagged.h"
#include "kernels/Rows.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

using namespace heddle::build;

namespace heddle::kernels {

Parameter offsetsParameter() {
  return {"offs",
          {"G"},
          {ElementType::I32, ElementType::I64},
          "where each group ends, dense: ascending, the last one the extent of the axis; a group may be empty"};
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

std::pair<Groups, Groups> readGroups(const TypedArguments &values, const Groups &g, const Scalar<i32> &count,
                                     const Scalar<i32> &extent, bool checks) {
  std::optional<std::pair<Groups, Groups>> made;
  withType<i32, i64>(values.pointer("offs").type, [&]<class E>() {
    auto offs = values.pointer("offs").as<E>();
    auto limit = cast<E>(extent);
    auto begins = load(offs + (g - 1), g > 0 && g <= count, 0), ends = load(offs + g, g < count, 0);
    if (checks)
      assertThat(g >= count || (begins >= 0 && begins <= ends && ends <= limit), "offs decreases, or passes the end");
    auto inside = [&](const Tile<E, groupsAtOnce> &index) { return cast<i32>(minimum(maximum(index, 0), limit)); };
    auto first = inside(begins);
    made = std::pair(first, maximum(first, inside(ends)));
  });
  return *made;
}

void checkGroups(const TypedArguments &values, const Scalar<i32> &count, const Scalar<i32> &extent) {
  forRange(0, count, groupsAtOnce,
           [&](Scalar<i32> chunk) { readGroups(values, chunk + range<groupsAtOnce>(), count, extent, true); });
}

std::vector<Option> jaggedOptions() {
  std::vector<Option> all = quantiseOptions();
  all.push_back({"check", {"true", "false"}, "false", "a launch fails where offs decreases or passes the end"});
  return all;
}

void requireGroups(const Call &call, const std::string &name, int64_t extent) {
  requireDense(call, "offs");
  if (call.extent("G") == 0 && extent > 0)
    throw inputError(fmt::format("kernel `{}`: `offs` has 0 groups, and {} = {}", call.kernel, name, extent),
                     {fmt::format("one group is `offs` = [{}]", extent)});
}

void planJagged(const Call &call, const std::string &line, StepWriter &writer, Plan &plan) {
  int64_t lines = call.extent(line), K = call.extent("K"), G = call.extent("G");
  requireGroups(call, "K", K);
  const ArrayType &x = call.input("x");
  Quantise how(call);
  plan.results = {{"q", {how.type, {lines, K}}}, {"scales", {ElementType::F32, {G, lines}}}};
  writer.buffer("x", x.type);
  writer.buffer("offs", call.input("offs").type, int(elementSizeBytes(call.input("offs").type)));
  writer.buffer("q", how.type);
  writer.buffer("scales", ElementType::F32);
  writer.count("lines", lines);
  writer.count("K", K);
  size_t axisOfLines = line == "M" ? 0 : 1;
  writer.stride("x_line", x.stride(axisOfLines));
  writer.stride("x_k", x.stride(1 - axisOfLines));
}

std::string makeOffsets(const Call &call, int64_t extent, uint64_t seed) {
  const ArrayType &type = call.input("offs");
  HostArray offsets{type, std::string(size_t(type.sizeBytes()), '\0')};
  int64_t groups = type.shape[0];
  std::vector<int64_t> ends;
  for (int64_t g = 0; g + 1 < groups; ++g) {
    int64_t end = int64_t(nextRandom(seed) % uint64_t(extent + 1));
    ends.push_back(extent > 64 * groups ? end / 16 * 16 : end); // whole multiples where there is room for them
  }
  ends.push_back(extent);
  std::sort(ends.begin(), ends.end());
  for (int64_t g = 0; g < groups; ++g)
    storeInt(type.type, ends[size_t(g)], offsets.bytes.data() + offsets.offset({g}));
  return offsets.bytes;
}

std::vector<int64_t> offsetsOf(const HostArrays &arrays, int64_t extent, bool mayEndBefore) {
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
  if (last != extent && !mayEndBefore)
    throw inputError(fmt::format("the last group ends at {}, and the axis at {}", last, extent),
                     {"elements after the last group would be in none"});
  return ends;
}

std::string makeOffsetsOfK(const Call &call, const std::string &input, uint64_t seed) {
  return input == "offs" ? makeOffsets(call, call.extent("K"), seed) : "";
}

std::string makeOffsetsOfM(const Call &call, const std::string &input, uint64_t seed) {
  return input == "offs" ? makeOffsets(call, call.extent("M"), seed) : "";
}

void checkOffsetsOfK(const Call &call, const HostArrays &arrays) {
  offsetsOf(arrays, call.extent("K"));
}

void jaggedReference(const Call &call, HostArrays &arrays, bool rowwise, const std::string &suffix) {
  Quantise how(call);
  const HostArray &x = arrays.at("x" + suffix);
  HostArray &q = arrays.at("q" + suffix), &scales = arrays.at("scales" + suffix);
  std::vector<int64_t> ends = offsetsOf(arrays, call.extent("K"));
  for (int64_t g = 0, first = 0; g < call.extent("G"); first = ends[size_t(g++)])
    for (int64_t line = 0; line < call.extent((rowwise ? "M" : "N") + suffix); ++line)
      scales.set({g, line},
                 quantiseLine(
                     ends[size_t(g)] - first, how,
                     [&](int64_t i) { return rowwise ? x.get({line, first + i}) : x.get({first + i, line}); },
                     [&](int64_t i, double value) { q.set({line, first + i}, value); }));
}

} // namespace heddle::kernels
