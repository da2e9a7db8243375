// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts that Gluon leaves to the compiler. `#gluon.auto_encoding`: `gluon.set_auto_layout` says what the layout is
// where the tile is used, and what computes the tile is computed again in that layout. `#gluon.coalesced_encoding`:
// what adjacent lanes access is contiguous, by the analysis of each load's and store's addresses.
#include "compiler/analysis/Access.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/layout/Axes.h"
#include "compiler/lowering/ttg_to_simt/EncodingLayouts.h"
#include "compiler/lowering/ttg_to_simt/TtgToSimt.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
namespace ttg = heddle::triton::gpu;
namespace tt = heddle::triton;

namespace {

RankedTensorType tileOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

bool isOpen(Value value) {
  RankedTensorType tile = tileOf(value);
  return tile && ttg::isUnresolved(tile.getEncoding());
}

/// The open layout itself, or a slice of it.
bool isCoalesced(Attribute encoding) {
  while (auto slice = dyn_cast<ttg::SliceAttr>(encoding))
    encoding = slice.getParent();
  return isa<tt::gluon::CoalescedEncodingAttr>(encoding);
}

RankedTensorType withEncoding(RankedTensorType tile, Attribute encoding) {
  return RankedTensorType::get(tile.getShape(), tile.getElementType(), encoding);
}

void setEncoding(Value value, Attribute encoding) {
  value.setType(withEncoding(tileOf(value), encoding));
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).reshape(tileOf(value)));
}

Attribute linearEncoding(MLIRContext *context, const layout::LinearLayout &layout) {
  auto of = [&](layout::Dim dim) {
    SmallVector<int64_t> bases;
    for (const layout::LinearLayout::Input &input : layout.inputs())
      if (input.dim == dim)
        for (const std::vector<int64_t> &basis : input.bases)
          llvm::append_range(bases, basis);
    return bases;
  };
  return ttg::LinearAttr::get(context, of(layout::Dim::Register), of(layout::Dim::Lane), of(layout::Dim::Warp),
                              int64_t(layout.outputs().size()));
}

/// The encoding of a tile of which each thread makes its elements of `result`'s tile, which is in `encoding`: `change`
/// says how the layout of the one follows from the other's. Null where the layout is none.
Attribute followed(Value result, Attribute encoding, BlockThreads threads,
                   llvm::function_ref<layout::LinearLayout(const layout::LinearLayout &)> change) {
  auto quietly = [&] { return InFlightDiagnostic(); };
  FailureOr<layout::LinearLayout> layout = tileLayout(encoding, tileOf(result).getShape(), threads, quietly);
  return failed(layout) ? Attribute() : linearEncoding(encoding.getContext(), change(*layout));
}

layout::Shape shapeOf(Value tile) {
  ArrayRef<int64_t> shape = tileOf(tile).getShape();
  return {shape.begin(), shape.end()};
}

/// The encoding of an operand from which `op` makes a result in `encoding`; null where none follows.
Attribute needed(Operation *op, Attribute encoding, BlockThreads threads) {
  if (auto reshape = dyn_cast<tt::ReshapeOp>(op))
    return followed(reshape.getResult(), encoding, threads, [&](const layout::LinearLayout &layout) {
      return layout::reshape(layout, shapeOf(reshape.getSrc()));
    });
  if (auto expand = dyn_cast<tt::ExpandDimsOp>(op))
    return ttg::SliceAttr::get(op->getContext(), expand.getAxis(), encoding);
  if (auto trans = dyn_cast<tt::TransOp>(op)) {
    auto blocked = dyn_cast<ttg::BlockedAttr>(encoding);
    if (!blocked)
      return followed(trans.getResult(), encoding, threads, [&](const layout::LinearLayout &layout) {
        ArrayRef<int32_t> axes = trans.getOrder();
        return layout::permuteAxes(layout, layout::inverseOrder({axes.begin(), axes.end()}));
      });
    ArrayRef<int32_t> order = trans.getOrder();
    auto back = [&](ArrayRef<int64_t> numbers) {
      SmallVector<int64_t> result(numbers.size());
      for (auto [axis, was] : llvm::enumerate(order))
        result[size_t(was)] = numbers[axis];
      return result;
    };
    SmallVector<int64_t> axes;
    for (int64_t axis : blocked.getOrder())
      axes.push_back(order[size_t(axis)]);
    return ttg::BlockedAttr::get(op->getContext(), back(blocked.getSizePerThread()), back(blocked.getThreadsPerWarp()),
                                 back(blocked.getWarpsPerCTA()), axes);
  }
  bool follows = op->hasTrait<OpTrait::Elementwise>() || isa<tt::BroadcastOp, arith::SelectOp>(op) ||
                 op->getName().getDialectNamespace() == "arith" || op->getName().getDialectNamespace() == "math";
  return follows ? encoding : Attribute();
}

class Resolver {
public:
  Resolver(tt::FuncOp function, const TtgModule &about) : function(function), about(about), facts(function) {}

  LogicalResult run() {
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) // what is loaded first: others follow it
      if (isa<tt::LoadOp>(op) && failed(visitAccess(op)))
        return failure();
    for (Operation *op : ops)
      if (!isa<tt::LoadOp>(op) && failed(visit(op)))
        return failure();
    for (Operation *op : llvm::reverse(ops))
      if (!erased.contains(op) && isOpTriviallyDead(op))
        op->erase();
    return refuseOpen();
  }

private:
  LogicalResult visit(Operation *op) {
    if (isa<tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp>(op))
      return visitAccess(op);
    if (auto set = dyn_cast<tt::gluon::SetAutoLayoutOp>(op); set && !isOpen(set.getResult())) {
      FailureOr<Value> source = get(set.getSrc(), tileOf(set.getResult()).getEncoding());
      if (failed(source))
        return failure();
      set.getResult().replaceAllUsesWith(*source);
      erased.insert(op);
      op->erase();
      return success();
    }
    if (auto convert = dyn_cast<ttg::ConvertLayoutOp>(op)) {
      if (isOpen(convert.getSrc()) && failed(setOperand(op->getOpOperand(0), closest(convert.getSrc()))))
        return failure();
    }
    return success();
  }

  /// All tiles of a load, store or atomic operation through coalesced pointers.
  LogicalResult visitAccess(Operation *op) {
    Value pointer = op->getOperand(0);
    if (!isOpen(pointer) || !isCoalesced(tileOf(pointer).getEncoding()))
      return success();
    Attribute encoding = coalesced(pointer);
    for (OpOperand &operand : op->getOpOperands())
      if (tileOf(operand.get()) && isOpen(operand.get()) && failed(setOperand(operand, encoding)))
        return failure();
    for (Value result : op->getResults())
      if (isOpen(result))
        setEncoding(result, encoding);
    return success();
  }

  LogicalResult setOperand(OpOperand &operand, Attribute encoding) {
    FailureOr<Value> value = get(operand.get(), encoding);
    if (failed(value))
      return failure();
    operand.set(*value);
    return success();
  }

  BlockThreads threadsAt(Value value) { return {about.lanes, ttg::warpsIn(value.getParentRegion(), about.warps)}; }

  Attribute blocked(ArrayRef<int64_t> shape, ArrayRef<int64_t> size, const layout::Order &order, BlockThreads threads) {
    layout::ThreadSplit split = layout::splitThreads({shape.begin(), shape.end()}, {size.begin(), size.end()}, order,
                                                     threads.lanes, threads.warps);
    SmallVector<int64_t> axes(order.begin(), order.end());
    return ttg::BlockedAttr::get(function.getContext(), size, split.lanes, split.warps, axes);
  }

  Attribute coalesced(Value pointer) {
    ArrayRef<int64_t> shape = tileOf(pointer).getShape();
    analysis::Order order = analysis::accessOrder(facts, pointer);
    Type pointee = cast<tt::PointerType>(tileOf(pointer).getElementType()).getPointeeType();
    BlockThreads threads = threadsAt(pointer);
    int64_t share = std::max<int64_t>(1, tileOf(pointer).getNumElements() / (threads.lanes * threads.warps));
    int64_t most = 128 / std::max<int64_t>(8, tt::elementBits(pointee));
    SmallVector<int64_t> size(shape.size(), 1);
    auto fastest = size_t(order[0]);
    size[fastest] = std::min({shape[fastest], share, most, analysis::alignedElements(facts, pointer, Value(), order)});
    return blocked(shape, size, order, threads);
  }

  /// A layout in which what `value` is computed from has been chosen, or the plain one.
  Attribute closest(Value value) {
    SetVector<Value> seen;
    seen.insert(value);
    for (size_t i = 0; i < seen.size(); ++i) {
      if (!isOpen(seen[i]) && tileOf(seen[i]).getShape() == tileOf(value).getShape())
        return tileOf(seen[i]).getEncoding();
      if (Operation *op = seen[i].getDefiningOp())
        for (Value operand : op->getOperands())
          if (tileOf(operand))
            seen.insert(operand);
    }
    ArrayRef<int64_t> shape = tileOf(value).getShape();
    return blocked(shape, SmallVector<int64_t>(shape.size(), 1), layout::rowMajor(shape.size()), threadsAt(value));
  }

  /// `value` in this layout: computed again where that costs no memory access, else converted.
  FailureOr<Value> get(Value value, Attribute encoding) {
    RankedTensorType tile = tileOf(value);
    if (tile.getEncoding() == encoding)
      return value;
    auto found = made.find({value, encoding});
    if (found != made.end())
      return found->second;
    FailureOr<Value> result = make(value, encoding);
    if (succeeded(result))
      made[{value, encoding}] = *result;
    return result;
  }

  FailureOr<Value> make(Value value, Attribute encoding) {
    if (!isOpen(value)) {
      OpBuilder b(value.getContext());
      b.setInsertionPointAfterValue(value);
      return Value(ttg::ConvertLayoutOp::create(b, value.getLoc(), withEncoding(tileOf(value), encoding), value));
    }
    Operation *op = value.getDefiningOp();
    if (auto set = dyn_cast_or_null<tt::gluon::SetAutoLayoutOp>(op))
      return get(set.getSrc(), encoding);
    if (!op || op->getNumRegions() || !isMemoryEffectFree(op) || op->getNumResults() != 1)
      return inPlace(value, encoding);
    OpBuilder b(op);
    Operation *copy = op->clone();
    b.insert(copy);
    copy->getResult(0).setType(withEncoding(tileOf(value), encoding));
    if (isa<arith::ConstantOp>(copy))
      setEncoding(copy->getResult(0), encoding);
    for (OpOperand &operand : copy->getOpOperands())
      if (tileOf(operand.get())) {
        Attribute inner = needed(op, encoding, threadsAt(value));
        if (!inner)
          return op->emitOpError(
              "has a layout that is left to the compiler and does not follow from its use; give one");
        if (failed(setOperand(operand, inner)))
          return failure();
      }
    return copy->getResult(0);
  }

  /// Of a loop, a branch, a load or a reduction: the first use decides.
  FailureOr<Value> inPlace(Value value, Attribute encoding) {
    setEncoding(value, encoding);
    auto tieAll = [&](std::initializer_list<OpOperand *> operands, ArrayRef<Value> values) -> FailureOr<Value> {
      for (Value other : values)
        if (isOpen(other))
          setEncoding(other, encoding);
      for (OpOperand *operand : operands)
        if (failed(setOperand(*operand, encoding)))
          return failure();
      return value;
    };
    auto ofLoop = [&](scf::ForOp loop, unsigned number) {
      return tieAll({&loop.getInitArgsMutable()[number], &(*loop.getYieldedValuesMutable())[number]},
                    {loop.getResult(number), loop.getRegionIterArg(number)});
    };
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (loop && argument.getArgNumber() > 0)
        return ofLoop(loop, argument.getArgNumber() - 1);
    } else if (auto loop = dyn_cast<scf::ForOp>(value.getDefiningOp())) {
      return ofLoop(loop, cast<OpResult>(value).getResultNumber());
    } else if (auto branch = dyn_cast<scf::IfOp>(value.getDefiningOp())) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      return tieAll({&branch.thenYield()->getOpOperand(number), &branch.elseYield()->getOpOperand(number)}, {});
    } else if (auto reduce = dyn_cast<tt::ReduceOp>(value.getDefiningOp())) {
      auto slice = dyn_cast<ttg::SliceAttr>(encoding);
      if (slice && slice.getDim() == int64_t(reduce.getAxis())) {
        for (Value result : reduce->getResults())
          setEncoding(result, encoding);
        for (OpOperand &operand : reduce->getOpOperands())
          if (failed(setOperand(operand, slice.getParent())))
            return failure();
        return value;
      }
    } else if (auto split = dyn_cast<tt::SplitOp>(value.getDefiningOp())) {
      if (Attribute joined = followed(value, encoding, threadsAt(value), layout::joinTiles)) {
        for (Value result : split->getResults())
          setEncoding(result, encoding);
        return failed(setOperand(split->getOpOperand(0), joined)) ? FailureOr<Value>() : value;
      }
    } else if (isa<tt::LoadOp>(value.getDefiningOp())) {
      for (OpOperand &operand : value.getDefiningOp()->getOpOperands())
        if (tileOf(operand.get()) && failed(setOperand(operand, encoding)))
          return failure();
      return value;
    }
    return emitError(value.getLoc()) << "a layout that is left to the compiler does not follow from its use; give one";
  }

  LogicalResult refuseOpen() {
    WalkResult result = function.walk([&](Operation *op) {
      for (Value value : op->getResults())
        if (isOpen(value)) {
          op->emitOpError() << "leaves the layout of " << value.getType()
                            << " to the compiler, and no use says which; give one, or use `gl.set_auto_layout`";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  tt::FuncOp function;
  const TtgModule &about;
  analysis::AxisAnalysis facts;
  DenseMap<std::pair<Value, Attribute>, Value> made;
  DenseSet<Operation *> erased;
};

} // namespace

LogicalResult simt::resolveLayouts(ModuleOp module, const TtgModule &about) {
  int count = 0;
  tt::FuncOp function = tt::findKernel(module, count);
  if (!function)
    return module.emitError() << "expected one public 'tt.func', found " << count;
  bool any = false;
  function.walk(
      [&](Operation *op) { any |= llvm::any_of(op->getResults(), isOpen) || isa<tt::gluon::SetAutoLayoutOp>(op); });
  return any ? Resolver(function, about).run() : success();
}
