// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes an access of this level of one of the tile level, with the registers that one instruction takes.
#include "compiler/lowering/simt/Accesses.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

AccessWidth simt::singleElements(Type pointer) {
  auto tile = dyn_cast<RankedTensorType>(pointer);
  return {tile ? int(tile.getRank()) - 1 : 0, 1};
}

/// Registers that one instruction takes.
static uint64_t registersOfAccess(Type pointer, AccessWidth width) {
  auto tile = dyn_cast<RankedTensorType>(pointer);
  if (!tile)
    return 1;
  Type pointee = cast<triton::PointerType>(tile.getElementType()).getPointeeType();
  return uint64_t(contiguousRegisters(layoutOf(tile), width, 128 / memoryBits(pointee)));
}

Operation *simt::replaceAccess(Operation *op, AccessWidth width) {
  OpBuilder b(op);
  Operation *made =
      llvm::TypeSwitch<Operation *, Operation *>(op)
          .Case([&](triton::LoadOp load) -> Operation * {
            auto result = GlobalLoadOp::create(b, op->getLoc(), load.getType(), load.getPtr(), load.getMask(),
                                               load.getMask() ? load.getOther() : Value(),
                                               registersOfAccess(load.getPtr().getType(), width), uint64_t(width.axis),
                                               load.cacheModifier(), load.evictionPolicy());
            result.setIsVolatile(load.isVolatileAccess());
            result.setIsInvariant(load->hasAttr("peer.invariant"));
            return result;
          })
          .Case([&](triton::StoreOp store) -> Operation * {
            return GlobalStoreOp::create(b, op->getLoc(), store.getPtr(), store.getValue(), store.getMask(),
                                         registersOfAccess(store.getPtr().getType(), width), uint64_t(width.axis),
                                         store.cacheModifier(), store.evictionPolicy());
          })
          .Case([&](triton::AtomicRMWOp update) -> Operation * {
            Type result = update->use_empty() ? Type() : update.getType();
            return GlobalUpdateOp::create(b, op->getLoc(), result, update.getAtomicRmwOp(), update.getPtr(),
                                          update.getVal(), update.getMask(), update.getSem(), update.getScope(),
                                          registersOfAccess(update.getPtr().getType(), width), uint64_t(width.axis));
          })
          .Case([&](triton::AtomicCASOp swap) -> Operation * {
            Type result = swap->use_empty() ? Type() : swap.getType();
            return GlobalSwapOp::create(b, op->getLoc(), result, swap.getPtr(), swap.getCmp(), swap.getVal(), Value(),
                                        swap.getSem(), swap.getScope());
          })
          .Case([&](triton::AtomicLoadOp load) -> Operation * {
            return GlobalAtomicLoadOp::create(b, op->getLoc(), load.getType(), load.getPtr(), load.getMask(),
                                              load.getSem(), load.getScope());
          })
          .Case([&](triton::AtomicStoreOp store) -> Operation * {
            return GlobalAtomicStoreOp::create(b, op->getLoc(), store.getPtr(), store.getValue(), store.getMask(),
                                               store.getSem(), store.getScope());
          })
          .Case([&](triton::AtomicPollOp poll) -> Operation * {
            Type result = poll->use_empty() ? Type() : poll.getType();
            return GlobalWaitOp::create(b, op->getLoc(), result, poll.getPtr(), poll.getExpected(), poll.getTimeout(),
                                        poll.getSem(), poll.getScope());
          })
          .Default([](Operation *) { return nullptr; });
  if (!made)
    return nullptr;
  if (made->getNumResults())
    op->getResult(0).replaceAllUsesWith(made->getResult(0));
  op->erase();
  return made;
}
