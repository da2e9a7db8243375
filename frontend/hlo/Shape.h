// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shapes of HLO values: element type and dimensions of an array with its layout, tuples of shapes, tokens.
// Names and notation are those that HLO prints: `bf16[2,4]{1,0}`, `(f32[], s32[8])`, `token[]`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::hlo {

enum class DType {
  Pred,
  S1,
  S2,
  S4,
  S8,
  S16,
  S32,
  S64,
  U1,
  U2,
  U4,
  U8,
  U16,
  U32,
  U64,
  F16,
  BF16,
  F32,
  F64,
  F8E4M3,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E4M3B11FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  F8E3M4,
  F8E8M0FNU,
  F4E2M1FN,
  C64,
  C128,
};

/// Every element type, in the order of the enumeration.
const std::vector<DType> &allDTypes();
const char *dtypeName(DType type); ///< `pred`, `bf16`, `f8e4m3fn`
std::optional<DType> findDType(std::string_view name);

/// The width of the value in bits; 8 for pred.
int bitWidth(DType type);
/// Bytes of one element in our buffers and literals: types below 8 bits take one byte each, sign- or zero-extended.
int64_t elementSizeBytes(DType type);

bool isFloating(DType type);        ///< not complex
bool isSignedInteger(DType type);   ///< s1 to s64
bool isUnsignedInteger(DType type); ///< u1 to u64
bool isInteger(DType type);         ///< signed or unsigned, not pred
bool isComplex(DType type);

/// An array (also a scalar: no dimensions), a tuple or a token.
struct Shape {
  enum class Kind { Array, Tuple, Token };

  Kind kind = Kind::Array;
  DType type = DType::F32;                           ///< arrays only
  std::vector<int64_t> dimensions;                   ///< arrays only; slowest first in the logical order
  std::optional<std::vector<int64_t>> writtenLayout; ///< minor_to_major as the text had it
  std::string layoutExtras;                          ///< what followed the `:`, such as `E(4)S(1)`
  std::vector<Shape> elements;                       ///< tuples only

  static Shape array(DType type, std::vector<int64_t> dimensions);
  static Shape scalar(DType type) { return array(type, {}); }
  static Shape tuple(std::vector<Shape> elements);
  static Shape token();

  bool isArray() const { return kind == Kind::Array; }
  bool isTuple() const { return kind == Kind::Tuple; }
  bool isToken() const { return kind == Kind::Token; }
  bool isScalar() const { return isArray() && dimensions.empty(); }
  int64_t rank() const { return int64_t(dimensions.size()); }
  /// Elements of an array. Parsed shapes never overflow: neither this nor the bytes.
  int64_t elementCount() const;
  /// Bytes of an array, or of all arrays in a tuple; a token has none.
  int64_t sizeBytes() const;
  /// The layout, minor dimension first; descending (row-major) when the text had none.
  std::vector<int64_t> minorToMajor() const;
  bool hasDefaultLayout() const;
  int64_t memorySpace() const; ///< the `S(n)` of the layout; 0 without one

  /// The same kind, types and dimensions; layouts are not compared.
  bool sameAs(const Shape &other) const;
  /// sameAs, but for the element types of arrays.
  bool sameDimensionsAs(const Shape &other) const;
};

/// As HLO prints it, with the layouts that were written.
std::string formatShape(const Shape &shape);
/// Without layouts, for messages.
std::string formatShapePlain(const Shape &shape);

} // namespace heddle::hlo
