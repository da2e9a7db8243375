// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds vectors of bytes that conversions fill, and extensions of elements of vectors; rewrites them one by one.
#include "compiler/emit/PackedWords.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace {

constexpr unsigned bytesOfWord = 4;

/// The conversion of one f32 to FP8 whose byte this is; null for another value.
IntrinsicInst *conversionOf(Value *byte) {
  Value *pair = nullptr;
  if (!match(byte, m_Trunc(m_Value(pair))))
    return nullptr;
  auto *call = dyn_cast<IntrinsicInst>(pair);
  bool isOne =
      call && is_contained({Intrinsic::nvvm_ff_to_e4m3x2_rn, Intrinsic::nvvm_ff_to_e5m2x2_rn}, call->getIntrinsicID());
  return isOne && match(call->getArgOperand(0), m_AnyZeroFP()) ? call : nullptr;
}

/// The elements of a vector that is made one by one; empty where one is missing.
SmallVector<Value *> elementsOf(InsertElementInst *last) {
  auto *type = dyn_cast<FixedVectorType>(last->getType());
  if (!type)
    return {};
  SmallVector<Value *> elements(type->getNumElements());
  for (Value *at = last; auto *insert = dyn_cast<InsertElementInst>(at); at = insert->getOperand(0)) {
    auto *index = dyn_cast<ConstantInt>(insert->getOperand(2));
    if (!index || index->getZExtValue() >= elements.size())
      return {};
    Value *&element = elements[index->getZExtValue()];
    if (!element)
      element = insert->getOperand(1);
  }
  return is_contained(elements, nullptr) ? SmallVector<Value *>() : elements;
}

/// Whether an instruction may stand right before its only user, in the user's block, without more registers in use
/// between: at most one of its operands is for it alone.
bool mayBeLate(Value *value, Instruction *user) {
  auto *instruction = dyn_cast<Instruction>(value);
  return instruction && instruction->hasOneUse() && instruction->getParent() == user->getParent() &&
         !isa<PHINode>(instruction) && !instruction->mayHaveSideEffects() && !instruction->mayReadFromMemory() &&
         count_if(instruction->operands(),
                  [](Value *operand) { return !isa<Constant>(operand) && operand->hasOneUse(); }) <= 1;
}

/// Moves what computes the operands to right before their users: of a tile whose elements are all converted, few wide
/// ones are in registers at once.
void computeLate(Instruction *conversion) {
  SmallVector<Instruction *> users = {conversion};
  while (!users.empty()) {
    Instruction *user = users.pop_back_val();
    for (Value *operand : user->operands())
      if (mayBeLate(operand, user)) {
        auto *instruction = cast<Instruction>(operand);
        instruction->moveBefore(user->getIterator());
        users.push_back(instruction);
      }
  }
}

/// The same bytes, of conversions of two numbers, which are added to `made`; null where they are not all of one
/// conversion.
Value *convertedInPairs(InsertElementInst *last, SmallVector<Instruction *> &made) {
  SmallVector<Value *> bytes = elementsOf(last);
  if (bytes.empty() || bytes.size() % bytesOfWord)
    return nullptr;
  SmallVector<IntrinsicInst *> calls = map_to_vector(bytes, conversionOf);
  if (!all_of(calls, [&](IntrinsicInst *call) {
        return call && calls[0] && call->getIntrinsicID() == calls[0]->getIntrinsicID();
      }))
    return nullptr;
  IRBuilder<> b(last);
  Type *half = b.getInt16Ty(), *halves = FixedVectorType::get(half, 2);
  Value *words = PoisonValue::get(FixedVectorType::get(b.getInt32Ty(), unsigned(bytes.size()) / bytesOfWord));
  for (unsigned first = 0; first < bytes.size(); first += bytesOfWord) {
    Value *word = PoisonValue::get(halves);
    for (unsigned i = 0; i < 2; ++i) { // the second operand is the low byte
      IntrinsicInst *low = calls[first + 2 * i], *high = calls[first + 2 * i + 1];
      Value *pair = b.CreateIntrinsic(low->getIntrinsicID(), {high->getArgOperand(1), low->getArgOperand(1)});
      made.push_back(cast<Instruction>(pair));
      word = b.CreateInsertElement(word, pair, i);
    }
    words = b.CreateInsertElement(words, b.CreateBitCast(word, b.getInt32Ty()), first / bytesOfWord);
  }
  return b.CreateBitCast(words, last->getType());
}

/// The f32 of an element of a vector of bf16, from its word; null for another number.
Value *extendedFromWord(FPExtInst *extension) {
  Value *vector = nullptr;
  uint64_t index = 0;
  if (!extension->getType()->isFloatTy() ||
      !match(extension->getOperand(0), m_ExtractElt(m_Value(vector), m_ConstantInt(index))))
    return nullptr;
  auto *type = dyn_cast<FixedVectorType>(vector->getType());
  if (!type || !type->getElementType()->isBFloatTy() || type->getNumElements() % 2)
    return nullptr;
  IRBuilder<> b(extension);
  auto *words = FixedVectorType::get(b.getInt32Ty(), type->getNumElements() / 2);
  Value *word = b.CreateExtractElement(b.CreateBitCast(vector, words), index / 2);
  Value *bits = index % 2 ? b.CreateAnd(word, 0xffff0000) : b.CreateShl(word, 16);
  return b.CreateBitCast(bits, extension->getType());
}

} // namespace

void heddle::usePackedWords(Module &module) {
  SmallVector<WeakTrackingVH> replaced;
  SmallVector<Instruction *> conversions;
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      Value *made = nullptr;
      if (auto *insert = dyn_cast<InsertElementInst>(&instruction);
          insert && none_of(insert->users(), [](User *user) { return isa<InsertElementInst>(user); }))
        made = convertedInPairs(insert, conversions);
      else if (auto *extension = dyn_cast<FPExtInst>(&instruction))
        made = extendedFromWord(extension);
      if (!made)
        continue;
      instruction.replaceAllUsesWith(made);
      replaced.push_back(&instruction);
    }
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(replaced);
  for (Instruction *conversion : conversions)
    computeLate(conversion);
}
