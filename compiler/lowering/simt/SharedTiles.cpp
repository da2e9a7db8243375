// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory objects of shared memory: where they lie, their views, reads and writes of tiles, and copies by each thread.
#include "compiler/layout/Axes.h"
#include "compiler/lowering/simt/RegisterGroups.h"
#include "compiler/lowering/simt/SharedCode.h"
#include "compiler/lowering/simt/Vectors.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class SharedTiles : public SharedCode {
public:
  using SharedCode::SharedCode;
  void lower(AllocOp op);
  void lower(IndexOp) { view(); }
  void lower(SubsliceOp) { view(); }
  void lower(ViewOp) { view(); }
  void lower(StoreSharedOp op);
  void lower(LoadSharedOp op);
  void lower(AsyncCopyOp op);

private:
  void view();
};
} // namespace

//===-- Memory objects and views ---------------------------------------------------------------------------------===//

void SharedTiles::lower(AllocOp op) {
  if (!op.getStart())
    return refuse("it has no place in shared memory: run place-shared-memory first");
  OpBuilder::InsertionGuard guard(b);
  Value start = sharedStart();
  b.setInsertionPoint(state.prologueEnd);
  auto byte = int64_t(*op.getStart());
  Value pointer = sharedPointer(start, i32(byte));
  state.rings[pointer] = {byte, op.getScratch()};
  made[op.getRing()] = {pointer, i32(0)};
}

void SharedTiles::view() {
  Values memory = of(op->getOperand(0));
  auto from = cast<SharedType>(op->getOperand(0).getType()), to = cast<SharedType>(op->getResult(0).getType());
  Value &offset = memory[1];
  if (auto index = dyn_cast<IndexOp>(op)) {
    Value stage = arith::MulIOp::create(b, scalar(index.getStage()), i32(from.getTileElements()));
    offset = isZero(offset) ? stage : Value(arith::AddIOp::create(b, offset, stage));
  } else if (auto part = dyn_cast<SubsliceOp>(op)) {
    if (int64_t step = part.elementOffset())
      offset = isZero(offset) ? i32(step) : Value(arith::XOrIOp::create(b, offset, i32(step)));
  } else if (int64_t was = from.getElementBytes(), is = to.getElementBytes(); was != is && !isZero(offset)) {
    offset = arith::DivUIOp::create(b, arith::MulIOp::create(b, offset, i32(was)), i32(is));
  }
  made[op->getResult(0)] = memory;
}

//===-- Reads and writes -----------------------------------------------------------------------------------------===//

void SharedTiles::lower(StoreSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  Type element = tile.getElementType();
  const LinearLayout &layout = layoutOf(tile);
  LinearLayout offsets = op.getRing().getType().offsetsOf(layout);
  Memory memory = memoryAt(op.getRing(), op.getStage());
  std::vector<int> together = layout::contiguousRegisterBits(offsets, memory.mostContiguous);
  const Values &values = of(op.getTile());
  auto store = [&](int64_t reg) {
    Values parts;
    for (int64_t member : groupOf(reg, together))
      parts.push_back(toMemory(values[size_t(member)], element));
    storeShared(elementPointer(memory, offsets, reg), parts);
  };
  // Which part an element belongs to registers tell, or the thread as well.
  bool isInParts = offsets.hasOutput(Dim::Register), threadsTell = false;
  for (Dim in : {Dim::Lane, Dim::Warp})
    for (int bit = 0; isInParts && bit < offsets.inputBits(in); ++bit)
      threadsTell |= offsets.basis(in, bit, Dim::Register) != 0;
  auto wanted = int64_t(op.getPart());
  when(isOwner(layout), [&] {
    for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg) {
      if (reg & maskOf(together) || firstCopy(layout, reg) != reg)
        continue;
      if (isInParts && !threadsTell && registerPart(offsets, reg, Dim::Register) != wanted)
        continue;
      Value isWanted;
      if (threadsTell)
        isWanted =
            arith::CmpIOp::create(b, arith::CmpIPredicate::eq, coordinate(offsets, reg, Dim::Register), i32(wanted));
      when(isWanted, [&] { store(reg); });
    }
  });
  // A fence takes long; the one after the next store is for both.
  if (facts.publishes && !isa_and_nonnull<StoreSharedOp>(op->getNextNode()))
    target.publishShared(b);
}

void SharedTiles::lower(LoadSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  Read read = startRead(op);
  bool isInParts = read.offsets.hasOutput(Dim::Register);
  Values &results = made[op.getTile()];
  for (int64_t reg = 0; reg < registersOf(tile); ++reg)
    if (!isInParts || registerPart(read.offsets, reg, Dim::Register) == int64_t(op.getPart()))
      results.push_back(readRegister(read, reg));
    else if (op.getRest())
      results.push_back(of(op.getRest())[size_t(reg)]);
    else
      results.push_back(LLVM::PoisonOp::create(b, threadType(tile.getElementType())));
}

void SharedTiles::lower(AsyncCopyOp op) { // where the target copies by thread; others by warps (DirectCopies.cpp)
  auto tile = cast<RankedTensorType>(op.getPointers().getType());
  const LinearLayout &layout = layoutOf(tile);
  SharedType ring = op.getRing().getType();
  LinearLayout offsets = ring.offsetsOf(layout);
  int64_t elements = int64_t(op.getElements()), elementBytes = ring.getElementType().getIntOrFloatBitWidth() / 8;
  const Values &pointers = of(op.getPointers());
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  Memory memory = memoryAt(op.getRing(), op.getStage());
  when(isOwner(layout), [&] {
    for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); reg += elements) {
      if (firstCopy(layout, reg) != reg)
        continue;
      Value sourceBytes;
      if (!masks.empty())
        sourceBytes = arith::SelectOp::create(b, masks[size_t(reg)], i32(elements * elementBytes), i32(0));
      target.asyncCopy(b, elementPointer(memory, offsets, reg), pointers[size_t(reg)], elements * elementBytes,
                       sourceBytes);
    }
  });
}

void simt::addSharedTiles(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<SharedTiles, AllocOp, IndexOp, SubsliceOp, ViewOp, StoreSharedOp, LoadSharedOp>(patterns, state);
  if (state.target.hasAsyncCopies())
    addFamily<SharedTiles, AsyncCopyOp>(patterns, state);
}
