// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values of random Gluon programs: integers in every type of elements, floats too, so that all arithmetic is exact.
// They are computed while a program is written, and know nothing of layouts.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::gluon_programs {

using Shape = std::vector<int64_t>;

struct Element {
  std::string name; ///< `f16`, `i32`, `f8E4M3FN`
  int bits = 32;
  bool isFloat = false;
  int64_t largest = 0; ///< floats: up to which every integer is a number of the type

  int64_t bytes() const { return bits / 8; }
};

const Element &elementOf(const std::string &name);
/// An integer of the type's width: sums and products of integers wrap around.
int64_t wrapped(const Element &element, int64_t value);
uint64_t bitsOf(const Element &element, int64_t value);
int64_t countOf(const Shape &shape);
/// `2x64xf16`
std::string shapeText(const Shape &shape, const std::string &element);

struct Tile {
  std::string name;
  Element element;
  Shape shape;
  std::string layout;
  std::vector<int64_t> values;
  bool isRead = false; ///< another operation takes it

  std::string type() const { return "tensor<" + shapeText(shape, element.name) + ", " + layout + ">"; }
};

/// Whether a type of elements has all these values, and, of floats, all sums of them in any order.
bool hasValues(const Element &element, const std::vector<int64_t> &values);
bool hasSums(const Element &element, const std::vector<int64_t> &values);

} // namespace heddle::gluon_programs
