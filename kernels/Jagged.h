// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups of different sizes along one axis, given by the index at which each ends: what kernels of jagged arrays share.
#pragma once
#include "kernels/LibraryKernel.h"
#include "kernels/StepWriter.h"

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

/// The option `check`: asserts on the device that the offsets ascend and stay within the axis.
Option checkOption();

/// Runs `body(group)`; where the group begins and ends at multiples of 16, in code that knows it, so that accesses may
/// be wide.
template <class F>
void whenAligned(const Group &group, F body) {
  using namespace build;
  when((group.first | group.end) % 16 == 0, [&] { body(Group{group.first / 16 * 16, group.end / 16 * 16}); },
       [&] { body(group); });
}

/// Offsets of a made problem: groups of random sizes, some of them empty.
std::string makeOffsets(const ArrayType &type, int64_t extent, uint64_t seed);

/// Throws Error{Input} for elements that are in no group since there is none.
void requireGroups(const Call &call, const std::string &axis);

/// The offsets of a call, checked. Throws Error{Input} where they decrease, or do not end at `extent`.
std::vector<int64_t> offsetsOf(const HostArrays &arrays, int64_t extent);

} // namespace heddle::kernels
