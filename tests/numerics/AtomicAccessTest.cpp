// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What Triton 3.9's text has and earlier text has not: atomic loads and stores, polls of tiles, cache policies,
// constant pointers, tensor descriptors as arguments, fast quotients; on the test device against plain C++.
#include "tests/numerics/Bounds.h"
#include "tests/numerics/Support.h"
#include <regex>

using namespace heddle::numerics;
using namespace heddle::reference;

/// `@E`: the element type, `@P`: 256 pointers to it, `@V`: 256 of it, `@L` and `@S`: order and scope.
static std::string filled(std::string body, const std::string &element, const std::string &load = "acquire, gpu",
                          const std::string &store = "release, gpu") {
  body = std::regex_replace(body, std::regex("@P"), "tensor<256x!tt.ptr<@E>>");
  body = std::regex_replace(body, std::regex("@V"), "tensor<256x@E>");
  body = std::regex_replace(body, std::regex("@L"), load);
  body = std::regex_replace(body, std::regex("@S"), store);
  return std::regex_replace(body, std::regex("@E"), element);
}

static const std::string copyTile = R"(
  %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
  %ns = tt.splat %n : i32 -> tensor<256xi32>
  %m = arith.cmpi slt, %i, %ns : tensor<256xi32>
  %xs = tt.splat %x : !tt.ptr<@E> -> @P
  %xp = tt.addptr %xs, %i : @P, tensor<256xi32>
  %v = tt.atomic_load @L, %xp, %m : (@P, tensor<256xi1>) -> @V
  %os = tt.splat %o : !tt.ptr<@E> -> @P
  %op = tt.addptr %os, %i : @P, tensor<256xi32>
  tt.atomic_store @S, %op, %v, %m : @P)";

template <typename T>
static void copies(const std::string &element, const std::string &load, const std::string &store) {
  constexpr int32_t count = 200;
  std::vector<T> x(count), expected(256, T(9)); // nothing lies after what the mask allows to be read
  for (int i = 0; i < count; ++i)
    expected[size_t(i)] = x[size_t(i)] = T(i * 37 + 5);
  auto result = runOnDevice("%x: !tt.ptr<" + element + ">, %o: !tt.ptr<" + element + ">, %n: i32",
                            filled(copyTile, element, load, store),
                            {bufferOf(x), bufferOf(std::vector<T>(256, T(9))), Argument::scalar(count)});
  EXPECT_EQ(valuesOf<T>(result[1]), expected) << element << " " << load << " " << store;
}

TEST(Programs, atomic_loads_and_stores_of_tiles) {
  copies<int8_t>("i8", "relaxed, gpu", "relaxed, gpu");
  copies<int16_t>("f16", "acquire, cta", "release, cta");
  copies<int16_t>("bf16", "acquire, sys", "release, sys");
  copies<float>("f32", "relaxed, sys", "relaxed, cta");
  copies<int32_t>("i32", "acquire, gpu", "release, gpu");
  copies<double>("f64", "acquire, gpu", "release, sys");
  copies<int64_t>("i64", "relaxed, cta", "release, gpu");
}

TEST(Programs, atomic_loads_and_stores_of_scalars) {
  auto result = runOnDevice("%flag: !tt.ptr<i32>, %o: !tt.ptr<i32>", R"(
  %true = arith.constant true
  %false = arith.constant false
  %c1 = arith.constant 1 : i32
  %unused = tt.atomic_load acquire, sys, %flag, %true : (!tt.ptr<i32>, i1) -> i32
  %f = tt.atomic_load acquire, gpu, %flag : (!tt.ptr<i32>) -> i32
  %g = arith.addi %f, %c1 : i32
  tt.atomic_store release, sys, %flag, %g, %true : !tt.ptr<i32>
  %h = tt.atomic_load relaxed, gpu, %flag, %true : (!tt.ptr<i32>, i1) -> i32
  tt.atomic_store relaxed, gpu, %o, %h : !tt.ptr<i32>
  %next = tt.addptr %o, %c1 : !tt.ptr<i32>, i32
  tt.atomic_store relaxed, gpu, %next, %h, %false : !tt.ptr<i32>)",
                            {bufferOf(std::vector<int32_t>{41}), bufferOf(std::vector<int32_t>{7, 7})});
  EXPECT_EQ(valuesOf<int32_t>(result[0]), (std::vector<int32_t>{42}));
  EXPECT_EQ(valuesOf<int32_t>(result[1]), (std::vector<int32_t>{42, 7}));
}

// Instance p waits for instance p - 1, adds 1 to the tile that it left, by plain accesses, and lets p + 1 go on.
// `wait` and `tell` say how; flags of instance p are the 256 from 256 * p on, those of instance 0 are set.
static void expectChain(const std::string &wait, const std::string &tell) {
  constexpr int32_t instances = 6, size = 256;
  std::string body = R"(
  %c1 = arith.constant 1 : i32
  %c256 = arith.constant 256 : i32
  %ones = arith.constant dense<1> : tensor<256xi32>
  %p = tt.get_program_id x : i32
  %from = arith.muli %p, %c256 : i32
  %to = arith.addi %from, %c256 : i32
  %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
  %flagFrom = tt.addptr %flags, %from : !tt.ptr<i32>, i32
  %flagTo = tt.addptr %flags, %to : !tt.ptr<i32>, i32
  %fs = tt.splat %flagFrom : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>>
  %fp = tt.addptr %fs, %i : tensor<256x!tt.ptr<i32>>, tensor<256xi32>
  %ts = tt.splat %flagTo : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>>
  %tp = tt.addptr %ts, %i : tensor<256x!tt.ptr<i32>>, tensor<256xi32>)" +
                     wait + R"(
  %last = arith.constant dense<255> : tensor<256xi32>
  %back = arith.subi %last, %i : tensor<256xi32>
  %xFrom = tt.addptr %x, %from : !tt.ptr<i32>, i32
  %xTo = tt.addptr %x, %to : !tt.ptr<i32>, i32
  %xfs = tt.splat %xFrom : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>>
  %xfp = tt.addptr %xfs, %back : tensor<256x!tt.ptr<i32>>, tensor<256xi32>
  %v = tt.load %xfp : tensor<256x!tt.ptr<i32>>
  %w = arith.addi %v, %ones : tensor<256xi32>
  %xts = tt.splat %xTo : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>>
  %xtp = tt.addptr %xts, %i : tensor<256x!tt.ptr<i32>>, tensor<256xi32>
  tt.store %xtp, %w : tensor<256x!tt.ptr<i32>>)" +
                     tell;
  std::vector<int32_t> x(size * (instances + 1)), flags(x.size());
  for (int i = 0; i < size; ++i)
    x[size_t(i)] = i * 3, flags[size_t(i)] = 1;
  auto result =
      runOnDevice("%x: !tt.ptr<i32>, %flags: !tt.ptr<i32>", body, {bufferOf(x), bufferOf(flags)}, {instances, 1, 1});
  for (int p = 1; p <= instances; ++p)
    for (int i = 0; i < size; ++i)
      x[size_t(p * size + i)] = x[size_t((p - 1) * size + size - 1 - i)] + 1;
  EXPECT_EQ(valuesOf<int32_t>(result[0]), x);
}

static const char *const tellByTile = R"(
  tt.atomic_store release, gpu, %tp, %ones : tensor<256x!tt.ptr<i32>>)";
static const char *const tellByScalar = R"(
  tt.atomic_store release, gpu, %flagTo, %c1 : !tt.ptr<i32>)";

TEST(Programs, a_poll_of_a_tile_waits_for_all_of_it) {
  expectChain(R"(
  %came = tt.atomic_poll acquire, gpu, %fp, %ones : tensor<256x!tt.ptr<i32>>, tensor<256xi32> -> tensor<256xi1>)",
              tellByTile);
}

TEST(Programs, a_release_by_an_atomic_store_is_seen_after_a_poll) {
  expectChain(R"(
  %came = tt.atomic_poll acquire, gpu, %flagFrom, %c1 : !tt.ptr<i32>, i32 -> i1)",
              tellByScalar);
}

TEST(Programs, a_loop_of_atomic_loads_waits) {
  expectChain(R"(
  scf.while : () -> () {
    %f = tt.atomic_load acquire, gpu, %flagFrom : (!tt.ptr<i32>) -> i32
    %again = arith.cmpi ne, %f, %c1 : i32
    scf.condition(%again)
  } do {
    scf.yield
  })",
              tellByScalar);
}

TEST(Programs, a_loop_of_atomic_loads_of_a_tile_waits) {
  expectChain(R"(
  scf.while : () -> () {
    %f = tt.atomic_load acquire, gpu, %fp : (tensor<256x!tt.ptr<i32>>) -> tensor<256xi32>
    %least = "tt.reduce"(%f) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %less = arith.minsi %a, %b : i32
      tt.reduce.return %less : i32
    }) : (tensor<256xi32>) -> i32
    %again = arith.cmpi ne, %least, %c1 : i32
    scf.condition(%again)
  } do {
    scf.yield
  })",
              tellByTile);
}

// Instances 1 to 4 write 64 elements each, one after the other; instance 0 waits for all of them and reads them in
// reverse, so that no thread reads what it waited for itself.
TEST(Programs, a_poll_of_a_tile_is_over_in_every_thread) {
  std::string body = R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %ones = arith.constant dense<1> : tensor<64xi32>
  %all = arith.constant dense<1> : tensor<256xi32>
  %last = arith.constant dense<255> : tensor<256xi32>
  %p = tt.get_program_id x : i32
  %isReader = arith.cmpi eq, %p, %c0 : i32
  scf.if %isReader {
    %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
    %first = tt.addptr %flags, %c64 : !tt.ptr<i32>, i32
    %fs = tt.splat %first : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>>
    %fp = tt.addptr %fs, %i : tensor<256x!tt.ptr<i32>>, tensor<256xi32>
    %came = tt.atomic_poll acquire, gpu, %fp, %all : tensor<256x!tt.ptr<i32>>, tensor<256xi32> -> tensor<256xi1>
    %back = arith.subi %last, %i : tensor<256xi32>
    %xs = tt.splat %x : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>>
    %xp = tt.addptr %xs, %back : tensor<256x!tt.ptr<i32>>, tensor<256xi32>
    %v = tt.load %xp : tensor<256x!tt.ptr<i32>>
    %os = tt.splat %o : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>>
    %op = tt.addptr %os, %i : tensor<256x!tt.ptr<i32>>, tensor<256xi32>
    tt.store %op, %v : tensor<256x!tt.ptr<i32>>
  } else {
    %j = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %before = arith.subi %p, %c1 : i32
    %at = arith.muli %before, %c64 : i32
    %flag = tt.addptr %flags, %at : !tt.ptr<i32>, i32
    %turn = tt.atomic_poll acquire, gpu, %flag, %c1 : !tt.ptr<i32>, i32 -> i1
    %here = tt.addptr %x, %at : !tt.ptr<i32>, i32
    %hs = tt.splat %here : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %hp = tt.addptr %hs, %j : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %ats = tt.splat %at : i32 -> tensor<64xi32>
    %w = arith.addi %ats, %j : tensor<64xi32>
    %values = arith.addi %w, %ones : tensor<64xi32>
    tt.store %hp, %values : tensor<64x!tt.ptr<i32>>
    %mine = tt.addptr %flag, %c64 : !tt.ptr<i32>, i32
    %ms = tt.splat %mine : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %mp = tt.addptr %ms, %j : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    tt.atomic_store release, gpu, %mp, %ones : tensor<64x!tt.ptr<i32>>
  })";
  std::vector<int32_t> flags(5 * 64), expected;
  std::fill_n(flags.begin(), 64, 1);
  for (int i = 256; i > 0; --i)
    expected.push_back(i);
  auto result = runOnDevice("%x: !tt.ptr<i32>, %flags: !tt.ptr<i32>, %o: !tt.ptr<i32>", body,
                            {zeros<int32_t>(256), bufferOf(flags), zeros<int32_t>(256)}, {5, 1, 1});
  EXPECT_EQ(valuesOf<int32_t>(result[2]), expected);
}

// One look at each element always; one limit for all of them.
TEST(Programs, a_poll_of_a_tile_with_a_limit_says_which_came) {
  std::vector<int64_t> x(64);
  std::vector<int32_t> expected;
  for (int i = 0; i < 64; ++i) {
    x[size_t(i)] = i % 3 ? i : -1;
    expected.push_back(i % 3 ? 1 : 0);
  }
  for (uint64_t limit : {0, 20000}) {
    auto result = runOnDevice("%x: !tt.ptr<i64>, %o: !tt.ptr<i32>, %limit: i64", R"(
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %e = arith.extsi %i : tensor<64xi32> to tensor<64xi64>
  %xs = tt.splat %x : !tt.ptr<i64> -> tensor<64x!tt.ptr<i64>>
  %xp = tt.addptr %xs, %i : tensor<64x!tt.ptr<i64>>, tensor<64xi32>
  %came = tt.atomic_poll acquire, sys, %xp, %e timeout %limit : tensor<64x!tt.ptr<i64>>, tensor<64xi64> -> tensor<64xi1>
  %bits = arith.extui %came : tensor<64xi1> to tensor<64xi32>
  %os = tt.splat %o : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %op = tt.addptr %os, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  tt.store %op, %bits : tensor<64x!tt.ptr<i32>>)",
                              {bufferOf(x), zeros<int32_t>(64), Argument::scalar(limit)});
    EXPECT_EQ(valuesOf<int32_t>(result[1]), expected) << limit;
  }
}

TEST(Programs, cache_policies_and_constant_pointers_change_no_value) {
  std::vector<float> x;
  for (int i = 0; i < 256; ++i)
    x.push_back(float(i) / 7);
  expectAsReference("%x: !tt.ptr<f32, \"constant\">, %o: !tt.ptr<f32>", R"(
  %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
  %xs = tt.splat %x : !tt.ptr<f32, "constant"> -> tensor<256x!tt.ptr<f32, "constant">>
  %xp = tt.addptr %xs, %i : tensor<256x!tt.ptr<f32, "constant">>, tensor<256xi32>
  %a = tt.load %xp {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_first>} : tensor<256x!tt.ptr<f32, "constant">>
  %b = tt.load %x {cachePolicy = #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_last>} : !tt.ptr<f32, "constant">
  %bs = tt.splat %b : f32 -> tensor<256xf32>
  %v = arith.addf %a, %bs : tensor<256xf32>
  %os = tt.splat %o : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %op = tt.addptr %os, %i : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  tt.store %op, %v {cachePolicy = #tt.cache_policy<cache_modifier = cs, eviction_policy = evict_normal>} : tensor<256x!tt.ptr<f32>>)",
                    {bufferOf(x), zeros<float>(256)});
}

// The block at (1, 2) of 3 rows and 20 columns, 32 elements apart: what is outside reads as 0.
TEST(Programs, a_descriptor_that_the_kernel_is_given) {
  std::vector<int32_t> x, expected(4 * 32);
  for (int i = 0; i < 3 * 32; ++i)
    x.push_back(i + 1);
  auto result = runOnDevice("%d: !tt.tensordesc<4x32xi32>, %m: i32, %n: i32, %s: i64, %u: i64, %o: !tt.ptr<i32>", R"(
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %v = tt.descriptor_load %d[%c1, %c2] : !tt.tensordesc<4x32xi32> -> tensor<4x32xi32>
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %j = tt.reshape %i : tensor<128xi32> -> tensor<4x32xi32>
  %os = tt.splat %o : !tt.ptr<i32> -> tensor<4x32x!tt.ptr<i32>>
  %op = tt.addptr %os, %j : tensor<4x32x!tt.ptr<i32>>, tensor<4x32xi32>
  tt.store %op, %v : tensor<4x32x!tt.ptr<i32>>)",
                            {bufferOf(x), Argument::scalar(3), Argument::scalar(20), Argument::scalar(32),
                             Argument::scalar(1), zeros<int32_t>(128)});
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 32; ++column)
      if (1 + row < 3 && 2 + column < 20)
        expected[size_t(row * 32 + column)] = x[size_t((1 + row) * 32 + 2 + column)];
  EXPECT_EQ(valuesOf<int32_t>(result[5]), expected);
}

TEST(Programs, a_fast_quotient) {
  std::vector<float> x, y;
  for (int i = 0; i < 1024; ++i) {
    x.push_back(std::ldexp(1 + float(i * 37 % 1024) / 1024, i % 40 - 20) * (i % 2 ? 1 : -1));
    y.push_back(std::ldexp(1 + float(i * 101 % 1024) / 1024, i % 60 - 30));
  }
  auto result = mapOnDevice<float>({"f32", "f32", "f32"}, "  %r = tt.approx_divf %a, %b : @f32", x, y);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_PRED3(isWithin<float>, result[i], x[i] / y[i], 3.0) << x[i] << " / " << y[i];
}
