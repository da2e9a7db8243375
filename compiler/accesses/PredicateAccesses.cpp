// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes each masked access as inline assembly with a predicate, its value in as many registers as PTX takes.
#include "compiler/accesses/PredicateAccesses.h"
#include "compiler/accesses/MaskedAccess.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace heddle;

namespace {

/// How a type travels: `parts` registers of one type, each of which holds `bits` of memory.
struct Carrier {
  unsigned parts, bits;
  Type *part;
  const char *letter; ///< the registers' constraint
};

/// The bit that an access is under.
struct Predicate {
  Value *bit;
  bool inverted;
};

} // namespace

// An integer, or a vector of words. A byte travels in a register of 16 bits.
static Carrier carrierOf(Type *type) {
  unsigned bits = type->getScalarSizeInBits();
  auto *vector = dyn_cast<FixedVectorType>(type);
  Type *part = Type::getIntNTy(type->getContext(), std::max(bits, 16u));
  return {vector ? vector->getNumElements() : 1, bits, part, bits == 64 ? "l" : bits == 32 ? "r" : "h"};
}

static SmallVector<Value *> toParts(IRBuilder<> &b, Value *value, const Carrier &carrier) {
  if (carrier.parts == 1) {
    // What is above a byte is not stored.
    auto *cut = dyn_cast<TruncInst>(value);
    return {b.CreateZExtOrTrunc(cut && carrier.bits == 8 ? cut->getOperand(0) : value, carrier.part)};
  }
  SmallVector<Value *> parts;
  for (unsigned i = 0; i < carrier.parts; ++i)
    parts.push_back(b.CreateExtractElement(value, i));
  return parts;
}

static Value *fromParts(IRBuilder<> &b, Value *loaded, const Carrier &carrier, Type *type) {
  if (carrier.parts == 1)
    return b.CreateTrunc(loaded, type);
  Value *words = PoisonValue::get(type);
  for (unsigned i = 0; i < carrier.parts; ++i)
    words = b.CreateInsertElement(words, b.CreateExtractValue(loaded, i), i);
  return words;
}

static std::string registerList(unsigned first, const Carrier &carrier) {
  std::string list;
  for (unsigned i = 0; i < carrier.parts; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return carrier.parts > 1 ? "{" + list + "}" : list;
}

/// `@$BIT ld.global.v4.b32 `; `name` is that of the instruction up to its space.
static std::string accessText(const char *name, unsigned bit, const Predicate &predicate, const Carrier &carrier) {
  std::string vector = carrier.parts > 1 ? ".v" + std::to_string(carrier.parts) : "";
  return (predicate.inverted ? "@!$" : "@$") + std::to_string(bit) + " " + name + vector + ".b" +
         std::to_string(carrier.bits) + " ";
}

/// `pointer` without the constants that are added to it, which are added to `bytes`.
static Value *takeConstants(Value *pointer, APInt &bytes) {
  auto *step = dyn_cast<GetElementPtrInst>(pointer);
  if (!step)
    return pointer;
  Value *inner = takeConstants(step->getPointerOperand(), bytes);
  APInt own(bytes.getBitWidth(), 0);
  if (step->accumulateConstantOffset(step->getDataLayout(), own)) {
    bytes += own;
    return inner;
  }
  if (inner == step->getPointerOperand())
    return step;
  Instruction *copy = step->clone();
  copy->setOperand(0, inner);
  copy->dropPoisonGeneratingFlags();
  copy->insertBefore(step->getIterator());
  return copy;
}

/// What an address is made of, a pointer or its number, and `[$NUMBER+BYTES]`.
static std::string addressText(const MaskedAccess &access, unsigned number, Value *&base) {
  APInt bytes(access.call->getDataLayout().getIndexTypeSizeInBits(access.pointer->getType()), 0);
  base = takeConstants(access.pointer, bytes);
  Value *sum = nullptr;
  const APInt *added = nullptr;
  if (PatternMatch::match(base, PatternMatch::m_IntToPtr(
                                    PatternMatch::m_Add(PatternMatch::m_Value(sum), PatternMatch::m_APInt(added)))) &&
      added->getBitWidth() == bytes.getBitWidth()) {
    base = sum;
    bytes += *added;
  }
  bool isPart = bytes.isSignedIntN(32) && !bytes.isZero();
  base = isPart ? base : access.pointer;
  return "[$" + std::to_string(number) + (isPart ? "+" + std::to_string(bytes.getSExtValue()) : "") + "]";
}

static Value *emit(IRBuilder<> &b, Type *result, const std::string &text, const std::string &constraints,
                   ArrayRef<Value *> operands) {
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  auto *type = FunctionType::get(result, types, false);
  return b.CreateCall(InlineAsm::get(type, text, constraints, /*hasSideEffects=*/true), operands);
}

static void predicateLoad(const MaskedAccess &load, const Predicate &predicate) {
  IRBuilder<> b(load.call);
  Type *type = load.value->getType(), *result = nullptr;
  Carrier carrier = carrierOf(type);
  Value *base = nullptr;
  std::string address = addressText(load, carrier.parts, base);
  SmallVector<Value *> operands = {base, predicate.bit};
  operands.append(toParts(b, load.value, carrier));
  std::string constraints, tied;
  for (unsigned i = 0; i < carrier.parts; ++i) {
    constraints += std::string("=") + carrier.letter + ",";
    tied += "," + std::to_string(i);
  }
  result = carrier.parts == 1 ? carrier.part
                              : StructType::get(b.getContext(), SmallVector<Type *>(carrier.parts, carrier.part));
  std::string text =
      accessText("ld.global", carrier.parts + 1, predicate, carrier) + registerList(0, carrier) + ", " + address + ";";
  Value *loaded = emit(b, result, text, constraints + "l,b" + tied, operands);
  replaceLoad(load.call, fromParts(b, loaded, carrier, type));
}

static void predicateStore(const MaskedAccess &store, const Predicate &predicate) {
  IRBuilder<> b(store.call);
  Carrier carrier = carrierOf(store.value->getType());
  Value *base = nullptr;
  std::string address = addressText(store, 1, base);
  SmallVector<Value *> operands = {predicate.bit, base};
  operands.append(toParts(b, store.value, carrier));
  std::string constraints = "b,l";
  for (unsigned i = 0; i < carrier.parts; ++i)
    constraints += std::string(",") + carrier.letter;
  std::string text = accessText("st.global", 0, predicate, carrier) + address + ", " + registerList(2, carrier) + ";";
  emit(b, b.getVoidTy(), text, constraints, operands);
  store.call->eraseFromParent();
}

void heddle::predicateAccesses(Module &module) {
  SmallVector<Instruction *> masked;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (isMasked(instruction))
        masked.push_back(&instruction);
  SmallVector<WeakTrackingVH> operands; // such as masks, which are taken apart
  for (Instruction *instruction : masked) {
    for (Use &operand : cast<CallInst>(instruction)->args())
      operands.push_back(operand.get());
    MaskedAccess access = readMasked(*instruction);
    Predicate predicate{access.bit, false};
    predicate.inverted = PatternMatch::match(access.bit, PatternMatch::m_Not(PatternMatch::m_Value(predicate.bit)));
    access.isLoad ? predicateLoad(access, predicate) : predicateStore(access, predicate);
  }
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(operands);
}
