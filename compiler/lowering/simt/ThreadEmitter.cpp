// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame of a thread's code: entry and arguments, blocks, control flow. Tiles that cross blocks or iterations are
// carried as their registers.
#include "compiler/lowering/simt/ThreadEmitter.h"
#include "compiler/lowering/peer/ExternCalls.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

GpuTarget::~GpuTarget() = default;

ThreadEmitter::ThreadEmitter(FuncOp source, const GpuTarget &target, const ThreadOptions &options, ThreadKernel &kernel)
    : source(source), target(target), options(options), kernel(kernel), b(source.getLoc(), source.getContext()),
      order(source, block()), uniformity(source) {}

LogicalResult ThreadEmitter::run() {
  createEntry();
  if (auto waits = source.getBody().front().getOps<GridDependencyWaitOp>(); waits.empty())
    kernel.dependentLaunch = target.waitForLaunchBefore(b);
  if (mlir::failed(findMemory()))
    return failure();
  source.walk([&](DotSharedOp) { publishes = true; });
  source.walk([&](AssertOp) { mayFail = true; });
  source.walk(
      [&](Operation *op) { copiesDirectly |= isa<AsyncCopyOp, AsyncBufferCopyOp>(op) && !target.hasAsyncCopies(); });
  emitBody();
  if (failed)
    return failure();
  sizeShared();
  kernel.sites = std::move(sites.sites);
  prologueEnd->erase();
  source.erase();
  return success();
}

LogicalResult ThreadEmitter::refuse(Operation *op, const llvm::Twine &why) {
  failed = true;
  auto error = op->emitOpError() << "is not lowered for GPU targets";
  if (std::string text = why.str(); !text.empty())
    error << ": " << text;
  return failure();
}

//===-- Entry ----------------------------------------------------------------------------------------------------===//

void ThreadEmitter::createEntry() {
  b.setInsertionPoint(source);
  // Scalars of fewer than 32 bits come as words; the last argument is the launch's record (binary/LaunchRecord.h).
  SmallVector<Type> types;
  for (Type type : source.getArgumentTypes()) {
    Type own = threadType(type);
    bool isNarrow = own.isIntOrFloat() && own.getIntOrFloatBitWidth() < 32;
    types.push_back(isNarrow ? Type(b.getI32Type()) : own);
  }
  types.push_back(b.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types);
  kernel.kernel = source.getName().str();
  kernel.entry = kernel.kernel;
  kernel.threads = int64_t(options.warps) * target.lanesPerWarp();
  // The kernel keeps its name: the source function gives way.
  SymbolTable::setSymbolName(source, kernel.kernel + ".tile");
  entry = LLVM::LLVMFuncOp::create(b, kernel.entry, type);
  auto residentBlocks = source->getAttrOfType<IntegerAttr>(residentBlocksAttribute);
  target.markKernel(entry, kernel.threads, residentBlocks ? residentBlocks.getInt() : 1);
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  for (auto [from, to] : llvm::zip(source.getArguments(), block->getArguments())) {
    Value value = to;
    Type own = threadType(from.getType());
    if (own != value.getType())
      value = as(own, arith::TruncIOp::create(b, b.getIntegerType(own.getIntOrFloatBitWidth()), value));
    emitted[from] = {value};
  }
  thread = target.threadId(b);
  int lanes = target.lanesPerWarp();
  lane = arith::AndIOp::create(b, thread, i32(lanes - 1));
  warp = arith::ShRUIOp::create(b, thread, i32(llvm::Log2_32(uint32_t(lanes))));
  prologueEnd = arith::ConstantIntOp::create(b, 0, 1);
}

//===-- Values ---------------------------------------------------------------------------------------------------===//

const ThreadEmitter::Values &ThreadEmitter::of(Value value) {
  auto found = emitted.find(value);
  if (found == emitted.end())
    llvm::report_fatal_error("simt: a value is used before it has been emitted");
  return found->second;
}

ThreadEmitter::Values ThreadEmitter::all(ValueRange values) {
  Values result;
  for (Value value : values)
    llvm::append_range(result, of(value));
  return result;
}

void ThreadEmitter::bind(ValueRange values, ValueRange registers) {
  for (Value value : values) {
    auto count = size_t(registersOf(value.getType()));
    emitted[value] = llvm::to_vector(registers.take_front(count));
    registers = registers.drop_front(count);
  }
}

SmallVector<Type> ThreadEmitter::threadTypes(TypeRange types) {
  SmallVector<Type> result;
  for (Type type : types)
    if (isa<SharedType>(type))
      result.append({LLVM::LLVMPointerType::get(b.getContext(), 3), b.getI32Type()});
    else
      result.append(size_t(registersOf(type)), threadType(elementTypeOf(type)));
  return result;
}

//===-- Blocks ---------------------------------------------------------------------------------------------------===//

void ThreadEmitter::emitBody() {
  Region &body = source.getBody();
  for (Block &block : llvm::drop_begin(body)) {
    Block *to = b.createBlock(&entry.getBody(), entry.getBody().end());
    blocks[&block] = to;
    SmallVector<Type> types = threadTypes(block.getArgumentTypes());
    to->addArguments(types, SmallVector<Location>(types.size(), source.getLoc()));
    bind(block.getArguments(), to->getArguments());
  }
  for (Block &block : body) {
    b.setInsertionPointToEnd(&block == &body.front() ? &entry.getBody().front() : blocks[&block]);
    emitBlock(block);
    if (failed)
      return;
    emitBranch(block.getTerminator());
  }
}

void ThreadEmitter::emitBlock(Block &block) {
  bool outer = std::exchange(divergent, divergent || uniformity.isDivergent(&block));
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    emitOp(&op);
    if (failed)
      return;
  }
  divergent = outer;
  b.setLoc(block.getTerminator()->getLoc());
}

void ThreadEmitter::emitOp(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](scf::ForOp loop) { emitFor(loop); })
      .Case([&](scf::IfOp branch) { emitIf(branch); })
      .Case([&](scf::WhileOp loop) { emitWhile(loop); })
      .Case([&](GlobalLoadOp load) { emitLoad(load); })
      .Case([&](GlobalStoreOp store) { emitStore(store); })
      .Case<GlobalUpdateOp, AtomicCASOp, AtomicLoadOp>([&](auto atomic) { emitAtomic(atomic); })
      .Case([&](AtomicStoreOp store) { emitAtomicStore(store); })
      .Case([&](AtomicPollOp poll) { emitPoll(poll); })
      .Case([&](ExternElementwiseOp call) { emitExternCall(call); })
      .Case([&](ElementwiseInlineAsmOp assembly) { emitAssembly(assembly); })
      .Case([&](ReduceOp reduce) { emitReduce(reduce); })
      .Case([&](ScanOp scan) { emitScan(scan); })
      .Case([&](ReduceWarpsOp reduce) { emitReduceWarps(reduce); })
      .Case([&](ScanWarpsOp scan) { emitScanWarps(scan); })
      .Case([&](JoinScanOp scan) { emitJoinScan(scan); })
      .Case<HistogramOp, GatherOp, triton::PrintOp>([&](auto) { needsPass(op, "lower-exchanges"); })
      .Case([&](ConvertLayoutOp convert) { emitConvert(convert); })
      .Case([&](AllocOp alloc) { emitAlloc(alloc); })
      .Case<IndexOp, SubsliceOp, ViewOp>([&](auto view) { emitView(view); })
      .Case([&](BufferLoadOp load) { emitBufferLoad(load); })
      .Case([&](BufferStoreOp store) { emitBufferStore(store); })
      .Case([&](MatrixDotOp dot) { emitDot(dot); })
      .Case([&](StoreSharedOp store) { emitStoreShared(store); })
      .Case([&](LoadSharedOp load) { emitLoadShared(load); })
      .Case([&](GatherSharedOp gather) { emitGatherShared(gather); })
      .Case([&](ScatterSharedOp scatter) { emitScatterShared(scatter); })
      .Case([&](UpdateSharedOp update) { emitUpdateShared(update); })
      .Case([&](ConcatOp concat) { emitConcat(concat); })
      .Case([&](WarpIdOp id) { emitted[id.getResult()] = {warp}; })
      .Case([&](AsyncCopyOp copy) { target.hasAsyncCopies() ? emitAsyncCopy(copy) : emitDirectCopy(copy); })
      .Case([&](AsyncBufferCopyOp copy) { emitBufferCopy(copy); })
      .Case([&](AsyncCommitOp) { target.asyncCommit(b); })
      .Case([&](AsyncWaitOp wait) { emitAsyncWait(wait); })
      .Case([&](DotSharedOp dot) { emitDotShared(dot); })
      .Case([&](DotScratchOp dot) { emitDotScratch(dot); })
      .Case([&](DotWaitOp wait) { emitDotWait(wait); })
      .Case([&](BarrierOp barrier) {
        if (barrier.getWarp())
          target.warpBarrier(b);
        else if (barrier.getShared() && copiesDirectly && !divergent)
          target.sharedBarrier(b);
        else
          emitBarrier(op);
      })
      .Case([&](GetProgramIdOp id) { emitted[id.getResult()] = {target.programId(b, int(id.getAxis()))}; })
      .Case(
          [&](GetNumProgramsOp count) { emitted[count.getResult()] = {target.programCount(b, int(count.getAxis()))}; })
      .Case([&](gpu::BarrierOp) { emitBarrier(op); })
      .Case([&](GridDependencyWaitOp wait) {
        // In a branch or loop it may not be reached: then the kernel has waited at its start.
        if (wait->getBlock() == &source.getBody().front())
          kernel.dependentLaunch = target.waitForLaunchBefore(b);
      })
      .Case<LLVM::AssumeOp, GridDependencyLaunchDependentsOp>([](auto) {})
      .Case([&](AssertOp assertion) { emitAssert(assertion); })
      .Case([&](PrintRoomOp room) { emitPrintRoom(room); })
      .Case([&](simt::PrintOp print) { emitPrint(print); })
      .Case<SplatOp, UnsplatOp, ExpandDimsOp, BroadcastOp, ReshapeOp, TransOp, JoinOp, SplitOp, CatOp, MakeRangeOp,
            ExtractSliceOp, arith::ConstantOp>([&](auto shape) {
        Values results = emitShape(shape);
        bind(shape->getResults(), results);
      })
      .Default([&](Operation *other) {
        if (other->getName().getStringRef() == "ttg.barrier")
          return emitBarrier(other);
        if (other->getNumResults() == 0) {
          (void)refuse(other, "");
          return;
        }
        Values results = emitElementwise(other);
        if (!failed)
          bind(other->getResults(), results);
      });
}

void ThreadEmitter::emitBarrier(Operation *op) {
  if (divergent)
    return (void)refuse(op, "it stands in a branch or loop that not all threads take alike");
  target.barrier(b);
}

void ThreadEmitter::emitAsyncWait(AsyncWaitOp op) {
  if (target.hasAsyncCopies())
    target.asyncWait(b, int64_t(op.getPending()));
  else
    target.waitForCopies(b, int64_t(op.getInstructions().value_or(0)));
  if (publishes)
    target.publishShared(b);
}

bool ThreadEmitter::needsPass(Operation *op, StringRef pass) {
  (void)refuse(op, divergent ? "it stands in a branch that not all threads take"
                             : "it takes an exchange among threads: run " + pass + " first");
  return true;
}

//===-- Control flow ---------------------------------------------------------------------------------------------===//

void ThreadEmitter::emitFor(scf::ForOp loop) {
  auto to = scf::ForOp::create(b, scalar(loop.getLowerBound()), scalar(loop.getUpperBound()), scalar(loop.getStep()),
                               all(loop.getInitArgs()));
  if (loop.getUnsignedCmp())
    to.setUnsignedCmp(true);
  emitted[loop.getInductionVar()] = {to.getInductionVar()};
  bind(loop.getRegionIterArgs(), to.getRegionIterArgs());
  {
    OpBuilder::InsertionGuard guard(b);
    if (to.getInitArgs().empty())
      b.setInsertionPoint(to.getBody()->getTerminator());
    else
      b.setInsertionPointToEnd(to.getBody());
    emitBlock(*loop.getBody());
    if (failed)
      return;
    if (!to.getInitArgs().empty())
      scf::YieldOp::create(b, all(loop.getYieldedValues()));
  }
  bind(loop.getResults(), to.getResults());
}

void ThreadEmitter::emitIf(scf::IfOp branch) {
  SmallVector<Type> types = threadTypes(branch.getResultTypes());
  bool hasElse = !branch.getElseRegion().empty();
  auto to = scf::IfOp::create(b, types, scalar(branch.getCondition()), hasElse);
  auto emitSide = [&](Region &from, Block *block) {
    OpBuilder::InsertionGuard guard(b);
    if (!block->empty() && block->back().hasTrait<mlir::OpTrait::IsTerminator>())
      b.setInsertionPoint(block->getTerminator());
    else
      b.setInsertionPointToEnd(block);
    emitBlock(from.front());
    if (!failed && !types.empty())
      scf::YieldOp::create(b, all(from.front().getTerminator()->getOperands()));
  };
  emitSide(branch.getThenRegion(), to.thenBlock());
  if (hasElse && !failed)
    emitSide(branch.getElseRegion(), to.elseBlock());
  if (!failed)
    bind(branch.getResults(), to.getResults());
}

void ThreadEmitter::emitWhile(scf::WhileOp loop) {
  SmallVector<Type> types = threadTypes(loop.getResultTypes());
  auto to = scf::WhileOp::create(b, types, all(loop.getInits()), nullptr, nullptr);
  auto emitSide = [&](Region &from, Region &region, ValueRange arguments) {
    OpBuilder::InsertionGuard guard(b);
    region.getBlocks().clear();
    SmallVector<Type> inner = threadTypes(TypeRange(arguments));
    Block *block = b.createBlock(&region, {}, inner, SmallVector<Location>(inner.size(), b.getLoc()));
    bind(arguments, block->getArguments());
    if (mayFail && !divergent && !uniformity.isDivergent(&from.front()) &&
        &from == &loop.getAfter()) // it may wait for a program that is gone
      endProgramIf(someProgramFailed(), [] {});
    emitBlock(from.front());
    if (failed)
      return;
    Operation *end = from.front().getTerminator();
    if (auto condition = dyn_cast<scf::ConditionOp>(end))
      scf::ConditionOp::create(b, scalar(condition.getCondition()), all(condition.getArgs()));
    else
      scf::YieldOp::create(b, all(end->getOperands()));
  };
  emitSide(loop.getBefore(), to.getBefore(), loop.getBeforeArguments());
  if (!failed)
    emitSide(loop.getAfter(), to.getAfter(), loop.getAfterArguments());
  if (!failed)
    bind(loop.getResults(), to.getResults());
}

void ThreadEmitter::emitBranch(Operation *op) {
  if (isa<ReturnOp>(op)) {
    LLVM::ReturnOp::create(b, ValueRange{});
  } else if (auto branch = dyn_cast<cf::BranchOp>(op)) {
    cf::BranchOp::create(b, blocks[branch.getDest()], all(branch.getDestOperands()));
  } else if (auto branch = dyn_cast<cf::CondBranchOp>(op)) {
    cf::CondBranchOp::create(b, scalar(branch.getCondition()), blocks[branch.getTrueDest()],
                             all(branch.getTrueDestOperands()), blocks[branch.getFalseDest()],
                             all(branch.getFalseDestOperands()));
  } else {
    (void)refuse(op, "");
  }
}
