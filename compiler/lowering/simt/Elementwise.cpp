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

Value ElementCode::compute(ArrayRef<Value> in, Type result) {
  auto from = [&](unsigned number = 0) { return elementTypeOf(op->getOperand(number).getType()); };
  Type type = threadType(result);
  arithmetic::Numbers numbers(b);
  Type f32 = b.getF32Type();
  // Narrow floats through f32, rounded once; f8 always, others where the machine has no such operation.
  auto wide = [&](Value value) -> Value {
    Type element = elementTypeOf(op->getOperand(0).getType());
    return isFp8(element) ? fromFp8(value, element).front() : Value(arith::ExtFOp::create(b, f32, value));
  };
  auto inF32 = [&](llvm::function_ref<Value(ArrayRef<Value>)> body) -> Value {
    SmallVector<Value> operands;
    bool narrow = isNarrowFloat(from());
    for (Value value : in)
      operands.push_back(narrow ? wide(value) : value);
    Value made = body(operands);
    if (!isNarrowFloat(result))
      return made;
    return isFp8(result) ? toFp8(made, result).front() : Value(arith::TruncFOp::create(b, type, made));
  };
  auto sameType = [&](ArrayRef<Value> operands) {
    Type computed = isa<FloatType>(result) && !operands.empty() && isa<FloatType>(operands.back().getType())
                        ? operands.back().getType()
                        : type;
    return cloneOn(operands, computed);
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ub::PoisonOp) { return zeroOf(type); })
      .Case([&](AddPtrOp add) -> Value {
        Type pointee = memoryType(cast<PointerType>(from()).getPointeeType());
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
        bool narrow = isNarrowFloat(from());
        Value real = narrow ? wide(in[0]) : in[0];
        unsigned bits = result.getIntOrFloatBitWidth();
        if (Value word = bits <= 32 && real.getType().isF32() ? target.saturateToWord(b, real, isSigned) : Value())
          return bits == 32 ? word : Value(arith::TruncIOp::create(b, result, word));
        return numbers.floatToInt(real, narrow ? f32 : from(), result, isSigned);
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](auto) -> Value {
        bool isSigned = isa<arith::SIToFPOp>(op);
        return as(type, numbers.intToFloat(in[0], result, isSigned));
      })
      .Case([&](arith::TruncFOp truncate) {
        return convertFloat(in[0], from(), result, truncate.getRoundingmode() == arith::RoundingMode::toward_zero);
      })
      .Case([&](arith::ExtFOp) { return convertFloat(in[0], from(), result, false); })
      .Case([&](FpToFpOp convert) {
        return convertFloat(in[0], from(), result, convert.getRounding() == RoundingMode::TowardZero);
      })
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
          return made.getType().isF64() && !result.isF64() ? Value(arith::TruncFOp::create(b, f32, made)) : made;
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
          return inF32(sameType);
        if (!isNarrowFloat(result) || target.hasFusedMultiplyAdd(result))
          return cloneOn(in, type);
        return as(type, numbers.narrow(numbers.fusedToOdd(wide(in[0]), wide(in[1]), wide(in[2])), result));
      })
      .Case<arith::AddFOp, arith::SubFOp, arith::MulFOp>(
          [&](auto) { return isFp8(result) ? inF32(sameType) : cloneOn(in, type); })
      .Case([&](arith::CmpFOp) -> Value {
        if (!isFp8(from()))
          return cloneOn(in, type);
        return cloneOn({wide(in[0]), wide(in[1])}, type);
      })
      .Default([&](Operation *other) -> Value {
        if (!isa<arith::ArithDialect>(other->getDialect()) && !arithmetic::isKnownMath(other)) {
          refuse("");
          return zeroOf(type);
        }
        bool real = !in.empty() && isa<FloatType>(from());
        if (isa<math::Exp2Op, math::ExpOp>(other) && !result.isF64() && state.options.approximates)
          return inF32([&](ArrayRef<Value> x) {
            Value power = x[0];
            if (isa<math::ExpOp>(other))
              power = arith::MulFOp::create(b, power,
                                            arith::ConstantOp::create(b, b.getF32FloatAttr(1.44269504088896340736f)));
            return target.approximateExp2(b, power, /*flushes=*/isa<math::Exp2Op>(other));
          });
        if (isa<math::ErfOp>(other) && !result.isF64() && state.options.approximates)
          return inF32([&](ArrayRef<Value> x) { return approximateErf(x[0]); });
        if (isa<math::TanhOp>(other) && !result.isF64() && state.options.approximates)
          return inF32([&](ArrayRef<Value> x) { return approximateTanh(x[0]); });
        if (isa<math::SqrtOp>(other) && !result.isF64() && state.options.approximates)
          return inF32([&](ArrayRef<Value> x) { return target.approximateSqrt(b, x[0]); });
        return real && isNarrowFloat(from()) ? inF32(sameType) : cloneOn(in, type);
      });
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
