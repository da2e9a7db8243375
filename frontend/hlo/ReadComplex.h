// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A complex array as two real ones.
#pragma once
#include "frontend/hlo/ParseInstruction.h"

namespace heddle::hlo {

DType partType(DType type); ///< f32 of c64, f64 of c128, else the type itself

} // namespace heddle::hlo
