// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/lowering/simt/SharedMemory.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

Value SharedMemory::base(ImplicitLocOpBuilder &b, LLVM::LLVMFuncOp entry, Operation *prologue) {
  OpBuilder::InsertionGuard guard(b);
  if (!symbol) {
    b.setInsertionPoint(entry);
    symbol = LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
                                    LLVM::Linkage::External, "heddle_shared", Attribute(), alignment, /*addrSpace=*/3);
    b.setInsertionPoint(prologue);
    whole = LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 3), symbol.getSymName());
  }
  return whole;
}

Value SharedMemory::allocate(ImplicitLocOpBuilder &b, LLVM::LLVMFuncOp entry, Operation *prologue, int64_t bytes,
                             bool perWarp) {
  Value from = base(b, entry, prologue);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologue);
  auto start = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Value pointer =
      LLVM::GEPOp::create(b, from.getType(), b.getI8Type(), from, ArrayRef<LLVM::GEPArg>{start.getResult()});
  numbers[pointer] = unsigned(buffers.size());
  buffers.push_back({start, int64_t(llvm::alignTo(uint64_t(bytes), 16)), perWarp, firstByte});
  return pointer;
}

Operation *SharedMemory::meet(ImplicitLocOpBuilder &b) {
  target.barrier(b);
  Operation *meeting = &*std::prev(b.getInsertionPoint());
  while (!target.isBarrier(meeting))
    meeting = meeting->getPrevNode();
  meetings.insert(meeting);
  return meeting;
}

//===-- The flow of a thread's code ------------------------------------------------------------------------------===//

namespace heddle::simt {

class SharedFlowBuilder {
public:
  SharedFlowBuilder(SharedMemory &memory, SharedFlow &flow) : memory(memory), flow(flow) {}
  void visitFunction(LLVM::LLVMFuncOp function);
  std::vector<Operation *> proposed; ///< by their numbers

private:
  void visitBlock(Block &block);
  void visit(Operation &op);
  void visitLoop(ArrayRef<Region *> regions, bool leavesAfterFirst);
  void use(Value pointer, uint8_t kinds);
  static unsigned depthOf(Operation *op);

  SharedMemory &memory;
  SharedFlow &flow;
};

} // namespace heddle::simt

void SharedFlowBuilder::use(Value pointer, uint8_t kinds) {
  for (;;) {
    if (auto found = memory.numbers.find(pointer); found != memory.numbers.end())
      return flow.access(found->second, kinds);
    auto step = pointer.getDefiningOp<LLVM::GEPOp>();
    if (!step)
      return;
    pointer = step.getBase();
  }
}

unsigned SharedFlowBuilder::depthOf(Operation *op) {
  unsigned depth = 0;
  while ((op = op->getParentOp()))
    depth += isa<LoopLikeOpInterface>(op);
  return depth;
}

void SharedFlowBuilder::visit(Operation &op) {
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return use(load.getAddr(), SharedFlow::Read);
  if (auto store = dyn_cast<LLVM::StoreOp>(op))
    return use(store.getAddr(), SharedFlow::Write);
  if (auto update = dyn_cast<LLVM::AtomicRMWOp>(op))
    return use(update.getPtr(), SharedFlow::Update);
  if (memory.meetings.contains(&op)) {
    proposed.push_back(&op);
    return flow.proposeMeeting(depthOf(&op));
  }
  if (memory.target.isBarrier(&op))
    return flow.fixedMeeting();
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    SharedFlow::Ends before = flow.ends;
    visitBlock(*branch.thenBlock());
    SharedFlow::Ends then = std::exchange(flow.ends, before);
    if (branch.elseBlock())
      visitBlock(*branch.elseBlock());
    flow.join(then);
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    visitLoop({&loop.getRegion()}, /*leavesAfterFirst=*/false);
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    visitLoop({&loop.getBefore(), &loop.getAfter()}, /*leavesAfterFirst=*/true);
  }
}

void SharedFlowBuilder::visitLoop(ArrayRef<Region *> regions, bool leavesAfterFirst) {
  unsigned head = flow.place();
  SharedFlow::Ends exits = flow.ends;
  for (auto [number, region] : llvm::enumerate(regions)) {
    visitBlock(region->front());
    if (leavesAfterFirst && number == 0)
      exits = flow.ends;
  }
  flow.link(flow.ends, head);
  flow.ends = exits;
}

void SharedFlowBuilder::visitBlock(Block &block) {
  for (Operation &op : block)
    visit(op);
}

void SharedFlowBuilder::visitFunction(LLVM::LLVMFuncOp function) {
  DenseMap<Block *, unsigned> heads;
  for (Block &block : function.getBody()) {
    flow.ends.clear();
    heads[&block] = flow.place();
  }
  for (Block &block : function.getBody()) {
    flow.ends = {heads[&block]};
    visitBlock(block);
    for (Block *next : block.getSuccessors())
      flow.link(flow.ends, heads[next]);
  }
}

int64_t SharedMemory::finish(LLVM::LLVMFuncOp entry) {
  SharedFlow flow;
  flow.oneWarp = warps == 1;
  for (const Buffer &buffer : buffers)
    flow.buffers.push_back({buffer.bytes, buffer.perWarp, buffer.first});
  SharedFlowBuilder builder(*this, flow);
  builder.visitFunction(entry);
  int64_t largest = target.cheapSharedBytes();
  for (const Buffer &buffer : buffers)
    largest = std::max(largest, buffer.bytes);
  int64_t others = std::max(ownedBytes, firstByte);
  int64_t end = std::max(others, flow.placeBuffers(std::min(others + largest, target.sharedMemoryBytes())));
  for (auto [buffer, place] : llvm::zip(buffers, flow.buffers))
    buffer.start.setValueAttr(IntegerAttr::get(buffer.start.getType(), place.start));
  for (auto [op, meeting] : llvm::zip(builder.proposed, flow.chooseMeetings())) {
    if (meeting == Meeting::Warp)
      target.narrowBarrier(op);
    else if (meeting == Meeting::None)
      target.eraseBarrier(op);
  }
  if (symbol && target.ownsSharedMemory()) {
    symbol.setGlobalType(LLVM::LLVMArrayType::get(IntegerType::get(entry.getContext(), 8), unsigned(end)));
    symbol.setLinkage(LLVM::Linkage::Internal);
  }
  return end;
}
