// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small programs that were once compiled wrongly, mostly found by the fuzzer: on the test device as on the reference
// evaluator.
#include "tests/numerics/Support.h"

using namespace heddle::numerics;
using namespace heddle::reference;

static std::vector<int32_t> ascending(int count) {
  std::vector<int32_t> values;
  for (int i = 0; i < count; ++i)
    values.push_back(i * 7 + 1);
  return values;
}

// Fewer elements than a block has threads, on their way to another layout.
TEST(Programs, a_join_of_a_small_tile) {
  expectAsReference("%x: !tt.ptr<i32>, %o: !tt.ptr<i32>", R"(
  %i = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %xs = tt.splat %x : !tt.ptr<i32> -> tensor<32x!tt.ptr<i32>>
  %xp = tt.addptr %xs, %i : tensor<32x!tt.ptr<i32>>, tensor<32xi32>
  %v = tt.load %xp : tensor<32x!tt.ptr<i32>>
  %w = arith.addi %v, %v : tensor<32xi32>
  %j = tt.join %v, %w : tensor<32xi32> -> tensor<32x2xi32>
  %k = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %at = tt.reshape %k : tensor<64xi32> -> tensor<32x2xi32>
  %os = tt.splat %o : !tt.ptr<i32> -> tensor<32x2x!tt.ptr<i32>>
  %op = tt.addptr %os, %at : tensor<32x2x!tt.ptr<i32>>, tensor<32x2xi32>
  tt.store %op, %j : tensor<32x2x!tt.ptr<i32>>)",
                    {bufferOf(ascending(32)), zeros<int32_t>(64)});
}

// What the loop carries gets its layout from the product, after the join has been looked at.
TEST(Programs, a_join_of_what_a_loop_carries) {
  expectAsReference("%o: !tt.ptr<f32>", R"(
  %a = arith.constant dense<2.0> : tensor<16x8xf32>
  %b = arith.constant dense<3.0> : tensor<8x16xf32>
  %zero = arith.constant dense<1.0> : tensor<16x16xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %s = scf.for %n = %c0 to %c4 step %c1 iter_args(%sum = %zero) -> (tensor<16x16xf32>) : i32 {
    %d = tt.dot %a, %b, %sum : tensor<16x8xf32> * tensor<8x16xf32> -> tensor<16x16xf32>
    scf.yield %d : tensor<16x16xf32>
  }
  %j = tt.join %s, %zero : tensor<16x16xf32> -> tensor<16x16x2xf32>
  %k = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %at = tt.reshape %k : tensor<512xi32> -> tensor<16x16x2xi32>
  %os = tt.splat %o : !tt.ptr<f32> -> tensor<16x16x2x!tt.ptr<f32>>
  %op = tt.addptr %os, %at : tensor<16x16x2x!tt.ptr<f32>>, tensor<16x16x2xi32>
  tt.store %op, %j : tensor<16x16x2x!tt.ptr<f32>>)",
                    {zeros<float>(512)});
}
