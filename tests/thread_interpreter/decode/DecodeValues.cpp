// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Types as lists of scalars, constants as bits, and where the module's global variables lie.
#include "tests/thread_interpreter/Machine.h"
#include "tests/thread_interpreter/decode/Decoder.h"
#include <cstring>
#include <llvm/IR/Operator.h>

using namespace heddle::threads;
using namespace llvm;

void Decoder::flatten(Type *type, SmallVectorImpl<Type *> &scalars) {
  if (auto *structure = dyn_cast<StructType>(type)) {
    for (Type *element : structure->elements())
      flatten(element, scalars);
  } else if (auto *array = dyn_cast<ArrayType>(type)) {
    for (uint64_t i = 0; i < array->getNumElements(); ++i)
      flatten(array->getElementType(), scalars);
  } else if (auto *vector = dyn_cast<FixedVectorType>(type)) {
    scalars.append(vector->getNumElements(), vector->getElementType());
  } else if (!type->isVoidTy()) {
    scalars.push_back(type);
  }
}

unsigned Decoder::bits(Type *scalar) {
  unsigned size = scalar->isPointerTy() ? 64 : scalar->getPrimitiveSizeInBits();
  if (!size || size > 64) {
    std::string text;
    raw_string_ostream(text) << *scalar;
    refuse("values of type '" + text + "' are not supported");
  }
  return size;
}

heddle::threads::Scalar Decoder::classOf(Type *scalar) {
  return scalar->isHalfTy()     ? Scalar::F16
         : scalar->isBFloatTy() ? Scalar::BF16
         : scalar->isFloatTy()  ? Scalar::F32
         : scalar->isDoubleTy() ? Scalar::F64
                                : Scalar::Integer;
}

Slots Decoder::newSlots(Type *type) {
  SmallVector<Type *> scalars;
  flatten(type, scalars);
  Slots result;
  for (Type *scalar : scalars) {
    bits(scalar);
    result.push_back(newSlot());
  }
  return result;
}

uint32_t Decoder::constant(uint64_t value) {
  // The keys -1 and -2 are the map's own.
  if (value >= ~uint64_t(1)) {
    for (auto [slot, known] : program->constants)
      if (known == value)
        return slot;
  } else if (auto known = constants.find(value); known != constants.end()) {
    return known->second;
  }
  uint32_t slot = newSlot();
  program->constants.push_back({slot, value});
  if (value < ~uint64_t(1))
    constants[value] = slot;
  return slot;
}

Slots Decoder::slots(const Value *value) {
  if (auto *known = dyn_cast<Constant>(value)) {
    SmallVector<uint64_t> scalars;
    evaluate(known, scalars);
    Slots result;
    for (uint64_t scalar : scalars)
      result.push_back(constant(scalar));
    return result;
  }
  auto found = instance->values.find(value);
  if (found == instance->values.end())
    refuse("a value that is not defined before its use");
  return found->second;
}

void Decoder::evaluate(const Constant *value, SmallVectorImpl<uint64_t> &scalars) {
  Type *type = value->getType();
  if (isa<UndefValue>(value) || value->isNullValue()) { // poison too
    SmallVector<Type *> types;
    flatten(type, types);
    scalars.append(types.size(), 0);
  } else if (auto *integer = dyn_cast<ConstantInt>(value); integer && !type->isVectorTy()) {
    if (integer->getBitWidth() > 64)
      refuse("an integer constant of more than 64 bits");
    scalars.push_back(integer->getZExtValue());
  } else if (auto *number = dyn_cast<ConstantFP>(value); number && !type->isVectorTy()) {
    scalars.push_back(number->getValueAPF().bitcastToAPInt().getZExtValue());
  } else if (isa<ConstantDataSequential, ConstantAggregate, ConstantInt, ConstantFP>(value)) {
    uint64_t count = isa<StructType>(type)  ? type->getStructNumElements()
                     : isa<ArrayType>(type) ? type->getArrayNumElements()
                                            : cast<FixedVectorType>(type)->getNumElements();
    for (uint64_t i = 0; i < count; ++i)
      evaluate(value->getAggregateElement(unsigned(i)), scalars);
  } else {
    scalars.push_back(evaluateExpression(value));
  }
}

uint64_t Decoder::evaluateExpression(const Constant *value) {
  auto operand = [&](unsigned i) {
    SmallVector<uint64_t> scalars;
    evaluate(cast<Constant>(cast<ConstantExpr>(value)->getOperand(i)), scalars);
    return scalars[0];
  };
  if (auto *global = dyn_cast<GlobalVariable>(value); global && globals.contains(global))
    return globals[global];
  auto *expression = dyn_cast<ConstantExpr>(value);
  unsigned opcode = expression ? expression->getOpcode() : 0;
  if (opcode == Instruction::GetElementPtr) {
    APInt offset(64, 0);
    if (cast<GEPOperator>(value)->accumulateConstantOffset(layout, offset))
      return operand(0) + offset.getZExtValue();
  } else if (opcode == Instruction::AddrSpaceCast) {
    auto window = [](unsigned space) { return space == Shared ? sharedWindow : space == Local ? localWindow : 0; };
    return operand(0) + window(expression->getOperand(0)->getType()->getPointerAddressSpace()) -
           window(value->getType()->getPointerAddressSpace());
  } else if (opcode == Instruction::PtrToInt || opcode == Instruction::IntToPtr || opcode == Instruction::Trunc) {
    return operand(0) & mask(value->getType());
  } else if (opcode == Instruction::BitCast && bits(expression->getOperand(0)->getType()) == bits(value->getType())) {
    return operand(0);
  } else if (opcode == Instruction::Add || opcode == Instruction::Sub || opcode == Instruction::Xor) {
    uint64_t a = operand(0), b = operand(1);
    return (opcode == Instruction::Add ? a + b : opcode == Instruction::Sub ? a - b : a ^ b) & mask(value->getType());
  }
  std::string text;
  raw_string_ostream(text) << *value;
  refuse("unknown constant `" + text + "`");
}

void Decoder::leaves(Type *type, uint64_t offset, SmallVectorImpl<std::pair<Type *, uint64_t>> &list) {
  if (auto *structure = dyn_cast<StructType>(type)) {
    const StructLayout *places = layout.getStructLayout(structure);
    for (unsigned i = 0; i < structure->getNumElements(); ++i)
      leaves(structure->getElementType(i), offset + places->getElementOffset(i).getFixedValue(), list);
  } else if (auto *array = dyn_cast<ArrayType>(type)) {
    uint64_t stride = layout.getTypeAllocSize(array->getElementType());
    for (uint64_t i = 0; i < array->getNumElements(); ++i)
      leaves(array->getElementType(), offset + i * stride, list);
  } else {
    list.push_back({type, offset});
  }
}

void Decoder::initialise(uint8_t *bytes, const Constant *value) {
  SmallVector<uint64_t> scalars;
  evaluate(value, scalars);
  SmallVector<std::pair<Type *, uint64_t>> list;
  leaves(value->getType(), 0, list);
  size_t next = 0;
  for (auto [type, offset] : list) {
    SmallVector<Type *> types;
    flatten(type, types);
    for (Type *scalar : types) {
      unsigned size = (bits(scalar) + 7) / 8;
      std::memcpy(bytes + offset, &scalars[next++], size);
      offset += size;
    }
  }
}

void Decoder::placeGlobals() {
  uint64_t shared = 0;
  auto sizeOf = [&](const GlobalVariable &global) {
    return layout.getTypeAllocSize(global.getValueType()).getFixedValue();
  };
  for (const GlobalVariable &global : module.globals()) {
    uint64_t align = layout.getPreferredAlign(&global).value(), size = sizeOf(global);
    if (global.getAddressSpace() == Shared) {
      if (!size)
        continue;
      shared = alignTo(shared, align);
      globals[&global] = shared;
      shared += size;
    } else if (global.hasInitializer()) {
      auto bytes = std::make_unique<uint8_t[]>(size + align);
      globals[&global] = alignTo(reinterpret_cast<uint64_t>(bytes.get()), align);
      program->globalRanges.push_back({globals[&global], size});
      program->globals.push_back(std::move(bytes));
    }
  }
  // Arrays without a size are the dynamic shared memory, which begins after the rest.
  for (const GlobalVariable &global : module.globals())
    if (global.getAddressSpace() == Shared && !sizeOf(global))
      shared = alignTo(shared, std::max<uint64_t>(16, layout.getPreferredAlign(&global).value()));
  program->staticSharedBytes = shared;
  for (const GlobalVariable &global : module.globals())
    if (global.getAddressSpace() == Shared && !sizeOf(global))
      globals[&global] = shared;
  for (const GlobalVariable &global : module.globals())
    if (global.getAddressSpace() != Shared && global.hasInitializer())
      initialise(reinterpret_cast<uint8_t *>(globals[&global]), global.getInitializer());
}
