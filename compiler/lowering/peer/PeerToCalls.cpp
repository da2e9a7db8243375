// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-peer-to-calls: the first stage. An operation on a tile is a call on tiles; scalars beside a tile are splat.
#include "compiler/lowering/peer/ExternCalls.h"
#include "compiler/lowering/peer/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace heddle {
#define GEN_PASS_DEF_PEERTOCALLSPASS
#include "compiler/lowering/peer/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::peer;
using heddle::triton::ExternElementwiseOp;
using heddle::triton::SplatOp;

namespace {

/// Replaces `op` by the call; tiles among `operands` have the shape of `result`, scalars are broadcast to it.
void replaceByCall(Operation *op, const ExternCall &call, Type result, ValueRange operands) {
  OpBuilder b(op);
  SmallVector<Value> arguments;
  auto tile = dyn_cast<RankedTensorType>(result);
  for (Value operand : operands)
    arguments.push_back(tile && !isa<RankedTensorType>(operand.getType())
                            ? SplatOp::create(b, op->getLoc(), tile.clone(operand.getType()), operand)
                            : operand);
  auto replacement = ExternElementwiseOp::create(b, op->getLoc(), result, arguments, /*libname=*/"", /*libpath=*/"",
                                                 externCallName(call),
                                                 /*pure=*/call.kind == ExternCall::Kind::ThreadId);
  if (op->getNumResults())
    op->replaceAllUsesWith(replacement);
  op->erase();
}

unsigned widthOf(Value pointer) {
  return heddle::triton::elementBits(heddle::triton::valueTypeOf(pointer.getType()));
}

void lower(AtomicWriteOp op) {
  ExternCall call{ExternCall::Kind::Write, widthOf(op.getPtr()), op.getSem(), op.getScope()};
  call.masked = bool(op.getMask());
  SmallVector<Value> operands{op.getPtr(), op.getValue()};
  if (op.getMask())
    operands.push_back(op.getMask());
  replaceByCall(op, call, heddle::triton::valueTypeOf(op.getPtr().getType()), operands);
}

void lower(AtomicSpinWaitOp op) {
  ExternCall call{ExternCall::Kind::SpinWait, widthOf(op.getPtr()), op.getSem(), op.getScope(), op.getComparator()};
  call.masked = bool(op.getMask());
  SmallVector<Value> operands{op.getPtr(), op.getExpected(), op.getDeadline(), op.getGroup()};
  if (op.getMask())
    operands.push_back(op.getMask());
  replaceByCall(op, call, op.getType(), operands);
}

void lower(ThreadIdOp op) {
  replaceByCall(op, {ExternCall::Kind::ThreadId}, op.getType(), {});
}

void lower(ClockOp op) {
  replaceByCall(op, {ExternCall::Kind::Clock}, op.getType(), {});
}

void lower(HoldOp op) {
  replaceByCall(op, {ExternCall::Kind::Hold}, op.getType(), op.getValue());
}

void lower(ReleaseFenceOp op) {
  replaceByCall(op, {ExternCall::Kind::ReleaseFence}, IntegerType::get(op.getContext(), 32), {});
}

struct PeerToCallsPass : heddle::impl::PeerToCallsPassBase<PeerToCallsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    getOperation()->walk([&](Operation *op) {
      if (isa_and_nonnull<PeerDialect>(op->getDialect()))
        work.push_back(op);
    });
    for (Operation *op : work)
      llvm::TypeSwitch<Operation *>(op)
          .Case<AtomicWriteOp, AtomicSpinWaitOp, ThreadIdOp, ClockOp, HoldOp, ReleaseFenceOp>(
              [](auto known) { lower(known); })
          .Default([&](Operation *other) {
            other->emitOpError("must be expanded first, by 'heddle-expand-peer'");
            signalPassFailure();
          });
  }
};

} // namespace
