// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer arithmetic on axis facts. Most rules rest on one picture: a run that counts up from a multiple of g, met by a
// value that is one multiple of g all along, behaves as a block (`alignedGroup`).
#include "compiler/analysis/AxisArithmetic.h"
#include "compiler/analysis/AxisRules.h"
#include "compiler/dialects/triton/Triton.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::analysis;

namespace {
/// A binary operation and what is known about its operands.
struct Binary {
  Type type; ///< of the result
  const AxisInfo &left, &right;

  /// Facts that hold for every function of both elements: equals.
  AxisInfo equals() const {
    AxisInfo info = unknownInfo(type);
    for (int64_t i = 0; i < info.rank(); ++i)
      info.axes[i].constancy = std::min(left.axes[i].constancy, right.axes[i].constancy);
    return info;
  }
  /// Divides sums and differences at the starts of runs of `length`.
  int64_t commonDivisor(int64_t axis, int64_t length) const {
    return std::min(left.divisorAt(axis, length), right.divisorAt(axis, length));
  }
};

int64_t multiplyPowers(int64_t left, int64_t right) {
  return left > largestPower / right ? largestPower : left * right;
}

// The largest period in which `run` counts up from a multiple of the period while `level` is one multiple of it.
int64_t alignedGroup(const AxisInfo &run, const AxisInfo &level, int64_t axis) {
  const Axis &of = run.axes[axis];
  int64_t constancy = level.axes[axis].constancy;
  return std::min({of.contiguity, of.divisibility, constancy, level.divisorAt(axis, constancy)});
}

int64_t alignedGroup(const AxisInfo &run, int64_t constant, int64_t axis) {
  return std::min({run.axes[axis].contiguity, run.axes[axis].divisibility, powerIn(constant)});
}

bool isConstant(const AxisInfo &info, int64_t value) {
  return info.constant == value;
}

//===-- Sums and products ----------------------------------------------------------------------------------------===//

AxisInfo infoOfAdd(const Binary &op) {
  AxisInfo info = op.equals();
  for (int64_t i = 0; i < info.rank(); ++i) {
    const Axis &left = op.left.axes[i], &right = op.right.axes[i];
    int64_t length = std::max(std::min(left.constancy, right.contiguity), std::min(left.contiguity, right.constancy));
    info.axes[i].contiguity = length;
    info.axes[i].divisibility = op.commonDivisor(i, length);
  }
  info.maybeNegative = op.left.maybeNegative || op.right.maybeNegative;
  return info;
}

AxisInfo infoOfSub(const Binary &op) {
  AxisInfo info = op.equals();
  for (int64_t i = 0; i < info.rank(); ++i) {
    int64_t length = std::min(op.left.axes[i].contiguity, op.right.axes[i].constancy);
    info.axes[i].contiguity = length;
    info.axes[i].divisibility = op.commonDivisor(i, length);
  }
  info.maybeNegative = true;
  return info;
}

AxisInfo infoOfAddPtr(Type type, const AxisInfo &pointer, AxisInfo offset) {
  AxisInfo bytes = unknownInfo(type);
  offset.step = bytes.step;
  for (Axis &axis : offset.axes)
    axis.divisibility = multiplyPowers(axis.divisibility, bytes.step);
  AxisInfo info = infoOfAdd({type, pointer, offset});
  info.maybeNegative = false;
  return info;
}

AxisInfo infoOfMul(const Binary &op) {
  if (isConstant(op.left, 0) || isConstant(op.right, 0))
    return constantInfo(op.type, 0);
  if (isConstant(op.right, 1) || isConstant(op.left, 1))
    return isConstant(op.right, 1) ? op.left : op.right;
  AxisInfo info = op.equals();
  for (int64_t i = 0; i < info.rank(); ++i)
    info.axes[i].divisibility = multiplyPowers(op.left.divisorAt(i, 1), op.right.divisorAt(i, 1));
  info.maybeNegative = op.left.maybeNegative || op.right.maybeNegative;
  return info;
}

//===-- Division and shifts --------------------------------------------------------------------------------------===//

// `floors`: the quotient is rounded down also for a negative dividend, or there is no evidence of one.
AxisInfo infoOfDiv(const Binary &op, bool floors) {
  if (isConstant(op.right, 1))
    return op.left;
  AxisInfo info = op.equals();
  int64_t divisor = op.right.constant.value_or(0);
  bool isPower = divisor > 0 && llvm::isPowerOf2_64(divisor);
  for (int64_t i = 0; i < info.rank(); ++i) {
    // A group's quotients are that of its first element.
    int64_t group = floors ? alignedGroup(op.left, op.right, i) : 1;
    info.axes[i].constancy = std::max(info.axes[i].constancy, group);
    if (isPower)
      info.axes[i].divisibility = std::max<int64_t>(1, op.left.divisorAt(i, group) / divisor);
  }
  info.maybeNegative = op.left.maybeNegative;
  return info;
}

AxisInfo infoOfRem(const Binary &op, bool floors) {
  if (isConstant(op.right, 1))
    return constantInfo(op.type, 0);
  AxisInfo info = op.equals();
  for (int64_t i = 0; i < info.rank(); ++i) {
    int64_t group = floors ? alignedGroup(op.left, op.right, i) : 1;
    info.axes[i].contiguity = group;
    info.axes[i].divisibility = op.commonDivisor(i, group);
  }
  info.maybeNegative = op.left.maybeNegative;
  return info;
}

AxisInfo infoOfShl(const Binary &op) {
  if (isConstant(op.right, 0))
    return op.left;
  AxisInfo info = op.equals();
  int64_t amount = op.right.constant.value_or(0);
  int64_t factor = amount > 0 && amount < 62 ? int64_t(1) << amount : 1;
  for (int64_t i = 0; i < info.rank(); ++i)
    info.axes[i].divisibility = multiplyPowers(op.left.divisorAt(i, 1), factor);
  info.maybeNegative = op.left.maybeNegative;
  return info;
}

AxisInfo infoOfShr(const Binary &op, bool isSigned) {
  int64_t amount = op.right.constant.value_or(-1);
  AxisInfo info = op.equals();
  if (amount >= 0 && amount < 62)
    info = infoOfDiv({op.type, op.left, constantInfo(op.type, int64_t(1) << amount)}, /*floors=*/true);
  info.maybeNegative = op.left.maybeNegative && (isSigned || amount == 0);
  return info;
}

//===-- Bits -----------------------------------------------------------------------------------------------------===//

// With C = ..0111 the low bits of an aligned run go through, with C = ..1000 they are cut off and equals remain.
AxisInfo infoOfAnd(const Binary &op) {
  if (isConstant(op.left, 0) || isConstant(op.right, 0))
    return constantInfo(op.type, 0);
  AxisInfo info = op.equals();
  for (int64_t i = 0; i < info.rank(); ++i) {
    Axis &axis = info.axes[i];
    for (auto [run, mask] : {std::pair(&op.left, &op.right), std::pair(&op.right, &op.left)})
      if (mask->constant) {
        axis.contiguity = std::max(axis.contiguity, alignedGroup(*run, ~*mask->constant, i));
        axis.constancy = std::max(axis.constancy, alignedGroup(*run, *mask->constant, i));
      }
    axis.divisibility = std::max(op.left.divisorAt(i, axis.contiguity), op.right.divisorAt(i, axis.contiguity));
  }
  info.maybeNegative = op.left.maybeNegative && op.right.maybeNegative;
  return info;
}

// An aligned run met by a value that has zeros in the bits that count is a sum (or) or a sum after a change of the high
// bits (xor). Ones in these bits cover the run (or).
AxisInfo infoOfOr(const Binary &op, bool exclusive) {
  if (isConstant(op.left, 0) || isConstant(op.right, 0)) // keeps also a run that is not aligned
    return isConstant(op.right, 0) ? op.left : op.right;
  AxisInfo info = op.equals();
  for (int64_t i = 0; i < info.rank(); ++i) {
    Axis &axis = info.axes[i];
    axis.contiguity = std::max(alignedGroup(op.left, op.right, i), alignedGroup(op.right, op.left, i));
    for (auto [run, mask] : {std::pair(&op.left, &op.right), std::pair(&op.right, &op.left)})
      if (mask->constant && !exclusive)
        axis.constancy = std::max(axis.constancy, alignedGroup(*run, ~*mask->constant, i));
    axis.divisibility = op.commonDivisor(i, axis.contiguity);
  }
  info.maybeNegative = op.left.maybeNegative || op.right.maybeNegative;
  return info;
}

//===-- Comparisons and choices ----------------------------------------------------------------------------------===//

// All of an aligned run is less than a multiple of the group's length, or none is; `run <= level` is `run < level + 1`.
int64_t comparedGroup(const AxisInfo &run, const AxisInfo &level, bool orEqual, int64_t axis) {
  if (!orEqual)
    return alignedGroup(run, level, axis);
  return level.constant ? alignedGroup(run, int64_t(uint64_t(*level.constant) + 1), axis) : 1;
}

AxisInfo infoOfCompare(arith::CmpIPredicate predicate, const Binary &op) {
  using P = arith::CmpIPredicate;
  AxisInfo info = op.equals();
  bool less = llvm::is_contained({P::slt, P::ult, P::sge, P::uge}, predicate);
  bool lessEqual = llvm::is_contained({P::sle, P::ule, P::sgt, P::ugt}, predicate);
  bool isUnsigned = llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, predicate);
  bool crossesZero = isUnsigned && (op.left.maybeNegative || op.right.maybeNegative);
  for (int64_t i = 0; i < info.rank(); ++i) {
    int64_t &constancy = info.axes[i].constancy;
    if (less || lessEqual) {
      constancy = std::max(constancy, comparedGroup(op.left, op.right, lessEqual, i));
      constancy = std::max(constancy, comparedGroup(op.right, op.left, less, i));
    }
    // Two runs keep their distance.
    if (!crossesZero)
      constancy = std::max(constancy, std::min(op.left.axes[i].contiguity, op.right.axes[i].contiguity));
  }
  return info;
}

AxisInfo infoOfMinMax(const Binary &op, bool isMaximum, bool isUnsigned) {
  AxisInfo info = join(op.type, op.left, op.right);
  bool crossesZero = isUnsigned && (op.left.maybeNegative || op.right.maybeNegative);
  for (int64_t i = 0; crossesZero && i < info.rank(); ++i) {
    info.axes[i].divisibility = info.divisorAt(i, 1);
    info.axes[i].contiguity = 1;
  }
  if (isMaximum && !isUnsigned)
    info.maybeNegative = op.left.maybeNegative && op.right.maybeNegative;
  return info;
}

//===-- Known constants ------------------------------------------------------------------------------------------===//

std::optional<int64_t> foldQuotient(Operation *op, int64_t left, int64_t right) {
  // Signed and unsigned agree where both are positive.
  if (left < 0 || right <= 0)
    return std::nullopt;
  return isa<arith::DivSIOp, arith::DivUIOp>(op) ? left / right : left % right;
}

std::optional<int64_t> foldShift(Operation *op, int64_t left, int64_t right, unsigned width) {
  if (right < 0 || right >= width)
    return std::nullopt;
  if (isa<arith::ShLIOp>(op))
    return int64_t(uint64_t(left) << right);
  if (isa<arith::ShRUIOp>(op) && left < 0)
    return std::nullopt;
  return left >> right;
}

std::optional<int64_t> foldConstants(Operation *op, int64_t left, int64_t right, unsigned width) {
  using Result = std::optional<int64_t>;
  bool sameOrder = left >= 0 && right >= 0;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::AddIOp) { return int64_t(uint64_t(left) + uint64_t(right)); })
      .Case([&](arith::SubIOp) { return int64_t(uint64_t(left) - uint64_t(right)); })
      .Case([&](arith::MulIOp) { return int64_t(uint64_t(left) * uint64_t(right)); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return foldQuotient(op, left, right); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](auto) { return foldShift(op, left, right, width); })
      .Case([&](arith::AndIOp) { return left & right; })
      .Case([&](arith::OrIOp) { return left | right; })
      .Case([&](arith::XOrIOp) { return left ^ right; })
      .Case([&](arith::MinSIOp) { return std::min(left, right); })
      .Case([&](arith::MaxSIOp) { return std::max(left, right); })
      .Case([&](arith::MinUIOp) { return sameOrder ? Result(std::min(left, right)) : std::nullopt; })
      .Case([&](arith::MaxUIOp) { return sameOrder ? Result(std::max(left, right)) : std::nullopt; })
      .Default([](Operation *) { return std::nullopt; });
}
} // namespace

std::optional<AxisInfo> analysis::infoOfArithmetic(OpResult result, ArrayRef<const AxisInfo *> operands) {
  Operation *op = result.getOwner();
  if (operands.size() != 2 || op->getNumResults() != 1)
    return std::nullopt;
  const AxisInfo &left = *operands[0], &right = *operands[1];
  Type type = result.getType();
  if (left.constant && right.constant && !isa<arith::CmpIOp>(op)) {
    unsigned width = std::max(1u, triton::elementBits(getElementTypeOrSelf(op->getOperand(0).getType())));
    width = getElementTypeOrSelf(type).isIndex() ? 64 : width;
    if (std::optional<int64_t> value = foldConstants(op, *left.constant, *right.constant, width))
      return constantInfo(type, llvm::SignExtend64(*value, width));
  }
  Binary binary{type, left, right};
  using Result = std::optional<AxisInfo>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](triton::AddPtrOp) { return infoOfAddPtr(type, left, right); })
      .Case([&](arith::AddIOp) { return infoOfAdd(binary); })
      .Case([&](arith::SubIOp) { return infoOfSub(binary); })
      .Case([&](arith::MulIOp) { return infoOfMul(binary); })
      .Case([&](arith::DivSIOp) { return infoOfDiv(binary, !left.maybeNegative); })
      .Case<arith::DivUIOp, arith::FloorDivSIOp>([&](auto) { return infoOfDiv(binary, true); })
      .Case([&](arith::RemSIOp) { return infoOfRem(binary, !left.maybeNegative); })
      .Case([&](arith::RemUIOp) { return infoOfRem(binary, true); })
      .Case([&](arith::ShLIOp) { return infoOfShl(binary); })
      .Case([&](arith::ShRSIOp) { return infoOfShr(binary, true); })
      .Case([&](arith::ShRUIOp) { return infoOfShr(binary, false); })
      .Case([&](arith::AndIOp) { return infoOfAnd(binary); })
      .Case([&](arith::OrIOp) { return infoOfOr(binary, false); })
      .Case([&](arith::XOrIOp) { return infoOfOr(binary, true); })
      .Case([&](arith::CmpIOp op) { return infoOfCompare(op.getPredicate(), binary); })
      .Case([&](arith::MinSIOp) { return infoOfMinMax(binary, false, false); })
      .Case([&](arith::MaxSIOp) { return infoOfMinMax(binary, true, false); })
      .Case([&](arith::MinUIOp) { return infoOfMinMax(binary, false, true); })
      .Case([&](arith::MaxUIOp) { return infoOfMinMax(binary, true, true); })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<AxisInfo> analysis::infoOfSelect(arith::SelectOp op, ArrayRef<const AxisInfo *> operands) {
  const AxisInfo *condition = operands[0], *whenTrue = operands[1], *whenFalse = operands[2];
  if (!condition)
    return std::nullopt;
  if (condition->constant)
    whenTrue = whenFalse = *condition->constant ? whenTrue : whenFalse;
  if (!whenTrue || !whenFalse) {
    const AxisInfo *only = whenTrue ? whenTrue : whenFalse;
    return only ? std::optional(*only) : std::nullopt;
  }
  AxisInfo info = join(op.getType(), *whenTrue, *whenFalse);
  if (whenTrue == whenFalse || !isa<ShapedType>(op.getCondition().getType()))
    return info;
  for (int64_t i = 0; i < info.rank(); ++i) {
    int64_t constancy = condition->axes[i].constancy, length = std::min(info.axes[i].contiguity, constancy);
    info.axes[i].contiguity = length;
    info.axes[i].divisibility = std::min(whenTrue->divisorAt(i, length), whenFalse->divisorAt(i, length));
    if (!info.constant)
      info.axes[i].constancy = std::min(info.axes[i].constancy, constancy);
  }
  return info;
}
