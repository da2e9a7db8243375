// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HLO's element types as those of buffers and kernels.
#pragma once
#include "frontend/hlo/Shape.h"
#include "support/ElementType.h"
#include <optional>
#include <string>

namespace heddle::program {

/// pred is I1 (a byte of 0 or 1), and types of NarrowTypes.h are bytes; nothing for types that no device computes with.
std::optional<ElementType> bufferType(hlo::DType type);

/// The array of a program that holds a parameter or result of this shape: of a complex one it has a last dimension of 2
/// with the real and the imaginary parts.
hlo::Shape arrayOf(const hlo::Shape &shape);

/// `pred, s8, ...` for messages.
std::string knownTypes();

} // namespace heddle::program
