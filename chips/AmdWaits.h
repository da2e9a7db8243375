// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands of s_waitcnt, as gfx942 and gfx950 encode them.
#pragma once
#include <cstdint>

namespace heddle {

/// Waits until no operation of LDS (or scalar load) of the wave is in flight, whatever else is.
inline constexpr uint32_t waitForLgkmcnt0 = 0xC07F;

} // namespace heddle
