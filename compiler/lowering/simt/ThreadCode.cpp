// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What all families share: values, types, and which thread does what.
#include "compiler/lowering/simt/ThreadCode.h"
#include "compiler/lowering/peer/ExternCalls.h"
#include "compiler/lowering/simt/Exchanges.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

GpuTarget::~GpuTarget() = default;

//===-- Values ---------------------------------------------------------------------------------------------------===//

SmallVector<Type> ThreadCode::threadTypes(TypeRange types) {
  SmallVector<Type> result;
  for (Type type : types)
    if (isa<SharedType>(type))
      result.append({LLVM::LLVMPointerType::get(b.getContext(), 3), b.getI32Type()});
    else
      result.append(size_t(registersOf(type)), threadType(elementTypeOf(type)));
  return result;
}

// What has been replaced left a cast, from what a thread has to the type of the source; of what has not been replaced
// yet, as in a copy of a region, the reverse cast stands until it is.
const ThreadCode::Values &ThreadCode::of(Value value) {
  auto [found, isNew] = known.try_emplace(value.getAsOpaquePointer());
  Values &registers = found->second;
  if (!isNew)
    return registers;
  SmallVector<Type> types = threadTypes(value.getType());
  if (types.size() == 1 && types.front() == value.getType()) {
    registers = {value};
    return registers;
  }
  auto cast = value.getDefiningOp<UnrealizedConversionCastOp>();
  if (cast && TypeRange(cast.getInputs()) == TypeRange(types)) {
    registers = llvm::to_vector(cast.getInputs());
    return registers;
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(value);
  registers = Values(UnrealizedConversionCastOp::create(b, types, value).getResults());
  return registers;
}

Value ThreadCode::stand(Type type, ValueRange registers) {
  if (registers.size() == 1 && registers.front().getType() == type)
    return registers.front();
  return UnrealizedConversionCastOp::create(b, type, registers).getResult(0);
}

ThreadCode::Values ThreadCode::all(ValueRange values) {
  Values result;
  for (Value value : values)
    llvm::append_range(result, of(value));
  return result;
}

void ThreadCode::bind(ValueRange results, ValueRange registers) {
  for (Value result : results) {
    size_t count = threadTypes(result.getType()).size();
    made[result] = llvm::to_vector(registers.take_front(count));
    registers = registers.drop_front(count);
  }
}

void ThreadCode::finish(ConversionPatternRewriter &rewriter) {
  // The rewriter would make the same casts, but look for a place after all registers first, and number the whole block
  // for that.
  SmallVector<Value> results;
  for (Value result : op->getResults()) {
    Values &registers = made[result];
    if (registers.empty()) // refused
      for (Type type : threadTypes(result.getType()))
        registers.push_back(LLVM::PoisonOp::create(b, type));
    results.push_back(stand(result.getType(), registers));
  }
  facts.toLower.erase(op);
  rewriter.replaceOp(op, results);
  for (Operation *each : unused)
    rewriter.eraseOp(each);
}

void ThreadCode::refuse(const llvm::Twine &why) {
  if (std::exchange(state.failed, true))
    return;
  std::string text = why.str();
  op->emitOpError() << "cannot be compiled" << (text.empty() ? " for GPUs" : ": " + text);
}

bool ThreadCode::refuseIfDivergent() {
  if (divergent)
    refuse("it stands in a branch that not all threads take");
  return divergent;
}

void ThreadCode::refuseWithout(StringRef pass) {
  if (!refuseIfDivergent())
    refuse("it takes an exchange among threads: run " + pass + " first");
}

void ThreadCode::moveBody(Block &from, Block &to, ValueRange arguments) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&to);
  for (BlockArgument argument : from.getArguments()) {
    size_t count = threadTypes(argument.getType()).size();
    argument.replaceAllUsesWith(stand(argument.getType(), arguments.take_front(count)));
    arguments = arguments.drop_front(count);
  }
  to.getOperations().splice(to.end(), from.getOperations());
}

ThreadCode::Values ThreadCode::runRegion(Region &region, ValueRange arguments, Value isNeeded) {
  IRMapping copies;
  for (auto [argument, value] : llvm::zip(region.getArguments(), arguments))
    copies.map(argument, stand(argument.getType(), value));
  Value isSpare = isNeeded ? inverted(isNeeded) : Value();
  for (Operation &inner : region.front().without_terminator()) {
    Operation *copy = b.clone(inner, copies);
    facts.takeOver(&inner, copy, divergent);
    if (isSpare)
      copy->walk([&](AssertOp assertion) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(assertion);
        assertion.getConditionMutable().assign(arith::OrIOp::create(b, assertion.getCondition(), isSpare));
      });
  }
  Values results;
  for (Value result : region.front().getTerminator()->getOperands())
    results.push_back(scalar(copies.lookupOrDefault(result)));
  return results;
}

//===-- Types and constants --------------------------------------------------------------------------------------===//

Type ThreadCode::threadType(Type element) {
  if (isa<PointerType>(element))
    return LLVM::LLVMPointerType::get(b.getContext(), 1);
  if (isa<TensorMapType>(element))
    return LLVM::LLVMPointerType::get(b.getContext());
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
    return b.getI8Type();
  return element;
}

Type ThreadCode::memoryType(Type element) {
  if (isa<PointerType, LLVM::LLVMPointerType>(element))
    return b.getI64Type();
  unsigned bits = element.getIntOrFloatBitWidth();
  return b.getIntegerType(std::max(bits, 8u));
}

Value ThreadCode::toMemory(Value value, Type element) {
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, b.getI8Type(), value);
  return as(memoryType(element), value);
}

Value ThreadCode::fromMemory(Value value, Type element) {
  if (element.isInteger(1))
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, constantOf(b.getI8Type(), 0));
  return as(threadType(element), value);
}

Value ThreadCode::as(Type type, Value value) {
  if (value.getType() == type)
    return value;
  if (isa<LLVM::LLVMPointerType>(type))
    return LLVM::IntToPtrOp::create(b, type, value);
  if (isa<LLVM::LLVMPointerType>(value.getType()))
    return LLVM::PtrToIntOp::create(b, type, value);
  return LLVM::BitcastOp::create(b, type, value);
}

Value ThreadCode::i32(int64_t value) {
  return arith::ConstantIntOp::create(b, value, 32);
}

Value ThreadCode::i64(int64_t value) {
  return arith::ConstantIntOp::create(b, value, 64);
}

Value ThreadCode::constantOf(Type type, int64_t value) {
  if (auto real = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(b, b.getFloatAttr(real, double(value)));
  return arith::ConstantOp::create(b, IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), uint64_t(value),
                                                                   /*isSigned=*/true, /*implicitTrunc=*/true)));
}

Value ThreadCode::zeroOf(Type type) {
  return isa<LLVM::LLVMPointerType>(type) ? Value(LLVM::ZeroOp::create(b, type)) : constantOf(type, 0);
}

Value ThreadCode::inverted(Value bit) {
  return arith::XOrIOp::create(b, bit, constantOf(b.getI1Type(), 1));
}

Value ThreadCode::both(Value x, Value y) {
  return !x ? y : !y ? x : Value(arith::AndIOp::create(b, x, y));
}

//===-- Who does what --------------------------------------------------------------------------------------------===//

// What comes right after a branch under the same bit goes on in it.
bool ThreadCode::continueBranch(Value bit, llvm::function_ref<void()> body) {
  Block *block = b.getInsertionBlock();
  auto at = b.getInsertionPoint();
  while (at != block->begin() && isa<UnrealizedConversionCastOp>(*std::prev(at)))
    --at;
  auto last = at == block->begin() ? scf::IfOp() : dyn_cast<scf::IfOp>(*std::prev(at));
  if (!last || last.getCondition() != bit || facts.toLower.contains(last))
    return false;
  OpBuilder::InsertionGuard guard(b);
  Operation *end = last.thenBlock()->getTerminator(), *before = end->getPrevNode();
  b.setInsertionPoint(end);
  body();
  for (Operation *each = before ? before->getNextNode() : &last.thenBlock()->front(); each != end;
       each = each->getNextNode())
    each->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (auto result = dyn_cast<OpResult>(operand.get()); result && result.getOwner() == last)
          operand.set(end->getOperand(result.getResultNumber()));
    });
  return true;
}

void ThreadCode::when(Value bit, llvm::function_ref<void()> body) {
  if (!bit)
    return body();
  if (continueBranch(bit, body))
    return;
  auto branch = scf::IfOp::create(b, TypeRange(), bit, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}

ThreadCode::Values ThreadCode::when(Value bit, ArrayRef<Type> types, llvm::function_ref<Values()> body,
                                    ValueRange otherwise) {
  if (!bit)
    return body();
  auto branch = scf::IfOp::create(b, types, bit, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, body());
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, otherwise);
  return branch.getResults();
}

ThreadCode::Values ThreadCode::inOwner(TypeRange scalars, llvm::function_ref<Values()> body) {
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

ThreadCode::Values ThreadCode::once(Type tile, Type result, llvm::function_ref<Values(int64_t)> body,
                                    const Values &masks, int64_t together) {
  bool isTile = isa<RankedTensorType>(tile);
  LinearLayout layout = isTile ? layoutOf(tile) : LinearLayout();
  Value owner = isOwner(layout);
  SmallVector<Type> types(size_t(together), threadType(result));
  Values results, nothing(size_t(together), zeroOf(types.front()));
  for (int64_t reg = 0; reg < registersOf(tile); reg += together) {
    if (int64_t copy = isTile ? firstCopy(layout, reg) : reg; copy != reg) {
      for (int64_t i = 0; i < together; ++i)
        results.push_back(results[size_t(copy + i)]);
      continue;
    }
    Value bit = both(owner, masks.empty() ? Value() : masks[size_t(reg)]);
    llvm::append_range(results, when(bit, types, [&] { return body(reg); }, nothing));
  }
  return results;
}

bool ThreadCode::isMissingExchange(Type accessed) {
  if (divergent || !block().copies(accessed) || isForExchange(op))
    return false;
  refuseWithout("lower-exchanges");
  return true;
}

Value ThreadCode::callExtern(StringRef symbol, Type result, ValueRange operands) {
  auto module = state.entry->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
  if (!function) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(state.entry);
    auto type = LLVM::LLVMFunctionType::get(result, llvm::to_vector(operands.getTypes()));
    function = LLVM::LLVMFuncOp::create(b, symbol, type);
  }
  return LLVM::CallOp::create(b, function, operands).getResult();
}

Value ThreadCode::clock() {
  return callExtern(peer::externCallName({peer::ExternCall::Kind::Clock}), b.getI64Type(), {});
}
