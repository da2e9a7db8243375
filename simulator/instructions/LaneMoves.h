// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What instructions that move values between lanes do, without a wave: each reads all its sources before it writes.
#pragma once
#include "simulator/state/Wave.h"

namespace heddle::simulator {

/// ds_bpermute: each lane reads the lane that its address, in bytes, names; an inactive one gives 0.
void permuteBackward(const uint32_t *addresses, uint32_t offset, const uint32_t *data, uint64_t active, Row &result);
/// ds_permute: each active lane sends to the lane that its address names; the highest one wins, the rest is 0.
void permuteForward(const uint32_t *addresses, uint32_t offset, const uint32_t *data, uint64_t active, Row &result);
/// ds_swizzle: by the pattern in the instruction's offset; an inactive source lane gives 0.
void swizzle(uint16_t pattern, const uint32_t *data, uint64_t active, Row &result);
/// The lane that `lane` reads under ds_swizzle.
unsigned swizzleSourceLane(uint16_t pattern, unsigned lane);

/// v_permlane32_swap (`width` 32) and v_permlane16_swap (16): the upper rows of each pair in `first` are swapped with
/// the lower ones in `second`.
void swapRows(unsigned width, const uint32_t *first, const uint32_t *second, Row &newFirst, Row &newSecond);

} // namespace heddle::simulator
