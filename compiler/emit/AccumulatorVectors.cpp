// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the vectors whose elements all go to phis of one block, from matrix instructions on, and replaces these phis by
// one of the vector; likewise the registers whose parts do.
#include "compiler/emit/AccumulatorVectors.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"
#include <map>

using namespace llvm;

/// Phis of one block, one for each element of a vector.
using Elements = SmallVector<PHINode *, 16>;

bool heddle::isMatrixInstruction(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  const Function *callee = call ? call->getCalledFunction() : nullptr;
  return callee && callee->getName().starts_with("llvm.amdgcn.mfma.");
}

//===-- Finding --------------------------------------------------------------------------------------------------===//

static std::optional<uint64_t> constantNumber(Value *number) {
  auto *constant = dyn_cast<ConstantInt>(number);
  return constant ? std::optional(constant->getZExtValue()) : std::nullopt;
}

/// What takes each element of `vector` out of it; null for one that nothing does.
static SmallVector<Instruction *, 16> elementsOf(Value *vector) {
  SmallVector<Instruction *, 16> elements(cast<FixedVectorType>(vector->getType())->getNumElements());
  for (User *user : vector->users())
    if (auto *extract = dyn_cast<ExtractElementInst>(user)) {
      std::optional<uint64_t> number = constantNumber(extract->getIndexOperand());
      if (number && *number < elements.size())
        elements[*number] = extract;
    }
  return elements;
}

/// The phi of `block` that takes `element` and is not yet one of `taken`; null where there is none.
static PHINode *phiOf(Instruction *element, BasicBlock *block, const Elements &taken) {
  for (User *user : element->users())
    if (auto *phi = dyn_cast<PHINode>(user); phi && phi->getParent() == block && !is_contained(taken, phi))
      return phi;
  return nullptr;
}

/// The phis that all elements of `vector` go to, for each block.
static SmallVector<Elements, 2> phisOf(Value *vector) {
  SmallVector<Elements, 2> found;
  SmallVector<Instruction *, 16> elements = elementsOf(vector);
  if (is_contained(elements, nullptr))
    return found;
  SmallVector<BasicBlock *, 2> blocks;
  for (User *user : elements.front()->users())
    if (isa<PHINode>(user) && !is_contained(blocks, cast<PHINode>(user)->getParent()))
      blocks.push_back(cast<PHINode>(user)->getParent());
  for (BasicBlock *block : blocks) {
    Elements phis;
    for (Instruction *element : elements)
      if (PHINode *phi = phiOf(element, block, phis))
        phis.push_back(phi);
    if (phis.size() == elements.size())
      found.push_back(phis);
  }
  return found;
}

/// The vector whose elements the phis are when control comes from `from`; null where there is none.
static Value *wholeFrom(const Elements &phis, BasicBlock *from) {
  SmallVector<Constant *, 16> constants;
  Value *whole = nullptr;
  for (auto [number, phi] : enumerate(phis)) {
    Value *value = phi->getIncomingValueForBlock(from);
    if (auto *constant = dyn_cast<Constant>(value)) {
      constants.push_back(constant);
      continue;
    }
    auto *extract = dyn_cast<ExtractElementInst>(value);
    if (!extract || constantNumber(extract->getIndexOperand()) != number ||
        (whole && whole != extract->getVectorOperand()))
      return nullptr;
    whole = extract->getVectorOperand();
    if (cast<FixedVectorType>(whole->getType())->getNumElements() != phis.size())
      return nullptr;
  }
  if (constants.size() == phis.size())
    return ConstantVector::get(constants);
  return constants.empty() ? whole : nullptr;
}

//===-- Joining --------------------------------------------------------------------------------------------------===//

/// Whether `insert` is the last of those that put `elements` together, in their order.
static bool isWhole(InsertElementInst *insert, ArrayRef<Value *> elements) {
  Value *part = insert;
  for (size_t left = elements.size(); left-- > 0;) {
    auto *one = dyn_cast<InsertElementInst>(part);
    if (!one || constantNumber(one->getOperand(2)) != left || one->getOperand(1) != elements[left])
      return false;
    part = one->getOperand(0);
  }
  return isa<PoisonValue>(part);
}

/// Replaces what puts the elements of `vector` together again by itself.
static void useWhole(Value *vector, ArrayRef<Value *> elements) {
  SmallVector<Instruction *> wholes;
  for (User *user : elements.back()->users())
    if (auto *insert = dyn_cast<InsertElementInst>(user); insert && isWhole(insert, elements))
      wholes.push_back(insert);
  for (Instruction *whole : wholes) {
    whole->replaceAllUsesWith(vector);
    RecursivelyDeleteTriviallyDeadInstructions(whole);
  }
}

/// Makes them one; null where no predecessor has the elements of one vector.
static PHINode *join(const Elements &phis) {
  PHINode *first = phis.front();
  SmallVector<std::pair<Value *, BasicBlock *>, 2> incoming;
  for (BasicBlock *from : first->blocks()) {
    Value *whole = wholeFrom(phis, from);
    if (!whole)
      return nullptr;
    incoming.emplace_back(whole, from);
  }
  auto *type = FixedVectorType::get(first->getType(), unsigned(phis.size()));
  auto *joined = PHINode::Create(type, unsigned(incoming.size()), "", first->getIterator());
  for (auto [whole, from] : incoming)
    joined->addIncoming(whole, from);
  IRBuilder<> builder(first->getParent(), first->getParent()->getFirstInsertionPt());
  SmallVector<Value *, 16> elements;
  for (auto [number, phi] : enumerate(phis)) {
    elements.push_back(builder.CreateExtractElement(joined, uint64_t(number)));
    phi->replaceAllUsesWith(elements.back());
  }
  for (PHINode *phi : phis) {
    SmallVector<WeakTrackingVH, 2> values(phi->incoming_values());
    phi->eraseFromParent();
    for (WeakTrackingVH &value : values)
      if (value)
        RecursivelyDeleteTriviallyDeadInstructions(value);
  }
  useWhole(joined, elements);
  return joined;
}

void heddle::keepAccumulatorsWhole(Module &module) {
  for (Function &function : module) {
    SmallVector<Value *> work;
    for (Instruction &instruction : instructions(function))
      if (isMatrixInstruction(instruction) && isa<FixedVectorType>(instruction.getType()))
        work.push_back(&instruction);
    while (!work.empty())
      for (const Elements &phis : phisOf(work.pop_back_val()))
        if (PHINode *joined = join(phis))
          work.push_back(joined);
  }
}

//===-- Registers of narrow elements -----------------------------------------------------------------------------===//

namespace {
/// A part of a register, of `bits` bits.
struct Part {
  Value *word = nullptr; ///< i32
  unsigned number = 0;
};
} // namespace

/// Of which register a value of 8 or 16 bits is a part, by which shift; none where that is not seen.
static Part partOf(Value *value) {
  using namespace PatternMatch;
  unsigned bits = unsigned(value->getType()->getPrimitiveSizeInBits().getFixedValue());
  if (auto *cast = dyn_cast<BitCastInst>(value); cast && !cast->getSrcTy()->isVectorTy())
    value = cast->getOperand(0);
  Value *word = nullptr;
  uint64_t shift = 0;
  if (!match(value, m_Trunc(m_LShr(m_Value(word), m_ConstantInt(shift)))) && !match(value, m_Trunc(m_Value(word))))
    return {};
  return word->getType()->isIntegerTy(32) && shift < 32 && shift % bits == 0 ? Part{word, unsigned(shift / bits)}
                                                                             : Part();
}

/// The registers that phis take parts of, one for each predecessor, and the type of a part.
using Words = std::pair<SmallVector<Value *, 2>, Type *>;

/// Those of a phi, and which part of each it takes; no type where it is not the same part of registers.
static std::pair<Words, unsigned> wordsOf(const PHINode &phi) {
  Words words;
  unsigned number = 0;
  for (BasicBlock *from : phi.getParent()->phis().begin()->blocks()) { // phis may have their predecessors in any order
    Part part = partOf(phi.getIncomingValueForBlock(from));
    if (!part.word || (!words.first.empty() && part.number != number))
      return {};
    number = part.number;
    words.first.push_back(part.word);
  }
  words.second = phi.getType();
  return {words, number};
}

/// Replaces the phis of all parts by one of the register, before the others of their block.
static void joinParts(const Elements &phis, const Words &words) {
  PHINode *first = phis.front();
  SmallVector<BasicBlock *, 2> predecessors(first->getParent()->phis().begin()->blocks()); // in the order of the words
  auto *whole = PHINode::Create(Type::getInt32Ty(first->getContext()), unsigned(words.first.size()), "",
                                first->getParent()->begin());
  for (auto [word, from] : zip(words.first, predecessors))
    whole->addIncoming(word, from);
  IRBuilder<> builder(first->getParent(), first->getParent()->getFirstInsertionPt());
  Value *vector = builder.CreateBitCast(whole, FixedVectorType::get(words.second, unsigned(phis.size())));
  SmallVector<Value *, 4> elements;
  for (auto [number, phi] : enumerate(phis)) {
    // As parts of the register, which phis that take them can be found by; what makes a vector of all takes that.
    Value *part = number ? builder.CreateLShr(whole, number * words.second->getPrimitiveSizeInBits()) : whole;
    Type *integer = builder.getIntNTy(unsigned(words.second->getPrimitiveSizeInBits()));
    part = builder.CreateTrunc(part, integer);
    elements.push_back(words.second == integer ? part : builder.CreateBitCast(part, words.second));
    phi->replaceAllUsesWith(elements.back());
    phi->eraseFromParent();
  }
  useWhole(vector, elements);
}

void heddle::keepRegistersWhole(Module &module) {
  for (Function &function : module)
    for (BasicBlock &block : function) {
      MapVector<Words, SmallVector<PHINode *, 4>, std::map<Words, unsigned>> found;
      for (PHINode &phi : block.phis()) {
        uint64_t bits = phi.getType()->isVectorTy() ? 0 : phi.getType()->getPrimitiveSizeInBits().getFixedValue();
        if (bits != 8 && bits != 16)
          continue;
        auto [words, number] = wordsOf(phi);
        if (!words.second)
          continue;
        SmallVector<PHINode *, 4> &phis = found[words];
        phis.resize(32 / bits);
        phis[number] = &phi;
      }
      for (auto &[words, phis] : found)
        if (!is_contained(phis, nullptr))
          joinParts(Elements(phis.begin(), phis.end()), words);
    }
}

//===-- AGPRs ----------------------------------------------------------------------------------------------------===//

/// Whether nothing but matrix instructions uses it in its loop.
static bool isOnlyAccumulated(const PHINode &phi) {
  auto isAccumulation = [](const User *user) { return heddle::isMatrixInstruction(*cast<Instruction>(user)); };
  return phi.getType()->isVectorTy() && any_of(phi.users(), isAccumulation) &&
         all_of(phi.users(),
                [&](const User *user) { return isAccumulation(user) || isa<PHINode, ExtractElementInst>(user); });
}

// In a block of 256 threads each may have 512 registers, of which instructions name 256 VGPRs and 256 AGPRs. With VGPRs
// alone LLVM 22 would begin with all accumulators in them, and move some to AGPRs when they do not fit.
void heddle::accumulateInAgprs(Module &module, int threads) {
  constexpr int threadsWithBoth = 256;
  constexpr uint64_t manyWords = 128;
  if (threads > threadsWithBoth)
    return;
  for (Function &function : module)
    for (BasicBlock &block : function) {
      uint64_t words = 0;
      for (PHINode &phi : block.phis())
        if (isOnlyAccumulated(phi))
          words += phi.getType()->getPrimitiveSizeInBits().getFixedValue() / 32;
      if (words > manyWords)
        function.removeFnAttr("amdgpu-agpr-alloc"); // that none are needed
    }
}
