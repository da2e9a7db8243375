// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds vectors of bytes that conversions fill, extensions of elements of vectors, and pairs of extended bytes;
// rewrites them one by one.
#include "compiler/emit/PackedWords.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"
#include <map>

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

/// An element of a vector of bytes, and operations with constants on it, the last one first.
struct ComputedByte {
  Value *vector = nullptr;
  unsigned index = 0; ///< in `vector`
  SmallVector<BinaryOperator *, 2> operations;
};

bool isOnBits(BinaryOperator *operation) {
  return is_contained({Instruction::And, Instruction::Or, Instruction::Xor, Instruction::LShr, Instruction::Shl},
                      operation->getOpcode());
}

/// The byte whose extension by zeros to 16 bits this is.
std::optional<ComputedByte> extendedByte(Value *extended) {
  Value *value = nullptr;
  if (!match(extended, m_ZExt(m_Value(value))) || !value->getType()->isIntegerTy(8))
    return std::nullopt;
  ComputedByte byte;
  while (auto *operation = dyn_cast<BinaryOperator>(value)) {
    if (!isOnBits(operation) || !isa<ConstantInt>(operation->getOperand(1)))
      return std::nullopt;
    byte.operations.push_back(operation);
    value = operation->getOperand(0);
  }
  uint64_t index = 0;
  if (!match(value, m_ExtractElt(m_Value(byte.vector), m_ConstantInt(index))))
    return std::nullopt;
  auto *type = dyn_cast<FixedVectorType>(byte.vector->getType());
  if (!type || type->getNumElements() % bytesOfWord)
    return std::nullopt;
  byte.index = unsigned(index);
  return byte;
}

/// Pairs of bytes, each in 16 bits, that are made already: by vector and index of both, and by block.
using BytePairs = std::map<std::tuple<BasicBlock *, Value *, unsigned, Value *, unsigned>, Value *>;

/// Two elements of vectors of bytes, each extended by zeros in a half of a word, by one `prmt`. Without it LLVM takes
/// two, one for each byte, and a third one puts them together.
Value *pairOfBytes(IRBuilder<> &b, const ComputedByte &low, const ComputedByte &high, BytePairs &pairs) {
  Value *&pair = pairs[{b.GetInsertBlock(), low.vector, low.index, high.vector, high.index}];
  if (pair)
    return pair;
  auto wordOf = [&](const ComputedByte &byte) {
    unsigned count = cast<FixedVectorType>(byte.vector->getType())->getNumElements() / bytesOfWord;
    Value *words = b.CreateBitCast(byte.vector, FixedVectorType::get(b.getInt32Ty(), count));
    return b.CreateExtractElement(words, byte.index / bytesOfWord);
  };
  // A selector has four bits for each byte of the result: 0 to 3 are of the first word, 4 to 7 of the second.
  unsigned first = low.index % bytesOfWord, second = high.index % bytesOfWord;
  bool isOneWord = low.vector == high.vector && low.index / bytesOfWord == high.index / bytesOfWord;
  auto permuted = [&](Value *word, Value *other, unsigned selector) {
    return b.CreateIntrinsic(Intrinsic::nvvm_prmt, {word, other, b.getInt32(selector)});
  };
  if (isOneWord)
    return pair = permuted(wordOf(low), b.getInt32(0), first | 0x40 | second << 8 | 0x4000);
  Value *both = permuted(wordOf(low), wordOf(high), first | (second | 4) << 8);
  return pair = b.CreateAnd(both, 0x00ff00ff);
}

/// The elements of a vector that is made of scalars: one by one, or all of the same one.
SmallVector<Value *> scalarsOf(Instruction *vector) {
  if (auto *insert = dyn_cast<InsertElementInst>(vector))
    return elementsOf(insert);
  Value *element = nullptr;
  auto *shuffle = dyn_cast<ShuffleVectorInst>(vector);
  auto isFirst = [](int index) { return index <= 0; }; // or poison
  if (!shuffle || !all_of(shuffle->getShuffleMask(), isFirst) ||
      !match(shuffle->getOperand(0), m_InsertElt(m_Value(), m_Value(element), m_Zero())))
    return {};
  return SmallVector<Value *>(shuffle->getShuffleMask().size(), element);
}

/// The same vector of two extended bytes, computed in one word; null for another vector.
Value *extendedInPairs(Instruction *last, BytePairs &pairs) {
  SmallVector<Value *> elements = scalarsOf(last);
  if (elements.size() != 2 || !elements[0]->getType()->isIntegerTy(16))
    return nullptr;
  std::optional<ComputedByte> low = extendedByte(elements[0]), high = extendedByte(elements[1]);
  if (!low || !high || low->operations.size() != high->operations.size())
    return nullptr;
  auto constantOf = [](BinaryOperator *operation) {
    return cast<ConstantInt>(operation->getOperand(1))->getZExtValue();
  };
  for (auto [one, other] : zip_equal(low->operations, high->operations))
    if (one->getOpcode() != other->getOpcode() || (one->isShift() && constantOf(one) != constantOf(other)))
      return nullptr;
  IRBuilder<> b(last);
  Value *word = pairOfBytes(b, *low, *high, pairs);
  for (auto [one, other] : reverse(zip_equal(low->operations, high->operations))) {
    uint64_t constant = constantOf(one), both = constant | constantOf(other) << 16;
    bool isLeft = one->getOpcode() == Instruction::Shl;
    if (!one->isShift()) {
      word = b.CreateBinOp(one->getOpcode(), word, b.getInt32(unsigned(both)));
      continue;
    }
    uint64_t kept = isLeft ? 0xff & 0xff << constant : 0xff >> constant; // of a byte
    word = b.CreateAnd(b.CreateBinOp(one->getOpcode(), word, b.getInt32(unsigned(constant))), kept | kept << 16);
  }
  return b.CreateBitCast(word, last->getType());
}

/// The bits of a constant, if they are a word's.
std::optional<unsigned> bitsOfWord(Constant *constant) {
  if (auto *word = dyn_cast<ConstantInt>(constant); word && word->getBitWidth() == 32)
    return unsigned(word->getZExtValue());
  auto *type = dyn_cast<FixedVectorType>(constant->getType());
  if (!type || type->getNumElements() != 2 || !type->getElementType()->isIntegerTy(16))
    return std::nullopt;
  auto *low = dyn_cast_if_present<ConstantInt>(constant->getAggregateElement(0u));
  auto *high = dyn_cast_if_present<ConstantInt>(constant->getAggregateElement(1u));
  if (!low || !high)
    return std::nullopt;
  return unsigned(low->getZExtValue() | high->getZExtValue() << 16);
}

/// `pair & mask | bits`, of two 16-bit integers and constants, as one `lop3`; null for another value. ptxas makes two
/// instructions of it: one of the constants has to be in a register for that.
Value *maskedWithBits(BinaryOperator *operation) {
  Value *masked = operation->getOperand(0), *pair = nullptr;
  Constant *mask = nullptr, *added = nullptr;
  if (auto *cast = dyn_cast<BitCastInst>(masked))
    masked = cast->getOperand(0);
  if (!operation->getType()->isVectorTy() || operation->getOpcode() != Instruction::Or ||
      !match(operation->getOperand(1), m_Constant(added)) || !match(masked, m_And(m_Value(pair), m_Constant(mask))))
    return nullptr;
  std::optional<unsigned> ofMask = bitsOfWord(mask), bits = bitsOfWord(added);
  if (!ofMask || !bits)
    return nullptr;
  IRBuilder<> b(operation);
  Type *i32 = b.getInt32Ty();
  constexpr unsigned andThenOr = 0xea; // of 0xf0, 0xcc and 0xaa, as `lop3` names the bits of its operands
  auto *made = InlineAsm::get(FunctionType::get(i32, {i32, i32, i32, i32}, false), "lop3.b32 $0, $1, $2, $3, $4;",
                              "=r,r,n,n,n", false);
  Value *word = b.CreateBitCast(pair, i32);
  word = b.CreateCall(made, {word, b.getInt32(*ofMask), b.getInt32(*bits), b.getInt32(andThenOr)});
  return b.CreateBitCast(word, operation->getType());
}

} // namespace

void heddle::usePackedWords(Module &module) {
  SmallVector<WeakTrackingVH> replaced;
  SmallVector<Instruction *> conversions;
  BytePairs pairs;
  auto packed = [&](Instruction &instruction) -> Value * {
    if (auto *insert = dyn_cast<InsertElementInst>(&instruction)) {
      if (any_of(insert->users(), [](User *user) { return isa<InsertElementInst>(user); }))
        return nullptr;
      Value *converted = convertedInPairs(insert, conversions);
      return converted ? converted : extendedInPairs(insert, pairs);
    }
    if (isa<ShuffleVectorInst>(instruction))
      return extendedInPairs(&instruction, pairs);
    if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
      return maskedWithBits(operation);
    auto *extension = dyn_cast<FPExtInst>(&instruction);
    return extension ? extendedFromWord(extension) : nullptr;
  };
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function)))
      if (Value *made = packed(instruction)) {
        instruction.replaceAllUsesWith(made);
        replaced.push_back(&instruction);
      }
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(replaced);
  for (Instruction *conversion : conversions)
    computeLate(conversion);
}
