// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One method for each operation that generated kernels need; operands are splat where their shapes differ.
#include "frontend/tile/TileWriter.h"
#include "compiler/dialects/triton/TritonBuilders.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace heddle::triton;

namespace heddle::tile {

void loadDialects(MLIRContext &context) {
  context.loadDialect<TritonDialect, arith::ArithDialect, scf::SCFDialect>();
}

Type storageType(MLIRContext &context, ElementType type) {
  switch (type) {
  case ElementType::F64:
    return Float64Type::get(&context);
  case ElementType::F32:
    return Float32Type::get(&context);
  case ElementType::F16:
    return Float16Type::get(&context);
  case ElementType::BF16:
    return BFloat16Type::get(&context);
  case ElementType::F8E4M3FN:
    return Float8E4M3FNType::get(&context);
  case ElementType::F8E5M2:
    return Float8E5M2Type::get(&context);
  case ElementType::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(&context);
  case ElementType::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(&context);
  default:
    return IntegerType::get(&context, unsigned(8 * elementSizeBytes(type)));
  }
}

//===-- The kernel -----------------------------------------------------------------------------------------------===//

SmallVector<Value> TileWriter::begin(const std::string &name, ArrayRef<Argument> arguments) {
  module = ModuleOp::create(b.getLoc());
  b.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> types;
  for (const Argument &argument : arguments)
    types.push_back(argument.type);
  auto function = FuncOp::create(b, name, b.getFunctionType(types, {}));
  Block *body = function.addEntryBlock();
  for (auto [value, argument] : llvm::zip(body->getArguments(), arguments)) {
    value.setLoc(NameLoc::get(b.getStringAttr(argument.name)));
    if (argument.divisibility > 1)
      function.setArgAttr(value.getArgNumber(), "tt.divisibility", b.getI32IntegerAttr(argument.divisibility));
  }
  b.setInsertionPointToEnd(body);
  return SmallVector<Value>(body->getArguments());
}

OwningOpRef<ModuleOp> TileWriter::end() {
  ReturnOp::create(b, ValueRange{});
  return std::move(module);
}

Type TileWriter::pointerTo(Type element) {
  return PointerType::get(element, 1);
}

//===-- Scalars and tiles ----------------------------------------------------------------------------------------===//

static RankedTensorType tileOf(int64_t size, Type element) {
  return RankedTensorType::get({size}, element);
}

int64_t TileWriter::sizeOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getNumElements() : 1;
}

// `element` in the shape of `value`.
static Type shaped(Type element, Value value) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return RankedTensorType::get(type.getShape(), element);
  return element;
}

Value TileWriter::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
}
Value TileWriter::i64(int64_t value) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
}
Value TileWriter::boolean(bool value) {
  return arith::ConstantOp::create(b, b.getBoolAttr(value));
}

Value TileWriter::constant(Type element, double value, Value like) {
  TypedAttr attribute;
  if (isa<FloatType>(element))
    attribute = FloatAttr::get(element, value);
  else
    attribute = IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), uint64_t(int64_t(value)), true, true));
  if (auto type = like ? dyn_cast<RankedTensorType>(like.getType()) : nullptr)
    attribute = DenseElementsAttr::get(RankedTensorType::get(type.getShape(), element), Attribute(attribute));
  return arith::ConstantOp::create(b, attribute);
}

Value TileWriter::splat(Value scalar, int64_t size) {
  return SplatOp::create(b, tileOf(size, scalar.getType()), scalar);
}

Value TileWriter::like(Value value, Value shape) {
  auto type = dyn_cast<RankedTensorType>(shape.getType());
  if (!type || isa<RankedTensorType>(value.getType()))
    return value;
  return SplatOp::create(b, RankedTensorType::get(type.getShape(), value.getType()), value);
}

Value TileWriter::range(int64_t size) {
  Value narrow = MakeRangeOp::create(b, tileOf(size, b.getI32Type()), 0, uint32_t(size));
  return arith::ExtSIOp::create(b, tileOf(size, b.getI64Type()), narrow);
}

Value TileWriter::negate(Value bits) {
  return binary<arith::XOrIOp>(bits, boolean(true));
}

Value TileWriter::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  Value left = like(x, y), right = like(y, x);
  return arith::CmpIOp::create(b, predicate, left, right);
}

Value TileWriter::select(Value condition, Value x, Value y) {
  Value left = like(like(x, y), condition), right = like(like(y, x), condition);
  Value all = like(condition, left);
  return arith::SelectOp::create(b, all, left, right);
}

Value TileWriter::extend(Value x, unsigned bits) {
  if (elementBits(x.getType()) == bits)
    return x;
  return arith::ExtUIOp::create(b, shaped(b.getIntegerType(bits), x), x);
}

Value TileWriter::truncate(Value x, unsigned bits) {
  if (elementBits(x.getType()) == bits)
    return x;
  return arith::TruncIOp::create(b, shaped(b.getIntegerType(bits), x), x);
}

Value TileWriter::bitcast(Value x, Type element) {
  if (elementTypeOf(x.getType()) == element)
    return x;
  return BitcastOp::create(b, shaped(element, x), x);
}

Value TileWriter::arranged(Value tile, int64_t neighbours, int64_t span) {
  auto same = ReshapeOp::create(b, tile.getType(), tile);
  same->setAttr("simt.contiguous", b.getI64IntegerAttr(neighbours));
  if (span)
    same->setAttr("simt.span", b.getI64IntegerAttr(span));
  return same;
}

Value TileWriter::any(Value bits) {
  return createAny(b, bits);
}

//===-- Memory ---------------------------------------------------------------------------------------------------===//

Value TileWriter::offset(Value pointer, Value elements) {
  Value from = like(pointer, elements), by = like(elements, pointer);
  return AddPtrOp::create(b, from.getType(), from, by);
}

Value TileWriter::load(Value pointer, Value mask, bool isVolatile) {
  Type type = valueTypeOf(pointer.getType());
  Value other;
  if (mask) {
    mask = like(mask, pointer);
    other = constant(elementTypeOf(type), 0, pointer);
  }
  return LoadOp::create(b, type, pointer, mask, other, ArrayRef<int32_t>(), PaddingOptionAttr(), CacheModifier::None,
                        EvictionPolicy::Normal, isVolatile);
}

void TileWriter::store(Value pointer, Value value, Value mask, bool streams) {
  value = like(value, pointer);
  if (mask)
    mask = like(mask, pointer);
  StoreOp::create(b, pointer, value, mask, ArrayRef<int32_t>(),
                  streams ? CacheModifier::Streaming : CacheModifier::None, EvictionPolicy::Normal);
}

//===-- Control --------------------------------------------------------------------------------------------------===//

TileWriter::Values TileWriter::forLoop(Value count, Values carried, function_ref<Values(Value, ValueRange)> body) {
  Value low = i64(0), step = i64(1);
  auto loop = scf::ForOp::create(b, low, count, step, carried);
  OpBuilder::InsertionGuard guard(b);
  if (carried.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, next);
  return Values(loop.getResults());
}

TileWriter::Values TileWriter::whileLoop(Values carried, function_ref<Value(ValueRange)> condition,
                                         function_ref<Values(ValueRange)> body) {
  auto types = llvm::to_vector(ValueRange(carried).getTypes());
  auto loop = scf::WhileOp::create(
      b, b.getLoc(), types, carried,
      [&](OpBuilder &, Location, ValueRange before) { scf::ConditionOp::create(b, condition(before), before); },
      [&](OpBuilder &, Location, ValueRange after) { scf::YieldOp::create(b, body(after)); });
  return Values(loop.getResults());
}

void TileWriter::ifThen(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}

TileWriter::Values TileWriter::ifElse(Value condition, TypeRange types, function_ref<Values()> yes,
                                      function_ref<Values()> no) {
  auto branch = scf::IfOp::create(b, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, yes());
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, no());
  return Values(branch.getResults());
}

} // namespace heddle::tile
