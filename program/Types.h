// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HLO's element types as those of buffers and kernels.
#pragma once
#include "frontend/hlo/Shape.h"
#include "support/ElementType.h"
#include <optional>
#include <string>

namespace heddle::program {

/// pred is I1 (a byte of 0 or 1); nothing for types that no device computes with.
std::optional<ElementType> bufferType(hlo::DType type);

/// `pred, s8, ...` for messages.
std::string knownTypes();

} // namespace heddle::program
