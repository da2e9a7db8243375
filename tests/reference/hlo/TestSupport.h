// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the evaluator's tests share: numbers in, numbers out.
#pragma once
#include "frontend/hlo/TestModule.h"
#include "tests/reference/hlo/Evaluator.h"
#include <cmath>
#include <limits>

namespace heddle::hlo::reference {

using Numbers = std::vector<double>;

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// The results of all devices; inputs[device][parameter].
inline std::vector<Value> run(const Module &module, const std::vector<std::vector<Numbers>> &inputs) {
  std::vector<std::vector<Value>> values(inputs.size());
  for (size_t device = 0; device < inputs.size(); ++device)
    for (size_t number = 0; number < inputs[device].size(); ++number)
      values[device].push_back(fromNumbers(module.entryComputation().parameter(number).shape, inputs[device][number]));
  return evaluate(module, values);
}

/// The result of an entry of these lines on one device.
inline Numbers compute(const std::string &body, const std::vector<Numbers> &inputs = {}) {
  return numbersOf(run(parseBody(body), {inputs})[0]);
}

/// The array results of all devices.
inline std::vector<Numbers> numbersOfAll(const std::vector<Value> &values) {
  std::vector<Numbers> numbers;
  for (const Value &value : values)
    numbers.push_back(numbersOf(value));
  return numbers;
}

/// The same numbers, also NaN and the sign of zero.
inline void expectSame(const Numbers &actual, const Numbers &expected, const std::string &what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    bool same = std::isnan(expected[i])
                    ? std::isnan(actual[i])
                    : actual[i] == expected[i] && std::signbit(actual[i]) == std::signbit(expected[i]);
    EXPECT_TRUE(same) << what << "[" << i << "]: " << actual[i] << ", expected " << expected[i];
  }
}

} // namespace heddle::hlo::reference
