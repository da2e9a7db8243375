// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The last part of LayoutAssigner: writes the operations of the simt level, converting or recomputing operands.
#include "compiler/layout/WarpConversion.h"
#include "compiler/lowering/tile_to_simt/LayoutAssigner.h"
#include "compiler/lowering/tile_to_simt/Relayout.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::LinearLayout;

// Whether every thread can compute its elements in any layout.
bool LayoutAssigner::isFree(Value value) {
  if (!value || !tileOf(value))
    return true;
  SetVector<Value> needed;
  needed.insert(value);
  for (size_t i = 0; i < needed.size(); ++i) {
    Value one = needed[i];
    if (!one || !tileOf(one))
      continue;
    Operation *op = one.getDefiningOp();
    if (own(one) || !op || !hasAnyLayout(op))
      return false;
    needed.insert(op->operand_begin(), op->operand_end());
  }
  return true;
}

AccessWidth LayoutAssigner::widthOfRepeated(LoadOp load) {
  analysis::AccessLayout access = accesses.chooseAccess(load, threads());
  ArrayRef<Value> operands = repeatable.find(load)->second; // as the program has them
  Value mask = load.getMask() ? operands[1] : Value();
  return {access.order[0], analysis::alignedElements(facts, operands[0], mask, access.order)};
}

/// How often a thread accesses memory where it has the loaded tile in `layout`.
int64_t LayoutAssigner::accessesIn(LoadOp load, const LinearLayout &layout) {
  AccessWidth width = widthOfRepeated(load);
  int64_t widest = std::max<int64_t>(1, 128 / memoryBits(elementTypeOf(load.getType())));
  return layout.inputSize(layout::Dim::Register) / contiguousRegisters(layout, width, widest);
}

bool LayoutAssigner::isExchangedFor(Value tile, Value whole, const LinearLayout &layout) {
  auto bitsOf = [](Value value) {
    Type element = elementTypeOf(value.getType());
    return element.isIntOrFloat() ? memoryBits(element) : 64;
  };
  return made.contains({tile, LinearAttr::get(tile.getContext(), layout)}) || bitsOf(tile) <= bitsOf(whole);
}

bool LayoutAssigner::canRepeat(Value value, const LinearLayout &layout, RepeatedWork &work) {
  constexpr int64_t mostAccesses = 4, mostComputed = 16, moreThanExchange = 1;
  if (isFree(value))
    return true;
  Operation *op = value.getDefiningOp();
  auto known = repeatable.find(op);
  if (known == repeatable.end()) {
    // A loaded value is not exchanged: its barrier would come before the loads that follow.
    bool isOnly = work.computed > 0 && own(value) && !value.getDefiningOp<LoadOp>() &&
                  (!work.exchanged || work.exchanged == value);
    work.exchanged = value;
    return isOnly;
  }
  auto load = dyn_cast<LoadOp>(op);
  if (!load) {
    work.computed += layout.inputSize(layout::Dim::Register);
    return work.computed <= mostComputed &&
           llvm::all_of(known->second, [&](Value operand) { return canRepeat(operand, layout, work); });
  }
  bool isComputed = work.computed > 0;
  if ((isComputed && storedElsewhere.contains(op)) || accesses.chooseAccess(load, threads()).order.empty() ||
      !llvm::all_of(known->second, [&](Value operand) { return isFree(operand); }))
    return false;
  bool isSmall = tileOf(value).getNumElements() <= threads();
  int64_t own = accessesIn(load, *this->own(value)), here = accessesIn(load, layout);
  work.accesses += here;
  return work.accesses <= mostAccesses && (isSmall || here <= own + moreThanExchange);
}

// What few threads would load for all of them, and pass on through shared memory, each loads for itself: its lines are
// in the cache, and no thread waits for another. So are those of a row of which each thread needs more than its part,
// and so is what a few operations make of such elements.
Value LayoutAssigner::repeat(Value value, const LinearLayout &layout) {
  RepeatedWork work;
  if (!canRepeat(value, layout, work) || (work.exchanged && !isExchangedFor(work.exchanged, value, layout)))
    return {};
  Operation *op = value.getDefiningOp();
  SmallVector<Value> operands = repeatable.find(op)->second; // a copy: the map may grow
  OpBuilder b(value.getContext());
  b.setInsertionPointAfter(op);
  Operation *copy = b.clone(*op);
  for (auto [operand, value] : llvm::zip(copy->getOpOperands(), operands)) {
    operand.set(value);
    setOperand(operand, layout);
  }
  layouts.insert({copy->getResult(0), layout});
  if (auto load = dyn_cast<LoadOp>(op))
    widths[copy] = widthOfRepeated(load);
  return copy->getResult(0);
}

Value LayoutAssigner::get(Value value, LinearLayout layout) {
  auto tile = tileOf(value);
  Attribute key = LinearAttr::get(value.getContext(), layout);
  auto found = made.find({value, key});
  if (found != made.end())
    return found->second;
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(value);
  Value result;
  if (const LinearLayout *has = own(value)) {
    if (*has == layout)
      return value;
    result = repeat(value, layout);
    if (!result)
      result = ConvertLayoutOp::create(b, value.getLoc(), withLayout(tile, layout), value);
  } else {
    Operation *op = value.getDefiningOp();
    Operation *copy = cloneInLayout(b, op, layout);
    for (OpOperand &operand : copy->getOpOperands())
      if (tileOf(operand.get()))
        operand.set(
            get(op->getOperand(operand.getOperandNumber()), operandLayout(op, operand.getOperandNumber(), layout)));
    result = copy->getResult(0);
    layouts.insert({result, layout});
  }
  made[{value, key}] = result;
  return result;
}

void LayoutAssigner::setOperand(OpOperand &operand, LinearLayout layout) {
  if (tileOf(operand.get()))
    operand.set(get(operand.get(), layout));
}

void LayoutAssigner::setAll(Operation *op, LinearLayout layout) {
  for (OpOperand &operand : op->getOpOperands())
    setOperand(operand, layout);
}

void LayoutAssigner::setToValues(MutableArrayRef<OpOperand> operands, ValueRange targets) {
  for (auto [operand, to] : llvm::zip(operands, targets))
    if (tileOf(to))
      setOperand(operand, *own(to));
}

void LayoutAssigner::rewriteAccess(Operation *op) {
  Value pointer = op->getOperand(0);
  if (!tileOf(pointer))
    return;
  analysis::AccessLayout access = accesses.chooseAccess(op, threads());
  if (!access.order.empty() && isa<LoadOp, StoreOp, AtomicRMWOp>(op)) {
    Value mask = llvm::TypeSwitch<Operation *, Value>(op).Case<LoadOp, StoreOp, AtomicRMWOp>(
        [](auto access) { return access.getMask(); });
    widths[op] = {access.order[0], analysis::alignedElements(facts, pointer, mask, access.order)};
  }
  auto store = dyn_cast<StoreOp>(op);
  setAll(op, store ? storeLayout(store) : accessLayout(op, pointer));
}

/// Whether what comes of another product is in the lanes where this one reads it, if lanes have no more neighbours
/// along K than an instruction takes.
bool LayoutAssigner::readsProductWithoutLanes(DotOp dot, MatrixInstruction instruction, const layout::Shape &split) {
  const LinearLayout *from = own(dot.getA());
  if (!from || instruction.kPerLane >= instruction.kWidth)
    return false;
  instruction.kWidth = instruction.kPerLane;
  LinearLayout wanted = target.operandLayout(instruction, shapeOf(dot.getA()), split, 0);
  std::optional<layout::WarpConversion> inWarp = layout::convertInWarp(*from, wanted, target.swappedLaneBits());
  return inWarp && !inWarp->needsLanes();
}

void LayoutAssigner::rewriteDot(DotOp dot) {
  const LinearLayout &result = *own(dot.getD());
  setOperand(dot.getCMutable(), result);
  if (std::optional<GroupInstruction> group = groups.lookup(dot)) {
    products[dot] = {.warpGroups = true};
    // What comes of another product is in the registers where this one reads it, and so is what is computed for it.
    // Other operands go to shared memory from wherever they are.
    if (std::optional<LinearLayout> registers = layoutInRegisters(dot, *group)) {
      if (isMadeOfProduct(dot.getA()))
        setOperand(dot.getAMutable(), *registers);
      else
        dot.getAMutable().set(computeIn(dot.getA(), *registers));
    }
    for (OpOperand *operand : {&dot.getAMutable(), &dot.getBMutable()})
      if (tileOf(operand->get()) && !hasLayout(operand->get().getType()) && !own(operand->get()))
        // as a constant, or what is computed of broadcast tiles, which get their layouts where they are used
        setOperand(*operand, ownOrDefault(operand->get()));
    return;
  }
  if (std::string advice = target.adviceFor(dot); !advice.empty())
    dot.emitWarning(advice);
  std::optional<MatrixInstruction> instruction = matrixInstruction(dot);
  if (!instruction) {
    for (OpOperand *operand : {&dot.getAMutable(), &dot.getBMutable()})
      setOperand(*operand, ownOrDefault(operand->get()));
    return;
  }
  Type own = elementTypeOf(dot.getA().getType());
  products[dot].instruction = MatrixAttr::get(dot.getContext(), instruction->m, instruction->n, instruction->k,
                                              instruction->transposed, instruction->a == own ? Type() : instruction->a);
  layout::Shape split = warpsOf(dot, *instruction);
  if (readsProductWithoutLanes(dot, *instruction, split))
    instruction->kWidth = instruction->kPerLane;
  // Both before one is rewritten, after which it looks different.
  std::optional<LinearLayout> computed[] = {layoutWhereComputed(dot, 0, *instruction, split),
                                            layoutWhereComputed(dot, 1, *instruction, split)};
  for (int number : {0, 1}) {
    OpOperand &operand = number == 0 ? dot.getAMutable() : dot.getBMutable();
    if (computed[number])
      operand.set(computeIn(operand.get(), *computed[number]));
    else
      setOperand(operand, target.operandLayout(*instruction, shapeOf(operand.get()), split, number));
  }
}

// When every tile has its layout.
void LayoutAssigner::replaceOperations() {
  function.walk([&](Operation *op) {
    if (isa<LoadOp, StoreOp, AtomicRMWOp, AtomicCASOp, AtomicLoadOp, AtomicStoreOp, AtomicPollOp>(op)) {
      auto known = widths.find(op);
      replaceAccess(op, known != widths.end() ? known->second : singleElements(op->getOperand(0).getType()));
    } else if (auto dot = dyn_cast<DotOp>(op)) {
      Product how = products.lookup(op);
      OpBuilder b(op);
      auto made = MatrixDotOp::create(b, op->getLoc(), dot.getType(), dot.getA(), dot.getB(), dot.getC(),
                                      how.instruction, dot.getInputPrecision(), how.warpGroups);
      dot.getD().replaceAllUsesWith(made.getD());
      dot.erase();
    } else if (auto dot = dyn_cast<DotScaledOp>(op)) {
      replaceScaledDot(dot);
    } else {
      replaceExchange(op);
    }
  });
}

bool LayoutAssigner::rewriteMerge(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    setToValues(loop.getInitArgsMutable(), loop.getRegionIterArgs());
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    setToValues(loop.getInitsMutable(), loop.getBeforeArguments());
  } else if (auto condition = dyn_cast<scf::ConditionOp>(op)) {
    setToValues(condition.getArgsMutable(), cast<scf::WhileOp>(op->getParentOp()).getAfterArguments());
  } else if (isa<scf::YieldOp>(op)) {
    ValueRange targets = op->getParentOp()->getResults();
    if (auto loop = dyn_cast<scf::WhileOp>(op->getParentOp()))
      targets = loop.getBeforeArguments();
    setToValues(op->getOpOperands(), targets);
  } else if (auto branch = dyn_cast<BranchOpInterface>(op)) {
    for (unsigned i = 0; i < op->getNumSuccessors(); ++i) {
      SuccessorOperands operands = branch.getSuccessorOperands(i);
      for (unsigned k = 0; k < operands.size(); ++k)
        if (Value to = op->getSuccessor(i)->getArgument(k); tileOf(to))
          setOperand(op->getOpOperand(operands.getOperandIndex(k)), *own(to));
    }
  } else {
    return false;
  }
  return true;
}

void LayoutAssigner::rewrite(Operation *op) {
  if (isa<LoadOp, StoreOp, AtomicRMWOp, AtomicCASOp, AtomicLoadOp, AtomicStoreOp, AtomicPollOp>(op))
    return rewriteAccess(op);
  if (auto dot = dyn_cast<DotOp>(op))
    return rewriteDot(dot);
  if (auto dot = dyn_cast<DotScaledOp>(op))
    return rewriteScaledDot(dot);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return setAll(op, reduceLayout(reduce));
  if (isa<ScanOp>(op))
    return setAll(op, *own(op->getResult(0)));
  if (auto histogram = dyn_cast<HistogramOp>(op))
    return setAll(op, ownOrDefault(histogram.getSrc()));
  if (auto gather = dyn_cast<GatherOp>(op)) {
    setOperand(gather.getSrcMutable(), ownOrDefault(gather.getSrc()));
    return setOperand(gather.getIndicesMutable(), *own(gather.getResult()));
  }
  if (isa<JoinOp, CatOp, SplitOp>(op))
    return setAll(op, piecesLayout(op));
  if (rewriteMerge(op))
    return;
  if (op->getNumResults() && tileOf(op->getResult(0))) {
    const LinearLayout *layout = own(op->getResult(0));
    if (!layout)
      return; // made on demand
    LinearLayout result = *layout;
    for (OpOperand &operand : op->getOpOperands())
      setOperand(operand, operandLayout(op, operand.getOperandNumber(), result));
    return;
  }
  // What reads a tile and leaves none.
  for (OpOperand &operand : op->getOpOperands())
    if (tileOf(operand.get()))
      setOperand(operand, ownOrDefault(operand.get()));
}
