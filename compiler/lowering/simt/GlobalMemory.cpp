// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Global memory. Neighbouring registers that are neighbours in memory travel in one access of up to 16 bytes. A load
// that its mask forbids reads zeros from a place of ours, so that loads need no branch. Effects are in Atomics.cpp,
// waits in Polls.cpp.
#include "compiler/lowering/peer/ExternCalls.h"
#include "compiler/lowering/peer/ZeroMemory.h"
#include "compiler/lowering/simt/ThreadEmitter.h"
#include "compiler/lowering/simt/Vectors.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

Type ThreadEmitter::memoryType(Type element) {
  if (isa<PointerType, LLVM::LLVMPointerType>(element))
    return b.getI64Type();
  unsigned bits = element.getIntOrFloatBitWidth();
  return b.getIntegerType(std::max(bits, 8u));
}

Value ThreadEmitter::toMemory(Value value, Type element) {
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, b.getI8Type(), value);
  return as(memoryType(element), value);
}

Value ThreadEmitter::fromMemory(Value value, Type element) {
  if (element.isInteger(1))
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, constantOf(b.getI8Type(), 0));
  return as(threadType(element), value);
}

Value ThreadEmitter::both(Value x, Value y) {
  return !x ? y : !y ? x : Value(arith::AndIOp::create(b, x, y));
}

// What comes right after a branch under the same bit goes on in it.
bool ThreadEmitter::continueBranch(Value bit, llvm::function_ref<Values()> body) {
  Block *block = b.getInsertionBlock();
  auto at = b.getInsertionPoint();
  auto last = at == block->begin() ? scf::IfOp() : dyn_cast<scf::IfOp>(*std::prev(at));
  if (!last || last.getCondition() != bit)
    return false;
  OpBuilder::InsertionGuard guard(b);
  Operation *end = last.thenBlock()->getTerminator(), *before = end->getPrevNode();
  b.setInsertionPoint(end);
  body();
  for (Operation *op = before ? before->getNextNode() : &last.thenBlock()->front(); op != end; op = op->getNextNode())
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (auto result = dyn_cast<OpResult>(operand.get()); result && result.getOwner() == last)
          operand.set(end->getOperand(result.getResultNumber()));
    });
  return true;
}

ThreadEmitter::Values ThreadEmitter::when(Value bit, ArrayRef<Type> types, llvm::function_ref<Values()> body,
                                          ValueRange otherwise) {
  if (!bit)
    return body();
  if (types.empty() && continueBranch(bit, body))
    return {};
  auto branch = scf::IfOp::create(b, types, bit, !types.empty());
  OpBuilder::InsertionGuard guard(b);
  if (types.empty())
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
  else
    b.setInsertionPointToEnd(branch.thenBlock());
  Values results = body();
  if (types.empty())
    return {};
  scf::YieldOp::create(b, results);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, otherwise);
  return branch.getResults();
}

ThreadEmitter::Values ThreadEmitter::inOwner(TypeRange scalars, llvm::function_ref<Values()> body) {
  SmallVector<Type> types = threadTypes(scalars);
  Values nothing;
  for (Type type : types)
    nothing.push_back(LLVM::PoisonOp::create(b, type));
  auto inBranch = [&] {
    target.stayInBranch(b);
    return body();
  };
  Values results = when(isOwner(LinearLayout()), types, inBranch, nothing);
  for (Value &value : results) // other threads may compute with it, and divide by it
    value = LLVM::FreezeOp::create(b, value);
  return results;
}

Value ThreadEmitter::zeroMemory() {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), 1);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  if (!zerosAddress)
    zerosAddress = LLVM::AddressOfOp::create(b, pointer, peer::zeroMemory(entry).getSymName());
  return zerosAddress;
}

ThreadEmitter::Values ThreadEmitter::loadRegisters(GlobalLoadOp op, bool atomically) {
  Type element = elementTypeOf(op.getType()), stored = memoryType(element);
  int64_t bits = stored.getIntOrFloatBitWidth(), width = int64_t(op.getElements());
  const Values &pointers = of(op.getPointer());
  Values masks = op.getMask() ? of(op.getMask()) : Values(), others = op.getOther() ? of(op.getOther()) : Values();
  bool isTile = isa<RankedTensorType>(op.getType());
  Values results(pointers.size());
  for (size_t first = 0; first < pointers.size(); first += size_t(width)) {
    if (auto copy = isTile ? size_t(firstCopy(layoutOf(op.getType()), int64_t(first))) : first; copy != first) {
      for (size_t i = 0; i < size_t(width); ++i)
        results[first + i] = results[copy + i];
      continue;
    }
    Value pointer = pointers[first], mask = masks.empty() ? Value() : masks[first];
    bool always = !mask || matchPattern(mask, m_One());
    if (!always)
      pointer = arith::SelectOp::create(b, mask, pointer, zeroMemory());
    int64_t total = bits * width;
    Type whole = total > 64   ? Type(VectorType::get(total / 32, b.getI32Type()))
                 : total > 32 ? Type(width > 1 ? Type(VectorType::get(2, b.getI32Type())) : b.getI64Type())
                              : Type(b.getIntegerType(unsigned(total)));
    auto loaded = LLVM::LoadOp::create(b, whole, pointer, unsigned(total / 8), op.getIsVolatile(),
                                       /*isNonTemporal=*/false, /*isInvariant=*/op.getIsInvariant());
    if (atomically && width == 1 && !op.getIsVolatile()) { // what others write by atomics at the same time
      loaded.setOrdering(LLVM::AtomicOrdering::monotonic);
      loaded.setSyncscope(target.deviceScope());
    }
    Values pieces;
    if (width == 1) {
      pieces = {loaded.getResult()};
    } else {
      Value vector = LLVM::BitcastOp::create(b, VectorType::get(width, stored), loaded);
      for (int64_t i = 0; i < width; ++i)
        pieces.push_back(LLVM::ExtractElementOp::create(b, vector, i32(i)));
    }
    for (auto [i, piece] : llvm::enumerate(pieces)) {
      Value value = fromMemory(piece, element);
      if (!always && !others.empty() && !isZero(others[first + i]))
        value = arith::SelectOp::create(b, masks[first + i], value, others[first + i]);
      results[first + i] = value;
    }
  }
  return results;
}

void ThreadEmitter::emitLoad(GlobalLoadOp op) {
  bool agree = !divergent && order.mustAgree(op);
  bool isByOwner = order.isLoadedByOwner(op);
  if (agree && !isByOwner && isMissingExchange(op, op.getPointer().getType()))
    return;
  emitted[op.getResult()] =
      isByOwner ? inOwner(op.getType(), [&] { return loadRegisters(op, agree); }) : loadRegisters(op, agree);
}

void ThreadEmitter::emitStore(GlobalStoreOp op) {
  Type element = elementTypeOf(op.getValue().getType()), stored = memoryType(element);
  int64_t bits = stored.getIntOrFloatBitWidth(), width = int64_t(op.getElements());
  const Values &pointers = of(op.getPointer()), &values = of(op.getValue());
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  bool isTile = isa<RankedTensorType>(op.getPointer().getType());
  LinearLayout layout = isTile ? layoutOf(op.getPointer().getType()) : LinearLayout();
  Value owner = isOwner(layout);
  auto store = [&](size_t first) {
    Value whole;
    if (width == 1) {
      whole = toMemory(values[first], element);
    } else {
      Type vector = VectorType::get(width, stored);
      whole = LLVM::PoisonOp::create(b, vector);
      for (int64_t i = 0; i < width; ++i)
        whole = LLVM::InsertElementOp::create(b, whole, toMemory(values[first + size_t(i)], element), i32(i));
      int64_t total = bits * width;
      Type carrier =
          total > 32 ? Type(VectorType::get(total / 32, b.getI32Type())) : Type(b.getIntegerType(unsigned(total)));
      whole = LLVM::BitcastOp::create(b, carrier, whole);
    }
    LLVM::StoreOp::create(b, whole, pointers[first], unsigned(bits * width / 8));
  };
  SmallVector<size_t> firsts;
  for (size_t first = 0; first < pointers.size(); first += size_t(width))
    if (!isTile || size_t(firstCopy(layout, int64_t(first))) == first)
      firsts.push_back(first);
  auto maskOf = [&](size_t first) {
    return masks.empty() || matchPattern(masks[first], m_One()) ? Value() : masks[first];
  };
  // Neighbours under one mask share its branch.
  for (ArrayRef<size_t> rest = firsts; !rest.empty();) {
    Value mask = maskOf(rest.front());
    ArrayRef<size_t> run = rest.take_while([&](size_t first) { return maskOf(first) == mask; });
    when(both(owner, mask), {},
         [&]() -> Values {
           llvm::for_each(run, store);
           return {};
         },
         {});
    rest = rest.drop_front(run.size());
  }
}

Value ThreadEmitter::callExtern(StringRef symbol, Type result, ValueRange operands) {
  auto module = entry->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
  if (!function) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(entry);
    auto type = LLVM::LLVMFunctionType::get(result, llvm::to_vector(operands.getTypes()));
    function = LLVM::LLVMFuncOp::create(b, symbol, type);
  }
  return LLVM::CallOp::create(b, function, operands).getResult();
}

// Writes are done once; waits by everybody, because each thread has to know what it waited for before it goes on.
void ThreadEmitter::emitExternCall(ExternElementwiseOp op) {
  if (!peer::isExternCallName(op.getSymbol()))
    return (void)refuse(op, "'" + op.getSymbol() + "' is a function of a vendor's device library");
  Type result = threadType(elementTypeOf(op.getType()));
  auto call = [&](int64_t reg) -> Value {
    Values operands;
    for (Value source : op.getSrcs()) {
      const Values &values = of(source);
      operands.push_back(values[values.size() == 1 ? 0 : size_t(reg)]);
    }
    return callExtern(op.getSymbol(), result, operands);
  };
  bool isWrite = op.getSymbol().contains("_atomicwrite_");
  if (isWrite) {
    emitted[op.getResult()] =
        once(op.getType(), elementTypeOf(op.getType()), [&](int64_t reg) -> Values { return {call(reg)}; }, {});
    return;
  }
  Values results;
  for (int64_t reg = 0; reg < registersOf(op.getType()); ++reg)
    results.push_back(call(reg));
  emitted[op.getResult()] = results;
}
