// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands of matmuls that are computed from loaded tiles, as dequantised weights are, or, of warp-group MMA, do not
// lie in shared memory as the instruction reads them. Every thread computes the elements that it multiplies: what is
// exchanged among threads is the loaded tile, which a pipelined loop has in shared memory anyway, and not the operand.
// Warp-group MMA takes its left operand from registers; where the right one is such, the transposed matmul has it on
// the left.
#include "compiler/lowering/tile_to_simt/LayoutAssigner.h"
#include "compiler/lowering/tile_to_simt/Relayout.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::LinearLayout;

// The operands are those of the program, or, where `op` has been rewritten, conversions of them.
static Value withoutConversion(Value value) {
  auto convert = value.getDefiningOp<ConvertLayoutOp>();
  return convert ? convert.getSrc() : value;
}

namespace {
struct Origin {
  bool isKnown = true; ///< every thread can compute the elements that it has, from loads or from nothing
  SmallVector<std::pair<LoadOp, LinearLayout>, 4> loads = {};
  bool computes = false; ///< elements, from what is loaded
};
} // namespace

using Origins = llvm::DenseMap<std::pair<Value, Attribute>, Origin>;

/// Of a tile in this layout. `known`: what has been found, as values are used several times.
static Origin originOf(Value value, const LinearLayout &layout, Origins &known) {
  if (!isa<RankedTensorType>(value.getType()))
    return {};
  value = withoutConversion(value);
  std::pair<Value, Attribute> key{value, LinearAttr::get(value.getContext(), layout)};
  if (auto found = known.find(key); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  if (auto load = dyn_cast_or_null<LoadOp>(op))
    return {.loads = {{load, layout}}};
  // Joined tiles alternate: threads can join them where they have both. Inline assembly may take several elements of a
  // thread at once.
  bool canBeMade = op && !isa<ElementwiseInlineAsmOp>(op) && hasAnyLayout(op);
  if (op && isa<JoinOp>(op))
    canBeMade = layout::staysInRegisters(layout, int(layout.outputs().size()) - 1);
  if (!canBeMade)
    return known[key] = {.isKnown = false};
  Origin origin;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    Origin of = originOf(operand.get(), operandLayout(op, operand.getOperandNumber(), layout), known);
    if (!of.isKnown)
      return known[key] = of;
    for (auto &load : of.loads)
      if (!llvm::is_contained(origin.loads, load))
        origin.loads.push_back(load);
    origin.computes |= of.computes;
  }
  origin.computes |= !origin.loads.empty() && op->hasTrait<mlir::OpTrait::Elementwise>();
  return known[key] = origin;
}

static Origin originOf(Value value, const LinearLayout &layout) {
  Origins known;
  return originOf(value, layout, known);
}

static LinearLayout leftLayout(RankedTensorType left, const GroupInstruction &group) {
  return layout::wgmmaOperand({left.getShape().begin(), left.getShape().end()},
                              {4 * group.groupsAlongM, group.groupsAlongN}, 32 / left.getElementTypeBitWidth());
}

/// Whether a thread has registers for its part of the operand beside that of the sum.
static bool fitsRegisters(RankedTensorType left, RankedTensorType sum, const GpuTarget &target, int warps) {
  int64_t bits = left.getNumElements() * left.getElementTypeBitWidth() + sum.getNumElements() * 32;
  return bits / 32 / (int64_t(warps) * target.lanesPerWarp()) <= target.registersPerThread(warps) * 3 / 4;
}

bool LayoutAssigner::liesAlongK(Value operand, int axisK) {
  while (auto trans = operand.getDefiningOp<TransOp>()) {
    axisK = trans.getOrder()[size_t(axisK)];
    operand = trans.getSrc();
  }
  auto load = operand.getDefiningOp<LoadOp>();
  if (!load)
    return false;
  layout::Order order = accesses.chooseAccess(load, threads()).order;
  return !order.empty() && order[0] == axisK;
}

bool LayoutAssigner::readsAlongK(DotOp dot, const GroupInstruction &group) {
  return liesAlongK(dot.getB(), 0) && (liesAlongK(dot.getA(), 1) || layoutInRegisters(dot, group));
}

// With several groups along N, each would compute all of the operand.
std::optional<LinearLayout> LayoutAssigner::layoutInRegisters(DotOp dot, const GroupInstruction &group) {
  Value left = dot.getA();
  LinearLayout layout = leftLayout(tileOf(left), group);
  if (isMadeOfProduct(left))
    return layout;
  if (group.groupsAlongN > 1 || !fitsRegisters(tileOf(left), tileOf(dot.getD()), target, warps))
    return std::nullopt;
  Origin origin = originOf(left, layout);
  bool isAcross = elementTypeOf(left.getType()).isF32() && !origin.loads.empty() && !liesAlongK(left, 1);
  return origin.isKnown && (origin.computes || isAcross) ? std::optional(layout) : std::nullopt;
}

/// Whether some warps have the same elements.
static bool repeatsAmongWarps(const LinearLayout &layout) {
  for (int bit = 0; bit < layout.inputBits(layout::Dim::Warp); ++bit)
    if (llvm::all_of(layout.outputs(), [&](const LinearLayout::Output &output) {
          return layout.basis(layout::Dim::Warp, bit, output.dim) == 0;
        }))
      return true;
  return false;
}

// Reads of the loaded tiles may be narrow; an exchange of the operand has its writes, its reads and a barrier.
std::optional<LinearLayout> LayoutAssigner::layoutWhereComputed(DotOp dot, int operand,
                                                                const MatrixInstruction &instruction,
                                                                const layout::Shape &split) {
  Value value = operand == 0 ? dot.getA() : dot.getB();
  if (!target.hasAsyncCopies() || isMadeOfProduct(value))
    return std::nullopt;
  LinearLayout layout = target.operandLayout(instruction, shapeOf(value), split, operand);
  Origin origin = originOf(value, layout);
  if (!origin.isKnown || !origin.computes || repeatsAmongWarps(layout))
    return std::nullopt;
  int64_t reads = 0;
  for (auto &[load, of] : origin.loads) {
    if (!isa<scf::ForOp>(load->getParentOp()))
      return std::nullopt;
    reads += readsOf(load, of);
  }
  int64_t bytes = layout.inputSize(layout::Dim::Register) * memoryBits(elementTypeOf(value.getType())) / 8;
  constexpr int64_t access = 16, barrier = 16; // bytes; as many accesses
  return reads <= 2 * int64_t(llvm::divideCeil(bytes, access)) + barrier ? std::optional(layout) : std::nullopt;
}

std::optional<LinearLayout> LayoutAssigner::whereLeftIsRead(DotOp dot) {
  if (std::optional<GroupInstruction> group = groupInstruction(dot))
    return leftLayout(tileOf(dot.getA()), *group);
  std::optional<MatrixInstruction> instruction = matrixInstruction(dot);
  if (!instruction)
    return std::nullopt;
  return target.operandLayout(*instruction, shapeOf(dot.getA()), splitAmongWarps(dot, *instruction), 0);
}

Value LayoutAssigner::computeIn(Value value, const LinearLayout &layout) {
  value = withoutConversion(value);
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<LoadOp>(op) || isFree(value) || (own(value) && *own(value) == layout))
    return get(value, layout);
  Attribute key = LinearAttr::get(value.getContext(), layout);
  if (Value found = computed.lookup({value, key}))
    return found;
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(value);
  Operation *copy = cloneInLayout(b, op, layout);
  for (OpOperand &operand : copy->getOpOperands())
    if (tileOf(operand.get()))
      operand.set(computeIn(operand.get(), operandLayout(op, operand.getOperandNumber(), layout)));
  layouts.insert({copy->getResult(0), layout});
  return computed[{value, key}] = copy->getResult(0);
}

//===-- Right operands, and the order of rows --------------------------------------------------------------------===//

static RankedTensorType plainTile(ArrayRef<int64_t> shape, Value like) {
  return RankedTensorType::get(shape, cast<RankedTensorType>(like.getType()).getElementType());
}

static Value transposed(OpBuilder &b, Value matrix) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(matrix.getType()).getShape();
  return TransOp::create(b, matrix.getLoc(), plainTile({shape[1], shape[0]}, matrix), matrix, ArrayRef<int32_t>{1, 0});
}

/// Bit i of a row's number in the program is bit order[i] of its number in the matmul. Which row is which is all the
/// same to a matmul; rows that a thread has can be contiguous ones.
using RowOrder = SmallVector<int, 8>;

/// The bits of rows that registers count come first.
static RowOrder registersFirst(const LinearLayout &layout) {
  layout::Dim rows = layout::tileDim(int(layout.outputs().size()) - 2);
  RowOrder order, others;
  for (int bit = 0; int64_t(1) << bit < layout.outputSize(rows); ++bit) {
    bool isOfRegister = false;
    for (int reg = 0; reg < layout.inputBits(layout::Dim::Register); ++reg)
      isOfRegister |= layout.basis(layout::Dim::Register, reg, rows) == int64_t(1) << bit;
    (isOfRegister ? order : others).push_back(bit);
  }
  order.append(others);
  return order;
}

/// The matrix, or matrices of a batch, with the rows in that order, or back.
static Value reordered(OpBuilder &b, Value matrix, ArrayRef<int> order, bool back) {
  if (order.empty())
    return matrix;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(matrix.getType()).getShape();
  auto bits = int(order.size()), batch = int(shape.size()) - 2;
  auto dimensions = llvm::to_vector(llvm::seq<int32_t>(0, batch + bits + 1)); // a row's highest bit comes first
  for (int bit = 0; bit < bits; ++bit) {
    int from = batch + bits - 1 - bit, to = batch + bits - 1 - order[size_t(bit)];
    dimensions[size_t(back ? from : to)] = back ? to : from;
  }
  SmallVector<int64_t> split(shape.drop_back(2));
  split.append(size_t(bits), 2);
  split.push_back(shape.back());
  Value parts = ReshapeOp::create(b, matrix.getLoc(), plainTile(split, matrix), matrix);
  Value moved = TransOp::create(b, matrix.getLoc(), plainTile(split, matrix), parts, dimensions);
  return ReshapeOp::create(b, matrix.getLoc(), plainTile(shape, matrix), moved);
}

/// Whether the tile is loaded in the same block, or comes from outside of it.
static bool isReadAsItIs(Value tile, Block *block) {
  if (auto trans = tile.getDefiningOp<TransOp>())
    tile = trans.getSrc();
  return tile.getParentBlock() != block || tile.getDefiningOp<LoadOp>();
}

/// The number of the loop's carried value that only this matmul adds to; nothing where there is none.
static std::optional<unsigned> carriedSum(DotOp dot) {
  auto sum = dyn_cast<BlockArgument>(dot.getC());
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!loop || !sum || sum.getOwner() != loop.getBody() || sum.getArgNumber() == 0 || !sum.hasOneUse() ||
      !dot->hasOneUse())
    return std::nullopt;
  unsigned number = sum.getArgNumber() - 1;
  return loop.getYieldedValues()[number] == dot.getD() ? std::optional(number) : std::nullopt;
}

namespace {
/// How a matmul is to be computed.
struct MatmulForm {
  bool isSwapped = false; ///< the transposed one
  RowOrder order = {};    ///< of its rows; empty: as they are

  Value left(OpBuilder &b, DotOp dot) const {
    return reordered(b, isSwapped ? transposed(b, dot.getB()) : dot.getA(), order, false);
  }
  Value right(OpBuilder &b, DotOp dot) const { return isSwapped ? transposed(b, dot.getA()) : dot.getB(); }
  Value sum(OpBuilder &b, Value value) const {
    return reordered(b, isSwapped ? transposed(b, value) : value, order, false);
  }
  Value result(OpBuilder &b, Value value) const {
    Value rows = reordered(b, value, order, true);
    return isSwapped ? transposed(b, rows) : rows;
  }
};
} // namespace

/// The loop carries the value of that number as the matmul has it.
static void carryAs(const MatmulForm &form, scf::ForOp loop, unsigned number) {
  OpBuilder b(loop);
  Value first = form.sum(b, loop.getInitArgs()[number]);
  loop.getInitArgsMutable()[number].set(first);
  loop.getRegionIterArg(number).setType(first.getType());
  Value result = loop.getResult(number);
  auto users = llvm::map_to_vector(result.getUses(), [](OpOperand &use) { return &use; });
  result.setType(first.getType());
  b.setInsertionPointAfter(loop);
  Value back = form.result(b, result);
  for (OpOperand *use : users)
    use->set(back);
}

static void rewriteAs(const MatmulForm &form, DotOp dot) {
  std::optional<unsigned> number = carriedSum(dot);
  OpBuilder b(dot);
  Value left = form.left(b, dot), right = form.right(b, dot);
  Value sum = number ? dot.getC() : form.sum(b, dot.getC());
  if (number)
    carryAs(form, cast<scf::ForOp>(dot->getParentOp()), *number);
  auto made = DotOp::create(b, dot.getLoc(), sum.getType(), left, right, sum, dot.getInputPrecision(),
                            dot.getMaxNumImpreciseAcc());
  dot.getD().replaceAllUsesWith(number ? Value(made.getD()) : form.result(b, made.getD()));
  dot.erase();
}

using DotTest = llvm::function_ref<bool(DotOp)>;

/// What `test` says of the matmul in this form.
static bool holdsFor(const MatmulForm &form, DotOp dot, DotTest test) {
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(dot.getLoc()); // targets and layouts are asked for operations
  OpBuilder b(scratch->getBodyRegion());
  Value left = form.left(b, dot), sum = form.sum(b, dot.getC());
  return test(DotOp::create(b, dot.getLoc(), sum.getType(), left, form.right(b, dot), sum, dot.getInputPrecision(),
                            dot.getMaxNumImpreciseAcc()));
}

// Reads of shared memory by a thread: of contiguous elements that it has, up to 16 bytes at once.
int64_t LayoutAssigner::readsOf(LoadOp load, const LinearLayout &layout) {
  layout::Order order = accesses.chooseAccess(load, threads()).order;
  int64_t run = 1, most = 128 / memoryBits(elementTypeOf(load.getType()));
  for (bool isLonger = !order.empty(); isLonger && run < most;) {
    isLonger = false;
    for (int bit = 0; bit < layout.inputBits(layout::Dim::Register); ++bit)
      isLonger |= layout.basis(layout::Dim::Register, bit, layout::tileDim(order[0])) == run;
    run *= isLonger ? 2 : 1;
  }
  return layout.inputSize(layout::Dim::Register) / run;
}

/// How often a thread reads shared memory for a left operand in registers; nothing where the matmul has none.
std::optional<int64_t> LayoutAssigner::readsOfLeft(DotOp dot) {
  std::optional<LinearLayout> layout;
  if (std::optional<GroupInstruction> group = groupInstruction(dot))
    layout = layoutInRegisters(dot, *group);
  else if (std::optional<MatrixInstruction> instruction = matrixInstruction(dot))
    layout = layoutWhereComputed(dot, 0, *instruction, splitAmongWarps(dot, *instruction));
  if (!layout)
    return std::nullopt;
  int64_t reads = 0;
  for (auto &[load, of] : originOf(dot.getA(), *layout).loads)
    reads += readsOf(load, of);
  return reads;
}

/// Whether warp groups multiply with both operands as copies to shared memory leave them.
bool LayoutAssigner::readsBothInPlace(DotOp dot) {
  bool isWide = elementTypeOf(dot.getA().getType()).getIntOrFloatBitWidth() != 16;
  std::optional<GroupInstruction> group = groupInstruction(dot);
  return group && group->groupsAlongN == 1 && !layoutInRegisters(dot, *group) &&
         (!isWide || (liesAlongK(dot.getA(), 1) && liesAlongK(dot.getB(), 0)));
}

void LayoutAssigner::arrangeOperands() {
  SmallVector<DotOp> dots;
  function.walk([&](DotOp dot) { dots.push_back(dot); });
  for (DotOp dot : dots) {
    bool isBatch = tileOf(dot.getD()).getRank() != 2;
    if (isMadeOfProduct(dot.getA()) || isUsedByRows(dot.getD()))
      continue;
    std::optional<int64_t> reads;
    auto hasLeftInRegisters = [&](DotOp dot) { return bool(reads = readsOfLeft(dot)); };
    MatmulForm form;
    if (!hasLeftInRegisters(dot) && !isBatch && isReadAsItIs(dot.getA(), dot->getBlock())) {
      form.isSwapped = true;
      form.isSwapped = holdsFor(form, dot, hasLeftInRegisters);
      if (!form.isSwapped && !groupInstruction(dot) && isReadAsItIs(dot.getB(), dot->getBlock())) {
        MatmulForm ofFewRows{.isSwapped = true};
        if (holdsFor(ofFewRows, dot, [&](DotOp swapped) { return readsBothInPlace(swapped); })) {
          rewriteAs(ofFewRows, dot);
          continue;
        }
      }
    }
    int64_t before = reads.value_or(INT64_MAX);
    if (before == INT64_MAX && groupInstruction(dot))
      continue;
    MatmulForm inOrder = form;
    bool hasInstruction = holdsFor(form, dot, [&](DotOp made) {
      std::optional<LinearLayout> layout = whereLeftIsRead(made);
      inOrder.order = layout ? registersFirst(*layout) : RowOrder();
      return bool(layout);
    });
    bool isBetter = hasInstruction && holdsFor(inOrder, dot, hasLeftInRegisters) && *reads < before;
    if (isBetter || form.isSwapped)
      rewriteAs(isBetter ? inOrder : form, dot);
  }
}
