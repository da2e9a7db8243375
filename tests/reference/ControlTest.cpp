// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions, loops, branches, calls, undefined values, dots.
#include "tests/reference/TestSupport.h"
#include <cmath>

using namespace heddle::reference;

// %x : tensor<8xi32> in, %r : tensor<8xi32> out.
static std::vector<int32_t> tile(const std::string &body, std::vector<int32_t> x = {0, 1, 2, 3, 4, 5, 6, 7}) {
  return mapTiles<int32_t, int32_t>("i32", "i32", body, x);
}

TEST(Regions, reduce_along_either_axis) {
  auto sum = [](int axis, int rows) {
    std::string a = std::to_string(axis), n = std::to_string(rows);
    return tile(R"(
      %m = tt.reshape %x : tensor<8xi32> -> tensor<2x4xi32>
      %s = "tt.reduce"(%m) <{axis = )" +
                a + R"( : i32}> ({
      ^bb0(%l: i32, %q: i32):
        %t = arith.addi %l, %q : i32
        tt.reduce.return %t : i32
      }) : (tensor<2x4xi32>) -> tensor<)" +
                n + R"(xi32>
      %e = tt.expand_dims %s {axis = 1 : i32} : tensor<)" +
                n + "xi32> -> tensor<" + n + R"(x1xi32>
      %b = tt.broadcast %e : tensor<)" +
                n + "x1xi32> -> tensor<" + n + "x" + std::to_string(8 / rows) + R"(xi32>
      %r = tt.reshape %b : tensor<)" +
                n + "x" + std::to_string(8 / rows) + "xi32> -> tensor<8xi32>");
  };
  EXPECT_EQ(sum(0, 4), (std::vector<int32_t>{4, 4, 6, 6, 8, 8, 10, 10}));
  EXPECT_EQ(sum(1, 2), (std::vector<int32_t>{6, 6, 6, 6, 22, 22, 22, 22}));
}

TEST(Regions, argmax_with_two_operands) {
  auto result = tile(R"(
    %v, %at = "tt.reduce"(%x, %i) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %ai: i32, %b: i32, %bi: i32):
      %gt = arith.cmpi sgt, %a, %b : i32
      %eq = arith.cmpi eq, %a, %b : i32
      %lt = arith.cmpi slt, %ai, %bi : i32
      %tie = arith.andi %eq, %lt : i1
      %left = arith.ori %gt, %tie : i1
      %sv = arith.select %left, %a, %b : i32
      %si = arith.select %left, %ai, %bi : i32
      tt.reduce.return %sv, %si : i32, i32
    }) : (tensor<8xi32>, tensor<8xi32>) -> (i32, i32)
    %vs = tt.splat %v : i32 -> tensor<8xi32>
    %ats = tt.splat %at : i32 -> tensor<8xi32>
    %k = arith.constant dense<100> : tensor<8xi32>
    %p = arith.muli %vs, %k : tensor<8xi32>
    %r = arith.addi %p, %ats : tensor<8xi32>)",
                     {3, 9, 2, 9, 1, 0, 0, 0});
  EXPECT_EQ(result[0], 901);
}

TEST(Regions, scan_forward_and_backward) {
  auto scan = [](const std::string &reverse) {
    return tile(R"(
      %r = "tt.scan"(%x) <{axis = 0 : i32, reverse = )" +
                reverse + R"(}> ({
      ^bb0(%l: i32, %q: i32):
        %t = arith.addi %l, %q : i32
        tt.scan.return %t : i32
      }) : (tensor<8xi32>) -> tensor<8xi32>)");
  };
  EXPECT_EQ(scan("false"), (std::vector<int32_t>{0, 1, 3, 6, 10, 15, 21, 28}));
  EXPECT_EQ(scan("true"), (std::vector<int32_t>{28, 28, 27, 25, 22, 18, 13, 7}));
}

TEST(Regions, map_elementwise_in_packs_with_branches) {
  auto result = tile(R"(
    %r = "tt.map_elementwise"(%x) <{pack = 2 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %four = arith.constant 4 : i32
      %small = arith.cmpi slt, %a, %four : i32
      cf.cond_br %small, ^bb1, ^bb2(%a : i32)
    ^bb1:
      cf.br ^bb2(%b : i32)
    ^bb2(%c: i32):
      tt.map_elementwise.return %c, %a : i32, i32
    }) : (tensor<8xi32>) -> tensor<8xi32>)");
  EXPECT_EQ(result, (std::vector<int32_t>{1, 0, 3, 2, 4, 4, 6, 6}));
}

TEST(Control, loops_and_conditions) {
  // for j in 0..5: acc += j even ? x : 1; then doubled while its first element is below 100.
  auto result = tile(R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c5 = arith.constant 5 : i32
    %c100 = arith.constant 100 : i32
    %ones = arith.constant dense<1> : tensor<8xi32>
    %zeros = arith.constant dense<0> : tensor<8xi32>
    %acc = scf.for %j = %c0 to %c5 step %c1 iter_args(%s = %zeros) -> (tensor<8xi32>) : i32 {
      %rem = arith.remsi %j, %c2 : i32
      %even = arith.cmpi eq, %rem, %c0 : i32
      %add = scf.if %even -> (tensor<8xi32>) {
        scf.yield %x : tensor<8xi32>
      } else {
        scf.yield %ones : tensor<8xi32>
      }
      %n = arith.addi %s, %add : tensor<8xi32>
      scf.yield %n : tensor<8xi32>
    }
    %r, %count = scf.while (%t = %acc, %k = %c1) : (tensor<8xi32>, i32) -> (tensor<8xi32>, i32) {
      %more = arith.cmpi slt, %k, %c100 : i32
      scf.condition(%more) %t, %k : tensor<8xi32>, i32
    } do {
    ^bb0(%t: tensor<8xi32>, %k: i32):
      %d = arith.addi %t, %t : tensor<8xi32>
      %kk = arith.muli %k, %c5 : i32
      scf.yield %d, %kk : tensor<8xi32>, i32
    })");
  EXPECT_EQ(result, (std::vector<int32_t>{16, 40, 64, 88, 112, 136, 160, 184})); // (3 x + 2) * 8
}

TEST(Control, negative_and_empty_loops) {
  auto trips = [](const std::string &from, const std::string &to) {
    return tile("%lo = arith.constant " + from + " : i64\n%hi = arith.constant " + to + R"( : i64
      %two = arith.constant 2 : i64
      %ones = arith.constant dense<1> : tensor<8xi32>
      %z = arith.constant dense<0> : tensor<8xi32>
      %r = scf.for %j = %lo to %hi step %two iter_args(%s = %z) -> (tensor<8xi32>) : i64 {
        %n = arith.addi %s, %ones : tensor<8xi32>
        scf.yield %n : tensor<8xi32>
      })")[0];
  };
  EXPECT_EQ(trips("-3", "2"), 3);
  EXPECT_EQ(trips("2", "-3"), 0);
  EXPECT_EQ(trips("9223372036854775800", "9223372036854775807"), 4); // the index would overflow
}

TEST(Control, early_return_call_and_grid) {
  std::string text = R"(
    tt.func private @twice(%v: i32) -> i32 attributes {noinline = true} {
      %s = arith.addi %v, %v : i32
      tt.return %s : i32
    }
    tt.func public @k(%out: !tt.ptr<i32>) {
      %x = tt.get_program_id x : i32
      %y = tt.get_program_id y : i32
      %n = tt.get_num_programs x : i32
      %row = arith.muli %y, %n : i32
      %id = arith.addi %row, %x : i32
      %c3 = arith.constant 3 : i32
      %skip = arith.cmpi eq, %id, %c3 : i32
      cf.cond_br %skip, ^bb1, ^bb2
    ^bb1:
      tt.return
    ^bb2:
      %p = tt.addptr %out, %id : !tt.ptr<i32>, i32
      %v = tt.call @twice(%id) : (i32) -> i32
      tt.store %p, %v : !tt.ptr<i32>
      tt.return
    })";
  std::vector<Argument> arguments{bufferOf<int32_t>(std::vector<int32_t>(6, -1))};
  evaluateText(text, {3, 2, 1}, arguments);
  EXPECT_EQ(valuesOf<int32_t>(arguments[0]), (std::vector<int32_t>{0, 2, 4, -1, 8, 10}));
}

TEST(Control, endless_programs_and_false_claims_are_refused) {
  std::string loop = R"(
    %true = arith.constant true
    scf.while : () -> () { scf.condition(%true) } do { scf.yield })";
  EXPECT_NE(errorOf([&] { run("", loop, {}, {}, {.maxOperations = 1000}); }).find("does not end"), std::string::npos);
  std::string claim = "%c = arith.constant false\n tt.assert %c, \"no luck\" : i1";
  EXPECT_NE(errorOf([&] { run("", claim, {}); }).find("no luck"), std::string::npos);
  EXPECT_NE(errorOf([&] { run("", "%c = arith.constant false\n llvm.intr.assume %c : i1", {}); }).find("assumption"),
            std::string::npos);
}

TEST(Control, undefined_values_follow_the_option) {
  std::string body = "%p = ub.poison : i32\n tt.store %out, %p : !tt.ptr<i32>";
  auto stored = [&](uint64_t bits) {
    return valuesOf<uint32_t>(run("%out: !tt.ptr<i32>", body, {zeros<int32_t>(1)}, {}, {.undefinedBits = bits})[0])[0];
  };
  EXPECT_EQ(stored(0), 0u);
  EXPECT_EQ(stored(0xabcdef0123456789), 0x23456789u);
}

//===-- Dots -----------------------------------------------------------------------------------------------------===//

TEST(Dots, integers_are_signed_and_wrap) {
  auto result = mapTiles<int32_t, int8_t>("i8", "i32", R"(
    %a = tt.reshape %x : tensor<8xi8> -> tensor<2x4xi8>
    %b = tt.reshape %y : tensor<8xi8> -> tensor<4x2xi8>
    %c = arith.constant dense<1> : tensor<2x2xi32>
    %d = tt.dot %a, %b, %c : tensor<2x4xi8> * tensor<4x2xi8> -> tensor<2x2xi32>
    %z = arith.constant dense<0> : tensor<2x2xi32>
    %j = tt.join %d, %z : tensor<2x2xi32> -> tensor<2x2x2xi32>
    %r = tt.reshape %j : tensor<2x2x2xi32> -> tensor<8xi32>)",
                                          {-128, 1, 2, 3, 4, 5, 6, 7}, {-128, 1, 0, 1, 0, 1, 1, 1});
  EXPECT_EQ(result, (std::vector<int32_t>{16388, 0, -121, 0, -504, 0, 23, 0}));
}

TEST(Dots, batches_of_f16_into_f32) {
  // Two 2x2 products: [[1,2],[3,4]]^2 and [[0,1],[1,0]]^2.
  auto result = mapTiles<float, uint16_t>("f16", "f32", R"(
    %a = tt.reshape %x : tensor<8xf16> -> tensor<2x2x2xf16>
    %c = arith.constant dense<0.5> : tensor<2x2x2xf32>
    %d = tt.dot %a, %a, %c, inputPrecision = tf32 : tensor<2x2x2xf16> * tensor<2x2x2xf16> -> tensor<2x2x2xf32>
    %r = tt.reshape %d : tensor<2x2x2xf32> -> tensor<8xf32>)",
                                          {0x3c00, 0x4000, 0x4200, 0x4400, 0, 0x3c00, 0x3c00, 0});
  EXPECT_EQ(result, (std::vector<float>{7.5f, 10.5f, 15.5f, 22.5f, 1.5f, 0.5f, 0.5f, 1.5f}));
}

// A dot_scaled of [1 x 32] by [32 x 1] with all elements equal.
static float scaledDot(const std::string &kindA, const std::string &typeA, uint8_t a, uint8_t scaleA, int64_t bytesA) {
  std::string shapeA = "tensor<1x" + std::to_string(bytesA) + "x" + typeA + ">";
  std::string body = "%ab = tt.load %pa : !tt.ptr<i8>\n"
                     "%as = tt.splat %ab : i8 -> tensor<1x" +
                     std::to_string(bytesA) + "xi8>\n" +
                     (typeA == "i8" ? "" : "%av = tt.bitcast %as : tensor<1x32xi8> -> " + shapeA + "\n") + R"(
    %one = arith.constant dense<1.0> : tensor<32x1xbf16>
    %c = arith.constant dense<1.0> : tensor<1x1xf32>
    %sb = tt.load %ps : !tt.ptr<i8>
    %s = tt.splat %sb : i8 -> tensor<1x1xi8>
    %d = tt.dot_scaled )" +
                     (typeA == "i8" ? "%as" : "%av") + " scale %s, %one, %c lhs = " + kindA +
                     " rhs = bf16 {fastMath = false} : " + shapeA +
                     R"(, tensor<1x1xi8> * tensor<32x1xbf16> -> tensor<1x1xf32>
    %u = tt.unsplat %d : tensor<1x1xf32>
    tt.store %out, %u : !tt.ptr<f32>)";
  auto result = run("%pa: !tt.ptr<i8>, %ps: !tt.ptr<i8>, %out: !tt.ptr<f32>", body,
                    {bufferOf<uint8_t>({a}), bufferOf<uint8_t>({scaleA}), zeros<float>(1)});
  return valuesOf<float>(result[2])[0];
}

TEST(Dots, scaled) {
  EXPECT_EQ(scaledDot("e4m3", "f8E4M3FN", 0x38, 127, 32), 33); // 32 * 1 * 1 + 1
  EXPECT_EQ(scaledDot("e5m2", "f8E5M2", 0x40, 128, 32), 129);  // 32 * 2 * 2 + 1
  EXPECT_EQ(scaledDot("e2m1", "i8", 0xe1, 126, 16), -27);      // 16 * (0.5 - 4) * 0.5 + 1
  EXPECT_TRUE(std::isnan(scaledDot("e4m3", "f8E4M3FN", 0, 255, 32)));
}
