// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands of warp-group MMA that are computed from loaded tiles, as dequantised weights are. Every thread computes the
// elements that it multiplies: what is exchanged among threads is the loaded tile, which a pipelined loop has in shared
// memory anyway, and not the operand. The instruction takes its left operand from registers; where the right one is
// computed, the transposed matmul has it on the left.
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
  bool readsLoads = false;
  bool computes = false; ///< elements, from what is loaded
};
} // namespace

/// Of a tile in this layout.
static Origin originOf(Value value, const LinearLayout &layout) {
  if (!isa<RankedTensorType>(value.getType()))
    return {};
  value = withoutConversion(value);
  Operation *op = value.getDefiningOp();
  if (op && isa<LoadOp>(op))
    return {.readsLoads = true};
  // Joined tiles alternate: threads can join them where they have both.
  bool canBeMade =
      op && (isa<JoinOp>(op) ? layout::staysInRegisters(layout, int(layout.outputs().size()) - 1) : hasAnyLayout(op));
  if (!canBeMade)
    return {.isKnown = false};
  Origin origin;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    Origin of = originOf(operand.get(), operandLayout(op, operand.getOperandNumber(), layout));
    if (!of.isKnown)
      return of;
    origin.readsLoads |= of.readsLoads;
    origin.computes |= of.computes;
  }
  origin.computes |= origin.readsLoads && op->hasTrait<mlir::OpTrait::Elementwise>();
  return origin;
}

static layout::LinearLayout leftLayout(RankedTensorType left, const GroupInstruction &group) {
  return layout::wgmmaOperand({left.getShape().begin(), left.getShape().end()},
                              {4 * group.groupsAlongM, group.groupsAlongN}, 32 / left.getElementTypeBitWidth());
}

// With several groups along N, each would compute all of the operand.
std::optional<LinearLayout> LayoutAssigner::layoutInRegisters(Value left, const GroupInstruction &group) {
  LinearLayout layout = leftLayout(tileOf(left), group);
  if (isMadeOfProduct(left))
    return layout;
  bool isComputed = group.groupsAlongN == 1 && originOf(left, layout).computes;
  return isComputed ? std::optional(layout) : std::nullopt;
}

Value LayoutAssigner::computeIn(Value value, const LinearLayout &layout) {
  value = withoutConversion(value);
  Operation *op = value.getDefiningOp();
  if (isa<LoadOp>(op) || !own(value) || *own(value) == layout)
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

//===-- Right operands -------------------------------------------------------------------------------------------===//

static Value transposed(OpBuilder &b, Value matrix) {
  auto tile = cast<RankedTensorType>(matrix.getType());
  auto type = RankedTensorType::get({tile.getDimSize(1), tile.getDimSize(0)}, tile.getElementType());
  return TransOp::create(b, matrix.getLoc(), type, matrix, ArrayRef<int32_t>{1, 0});
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

/// The loop carries the transposed value of that number.
static void transposeCarried(scf::ForOp loop, unsigned number) {
  OpBuilder b(loop);
  Value first = transposed(b, loop.getInitArgs()[number]);
  loop.getInitArgsMutable()[number].set(first);
  loop.getRegionIterArg(number).setType(first.getType());
  Value result = loop.getResult(number);
  result.setType(first.getType());
  b.setInsertionPointAfter(loop);
  Value back = transposed(b, result);
  result.replaceAllUsesExcept(back, back.getDefiningOp());
}

void LayoutAssigner::swapOperands(FuncOp function, const GpuTarget &target, int warps) {
  SmallVector<DotOp> dots;
  function.walk([&](DotOp dot) { dots.push_back(dot); });
  for (DotOp dot : dots) {
    if (tileOf(dot.getD()).getRank() != 2 || isMadeOfProduct(dot.getA()) || isUsedByRows(dot.getD()) ||
        !isReadAsItIs(dot.getA(), dot->getBlock()))
      continue;
    std::optional<unsigned> number = carriedSum(dot);
    OpBuilder b(dot);
    Value left = transposed(b, dot.getB()), right = transposed(b, dot.getA());
    Value sum = transposed(b, dot.getC());
    auto made = DotOp::create(b, dot.getLoc(), sum.getType(), left, right, sum, dot.getInputPrecision(),
                              dot.getMaxNumImpreciseAcc());
    std::optional<GroupInstruction> group = target.groupInstruction(made, warps);
    if (!group || group->groupsAlongN != 1 || !originOf(left, leftLayout(tileOf(left), *group)).computes) {
      for (Value value : {Value(made.getD()), sum, right, left})
        value.getDefiningOp()->erase();
      continue;
    }
    if (number) {
      auto loop = cast<scf::ForOp>(dot->getParentOp());
      Value carried = dot.getC();
      dot.getD().replaceAllUsesWith(made.getD());
      dot.erase();
      sum.replaceAllUsesWith(carried);
      sum.getDefiningOp()->erase();
      transposeCarried(loop, *number);
    } else {
      Value back = transposed(b, made.getD());
      dot.getD().replaceAllUsesWith(back);
      dot.erase();
    }
  }
}
