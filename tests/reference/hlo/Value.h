// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of the HLO reference evaluator: raw bytes of dense row-major arrays, and single elements as numbers.
#pragma once
#include "frontend/hlo/Shape.h"
#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle::hlo::reference {

/// An array's elements in row-major logical order, whatever its layout; elementSizeBytes(type) bytes each, little
/// endian, pred as 0 or 1, types below 8 bits extended to one byte. Tuples have elements instead, tokens nothing.
struct Value {
  Shape shape;
  std::vector<uint8_t> bytes;
  std::vector<Value> elements;

  const uint8_t *at(int64_t index) const { return bytes.data() + index * elementSizeBytes(shape.type); }
  uint8_t *at(int64_t index) { return bytes.data() + index * elementSizeBytes(shape.type); }
};

/// All bytes zero. Throws Error{Input} for a shape too large to evaluate.
Value zeros(const Shape &shape);
/// `bytes` must be as long as the shape says.
Value fromBytes(const Shape &shape, std::string_view bytes);
/// An array of `shape` with these numbers, each rounded to its type; not for complex types.
Value fromNumbers(const Shape &shape, const std::vector<double> &numbers);
/// The numbers of an array; integers above 2^53 lose their low bits.
std::vector<double> numbersOf(const Value &value);
Value tupleOf(std::vector<Value> elements);

/// A floating element; exact.
double loadFloat(DType type, const uint8_t *source);
/// Rounded once, to nearest even; every NaN becomes the quiet one of the format. Too large a value becomes infinity,
/// NaN without infinity, the largest value without NaN.
void storeFloat(DType type, double value, uint8_t *destination);
/// An integer or pred element, sign- or zero-extended.
int64_t loadInteger(DType type, const uint8_t *source);
/// The low bits of `value`; pred takes `value != 0`.
void storeInteger(DType type, int64_t value, uint8_t *destination);
/// An element of any type but complex as a number, and back.
double loadNumber(DType type, const uint8_t *source);
void storeNumber(DType type, double value, uint8_t *destination);

/// The bits of an element of at most 64 bits.
uint64_t loadBits(DType type, const uint8_t *source);

} // namespace heddle::hlo::reference
