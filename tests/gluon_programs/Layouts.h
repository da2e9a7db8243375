// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random layouts of tiles and of shared memory, as text. Where elements lie is of no concern here: a value is the same
// in every layout, so that nothing of what layouts denote is computed twice.
#pragma once
#include "tests/fuzz/Random.h"
#include "tests/gluon_programs/Values.h"
#include <optional>
#include <utility>

namespace heddle::gluon_programs {

using fuzz::Random;

struct SharedLayout {
  enum class Kind { Swizzled, Rotating, Padded, PaddedBits, Linear };
  Kind kind = Kind::Swizzled;
  int64_t vec = 1, perPhase = 1, maxPhase = 1;
  std::vector<int> order = {0};                      ///< the contiguous axis first
  std::vector<std::pair<int64_t, int64_t>> paddings; ///< interval, elements
  Shape shape = {};                                  ///< of padded ones
  std::vector<Shape> bits = {};                      ///< what each bit of an offset adds

  std::string text() const;
  SharedLayout transposed() const;
  /// The same bytes as a tile of shape `to`, row-major; nothing where that has padding.
  std::optional<SharedLayout> reshaped(const Shape &from, const Shape &to) const;
};

SharedLayout randomShared(Random &random, const Shape &shape);

/// `#ttg.blocked<...>` of a tile, with at most 64 elements in a thread. `fastest`: the axis along which lanes are
/// contiguous, with `vec` elements each; -1: any distribution.
std::string blockedText(Random &random, const Shape &shape, int warps, int fastest = -1, int64_t vec = 1);
std::string linearText(Random &random, const Shape &shape, int warps);

/// A matrix instruction, and where its operands lie.
struct Instruction {
  std::string a, b, d; ///< types of elements
  int64_t m, n, k;
  std::vector<int64_t> widths; ///< kWidth
};
const std::vector<Instruction> &instructionsOf(const std::string &chip);
std::string mfmaText(Random &random, const std::string &chip, const Instruction &instruction, int warps);
std::string operandText(const std::string &parent, int operand, int64_t width);

} // namespace heddle::gluon_programs
