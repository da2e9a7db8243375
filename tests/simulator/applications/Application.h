// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of this folder share: each runs for both chips, with results of memory operations early and late.
#pragma once
#include "tests/simulator/kernels/SimulatedKernel.h"
#include <gtest/gtest.h>
#include <memory>
#include <ostream>
#include <random>

namespace heddle::simulator {

struct Variant {
  std::string chip;
  Policy policy;
};
inline std::string nameOf(const Variant &variant) {
  return variant.chip + (variant.policy == Policy::Earliest ? "early" : "late");
}
inline void PrintTo(const Variant &variant, std::ostream *stream) {
  *stream << nameOf(variant);
}

class Application : public testing::TestWithParam<Variant> {
protected:
  /// Loads `NAME.cl`, compiled for the chip.
  SimulatedObject &load(const std::string &name) {
    object = std::make_unique<SimulatedObject>("applications/" + name + "-" + GetParam().chip + ".hsaco");
    object->options.policy = GetParam().policy;
    object->options.instructionLimit = 50'000'000;
    return *object;
  }

  /// Multiples of 1/8 between -1 and 1: sums of a few hundred products of them are exact in f32.
  std::vector<float> eighths(size_t count) {
    std::vector<float> values(count);
    for (float &value : values)
      value = float(int(random() % 17) - 8) / 8;
    return values;
  }
  std::vector<float> floats(size_t count, float from, float to) {
    std::uniform_real_distribution<float> between(from, to);
    std::vector<float> values(count);
    for (float &value : values)
      value = between(random);
    return values;
  }

  std::mt19937 random{17};
  std::unique_ptr<SimulatedObject> object;
};

#define EVERYWHERE(suite)                                                                                              \
  INSTANTIATE_TEST_SUITE_P(Everywhere, suite,                                                                          \
                           testing::Values(Variant{"gfx942", Policy::Earliest}, Variant{"gfx942", Policy::Latest},     \
                                           Variant{"gfx950", Policy::Earliest}, Variant{"gfx950", Policy::Latest}),    \
                           [](const auto &info) { return nameOf(info.param); })

} // namespace heddle::simulator
