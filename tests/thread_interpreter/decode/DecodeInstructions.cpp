// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One LLVM instruction to operations on scalars, or to new names for scalars.
#include "tests/thread_interpreter/Machine.h"
#include "tests/thread_interpreter/decode/Decoder.h"
#include <llvm/IR/GetElementPtrTypeIterator.h>

using namespace heddle::threads;
using namespace llvm;

static StringRef nameOf(heddle::threads::Scalar scalar) {
  static constexpr StringRef names[] = {"int", "f16", "bf16", "f32", "f64"};
  return names[size_t(scalar)];
}

static Order orderOf(AtomicOrdering ordering) {
  switch (ordering) {
  case AtomicOrdering::NotAtomic:
    return Order::Plain;
  case AtomicOrdering::Unordered:
  case AtomicOrdering::Monotonic:
    return Order::Relaxed;
  case AtomicOrdering::Acquire:
    return Order::Acquire;
  case AtomicOrdering::Release:
    return Order::Release;
  default:
    return Order::AcquireRelease;
  }
}

// Volatile accesses are strong, and of the system: that is how PTX takes them.
static void setOrder(Op &op, const Instruction &instruction) {
  AtomicOrdering ordering = AtomicOrdering::NotAtomic;
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    ordering = load->getOrdering();
  else if (auto *store = dyn_cast<StoreInst>(&instruction))
    ordering = store->getOrdering();
  else if (auto *fence = dyn_cast<FenceInst>(&instruction))
    ordering = fence->getOrdering();
  else if (auto *update = dyn_cast<AtomicRMWInst>(&instruction))
    ordering = update->getOrdering();
  else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    ordering = exchange->getMergedOrdering();
  op.order = orderOf(ordering);
  if (op.order == Order::Plain && instruction.isVolatile())
    op.order = Order::Relaxed;
  if (auto scope = getAtomicSyncScopeID(&instruction)) {
    StringRef name = instruction.getContext().getSyncScopeName(*scope).value_or("");
    op.scope = name == "block" ? Scope::Block : name == "device" || name == "cluster" ? Scope::Device : Scope::System;
  }
}

// Operands of one scalar serve all elements.
void Decoder::emitElementwise(StringRef name, const Instruction &instruction, unsigned operands, Scalar scalar) {
  SmallVector<Type *> results, sources;
  flatten(instruction.getType(), results);
  if (operands)
    flatten(instruction.getOperand(0)->getType(), sources);
  Slots out = newSlots(instruction.getType());
  // with.overflow has all values first, then all flags
  size_t elements = operands ? std::max<size_t>(1, slots(instruction.getOperand(operands - 1)).size()) : out.size();
  for (unsigned i = 0; i < operands; ++i)
    elements = std::max<size_t>(elements, slots(instruction.getOperand(i)).size());
  for (size_t element = 0; element < elements; ++element) {
    Slots in, outs;
    for (unsigned i = 0; i < operands; ++i) {
      Slots values = slots(instruction.getOperand(i));
      in.push_back(values[values.size() == 1 ? 0 : element]);
    }
    for (size_t result = element; result < out.size(); result += elements)
      outs.push_back(out[result]);
    Op &op = emit(name, scalar, in, outs).op;
    op.width = bits(sources.empty() ? results[0] : sources[0]);
    op.mask = mask(results[0]);
    op.immediate = name.starts_with("llvm.s"); // of with.overflow
  }
  instance->values[&instruction] = out;
}

void Decoder::emitInstruction(const Instruction &instruction) {
  SmallVector<Type *> scalars;
  Type *first = instruction.getNumOperands() ? instruction.getOperand(0)->getType() : nullptr;
  if (first)
    flatten(first, scalars);
  Scalar scalar = scalars.empty() ? Scalar::Integer : classOf(scalars[0]);

  if (instruction.isBinaryOp() || instruction.isUnaryOp())
    return emitElementwise(instruction.getOpcodeName(), instruction, instruction.getNumOperands(), scalar);
  if (auto *compare = dyn_cast<CmpInst>(&instruction))
    return emitElementwise((isa<ICmpInst>(compare) ? "icmp." : "fcmp.") +
                               CmpInst::getPredicateName(compare->getPredicate()).str(),
                           instruction, 2, scalar);
  if (auto *cast = dyn_cast<CastInst>(&instruction))
    return emitCast(*cast);
  switch (instruction.getOpcode()) {
  case Instruction::Select: {
    if (instruction.getType()->isAggregateType())
      refuse("select of aggregates is not supported");
    return emitElementwise("select", instruction, 3, Scalar::Integer);
  }
  case Instruction::Freeze:
    instance->values[&instruction] = slots(instruction.getOperand(0));
    return;
  case Instruction::GetElementPtr:
    return emitAddress(cast<GetElementPtrInst>(instruction));
  case Instruction::ExtractElement:
  case Instruction::InsertElement:
  case Instruction::ShuffleVector:
    return emitVector(instruction);
  case Instruction::ExtractValue:
  case Instruction::InsertValue:
    return emitAggregate(instruction);
  case Instruction::Load: {
    auto &load = cast<LoadInst>(instruction);
    instance->values[&load] = newSlots(load.getType());
    return emitAccess(load, *load.getPointerOperand(), load.getType(), load.getAlign());
  }
  case Instruction::Store: {
    auto &store = cast<StoreInst>(instruction);
    return emitAccess(store, *store.getPointerOperand(), store.getValueOperand()->getType(), store.getAlign());
  }
  case Instruction::AtomicRMW:
  case Instruction::AtomicCmpXchg:
    return emitAtomic(instruction);
  case Instruction::Fence:
    setOrder(emit("fence", Scalar::Integer, {}, {}).op, instruction);
    return;
  case Instruction::Alloca:
    return emitAlloca(cast<AllocaInst>(instruction));
  case Instruction::Call:
    return emitCall(cast<CallInst>(instruction));
  default:
    refuse("this instruction is not supported");
  }
}

void Decoder::emitCast(const CastInst &cast) {
  Value *operand = cast.getOperand(0);
  SmallVector<Type *> from, to;
  flatten(operand->getType(), from);
  flatten(cast.getType(), to);
  switch (cast.getOpcode()) {
  case Instruction::ZExt: // registers hold zeros above a value
  case Instruction::IntToPtr:
    instance->values[&cast] = slots(operand);
    return;
  case Instruction::PtrToInt:
  case Instruction::PtrToAddr:
    if (bits(to[0]) == 64)
      instance->values[&cast] = slots(operand);
    else
      emitElementwise("trunc", cast, 1, Scalar::Integer);
    return;
  case Instruction::BitCast:
    return emitBitCast(cast);
  case Instruction::FPTrunc:
  case Instruction::FPExt:
    return emitElementwise(("convert." + nameOf(classOf(from[0])) + "." + nameOf(classOf(to[0]))).str(), cast, 1,
                           Scalar::Integer);
  case Instruction::SIToFP:
  case Instruction::UIToFP:
    return emitElementwise(cast.getOpcodeName(), cast, 1, classOf(to[0]));
  case Instruction::AddrSpaceCast: {
    Slots in = slots(operand), out = newSlots(cast.getType());
    Op &op = emit("address.cast", Scalar::Integer, in, out).op;
    op.space = operand->getType()->getPointerAddressSpace();
    op.second = cast.getType()->getPointerAddressSpace();
    instance->values[&cast] = out;
    return;
  }
  default:
    return emitElementwise(cast.getOpcodeName(), cast, 1, classOf(from[0]));
  }
}

void Decoder::emitBitCast(const CastInst &cast) {
  SmallVector<Type *> from, to;
  flatten(cast.getOperand(0)->getType(), from);
  flatten(cast.getType(), to);
  Slots in = slots(cast.getOperand(0));
  unsigned fromBits = bits(from[0]), toBits = bits(to[0]);
  if (fromBits == toBits) {
    instance->values[&cast] = in;
    return;
  }
  Slots out = newSlots(cast.getType());
  unsigned group = std::max(fromBits, toBits) / std::min(fromBits, toBits);
  if (std::max(fromBits, toBits) % std::min(fromBits, toBits))
    refuse("this bitcast is not supported");
  for (size_t i = 0; i < std::min(in.size(), out.size()); ++i) {
    bool packs = fromBits < toBits;
    auto part = [&](const Slots &slots, bool whole) {
      ArrayRef<uint32_t> piece = whole ? ArrayRef(slots).slice(i * group, group) : ArrayRef(slots).slice(i, 1);
      return Slots(piece.begin(), piece.end());
    };
    emit(packs ? "bits.pack" : "bits.unpack", Scalar::Integer, part(in, packs), part(out, !packs)).op.immediate =
        std::min(fromBits, toBits);
  }
  instance->values[&cast] = out;
}

void Decoder::emitAddress(const GetElementPtrInst &address) {
  if (address.getType()->isVectorTy())
    refuse("vectors of addresses are not supported");
  int64_t offset = 0;
  SmallVector<std::pair<const Value *, int64_t>> scaled;
  for (auto step = gep_type_begin(address), end = gep_type_end(address); step != end; ++step) {
    const Value *index = step.getOperand();
    if (StructType *structure = step.getStructTypeOrNull()) {
      offset += layout.getStructLayout(structure)->getElementOffset(cast<ConstantInt>(index)->getZExtValue());
      continue;
    }
    int64_t stride = step.getSequentialElementStride(layout);
    if (auto *known = dyn_cast<ConstantInt>(index))
      offset += known->getSExtValue() * stride;
    else
      scaled.push_back({index, stride});
  }
  uint32_t base = slots(address.getPointerOperand())[0];
  for (auto [index, stride] : scaled) {
    uint32_t result = newSlot();
    Op &op = emit("address.index", Scalar::Integer, {base, slots(index)[0]}, {result}).op;
    op.width = bits(index->getType());
    op.immediate = stride;
    op.second = std::exchange(offset, 0);
    base = result;
  }
  if (offset) {
    uint32_t result = newSlot();
    emit("address.offset", Scalar::Integer, {base}, {result}).op.immediate = offset;
    base = result;
  }
  instance->values[&address] = {base};
}

void Decoder::emitVector(const Instruction &instruction) {
  Slots elements = slots(instruction.getOperand(0)), &result = instance->values[&instruction];
  if (auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction)) {
    Slots both = elements;
    both.append(slots(shuffle->getOperand(1)));
    Slots chosen;
    for (int index : shuffle->getShuffleMask())
      chosen.push_back(index < 0 ? constant(0) : both[index]);
    instance->values[&instruction] = chosen;
    return;
  }
  bool inserts = isa<InsertElementInst>(instruction);
  const Value *index = instruction.getOperand(inserts ? 2 : 1);
  if (auto *known = dyn_cast<ConstantInt>(index); known && known->getZExtValue() < elements.size()) {
    if (inserts)
      elements[known->getZExtValue()] = slots(instruction.getOperand(1))[0];
    else
      elements = {elements[known->getZExtValue()]};
    result = elements;
    return;
  }
  if (inserts)
    elements.push_back(slots(instruction.getOperand(1))[0]);
  elements.push_back(slots(index)[0]);
  Slots out = newSlots(instruction.getType());
  emit(inserts ? "element.insert" : "element.extract", Scalar::Integer, elements, out);
  instance->values[&instruction] = out;
}

void Decoder::emitAggregate(const Instruction &instruction) {
  auto *insert = dyn_cast<InsertValueInst>(&instruction);
  ArrayRef<unsigned> indices = insert ? insert->getIndices() : cast<ExtractValueInst>(instruction).getIndices();
  Type *type = instruction.getOperand(0)->getType();
  size_t begin = 0;
  SmallVector<Type *> scalars;
  for (unsigned index : indices) {
    scalars.clear();
    for (unsigned i = 0; i < index; ++i)
      flatten(ExtractValueInst::getIndexedType(type, i), scalars);
    begin += scalars.size();
    type = ExtractValueInst::getIndexedType(type, index);
  }
  scalars.clear();
  flatten(type, scalars);
  Slots whole = slots(instruction.getOperand(0));
  if (insert) {
    llvm::copy(slots(insert->getInsertedValueOperand()), whole.begin() + begin);
    instance->values[&instruction] = whole;
  } else {
    instance->values[&instruction] = Slots(whole.begin() + begin, whole.begin() + begin + scalars.size());
  }
}

// A vector is one access; the parts of an aggregate are one each.
void Decoder::emitAccess(const Instruction &instruction, const Value &address, Type *type, Align align) {
  bool stores = isa<StoreInst>(instruction);
  Slots values = stores ? slots(instruction.getOperand(0)) : slots(&instruction);
  SmallVector<std::pair<Type *, uint64_t>> parts;
  leaves(type, 0, parts);
  size_t next = 0;
  for (auto [part, offset] : parts) {
    SmallVector<Type *> scalars;
    flatten(part, scalars);
    unsigned size = bits(scalars[0]);
    if (size % 8 && (size != 1 || part->isVectorTy()))
      refuse("a memory access of elements that are not whole bytes");
    Slots elements(values.begin() + next, values.begin() + next + scalars.size()), in = slots(&address);
    next += scalars.size();
    if (stores)
      in.append(elements);
    Op &op = emit(stores ? "store" : "load", Scalar::Integer, in, stores ? Slots() : elements).op;
    op.elementSize = (size + 7) / 8;
    op.mask = mask(scalars[0]);
    op.space = address.getType()->getPointerAddressSpace();
    op.immediate = offset;
    op.alignment = commonAlignment(align, offset).value();
    op.atomic = instruction.isAtomic();
    setOrder(op, instruction);
  }
}

// load: pointer, mask, what is read elsewhere; store: value, pointer, mask. All elements have one mask.
void Decoder::emitMasked(const CallInst &call) {
  bool stores = call.getType()->isVoidTy();
  const Value *address = call.getArgOperand(stores ? 1 : 0), *value = call.getArgOperand(stores ? 0 : 2);
  Slots masks = slots(call.getArgOperand(stores ? 2 : 1)), in = slots(address), out = newSlots(call.getType());
  if (!llvm::all_equal(masks))
    refuse("a masked access whose elements have several masks");
  in.push_back(masks[0]);
  in.append(slots(value));
  Type *element = value->getType()->getScalarType();
  Op &op = emit(stores ? "store.masked" : "load.masked", Scalar::Integer, in, out).op;
  op.elementSize = bits(element) / 8;
  op.mask = mask(element);
  op.space = address->getType()->getPointerAddressSpace();
  op.alignment = call.getParamAlign(stores ? 1 : 0).valueOrOne().value();
  instance->values[&call] = out;
}

void Decoder::emitAtomic(const Instruction &instruction) {
  std::string name = "cmpxchg";
  if (auto *update = dyn_cast<AtomicRMWInst>(&instruction))
    name = "atomicrmw." + AtomicRMWInst::getOperationName(update->getOperation()).str();
  const Value &address = *instruction.getOperand(0);
  SmallVector<Type *> scalars;
  flatten(instruction.getOperand(1)->getType(), scalars);
  Slots in = slots(&address), out = newSlots(instruction.getType());
  for (unsigned i = 1; i < instruction.getNumOperands(); ++i)
    in.append(slots(instruction.getOperand(i)));
  Op &op = emit(name, classOf(scalars[0]), in, out).op;
  op.width = bits(scalars[0]);
  op.mask = mask(scalars[0]);
  op.elementSize = op.width / 8;
  op.space = address.getType()->getPointerAddressSpace();
  op.alignment = op.elementSize * scalars.size();
  op.atomic = true;
  setOrder(op, instruction);
  instance->values[&instruction] = out;
}

void Decoder::emitAlloca(const AllocaInst &alloca) {
  std::optional<TypeSize> size = alloca.getAllocationSize(layout);
  if (!size)
    refuse("an alloca of variable size");
  program->localBytes = alignTo(program->localBytes, alloca.getAlign());
  uint64_t window = alloca.getAddressSpace() == Local ? 0 : localWindow;
  instance->values[&alloca] = {constant(window + program->localBytes)};
  program->localBytes += size->getFixedValue();
}
