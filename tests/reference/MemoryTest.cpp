// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, stores, atomics, block pointers, descriptors, and accesses that miss the buffers.
#include "tests/reference/TestSupport.h"
#include <cmath>

using namespace heddle::reference;

TEST(Memory, masked_elements_are_not_accessed) {
  std::string body = R"(
    %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %n = arith.constant dense<5> : tensor<8xi32>
    %m = arith.cmpi slt, %i, %n : tensor<8xi32>
    %other = arith.constant dense<-7> : tensor<8xi32>
    %in = tt.splat %x : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
    %ps = tt.addptr %in, %i : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
    %v = tt.load %ps, %m, %other : tensor<8x!tt.ptr<i32>>
    %os = tt.splat %out : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
    %po = tt.addptr %os, %i : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
    tt.store %po, %v : tensor<8x!tt.ptr<i32>>)";
  auto result =
      run("%x: !tt.ptr<i32>, %out: !tt.ptr<i32>", body, {bufferOf<int32_t>({1, 2, 3, 4, 5}), zeros<int32_t>(8)});
  EXPECT_EQ(valuesOf<int32_t>(result[1]), (std::vector<int32_t>{1, 2, 3, 4, 5, -7, -7, -7}));
}

TEST(Memory, an_active_element_outside_is_an_error_with_its_place) {
  std::string text = R"(
    tt.func public @k(%x: !tt.ptr<i32>) {
      %c = arith.constant 2 : i32
      %p = tt.addptr %x, %c : !tt.ptr<i32>, i32
      %v = tt.load %p : !tt.ptr<i32> loc("kernel.py":7:3)
      tt.return
    })";
  std::vector<Argument> arguments{zeros<int32_t>(2)};
  EXPECT_EQ(
      errorOf([&] { evaluateText(text, {}, arguments); }),
      "kernel.py:7:3: error: 'tt.load': access of 4 bytes outside every buffer: offset 8 of argument 0, which has "
      "8 bytes");
}

TEST(Memory, bools_are_bytes_and_addresses_are_integers) {
  std::string body = R"(
    %one = arith.constant 1 : i32
    %p = tt.addptr %x, %one : !tt.ptr<i1>, i32
    %v = tt.load %p : !tt.ptr<i1>
    %n = arith.xori %v, %v : i1
    %a = tt.ptr_to_int %x : !tt.ptr<i1> -> i64
    %two = arith.constant 2 : i64
    %b = arith.addi %a, %two : i64
    %q = tt.int_to_ptr %b : i64 -> !tt.ptr<i1>
    tt.store %q, %v : !tt.ptr<i1>
    tt.store %p, %n : !tt.ptr<i1>)";
  auto result = run("%x: !tt.ptr<i1>", body, {bufferOf<uint8_t>({0, 4, 0})});
  EXPECT_EQ(valuesOf<uint8_t>(result[0]), (std::vector<uint8_t>{0, 0, 1}));
}

// One atomic on memory `old` with `value`: {old value returned, memory afterwards}.
template <typename T>
static std::vector<T> atomic(const std::string &kind, const std::string &type, T old, T value, bool mask = true) {
  std::string body = "%m = arith.constant " + std::string(mask ? "true" : "false") + R"(
    %v = tt.load %value : !tt.ptr<)" +
                     type + R"(>
    %r = tt.atomic_rmw )" +
                     kind + ", acq_rel, gpu, %x, %v, %m : (!tt.ptr<" + type + ">, " + type + ", i1) -> " + type + R"(
    tt.store %value, %r : !tt.ptr<)" +
                     type + ">";
  std::string parameters = "%x: !tt.ptr<" + type + ">, %value: !tt.ptr<" + type + ">";
  auto result = run(parameters, body, {bufferOf<T>({old}), bufferOf<T>({value})});
  return {valuesOf<T>(result[1])[0], valuesOf<T>(result[0])[0]};
}

TEST(Atomics, every_kind) {
  using I = std::vector<int32_t>;
  EXPECT_EQ(atomic<int32_t>("and", "i32", 12, 10), (I{12, 8}));
  EXPECT_EQ(atomic<int32_t>("or", "i32", 12, 10), (I{12, 14}));
  EXPECT_EQ(atomic<int32_t>("xor", "i32", 12, 10), (I{12, 6}));
  EXPECT_EQ(atomic<int32_t>("add", "i32", INT32_MAX, 1), (I{INT32_MAX, INT32_MIN}));
  EXPECT_EQ(atomic<int32_t>("max", "i32", -1, 1), (I{-1, 1}));
  EXPECT_EQ(atomic<int32_t>("min", "i32", -1, 1), (I{-1, -1}));
  EXPECT_EQ(atomic<int32_t>("umax", "i32", -1, 1), (I{-1, -1}));
  EXPECT_EQ(atomic<int32_t>("umin", "i32", -1, 1), (I{-1, 1}));
  EXPECT_EQ(atomic<int32_t>("exch", "i32", 3, 4), (I{3, 4}));
  EXPECT_EQ(atomic<int32_t>("add", "i32", 3, 4, false), (I{0, 3}));
  EXPECT_EQ(atomic<float>("fadd", "f32", 1.5f, 2), (std::vector<float>{1.5f, 3.5f}));
  EXPECT_EQ(atomic<uint16_t>("fadd", "bf16", 0x3f80, 0x3b80), (std::vector<uint16_t>{0x3f80, 0x3f80})); // a tie
}

TEST(Atomics, compare_and_swap_by_bits) {
  std::string body = R"(
    %cmp = arith.constant -0.0 : f32
    %new = arith.constant 5.0 : f32
    %r = tt.atomic_cas acquire, gpu, %x, %cmp, %new : (!tt.ptr<f32>, f32, f32) -> f32)";
  EXPECT_EQ(valuesOf<float>(run("%x: !tt.ptr<f32>", body, {bufferOf<float>({0.0f})})[0])[0], 0.0f);
  EXPECT_EQ(valuesOf<float>(run("%x: !tt.ptr<f32>", body, {bufferOf<float>({-0.0f})})[0])[0], 5.0f);
}

TEST(Atomics, loads_and_stores) {
  std::string body = R"(
    %i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %three = arith.constant dense<3> : tensor<4xi32>
    %m = arith.cmpi slt, %i, %three : tensor<4xi32>
    %xs = tt.splat %x : !tt.ptr<i16> -> tensor<4x!tt.ptr<i16>>
    %xp = tt.addptr %xs, %i : tensor<4x!tt.ptr<i16>>, tensor<4xi32>
    %v = tt.atomic_load acquire, gpu, %xp, %m : (tensor<4x!tt.ptr<i16>>, tensor<4xi1>) -> tensor<4xi16>
    %os = tt.splat %o : !tt.ptr<i16> -> tensor<4x!tt.ptr<i16>>
    %op = tt.addptr %os, %i : tensor<4x!tt.ptr<i16>>, tensor<4xi32>
    tt.atomic_store release, sys, %op, %v, %m : tensor<4x!tt.ptr<i16>>
    %w = tt.atomic_load relaxed, cta, %o : (!tt.ptr<i16>) -> i16
    %next = tt.addptr %o, %c : !tt.ptr<i16>, i32
    tt.atomic_store relaxed, cta, %next, %w : !tt.ptr<i16>)";
  auto result = run("%x: !tt.ptr<i16>, %o: !tt.ptr<i16>, %c: i32", body,
                    {bufferOf<int16_t>({5, 6, 7}), bufferOf<int16_t>({1, 2, 3, 4}), Argument::scalar(1)});
  EXPECT_EQ(valuesOf<int16_t>(result[1]), (std::vector<int16_t>{5, 5, 7, 4}));
}

TEST(Atomics, polls_of_tiles) {
  std::string body = R"(
    %i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %xs = tt.splat %x : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
    %xp = tt.addptr %xs, %i : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
    %came = tt.atomic_poll acquire, gpu, %xp, %i timeout %n : tensor<4x!tt.ptr<i32>>, tensor<4xi32> -> tensor<4xi1>
    %bits = arith.extui %came : tensor<4xi1> to tensor<4xi32>
    tt.store %xp, %bits : tensor<4x!tt.ptr<i32>>)";
  auto result = run("%x: !tt.ptr<i32>, %n: i64", body, {bufferOf<int32_t>({0, 5, 2, 4}), Argument::scalar(0)});
  EXPECT_EQ(valuesOf<int32_t>(result[0]), (std::vector<int32_t>{1, 0, 1, 0}));
}

TEST(Blocks, pointers_with_boundaries) {
  // A 3x5 tensor; the 4x4 block at (1, 2) sticks out by two rows and one column.
  std::string body = R"(
    %c3 = arith.constant 3 : i64
    %c5 = arith.constant 5 : i64
    %c1 = arith.constant 1 : i64
    %r0 = arith.constant 0 : i32
    %r1 = arith.constant 1 : i32
    %r2 = arith.constant 2 : i32
    %b = tt.make_tensor_ptr %x, [%c3, %c5], [%c5, %c1], [%r0, %r2] {order = array<i32: 1, 0>} : <tensor<4x4xf32>>
    %a = tt.advance %b, [%r1, %r0] : <tensor<4x4xf32>>
    %v = tt.load %a {boundaryCheck = array<i32: 0, 1>, padding = 2 : i32} : !tt.ptr<tensor<4x4xf32>>
    %w = tt.make_tensor_ptr %out, [%c3, %c5], [%c5, %c1], [%r1, %r1] {order = array<i32: 1, 0>} : <tensor<4x4xf32>>
    tt.store %w, %v {boundaryCheck = array<i32: 0, 1>} : !tt.ptr<tensor<4x4xf32>>)";
  std::vector<float> x(15);
  for (int i = 0; i < 15; ++i)
    x[i] = float(i);
  auto result = valuesOf<float>(run("%x: !tt.ptr<f32>, %out: !tt.ptr<f32>", body, {bufferOf(x), zeros<float>(15)})[1]);
  std::vector<float> expected{0, 0, 0, 0, 0, 0, 7, 8, 9, NAN, 0, 12, 13, 14, NAN};
  for (int i = 0; i < 15; ++i)
    EXPECT_TRUE(result[i] == expected[i] || (std::isnan(result[i]) && std::isnan(expected[i])))
        << i << ": " << result[i];
}

static const std::string describe = R"(
    %n = arith.constant 3 : i32
    %m = arith.constant 10 : i32
    %ld = arith.constant 10 : i64
    %unit = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32)";

static Argument thirty() {
  std::vector<int32_t> values(30);
  for (int i = 0; i < 30; ++i)
    values[i] = i;
  return bufferOf(values);
}

TEST(Blocks, descriptor_load_store_and_reduce) {
  std::string body = describe + R"(
    %d = tt.make_tensor_descriptor %x, [%n, %m], [%ld, %unit] : <i32>, <tensor<2x4xsi32>>
    %e = tt.make_tensor_descriptor %out, [%n, %m], [%ld, %unit] : <i32>, <tensor<2x4xsi32>>
    %c2 = arith.constant 2 : i32
    %c8 = arith.constant 8 : i32
    %v = tt.descriptor_load %d[%c1, %c4] : !tt.tensordesc<tensor<2x4xsi32>> -> tensor<2x4xi32>
    tt.descriptor_store %e[%c2, %c8], %v : !tt.tensordesc<tensor<2x4xsi32>>, tensor<2x4xi32>
    tt.descriptor_reduce add, %e[%c2, %c8], %v : !tt.tensordesc<tensor<2x4xsi32>>, tensor<2x4xi32>
    tt.descriptor_reduce max, %e[%c0, %c0], %v : !tt.tensordesc<tensor<2x4xsi32>>, tensor<2x4xi32>)";
  auto out = valuesOf<int32_t>(run("%x: !tt.ptr<i32>, %out: !tt.ptr<i32>", body, {thirty(), zeros<int32_t>(30)})[1]);
  EXPECT_EQ(out[28], 28); // 14, stored and added once
  EXPECT_EQ(out[29], 30);
  EXPECT_EQ(out[0], 14);
  EXPECT_EQ(out[13], 27);
  EXPECT_EQ(out[20], 0);
}

TEST(Blocks, descriptors_as_arguments) {
  std::string body = R"(
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    ttg.barrier all
    %v = tt.descriptor_load %d[%c1, %c4] : !tt.tensordesc<2x4xi32> -> tensor<2x4xi32>
    tt.descriptor_store %d[%n, %n], %v : !tt.tensordesc<2x4xi32>, tensor<2x4xi32>)";
  auto out = valuesOf<int32_t>(run("%d: !tt.tensordesc<2x4xi32>, %m: i32, %w: i32, %s: i64, %t: i64, %n: i32", body,
                                   {thirty(), Argument::scalar(2), Argument::scalar(7), Argument::scalar(10),
                                    Argument::scalar(1), Argument::scalar(0)})[0]);
  EXPECT_EQ(std::vector<int32_t>(out.begin(), out.begin() + 4), (std::vector<int32_t>{14, 15, 16, 0}));
  EXPECT_EQ(std::vector<int32_t>(out.begin() + 10, out.begin() + 15), (std::vector<int32_t>{0, 0, 0, 0, 14}));
}

TEST(Blocks, descriptor_gather_and_scatter) {
  std::string body = describe + R"(
    %d = tt.make_tensor_descriptor %x, [%n, %m], [%ld, %unit] : <i32>, <tensor<1x8xi32>>
    %e = tt.make_tensor_descriptor %out, [%n, %m], [%ld, %unit] : <i32>, <tensor<1x8xi32>>
    %rows = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %v = tt.descriptor_gather %d[%rows, %c4] : (!tt.tensordesc<tensor<1x8xi32>>, tensor<8xi32>, i32) -> tensor<8x8xi32>
    tt.descriptor_scatter %e[%rows, %c1], %v : !tt.tensordesc<tensor<1x8xi32>>, tensor<8xi32>, i32, tensor<8x8xi32>)";
  auto out = valuesOf<int32_t>(run("%x: !tt.ptr<i32>, %out: !tt.ptr<i32>", body, {thirty(), zeros<int32_t>(30)})[1]);
  EXPECT_EQ(out[1], 4);
  EXPECT_EQ(out[26], 29); // row 2: columns 4..9 land on 1..6
  EXPECT_EQ(out[27], 0);  // beyond column 9: padding
  EXPECT_EQ(out[29], 0);
}
