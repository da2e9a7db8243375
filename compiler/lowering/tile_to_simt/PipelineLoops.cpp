// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/lowering/tile_to_simt/PipelineLoops.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/layout/Axes.h"
#include "compiler/layout/MatrixLoad.h"
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/simt/PlaceShared.h"
#include "compiler/lowering/tile_to_simt/ShareOperands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::Dim;
using layout::LinearLayout;

namespace {

/// A load that can be copied, and where to.
struct Copy {
  GlobalLoadOp load;
  int64_t elements; ///< that a thread copies at once
  LinearLayout shared;
  AllocOp ring;

  SharedType ringType(int64_t stages) {
    auto tile = cast<RankedTensorType>(load.getType());
    return SharedType::get(load.getContext(), stages, tile.getShape(), tile.getElementType(), shared);
  }
};

class LoopPipeliner {
public:
  LoopPipeliner(scf::ForOp loop, int64_t stages) : loop(loop), stages(stages), b(loop.getLoc(), loop.getContext()) {}

  void findCopies();
  MutableArrayRef<Copy> getCopies() { return copies; }
  /// Bytes of the rings, of which there are at most so many; 0 where that is not enough for two stages.
  int64_t ringBytes(int64_t mostBytes) const {
    int64_t fitting = std::min(stages, mostBytes / stageBytes());
    return fitting < 2 ? 0 : fitting * stageBytes();
  }
  /// With rings of at most so many bytes.
  void rewrite(int64_t mostBytes);

private:
  //===-- What can be copied -------------------------------------------------------------------------------------===//
  std::optional<Copy> describe(GlobalLoadOp load);
  bool collect(Value value, llvm::SetVector<Operation *> &ops, llvm::SetVector<unsigned> &args);
  int64_t stageBytes() const;

  //===-- Rewriting ----------------------------------------------------------------------------------------------===//
  Value isActive(Value counter64);
  Value counterAt(int64_t ahead, Value counter);
  Value counter64At(int64_t ahead, Value counter);
  /// The copies of one iteration; carried scalars go from this iteration's to the next one's.
  void emitCopies(Value counter, Value active, SmallVectorImpl<Value> &scalars, Value stage);
  Value nextStage(Value stage);
  void emitPrologue();
  void rebuildLoop();
  void readShared(Copy &copy, Value stage);
  MatrixDotOp findOpenProduct();

  scf::ForOp loop;
  int64_t stages;
  MatrixDotOp open; ///< the product that may go on while the next iteration begins, if there is one
  ImplicitLocOpBuilder b;
  SmallVector<Copy> copies;
  llvm::SetVector<Operation *> slice; ///< what computes addresses, masks and carried scalars
  llvm::SetVector<unsigned> carried;  ///< numbers of the scalars that the slice needs
  SmallVector<Value> scalarsAhead;
};

} // namespace

//===-- What can be copied ---------------------------------------------------------------------------------------===//

static bool feedsDot(GlobalLoadOp load) {
  SmallVector<Value> work = {load.getResult()};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers()) {
      if (user->getBlock() != load->getBlock() || !seen.insert(user).second)
        continue;
      if (auto dot = dyn_cast<MatrixDotOp>(user)) {
        if (seen.contains(dot.getA().getDefiningOp()) || seen.contains(dot.getB().getDefiningOp()) ||
            dot.getA() == load.getResult() || dot.getB() == load.getResult())
          return true;
      } else if (isPure(user) && user->getNumRegions() == 0) {
        llvm::append_range(work, user->getResults());
      }
    }
  return false;
}

std::optional<Copy> LoopPipeliner::describe(GlobalLoadOp load) {
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  if (!tile || load.getIsVolatile() || tile.getRank() < 2 || !tile.getElementType().isIntOrFloat() ||
      tile.getElementType().getIntOrFloatBitWidth() < 8 || !feedsDot(load))
    return std::nullopt;
  if (Value other = load.getOther(); other && !matchPattern(other, m_Zero()) && !matchPattern(other, m_PosZeroFloat()))
    return std::nullopt;
  int64_t elements = int64_t(load.getElements()), bits = tile.getElementType().getIntOrFloatBitWidth();
  if (elements * bits < 32)
    return std::nullopt;
  layout::Order order = {int(load.getAxis())};
  for (int axis = int(tile.getRank()); axis-- > 0;)
    if (axis != order[0])
      order.push_back(axis);
  layout::Shape shape(tile.getShape().begin(), tile.getShape().end());
  Copy copy{load, elements, layout::matrixShared(shape, int(bits), order), {}};
  LinearLayout offsets = layoutOf(tile).invertAndCompose(copy.shared);
  for (Dim in : {Dim::Register, Dim::Lane, Dim::Warp})
    for (int bit = 0; bit < offsets.inputBits(in); ++bit) {
      int64_t offset = offsets.basis(in, bit, Dim::Offset);
      bool within = in == Dim::Register && int64_t(1) << bit < elements;
      if (within ? offset != int64_t(1) << bit : offset % elements != 0)
        return std::nullopt;
    }
  llvm::SetVector<Operation *> ops = slice;
  llvm::SetVector<unsigned> args = carried;
  if (!collect(load.getPointer(), ops, args) || (load.getMask() && !collect(load.getMask(), ops, args)))
    return std::nullopt;
  slice = std::move(ops);
  carried = std::move(args);
  return copy;
}

bool LoopPipeliner::collect(Value value, llvm::SetVector<Operation *> &ops, llvm::SetVector<unsigned> &args) {
  if (!loop.getRegion().isAncestor(value.getParentRegion()))
    return true;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument == loop.getInductionVar())
      return true;
    unsigned number = argument.getArgNumber() - 1;
    if (isa<RankedTensorType>(value.getType()))
      return false;
    return !args.insert(number) || collect(loop.getYieldedValues()[number], ops, args);
  }
  Operation *op = value.getDefiningOp();
  if (op->getBlock() != loop.getBody() || op->getNumRegions() || !isPure(op))
    return false;
  if (!ops.insert(op))
    return true;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return collect(operand, ops, args); });
}

int64_t LoopPipeliner::stageBytes() const {
  int64_t bytes = 0;
  for (const Copy &copy : copies) {
    auto tile = cast<RankedTensorType>(Value(copy.load->getResult(0)).getType());
    bytes += llvm::alignTo(uint64_t(tile.getNumElements() * tile.getElementTypeBitWidth() / 8), 1024);
  }
  return bytes;
}

static bool writesMemory(scf::ForOp loop) {
  return loop.getBody()
      ->walk([](Operation *op) {
        if (op->hasTrait<mlir::OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(op))
          return WalkResult::advance();
        auto effects = dyn_cast<MemoryEffectOpInterface>(op);
        bool onlyReads =
            effects && !effects.hasEffect<MemoryEffects::Write>() && !effects.hasEffect<MemoryEffects::Free>();
        return onlyReads ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

void LoopPipeliner::findCopies() {
  if (auto wanted = loop->getAttrOfType<IntegerAttr>("tt.num_stages"))
    stages = wanted.getInt();
  if (stages < 2 || loop.getUnsignedCmp() || writesMemory(loop))
    return;
  for (GlobalLoadOp load : loop.getBody()->getOps<GlobalLoadOp>())
    if (std::optional<Copy> copy = describe(load))
      copies.push_back(*copy);
}

void LoopPipeliner::rewrite(int64_t mostBytes) {
  stages = ringBytes(mostBytes) / stageBytes();
  if (stages < 2)
    return;
  if ((open = findOpenProduct()))
    open.setPending(1);
  emitPrologue();
  rebuildLoop();
}

// None when anything else would have to wait for it.
MatrixDotOp LoopPipeliner::findOpenProduct() {
  auto dots = llvm::to_vector(loop.getBody()->getOps<MatrixDotOp>());
  if (dots.size() != 1 || !dots.front().getWarpGroups())
    return {};
  MatrixDotOp dot = dots.front();
  auto sum = dyn_cast<BlockArgument>(dot.getC());
  bool carries = sum && sum.getOwner() == loop.getBody() && sum.hasOneUse() && dot->hasOneUse() &&
                 loop.getYieldedValues()[sum.getArgNumber() - 1] == dot.getD();
  auto isRead = [&](int number) {
    OperandTile operand = operandTile(dot, number);
    return llvm::any_of(copies, [&](Copy &copy) {
      return copy.load == operand.tile.getDefiningOp() && groupsReadRing(copy.ringType(stages), operand.axisK);
    });
  };
  return carries && isRead(0) && isRead(1) ? dot : MatrixDotOp();
}

//===-- Rewriting ------------------------------------------------------------------------------------------------===//

static Value i32Constant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, value, 32);
}

static Value toI64(ImplicitLocOpBuilder &b, Value integer) {
  Type wide = b.getI64Type();
  if (integer.getType() == wide)
    return integer;
  return integer.getType().isIndex() ? Value(arith::IndexCastOp::create(b, wide, integer))
                                     : Value(arith::ExtSIOp::create(b, wide, integer));
}

// The counter of a later iteration may lie beyond its type; such iterations are none, which 64 bits tell.
Value LoopPipeliner::counter64At(int64_t ahead, Value counter) {
  Value distance = arith::MulIOp::create(b, toI64(b, loop.getStep()), arith::ConstantIntOp::create(b, ahead, 64));
  return arith::AddIOp::create(b, toI64(b, counter), distance);
}

Value LoopPipeliner::counterAt(int64_t ahead, Value counter) {
  Type type = counter.getType();
  Value count = arith::ConstantOp::create(b, b.getIntegerAttr(type, ahead));
  return arith::AddIOp::create(b, counter, Value(arith::MulIOp::create(b, loop.getStep(), count)));
}

Value LoopPipeliner::isActive(Value counter64) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, counter64, toI64(b, loop.getUpperBound()));
}

void LoopPipeliner::emitCopies(Value counter, Value active, SmallVectorImpl<Value> &scalars, Value stage) {
  IRMapping map;
  map.map(loop.getInductionVar(), counter);
  for (auto [number, value] : llvm::zip(carried, scalars))
    map.map(loop.getRegionIterArg(number), value);
  for (Operation &op : loop.getBody()->without_terminator())
    if (slice.contains(&op))
      b.clone(op, map);
  for (Copy &copy : copies) {
    auto tile = cast<RankedTensorType>(copy.load.getType());
    auto bits = RankedTensorType::get(tile.getShape(), b.getI1Type(), tile.getEncoding());
    Value mask = SplatOp::create(b, bits, active);
    if (copy.load.getMask()) {
      // No plain `and`: what an iteration that is none computes may be poison.
      Value never = arith::ConstantOp::create(b, SplatElementsAttr::get(bits, false));
      mask = arith::SelectOp::create(b, mask, map.lookupOrDefault(copy.load.getMask()), never);
    }
    AsyncCopyOp::create(b, map.lookupOrDefault(copy.load.getPointer()), copy.ring, stage, mask,
                        uint64_t(copy.elements));
  }
  AsyncCommitOp::create(b);
  for (auto [number, value] : llvm::zip(carried, scalars))
    value = map.lookupOrDefault(loop.getYieldedValues()[number]);
}

Value LoopPipeliner::nextStage(Value stage) {
  Value next = arith::AddIOp::create(b, stage, i32Constant(b, 1));
  Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, i32Constant(b, stages));
  return arith::SelectOp::create(b, wraps, i32Constant(b, 0), next);
}

void LoopPipeliner::emitPrologue() {
  b.setInsertionPoint(loop);
  for (Copy &copy : copies)
    copy.ring = AllocOp::create(b, copy.ringType(stages));
  for (unsigned number : carried)
    scalarsAhead.push_back(loop.getInitArgs()[number]);
  for (int64_t stage = 0; stage + 1 < stages; ++stage) {
    Value active = isActive(counter64At(stage, loop.getLowerBound()));
    emitCopies(counterAt(stage, loop.getLowerBound()), active, scalarsAhead, i32Constant(b, stage));
  }
}

void LoopPipeliner::rebuildLoop() {
  SmallVector<Value> inits = llvm::to_vector(loop.getInitArgs());
  unsigned before = unsigned(inits.size());
  llvm::append_range(inits, scalarsAhead);
  inits.push_back(i32Constant(b, 0));
  inits.push_back(i32Constant(b, stages - 1));
  auto made = scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  made->setAttrs(loop->getAttrs());
  b.setInsertionPointAfter(made);
  AsyncWaitOp::create(b, uint64_t(0));
  BarrierOp::create(b); // the rings are free again

  ValueRange added = made.getRegionIterArgs().drop_front(before);
  Value readStage = added[added.size() - 2], writeStage = added.back();
  b.setInsertionPointToStart(made.getBody());
  AsyncWaitOp::create(b, uint64_t(stages - 2));
  BarrierOp::create(b);
  SmallVector<Value> scalars = llvm::to_vector(added.drop_back(2));
  Operation *meeting = &made.getBody()->back();
  if (open)
    BarrierOp::create(b); // behind the wait for the last product, which read the stage
  emitCopies(counterAt(stages - 1, made.getInductionVar()), isActive(counter64At(stages - 1, made.getInductionVar())),
             scalars, writeStage);

  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  SmallVector<Value> yielded = llvm::to_vector(yield.getOperands());
  llvm::append_range(yielded, scalars);
  yielded.push_back(nextStage(readStage));
  yielded.push_back(nextStage(writeStage));
  Block::iterator place = open ? std::next(meeting->getIterator()) : made.getBody()->end();
  made.getBody()->getOperations().splice(place, loop.getBody()->getOperations());
  for (auto [from, to] : llvm::zip(loop.getBody()->getArguments(), made.getBody()->getArguments()))
    from.replaceAllUsesWith(to);
  for (Value &value : yielded)
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == loop.getBody())
      value = made.getBody()->getArgument(argument.getArgNumber());
  yield.erase();
  b.setInsertionPointToEnd(made.getBody());
  scf::YieldOp::create(b, yielded);
  for (Copy &copy : copies)
    readShared(copy, readStage);
  loop->replaceAllUsesWith(made.getResults().take_front(before));
  loop.erase();
}

// Conversions read the ring as they want it, transposed tiles too.
void LoopPipeliner::readShared(Copy &copy, Value stage) {
  Value loaded = copy.load.getResult();
  auto tile = cast<RankedTensorType>(loaded.getType());
  auto read = [&](Operation *before, RankedTensorType type) -> Value {
    b.setInsertionPoint(before);
    return LoadSharedOp::create(b, type, copy.ring, stage, Value());
  };
  for (Operation *user : llvm::make_early_inc_range(loaded.getUsers())) {
    if (isa<ConvertLayoutOp>(user)) {
      user->getResult(0).replaceAllUsesWith(read(user, cast<RankedTensorType>(user->getResult(0).getType())));
      user->erase();
    } else if (auto trans = dyn_cast<TransOp>(user)) {
      for (Operation *convert : llvm::make_early_inc_range(trans->getUsers())) {
        if (!isa<ConvertLayoutOp>(convert))
          continue;
        auto wanted = cast<RankedTensorType>(convert->getResult(0).getType());
        layout::Order order(trans.getOrder().begin(), trans.getOrder().end());
        LinearLayout needed = layout::permuteAxes(layoutOf(wanted), layout::inverseOrder(order));
        Value source = read(convert, withLayout(tile, needed));
        Value turned = TransOp::create(b, wanted, source, trans.getOrder());
        convert->getResult(0).replaceAllUsesWith(turned);
        convert->erase();
      }
      if (trans->use_empty())
        trans.erase();
    }
  }
  if (!loaded.use_empty())
    loaded.replaceAllUsesWith(read(copy.load, tile));
  copy.load.erase();
}

//===-- The function ---------------------------------------------------------------------------------------------===//

static std::vector<LoopPipeliner> findPipelines(FuncOp function, int stages) {
  std::vector<LoopPipeliner> pipeliners;
  function.walk([&](scf::ForOp loop) {
    bool innermost =
        !loop.getBody()->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
    if (!innermost)
      return;
    LoopPipeliner pipeliner(loop, stages);
    pipeliner.findCopies();
    if (!pipeliner.getCopies().empty())
      pipeliners.push_back(pipeliner);
  });
  return pipeliners;
}

// As simplify-pipelines does.
static void simplify(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  DominanceInfo dominance(module);
  eliminateCommonSubExpressions(rewriter, dominance, module);
  module.walk([](LoopLikeOpInterface loop) { moveLoopInvariantCode(loop); });
}

// Tried on a copy, with rings of at most so many bytes: how many matmuls, or parts of them, have their operands in
// scratch memory; nothing where not everything finds its place in shared memory.
static std::optional<int64_t> tryRings(ModuleOp module, const PipelineTarget &to, int64_t ringBytes) {
  OwningOpRef<ModuleOp> copy = module.clone();
  ScopedDiagnosticHandler ignore(module.getContext(), [](Diagnostic &) { return success(); });
  int count = 0;
  for (LoopPipeliner &pipeliner : findPipelines(findKernel(*copy, count), to.stages))
    pipeliner.rewrite(ringBytes);
  if (failed(shareOperands(*copy)))
    return std::nullopt;
  simplify(*copy);
  lowerConversions(*copy, to.target);
  lowerReductions(*copy, {to.target.lanesPerWarp(), to.warps});
  if (failed(lowerExchanges(*copy, to.target, to.warps)) || failed(placeSharedMemory(*copy, to.target, to.warps)))
    return std::nullopt;
  int64_t parts = 0;
  copy->walk([&](DotScratchOp) { ++parts; });
  return parts;
}

// Matmuls whose operands go through scratch memory are not cut into more parts for the sake of rings.
static bool fits(ModuleOp module, const PipelineTarget &to, int64_t ringBytes) {
  std::optional<int64_t> parts = tryRings(module, to, ringBytes);
  return parts && (*parts == 0 || *parts <= tryRings(module, to, 0).value_or(0));
}

LogicalResult simt::pipelineLoops(ModuleOp module, const PipelineTarget &to) {
  if (!to.target.hasAsyncCopies())
    return success();
  int count = 0;
  FuncOp function = findKernel(module, count);
  if (!function)
    return module.emitError() << "expected one public 'tt.func', found " << count;
  std::vector<LoopPipeliner> pipeliners = findPipelines(function, to.stages);
  // Loops come one after the other, and their rings share memory.
  int64_t bytes = to.target.sharedMemoryBytes();
  auto largestRing = [&] {
    int64_t largest = 0;
    for (LoopPipeliner &pipeliner : pipeliners)
      largest = std::max(largest, pipeliner.ringBytes(bytes));
    return largest;
  };
  for (bytes = largestRing(); bytes && !fits(module, to, bytes); bytes = largestRing())
    --bytes; // a stage less for the largest
  for (LoopPipeliner &pipeliner : pipeliners)
    pipeliner.rewrite(bytes);
  return success();
}
