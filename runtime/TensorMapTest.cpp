// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the arguments of a launch make of a tensor map, and what they may not be.
#include "runtime/TensorMap.h"
#include "support/TestError.h"
#include <functional>

using namespace heddle;

namespace {

/// A matrix of f16 after another argument: n, x, two sizes, two strides.
Package matrixPackage() {
  Package package;
  package.kernel = "k";
  package.arguments = {{"n", "i32", false, 1},         {"x", "f16", true, 1},        {"x.rows", "i32", false, 1},
                       {"x.columns", "i32", false, 1}, {"x.pitch", "i64", false, 1}, {"x.step", "i64", false, 1}};
  package.tensorMaps = {{1, "f16", {64, 32}, 64}};
  return package;
}

using Values = std::vector<uint64_t>;
const Values good = {7, 0x1000, 100, 50, 56, 1};

std::string refusal(const std::function<void(Values &)> &change) {
  Values values = good;
  change(values);
  return messageOf([&] { resolveTensorMaps(matrixPackage(), values); });
}

TEST(TensorMap, OfTheArguments) {
  checkTensorMaps(matrixPackage());
  std::vector<TensorMap> maps = resolveTensorMaps(matrixPackage(), good);
  ASSERT_EQ(maps.size(), 1u);
  EXPECT_EQ(maps[0].type, ElementType::F16);
  EXPECT_EQ(maps[0].elementBytes, 2);
  EXPECT_EQ(maps[0].address, 0x1000u);
  EXPECT_EQ(maps[0].sizes, (Values{100, 50}));
  EXPECT_EQ(maps[0].strideBytes, (Values{112, 2}));
  EXPECT_EQ(maps[0].box, (std::vector<uint32_t>{64, 32}));
  EXPECT_EQ(maps[0].swizzle, 64);
}

TEST(TensorMap, ArgumentsThatAreRefused) {
  EXPECT_CONTAINS(refusal([](Values &v) { v[1] = 0x1008; }),
                  "kernel `k`: argument `x`: address 0x1008 is not a multiple of 16 bytes, as a tensor map needs");
  EXPECT_CONTAINS(refusal([](Values &v) { v[1] = 0x1008; }), "a copy of it, or one with padded rows");
  EXPECT_CONTAINS(refusal([](Values &v) { v[4] = 50; }),
                  "argument `x.pitch`: a stride of 50 elements, 100 bytes, along axis 0 of a tensor map is not a "
                  "multiple of 16 bytes");
  EXPECT_CONTAINS(refusal([](Values &v) { v[5] = 2; }),
                  "argument `x.step`: a stride of 2 elements along the last axis of a tensor map, which needs 1");
  EXPECT_CONTAINS(refusal([](Values &v) { v[2] = 0; }),
                  "argument `x.rows`: 0 elements along axis 0 of a tensor map; 1 to 2147483647 are possible");
  EXPECT_CONTAINS(refusal([](Values &v) { v[3] = 0xffffffff; }), "argument `x.columns`: -1 elements along axis 1");
  EXPECT_CONTAINS(refusal([](Values &v) { v[4] = uint64_t(1) << 39; }),
                  "a stride of 549755813888 elements of 2 bytes along axis 0 of a tensor map; 0 to below 2^40 bytes");
  EXPECT_CONTAINS(refusal([](Values &v) { v[4] = uint64_t(-8); }), "a stride of -8 elements of 2 bytes");
}

TEST(TensorMap, StridesOfAxesOfOneElementDoNotMatter) {
  Values values = good;
  values[2] = 1, values[4] = 3;
  EXPECT_EQ(resolveTensorMaps(matrixPackage(), values)[0].strideBytes[0] % 16, 0u);
  values = good, values[3] = 1, values[5] = 9;
  EXPECT_EQ(resolveTensorMaps(matrixPackage(), values)[0].strideBytes[1], 2u);
}

TEST(TensorMap, MapsThatAreRefused) {
  auto refusalOf = [](const std::function<void(Package &)> &change) {
    Package package = matrixPackage();
    change(package);
    return messageOf([&] { checkTensorMaps(package); });
  };
  auto map = [](Package &p) -> PackageTensorMap & { return p.tensorMaps[0]; };
  EXPECT_CONTAINS(refusalOf([&](Package &p) { map(p).box = {}; }), "kernel `k`: tensor map 0 has 0 axes; 1 to 5");
  EXPECT_CONTAINS(refusalOf([&](Package &p) { map(p).box = {1, 1, 1, 1, 1, 8}; }), "has 6 axes");
  EXPECT_CONTAINS(refusalOf([&](Package &p) { map(p).box[0] = 257; }),
                  "its box has 257 elements along an axis; 1 to 256");
  EXPECT_CONTAINS(refusalOf([&](Package &p) { map(p).type = "i1"; }), "no map has elements of type `i1`");
  EXPECT_CONTAINS(refusalOf([&](Package &p) { map(p).swizzle = 16; }), "a swizzle of 16 bytes; 0, 32, 64 and 128");
  EXPECT_CONTAINS(refusalOf([&](Package &p) { map(p).box[1] = 4; }),
                  "rows of its box have 8 bytes, which is no multiple");
  EXPECT_CONTAINS(refusalOf([&](Package &p) { map(p).swizzle = 32; }),
                  "rows of its box have 64 bytes, and a swizzle of 32 bytes allows no longer ones");
  EXPECT_CONTAINS(refusalOf([&](Package &p) { map(p).argument = 2; }),
                  "of 2 axes begins at argument 2, and the kernel has 6: a pointer, 2 sizes and 2 strides are needed");
  EXPECT_CONTAINS(refusalOf([&](Package &p) { p.arguments[3].type = "i64"; }),
                  "argument `x.columns` is i64, and the map needs i32");
  EXPECT_CONTAINS(refusalOf([&](Package &p) { p.arguments[1].pointer = false; }),
                  "argument `x` is f16, and the map needs a pointer");
}

} // namespace
