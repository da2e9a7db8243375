// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions of layouts that move elements between registers, and between the lanes of a warp: by shuffles, or by
// swaps of two registers, which hold as many elements as a word has.
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/ThreadCode.h"
#include "compiler/lowering/simt/Vectors.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {
class Conversions : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(ConvertLayoutOp op);

private:
  Values toWords(ValueRange elements);
  Values fromWords(ValueRange words, int64_t count);
  void swap(Values &registers, layout::WarpConversion::Swap swap, uint64_t together);

  Type element; ///< of the tile
};
} // namespace

/// So many bits of register numbers that no swap changes: the lowest, whose registers share a word of 32 bits.
static uint64_t bitsOfOneWord(const layout::WarpConversion &conversion, int registerBits, int64_t elementBits) {
  uint64_t bits = 0;
  for (int bit = 0; bit < registerBits && (elementBits << llvm::popcount(bits)) < 32; ++bit)
    if (llvm::none_of(conversion.swaps, [&](auto swap) { return swap.registerBit == bit; }))
      bits |= uint64_t(1) << bit;
  return bits;
}

/// (i32) Elements of adjacent registers in one word, in several when one element has more bits.
ThreadCode::Values Conversions::toWords(ValueRange elements) {
  Values memory;
  for (Value value : elements)
    memory.push_back(toMemory(value, element));
  Value whole = memory.size() == 1 ? memory[0] : joined(b, memory);
  int64_t bits = int64_t(memory.size()) * memoryBits(element);
  if (bits <= 32) {
    whole = as(b.getIntegerType(unsigned(bits)), whole);
    return {bits == 32 ? whole : Value(arith::ExtUIOp::create(b, b.getI32Type(), whole))};
  }
  return apart(b, as(VectorType::get(bits / 32, b.getI32Type()), whole));
}

ThreadCode::Values Conversions::fromWords(ValueRange words, int64_t count) {
  Type type = memoryType(element);
  int64_t bits = count * memoryBits(element);
  Value whole = words.size() == 1 ? words[0] : joined(b, words);
  if (bits < 32)
    whole = arith::TruncIOp::create(b, b.getIntegerType(unsigned(bits)), whole);
  Values values = count == 1 ? Values{as(type, whole)} : apart(b, as(VectorType::get(count, type), whole));
  for (Value &value : values)
    value = fromMemory(value, element);
  return values;
}

/// `together`: bits of the numbers of registers that share a word.
void Conversions::swap(Values &registers, layout::WarpConversion::Swap swap, uint64_t together) {
  uint64_t other = uint64_t(1) << swap.registerBit;
  for (uint64_t reg = 0; reg < registers.size(); ++reg) {
    if (reg & (together | other))
      continue;
    SmallVector<uint64_t> group; // the registers whose numbers differ from `reg` in bits of `together` only
    for (uint64_t bits = 0;; bits = (bits - together) & together) {
      group.push_back(reg | bits);
      if (bits == together)
        break;
    }
    auto take = [&](uint64_t bit) {
      return toWords(llvm::map_to_vector(group, [&](uint64_t at) { return registers[at | bit]; }));
    };
    Values first = take(0), second = take(other);
    for (auto [a, c] : llvm::zip(first, second))
      std::tie(a, c) = target.swapLanes(b, a, c, 1 << swap.laneBit);
    auto put = [&](const Values &words, uint64_t bit) {
      for (auto [at, value] : llvm::zip(group, fromWords(words, int64_t(group.size()))))
        registers[at | bit] = value;
    };
    put(first, 0);
    put(second, other);
  }
}

void Conversions::lower(ConvertLayoutOp op) {
  std::optional<layout::WarpConversion> conversion = conversionInWarp(op, target);
  if (!conversion || (conversion->needsLanes() && divergent)) {
    refuseWithout("lower-conversions");
    return;
  }
  element = triton::elementTypeOf(op.getType());
  Values values = of(op.getSrc());
  int registerBits = layoutOf(op.getSrc().getType()).inputBits(Dim::Register);
  uint64_t together = bitsOfOneWord(*conversion, registerBits, memoryBits(element));
  for (layout::WarpConversion::Swap each : conversion->swaps)
    swap(values, each, together);
  const LinearLayout &from = conversion->from;
  Values moved;
  for (int64_t reg = 0; reg < layoutOf(op.getType()).inputSize(Dim::Register); ++reg) {
    Value value = values[size_t(registerPart(from, reg, Dim::Register))];
    moved.push_back(conversion->shuffles ? shuffleFrom(value, coordinate(from, reg, Dim::Lane)) : value);
  }
  made[op.getResult()] = moved;
}

void simt::addConversions(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Conversions, ConvertLayoutOp>(patterns, state);
}
