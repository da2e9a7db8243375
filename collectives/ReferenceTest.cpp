// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How results are compared: bit by bit, but for NaNs.
#include "collectives/Reference.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace heddle;

namespace {

std::string bytesOf(const std::vector<float> &values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(CollectiveReference, CountsTheElementsThatDiffer) {
  std::string expected = bytesOf({1, 2, 3, 4});
  EXPECT_EQ(reference::countDifferences(ElementType::F32, expected, expected), 0);
  EXPECT_EQ(reference::countDifferences(ElementType::F32, bytesOf({1, 2.5, 3, 5}), expected), 2);
  EXPECT_EQ(reference::firstDifference(ElementType::F32, bytesOf({1, 2.5, 3, 5}), expected),
            "element 1: 2.5, expected 2");
  EXPECT_EQ(reference::countDifferences(ElementType::I8, bytesOf({1, 2, 3, 4}), bytesOf({-1, 2, 3, 4})), 1);
}

TEST(CollectiveReference, SignsOfZeroDifferAndNansDoNot) {
  EXPECT_EQ(reference::countDifferences(ElementType::F32, bytesOf({0, NAN}), bytesOf({-0.0f, -NAN})), 1);
  EXPECT_EQ(reference::countDifferences(ElementType::F32, bytesOf({NAN, 1}), bytesOf({1, NAN})), 2);
  EXPECT_EQ(reference::countDifferences(ElementType::I32, bytesOf({NAN}), bytesOf({-NAN})), 1);
}

} // namespace
