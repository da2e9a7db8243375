// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses bases at random: permuted, with copies, swizzled or padded, within what a chip's warps have.
#include "tests/gluon_programs/Layouts.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::gluon_programs {

static int bitsIn(int64_t size) {
  return std::countr_zero(uint64_t(size));
}

template <typename Item>
static void shuffle(Random &random, std::vector<Item> &items) {
  for (size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[size_t(random.below(int64_t(i)))]);
}

static std::string basesText(const std::vector<Shape> &bases) {
  std::vector<std::string> all;
  for (const Shape &basis : bases)
    all.push_back(fmt::format("[{}]", fmt::join(basis, ", ")));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

/// A basis for each bit of each axis, the last axis first.
static std::vector<Shape> unitBases(const Shape &shape) {
  std::vector<Shape> bases;
  for (size_t axis = shape.size(); axis-- > 0;)
    for (int64_t step = 1; step < shape[axis]; step *= 2) {
      Shape basis(shape.size());
      basis[axis] = step;
      bases.push_back(basis);
    }
  return bases;
}

//===-- Shared memory --------------------------------------------------------------------------------------------===//

std::string SharedLayout::text() const {
  std::vector<std::string> all;
  for (auto [interval, padding] : paddings)
    all.push_back(fmt::format("{}:+{}", interval, padding));
  switch (kind) {
  case Kind::Swizzled:
  case Kind::Rotating:
    return fmt::format("#ttg.{}<{{vec = {}, perPhase = {}, maxPhase = {}, order = [{}]}}>",
                       kind == Kind::Swizzled ? "swizzled_shared" : "amd_rotating_shared", vec, perPhase, maxPhase,
                       fmt::join(order, ", "));
  case Kind::Padded:
    return fmt::format("#ttg.padded_shared<[{}] {{order = [{}], shape = [{}]}}>", fmt::join(all, ", "),
                       fmt::join(order, ", "), fmt::join(shape, ", "));
  case Kind::PaddedBits:
    return fmt::format("#ttg.padded_shared<[{}] {{offset = {}, block = []}}>", fmt::join(all, ", "), basesText(bits));
  case Kind::Linear:
    return fmt::format("#ttg.shared_linear<{{offset = {}}}, alignment = 16>", basesText(bits));
  }
  return "";
}

SharedLayout SharedLayout::transposed() const {
  SharedLayout result = *this;
  for (int &axis : result.order)
    axis = 1 - axis;
  std::reverse(result.shape.begin(), result.shape.end());
  for (Shape &basis : result.bits)
    std::reverse(basis.begin(), basis.end());
  return result;
}

std::optional<SharedLayout> SharedLayout::reshaped(const Shape &from, const Shape &to) const {
  if (from.size() != 2 || to.size() != 2 || (kind != Kind::Swizzled && kind != Kind::Linear))
    return std::nullopt;
  std::vector<Shape> coordinates = bits;
  if (kind == Kind::Swizzled) { // at offset r * columns + c lies column c xor the shift of row r
    coordinates.clear();
    int fast = order[0], slow = order[1];
    for (int64_t step = 1; step < from[size_t(fast)]; step *= 2) {
      Shape basis(2);
      basis[size_t(fast)] = step;
      coordinates.push_back(basis);
    }
    for (int64_t row = 1; row < from[size_t(slow)]; row *= 2) {
      Shape basis(2);
      basis[size_t(slow)] = row;
      basis[size_t(fast)] = row / perPhase % maxPhase * vec % from[size_t(fast)];
      coordinates.push_back(basis);
    }
  }
  SharedLayout result;
  result.kind = Kind::Linear;
  for (const Shape &basis : coordinates) {
    int64_t index = basis[0] * from[1] + basis[1];
    result.bits.push_back({index / to[1], index % to[1]});
  }
  return result;
}

SharedLayout randomShared(Random &random, const Shape &shape) {
  SharedLayout layout;
  layout.order.clear();
  for (size_t axis = shape.size(); axis-- > 0;)
    layout.order.push_back(int(axis));
  if (random.chance(20))
    std::reverse(layout.order.begin(), layout.order.end());
  auto kind = random.below(10);
  int64_t count = countOf(shape);
  if (kind < 5) {
    layout.kind = kind == 4 ? SharedLayout::Kind::Rotating : SharedLayout::Kind::Swizzled;
    if (shape.size() > 1 && random.chance(75)) {
      layout.vec = int64_t(1) << random.below(4);
      layout.perPhase = int64_t(1) << random.below(3);
      layout.maxPhase = int64_t(1) << random.below(5);
    }
    return layout;
  }
  layout.bits = unitBases(shape);
  if (random.chance(30))
    shuffle(random, layout.bits);
  if (kind == 9) {
    layout.kind = SharedLayout::Kind::Linear;
    return layout;
  }
  layout.shape = shape;
  layout.kind = kind == 8 ? SharedLayout::Kind::PaddedBits : SharedLayout::Kind::Padded;
  if (layout.kind == SharedLayout::Kind::Padded)
    layout.bits.clear();
  for (int i = random.chance(25) ? 2 : 1; i > 0; --i) {
    int64_t interval = int64_t(4) << random.below(std::max(1, bitsIn(count) - 1));
    bool isNew = std::all_of(layout.paddings.begin(), layout.paddings.end(),
                             [&](auto padding) { return padding.first != interval; });
    if (isNew)
      layout.paddings.push_back({interval, random.chance(80) ? int64_t(1) << random.below(5) : random.between(1, 9)});
  }
  return layout;
}

//===-- Tiles ----------------------------------------------------------------------------------------------------===//

/// `bits` factors of two for the axes: the fastest axis is filled first, or any of them is taken.
static Shape spread(Random &random, Shape room, int bits, int fastest) {
  Shape result(room.size(), 1);
  for (int bit = 0; bit < bits; ++bit) {
    auto axis = size_t(random.below(int64_t(room.size())));
    if (fastest >= 0) {
      axis = size_t(fastest);
      for (size_t i = 0; room[axis] <= 1 && i < room.size(); ++i)
        axis = (axis + room.size() - 1) % room.size();
    }
    result[axis] *= 2;
    room[axis] = std::max<int64_t>(1, room[axis] / 2);
  }
  return result;
}

std::string blockedText(Random &random, const Shape &shape, int warps, int fastest, int64_t vec) {
  size_t rank = shape.size();
  constexpr int64_t mostRegisters = 64;
  for (int attempt = 0;; ++attempt) {
    int along = fastest < 0 && attempt > 20 ? int(rank) - 1 : fastest;
    Shape sizes = along >= 0 ? Shape(rank, 1) : spread(random, shape, int(random.below(5)), -1);
    if (along >= 0)
      sizes[size_t(along)] = std::min(vec, shape[size_t(along)]);
    Shape room = shape;
    for (size_t axis = 0; axis < rank; ++axis)
      room[axis] = std::max<int64_t>(1, room[axis] / sizes[axis]);
    Shape lanes = spread(random, room, 6, along);
    for (size_t axis = 0; axis < rank; ++axis)
      room[axis] = std::max<int64_t>(1, room[axis] / lanes[axis]);
    Shape split = spread(random, room, bitsIn(warps), along);
    int64_t registers = 1;
    for (size_t axis = 0; axis < rank; ++axis)
      registers *= std::max<int64_t>(1, shape[axis] / (lanes[axis] * split[axis]));
    if (registers > mostRegisters && attempt < 40)
      continue;
    std::vector<int> order;
    for (size_t axis = rank; axis-- > 0;)
      order.push_back(int(axis));
    if (fastest < 0)
      shuffle(random, order);
    else
      std::rotate(order.begin(), std::find(order.begin(), order.end(), fastest), order.end());
    return fmt::format(
        "#ttg.blocked<{{sizePerThread = [{}], threadsPerWarp = [{}], warpsPerCTA = [{}], order = [{}]}}>",
        fmt::join(sizes, ", "), fmt::join(lanes, ", "), fmt::join(split, ", "), fmt::join(order, ", "));
  }
}

std::string linearText(Random &random, const Shape &shape, int warps) {
  std::vector<Shape> bases = unitBases(shape), registers, lanes, split;
  if (random.chance(50)) // contiguous elements of a thread
    for (int64_t i = random.below(4); i > 0 && bases.size() > 6; --i) {
      registers.push_back(bases.front());
      bases.erase(bases.begin());
    }
  shuffle(random, bases);
  auto take = [&](std::vector<Shape> &to, int bits) {
    for (int bit = 0; bit < bits; ++bit) {
      bool isCopy = bases.empty();
      to.push_back(isCopy ? Shape(shape.size()) : bases.back());
      if (!isCopy)
        bases.pop_back();
    }
  };
  take(lanes, 6);
  take(split, bitsIn(warps));
  registers.insert(registers.end(), bases.begin(), bases.end());
  return fmt::format("#ttg.linear<{{register = {}, lane = {}, warp = {}, block = []}}>", basesText(registers),
                     basesText(lanes), basesText(split));
}

//===-- Matmuls --------------------------------------------------------------------------------------------------===//

const std::vector<Instruction> &instructionsOf(const std::string &chip) {
  static const std::vector<Instruction> gfx942 = {
      {"f16", "f16", "f32", 16, 16, 16, {4, 8}},
      {"f16", "f16", "f32", 32, 32, 8, {4, 8}},
      {"bf16", "bf16", "f32", 16, 16, 16, {4, 8}},
      {"bf16", "bf16", "f32", 32, 32, 8, {4, 8}},
      {"i8", "i8", "i32", 16, 16, 32, {8, 16}},
      {"i8", "i8", "i32", 32, 32, 16, {8, 16}},
      {"f8E4M3FNUZ", "f8E4M3FNUZ", "f32", 16, 16, 32, {8, 16}},
      {"f8E4M3FNUZ", "f8E4M3FNUZ", "f32", 32, 32, 16, {8}},
      {"f32", "f32", "f32", 16, 16, 4, {1, 4}},
      {"f32", "f32", "f32", 32, 32, 2, {1, 2}},
  };
  static const std::vector<Instruction> gfx950 = {
      {"f16", "f16", "f32", 16, 16, 32, {4, 8}},      {"f16", "f16", "f32", 32, 32, 16, {4, 8}},
      {"f16", "f16", "f32", 16, 16, 16, {4, 8}},      {"bf16", "bf16", "f32", 16, 16, 32, {4, 8}},
      {"bf16", "bf16", "f32", 32, 32, 16, {8}},       {"i8", "i8", "i32", 16, 16, 64, {8, 16}},
      {"i8", "i8", "i32", 32, 32, 32, {16}},          {"f8E4M3FN", "f8E4M3FN", "f32", 16, 16, 32, {8, 16}},
      {"f8E5M2", "f8E4M3FN", "f32", 32, 32, 16, {8}}, {"f32", "f32", "f32", 16, 16, 4, {1, 4}},
  };
  return chip == "gfx942" ? gfx942 : gfx950;
}

std::string mfmaText(Random &random, const std::string &chip, const Instruction &instruction, int warps) {
  Shape split = spread(random, {8, 8}, bitsIn(warps), -1);
  std::string tiles = random.chance(20) ? ", tilesPerWarp = [1, 2]" : "";
  return fmt::format("#ttg.amd_mfma<{{version = {}, warpsPerCTA = [{}], instrShape = [{}, {}, {}], isTransposed = "
                     "{}{}}}>",
                     chip == "gfx942" ? 3 : 4, fmt::join(split, ", "), instruction.m, instruction.n, instruction.k,
                     random.chance(60), tiles);
}

std::string operandText(const std::string &parent, int operand, int64_t width) {
  return fmt::format("#ttg.dot_op<{{opIdx = {}, parent = {}, kWidth = {}}}>", operand, parent, width);
}

} // namespace heddle::gluon_programs
