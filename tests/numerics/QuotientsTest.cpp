// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Quotients and remainders of index arithmetic: contiguous numbers from a multiple of 16 on, of either sign, by a
// number that 16 divides.
#include "tests/numerics/Support.h"
#include <fmt/format.h>

using namespace heddle;
using namespace heddle::numerics;
using namespace heddle::reference;

namespace {

constexpr int count = 512;

std::string quotientText(const std::string &operation) {
  return fmt::format(R"(
  %i = tt.make_range {{end = {1} : i32, start = 0 : i32}} : tensor<{1}xi32>
  %from = tt.splat %base : i32 -> tensor<{1}xi32>
  %x = arith.addi %from, %i : tensor<{1}xi32>
  %by = tt.splat %d : i32 -> tensor<{1}xi32>
  %r = arith.{0} %x, %by : tensor<{1}xi32>
  %ys = tt.splat %y : !tt.ptr<i32> -> tensor<{1}x!tt.ptr<i32>>
  %yp = tt.addptr %ys, %i : tensor<{1}x!tt.ptr<i32>>, tensor<{1}xi32>
  tt.store %yp, %r : tensor<{1}x!tt.ptr<i32>>)",
                     operation, count);
}

} // namespace

TEST(Quotients, contiguous_numbers_by_a_multiple_of_16) {
  std::string aligned = " {tt.divisibility = 16 : i32}";
  std::string parameters = "%y: !tt.ptr<i32>" + aligned + ", %base: i32" + aligned + ", %d: i32" + aligned;
  constexpr int32_t least = std::numeric_limits<int32_t>::min();
  for (const char *operation : {"divsi", "remsi", "divui", "remui"})
    for (int32_t base : {0, 48, -16, -64, -256, least, -(least + count)})
      for (int32_t by : {16, 48, 1600, -16, -48}) {
        SCOPED_TRACE(fmt::format("{} of {} ... by {}", operation, base, by));
        expectAsReference(parameters, quotientText(operation), {zeros<int32_t>(count), scalarI32(base), scalarI32(by)});
      }
}
