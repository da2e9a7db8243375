// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The value of a tile at one piece: a walk over the lazy expression, down to buffers, loads and scalars.
#include "compiler/lowering/host/HostEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

Value HostEmitter::scalar(Value value) {
  auto found = scalars.find(value);
  assert(found != scalars.end() && "scalar used before it was emitted");
  return found->second;
}

LaneValue HostEmitter::evaluate(Value value, const TileIndex &index) {
  if (!isa<RankedTensorType>(value.getType()))
    return LaneValue::uniform(scalar(value));
  for (auto &[known, result] : memo[value])
    if (known == index)
      return result;
  LaneValue result;
  if (auto buffer = buffers.find(value); buffer != buffers.end())
    result = readBuffer(*buffer->second, index);
  else
    result = evaluateUncached(value.getDefiningOp(), value, index);
  if (width == 1 && result.vector)
    result = LaneValue::uniform(result.vector);
  memo[value].push_back({index, result});
  return result;
}

// A dense constant that is not a splat becomes a constant array of the object.
LaneValue HostEmitter::evaluateConstant(Operation *op, DenseElementsAttr constant, const TileIndex &index) {
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType(), type = registerType(element);
  auto bitsOf = [](Attribute attribute) {
    if (auto real = dyn_cast<FloatAttr>(attribute))
      return real.getValue().bitcastToAPInt();
    return cast<IntegerAttr>(attribute).getValue();
  };
  auto attributeOf = [&](Attribute attribute) -> TypedAttr {
    if (isa<FloatType>(type))
      return cast<TypedAttr>(attribute);
    return IntegerAttr::get(type, bitsOf(attribute));
  };
  if (constant.isSplat())
    return LaneValue::uniform(arith::ConstantOp::create(b, loc, attributeOf(constant.getSplatValue<Attribute>())));

  auto tile = cast<RankedTensorType>(op->getResult(0).getType());
  auto buffer = std::make_unique<TileBuffer>();
  *buffer = {{}, storedType(element), element, llvm::to_vector(tile.getShape())};
  unsigned bits = buffer->stored.getIntOrFloatBitWidth();
  SmallVector<APInt> values;
  for (Attribute value : constant.getValues<Attribute>())
    values.push_back(bitsOf(value).zextOrTrunc(bits));
  auto integers = RankedTensorType::get({tile.getNumElements()}, b.getIntegerType(bits));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(entry);
    auto array = LLVM::LLVMArrayType::get(integers.getElementType(), tile.getNumElements());
    std::string name = "constant." + std::to_string(buffers.size());
    auto global = LLVM::GlobalOp::create(b, loc, array, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                                         DenseElementsAttr::get(integers, values), /*alignment=*/64);
    b.setInsertionPointToStart(&entry.getBody().front());
    buffer->pointer = LLVM::AddressOfOp::create(b, loc, global);
  }
  TileBuffer *kept = buffer.get();
  buffers[op->getResult(0)] = std::move(buffer);
  return readBuffer(*kept, index);
}

// One of two halves, chosen by a bit of an index: the half is known, chosen by a scalar, or differs between lanes.
LaneValue HostEmitter::selectHalf(const Index &index, int64_t bit, function_ref<LaneValue(bool)> half) {
  bool lanesDiffer = llvm::any_of(index.lanes, [&](int64_t lane) { return (lane & bit) != 0; });
  APInt constant;
  bool known = matchPattern(index.base, m_ConstantInt(&constant));
  if (!lanesDiffer && known)
    return half((constant.getSExtValue() & bit) != 0);
  LaneValue first = half(false), second = half(true);
  Value condition;
  if (lanesDiffer) {
    LanePattern bits;
    for (int64_t lane : index.lanes)
      bits.push_back((lane & bit) ? -1 : 0);
    condition = patternVector(b.getI1Type(), bits);
    return LaneValue::general(arith::SelectOp::create(b, loc, condition, toLanes(second), toLanes(first)));
  }
  condition = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, maskBits(index.base, bit), i64(0));
  if (first.isUniform() && second.isUniform())
    return LaneValue::uniform(arith::SelectOp::create(b, loc, condition, second.scalar, first.scalar));
  return LaneValue::general(arith::SelectOp::create(b, loc, condition, toLanes(second), toLanes(first)));
}

LaneValue HostEmitter::evaluateGather(GatherOp gather, const TileIndex &index) {
  const TileBuffer &source = *buffers.find(gather.getSrc())->second;
  int axis = gather.getAxis();
  LaneValue picked = evaluate(gather.getIndices(), index);
  // An index outside the axis is undefined; the mask keeps it inside the buffer.
  Value at = toLanes(picked);
  Type type = like(b.getI64Type(), at);
  if (at.getType() != type)
    at = cast<IntegerType>(getElementTypeOrSelf(at.getType())).getWidth() < 64
             ? Value(arith::ExtUIOp::create(b, loc, type, at))
             : at;
  at = arith::AndIOp::create(b, loc, at, constantLike(b.getI64Type(), source.shape[axis] - 1, at));
  TileIndex rest = index;
  rest[axis] = {i64(0), {}};
  Index linear = linearIndex(source.shape, rest);
  int64_t stride = 1;
  for (int dim = axis + 1; dim < int(source.shape.size()); ++dim)
    stride *= source.shape[dim];
  Value offset = arith::MulIOp::create(b, loc, at, constantLike(b.getI64Type(), stride, at));
  Value base = toLanes({linear.base, linear.lanes, {}, {}});
  return readBufferAt(source, LaneValue::general(arith::AddIOp::create(b, loc, base, offset)));
}

LaneValue HostEmitter::evaluateUncached(Operation *op, Value value, const TileIndex &index) {
  DenseElementsAttr constant;
  if (matchPattern(op, m_Constant(&constant)))
    return evaluateConstant(op, constant, index);
  return TypeSwitch<Operation *, LaneValue>(op)
      .Case<SplatOp>([&](SplatOp splat) { return LaneValue::uniform(scalar(splat.getSrc())); })
      .Case<ub::PoisonOp>([&](auto) { return LaneValue::uniform(zero(registerType(elementTypeOf(value.getType())))); })
      .Case<MakeRangeOp>([&](MakeRangeOp range) {
        Value base = add(index[0].base, i64(range.getStart()));
        Type type = elementTypeOf(value.getType());
        if (!type.isInteger(64))
          base = arith::TruncIOp::create(b, loc, type, base);
        return LaneValue{base, index[0].lanes, {}, {}};
      })
      .Case<ExpandDimsOp>([&](ExpandDimsOp expand) {
        TileIndex inner = index;
        inner.erase(inner.begin() + expand.getAxis());
        return evaluate(expand.getSrc(), inner);
      })
      .Case<BroadcastOp>([&](BroadcastOp broadcast) {
        TileIndex inner = index;
        ArrayRef<int64_t> shape = cast<RankedTensorType>(broadcast.getSrc().getType()).getShape();
        for (auto [at, size] : llvm::zip(inner, shape))
          if (size == 1)
            at = {i64(0), {}};
        return evaluate(broadcast.getSrc(), inner);
      })
      .Case<TransOp>([&](TransOp trans) {
        TileIndex inner(index.size());
        for (auto [dim, source] : llvm::enumerate(trans.getOrder()))
          inner[source] = index[dim];
        return evaluate(trans.getSrc(), inner);
      })
      .Case<ReshapeOp>([&](ReshapeOp reshape) {
        ArrayRef<int64_t> from = cast<RankedTensorType>(value.getType()).getShape();
        ArrayRef<int64_t> to = cast<RankedTensorType>(reshape.getSrc().getType()).getShape();
        return evaluate(reshape.getSrc(), delinearize(linearIndex(from, index), to));
      })
      .Case<JoinOp>([&](JoinOp join) {
        TileIndex inner(index.begin(), index.end() - 1);
        return selectHalf(index.back(), 1,
                          [&](bool second) { return evaluate(second ? join.getRhs() : join.getLhs(), inner); });
      })
      .Case<SplitOp>([&](SplitOp split) {
        TileIndex inner = index;
        inner.push_back({i64(value == split.getOutRHS() ? 1 : 0), {}});
        return evaluate(split.getSrc(), inner);
      })
      .Case<CatOp>([&](CatOp cat) {
        int64_t half = cast<RankedTensorType>(cat.getLhs().getType()).getShape()[0];
        TileIndex inner = index;
        inner[0].base = maskBits(index[0].base, half - 1);
        for (int64_t &lane : inner[0].lanes)
          lane &= half - 1;
        if (llvm::all_of(inner[0].lanes, [](int64_t lane) { return lane == 0; }))
          inner[0].lanes.clear();
        return selectHalf(index[0], half,
                          [&](bool second) { return evaluate(second ? cat.getRhs() : cat.getLhs(), inner); });
      })
      .Case<GatherOp>([&](GatherOp gather) { return evaluateGather(gather, index); })
      .Case<LoadOp>([&](LoadOp load) { return emitLoad(load, index); })
      .Default([&](Operation *) {
        SmallVector<LaneValue> operands;
        for (Value operand : op->getOperands())
          operands.push_back(evaluate(operand, index));
        return elementwise(op, operands);
      });
}

void HostEmitter::fill(Value value, TileBuffer &target) {
  LaneMap lanes = chooseLanes(target.shape, plan.preferredDim(value), maxLanes());
  iterate(target.shape, lanes, [&](TileIndex index) { writeBuffer(target, index, evaluate(value, index)); });
}

void HostEmitter::materialise(Value value) {
  auto tile = cast<RankedTensorType>(value.getType());
  auto buffer = std::make_unique<TileBuffer>();
  if (TileBuffer *reused = reusableLoopBuffer(value))
    *buffer = *reused;
  else
    *buffer = allocate(tile);
  fill(value, *buffer); // the value is not yet in `buffers`: this evaluates its expression
  buffers[value] = std::move(buffer);
}

// A map whose region is straight-line code runs on vectors, any other one element (or `pack` elements) at a time.
void HostEmitter::materialiseMap(MapElementwiseOp op) {
  auto tile = cast<RankedTensorType>(op.getResult()[0].getType());
  int64_t pack = op.getPack();
  SmallVector<TileBuffer *> results = allocateFor(op.getResult());
  Region &region = op.getScalarOp();
  if (pack == 1 && isStraightLine(region)) {
    LaneMap lanes = chooseLanes(tile.getShape(), plan.preferredDim(op.getResult()[0]), maxLanes());
    return iterate(tile.getShape(), lanes, [&](TileIndex index) {
      SmallVector<LaneValue> values = runRegion(region, evaluateAll(op.getSrcs(), index));
      for (auto [result, value] : llvm::zip(results, values))
        writeBuffer(*result, index, value);
    });
  }
  forLoop(0, tile.getNumElements(), pack, {}, [&](Value first, ValueRange) -> Values {
    PieceScope scope(*this, 1);
    SmallVector<LaneValue> arguments;
    for (Value source : op.getSrcs())
      for (int64_t step = 0; step < pack; ++step)
        arguments.push_back(evaluate(source, delinearize({add(first, i64(step)), {}}, tile.getShape())));
    SmallVector<LaneValue> values = runRegion(region, arguments);
    for (auto [number, value] : llvm::enumerate(values))
      writeBuffer(*results[number / pack], delinearize({add(first, i64(number % pack)), {}}, tile.getShape()), value);
    return {};
  });
}
