// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The span of words over F2, with the combination that makes each member: elimination for layouts of at most 64 bits a
// side, one word a vector.
#pragma once
#include <bit>
#include <cstdint>
#include <optional>

namespace heddle::layout {

/// Vectors are added one by one, each with its name, a mask. A vector that depends on those before it adds nothing, so
/// that every member has exactly one combination: of vectors that were independent when they came.
class BitSpan {
public:
  /// Whether the vector was independent.
  bool insert(uint64_t vector, uint64_t name = 0) {
    uint64_t rest = reduce(vector, name);
    if (rest == 0)
      return false;
    int pivot = std::countr_zero(rest);
    pivots |= uint64_t(1) << pivot;
    vectors[pivot] = rest;
    names[pivot] = name;
    return true;
  }
  /// The names of what sums up to the vector, themselves summed.
  std::optional<uint64_t> combination(uint64_t vector) const {
    uint64_t name = 0;
    return reduce(vector, name) == 0 ? std::optional(name) : std::nullopt;
  }
  bool contains(uint64_t vector) const { return combination(vector).has_value(); }
  int rank() const { return std::popcount(pivots); }

private:
  uint64_t reduce(uint64_t vector, uint64_t &name) const {
    for (uint64_t open = vector & pivots; open != 0; open = vector & pivots) {
      int pivot = std::countr_zero(open);
      vector ^= vectors[pivot];
      name ^= names[pivot];
    }
    return vector;
  }

  uint64_t pivots = 0; ///< bit p: vectors[p] and names[p] are set
  uint64_t vectors[64];
  uint64_t names[64];
};

} // namespace heddle::layout
