// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lattice of axis facts, and the rules of operations that move elements: constants, ranges, shapes, conversions,
// loads. Arithmetic is in AxisArithmetic.cpp.
#include "compiler/analysis/AxisRules.h"
#include "compiler/analysis/AxisArithmetic.h"
#include "compiler/dialects/triton/Triton.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::analysis;

//===-- The lattice ----------------------------------------------------------------------------------------------===//

int64_t analysis::powerIn(int64_t value) {
  return value == 0 ? largestPower : std::min(largestPower, int64_t(uint64_t(value) & -uint64_t(value)) & INT64_MAX);
}

ArrayRef<int64_t> analysis::shapeOf(Type type) {
  static const int64_t one[] = {1};
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile && tile.getRank() ? tile.getShape() : ArrayRef<int64_t>(one);
}

int64_t AxisInfo::divisorAt(int64_t axis, int64_t period) const {
  const Axis &at = axes[axis];
  period = std::max(period, at.constancy); // inside of equals every element is as the first
  return period >= at.contiguity ? at.divisibility : std::min(at.divisibility, period * step);
}

int64_t AxisInfo::divisorOfAll() const {
  int64_t divisor = 1;
  for (int64_t axis = 0; axis < rank(); ++axis)
    divisor = std::max(divisor, divisorAt(axis, 1));
  return divisor;
}

AxisInfo analysis::unknownInfo(Type type) {
  AxisInfo info;
  info.axes.resize(shapeOf(type).size());
  if (auto pointer = dyn_cast<triton::PointerType>(getElementTypeOrSelf(type)))
    info.step = std::max<int64_t>(1, triton::elementBits(pointer.getPointeeType()) / 8);
  return info;
}

AxisInfo analysis::constantInfo(Type type, int64_t value) {
  AxisInfo info = unknownInfo(type);
  for (auto [axis, size] : llvm::zip_equal(info.axes, shapeOf(type)))
    axis = {1, powerIn(value), size};
  info.constant = value;
  info.maybeNegative = value < 0 && !getElementTypeOrSelf(type).isInteger(1);
  return info;
}

AxisInfo analysis::join(Type type, const AxisInfo &left, const AxisInfo &right) {
  AxisInfo info = unknownInfo(type);
  for (int64_t i = 0; i < info.rank(); ++i) {
    Axis &axis = info.axes[i];
    axis.contiguity = std::min(left.axes[i].contiguity, right.axes[i].contiguity);
    axis.constancy = std::min(left.axes[i].constancy, right.axes[i].constancy);
    axis.divisibility = std::min(left.divisorAt(i, axis.contiguity), right.divisorAt(i, axis.contiguity));
  }
  if (left.constant == right.constant)
    info.constant = left.constant;
  info.maybeNegative = left.maybeNegative || right.maybeNegative;
  return info;
}

void analysis::normalise(Type type, AxisInfo &info) {
  Type element = getElementTypeOrSelf(type);
  // Arithmetic modulo 2^width does not break a run that starts at a multiple of its length, but may end below zero.
  int64_t longest = largestPower;
  if (element.isInteger() && element.getIntOrFloatBitWidth() < 32) {
    longest = int64_t(1) << (element.getIntOrFloatBitWidth() - 1);
    info.maybeNegative |= !info.constant;
  }
  for (auto [i, size] : llvm::enumerate(shapeOf(type))) {
    Axis &axis = info.axes[i];
    int64_t length = std::min(axis.contiguity, size);
    if (longest != largestPower)
      length = std::min({length, axis.divisibility, longest});
    axis.divisibility = info.divisorAt(i, length);
    axis.contiguity = length;
    axis.constancy = std::min(axis.constancy, size);
  }
  int64_t divisor = info.divisorOfAll();
  for (Axis &axis : info.axes)
    axis.divisibility = std::max(axis.divisibility, divisor);
}

void analysis::applyHints(DictionaryAttr hints, AxisInfo &info) {
  if (hints.empty())
    return;
  auto apply = [&](StringRef name, int64_t Axis::*field) {
    Attribute hint = hints.get(name);
    if (auto integer = dyn_cast_if_present<IntegerAttr>(hint))
      for (Axis &axis : info.axes)
        axis.*field = powerIn(integer.getInt());
    auto list = dyn_cast_if_present<DenseIntElementsAttr>(hint);
    if (list && list.getNumElements() == info.rank())
      for (auto [axis, value] : llvm::zip(info.axes, list.getValues<APInt>()))
        axis.*field = powerIn(value.getSExtValue());
  };
  apply("tt.divisibility", &Axis::divisibility);
  apply("tt.contiguity", &Axis::contiguity);
  apply("tt.constancy", &Axis::constancy);
}

//===-- Constants and shapes -------------------------------------------------------------------------------------===//

namespace {
using Operands = ArrayRef<const AxisInfo *>;

AxisInfo infoOfConstant(arith::ConstantOp op) {
  Attribute value = op.getValue();
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    value = splat.getSplatValue<Attribute>();
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return constantInfo(op.getType(), integer.getValue().getSExtValue());
  AxisInfo info = unknownInfo(op.getType());
  if (isa<FloatAttr>(value))
    for (auto [axis, size] : llvm::zip_equal(info.axes, shapeOf(op.getType())))
      axis.constancy = size;
  return info;
}

AxisInfo infoOfRange(triton::MakeRangeOp op) {
  int64_t start = op.getStart(), size = shapeOf(op.getType())[0];
  AxisInfo info = unknownInfo(op.getType());
  info.axes[0] = {size, powerIn(start), 1};
  info.maybeNegative = start < 0;
  return info;
}

AxisInfo infoOfSplat(Type type, const AxisInfo &scalar) {
  AxisInfo info = scalar;
  info.axes.clear();
  for (int64_t size : shapeOf(type))
    info.axes.push_back({1, scalar.divisorOfAll(), size});
  return info;
}

AxisInfo infoOfExpandDims(triton::ExpandDimsOp op, const AxisInfo &source) {
  AxisInfo info = source;
  info.axes.insert(info.axes.begin() + op.getAxis(), Axis{1, source.divisorOfAll(), 1});
  return info;
}

AxisInfo infoOfBroadcast(triton::BroadcastOp op, const AxisInfo &source) {
  AxisInfo info = source;
  ArrayRef<int64_t> from = shapeOf(op.getSrc().getType()), to = shapeOf(op.getType());
  for (size_t i = 0; i < to.size(); ++i)
    if (from[i] != to[i])
      info.axes[i] = {1, source.axes[i].divisibility, to[i]};
  return info;
}

AxisInfo infoOfTrans(triton::TransOp op, const AxisInfo &source) {
  AxisInfo info = source;
  for (auto [axis, from] : llvm::zip_equal(info.axes, op.getOrder()))
    axis = source.axes[from];
  return info;
}

// Leading and trailing axes that both shapes have keep their facts, for the others' elements are only renumbered. Of
// what is between, runs along the fastest axis remain as far as they fit into both.
AxisInfo infoOfReshape(triton::ReshapeOp op, const AxisInfo &source) {
  ArrayRef<int64_t> from = shapeOf(op.getSrc().getType()), to = shapeOf(op.getType());
  AxisInfo info = source;
  info.axes.assign(to.size(), Axis{1, source.divisorOfAll(), 1});
  if (op.getAllowReorder())
    return info;
  size_t front = 0, backFrom = from.size(), backTo = to.size();
  for (; front < std::min(backFrom, backTo) && from[front] == to[front]; ++front)
    info.axes[front] = source.axes[front];
  for (; backFrom > front && backTo > front && from[backFrom - 1] == to[backTo - 1]; --backFrom, --backTo)
    info.axes[backTo - 1] = source.axes[backFrom - 1];
  if (backFrom == front || backTo == front)
    return info;
  const Axis &old = source.axes[backFrom - 1];
  int64_t size = to[backTo - 1], length = std::min(old.contiguity, size);
  info.axes[backTo - 1] = {length, source.divisorAt(backFrom - 1, length), std::min(old.constancy, size)};
  return info;
}

AxisInfo infoOfJoin(triton::JoinOp op, const AxisInfo &left, const AxisInfo &right) {
  AxisInfo info = join(op.getLhs().getType(), left, right);
  info.axes.push_back({1, info.divisorOfAll(), 1});
  return info;
}

AxisInfo infoOfLoad(triton::LoadOp op, Operands operands) {
  AxisInfo info = unknownInfo(op.getType());
  if (op.isVolatileAccess() || triton::isBlockPointer(op.getPtr().getType()))
    return info;
  for (int64_t i = 0; i < info.rank(); ++i) {
    info.axes[i].constancy = operands[0]->axes[i].constancy;
    for (const AxisInfo *operand : operands)
      info.axes[i].constancy = std::min(info.axes[i].constancy, operand->axes[i].constancy);
  }
  return info;
}

//===-- Conversions ----------------------------------------------------------------------------------------------===//

AxisInfo withoutContiguity(AxisInfo info, int64_t step) {
  for (int64_t i = 0; i < info.rank(); ++i) {
    info.axes[i].divisibility = info.divisorAt(i, 1);
    info.axes[i].contiguity = 1;
  }
  info.step = step;
  return info;
}

// Conversions between integers, between pointers, and between both. Floats keep only their equals.
AxisInfo infoOfConversion(OpResult result, const AxisInfo &source) {
  Type to = getElementTypeOrSelf(result.getType()),
       from = getElementTypeOrSelf(result.getOwner()->getOperand(0).getType());
  AxisInfo target = unknownInfo(result.getType());
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  AxisInfo info = source;
  if (fromFloat || toFloat || source.step != target.step)
    info = withoutContiguity(source, target.step);
  if (fromFloat || toFloat) {
    for (Axis &axis : info.axes)
      axis.divisibility = 1;
    info.constant.reset(), info.maybeNegative = false;
  }
  if (isa<triton::PointerType>(to))
    info.constant.reset(), info.maybeNegative = false;
  return info;
}

AxisInfo infoOfExtension(OpResult result, const AxisInfo &source, bool isSigned) {
  AxisInfo info = source;
  if (isSigned)
    return info;
  unsigned width = triton::elementBits(getElementTypeOrSelf(result.getOwner()->getOperand(0).getType()));
  if (info.constant && width && width < 64)
    info.constant = *info.constant & ((int64_t(1) << width) - 1);
  // A run across zero would jump by 2^width.
  for (int64_t i = 0; info.maybeNegative && i < info.rank(); ++i) {
    int64_t length = std::min(info.axes[i].contiguity, info.axes[i].divisibility);
    info.axes[i].divisibility = info.divisorAt(i, length);
    info.axes[i].contiguity = length;
  }
  info.maybeNegative = false;
  return info;
}

AxisInfo infoOfTruncation(OpResult result, const AxisInfo &source) {
  AxisInfo info = source;
  unsigned width = triton::elementBits(getElementTypeOrSelf(result.getType()));
  if (info.constant && width && width < 64)
    return constantInfo(result.getType(), llvm::SignExtend64(*info.constant, width));
  return info;
}

// An operation on single elements gives equals where all operands have equals.
AxisInfo infoOfElementwise(OpResult result, Operands operands) {
  AxisInfo info = unknownInfo(result.getType());
  Operation *op = result.getOwner();
  bool pure = op->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(op) && !op->getOperands().empty();
  if (!pure || isa<triton::ElementwiseInlineAsmOp>(op))
    return info;
  for (int64_t i = 0; i < info.rank(); ++i) {
    info.axes[i].constancy = largestPower;
    for (const AxisInfo *operand : operands)
      if (operand->rank() == info.rank())
        info.axes[i].constancy = std::min(info.axes[i].constancy, operand->axes[i].constancy);
  }
  return info;
}
} // namespace

std::optional<AxisInfo> analysis::computeInfo(OpResult result, Operands operands) {
  Operation *op = result.getOwner();
  if (isa<ub::PoisonOp>(op))
    return std::nullopt;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return infoOfSelect(select, operands);
  // Poison makes poison of what is computed from it, but not of what memory holds.
  if (llvm::is_contained(operands, nullptr))
    return isMemoryEffectFree(op) ? std::nullopt : std::optional(unknownInfo(result.getType()));
  if (std::optional<AxisInfo> info = infoOfArithmetic(result, operands))
    return info;
  Type type = result.getType();
  return llvm::TypeSwitch<Operation *, AxisInfo>(op)
      .Case([&](arith::ConstantOp op) { return infoOfConstant(op); })
      .Case([&](triton::MakeRangeOp op) { return infoOfRange(op); })
      .Case<triton::SplatOp, triton::UnsplatOp>([&](auto) { return infoOfSplat(type, *operands[0]); })
      .Case([&](triton::ExpandDimsOp op) { return infoOfExpandDims(op, *operands[0]); })
      .Case([&](triton::BroadcastOp op) { return infoOfBroadcast(op, *operands[0]); })
      .Case([&](triton::TransOp op) { return infoOfTrans(op, *operands[0]); })
      .Case([&](triton::ReshapeOp op) { return infoOfReshape(op, *operands[0]); })
      .Case([&](triton::JoinOp op) { return infoOfJoin(op, *operands[0], *operands[1]); })
      .Case([&](triton::SplitOp op) {
        AxisInfo info = *operands[0];
        int64_t divisor = info.divisorOfAll();
        info.axes.pop_back();
        if (info.axes.empty())
          info.axes.push_back({1, divisor, 1});
        return info;
      })
      .Case([&](triton::LoadOp op) { return infoOfLoad(op, operands); })
      .Case<triton::BitcastOp, arith::BitcastOp, triton::PtrToIntOp, triton::IntToPtrOp>(
          [&](auto) { return infoOfConversion(result, *operands[0]); })
      .Case<arith::ExtSIOp, arith::IndexCastOp>([&](auto) { return infoOfExtension(result, *operands[0], true); })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](auto) { return infoOfExtension(result, *operands[0], false); })
      .Case([&](arith::TruncIOp) { return infoOfTruncation(result, *operands[0]); })
      .Default([&](Operation *) { return infoOfElementwise(result, operands); });
}
