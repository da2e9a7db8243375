// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random HLO modules: one for each seed, with what is known of each value, so that results can be compared bit for bit
// wherever HLO determines the bits.
#pragma once
#include "frontend/hlo/Shape.h"
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::program::testing {

/// Of the elements of one array, on every device. `error` bounds how far two correct programs may be apart; 0 means
/// that the bits are determined (any NaN is as good as another).
struct Facts {
  double magnitude = 0, error = 0;
  bool nan = false;
};

struct Line {
  std::string name;
  hlo::Shape shape;
  std::string code; ///< `add($0, $1)`: $N is operand N; a parameter is `parameter`
  std::vector<int> operands;
  std::vector<Facts> facts; ///< of each array
};

struct RandomComputation {
  std::string name;
  std::vector<Line> lines;
  std::vector<int> results;
  bool isTuple = true; ///< else results is one line, the root
};

struct RandomModule {
  uint64_t seed = 0;
  int64_t replicas = 1, partitions = 1;
  std::string regions;                         ///< computations that are fixed text
  std::vector<RandomComputation> computations; ///< called ones first, the entry last

  RandomComputation &entry() { return computations.back(); }
  const RandomComputation &entry() const { return computations.back(); }
};

RandomModule randomModule(uint64_t seed);
std::string textOf(const RandomModule &module);

/// Runs the module with and without fusion on host devices and compares both with each other (bit for bit) and with the
/// reference. Empty when all agree; an error of the compiler or of the run is a difference. The reference runs
/// `referenceText` where there is one: to see whether a fault would be found.
std::string differenceOf(const RandomModule &module, const std::string &referenceText = "");

/// A smaller module that still differs: results left out, instructions made parameters. Facts are those of the old
/// module, so a difference within rounding may be the shrinking's own.
RandomModule shrink(RandomModule module);

} // namespace heddle::program::testing
