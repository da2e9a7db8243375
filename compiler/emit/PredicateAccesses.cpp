// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/emit/PredicateAccesses.h"
#include "compiler/emit/MaskedAccess.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include <optional>

using namespace llvm;
using namespace heddle;

namespace {

constexpr unsigned globalSpace = 1;
/// Above, a block stays a branch: it is more than stores and what they alone need.
constexpr long mostPredicated = 32;

/// How a type travels: `parts` registers of one type, each of which holds `bits` of memory.
struct Carrier {
  unsigned parts, bits;
  Type *part;
  const char *letter; ///< the registers' constraint
};

} // namespace

static std::optional<Carrier> carrierOf(Type *type, const DataLayout &layout) {
  if (type->getScalarType()->isPointerTy() && type->isVectorTy())
    return std::nullopt;
  auto size = unsigned(layout.getTypeStoreSizeInBits(type).getFixedValue());
  if (layout.getTypeSizeInBits(type).getFixedValue() != size || type->isAggregateType())
    return std::nullopt;
  LLVMContext &context = type->getContext();
  auto *word = Type::getInt32Ty(context);
  if (size == 8 || size == 16)
    return Carrier{1, size, Type::getInt16Ty(context), "h"};
  if (size == 32)
    return Carrier{1, 32, word, "r"};
  if (type->isVectorTy() && (size == 64 || size == 128))
    return Carrier{size / 32, 32, word, "r"};
  if (size == 64)
    return Carrier{1, 64, Type::getInt64Ty(context), "l"};
  return std::nullopt;
}

static SmallVector<Value *> toParts(IRBuilder<> &b, Value *value, const Carrier &carrier) {
  if (value->getType()->isPointerTy())
    return {b.CreatePtrToInt(value, carrier.part)};
  // What is above a byte is not stored.
  if (auto *cut = dyn_cast<TruncInst>(value); cut && carrier.bits == 8)
    return {b.CreateZExtOrTrunc(cut->getOperand(0), carrier.part)};
  if (carrier.parts == 1)
    return {b.CreateZExt(b.CreateBitCast(value, b.getIntNTy(carrier.bits)), carrier.part)};
  Value *words = b.CreateBitCast(value, FixedVectorType::get(carrier.part, carrier.parts));
  SmallVector<Value *> parts;
  for (unsigned i = 0; i < carrier.parts; ++i)
    parts.push_back(b.CreateExtractElement(words, i));
  return parts;
}

static Value *fromParts(IRBuilder<> &b, Value *loaded, const Carrier &carrier, Type *type) {
  if (type->isPointerTy())
    return b.CreateIntToPtr(loaded, type);
  if (carrier.parts == 1)
    return b.CreateBitCast(b.CreateTrunc(loaded, b.getIntNTy(carrier.bits)), type);
  Value *words = PoisonValue::get(FixedVectorType::get(carrier.part, carrier.parts));
  for (unsigned i = 0; i < carrier.parts; ++i)
    words = b.CreateInsertElement(words, b.CreateExtractValue(loaded, i), i);
  return b.CreateBitCast(words, type);
}

static std::string registerList(unsigned first, const Carrier &carrier) {
  std::string list;
  for (unsigned i = 0; i < carrier.parts; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return carrier.parts > 1 ? "{" + list + "}" : list;
}

/// `@$BIT ld.global.v4.b32 `; `name` is that of the instruction up to its space.
static std::string accessText(const char *name, unsigned bit, const Guard &guard, const Carrier &carrier) {
  std::string vector = carrier.parts > 1 ? ".v" + std::to_string(carrier.parts) : "";
  return (guard.inverted ? "@!$" : "@$") + std::to_string(bit) + " " + name + vector + ".b" +
         std::to_string(carrier.bits) + " ";
}

static Value *emit(IRBuilder<> &b, Type *result, const std::string &text, const std::string &constraints,
                   ArrayRef<Value *> operands, bool hasOrder = true) {
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  auto *type = FunctionType::get(result, types, false);
  return b.CreateCall(InlineAsm::get(type, text, constraints, /*hasSideEffects=*/hasOrder), operands);
}

//===-- Loads ----------------------------------------------------------------------------------------------------===//

/// The instruction of a load that may be under a predicate, up to its type; null: it stays as it is.
static const char *nameOf(const LoadInst *load) {
  if (load->isVolatile())
    return nullptr;
  if (!load->isAtomic())
    return load->hasMetadata(LLVMContext::MD_invariant_load) ? "ld.global.nc" : "ld.global";
  if (load->getOrdering() != AtomicOrdering::Monotonic || load->getType()->isVectorTy())
    return nullptr;
  if (load->getSyncScopeID() == SyncScope::System)
    return "ld.relaxed.sys.global";
  return load->getSyncScopeID() == load->getContext().getOrInsertSyncScopeID("device") ? "ld.relaxed.gpu.global"
                                                                                       : nullptr;
}

static Value *emitLoad(IRBuilder<> &b, LoadInst *load, Value *pointer, const Guard &guard, Value *other) {
  Carrier carrier = *carrierOf(load->getType(), load->getDataLayout());
  bool isInvariant = load->hasMetadata(LLVMContext::MD_invariant_load); // nobody writes what it reads
  SmallVector<Value *> operands = {pointer, guard.bit};
  operands.append(toParts(b, other, carrier));
  std::string constraints, tied;
  for (unsigned i = 0; i < carrier.parts; ++i) {
    constraints += std::string("=") + carrier.letter + ",";
    tied += "," + std::to_string(i);
  }
  Type *result = carrier.part;
  if (carrier.parts > 1)
    result = StructType::get(b.getContext(), SmallVector<Type *>(carrier.parts, carrier.part));
  std::string text = accessText(nameOf(load), carrier.parts + 1, guard, carrier) + registerList(0, carrier) + ", [$" +
                     std::to_string(carrier.parts) + "];";
  Value *loaded = emit(b, result, text, constraints + "l,b" + tied, operands, /*hasOrder=*/!isInvariant);
  return fromParts(b, loaded, carrier, load->getType());
}

static std::optional<Guard> guardOf(LoadInst *load, const GlobalVariable *zeros) {
  auto *choice = dyn_cast<SelectInst>(load->getPointerOperand());
  if (!zeros || !choice || !nameOf(load))
    return std::nullopt;
  if (choice->getFalseValue() == zeros)
    return Guard{choice->getCondition(), false};
  if (choice->getTrueValue() == zeros)
    return Guard{choice->getCondition(), true};
  return std::nullopt;
}

// `%x = load ...; %y = select bit, %x, constant` with the load's own bit: %y, if nobody else reads %x.
static SelectInst *otherwiseOf(LoadInst *load, const Guard &guard) {
  auto *choice = load->hasOneUse() ? dyn_cast<SelectInst>(load->user_back()) : nullptr;
  if (!choice || choice->getCondition() != guard.bit || choice->getType() != load->getType())
    return nullptr;
  Value *read = guard.inverted ? choice->getFalseValue() : choice->getTrueValue();
  Value *other = guard.inverted ? choice->getTrueValue() : choice->getFalseValue();
  return read == load && isa<Constant>(other) ? choice : nullptr;
}

static void predicateLoad(LoadInst *load, const Guard &guard) {
  IRBuilder<> b(load);
  auto *choice = cast<SelectInst>(load->getPointerOperand());
  Value *pointer = guard.inverted ? choice->getFalseValue() : choice->getTrueValue();
  SelectInst *result = otherwiseOf(load, guard);
  Value *other = Constant::getNullValue(load->getType());
  if (result)
    other = guard.inverted ? result->getTrueValue() : result->getFalseValue();
  Value *loaded = emitLoad(b, load, pointer, guard, other);
  if (result) {
    result->replaceAllUsesWith(loaded);
    result->eraseFromParent();
  } else {
    load->replaceAllUsesWith(loaded);
  }
  load->eraseFromParent();
  if (choice->use_empty())
    choice->eraseFromParent();
}

//===-- Stores ---------------------------------------------------------------------------------------------------===//

static bool isGlobalAccess(const Instruction &instruction, const DataLayout &layout) {
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    return store->isSimple() && store->getPointerAddressSpace() == globalSpace &&
           carrierOf(store->getValueOperand()->getType(), layout);
  auto *load = dyn_cast<LoadInst>(&instruction);
  return load && load->isSimple() && load->getPointerAddressSpace() == globalSpace &&
         carrierOf(load->getType(), layout);
}

// A block of stores, and of what they alone need.
static bool isPredicable(BasicBlock &block, const DataLayout &layout) {
  bool stores = false;
  if (block.sizeWithoutDebug() > mostPredicated || isa<PHINode>(block.front()))
    return false;
  for (Instruction &instruction : block) {
    if (instruction.isTerminator())
      break;
    stores |= isa<StoreInst>(instruction);
    if (!isGlobalAccess(instruction, layout) && !isHarmless(instruction, "llvm.nvvm."))
      return false;
  }
  return stores;
}

static void moveUnderPredicate(Instruction &instruction, const Guard &guard, Instruction *before) {
  const DataLayout &layout = before->getDataLayout();
  IRBuilder<> b(before);
  b.SetCurrentDebugLocation(instruction.getDebugLoc());
  if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    Carrier carrier = *carrierOf(store->getValueOperand()->getType(), layout);
    SmallVector<Value *> operands = {guard.bit, store->getPointerOperand()};
    operands.append(toParts(b, store->getValueOperand(), carrier));
    std::string constraints = "b,l";
    for (unsigned i = 0; i < carrier.parts; ++i)
      constraints += std::string(",") + carrier.letter;
    std::string text = accessText("st.global", 0, guard, carrier) + "[$1], " + registerList(2, carrier) + ";";
    emit(b, b.getVoidTy(), text, constraints, operands);
  } else if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    Value *loaded = emitLoad(b, load, load->getPointerOperand(), guard, Constant::getNullValue(load->getType()));
    load->replaceAllUsesWith(loaded);
  } else {
    instruction.moveBefore(before->getIterator());
    instruction.dropUBImplyingAttrsAndMetadata();
    return;
  }
  instruction.eraseFromParent();
}

// `head` branches around a block of stores: the block goes into it, and what follows too if that has no other way in.
static bool predicateStores(BasicBlock *head) {
  auto *branch = dyn_cast<BranchInst>(head->getTerminator());
  if (!branch || !branch->isConditional())
    return false;
  for (bool inverted : {false, true}) {
    BasicBlock *block = branch->getSuccessor(inverted), *next = branch->getSuccessor(!inverted);
    if (block == next || next == head || block->getSinglePredecessor() != head || block->getSingleSuccessor() != next ||
        isa<PHINode>(next->front()) || !isPredicable(*block, head->getDataLayout()))
      continue;
    Guard guard{branch->getCondition(), inverted};
    for (Instruction &instruction : make_early_inc_range(*block))
      if (!instruction.isTerminator())
        moveUnderPredicate(instruction, guard, branch);
    IRBuilder<>(branch).CreateBr(next);
    branch->eraseFromParent();
    DeleteDeadBlock(block);
    MergeBlockIntoPredecessor(next);
    return true;
  }
  return false;
}

void heddle::predicateAccesses(Module &module) {
  GlobalVariable *zeros = module.getGlobalVariable("heddle_zeros", /*AllowInternal=*/true);
  SmallVector<LoadInst *> loads;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *load = dyn_cast<LoadInst>(&instruction))
        loads.push_back(load);
  for (LoadInst *load : loads)
    if (std::optional<Guard> guard = guardOf(load, zeros))
      if (carrierOf(load->getType(), module.getDataLayout()))
        predicateLoad(load, *guard);
  if (zeros && zeros->use_empty())
    zeros->eraseFromParent();
  for (Function &function : module)
    for (BasicBlock &block : function)
      while (predicateStores(&block)) // takes away blocks behind this one only
        ;
}
