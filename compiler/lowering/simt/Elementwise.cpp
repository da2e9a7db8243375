// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element operations, one register after the other: arithmetic on scalars of the machine's own types; f8 travels as
// bytes and is computed in f32. What LLVM leaves undefined is defined as on the host (compiler/arithmetic,
// docs/host.md).
#include "compiler/arithmetic/Numbers.h"
#include "compiler/lowering/simt/ElementCode.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using arithmetic::isNarrowFloat;

Value ElementCode::cloneOn(ValueRange operands, Type result) {
  return arithmetic::Numbers(b).cloneOn(op, operands, getElementTypeOrSelf(result));
}

void ElementCode::lower(Operation *) {
  auto fits = [&](Value operand) {
    return !isa<RankedTensorType>(operand.getType()) || of(operand).size() == threadTypes(op->getResultTypes()).size();
  };
  if (op->getNumRegions() || op->getNumResults() != 1 || !llvm::all_of(op->getOperands(), fits))
    return refuse("");
  Values &results = made[op->getResult(0)];
  auto select = dyn_cast<arith::SelectOp>(op);
  if (select && isa<SharedType>(select.getType())) {
    for (auto [yes, no] : llvm::zip_equal(of(select.getTrueValue()), of(select.getFalseValue())))
      results.push_back(arith::SelectOp::create(b, scalar(select.getCondition()), yes, no));
    return;
  }
  auto add = dyn_cast<AddPtrOp>(op);
  if (!(add && addColumnsFirst(add, results)) && !divideGroups(results) && !computeAtOnce(results))
    results = everyRegister();
}

// An element's index is that of the register xor that of the lane and the warp, so that groups of one thread are those
// of another.
SmallVector<size_t> ElementCode::firstOfEquals(RankedTensorType tile, ArrayRef<int64_t> lengths) {
  const LinearLayout &lies = layoutOf(tile);
  std::map<SmallVector<int64_t, 4>, size_t> firsts;
  SmallVector<size_t> result;
  for (int64_t reg = 0; reg < registersOf(tile); ++reg) {
    SmallVector<int64_t, 4> group;
    for (auto [axis, length] : llvm::enumerate(lengths))
      group.push_back(registerPart(lies, reg, layout::tileDim(int(axis))) / length);
    result.push_back(firsts.try_emplace(group, size_t(reg)).first->second);
  }
  return result;
}

// Registers that hold one value, as of a splat or of a mask whose groups lie in a thread, are computed once, and so are
// those of which all operands are the same.
ThreadCode::Values ElementCode::everyRegister() {
  Type result = op->getResult(0).getType();
  Values results;
  SmallVector<size_t> firsts;
  if (auto groups = facts.equalGroups.find(op); groups != facts.equalGroups.end())
    firsts = firstOfEquals(cast<RankedTensorType>(result), groups->second);
  std::map<SmallVector<void *, 3>, Value> known; // by operands
  for (size_t reg = 0; reg < size_t(registersOf(result)); ++reg) {
    if (!firsts.empty() && firsts[reg] != reg) {
      results.push_back(results[firsts[reg]]);
      continue;
    }
    Values operands;
    SmallVector<void *, 3> names;
    for (Value operand : op->getOperands()) {
      operands.push_back(of(operand)[isa<RankedTensorType>(operand.getType()) ? reg : 0]);
      names.push_back(operands.back().getAsOpaquePointer());
    }
    Value &value = known[names];
    if (!value)
      value = compute(operands, elementTypeOf(result));
    results.push_back(value);
  }
  return results;
}

// Rows of addresses, a column added to each: where the registers of a thread are in fewer columns than rows, a column
// is added first, and one addition to a row's own offset is left for each register. Not where the rows are known before
// a loop.
bool ElementCode::addColumnsFirst(AddPtrOp op, Values &results) {
  Operation *before = op.getPtr().getDefiningOp();
  if (!before || before->getBlock() != op->getBlock() || !isa<RankedTensorType>(op.getType()))
    return false;
  const Values &pointers = of(op.getPtr()), &offsets = of(op.getOffset());
  if (SetVector<Value>(offsets.begin(), offsets.end()).size() >=
      SetVector<Value>(pointers.begin(), pointers.end()).size())
    return false;
  Type pointee = memoryType(cast<PointerType>(elementTypeOf(op.getType())).getPointeeType());
  auto isSum = [&](Value pointer) {
    auto sum = pointer.getDefiningOp<LLVM::GEPOp>();
    return sum && sum.getElemType() == pointee && sum.getDynamicIndices().size() == 1 && sum.getIndices().size() == 1;
  };
  if (!llvm::all_of(pointers, isSum))
    return false;
  DenseMap<std::pair<Value, Value>, Value> columns;
  for (auto [pointer, offset] : llvm::zip(pointers, offsets)) {
    auto row = pointer.getDefiningOp<LLVM::GEPOp>();
    Value &column = columns[{row.getBase(), offset}];
    if (!column)
      column = compute({row.getBase(), offset}, elementTypeOf(op.getType()));
    results.push_back(compute({column, row.getDynamicIndices().front()}, elementTypeOf(op.getType())));
  }
  return true;
}

Type ElementCode::sourceType() {
  return elementTypeOf(op->getOperand(0).getType());
}

Value ElementCode::widen(Value narrow) {
  Type element = sourceType();
  return isFp8(element) ? fromFp8(narrow, element).front() : Value(arith::ExtFOp::create(b, b.getF32Type(), narrow));
}

// Narrow floats through f32, rounded once; f8 always, others where the machine has no such operation.
Value ElementCode::inF32(ArrayRef<Value> in, Type result, llvm::function_ref<Value(ArrayRef<Value>)> body) {
  SmallVector<Value> operands;
  bool narrow = isNarrowFloat(sourceType());
  for (Value value : in)
    operands.push_back(narrow ? widen(value) : value);
  Value made = body(operands);
  if (!isNarrowFloat(result))
    return made;
  return isFp8(result) ? toFp8(made, result).front() : Value(arith::TruncFOp::create(b, threadType(result), made));
}

Value ElementCode::cloneInF32(ArrayRef<Value> in, Type result) {
  return inF32(in, result, [&](ArrayRef<Value> operands) {
    bool keepsType = isa<FloatType>(result) && !operands.empty() && isa<FloatType>(operands.back().getType());
    return cloneOn(operands, keepsType ? operands.back().getType() : threadType(result));
  });
}

Value ElementCode::compute(ArrayRef<Value> in, Type result) {
  Type type = threadType(result);
  arithmetic::Numbers numbers(b);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ub::PoisonOp) { return zeroOf(type); })
      .Case([&](AddPtrOp add) -> Value {
        Type pointee = memoryType(cast<PointerType>(sourceType()).getPointeeType());
        Value offset = in[1];
        if (offset.getType().getIntOrFloatBitWidth() < 32)
          offset = arith::ExtSIOp::create(b, b.getI32Type(), offset);
        return LLVM::GEPOp::create(b, type, pointee, in[0], ArrayRef<LLVM::GEPArg>{offset});
      })
      .Case<BitcastOp, arith::BitcastOp, IntToPtrOp, PtrToIntOp>([&](auto) { return as(type, in[0]); })
      .Case([&](arith::SelectOp) { return cloneOn(in, type); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return numbers.divide(op, in[0], in[1]); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](auto) { return numbers.shift(op, in[0], in[1]); })
      .Case([&](MulhiUIOp) {
        return type.isInteger(64) ? target.multiplyHigh(b, in[0], in[1]) : numbers.multiplyHigh(in[0], in[1]);
      })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([&](auto) {
        bool isSigned = isa<arith::FPToSIOp>(op);
        bool narrow = isNarrowFloat(sourceType());
        Value real = narrow ? widen(in[0]) : in[0];
        unsigned bits = result.getIntOrFloatBitWidth();
        isSigned |= bits <= 8 && target.convertsBytesAsSigned();
        if (Value word = bits <= 32 && real.getType().isF32() ? target.saturateToWord(b, real, isSigned) : Value())
          return bits == 32 ? word : Value(arith::TruncIOp::create(b, result, word));
        return numbers.floatToInt(real, narrow ? b.getF32Type() : sourceType(), result, isSigned);
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](auto) -> Value {
        bool isSigned = isa<arith::SIToFPOp>(op);
        return as(type, numbers.intToFloat(in[0], result, isSigned));
      })
      .Case([&](arith::TruncFOp truncate) {
        return convertFloat(in[0], sourceType(), result,
                            truncate.getRoundingmode() == arith::RoundingMode::toward_zero);
      })
      .Case([&](arith::ExtFOp) { return convertFloat(in[0], sourceType(), result, false); })
      .Case([&](FpToFpOp convert) {
        return convertFloat(in[0], sourceType(), result, convert.getRounding() == RoundingMode::TowardZero);
      })
      .Default([&](Operation *) { return computeFloat(in, result); });
}

Value ElementCode::computeFloat(ArrayRef<Value> in, Type result) {
  Type type = threadType(result);
  arithmetic::Numbers numbers(b);
  auto inF32 = [&](llvm::function_ref<Value(ArrayRef<Value>)> body) { return this->inF32(in, result, body); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ClampFOp clamp) {
        return inF32([&](ArrayRef<Value> x) -> Value {
          if (clamp.getPropagateNan() == PropagateNan::All)
            return arith::MinimumFOp::create(b, arith::MaximumFOp::create(b, x[0], x[1]), x[2]);
          return numbers.extremum(false, numbers.extremum(true, x[0], x[1]), x[2]);
        });
      })
      .Case<arith::MaxNumFOp, arith::MinNumFOp>([&](auto) {
        return inF32([&](ArrayRef<Value> x) { return numbers.extremum(isa<arith::MaxNumFOp>(op), x[0], x[1]); });
      })
      .Case([&](arith::DivFOp) {
        return inF32([&](ArrayRef<Value> x) -> Value {
          if (x[0].getType().isF64() || !state.options.approximates)
            return arith::DivFOp::create(b, x[0], x[1]);
          return target.approximateDivide(b, x[0], x[1]);
        });
      })
      .Case([&](ApproxDivFOp) -> Value {
        return state.options.approximates ? target.fastDivide(b, in[0], in[1])
                                          : Value(arith::DivFOp::create(b, in[0], in[1]));
      })
      .Case([&](PreciseDivFOp) {
        return inF32([&](ArrayRef<Value> x) -> Value { return arith::DivFOp::create(b, x[0], x[1]); });
      })
      .Case([&](PreciseSqrtOp) {
        return inF32([&](ArrayRef<Value> x) -> Value { return math::SqrtOp::create(b, x[0]); });
      })
      .Case([&](arith::RemFOp) {
        return inF32([&](ArrayRef<Value> x) {
          Value made = numbers.remainder(x[0], x[1]);
          return made.getType().isF64() && !result.isF64() ? Value(arith::TruncFOp::create(b, b.getF32Type(), made))
                                                           : made;
        });
      })
      .Case([&](math::CopySignOp) { return inF32([&](ArrayRef<Value> x) { return numbers.copySign(x[0], x[1]); }); })
      .Case([&](arith::NegFOp) -> Value {
        if (!isFp8(result))
          return cloneOn(in, type);
        return arith::XOrIOp::create(b, in[0], constantOf(type, 0x80));
      })
      .Case([&](math::AbsFOp) -> Value {
        if (!isFp8(result))
          return cloneOn(in, type);
        return arith::AndIOp::create(b, in[0], constantOf(type, 0x7F));
      })
      .Case([&](math::FmaOp) -> Value {
        if (isFp8(result))
          return cloneInF32(in, result);
        if (!isNarrowFloat(result) || target.hasFusedMultiplyAdd(result))
          return cloneOn(in, type);
        return as(type, numbers.narrow(numbers.fusedToOdd(widen(in[0]), widen(in[1]), widen(in[2])), result));
      })
      .Case<arith::AddFOp, arith::SubFOp, arith::MulFOp>(
          [&](auto) { return isFp8(result) ? cloneInF32(in, result) : cloneOn(in, type); })
      .Case([&](arith::CmpFOp) -> Value {
        if (!isFp8(sourceType()))
          return cloneOn(in, type);
        return cloneOn({widen(in[0]), widen(in[1])}, type);
      })
      .Default([&](Operation *) { return computeMath(in, result); });
}

Value ElementCode::computeMath(ArrayRef<Value> in, Type result) {
  if (!isa<arith::ArithDialect>(op->getDialect()) && !arithmetic::isKnownMath(op)) {
    refuse("");
    return zeroOf(threadType(result));
  }
  auto inF32 = [&](llvm::function_ref<Value(Value)> body) {
    return this->inF32(in, result, [&](ArrayRef<Value> x) { return body(x[0]); });
  };
  if (state.options.approximates && !result.isF64()) {
    if (isa<math::Exp2Op, math::ExpOp>(op))
      return inF32([&](Value power) {
        if (isa<math::ExpOp>(op))
          power =
              arith::MulFOp::create(b, power, arith::ConstantOp::create(b, b.getF32FloatAttr(1.44269504088896340736f)));
        return target.approximateExp2(b, power, /*flushes=*/isa<math::Exp2Op>(op));
      });
    if (isa<math::ErfOp>(op))
      return inF32([&](Value x) { return approximateErf(x); });
    if (isa<math::TanhOp>(op))
      return inF32([&](Value x) { return approximateTanh(x); });
    if (isa<math::SqrtOp>(op))
      return inF32([&](Value x) { return target.approximateSqrt(b, x); });
    if (isa<math::RsqrtOp>(op))
      return inF32([&](Value x) { return target.approximateRsqrt(b, x); });
  }
  bool narrow = !in.empty() && isNarrowFloat(sourceType());
  return narrow ? cloneInF32(in, result) : cloneOn(in, threadType(result));
}

namespace {
/// All operations that no family names.
class ElementPattern : public ConversionPattern {
public:
  ElementPattern(ThreadState &state, MLIRContext *context)
      : ConversionPattern(MatchAnyOpTypeTag(), /*benefit=*/1, context), state(state) {}
  LogicalResult matchAndRewrite(Operation *op, ArrayRef<ValueRange>,
                                ConversionPatternRewriter &rewriter) const override {
    ElementCode code(state, rewriter, op);
    if (!state.failed)
      code.lower(op);
    code.finish(rewriter);
    return success();
  }

private:
  ThreadState &state;
};
} // namespace

void simt::addElementwise(RewritePatternSet &patterns, ThreadState &state) {
  patterns.add(std::make_unique<ElementPattern>(state, patterns.getContext()));
}
