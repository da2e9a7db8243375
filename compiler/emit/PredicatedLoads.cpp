// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/emit/PredicatedLoads.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include <optional>

using namespace llvm;

namespace {

/// How a type travels: `parts` registers of one type, each of which holds `bits` of memory.
struct Carrier {
  unsigned parts, bits;
  Type *part;
  const char *letter; ///< the registers' constraint
};

struct MaskedLoad {
  LoadInst *load;
  Value *bit, *pointer;
  bool inverted; ///< it reads where the bit is not set
};

} // namespace

static std::optional<Carrier> carrierOf(Type *type, const DataLayout &layout) {
  auto size = unsigned(layout.getTypeStoreSizeInBits(type).getFixedValue());
  LLVMContext &context = type->getContext();
  auto *word = Type::getInt32Ty(context), *half = Type::getInt16Ty(context);
  if (layout.getTypeSizeInBits(type).getFixedValue() != size)
    return std::nullopt;
  switch (size) {
  case 8:
  case 16:
    return Carrier{1, size, half, "h"};
  case 32:
    return Carrier{1, 32, word, "r"};
  case 64:
    if (!type->isVectorTy())
      return Carrier{1, 64, Type::getInt64Ty(context), "l"};
    [[fallthrough]];
  case 128:
    if (type->isVectorTy())
      return Carrier{size / 32, 32, word, "r"};
    [[fallthrough]];
  default:
    return std::nullopt;
  }
}

static std::optional<MaskedLoad> maskedLoad(LoadInst *load, const GlobalVariable *zeros) {
  auto *choice = dyn_cast<SelectInst>(load->getPointerOperand());
  if (!choice || !load->isSimple())
    return std::nullopt;
  if (choice->getFalseValue() == zeros)
    return MaskedLoad{load, choice->getCondition(), choice->getTrueValue(), false};
  if (choice->getTrueValue() == zeros)
    return MaskedLoad{load, choice->getCondition(), choice->getFalseValue(), true};
  return std::nullopt;
}

// `%x = load ...; %y = select bit, %x, %other` with the load's own bit: %y, if nobody else reads %x and %other is there
// already.
static SelectInst *otherwiseOf(const MaskedLoad &masked) {
  if (!masked.load->hasOneUse())
    return nullptr;
  auto *choice = dyn_cast<SelectInst>(masked.load->user_back());
  if (!choice || choice->getCondition() != masked.bit || choice->getType() != masked.load->getType())
    return nullptr;
  Value *read = masked.inverted ? choice->getFalseValue() : choice->getTrueValue();
  Value *other = masked.inverted ? choice->getTrueValue() : choice->getFalseValue();
  return read == masked.load && isa<Constant>(other) ? choice : nullptr;
}

static std::string textOf(const Carrier &carrier, bool inverted) {
  std::string list;
  for (unsigned i = 0; i < carrier.parts; ++i)
    list += (i ? ", $" : "$") + std::to_string(i);
  if (carrier.parts > 1)
    list = "{" + list + "}";
  // The registers count as operands a second time, behind the address and the bit.
  std::string vector = carrier.parts > 1 ? ".v" + std::to_string(carrier.parts) : "";
  return std::string(inverted ? "@!$" : "@$") + std::to_string(carrier.parts + 1) + " ld.global" + vector + ".b" +
         std::to_string(carrier.bits) + " " + list + ", [$" + std::to_string(carrier.parts) + "];";
}

static std::string constraintsOf(const Carrier &carrier) {
  std::string text;
  for (unsigned i = 0; i < carrier.parts; ++i)
    text += std::string("=") + carrier.letter + ",";
  text += "l,b";
  for (unsigned i = 0; i < carrier.parts; ++i)
    text += "," + std::to_string(i);
  return text;
}

/// The integer of as many bits as the scalar `value`, in a register.
static Value *toPart(IRBuilder<> &b, Value *value, const Carrier &carrier) {
  Type *type = value->getType();
  if (type->isPointerTy())
    return b.CreatePtrToInt(value, carrier.part);
  return b.CreateZExt(b.CreateBitCast(value, b.getIntNTy(carrier.bits)), carrier.part);
}

static Value *fromParts(IRBuilder<> &b, Value *loaded, const Carrier &carrier, Type *type) {
  if (carrier.parts > 1) {
    Value *words = PoisonValue::get(FixedVectorType::get(carrier.part, carrier.parts));
    for (unsigned i = 0; i < carrier.parts; ++i)
      words = b.CreateInsertElement(words, b.CreateExtractValue(loaded, i), i);
    return b.CreateBitCast(words, type);
  }
  if (type->isPointerTy())
    return b.CreateIntToPtr(loaded, type);
  return b.CreateBitCast(b.CreateTrunc(loaded, b.getIntNTy(carrier.bits)), type);
}

static void rewrite(const MaskedLoad &masked, const Carrier &carrier) {
  IRBuilder<> b(masked.load);
  SelectInst *choice = carrier.parts == 1 ? otherwiseOf(masked) : nullptr;
  Value *other = Constant::getNullValue(carrier.part);
  if (choice)
    other = toPart(b, masked.inverted ? choice->getTrueValue() : choice->getFalseValue(), carrier);
  SmallVector<Value *> operands = {masked.pointer, masked.bit};
  operands.append(carrier.parts, other);
  Type *result = carrier.part;
  if (carrier.parts > 1)
    result = StructType::get(b.getContext(), SmallVector<Type *>(carrier.parts, carrier.part));
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  auto *assembly = InlineAsm::get(FunctionType::get(result, types, false), textOf(carrier, masked.inverted),
                                  constraintsOf(carrier), /*hasSideEffects=*/true);
  Value *loaded = fromParts(b, b.CreateCall(assembly, operands), carrier, masked.load->getType());
  auto *pointerChoice = cast<Instruction>(masked.load->getPointerOperand());
  Instruction *replaced = choice ? static_cast<Instruction *>(choice) : masked.load;
  replaced->replaceAllUsesWith(loaded);
  if (choice)
    choice->eraseFromParent();
  masked.load->eraseFromParent();
  if (pointerChoice->use_empty())
    pointerChoice->eraseFromParent();
}

void heddle::predicateLoads(Module &module) {
  GlobalVariable *zeros = module.getGlobalVariable("heddle_zeros", /*AllowInternal=*/true);
  if (!zeros)
    return;
  SmallVector<MaskedLoad> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *load = dyn_cast<LoadInst>(&instruction))
        if (std::optional<MaskedLoad> masked = maskedLoad(load, zeros))
          found.push_back(*masked);
  for (const MaskedLoad &masked : found)
    if (std::optional<Carrier> carrier = carrierOf(masked.load->getType(), module.getDataLayout()))
      rewrite(masked, *carrier);
  if (zeros->use_empty())
    zeros->eraseFromParent();
}
