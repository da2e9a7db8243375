// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The element types of buffers and scalars in MLIR notation, their storage, their NumPy dtypes, and exact software
// conversion of single elements. For inputs, outputs, prints and references; kernels convert by themselves.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Signless integers (`i8`) are read as signed; `si8` is a spelling of `i8`, `ui8` a type of its own.
enum class ElementType {
  F64,
  F32,
  F16,
  BF16,
  F8E4M3FN,
  F8E5M2,
  F8E4M3FNUZ,
  F8E5M2FNUZ,
  I64,
  I32,
  I16,
  I8,
  I1,
  UI64,
  UI32,
  UI16,
  UI8,
};

/// Every element type, in the order of the enumeration.
const std::vector<ElementType> &allElementTypes();

/// The MLIR spelling: `f32`, `f8E4M3FN`, `i1`, `ui8`.
const char *elementTypeName(ElementType type);

/// The type of an MLIR spelling; also `si8`, `ui1`, ... .
std::optional<ElementType> findElementType(std::string_view name);

/// As findElementType; throws Error{Input} naming the text and listing the types.
ElementType parseElementType(std::string_view name);

/// Bytes of one element in memory; an `i1` takes one byte of 0 or 1.
int64_t elementSizeBytes(ElementType type);

bool isFloat(ElementType type);
bool isUnsigned(ElementType type); ///< `ui*` and `i1`

/// The NumPy dtype of the storage, little endian: `<f4`, `|b1`, `|u1`. NumPy has no bf16 and no fp8: those are `<u2`
/// and `|u1` arrays of bit patterns.
const char *numpyDtype(ElementType type);

/// The value of the element at `source`, exact but for the low bits of integers above 2^53.
double loadDouble(ElementType type, const void *source);

/// Rounds to nearest even. Too large a value becomes infinity where the type has one, else NaN; integers are truncated
/// toward zero and saturated (NaN gives 0); `i1` is `value != 0`.
void storeDouble(ElementType type, double value, void *destination);

/// The value of an integer element, sign- or zero-extended by the type; a floating one truncated and saturated.
int64_t loadInt(ElementType type, const void *source);

/// The low bits of `value`; for a floating type the nearest value.
void storeInt(ElementType type, int64_t value, void *destination);

/// A scalar's bits, zero-extended: integers in decimal or, up to the unsigned range, hexadecimal; `true`, `false`;
/// floating numbers also as `inf`, `nan`. Throws Error{Input}: `300 does not fit i8`, with the range as a note, or
/// `x` is not a number.
uint64_t parseScalar(ElementType type, std::string_view text);

/// The element as text that parseScalar reads back to the same bits (but for NaN payloads).
std::string formatElement(ElementType type, const void *source);

} // namespace heddle
