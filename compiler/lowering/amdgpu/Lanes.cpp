// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of other lanes. Within 16 lanes an instruction reads its operand from another lane (DPP) and nothing waits;
// within 32, and beyond, the value travels through the crossbar of shared memory, or registers swap halves
// (Chip::laneSwaps); a reduction of all 64 lanes reads the row before (DPP) and then the last lane.
#include "compiler/lowering/amdgpu/AmdTarget.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::amdgpu;
using namespace heddle::simt;

// Selectors of DPP, from the instruction set manuals.
static constexpr int rowRotate = 0x120, rowHalfMirror = 0x141, rowMirror = 0x140, rowBroadcast15 = 0x142,
                     rowBroadcast31 = 0x143;

static int quadPermutation(int mask) {
  int selector = 0;
  for (int lane = 0; lane < 4; ++lane)
    selector |= (lane ^ mask) << 2 * lane;
  return selector;
}

std::pair<Value, Value> AmdTarget::swapLanes(Builder &b, Value first, Value second, int mask) const {
  Type word = b.getI32Type(), pair = LLVM::LLVMStructType::getLiteral(b.getContext(), {word, word});
  Value both = mask == 16 ? Value(ROCDL::Permlane16SwapOp::create(b, pair, first, second, false, false))
                          : Value(ROCDL::Permlane32SwapOp::create(b, pair, first, second, false, false));
  return {LLVM::ExtractValueOp::create(b, both, ArrayRef<int64_t>{0}),
          LLVM::ExtractValueOp::create(b, both, ArrayRef<int64_t>{1})};
}

// Of two registers that are alike, a swap makes one with the values of the lower lanes twice and one with the others'.
std::optional<std::pair<Value, Value>> AmdTarget::bothLanes(Builder &b, Value value, int mask) const {
  if (!(swappedLaneBits() & uint64_t(mask)) || mask & (mask - 1))
    return std::nullopt;
  return swapLanes(b, value, value, mask);
}

// A lane reads another one's word in the instruction that uses it; all rows and banks take part.
static Value moveLanes(OpBuilder &b, Location at, Value from, int selector) {
  constexpr uint32_t all = 15;
  return ROCDL::DPPUpdateOp::create(b, at, b.getI32Type(), from, from, uint32_t(selector), all, all,
                                    /*boundCtrl=*/true);
}

std::optional<Value> AmdTarget::fromRowBefore(Builder &b, Value value, int mask) const {
  if (swappedLaneBits() & uint64_t(mask))
    return std::nullopt;
  return moveLanes(b, b.getLoc(), value, mask == 16 ? rowBroadcast15 : rowBroadcast31);
}

Value AmdTarget::fromLastLane(Builder &b, Value value) const {
  return ROCDL::ReadlaneOp::create(b, b.getI32Type(), value, i32(b, lanesPerWarp() - 1));
}

Value AmdTarget::shuffleXor(Builder &b, Value value, int mask) const {
  Type word = b.getI32Type();
  auto move = [&](Value from, int selector) { return moveLanes(b, b.getLoc(), from, selector); };
  if (mask < 4)
    return move(value, quadPermutation(mask));
  if (mask == 7)
    return move(value, rowHalfMirror);
  if (mask < 8) // what is left of the mirror
    return move(move(value, rowHalfMirror), quadPermutation(mask ^ 7));
  if (mask == 8)
    return move(value, rowRotate + 8);
  if (mask == 15)
    return move(value, rowMirror);
  if (mask < 12)
    return move(move(value, rowRotate + 8), quadPermutation(mask ^ 8));
  if (mask < 16)
    return move(move(value, rowMirror), quadPermutation(mask ^ 15));
  if (auto both = bothLanes(b, value, mask)) {
    Value bit = arith::AndIOp::create(b, threadId(b), i32(b, mask));
    Value isUpper = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, i32(b, 0));
    return arith::SelectOp::create(b, isUpper, both->first, both->second);
  }
  constexpr int everyLane = 0x1F, maskShift = 10; // ds_swizzle: and, or, xor of five bits each
  if (mask < 32)
    return ROCDL::DsSwizzleOp::create(b, word, value, i32(b, everyLane | mask << maskShift));
  return shuffleFrom(b, value, arith::XOrIOp::create(b, threadId(b), i32(b, mask)));
}

// The instruction takes the lane's number by bytes, and of the number its low bits.
Value AmdTarget::shuffleFrom(Builder &b, Value value, Value lane) const {
  Value byte = arith::ShLIOp::create(b, lane, i32(b, 2));
  return ROCDL::DsBpermuteOp::create(b, b.getI32Type(), byte, value);
}
