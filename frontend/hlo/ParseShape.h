// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shapes and the elements of constants out of text, and the bounds that every shape keeps.
#pragma once
#include "frontend/hlo/Cursor.h"

namespace heddle::hlo {

/// More elements or bytes than this in one value are refused, so that no later product overflows.
inline constexpr int64_t largestShapeBytes = int64_t(1) << 60;

/// Whether a shape begins here: `(`, or a word before `[`.
bool standsAtShape(Cursor &cursor);
Shape parseShape(Cursor &cursor);

/// Bytes of the shape; nothing when they, or a partial product, exceed largestShapeBytes.
std::optional<int64_t> boundedSizeBytes(const Shape &shape);

/// What stands between the parentheses of `constant(...)`, as dense bytes of `shape`.
std::string parseLiteral(Cursor &cursor, const Shape &shape);

} // namespace heddle::hlo
