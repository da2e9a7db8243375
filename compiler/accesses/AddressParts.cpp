// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks the sums of an address and proves the bounds of its lanes' part, wrap-around of 32-bit sums included.
#include "compiler/accesses/AddressParts.h"
#include "chips/AmdBuffer.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Operator.h"

using namespace llvm;
using namespace heddle;

static bool addScaled(int64_t &sum, int64_t value, int64_t factor) {
  int64_t product = 0;
  return !MulOverflow(value, factor, product) && !AddOverflow(sum, product, sum);
}

AddressAnalysis::AddressAnalysis(Function &function, FunctionAnalysisManager &analyses)
    : function(function), analyses(analyses) {}

// A value of a loop that lanes leave one after the other is the same for those that are still in it, not after it.
bool AddressAnalysis::isOfWave(const Value *value, const Instruction *at) const {
  auto &uniformity = analyses.getResult<UniformityInfoAnalysis>(function);
  if (uniformity.isDivergent(value))
    return false;
  auto *instruction = dyn_cast<Instruction>(value);
  if (!instruction)
    return true;
  Loop *loop = analyses.getResult<LoopAnalysis>(function).getLoopFor(instruction->getParent());
  for (; loop && !loop->contains(at); loop = loop->getParentLoop()) {
    SmallVector<BasicBlock *> exits;
    loop->getExitingBlocks(exits);
    if (any_of(exits, [&](BasicBlock *block) { return uniformity.hasDivergentTerminator(*block); }))
      return false;
  }
  return true;
}

ConstantRange AddressAnalysis::rangeOf(Value *value, bool isSigned, const Instruction *at) const {
  const DataLayout &layout = function.getDataLayout();
  auto &assumptions = analyses.getResult<AssumptionAnalysis>(function);
  auto &dominators = analyses.getResult<DominatorTreeAnalysis>(function);
  auto kind = isSigned ? ConstantRange::Signed : ConstantRange::Unsigned;
  KnownBits bits = computeKnownBits(value, layout, &assumptions, at, &dominators);
  ConstantRange range = ConstantRange::fromKnownBits(bits, isSigned);
  range = range.intersectWith(computeConstantRange(value, isSigned, true, &assumptions, at, &dominators), kind);
  auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
  const SCEV *scev = evolution.getSCEV(value);
  return range.intersectWith(isSigned ? evolution.getSignedRange(scev) : evolution.getUnsignedRange(scev), kind);
}

// Whether a sum or product is what it would be in numbers without end, of operands read as signed or unsigned. Modulo
// 2^64 it always is.
bool AddressAnalysis::isExact(Instruction *sum, bool isSigned, const Instruction *at) const {
  if (auto *either = dyn_cast<PossiblyDisjointInst>(sum))
    return either->isDisjoint();
  if (sum->getType()->isIntegerTy(64))
    return true;
  auto *operation = dyn_cast<OverflowingBinaryOperator>(sum);
  if (!operation)
    return false;
  if (isSigned ? operation->hasNoSignedWrap() : operation->hasNoUnsignedWrap())
    return true;
  ConstantRange x = rangeOf(sum->getOperand(0), isSigned, at), y = rangeOf(sum->getOperand(1), isSigned, at);
  auto never = ConstantRange::OverflowResult::NeverOverflows;
  switch (sum->getOpcode()) {
  case Instruction::Add: {
    const DataLayout &layout = function.getDataLayout();
    if (haveNoCommonBitsSet(sum->getOperand(0), sum->getOperand(1), SimplifyQuery(layout, sum)))
      return true;
    return (isSigned ? x.signedAddMayOverflow(y) : x.unsignedAddMayOverflow(y)) == never;
  }
  case Instruction::Sub:
    return (isSigned ? x.signedSubMayOverflow(y) : x.unsignedSubMayOverflow(y)) == never;
  case Instruction::Shl:
  case Instruction::Mul: {
    APInt by = cast<ConstantInt>(sum->getOperand(1))->getValue();
    if (sum->getOpcode() == Instruction::Shl)
      by = APInt::getOneBitSet(by.getBitWidth(), unsigned(by.getZExtValue()));
    bool low = true, high = true;
    if (isSigned) {
      (void)x.getSignedMin().smul_ov(by, low);
      (void)x.getSignedMax().smul_ov(by, high);
    } else {
      low = false;
      (void)x.getUnsignedMax().umul_ov(by, high);
    }
    return !low && !high;
  }
  default:
    return false;
  }
}

//===-- Sums that may wrap around --------------------------------------------------------------------------------===//

/// A value of 32 bits as a sum modulo 2^32.
struct heddle::WrappingSum {
  SmallVector<std::pair<Value *, int64_t>> ofWave, ofLane; ///< with factors
  int64_t constant = 0;
  unsigned zeros = 31;         ///< low bits, without the sign, that are 0 in all of what the wave shares
  int64_t least = 0, most = 0; ///< bounds of the lane's part
};

/// An address of more terms stays whole: sums that share operands would be as many as there are ways through them.
static constexpr size_t mostTerms = 16;

bool AddressAnalysis::collect(Value *value, int64_t factor, const Instruction *at, WrappingSum &sum) const {
  constexpr int64_t limit = int64_t(1) << 31;
  if (factor <= -limit || factor >= limit || sum.ofWave.size() + sum.ofLane.size() >= mostTerms)
    return false;
  if (auto *number = dyn_cast<ConstantInt>(value))
    return addScaled(sum.constant, number->getSExtValue(), factor);
  auto *instruction = dyn_cast<Instruction>(value);
  auto *second =
      instruction && instruction->getNumOperands() == 2 ? dyn_cast<ConstantInt>(instruction->getOperand(1)) : nullptr;
  auto both = [&](int64_t sign) {
    return collect(instruction->getOperand(0), factor, at, sum) &&
           collect(instruction->getOperand(1), sign * factor, at, sum);
  };
  bool isWhole = isOfWave(value, at) && !second;
  switch (instruction && !isWhole ? instruction->getOpcode() : 0) {
  case Instruction::Add:
    return both(1);
  case Instruction::Sub:
    return both(-1);
  case Instruction::Or:
    if (cast<PossiblyDisjointInst>(instruction)->isDisjoint())
      return both(1);
    break;
  case Instruction::Shl:
    if (second && second->getValue().ult(31))
      return collect(instruction->getOperand(0), factor * (int64_t(1) << second->getZExtValue()), at, sum);
    break;
  case Instruction::Mul:
    if (second)
      return collect(instruction->getOperand(0), factor * second->getSExtValue(), at, sum);
    break;
  default:
    break;
  }
  if (isOfWave(value, at)) {
    KnownBits bits = computeKnownBits(value, function.getDataLayout());
    sum.zeros = std::min(sum.zeros, bits.countMinTrailingZeros() + unsigned(llvm::countr_zero(uint64_t(factor))));
    sum.ofWave.push_back({value, factor});
    return true;
  }
  ConstantRange range = rangeOf(value, /*isSigned=*/true, at);
  int64_t least = range.getSignedMin().getSExtValue(), most = range.getSignedMax().getSExtValue();
  if (factor < 0)
    std::swap(least, most);
  sum.ofLane.push_back({value, factor});
  return addScaled(sum.least, least, factor) && addScaled(sum.most, most, factor);
}

// A sum of 32 bits wraps around somewhere, but not between the lanes of a wave, if what they share ends in zeros and
// the rest is less than those hold: `(block * 64 + lane) * 64` with lane < 64 is `block * 4096`, whatever that wraps
// to, and up to 4095.
bool AddressAnalysis::addWrapping(Value *value, bool isSigned, int64_t factor, const Instruction *at,
                                  AddressParts &parts) const {
  unsigned bits = value->getType()->getIntegerBitWidth();
  WrappingSum sum;
  if (bits != 32 || !isa<Instruction>(value) || !collect(value, 1, at, sum) || sum.ofWave.empty())
    return false;
  int64_t period = int64_t(1) << sum.zeros, low = sum.constant & (period - 1);
  if (sum.least + low < 0 || sum.most + low >= period)
    return false;
  IRBuilder<> b(const_cast<Instruction *>(at));
  Value *shared = nullptr;
  auto add = [&](Value *term) { shared = shared ? b.CreateAdd(shared, term) : term; };
  for (auto &[term, times] : sum.ofWave)
    add(times == 1 ? term : b.CreateMul(term, ConstantInt::getSigned(term->getType(), times)));
  if (sum.constant != low)
    add(b.getInt32(uint32_t(sum.constant - low)));
  parts.ofWave.push_back({shared, isSigned, factor});
  for (auto &[term, times] : sum.ofLane)
    parts.ofLane.push_back({term, /*isSigned=*/true, times * factor});
  int64_t least = factor < 0 ? sum.most : sum.least, most = factor < 0 ? sum.least : sum.most;
  return addScaled(parts.constant, low, factor) && addScaled(parts.least, least, factor) &&
         addScaled(parts.most, most, factor);
}

bool AddressAnalysis::addLeaf(Value *value, bool isSigned, int64_t factor, const Instruction *at,
                              AddressParts &parts) const {
  if (parts.ofWave.size() + parts.ofLane.size() >= mostTerms)
    return false;
  if (isOfWave(value, at)) {
    parts.ofWave.push_back({value, isSigned, factor});
    return true;
  }
  if (addWrapping(value, isSigned, factor, at, parts))
    return true;
  ConstantRange range = rangeOf(value, isSigned, at);
  APInt low = isSigned ? range.getSignedMin() : range.getUnsignedMin();
  APInt high = isSigned ? range.getSignedMax() : range.getUnsignedMax();
  unsigned bits = 64 + 1; // what is unsigned in 64 bits has no place in int64_t
  low = isSigned ? low.sext(bits) : low.zext(bits);
  high = isSigned ? high.sext(bits) : high.zext(bits);
  if (!low.isSignedIntN(63) || !high.isSignedIntN(63))
    return false;
  int64_t least = low.getSExtValue(), most = high.getSExtValue();
  if (factor < 0)
    std::swap(least, most);
  parts.ofLane.push_back({value, isSigned, factor});
  return addScaled(parts.least, least, factor) && addScaled(parts.most, most, factor);
}

bool AddressAnalysis::addSum(Instruction *sum, bool isSigned, int64_t factor, const Instruction *at,
                             AddressParts &parts) const {
  Value *x = sum->getOperand(0), *y = sum->getOperand(1);
  int64_t scaled = 0;
  switch (sum->getOpcode()) {
  case Instruction::Add:
  case Instruction::Or:
    return addTerms(x, isSigned, factor, at, parts) && addTerms(y, isSigned, factor, at, parts);
  case Instruction::Sub:
    return addTerms(x, isSigned, factor, at, parts) && addTerms(y, isSigned, -factor, at, parts);
  case Instruction::Shl:
    return !MulOverflow(factor, int64_t(1) << cast<ConstantInt>(y)->getZExtValue(), scaled) &&
           addTerms(x, isSigned, scaled, at, parts);
  default: {
    const APInt &by = cast<ConstantInt>(y)->getValue();
    return by.isSignedIntN(32) &&
           !MulOverflow(factor, isSigned ? by.getSExtValue() : int64_t(by.getZExtValue()), scaled) &&
           addTerms(x, isSigned, scaled, at, parts);
  }
  }
}

bool AddressAnalysis::addTerms(Value *value, bool isSigned, int64_t factor, const Instruction *at,
                               AddressParts &parts) const {
  if (auto *number = dyn_cast<ConstantInt>(value))
    return number->getValue().isSignedIntN(62) &&
           addScaled(parts.constant, isSigned ? number->getSExtValue() : int64_t(number->getZExtValue()), factor);
  auto *instruction = dyn_cast<Instruction>(value);
  if (!instruction)
    return addLeaf(value, isSigned, factor, at, parts);
  const DataLayout &layout = function.getDataLayout();
  switch (instruction->getOpcode()) {
  case Instruction::SExt:
    if (isSigned || isKnownNonNegative(instruction->getOperand(0), SimplifyQuery(layout, instruction)))
      return addTerms(instruction->getOperand(0), true, factor, at, parts);
    break;
  case Instruction::ZExt:
    return addTerms(instruction->getOperand(0), instruction->hasNonNeg(), factor, at, parts);
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::Or:
  case Instruction::Shl:
  case Instruction::Mul: {
    bool scales = instruction->getOpcode() == Instruction::Shl || instruction->getOpcode() == Instruction::Mul;
    auto *second = dyn_cast<ConstantInt>(instruction->getOperand(1));
    uint64_t most = instruction->getOpcode() == Instruction::Shl
                        ? std::min(31u, value->getType()->getIntegerBitWidth() - 1)
                        : uint64_t(1) << 31;
    if (scales && (!second || second->getValue().uge(most)))
      break;
    // All of what the wave shares is one term, but for constants: those can be the instruction's.
    if (isOfWave(value, at) && (scales || !second))
      break;
    if (isExact(instruction, isSigned, at))
      return addSum(instruction, isSigned, factor, at, parts);
    bool isNatural = isKnownNonNegative(instruction, SimplifyQuery(layout, instruction));
    if (isNatural && isExact(instruction, !isSigned, at))
      return addSum(instruction, !isSigned, factor, at, parts);
    break;
  }
  default:
    break;
  }
  return addLeaf(value, isSigned, factor, at, parts);
}

std::optional<AddressParts> AddressAnalysis::split(Value *pointer, const Instruction *at) const {
  const DataLayout &layout = function.getDataLayout();
  unsigned bits = layout.getIndexTypeSizeInBits(pointer->getType());
  AddressParts parts;
  while (auto *step = dyn_cast<GEPOperator>(pointer)) {
    SmallMapVector<Value *, APInt, 4> variables;
    APInt constant(bits, 0);
    if (bits != 64 || !step->collectOffset(layout, bits, variables, constant) ||
        AddOverflow(parts.constant, constant.getSExtValue(), parts.constant))
      return std::nullopt;
    for (auto &[index, scale] : variables)
      if (!addTerms(index, /*isSigned=*/true, scale.getSExtValue(), at, parts))
        return std::nullopt;
    pointer = step->getPointerOperand();
  }
  if (!isOfWave(pointer, at))
    return std::nullopt;
  parts.base = pointer;
  return parts;
}

std::optional<AddressParts> AddressAnalysis::splitWithinBuffer(Value *pointer) const {
  constexpr unsigned bits = 64;
  constexpr int64_t widest = 16;
  const DataLayout &layout = function.getDataLayout();
  AddressParts parts;
  parts.most = buffer::bytes - widest;
  while (auto *step = dyn_cast<GEPOperator>(pointer)) {
    SmallMapVector<Value *, APInt, 4> variables;
    APInt constant(bits, 0);
    if (layout.getIndexTypeSizeInBits(pointer->getType()) != bits ||
        !step->collectOffset(layout, bits, variables, constant) || parts.ofLane.size() + variables.size() > mostTerms)
      return std::nullopt;
    parts.constant += constant.getSExtValue();
    for (auto &[index, scale] : variables)
      parts.ofLane.push_back({index, /*isSigned=*/true, scale.getSExtValue()});
    pointer = step->getPointerOperand();
  }
  auto *argument = dyn_cast<Argument>(pointer);
  if (!argument ||
      !argument->getParent()->getAttributes().getParamAttrs(argument->getArgNo()).hasAttribute(buffer::within))
    return std::nullopt;
  parts.base = argument;
  return parts;
}
