// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An fft is read as dots: by Cooley and Tukey, for each factor of its length one with the matrix of the factor's
// transform, and a multiplication by powers of the root of unity between them.
#include "frontend/hlo/ReadComplex.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <numbers>
#include <numeric>
#include <utility>

namespace heddle::hlo {
namespace {

constexpr int64_t wantedFactor = 32, mostFactor = 2048;
/// The powers of the root of unity are in the module: 128 MiB of each part in f64.
constexpr int64_t mostLength = 1 << 24;

/// By which a transform is split: a divisor of about `wantedFactor`, else the least prime factor.
int64_t factorOf(int64_t length) {
  if (length <= wantedFactor)
    return length;
  for (int64_t factor = wantedFactor; factor > 1; --factor)
    if (length % factor == 0)
      return factor;
  for (int64_t factor = wantedFactor + 1; factor * factor <= length; ++factor)
    if (length % factor == 0)
      return factor;
  return length;
}

} // namespace

/// [rows, columns]: the powers row * column of the root of unity of this order.
ComplexParts InstructionParser::rootsOfUnity(const RootsOfUnity &roots, Location location) {
  bool isNarrow = roots.type == DType::F32;
  std::string literals[2];
  for (int64_t row = 0; row < roots.rows; ++row)
    for (int64_t column = 0; column < roots.columns; ++column) {
      double angle = 2 * std::numbers::pi * double(row * column % roots.order) / double(roots.order);
      double both[2] = {std::cos(angle), roots.isForward ? -std::sin(angle) : std::sin(angle)};
      for (int i = 0; i < 2; ++i) {
        auto narrow = float(both[i]);
        literals[i].append(isNarrow ? reinterpret_cast<const char *>(&narrow)
                                    : reinterpret_cast<const char *>(&both[i]),
                           isNarrow ? sizeof narrow : sizeof both[i]);
      }
    }
  int made[2];
  for (int i = 0; i < 2; ++i) {
    Instruction constant;
    constant.opcode = Opcode::Constant;
    constant.literal = std::move(literals[i]);
    Shape shape = Shape::array(roots.type, {roots.rows, roots.columns});
    made[i] = append(std::move(constant), location, &shape);
  }
  return {made[0], made[1]};
}

// Element j of a row is (m * j1 + j2), of the result (k1 + r * k2), for the length r * m.
ComplexParts InstructionParser::transformRows(ComplexParts rows, bool isForward, Location location) {
  int64_t count = shapeOf(rows.real).dimensions[0], length = shapeOf(rows.real).dimensions[1];
  int64_t radix = factorOf(length), rest = length / radix;
  DType type = shapeOf(rows.real).type;
  auto both = [&](ComplexParts values, auto change) {
    return ComplexParts{change(values.real), values.imaginary < 0 ? -1 : change(values.imaginary)};
  };
  auto swapped = [&](int value) {
    Instruction transpose;
    transpose.opcode = Opcode::Transpose;
    transpose.operands = {value};
    transpose.dimensions = {0, 2, 1};
    return append(std::move(transpose), location);
  };
  ComplexParts matrix = rootsOfUnity({radix, radix, radix, type, isForward}, location);
  ComplexParts parts = both(rows, [&](int value) { return reshape(value, {count, radix, rest}, location); });
  auto dot = [&](int value, int by) { return contract(value, 1, by, 0, location); }; // [count, j2, k1]
  ComplexParts made = {dot(parts.real, matrix.real), dot(parts.real, matrix.imaginary)};
  if (parts.imaginary >= 0) {
    made.real = apply(Opcode::Subtract, {made.real, dot(parts.imaginary, matrix.imaginary)}, location);
    made.imaginary = apply(Opcode::Add, {made.imaginary, dot(parts.imaginary, matrix.real)}, location);
  }
  if (rest == 1)
    return both(made, [&](int value) { return reshape(value, {count, length}, location); });
  ComplexParts powers = rootsOfUnity({rest, radix, length, type, isForward}, location);
  powers = both(powers, [&](int value) { return broadcast(value, {1, 2}, {count, rest, radix}, location); });
  auto product = [&](int a, int b) { return apply(Opcode::Multiply, {a, b}, location); };
  int real =
      apply(Opcode::Subtract, {product(made.real, powers.real), product(made.imaginary, powers.imaginary)}, location);
  int imaginary =
      apply(Opcode::Add, {product(made.real, powers.imaginary), product(made.imaginary, powers.real)}, location);
  made = both({real, imaginary}, [&](int value) { return reshape(swapped(value), {count * radix, rest}, location); });
  made = transformRows(made, isForward, location);
  return both(made, [&](int value) {
    return reshape(swapped(reshape(value, {count, radix, rest}, location)), {count, length}, location);
  });
}

ComplexParts InstructionParser::transform(ComplexParts values, int64_t dimension, bool isForward, Location location) {
  const Shape shape = shapeOf(values.real);
  int64_t length = shape.dimensions[size_t(dimension)];
  ComplexParts rows = {toRows(values.real, dimension, location),
                       values.imaginary < 0 ? -1 : toRows(values.imaginary, dimension, location)};
  ComplexParts made = transformRows(rows, isForward, location);
  if (!isForward) {
    int scale = filled(made.real, 1.0 / double(length), location);
    made = {apply(Opcode::Multiply, {made.real, scale}, location),
            apply(Opcode::Multiply, {made.imaginary, scale}, location)};
  }
  return {fromRows(made.real, shape, dimension, location), fromRows(made.imaginary, shape, dimension, location)};
}

InstructionParser::Binding InstructionParser::finishFourier(Definition &definition, const Instruction &transformed) {
  Location location = definition.location;
  const std::string type = context.attributes.fftType;
  const std::vector<int64_t> lengths = context.attributes.fftLength;
  Shape shape = transformed.operands.size() == 1 ? shapeOf(transformed.operands[0]) : Shape::tuple({});
  bool isReal = type == "RFFT", makesReal = type == "IRFFT", isForward = type == "FFT" || isReal;
  bool isKnown = isForward || makesReal || type == "IFFT";
  auto rank = int64_t(lengths.size()), first = shape.rank() - rank;
  bool fits = isKnown && shape.isArray() && rank > 0 && first >= 0 &&
              (isReal ? shape.type == DType::F32 || shape.type == DType::F64 : isComplex(shape.type));
  for (int64_t i = 0; fits && i < rank; ++i) {
    int64_t length = lengths[size_t(i)];
    fits = length > 0 && shape.dimensions[size_t(first + i)] == (makesReal && i == rank - 1 ? length / 2 + 1 : length);
  }
  if (!fits)
    cursor.fail(location,
                fmt::format("'fft' takes fft_type FFT, IFFT or IRFFT of a complex array or RFFT of f32 or f64, and "
                            "fft_length with its last dimensions, got {}, {{{}}} and {}",
                            type.empty() ? "none" : type.substr(0, 20), fmt::join(lengths, ","),
                            formatShapePlain(shape)));
  for (int64_t length : lengths) {
    if (length > mostLength)
      cursor.fail(
          location, fmt::format("'fft' of length {}; {} is the most", length, mostLength),
          {"write it as transforms along two dimensions, with a multiplication by roots of unity between them"});
    for (int64_t rest = length, factor = factorOf(rest); rest > 1; rest /= factor, factor = factorOf(rest))
      if (factor > mostFactor)
        cursor.fail(location,
                    fmt::format("'fft' of length {}, which has the prime factor {}; {} is the most", length, factor,
                                mostFactor),
                    {"pad the array to a length with smaller factors"});
  }
  ComplexParts values = isReal ? ComplexParts{transformed.operands[0], -1} : partsOf(transformed.operands[0], location);
  int64_t last = shape.rank() - 1, length = lengths.back();
  auto slice = [&](int value, int64_t start, int64_t limit) {
    Instruction part;
    part.opcode = Opcode::Slice;
    part.operands = {value};
    const std::vector<int64_t> &sizes = shapeOf(value).dimensions;
    part.slice = {std::vector<int64_t>(sizes.size(), 0), sizes, std::vector<int64_t>(sizes.size(), 1)};
    part.slice.starts[size_t(last)] = start, part.slice.limits[size_t(last)] = limit;
    return append(std::move(part), location);
  };
  auto along = [&](int64_t dimension) { values = transform(values, dimension, isForward, location); };
  if (isReal) {
    along(last);
    values = {slice(values.real, 0, length / 2 + 1), slice(values.imaginary, 0, length / 2 + 1)};
  }
  for (int64_t dimension = first; dimension < last; ++dimension)
    along(dimension);
  if (makesReal && length > 2) { // the other half is the conjugate, backwards
    auto completed = [&](int value, bool isImaginary) {
      Instruction reverse, join;
      reverse.opcode = Opcode::Reverse, join.opcode = Opcode::Concatenate;
      reverse.dimensions = join.dimensions = {last};
      reverse.operands = {slice(value, 1, length - length / 2)};
      int back = append(std::move(reverse), location);
      join.operands = {value, isImaginary ? apply(Opcode::Negate, {back}, location) : back};
      return append(std::move(join), location);
    };
    values = {completed(values.real, false), completed(values.imaginary, true)};
  } else if (makesReal) {
    values = {slice(values.real, 0, length), slice(values.imaginary, 0, length)};
  }
  if (!isReal)
    along(last);
  Instruction made;
  made.opcode = makesReal ? Opcode::Copy : Opcode::Complex;
  made.operands = {values.real};
  if (!makesReal)
    made.operands.push_back(values.imaginary);
  return finishAs(definition, transformed, std::move(made));
}

} // namespace heddle::hlo
