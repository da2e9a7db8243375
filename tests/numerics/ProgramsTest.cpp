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

// Fewer elements than a block has threads, converted to another layout.
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

// Other threads read what a thread has stored, and store over what others still read.
TEST(Programs, loads_see_earlier_stores_and_not_later_ones) {
  expectAsReference("%x: !tt.ptr<i32>, %o: !tt.ptr<i32>, %s: !tt.ptr<i32>", R"(
  %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %mirror = arith.constant dense<511> : tensor<512xi32>
  %j = arith.xori %i, %mirror : tensor<512xi32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c5 = arith.constant 5 : i32
  %xs = tt.splat %x : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %here = tt.addptr %xs, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %there = tt.addptr %xs, %j : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  scf.for %n = %c0 to %c5 step %c1 : i32 {
    %v = tt.load %here : tensor<512x!tt.ptr<i32>>
    %w = arith.addi %v, %i : tensor<512xi32>
    tt.store %there, %w : tensor<512x!tt.ptr<i32>>
    %k = tt.load %s : !tt.ptr<i32>
    %ks = tt.splat %k : i32 -> tensor<512xi32>
    %more = arith.addi %k, %c5 : i32
    tt.store %s, %more : !tt.ptr<i32>
    %u = tt.load %here : tensor<512x!tt.ptr<i32>>
    %t = arith.addi %u, %ks : tensor<512xi32>
    tt.store %here, %t : tensor<512x!tt.ptr<i32>>
  }
  %end = tt.load %there : tensor<512x!tt.ptr<i32>>
  %os = tt.splat %o : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %op = tt.addptr %os, %i : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.store %op, %end : tensor<512x!tt.ptr<i32>>)",
                    {bufferOf(ascending(512)), zeros<int32_t>(512), bufferOf(ascending(1))});
}

TEST(Programs, a_poll_waits_for_what_is_there) {
  expectAsReference("%p: !tt.ptr<i32>, %o: !tt.ptr<i32>", R"(
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %done = tt.atomic_poll acquire, gpu, %p, %c1 : !tt.ptr<i32>, i32 -> i1
  %v = arith.select %done, %c7, %c1 : i32
  tt.store %o, %v : !tt.ptr<i32>)",
                    {bufferOf(ascending(1)), zeros<int32_t>(1)});
}

// One poll always, so that what is there is seen even when there is no time at all; what does not come is given up.
TEST(Programs, a_poll_with_a_limit_says_whether_it_came) {
  auto result = runOnDevice("%p: !tt.ptr<i32>, %o: !tt.ptr<i32>, %limit: i64, %wide: i64", R"(
  %none = arith.constant 0 : i64
  %c1 = arith.constant 1 : i32
  %i1 = arith.constant 1 : i32
  %p1 = tt.addptr %p, %i1 : !tt.ptr<i32>, i32
  %i2 = arith.constant 2 : i32
  %p2 = tt.addptr %p, %i2 : !tt.ptr<i32>, i32
  %came = tt.atomic_poll acquire, gpu, %p1, %c1 timeout %none : !tt.ptr<i32>, i32 -> i1
  %missed = tt.atomic_poll relaxed, sys, %p2, %c1 timeout %limit : !tt.ptr<i32>, i32 -> i1
  %later = tt.atomic_poll acquire, sys, %p2, %i2 timeout %wide : !tt.ptr<i32>, i32 -> i1
  %a = arith.extui %came : i1 to i32
  %b = arith.extui %missed : i1 to i32
  %c = arith.extui %later : i1 to i32
  %o1 = tt.addptr %o, %i1 : !tt.ptr<i32>, i32
  %o2 = tt.addptr %o, %i2 : !tt.ptr<i32>, i32
  tt.store %o, %a : !tt.ptr<i32>
  tt.store %o1, %b : !tt.ptr<i32>
  tt.store %o2, %c : !tt.ptr<i32>)",
                            {bufferOf(std::vector<int32_t>{0, 1, 2}), bufferOf(std::vector<int32_t>{5, 5, 5}),
                             Argument::scalar(20000), Argument::scalar(~uint64_t(0))});
  EXPECT_EQ(valuesOf<int32_t>(result[1]), (std::vector<int32_t>{1, 0, 1}));
}

// A loop made of branches, which carries a tile and a scalar; and tiles of one element.
TEST(Programs, blocks_pass_tiles) {
  expectAsReference("%x: !tt.ptr<i32>, %o: !tt.ptr<i32>, %one: !tt.ptr<i32>", R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c6 = arith.constant 6 : i32
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %xs = tt.splat %x : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %xp = tt.addptr %xs, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  %v = tt.load %xp : tensor<64x!tt.ptr<i32>>
  cf.br ^loop(%c0, %v : i32, tensor<64xi32>)
^loop(%n: i32, %t: tensor<64xi32>):
  %goes = arith.cmpi slt, %n, %c6 : i32
  cf.cond_br %goes, ^body, ^end(%t : tensor<64xi32>)
^body:
  %m = arith.addi %n, %c1 : i32
  %u = arith.addi %t, %i : tensor<64xi32>
  cf.br ^loop(%m, %u : i32, tensor<64xi32>)
^end(%r: tensor<64xi32>):
  %os = tt.splat %o : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %op = tt.addptr %os, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  tt.store %op, %r : tensor<64x!tt.ptr<i32>>
  %p = tt.splat %one : !tt.ptr<i32> -> tensor<1x1x!tt.ptr<i32>>
  %w = tt.load %p : tensor<1x1x!tt.ptr<i32>>
  %s = arith.muli %w, %w : tensor<1x1xi32>
  tt.store %p, %s : tensor<1x1x!tt.ptr<i32>>)",
                    {bufferOf(ascending(64)), zeros<int32_t>(64), bufferOf(std::vector<int32_t>{7})});
}

// A loop that prefetches by itself carries what it loaded, on AMD's chips in words.
template <typename Element>
static void expectCarried(const std::string &type) {
  std::vector<Element> values;
  for (int i = 0; i < 5 * 1024; ++i)
    values.push_back(Element(i * 7 + i / 1024));
  std::string body = R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %w = arith.constant dense<1024> : tensor<1024xi32>
  %zero = arith.constant dense<0> : tensor<1024x@>
  %i = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<@> -> tensor<1024x!tt.ptr<@>>
  %p0 = tt.addptr %xs, %i : tensor<1024x!tt.ptr<@>>, tensor<1024xi32>
  %first = tt.load %p0 : tensor<1024x!tt.ptr<@>>
  %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%s = %zero, %t = %first, %p = %p0) -> (tensor<1024x@>, tensor<1024x@>, tensor<1024x!tt.ptr<@>>) : i32 {
    %q = tt.addptr %p, %w : tensor<1024x!tt.ptr<@>>, tensor<1024xi32>
    %v = tt.load %q : tensor<1024x!tt.ptr<@>>
    %d = arith.addi %s, %s : tensor<1024x@>
    %a = arith.addi %d, %t : tensor<1024x@>
    scf.yield %a, %v, %q : tensor<1024x@>, tensor<1024x@>, tensor<1024x!tt.ptr<@>>
  }
  %sum = arith.subi %r#0, %r#1 : tensor<1024x@>
  %os = tt.splat %o : !tt.ptr<@> -> tensor<1024x!tt.ptr<@>>
  %op = tt.addptr %os, %i : tensor<1024x!tt.ptr<@>>, tensor<1024xi32>
  tt.store %op, %sum : tensor<1024x!tt.ptr<@>>)",
              parameters = "%x: !tt.ptr<@> {tt.divisibility = 16 : i32}, %o: !tt.ptr<@> {tt.divisibility = 16 : i32}, "
                           "%n: i32";
  for (std::string *text : {&body, &parameters})
    for (size_t at = text->find('@'); at != std::string::npos; at = text->find('@', at))
      text->replace(at, 1, type);
  for (int32_t trips : {0, 1, 4})
    expectAsReference(parameters, body, {bufferOf(values), zeros<Element>(1024), scalarI32(trips)});
}

TEST(Programs, loops_carry_what_they_load) {
  expectCarried<int8_t>("i8");
  expectCarried<int16_t>("i16");
  expectCarried<int32_t>("i32");
}
