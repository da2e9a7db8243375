// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element operations on lanes. Integer and address arithmetic keeps the affine form as long as it can, because that is
// what makes a memory access contiguous; everything else works on vectors, with what compiler/arithmetic/ says each
// operation means.
#include "compiler/lowering/host/HostEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

static Type operandElement(Operation *op, unsigned number = 0) {
  return elementTypeOf(op->getOperand(number).getType());
}
static Type resultElement(Operation *op) {
  return elementTypeOf(op->getResult(0).getType());
}

LaneValue HostEmitter::elementwise(Operation *op, ArrayRef<LaneValue> operands) {
  if (isa<BitcastOp, IntToPtrOp, PtrToIntOp>(op) && registerType(operandElement(op)) == registerType(resultElement(op)))
    return operands[0];
  if (auto address = dyn_cast<AddPtrOp>(op))
    return addPointer(address, operands[0], operands[1]);
  if (std::optional<LaneValue> kept = affine(op, operands))
    return *kept;
  bool uniform = llvm::all_of(operands, [](const LaneValue &value) { return value.isUniform(); });
  SmallVector<Value> values;
  for (auto [number, operand] : llvm::enumerate(operands)) {
    bool scalarCondition = isa<arith::SelectOp>(op) && number == 0 && operand.isUniform();
    values.push_back(uniform || scalarCondition ? operand.scalar : toLanes(operand));
  }
  Value result = compute(op, values);
  return uniform ? LaneValue::uniform(result) : LaneValue::general(result);
}

// Operations under which base + lanes[l] keeps that form. Nullopt: compute with vectors.
std::optional<LaneValue> HostEmitter::affine(Operation *op, ArrayRef<LaneValue> in) {
  if (llvm::none_of(in, [](const LaneValue &value) { return value.isAffine(); }) ||
      llvm::any_of(in, [](const LaneValue &value) { return !value.scalar; }))
    return std::nullopt;
  auto zip = [&](int64_t sign) {
    LanePattern lanes(width, 0);
    for (int lane = 0; lane < width; ++lane)
      lanes[lane] =
          (in[0].lanes.empty() ? 0 : in[0].lanes[lane]) + sign * (in[1].lanes.empty() ? 0 : in[1].lanes[lane]);
    return lanes;
  };
  // The exact lanes of a result whose operands only assume that they did not wrap.
  auto exactOf = [&](Type result) -> std::shared_ptr<LazyLanes> {
    if (llvm::none_of(in, [](const LaneValue &value) { return value.exact; }))
      return {};
    SmallVector<LaneValue> copies(in.begin(), in.end());
    return std::make_shared<LazyLanes>([this, op, copies, result] {
      SmallVector<Value> operands;
      for (const LaneValue &copy : copies)
        operands.push_back(toLanes(copy));
      return numbers().cloneOn(op, operands, result);
    });
  };
  auto scaled = [&](int64_t factor) -> std::optional<LaneValue> {
    LanePattern lanes;
    for (int64_t lane : in[0].lanes)
      lanes.push_back(lane * factor);
    Value base = numbers().cloneOn(op, {in[0].scalar, in[1].scalar}, resultElement(op));
    return LaneValue{base, lanes, {}, exactOf(resultElement(op))};
  };
  Type type = resultElement(op);
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    LanePattern lanes = zip(isa<arith::AddIOp>(op) ? 1 : -1);
    if (llvm::all_of(lanes, [](int64_t lane) { return lane == 0; }))
      return std::nullopt;
    return LaneValue{numbers().cloneOn(op, {in[0].scalar, in[1].scalar}, type), lanes, {}, exactOf(type)};
  }
  APInt factor;
  if (isa<arith::MulIOp>(op) && in[1].isUniform() && matchPattern(in[1].scalar, m_ConstantInt(&factor)) &&
      !factor.isZero() && factor.abs().ult(1u << 20))
    return scaled(factor.getSExtValue());
  if (isa<arith::ExtSIOp>(op) && !operandElement(op).isInteger(1)) {
    LaneValue copy = in[0];
    auto exact = std::make_shared<LazyLanes>(
        [this, op, copy, type] { return numbers().cloneOn(op, ValueRange{toLanes(copy)}, type); });
    return LaneValue{numbers().cloneOn(op, ValueRange{in[0].scalar}, type), in[0].lanes, {}, exact};
  }
  return std::nullopt;
}

// Addresses are i64; an offset counts elements and is sign-extended.
LaneValue HostEmitter::addPointer(AddPtrOp op, const LaneValue &pointer, const LaneValue &offset) {
  Type pointee = cast<PointerType>(elementTypeOf(op.getPtr().getType())).getPointeeType();
  int64_t size = sizeOf(storedType(pointee));
  auto bytes = [&](Value count) -> Value {
    Type wide = like(b.getI64Type(), count);
    if (count.getType() != wide)
      count = arith::ExtSIOp::create(b, loc, wide, count);
    return size == 1 ? count : Value(arith::MulIOp::create(b, loc, count, constantLike(b.getI64Type(), size, count)));
  };
  if (pointer.scalar && offset.scalar) {
    LanePattern lanes(width, 0);
    for (int lane = 0; lane < width; ++lane)
      lanes[lane] =
          (pointer.lanes.empty() ? 0 : pointer.lanes[lane]) + size * (offset.lanes.empty() ? 0 : offset.lanes[lane]);
    if (width == 1 || (pointer.lanes.empty() && offset.lanes.empty()))
      lanes.clear();
    return {add(pointer.scalar, bytes(offset.scalar)), lanes, {}, {}};
  }
  return LaneValue::general(arith::AddIOp::create(b, loc, toLanes(pointer), bytes(toLanes(offset))));
}

//===-- One operation on scalars or vectors ----------------------------------------------------------------------===//

Value HostEmitter::compute(Operation *op, ArrayRef<Value> in) {
  Type result = resultElement(op);
  Numbers emit = numbers();
  return TypeSwitch<Operation *, Value>(op)
      .Case<arith::ConstantOp>([&](arith::ConstantOp constant) -> Value {
        if (isNarrowFloat(result))
          return arith::ConstantOp::create(
              b, loc,
              IntegerAttr::get(registerType(result), cast<FloatAttr>(constant.getValue()).getValue().bitcastToAPInt()));
        return arith::ConstantOp::create(b, loc, constant.getValue());
      })
      .Case<ub::PoisonOp>([&](auto) { return zero(registerType(result)); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return emit.divide(op, in[0], in[1]); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](auto) { return emit.shift(op, in[0], in[1]); })
      .Case<arith::SIToFPOp>([&](auto) { return emit.intToFloat(in[0], result, true); })
      .Case<arith::UIToFPOp>([&](auto) { return emit.intToFloat(in[0], result, false); })
      .Case<arith::FPToSIOp>([&](auto) { return emit.floatToInt(in[0], operandElement(op), result, true); })
      .Case<arith::FPToUIOp>([&](auto) { // bytes as AMD's compiler makes them: of -2 comes 254
        bool isByte = result.getIntOrFloatBitWidth() <= 8;
        return emit.floatToInt(in[0], operandElement(op), result, isByte);
      })
      .Case<arith::ExtFOp>([&](auto) { return emit.convertFloat(in[0], operandElement(op), result); })
      .Case<arith::TruncFOp>([&](arith::TruncFOp truncate) {
        bool towardZero = truncate.getRoundingmode() == arith::RoundingMode::toward_zero;
        return emit.convertFloat(in[0], operandElement(op), result, towardZero);
      })
      .Case<FpToFpOp>([&](FpToFpOp convert) {
        return emit.convertFloat(in[0], operandElement(op), result, convert.getRounding() == RoundingMode::TowardZero);
      })
      .Case<BitcastOp, arith::BitcastOp>([&](auto) -> Value {
        Type type = like(registerType(result), in[0]);
        return type == in[0].getType() ? in[0] : Value(arith::BitcastOp::create(b, loc, type, in[0]));
      })
      .Case<IntToPtrOp, PtrToIntOp>([&](auto) { return in[0]; })
      .Case<MulhiUIOp>([&](auto) { return emit.multiplyHigh(in[0], in[1]); })
      .Case<UnsplatOp>([&](auto) { return in[0]; })
      .Case<arith::NegFOp>([&](auto) -> Value {
        if (!isNarrowFloat(result))
          return emit.cloneOn(op, in, result);
        unsigned bits = cast<FloatType>(result).getWidth();
        return arith::XOrIOp::create(b, loc, in[0],
                                     emit.constantLike(registerType(result), -(int64_t(1) << (bits - 1)), in[0]));
      })
      .Case<math::AbsFOp>([&](auto) -> Value {
        if (!isNarrowFloat(result))
          return emit.cloneOn(op, in, result);
        unsigned bits = cast<FloatType>(result).getWidth();
        return arith::AndIOp::create(b, loc, in[0],
                                     emit.constantLike(registerType(result), (int64_t(1) << (bits - 1)) - 1, in[0]));
      })
      .Case<arith::SelectOp>([&](auto) { return emit.cloneOn(op, in, registerType(result)); })
      .Default([&](Operation *) -> Value {
        if (isa<FloatType>(operandElement(op)))
          return computeFloat(op, in);
        return emit.cloneOn(op, in, result);
      });
}

// Narrow formats compute in f32 and round once: with 24 bits for 11 or fewer that is the correctly rounded result of
// +, -, *, / and sqrt.
Value HostEmitter::computeFloat(Operation *op, ArrayRef<Value> in) {
  Type from = operandElement(op), to = resultElement(op);
  Numbers emit = numbers();
  SmallVector<Value> wide;
  for (Value value : in)
    wide.push_back(isNarrowFloat(from) ? emit.widen(value, from) : value);
  Type type = isNarrowFloat(to) ? b.getF32Type() : to;
  Value result =
      TypeSwitch<Operation *, Value>(op)
          .Case<ClampFOp>([&](ClampFOp clamp) -> Value {
            if (clamp.getPropagateNan() == PropagateNan::All) {
              Value low = arith::MaximumFOp::create(b, loc, wide[0], wide[1]);
              return arith::MinimumFOp::create(b, loc, low, wide[2]);
            }
            return emit.extremum(false, emit.extremum(true, wide[0], wide[1]), wide[2]);
          })
          .Case<arith::MaxNumFOp>([&](auto) { return emit.extremum(true, wide[0], wide[1]); })
          .Case<arith::MinNumFOp>([&](auto) { return emit.extremum(false, wide[0], wide[1]); })
          .Case<math::FmaOp>([&](auto) {
            return isNarrowFloat(to) ? emit.fusedToOdd(wide[0], wide[1], wide[2]) : emit.cloneOn(op, wide, type);
          })
          .Case<PreciseSqrtOp>([&](auto) { return math::SqrtOp::create(b, loc, wide[0]); })
          .Case<PreciseDivFOp, ApproxDivFOp>([&](auto) { return arith::DivFOp::create(b, loc, wide[0], wide[1]); })
          .Case<arith::RemFOp>([&](auto) { return emit.remainder(wide[0], wide[1]); })
          .Case<math::CopySignOp>([&](auto) { return emit.copySign(wide[0], wide[1]); })
          .Default([&](Operation *) { return emit.cloneOn(op, wide, type); });
  if (isNarrowFloat(to))
    return emit.narrow(result, to);
  return to.isF32() && getElementTypeOrSelf(result.getType()).isF64()
             ? Value(arith::TruncFOp::create(b, loc, like(to, result), result))
             : result;
}

//===-- Regions --------------------------------------------------------------------------------------------------===//

bool HostEmitter::isStraightLine(Region &region) {
  if (!region.hasOneBlock())
    return false;
  return llvm::all_of(region.front().without_terminator(),
                      [](Operation &op) { return op.getNumRegions() == 0 && isMemoryEffectFree(&op); });
}

SmallVector<LaneValue> HostEmitter::runRegion(Region &region, ArrayRef<LaneValue> arguments) {
  Block &block = region.front();
  SmallVector<LaneValue> results;
  if (!isStraightLine(region)) {
    // Control flow: one element, through the same code as the kernel's own scalars.
    for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
      scalars[argument] = value.scalar;
    emitBlock(block);
    for (Value yielded : block.getTerminator()->getOperands())
      results.push_back(LaneValue::uniform(scalar(yielded)));
    return results;
  }
  DenseMap<Value, LaneValue> values;
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values[argument] = value;
  auto valueOf = [&](Value value) {
    auto found = values.find(value);
    return found != values.end() ? found->second : LaneValue::uniform(scalar(value));
  };
  for (Operation &op : block.without_terminator()) {
    if (isa<LLVM::AssumeOp>(op))
      continue;
    SmallVector<LaneValue> operands;
    for (Value operand : op.getOperands())
      operands.push_back(valueOf(operand));
    values[op.getResult(0)] = elementwise(&op, operands);
  }
  for (Value yielded : block.getTerminator()->getOperands())
    results.push_back(valueOf(yielded));
  return results;
}
