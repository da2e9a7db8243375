// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel's frame: entry and arguments, blocks, and control flow. Scalars become SSA values; tiles that live across
// blocks or iterations are buffers, written where the source yields them.
#include "compiler/lowering/host/HostEmitter.h"
#include "binary/HostAbi.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::host;
using namespace heddle::triton;

HostEmitter::HostEmitter(FuncOp source, const LoweringOptions &options, LoweredKernel &kernel)
    : source(source), options(options), kernel(kernel), plan(source), b(source.getContext()), loc(source.getLoc()) {}

LogicalResult HostEmitter::run() {
  createEntry();
  bindArguments();
  emitFunctionBody();
  kernel.sites = std::move(sites.sites);
  source.erase();
  return success();
}

void HostEmitter::createEntry() {
  b.setInsertionPoint(source);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, pointer});
  kernel.kernel = source.getName().str();
  kernel.entry = "heddle_entry";
  entry = LLVM::LLVMFuncOp::create(b, loc, kernel.entry, type);
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  program = block->getArgument(0);
  auto field = [&](Value base, int64_t offset) -> Value {
    return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  };
  launch = LLVM::LoadOp::create(b, loc, pointer, program);
  scratchBase = LLVM::LoadOp::create(b, loc, pointer, field(program, offsetof(HostProgram, scratch)));
}

void HostEmitter::bindArguments() {
  Value slots = entry.getBody().getArgument(1);
  for (auto [number, argument] : llvm::enumerate(source.getArguments())) {
    Type type = argument.getType();
    Value slot = gep(slots, b.getI64Type(), i64(number));
    Type loaded = registerType(type);
    Value value = loadFrom(slot, loaded.isInteger(1) ? Type(b.getI8Type()) : loaded);
    if (loaded.isInteger(1))
      value = arith::TruncIOp::create(b, loc, loaded, value);
    scalars[argument] = value;
  }
}

//===-- Blocks ---------------------------------------------------------------------------------------------------===//

void HostEmitter::emitFunctionBody() {
  Region &body = source.getBody();
  for (Block &block : llvm::drop_begin(body)) {
    Block *target = b.createBlock(&entry.getBody(), entry.getBody().end());
    blocks[&block] = target;
    for (BlockArgument argument : block.getArguments())
      if (!isa<RankedTensorType>(argument.getType()))
        scalars[argument] = target->addArgument(registerType(argument.getType()), argument.getLoc());
  }
  b.setInsertionPointToEnd(&entry.getBody().front());
  for (Block &block : llvm::drop_begin(body))
    allocateFor(block.getArguments());
  for (Block &block : body) {
    b.setInsertionPointToEnd(&block == &body.front() ? &entry.getBody().front() : blocks[&block]);
    emitBlock(block);
    emitBranch(block.getTerminator());
  }
}

void HostEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    loc = op.getLoc();
    emitOp(&op);
  }
  loc = block.getTerminator()->getLoc();
}

// Operations with effects or regions, scalars, and tiles that the plan wants in memory. A lazy tile emits nothing here.
void HostEmitter::emitOp(Operation *op) {
  PieceScope scope(*this, 1);
  if (auto store = dyn_cast<StoreOp>(op))
    return emitStore(store);
  if (isa<AtomicRMWOp, AtomicCASOp, AtomicLoadOp, AtomicStoreOp>(op))
    return emitAtomic(op);
  if (auto poll = dyn_cast<AtomicPollOp>(op))
    return emitPoll(poll);
  if (auto external = dyn_cast<ExternElementwiseOp>(op))
    return emitExternCall(external);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return emitFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return emitIf(branch);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return emitWhile(loop);
  if (auto print = dyn_cast<PrintOp>(op))
    return emitPrint(print);
  if (auto assertion = dyn_cast<AssertOp>(op))
    return emitAssert(assertion);
  if (isa<gpu::BarrierOp, LLVM::AssumeOp, GridDependencyWaitOp, GridDependencyLaunchDependentsOp>(op) ||
      op->getName().getStringRef() == "ttg.barrier")
    return; // elements are stored and loaded in program order by one thread; launches of a stream run one by one
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return emitReduce(reduce);
  if (auto scan = dyn_cast<ScanOp>(op))
    return emitScan(scan);
  if (auto histogram = dyn_cast<HistogramOp>(op))
    return emitHistogram(histogram);
  if (auto dot = dyn_cast<DotOp>(op))
    return dot.getD().use_empty() ? void() : emitDot(dot);
  if (auto map = dyn_cast<MapElementwiseOp>(op))
    return materialiseMap(map);

  for (Value result : op->getResults())
    if (isa<RankedTensorType>(result.getType()) && plan.isMaterialised(result))
      materialise(result);
  if (op->getNumResults() != 1 || isa<RankedTensorType>(op->getResult(0).getType()))
    return;

  Value result = op->getResult(0);
  if (auto load = dyn_cast<LoadOp>(op)) {
    scalars[result] = emitLoad(load, {}).scalar;
  } else if (isa<GetProgramIdOp, GetNumProgramsOp>(op)) {
    bool id = isa<GetProgramIdOp>(op);
    int axis = int(id ? cast<GetProgramIdOp>(op).getAxis() : cast<GetNumProgramsOp>(op).getAxis());
    int64_t offset = (id ? offsetof(HostProgram, id) : offsetof(HostLaunch, grid)) + 4 * axis;
    Value slot = LLVM::GEPOp::create(b, loc, program.getType(), b.getI8Type(), id ? program : launch,
                                     ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    scalars[result] = loadFrom(slot, b.getI32Type());
  } else if (auto unsplat = dyn_cast<UnsplatOp>(op)) {
    TileIndex index(cast<RankedTensorType>(unsplat.getSrc().getType()).getRank(), Index{i64(0), {}});
    scalars[result] = evaluate(unsplat.getSrc(), index).scalar;
  } else {
    SmallVector<LaneValue> operands;
    for (Value operand : op->getOperands())
      operands.push_back(LaneValue::uniform(scalar(operand)));
    scalars[result] = elementwise(op, operands).scalar;
  }
}

//===-- Values that cross blocks ---------------------------------------------------------------------------------===//

SmallVector<TileBuffer *> HostEmitter::allocateFor(ValueRange values) {
  SmallVector<TileBuffer *> result;
  for (Value value : values) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    if (!tile) {
      result.push_back(nullptr);
      continue;
    }
    auto buffer = std::make_unique<TileBuffer>(allocate(tile));
    result.push_back(buffer.get());
    buffers[value] = std::move(buffer);
  }
  return result;
}

HostEmitter::Values HostEmitter::assign(ValueRange values, ArrayRef<TileBuffer *> targets) {
  Values results;
  SmallVector<std::pair<TileBuffer, TileBuffer *>> copies;
  auto sameMemory = [&](Value value, TileBuffer *target) {
    auto known = buffers.find(value);
    return known != buffers.end() && known->second->pointer == target->pointer;
  };
  for (auto [value, target] : llvm::zip(values, targets)) {
    if (!target) {
      results.push_back(scalar(value));
      continue;
    }
    if (sameMemory(value, target))
      continue;
    // What these values read under another name must not be overwritten yet.
    bool targetIsRead = llvm::count(values, value) > 1;
    for (auto &[owner, buffer] : buffers)
      if (buffer && buffer->pointer == target->pointer)
        for (const HostPlan::Root &root : plan.rootsOf(owner)) {
          if (!root.first->hasTrait<mlir::OpTrait::IsTerminator>())
            continue;
          Value reader = root.first->getOperand(root.second);
          if (llvm::is_contained(values, reader))
            targetIsRead |= reader != value || !plan.isReadInPlace(owner);
        }
    if (!targetIsRead) {
      fill(value, *target);
      continue;
    }
    auto tile = RankedTensorType::get(target->shape, target->logical);
    TileBuffer copy = allocate(tile, target->stored);
    fill(value, copy);
    copies.push_back({copy, target});
  }
  for (auto &[copy, target] : copies)
    iterate(target->shape, chooseLanes(target->shape, int(target->shape.size()) - 1, maxLanes()),
            [&, &from = copy, to = target](TileIndex index) { writeBuffer(*to, index, readBuffer(from, index)); });
  return results;
}

// The buffer of the loop-carried tile that `value` will become, when nothing reads the old contents after `value` is
// made.
TileBuffer *HostEmitter::reusableLoopBuffer(Value value) {
  if (!value.hasOneUse())
    return nullptr;
  OpOperand &use = *value.getUses().begin();
  auto yield = dyn_cast<scf::YieldOp>(use.getOwner());
  auto loop = yield ? dyn_cast<scf::ForOp>(yield->getParentOp()) : scf::ForOp();
  Operation *maker = value.getDefiningOp();
  if (!loop || maker->getBlock() != yield->getBlock())
    return nullptr;
  BlockArgument argument = loop.getRegionIterArg(use.getOperandNumber());
  for (const HostPlan::Root &root : plan.rootsOf(argument)) {
    Operation *at = maker->getBlock()->findAncestorOpInBlock(*root.first);
    if (!at || !(at == maker || at->isBeforeInBlock(maker)))
      return nullptr;
    if (root.first == maker && !plan.isReadInPlace(argument) && !isa<DotOp>(maker))
      return nullptr;
    if (isa<DotOp>(maker) && root.first == maker && root.second == 2 && !plan.isReadInPlace(argument))
      return nullptr;
  }
  auto found = buffers.find(argument);
  return found == buffers.end() ? nullptr : found->second.get();
}

//===-- Control flow ---------------------------------------------------------------------------------------------===//

static SmallVector<Value> scalarsAmong(ValueRange values) {
  SmallVector<Value> result;
  for (Value value : values)
    if (!isa<RankedTensorType>(value.getType()))
      result.push_back(value);
  return result;
}

void HostEmitter::emitFor(scf::ForOp loop) {
  SmallVector<TileBuffer *> carried = allocateFor(loop.getRegionIterArgs());
  for (auto [argument, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
    if (auto known = buffers.find(argument); known != buffers.end())
      buffers[result] = std::make_unique<TileBuffer>(*known->second);
  Values inits = assign(loop.getInitArgs(), carried);
  auto target = scf::ForOp::create(b, loc, scalar(loop.getLowerBound()), scalar(loop.getUpperBound()),
                                   scalar(loop.getStep()), inits);
  if (loop.getUnsignedCmp())
    target.setUnsignedCmp(true);
  scalars[loop.getInductionVar()] = target.getInductionVar();
  for (auto [from, to] : llvm::zip(scalarsAmong(loop.getRegionIterArgs()), target.getRegionIterArgs()))
    scalars[from] = to;
  int64_t used = scratchUsed;
  {
    OpBuilder::InsertionGuard guard(b);
    if (inits.empty())
      b.setInsertionPoint(target.getBody()->getTerminator());
    else
      b.setInsertionPointToEnd(target.getBody());
    if (!loop.getStaticTripCount()) // its length comes from the data
      emitStopCheck(loop, /*spin=*/false);
    emitBlock(*loop.getBody());
    Values yielded = assign(loop.getYieldedValues(), carried);
    if (!inits.empty())
      scf::YieldOp::create(b, loc, yielded);
  }
  scratchUsed = used;
  for (auto [from, to] : llvm::zip(scalarsAmong(loop.getResults()), target.getResults()))
    scalars[from] = to;
}

void HostEmitter::emitIf(scf::IfOp branch) {
  SmallVector<TileBuffer *> results = allocateFor(branch.getResults());
  SmallVector<Type> types;
  for (Value value : scalarsAmong(branch.getResults()))
    types.push_back(registerType(value.getType()));
  bool hasElse = !branch.getElseRegion().empty();
  auto target = scf::IfOp::create(b, loc, types, scalar(branch.getCondition()), hasElse || !types.empty());
  auto emitSide = [&](Region &from, Block *to) {
    OpBuilder::InsertionGuard guard(b);
    int64_t used = scratchUsed;
    if (types.empty())
      b.setInsertionPoint(to->getTerminator());
    else
      b.setInsertionPointToEnd(to);
    emitBlock(from.front());
    Values yielded = assign(from.front().getTerminator()->getOperands(), results);
    if (!types.empty())
      scf::YieldOp::create(b, loc, yielded);
    scratchUsed = used;
  };
  emitSide(branch.getThenRegion(), target.thenBlock());
  if (hasElse)
    emitSide(branch.getElseRegion(), target.elseBlock());
  for (auto [from, to] : llvm::zip(scalarsAmong(branch.getResults()), target.getResults()))
    scalars[from] = to;
}

// Whether a loop waits for another instance: it reads memory atomically or as volatile.
static bool isSpin(scf::WhileOp loop) {
  return loop
      ->walk([](Operation *op) {
        auto load = dyn_cast<LoadOp>(op);
        return isa<AtomicRMWOp, AtomicCASOp, AtomicLoadOp>(op) || (load && load.isVolatileAccess())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void HostEmitter::emitWhile(scf::WhileOp loop) {
  SmallVector<TileBuffer *> before = allocateFor(loop.getBeforeArguments()),
                            after = allocateFor(loop.getAfterArguments());
  for (auto [argument, result] : llvm::zip(loop.getAfterArguments(), loop.getResults()))
    if (auto known = buffers.find(argument); known != buffers.end())
      buffers[result] = std::make_unique<TileBuffer>(*known->second);
  Values inits = assign(loop.getInits(), before);
  SmallVector<Type> types;
  for (Value value : scalarsAmong(loop.getResults()))
    types.push_back(registerType(value.getType()));
  auto target = scf::WhileOp::create(b, loc, types, inits, nullptr, nullptr);
  int64_t used = scratchUsed;
  auto emitSide = [&](Region &from, Region &to, ValueRange arguments, ArrayRef<Type> argumentTypes) {
    OpBuilder::InsertionGuard guard(b);
    to.getBlocks().clear();
    Block *block = b.createBlock(&to, {}, argumentTypes, SmallVector<Location>(argumentTypes.size(), loc));
    for (auto [source, argument] : llvm::zip(scalarsAmong(arguments), block->getArguments()))
      scalars[source] = argument;
    if (&to == &target.getAfter()) // reached only to go round again
      emitStopCheck(loop, isSpin(loop));
    emitBlock(from.front());
    if (auto condition = dyn_cast<scf::ConditionOp>(from.front().getTerminator())) {
      Values values = assign(condition.getArgs(), after);
      scf::ConditionOp::create(b, loc, scalar(condition.getCondition()), values);
    } else {
      scf::YieldOp::create(b, loc, assign(from.front().getTerminator()->getOperands(), before));
    }
  };
  SmallVector<Type> initTypes;
  for (Value init : inits)
    initTypes.push_back(init.getType());
  emitSide(loop.getBefore(), target.getBefore(), loop.getBeforeArguments(), initTypes);
  emitSide(loop.getAfter(), target.getAfter(), loop.getAfterArguments(), types);
  scratchUsed = used;
  for (auto [from, to] : llvm::zip(scalarsAmong(loop.getResults()), target.getResults()))
    scalars[from] = to;
}

// Terminators of the function's own blocks. Each edge with tile arguments gets a block of its own for the copies.
void HostEmitter::emitBranch(Operation *op) {
  if (isa<ReturnOp>(op)) {
    fenceStreams();
    LLVM::ReturnOp::create(b, loc, ValueRange{});
    return;
  }
  auto edge = [&](Block *target, ValueRange values) {
    SmallVector<TileBuffer *> targets;
    for (BlockArgument argument : target->getArguments()) {
      auto known = buffers.find(argument);
      targets.push_back(known == buffers.end() ? nullptr : known->second.get());
    }
    Values passed = assign(values, targets);
    cf::BranchOp::create(b, loc, blocks[target], passed);
  };
  if (auto branch = dyn_cast<cf::BranchOp>(op))
    return edge(branch.getDest(), branch.getDestOperands());
  auto branch = cast<cf::CondBranchOp>(op);
  Block *here = b.getInsertionBlock();
  Block *first = b.createBlock(&entry.getBody(), std::next(here->getIterator()));
  edge(branch.getTrueDest(), branch.getTrueDestOperands());
  Block *second = b.createBlock(&entry.getBody(), std::next(first->getIterator()));
  edge(branch.getFalseDest(), branch.getFalseDestOperands());
  b.setInsertionPointToEnd(here);
  cf::CondBranchOp::create(b, loc, scalar(branch.getCondition()), first, ValueRange{}, second, ValueRange{});
}
