// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements of constants between text and bytes, for every element type of HLO.
#pragma once
#include "frontend/hlo/Shape.h"
#include <string>
#include <string_view>

namespace heddle::hlo {

/// A floating format of at most 8 bits. `nan` and `infinity` are codes without sign; -1 where there is none.
struct SmallFloat {
  DType type;
  int exponentBits, mantissaBits, bias;
  int infinity, nan;
  bool hasSign = true, nanIsNegativeZero = false;
};

const SmallFloat *findSmallFloat(DType type); ///< null for other types
double largestOf(const SmallFloat &format);   ///< its largest number
/// The code of the nearest value, the even one of two equally near; the largest value for what lies beyond.
int nearestCode(const SmallFloat &format, double value);

/// Appends the element that `text` writes (`-1`, `2.5e3`, `inf`, `-nan`, `true`), elementSizeBytes(type) bytes long.
/// Not for complex types, which are two elements of f32 or f64. Throws Error{Input} without a location: it is no
/// number, or does not fit.
void appendElement(DType type, std::string_view text, std::string &bytes);

/// The element at `source` as text that appendElement reads back to the same bytes (but for NaN payloads); complex as
/// `(re, im)`.
std::string formatElement(DType type, const void *source);

/// The elements of a constant as HLO writes them between the parentheses of `constant(...)`.
std::string formatLiteral(const Shape &shape, std::string_view bytes);

} // namespace heddle::hlo
