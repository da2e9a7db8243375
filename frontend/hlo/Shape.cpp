// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One table of element types, and shapes as text.
#include "frontend/hlo/Shape.h"
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::hlo {
namespace {

enum class Kind { Pred, Signed, Unsigned, Float, Complex };

struct DTypeRow {
  DType type;
  const char *name;
  int bits;
  Kind kind;
};

using enum DType;
constexpr std::array<DTypeRow, 30> rows{{
    {Pred, "pred", 8, Kind::Pred},
    {S1, "s1", 1, Kind::Signed},
    {S2, "s2", 2, Kind::Signed},
    {S4, "s4", 4, Kind::Signed},
    {S8, "s8", 8, Kind::Signed},
    {S16, "s16", 16, Kind::Signed},
    {S32, "s32", 32, Kind::Signed},
    {S64, "s64", 64, Kind::Signed},
    {U1, "u1", 1, Kind::Unsigned},
    {U2, "u2", 2, Kind::Unsigned},
    {U4, "u4", 4, Kind::Unsigned},
    {U8, "u8", 8, Kind::Unsigned},
    {U16, "u16", 16, Kind::Unsigned},
    {U32, "u32", 32, Kind::Unsigned},
    {U64, "u64", 64, Kind::Unsigned},
    {F16, "f16", 16, Kind::Float},
    {BF16, "bf16", 16, Kind::Float},
    {F32, "f32", 32, Kind::Float},
    {F64, "f64", 64, Kind::Float},
    {F8E4M3, "f8e4m3", 8, Kind::Float},
    {F8E4M3FN, "f8e4m3fn", 8, Kind::Float},
    {F8E4M3FNUZ, "f8e4m3fnuz", 8, Kind::Float},
    {F8E4M3B11FNUZ, "f8e4m3b11fnuz", 8, Kind::Float},
    {F8E5M2, "f8e5m2", 8, Kind::Float},
    {F8E5M2FNUZ, "f8e5m2fnuz", 8, Kind::Float},
    {F8E3M4, "f8e3m4", 8, Kind::Float},
    {F8E8M0FNU, "f8e8m0fnu", 8, Kind::Float},
    {F4E2M1FN, "f4e2m1fn", 4, Kind::Float},
    {C64, "c64", 64, Kind::Complex},
    {C128, "c128", 128, Kind::Complex},
}};

Kind kindOf(DType type) {
  return rows[size_t(type)].kind;
}

std::string format(const Shape &shape, bool withLayout) {
  if (shape.isToken())
    return "token[]";
  if (shape.isTuple()) {
    std::vector<std::string> parts;
    for (const Shape &element : shape.elements)
      parts.push_back(format(element, withLayout));
    return fmt::format("({})", fmt::join(parts, ", "));
  }
  std::string text = fmt::format("{}[{}]", dtypeName(shape.type), fmt::join(shape.dimensions, ","));
  if (withLayout && (shape.writtenLayout || !shape.layoutExtras.empty())) {
    std::string colon = shape.layoutExtras.empty() ? "" : ":";
    text += fmt::format("{{{}{}{}}}", fmt::join(shape.minorToMajor(), ","), colon, shape.layoutExtras);
  }
  return text;
}

} // namespace

const std::vector<DType> &allDTypes() {
  static const std::vector<DType> types = [] {
    std::vector<DType> list;
    for (const DTypeRow &row : rows)
      list.push_back(row.type);
    return list;
  }();
  return types;
}

const char *dtypeName(DType type) {
  return rows[size_t(type)].name;
}

std::optional<DType> findDType(std::string_view name) {
  for (const DTypeRow &row : rows)
    if (name == row.name)
      return row.type;
  return std::nullopt;
}

int bitWidth(DType type) {
  return rows[size_t(type)].bits;
}
int64_t elementSizeBytes(DType type) {
  return (bitWidth(type) + 7) / 8;
}
bool isFloating(DType type) {
  return kindOf(type) == Kind::Float;
}
bool isSignedInteger(DType type) {
  return kindOf(type) == Kind::Signed;
}
bool isUnsignedInteger(DType type) {
  return kindOf(type) == Kind::Unsigned;
}
bool isInteger(DType type) {
  return isSignedInteger(type) || isUnsignedInteger(type);
}
bool isComplex(DType type) {
  return kindOf(type) == Kind::Complex;
}

Shape Shape::array(DType type, std::vector<int64_t> dimensions) {
  Shape shape;
  shape.type = type;
  shape.dimensions = std::move(dimensions);
  return shape;
}

Shape Shape::tuple(std::vector<Shape> elements) {
  Shape shape;
  shape.kind = Kind::Tuple;
  shape.elements = std::move(elements);
  return shape;
}

Shape Shape::token() {
  Shape shape;
  shape.kind = Kind::Token;
  return shape;
}

int64_t Shape::elementCount() const {
  int64_t count = 1;
  for (int64_t size : dimensions)
    count *= size;
  return count;
}

int64_t Shape::sizeBytes() const {
  if (isArray())
    return elementCount() * elementSizeBytes(type);
  int64_t bytes = 0;
  for (const Shape &element : elements)
    bytes += element.sizeBytes();
  return bytes;
}

std::vector<int64_t> Shape::minorToMajor() const {
  if (writtenLayout)
    return *writtenLayout;
  std::vector<int64_t> order;
  for (int64_t dimension = rank() - 1; dimension >= 0; --dimension)
    order.push_back(dimension);
  return order;
}

bool Shape::hasDefaultLayout() const {
  std::vector<int64_t> order = minorToMajor();
  for (int64_t i = 0; i < rank(); ++i)
    if (order[size_t(i)] != rank() - 1 - i)
      return false;
  return true;
}

int64_t Shape::memorySpace() const {
  size_t at = layoutExtras.find("S(");
  int64_t space = 0;
  if (at != std::string::npos)
    std::from_chars(layoutExtras.data() + at + 2, layoutExtras.data() + layoutExtras.size(), space);
  return space;
}

bool Shape::sameDimensionsAs(const Shape &other) const {
  if (kind != other.kind || dimensions != other.dimensions || elements.size() != other.elements.size())
    return false;
  for (size_t i = 0; i < elements.size(); ++i)
    if (!elements[i].sameDimensionsAs(other.elements[i]))
      return false;
  return true;
}

bool Shape::sameAs(const Shape &other) const {
  if (!sameDimensionsAs(other) || (isArray() && type != other.type))
    return false;
  for (size_t i = 0; i < elements.size(); ++i)
    if (!elements[i].sameAs(other.elements[i]))
      return false;
  return true;
}

std::string formatShape(const Shape &shape) {
  return format(shape, true);
}

std::string formatShapePlain(const Shape &shape) {
  return format(shape, false);
}

} // namespace heddle::hlo
