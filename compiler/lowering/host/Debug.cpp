// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel tells the driver: tt.print, tt.assert, bounds checks and "am I asked to stop", through HostLaunch's
// hooks.
#include "binary/HostAbi.h"
#include "compiler/lowering/host/HostEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::host;
using namespace heddle::triton;

// Calls the function pointer at `offset` of HostLaunch with the program in front.
void HostEmitter::callHook(int64_t offset, ArrayRef<Value> arguments) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value slot = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), launch, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  Value hook = LLVM::LoadOp::create(b, loc, pointer, slot);
  SmallVector<Value> operands{hook, program};
  operands.append(arguments.begin(), arguments.end());
  SmallVector<Type> types;
  for (Value operand : ArrayRef<Value>(operands).drop_front())
    types.push_back(operand.getType());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types);
  LLVM::CallOp::create(b, loc, type, operands);
}

void HostEmitter::emitStopCheck(Operation *op, bool spin) {
  if (spin) {
    auto module = entry->getParentOfType<ModuleOp>();
    auto yield = module.lookupSymbol<LLVM::LLVMFuncOp>("sched_yield");
    if (!yield) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(entry);
      yield = LLVM::LLVMFuncOp::create(b, loc, "sched_yield", LLVM::LLVMFunctionType::get(b.getI32Type(), {}));
    }
    LLVM::CallOp::create(b, loc, yield, ValueRange{});
  }
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value slot = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), launch,
                                   ArrayRef<LLVM::GEPArg>{int32_t(offsetof(HostLaunch, abort))});
  Value flag = LLVM::LoadOp::create(b, loc, pointer, slot);
  Value asked = LLVM::LoadOp::create(b, loc, b.getI32Type(), flag, 4, false, false, false, false,
                                     LLVM::AtomicOrdering::monotonic);
  Value stop = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, asked, constantLike(b.getI32Type(), 0, asked));
  auto branch = scf::IfOp::create(b, loc, stop, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  callHook(offsetof(HostLaunch, stopped), {constantLike(b.getI32Type(), sites.of(op), asked)});
}

void HostEmitter::checkAccess(Operation *op, const Access &access, int64_t sizeBytes) {
  Value addresses = toLanes(access.address), elements = toLanes(access.element);
  Value active = access.mask ? toLanes(*access.mask) : constantLike(b.getI1Type(), -1, addresses);
  bool vector = isa<VectorType>(addresses.getType());
  if (!isa<VectorType>(active.getType()))
    vector = false;
  Value addressMemory = vector ? spill(addresses) : Value(), elementMemory = vector ? spill(elements) : Value();
  forActiveLanes(active, [&](Value lane) {
    Value address = vector ? spilledLane(addressMemory, b.getI64Type(), lane) : addresses;
    Value element = vector ? spilledLane(elementMemory, b.getI64Type(), lane) : elements;
    Value number = constantLike(b.getI32Type(), sites.of(op), lane),
          size = constantLike(b.getI32Type(), sizeBytes, lane);
    callHook(offsetof(HostLaunch, checkAccess), {number, address, size, element});
  });
}

void HostEmitter::emitPrint(PrintOp op) {
  auto number = [&](int64_t value) -> Value { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); };
  Value here = number(sites.of(op));
  if (op.getArgs().empty())
    return callHook(offsetof(HostLaunch, print),
                    {here, number(-1), LLVM::ZeroOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()))});
  for (auto [operand, value] : llvm::enumerate(op.getArgs())) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    TileBuffer buffer = allocate(tile ? tile : RankedTensorType::get({}, value.getType()));
    if (tile) {
      fill(value, buffer);
    } else {
      PieceScope scope(*this, 1);
      writeBuffer(buffer, {}, LaneValue::uniform(scalar(value)));
    }
    callHook(offsetof(HostLaunch, print), {here, number(operand), buffer.pointer});
  }
}

void HostEmitter::emitAssert(AssertOp op) {
  auto fail = [&](Value condition, Value element) {
    Value wrong = arith::XOrIOp::create(b, loc, condition, constantLike(b.getI1Type(), -1, condition));
    auto branch = scf::IfOp::create(b, loc, wrong, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    callHook(offsetof(HostLaunch, assertFailed),
             {arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(sites.of(op))), element});
  };
  auto tile = dyn_cast<RankedTensorType>(op.getCondition().getType());
  if (!tile)
    return fail(scalar(op.getCondition()), i64(0));
  LaneMap lanes = chooseLanes(tile.getShape(), plan.preferredDim(op.getCondition()), maxLanes());
  iterate(tile.getShape(), lanes, [&](TileIndex index) {
    Value condition = toLanes(evaluate(op.getCondition(), index));
    Index linear = linearIndex(tile.getShape(), index);
    Value elements = toLanes({linear.base, linear.lanes, {}, {}});
    if (!isa<VectorType>(condition.getType()))
      return fail(condition, elements);
    // The common case is one test for all lanes; only a failing piece looks for its first false element.
    Value wrong =
        arith::XOrIOp::create(b, loc, allTrue(condition), arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
    auto branch = scf::IfOp::create(b, loc, wrong, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    Value failed = arith::XOrIOp::create(b, loc, condition, constantLike(b.getI1Type(), -1, condition));
    Value memory = spill(elements);
    forActiveLanes(failed, [&](Value lane) {
      callHook(offsetof(HostLaunch, assertFailed),
               {arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(sites.of(op))),
                spilledLane(memory, b.getI64Type(), lane)});
    });
  });
}
