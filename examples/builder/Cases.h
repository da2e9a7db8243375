// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One run of each example kernel: its inputs, and what plain C++ loops in f64 say it must give.
#pragma once
#include "frontend/build/Kernel.h"
#include "support/ElementType.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::examples {

/// A kernel argument: a scalar's bits, or a buffer's bytes and, for what the kernel writes, the expected numbers.
struct Value {
  ElementType type;
  bool isBuffer;
  uint64_t bits = 0;
  std::vector<uint8_t> bytes = {};
  std::vector<double> expected = {}; ///< empty for inputs
  double tolerance = 0;              ///< largest absolute difference
};

struct Case {
  build::Program program;
  std::array<int64_t, 3> grid;
  std::vector<Value> values; ///< in the kernel's order
  std::string chip = "";     ///< the only one that the kernel is for; empty: any device
};

/// Those of tests/corpus, for any device.
std::vector<Case> corpusCases();
/// Also those of kernels for one chip.
std::vector<Case> allCases();

/// Compiles the text, runs it on a device (`host:0`), and returns the bytes of each argument after the run.
std::vector<std::vector<uint8_t>> runOnDevice(const std::string &device, const std::string &text, const Case &example);

/// The largest difference between what the kernel wrote and what was expected, in units of the tolerance; above 1 is
/// wrong. Exact buffers count 0 or infinity.
double largestError(const Case &example, const std::vector<std::vector<uint8_t>> &results);

} // namespace heddle::examples
