// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matmuls by matrix instructions, whose operands come from global memory, from registers or from shared memory.
#include "tests/gluon_programs/Matmuls.h"
#include "tests/gluon_programs/Maker.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::gluon_programs {

MatmulShape randomMatmul(Random &random, const std::string &chip) {
  MatmulShape shape;
  shape.instruction = random.pick(instructionsOf(chip));
  shape.width = random.pick(shape.instruction.widths);
  shape.m = shape.instruction.m << random.below(2);
  shape.n = shape.instruction.n << random.below(2);
  shape.k = std::max(shape.instruction.k, shape.width * 64 / shape.instruction.m) << random.below(2);
  return shape;
}

std::vector<int64_t> multiplied(const MatmulShape &shape, const Element &result, const std::vector<int64_t> &a,
                                const std::vector<int64_t> &b, std::vector<int64_t> sum) {
  for (int64_t row = 0; row < shape.m; ++row)
    for (int64_t column = 0; column < shape.n; ++column) {
      int64_t &cell = sum[size_t(row * shape.n + column)];
      for (int64_t k = 0; k < shape.k; ++k)
        cell = wrapped(result, cell + a[size_t(row * shape.k + k)] * b[size_t(k * shape.n + column)]);
    }
  return sum;
}

std::string dotText(const Tile &a, const Tile &b, const Tile &sum) {
  return fmt::format("tt.dot {}, {}, {} : {} * {} -> {}", a.name, b.name, sum.name, a.type(), b.type(), sum.type());
}

Tile Maker::operand(const Shape &shape, const Element &element, const std::string &layout) {
  auto way = random.below(3);
  if (way == 0)
    return load(shape, element, layout);
  std::string from = random.chance(50) ? accessLayout(shape, element) : randomLayout(shape);
  Shape transposed = {shape[1], shape[0]};
  if (way == 1)
    return converted(load(shape, element, from), layout);
  bool isTransposed = random.chance(50);
  const Shape &stored = isTransposed ? transposed : shape;
  SharedLayout shared = randomShared(random, stored);
  if (!hasRoom(stored, element, 1, shared))
    return load(shape, element, layout);
  Tile tile = load(stored, element, isTransposed ? accessLayout(stored, element) : from);
  View view = slotOf(allocate(stored, element, 0, shared, &tile), 0);
  return localLoad(isTransposed ? transposedOf(view) : view, layout);
}

/// By multiply-adds: operands for a blocked layout.
void Maker::plainMatmulStep() {
  MatmulShape shape;
  shape.m = int64_t(8) << random.below(3);
  shape.n = int64_t(8) << random.below(3);
  shape.k = int64_t(4) << random.below(3);
  const Element &element = elementOf("f32");
  std::string parent = text.alias(blockedText(random, {shape.m, shape.n}, warps));
  auto layoutOf = [&](int number) { return fmt::format("#ttg.dot_op<{{opIdx = {}, parent = {}}}>", number, parent); };
  Tile a = operand({shape.m, shape.k}, element, layoutOf(0)), b = operand({shape.k, shape.n}, element, layoutOf(1));
  Tile sum = load({shape.m, shape.n}, element, parent);
  keep(
      made(dotText(a, b, sum), element, sum.shape, parent, multiplied(shape, element, a.values, b.values, sum.values)));
}

void Maker::matmulStep() {
  if (random.chance(25))
    return plainMatmulStep();
  MatmulShape shape = randomMatmul(random, chip);
  std::string parent = text.alias(mfmaText(random, chip, shape.instruction, warps));
  const Element &element = elementOf(shape.instruction.d);
  Tile a = operand({shape.m, shape.k}, elementOf(shape.instruction.a), operandText(parent, 0, shape.width));
  Tile b = operand({shape.k, shape.n}, elementOf(shape.instruction.b), operandText(parent, 1, shape.width));
  Tile sum;
  if (random.chance(50))
    sum = load({shape.m, shape.n}, element, parent);
  else
    sum = {text.constantTile(element, {shape.m, shape.n}, parent, 0),
           element,
           {shape.m, shape.n},
           parent,
           std::vector<int64_t>(size_t(shape.m * shape.n))};
  keep(
      made(dotText(a, b, sum), element, sum.shape, parent, multiplied(shape, element, a.values, b.values, sum.values)));
}

} // namespace heddle::gluon_programs
