// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element operations on adjacent registers at once, where the chip has instructions for two values. Such registers
// travel as one vector between these operations; what takes one value at a time takes it out of the vector, which is no
// instruction. Each element is computed as alone.
#include "compiler/lowering/simt/ElementCode.h"
#include "compiler/lowering/simt/Vectors.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {

/// Functions that become sums and products (expand-math), unless the chip has an approximation.
bool isExpanded(Operation *op, bool approximates) {
  if (isa<math::LogOp, math::Log2Op, math::SinOp, math::CosOp, math::TanhOp, math::ErfOp>(op))
    return true;
  return isa<math::ExpOp, math::Exp2Op>(op) && !approximates;
}

/// Whether a conversion to nearest of numbers that f32 holds.
bool isRoundedToNearest(Operation *op) {
  if (auto truncate = dyn_cast<arith::TruncFOp>(op))
    return truncate.getRoundingmode() != arith::RoundingMode::toward_zero;
  auto convert = dyn_cast<FpToFpOp>(op);
  return isa<arith::ExtFOp>(op) || (convert && convert.getRounding() != RoundingMode::TowardZero);
}

/// bf16 in f32, by bits: of an extension LLVM would make arithmetic of bf16 again, one element at a time.
Value widened(ImplicitLocOpBuilder &b, Value vector) {
  auto like = [&](Type element) { return cast<VectorType>(vector.getType()).clone(element); };
  Value bits = LLVM::BitcastOp::create(b, like(b.getI16Type()), vector);
  Value wide = arith::ExtUIOp::create(b, like(b.getI32Type()), bits);
  Value shift =
      arith::ConstantOp::create(b, DenseElementsAttr::get(cast<ShapedType>(wide.getType()), b.getI32IntegerAttr(16)));
  return LLVM::BitcastOp::create(b, like(b.getF32Type()), Value(arith::ShLIOp::create(b, wide, shift)));
}

/// Bits of 16-bit elements as those of another such type.
bool isBitcastOfHalves(Operation *op) {
  Type to = elementTypeOf(op->getResult(0).getType());
  return isa<BitcastOp, arith::BitcastOp>(op) && to.isIntOrFloat() && to.getIntOrFloatBitWidth() == 16;
}

} // namespace

bool ElementCode::isFromBytes(Type from, Type to) {
  return isa<arith::SIToFPOp, arith::UIToFPOp>(op) && from.isInteger(8) && (to.isF32() || to.isF16() || to.isBF16());
}

// Conversions of f8 and of bytes take four contiguous elements, a word of memory; other operations two.
int64_t ElementCode::registersAtOnce() {
  if (!isa<RankedTensorType>(op->getResult(0).getType()) || op->getNumOperands() == 0)
    return 1;
  Type from = elementTypeOf(op->getOperand(0).getType()), to = elementTypeOf(op->getResult(0).getType());
  if (isFromBytes(from, to)) // a whole word, and nothing less
    return target.convertsBytesTogether() && registersOf(op->getResult(0).getType()) >= 4 ? 4 : 1;
  if (isRoundedToNearest(op)) {
    if (isFp8(from) != isFp8(to) && !from.isF64() && !to.isF64())
      return target.convertsFp8Together() ? 4 : 1;
    return from.isF32() && target.narrowsPairs(to) ? 2 : 1;
  }
  if (isBitcastOfHalves(op) ||
      (to.isInteger(16) &&
       isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(
           op)))
    return target.computesPairs(b.getI16Type()) ? 2 : 1;
  bool isPlain = isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op);
  if (to.isBF16())
    return isPlain && (target.computesPairs(to) || target.computesPairs(b.getF32Type())) ? 2 : 1;
  bool isPaired = isPlain || isa<math::FmaOp>(op) || (to.isF32() && isExpanded(op, state.options.approximates));
  return isPaired && target.computesPairs(to) ? 2 : 1;
}

ThreadCode::Values ElementCode::computeTogether(ArrayRef<Values> operands) {
  Type from = elementTypeOf(op->getOperand(0).getType()), to = elementTypeOf(op->getResult(0).getType());
  auto count = int64_t(operands.front().size());
  if (isFromBytes(from, to))
    return target.fromBytes(b, operands.front(), to, isa<arith::SIToFPOp>(op));
  if (isFp8(to)) {
    Values wide;
    for (Value value : operands.front())
      wide.push_back(convertFloat(value, from, b.getF32Type(), false));
    return toFp8(wide, to, facts.withinRange.contains(op));
  }
  if (isFp8(from)) {
    if (Values halves = target.fromFp8ToHalf(b, operands.front(), from, threadType(to)); !halves.empty())
      return halves;
    Values wide = fromFp8(operands.front(), from);
    for (Value &value : wide)
      value = convertFloat(value, b.getF32Type(), to, false);
    return wide;
  }
  if (isBitcastOfHalves(op))
    return apart(b, LLVM::BitcastOp::create(b, VectorType::get(count, threadType(to)), joined(b, operands.front())));
  Type vector = VectorType::get(count, threadType(to)), wide = VectorType::get(count, b.getF32Type());
  auto narrowed = [&](Value f32) {
    if (target.narrowsPairs(to))
      return apart(b, arith::TruncFOp::create(b, vector, f32));
    return llvm::map_to_vector(apart(b, f32),
                               [&](Value value) { return convertFloat(value, b.getF32Type(), to, false); });
  };
  if (isRoundedToNearest(op))
    return narrowed(joined(b, operands.front()));
  bool viaF32 = to.isBF16() && !target.computesPairs(to); // f32 has digits enough to round twice
  Values vectors;
  for (const Values &values : operands)
    vectors.push_back(viaF32 ? widened(b, joined(b, values)) : joined(b, values));
  Value made;
  if (isa<math::ErfOp>(op) && state.options.approximates)
    made = approximateErf(vectors.front());
  else if (isa<math::TanhOp>(op) && state.options.approximates)
    made = approximateTanh(vectors.front());
  else
    made = cloneOn(vectors, viaF32 ? wide : vector);
  return viaF32 ? narrowed(made) : apart(b, made);
}

bool ElementCode::computeAtOnce(Values &results) {
  auto count = size_t(registersOf(op->getResult(0).getType()));
  auto together = std::min(size_t(registersAtOnce()), count);
  if (together < 2)
    return false;
  for (size_t first = 0; first < count; first += together) {
    SmallVector<Values> operands;
    // As in `tl.flip`, whose x ^ (x ^ y) LLVM sees to be y, but not where pairs of both are put together of scalars.
    bool isOneValue = true, repeats = first > 0, mayCancel = isa<arith::XOrIOp>(op);
    for (Value operand : op->getOperands()) {
      ArrayRef<Value> all = of(operand), values = all.slice(first, together);
      operands.push_back(llvm::to_vector(values));
      isOneValue &= llvm::all_equal(values);
      mayCancel &= !llvm::all_of(values, [](Value value) { return matchPattern(value, m_Constant()); });
      repeats &= values == all.take_front(together);
    }
    if (repeats) {
      for (size_t i = 0; i < together; ++i) // a vector's own elements, which it may move while it grows
        results.push_back(Value(results[i]));
    } else if (isOneValue) {
      Values alone = llvm::map_to_vector(operands, [](const Values &values) { return values.front(); });
      results.append(together, compute(alone, elementTypeOf(op->getResult(0).getType())));
    } else if (mayCancel) {
      for (size_t i = 0; i < together; ++i) {
        Values alone = llvm::map_to_vector(operands, [&](const Values &values) { return values[i]; });
        results.push_back(compute(alone, elementTypeOf(op->getResult(0).getType())));
      }
    } else {
      llvm::append_range(results, computeTogether(operands));
    }
  }
  return true;
}
