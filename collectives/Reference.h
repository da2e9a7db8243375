// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plain reference of collectives: element by element from the definitions in Collective.h, sharing no code with
// plans or kernels. Tests and the benchmark's check compare with it.
#pragma once
#include "collectives/Collective.h"
#include <string>
#include <vector>

namespace heddle::reference {

/// The bytes of every rank's output, given those of every rank's input.
std::vector<std::string> runCollective(const Collective &collective, const std::vector<std::string> &inputs);

/// Inputs for all ranks, by seed: small values, so that floating sums round; with `special` also NaN, infinities, zeros
/// of both signs and the largest values, and, of copies and integers, words that packets have another use for
/// (Protocol.h).
std::vector<std::string> randomInputs(const Collective &collective, uint64_t seed, bool special);

/// The elements that differ in some bit; NaNs are equal whatever their bits. Both texts have the same length.
int64_t countDifferences(ElementType type, const std::string &seen, const std::string &expected);

/// The first of them as text; empty when there is none.
std::string firstDifference(ElementType type, const std::string &seen, const std::string &expected);

} // namespace heddle::reference
