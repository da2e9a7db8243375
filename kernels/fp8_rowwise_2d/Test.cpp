// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes, strides and special numbers of row-wise quantisation, and the refusals that all library kernels share.
#include "kernels/Calls.h"
#include "kernels/TestCalls.h"
#include <cmath>
#include <cstring>

using namespace heddle;
using namespace heddle::kernels;

/// A row of zeros, of NaN, of infinities, of the smallest and of the largest numbers.
static void plantSpecials(HostArrays &inputs) {
  HostArray &x = inputs.at("x");
  int64_t K = x.type.shape[1];
  for (int64_t k = 0; k < K; ++k) {
    x.set({0, k}, 0);
    x.set({3, k}, k % 2 ? 3e38 : -1e38);
    x.set({4, k}, k % 3 ? 1e-40 : -0.0);
  }
  x.set({1, K / 2}, std::nan(""));
  x.set({2, 1}, -INFINITY);
}

TEST(Fp8Rowwise2d, any_size_type_and_stride) {
  expectReference({.kernel = "fp8_rowwise_2d", .extents = {{"M", 5}, {"K", 2064}}, .change = plantSpecials});
  expectReference({.kernel = "fp8_rowwise_2d",
                   .extents = {{"M", 13}, {"K", 37}},
                   .options = {{"dtype", "f8E5M2"}, {"pow2", "true"}, {"nan", "ignore"}},
                   .type = ElementType::F32,
                   .change = plantSpecials});
  expectReference({.kernel = "fp8_rowwise_2d", // a transposed view with a gap
                   .extents = {{"M", 24}, {"K", 130}},
                   .options = {{"dtype", "f8E4M3FNUZ"}},
                   .type = ElementType::F16,
                   .arrange = [](auto &arrays) { arrays.at("x").strides = {2, 51}; },
                   .change = plantSpecials});
}

TEST(Fp8Rowwise2d, a_row_too_long_for_registers) {
  expectReference({.kernel = "fp8_rowwise_2d",
                   .extents = {{"M", 5}, {"K", 3000}},
                   .options = {{"block", "128"}},
                   .change = plantSpecials});
}

// Rows that are more than 2^31 elements apart: of the 4 GiB between them nothing is touched.
TEST(Library, addresses_beyond_32_bits) {
  std::shared_ptr<Device> device = openDevice("host");
  ArrayType x{ElementType::BF16, {2, 64}, {(int64_t(1) << 31) + 64, 1}};
  QuantiseCall call = QuantiseCall::rowwise2d(device, x);
  Buffer input = device->allocate(uint64_t(x.sizeBytes())), q = device->allocate(128), scales = device->allocate(8);
  std::vector<uint16_t> row(64, 0x4000); // 2
  std::unique_ptr<Stream> stream = device->createStream();
  for (int64_t m : {0, 1})
    stream->copyToDevice(input.address() + uint64_t(m * x.stride(0) * 2), row.data(), 128);
  call.launch(*stream, input, q, scales);
  float found[2] = {};
  stream->copyToHost(found, scales);
  stream->synchronize();
  EXPECT_EQ(found[0], 224);
  EXPECT_EQ(found[1], 224);
}

TEST(Fp8Rowwise2d, the_scale_of_zeros) {
  HostArrays results = expectReference(
      {.kernel = "fp8_rowwise_2d",
       .extents = {{"M", 1}, {"K", 16}},
       .options = {{"dtype", "f8E5M2"}},
       .change = [](HostArrays &inputs) { std::fill(inputs.at("x").bytes.begin(), inputs.at("x").bytes.end(), 0); }});
  uint32_t bits = 0;
  std::memcpy(&bits, results.at("scales").bytes.data(), 4);
  EXPECT_EQ(bits, 0x5B4BBA10u);
}

TEST(Library, refusals_name_both_values) {
  CallRequest request;
  request.inputs["x"] = {ElementType::BF16, {4, 8}};
  request.options = {{"pow2", "yes"}};
  EXPECT_CONTAINS(refusal("fp8_rowwise_2d", request), "`pow2` is `yes`, and it may be true, false");
  request.options = {{"blok", "128"}};
  EXPECT_CONTAINS(refusal("fp8_rowwise_2d", request), "has no argument `blok`\nthe closest is `block`");
  request.options = {{"rows", "3"}};
  EXPECT_CONTAINS(refusal("fp8_rowwise_2d", request), "the tile parameter `rows` is `3`, and it may be 1, 2, 4, 8");
  request.options = {};
  request.inputs["x"].shape = {4, 8, 2};
  EXPECT_CONTAINS(refusal("fp8_rowwise_2d", request), "`x` is [4,8,2], of rank 3, and [M, K] has rank 2");
  request.inputs["x"] = {ElementType::I32, {4, 8}};
  EXPECT_CONTAINS(refusal("fp8_rowwise_2d", request), "`x` has elements of i32, and takes bf16, f16, f32");
  request.inputs["x"] = {ElementType::F32, {4, 8}, {8, 0}};
  EXPECT_CONTAINS(refusal("fp8_rowwise_2d", request), "`x` has the stride 0 along K, and strides are 1 or above");
  EXPECT_CONTAINS(refusal("fp8_rowwise_2d", {}), "the array `x` is missing");
  EXPECT_CONTAINS(messageOf([] { lookupKernel("fp8_rowise_2d"); }), "the closest is `fp8_rowwise_2d`");
}

TEST(Library, typed_calls) {
  std::shared_ptr<Device> device = openDevice("host");
  ArrayType x{ElementType::F32, {2, 4}};
  QuantiseCall call = QuantiseCall::rowwise2d(device, x, {.powersOfTwo = true});
  float numbers[8] = {1, -2, 3, 448, 0, 0, 0, 0}, scales[2] = {};
  uint8_t q[8] = {};
  std::unique_ptr<Stream> stream = device->createStream();
  Buffer input = device->allocate(sizeof numbers), values = device->allocate(sizeof q), forward = device->allocate(8);
  stream->copyToDevice(input, numbers);
  call.launch(*stream, input, values, forward);
  stream->copyToHost(q, values);
  stream->copyToHost(scales, forward);
  stream->synchronize();
  EXPECT_EQ(scales[0], 1);
  EXPECT_EQ(scales[1], 0x1p48f);
  EXPECT_EQ(q[0], 0x38); // 1
  EXPECT_EQ(q[3], 0x7e); // 448
}
