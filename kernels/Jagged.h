// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups of different sizes along one axis, given by the index at which each ends: what kernels of jagged arrays share.
#pragma once
#include "kernels/Quantise.h"

namespace heddle::kernels {

/// The parameter `offs` of `groups`: i32 or i64, ascending, the last one the extent of the axis.
Parameter offsetsParameter();

/// Where a group begins and ends, as i32 of an axis that has at most 2^31 - 1 elements. What lies outside of it, and
/// what would end before it begins, is cut off, so that wrong offsets never reach foreign memory.
struct Group {
  build::Scalar<build::i32> first, end;
};
/// With `checks` a launch fails there.
Group readGroup(const build::TypedArguments &values, const build::Scalar<build::i32> &g,
                const build::Scalar<build::i32> &extent, bool checks);

/// Groups that a search through all of them reads at once.
constexpr int groupsAtOnce = 64;
using Groups = build::Tile<build::i32, groupsAtOnce>;

/// Where the groups with these numbers begin and end, cut off as by readGroup; numbers from `count` on have empty
/// groups.
std::pair<Groups, Groups> readGroups(const build::TypedArguments &values, const Groups &g,
                                     const build::Scalar<build::i32> &count, const build::Scalar<build::i32> &extent,
                                     bool checks);

/// A launch fails where offsets decrease or pass the end.
void checkGroups(const build::TypedArguments &values, const build::Scalar<build::i32> &count,
                 const build::Scalar<build::i32> &extent);

/// Runs `body(group)` where the group begins and ends at multiples of 16, in code that knows it, so that accesses may
/// be wide; elsewhere `otherwise()`.
template <class F, class Otherwise>
void whenAligned(const Group &group, F body, Otherwise otherwise) {
  using namespace build;
  when((group.first | group.end) % 16 == 0, [&] { body(Group{group.first / 16 * 16, group.end / 16 * 16}); },
       otherwise);
}
template <class F>
void whenAligned(const Group &group, F body) {
  whenAligned(group, body, [&] { body(group); });
}

/// Refuses `offs` that are not dense, and 0 groups for an axis of this extent, which `name` has in the error.
void requireGroups(const Call &call, const std::string &name, int64_t extent);

/// The options `check` and those of all FP8 quantisation.
std::vector<Option> jaggedOptions();

/// Checks the call, gives the plan its results, q [rows, columns] and scales [G, lines], and the writer the kernel's
/// arguments. `line` is the axis, `M` or `N`, whose elements have scales of their own; K is in groups.
void planJagged(const Call &call, const std::string &line, StepWriter &writer, Plan &plan);

/// The plain reference: groups of columns of each row, or of rows of each column and transposed. The names of the
/// arrays and of the axis of lines end with `suffix`.
void jaggedReference(const Call &call, HostArrays &arrays, bool rowwise, const std::string &suffix = "");

/// Of an axis of this extent: `offs` with groups of random sizes, some empty; and where each group ends, in order.
/// Offsets that decrease, or do not end with the axis, are Error{Input}.
std::string makeOffsets(const Call &call, int64_t extent, uint64_t seed);
std::vector<int64_t> offsetsOf(const HostArrays &arrays, int64_t extent, bool mayEndBefore = false);

/// LibraryKernel::contents and checkContents where K, or M, is in groups.
std::string makeOffsetsOfK(const Call &call, const std::string &input, uint64_t seed);
std::string makeOffsetsOfM(const Call &call, const std::string &input, uint64_t seed);
void checkOffsetsOfK(const Call &call, const HostArrays &arrays);

} // namespace heddle::kernels
