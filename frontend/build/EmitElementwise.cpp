// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants, arithmetic, conversions and pointers of the builder.
#include "compiler/dialects/triton/Triton.h"
#include "frontend/build/Element.h"
#include "frontend/build/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle::build::detail {
namespace {

bool isUnsignedElement(ElementType type) {
  return type >= ElementType::UI64 || type == ElementType::I1;
}

Value constant(const Emitter &emit, Type type, TypedAttr element) {
  TypedAttr value = element;
  if (auto tile = dyn_cast<RankedTensorType>(type))
    value = DenseElementsAttr::get(tile, element);
  return arith::ConstantOp::create(emit.builder, emit.location, value);
}

struct OperationNames {
  const char *ofFloats, *ofSigned, *ofUnsigned;
};

OperationNames namesOf(Binary kind) {
  switch (kind) {
  case Binary::Add:
    return {"arith.addf", "arith.addi", "arith.addi"};
  case Binary::Subtract:
    return {"arith.subf", "arith.subi", "arith.subi"};
  case Binary::Multiply:
    return {"arith.mulf", "arith.muli", "arith.muli"};
  case Binary::Divide:
    return {"arith.divf", "arith.divsi", "arith.divui"};
  case Binary::Remainder:
    return {"arith.remf", "arith.remsi", "arith.remui"};
  case Binary::And:
    return {nullptr, "arith.andi", "arith.andi"};
  case Binary::Or:
    return {nullptr, "arith.ori", "arith.ori"};
  case Binary::Xor:
    return {nullptr, "arith.xori", "arith.xori"};
  case Binary::ShiftLeft:
    return {nullptr, "arith.shli", "arith.shli"};
  case Binary::ShiftRight:
    return {nullptr, "arith.shrsi", "arith.shrui"};
  case Binary::Maximum:
    return {"arith.maxnumf", "arith.maxsi", "arith.maxui"};
  case Binary::Minimum:
    return {"arith.minnumf", "arith.minsi", "arith.minui"};
  case Binary::MaximumOrNaN:
    return {"arith.maximumf", "arith.maxsi", "arith.maxui"};
  case Binary::MinimumOrNaN:
    return {"arith.minimumf", "arith.minsi", "arith.minui"};
  case Binary::PreciseDivide:
    return {"tt.precise_divf", nullptr, nullptr};
  case Binary::MultiplyHigh:
    return {nullptr, nullptr, "tt.mulhiui"};
  }
  llvm_unreachable("every kind is listed");
}

const char *nameOf(Unary kind) {
  switch (kind) {
  case Unary::Negate:
    return "arith.negf";
  case Unary::Absolute:
    return "math.absf";
  case Unary::Exp:
    return "math.exp";
  case Unary::Exp2:
    return "math.exp2";
  case Unary::Log:
    return "math.log";
  case Unary::Log2:
    return "math.log2";
  case Unary::Sqrt:
    return "math.sqrt";
  case Unary::PreciseSqrt:
    return "tt.precise_sqrt";
  case Unary::ReciprocalSqrt:
    return "math.rsqrt";
  case Unary::Erf:
    return "math.erf";
  case Unary::Sin:
    return "math.sin";
  case Unary::Cos:
    return "math.cos";
  case Unary::Floor:
    return "math.floor";
  case Unary::Ceil:
    return "math.ceil";
  }
  llvm_unreachable("every kind is listed");
}

arith::CmpIPredicate predicateOf(Comparison kind, bool isUnsigned) {
  using P = arith::CmpIPredicate;
  switch (kind) {
  case Comparison::Equal:
    return P::eq;
  case Comparison::NotEqual:
    return P::ne;
  case Comparison::Less:
    return isUnsigned ? P::ult : P::slt;
  case Comparison::LessEqual:
    return isUnsigned ? P::ule : P::sle;
  case Comparison::Greater:
    return isUnsigned ? P::ugt : P::sgt;
  case Comparison::GreaterEqual:
    return isUnsigned ? P::uge : P::sge;
  }
  llvm_unreachable("every kind is listed");
}

arith::CmpFPredicate floatPredicateOf(Comparison kind) {
  using P = arith::CmpFPredicate;
  switch (kind) {
  case Comparison::Equal:
    return P::OEQ;
  case Comparison::NotEqual:
    return P::UNE;
  case Comparison::Less:
    return P::OLT;
  case Comparison::LessEqual:
    return P::OLE;
  case Comparison::Greater:
    return P::OGT;
  case Comparison::GreaterEqual:
    return P::OGE;
  }
  llvm_unreachable("every kind is listed");
}

/// One step of a conversion: MLIR has an operation from `from` to `to`, of which not both are fp8.
Value convertOnce(const Emitter &emit, Value x, ElementType from, ElementType to) {
  Type type = emit.typeLike(x.getType(), emit.elementType(to));
  bool narrows = bitsOf(to) < bitsOf(from);
  if (isFloating(from) && isFloating(to)) {
    if (!isFp8(from) && !isFp8(to))
      return emit.create(narrows ? "arith.truncf" : "arith.extf", type, x);
    auto rounding = narrows
                        ? triton::RoundingModeAttr::get(emit.builder.getContext(), triton::RoundingMode::NearestEven)
                        : triton::RoundingModeAttr();
    return triton::FpToFpOp::create(emit.builder, emit.location, type, x, rounding);
  }
  if (isFloating(from))
    return emit.create(isUnsignedElement(to) ? "arith.fptoui" : "arith.fptosi", type, x);
  if (isFloating(to))
    return emit.create(isUnsignedElement(from) ? "arith.uitofp" : "arith.sitofp", type, x);
  if (narrows)
    return emit.create("arith.trunci", type, x);
  return emit.create(isUnsignedElement(from) ? "arith.extui" : "arith.extsi", type, x);
}

/// Whether a conversion goes through f32: between fp8 and integers or other fp8, between f16 and bf16.
bool goesThroughF32(ElementType from, ElementType to) {
  if (isFp8(from) || isFp8(to))
    return bitsOf(from) <= 8 && bitsOf(to) <= 8 ? true : !isFloating(from) || !isFloating(to);
  return isFloating(from) && isFloating(to) && bitsOf(from) == bitsOf(to);
}

} // namespace

Handle emitInteger(const TileType &type, int64_t value, bool isUnsigned, Position where) {
  Emitter emit(where);
  int bits = bitsOf(type.element);
  bool fits = bits == 64 || bits == 1 ||
              (isUnsigned ? llvm::isUIntN(bits, uint64_t(value))
                          : llvm::isIntN(bits, value) || llvm::isUIntN(bits, uint64_t(value)));
  if (!fits)
    emit.fail((isUnsigned ? std::to_string(uint64_t(value)) : std::to_string(value)) + " does not fit " +
              elementTypeName(type.element));
  if (bits == 1)
    value = value != 0;
  llvm::APInt bitsOfValue(bits, uint64_t(value), /*isSigned=*/false, /*implicitTrunc=*/true);
  auto element = emit.builder.getIntegerAttr(emit.elementType(type.element), bitsOfValue);
  return emit.handle(constant(emit, emit.type(type), element));
}

Handle emitFloat(const TileType &type, double value, Position where) {
  Emitter emit(where);
  return emit.handle(constant(emit, emit.type(type), FloatAttr::get(emit.elementType(type.element), value)));
}

Handle emitBroadcast(Handle source, const TileType &type, Position where) {
  Emitter emit(where);
  Value value = emit.value(source);
  Type wanted = emit.type(type);
  if (auto tile = dyn_cast<RankedTensorType>(value.getType()))
    wanted = tile.clone(cast<RankedTensorType>(wanted).getShape());
  if (value.getType() == wanted)
    return source;
  return emit.handle(emit.create(isa<RankedTensorType>(value.getType()) ? "tt.broadcast" : "tt.splat", wanted, value));
}

Handle emitUnary(Unary kind, Handle x, ElementType element, Position where) {
  Emitter emit(where);
  Value value = emit.value(x);
  if (isFloating(element))
    return emit.handle(emit.create(nameOf(kind), value.getType(), value));
  if (kind == Unary::Absolute)
    return emit.handle(emit.create("math.absi", value.getType(), value));
  Value zero = constant(emit, value.getType(), emit.builder.getIntegerAttr(emit.elementType(element), 0));
  return emit.handle(emit.create("arith.subi", value.getType(), {zero, value}));
}

Handle emitBinary(Binary kind, Handle x, Handle y, ElementType element, Position where) {
  Emitter emit(where);
  OperationNames names = namesOf(kind);
  const char *name = isFloating(element)          ? names.ofFloats
                     : isUnsignedElement(element) ? names.ofUnsigned
                                                  : names.ofSigned;
  Value operands[] = {emit.value(x), emit.value(y)};
  emit.shareLayout(operands);
  return emit.handle(emit.create(name, operands[0].getType(), operands));
}

Handle emitComparison(Comparison kind, Handle x, Handle y, ElementType element, Position where) {
  Emitter emit(where);
  Value operands[] = {emit.value(x), emit.value(y)};
  emit.shareLayout(operands);
  auto [left, right] = operands;
  if (isFloating(element))
    return emit.handle(arith::CmpFOp::create(emit.builder, emit.location, floatPredicateOf(kind), left, right));
  return emit.handle(
      arith::CmpIOp::create(emit.builder, emit.location, predicateOf(kind, isUnsignedElement(element)), left, right));
}

Handle emitSelect(Handle condition, Handle x, Handle y, Position where) {
  Emitter emit(where);
  Value operands[] = {emit.value(condition), emit.value(x), emit.value(y)};
  emit.shareLayout(operands);
  return emit.handle(emit.create("arith.select", operands[1].getType(), operands));
}

Handle emitFusedMultiplyAdd(Handle x, Handle y, Handle z, Position where) {
  Emitter emit(where);
  Value operands[] = {emit.value(x), emit.value(y), emit.value(z)};
  emit.shareLayout(operands);
  return emit.handle(emit.create("math.fma", operands[0].getType(), operands));
}

Handle emitClamp(Handle x, Handle lower, Handle upper, NaN nan, Position where) {
  Emitter emit(where);
  Value operands[] = {emit.value(x), emit.value(lower), emit.value(upper)};
  emit.shareLayout(operands);
  auto [value, least, most] = operands;
  auto mode = nan == NaN::Ignored ? triton::PropagateNan::None : triton::PropagateNan::All;
  return emit.handle(triton::ClampFOp::create(emit.builder, emit.location, value.getType(), value, least, most, mode));
}

Handle emitCast(Handle x, ElementType from, ElementType to, Position where) {
  Emitter emit(where);
  Value value = emit.value(x);
  if (emit.elementType(from) == emit.elementType(to))
    return x;
  if (to == ElementType::I1) {
    if (isFp8(from)) {
      value = convertOnce(emit, value, from, ElementType::F32);
      from = ElementType::F32;
    }
    Value zero = constant(emit, value.getType(), cast<TypedAttr>(emit.builder.getZeroAttr(emit.elementType(from))));
    return emitComparison(Comparison::NotEqual, emit.handle(value), emit.handle(zero), from, where);
  }
  if (goesThroughF32(from, to)) {
    value = convertOnce(emit, value, from, ElementType::F32);
    from = ElementType::F32;
  }
  return emit.handle(convertOnce(emit, value, from, to));
}

Handle emitBitcast(Handle x, const TileType &type, Position where) {
  Emitter emit(where);
  Value value = emit.value(x);
  Type wanted = emit.typeLike(value.getType(), getElementTypeOrSelf(emit.type(type)));
  return value.getType() == wanted ? x : emit.handle(emit.create("tt.bitcast", wanted, value));
}

Handle emitAddPointer(Handle pointer, Handle offset, Position where) {
  Emitter emit(where);
  Value operands[] = {emit.value(pointer), emit.value(offset)};
  emit.shareLayout(operands);
  return emit.handle(emit.create("tt.addptr", operands[0].getType(), operands));
}

Handle emitPointerToInteger(Handle pointer, Position where) {
  Emitter emit(where);
  Value value = emit.value(pointer);
  return emit.handle(emit.create("tt.ptr_to_int", emit.typeLike(value.getType(), emit.builder.getI64Type()), value));
}

Handle emitIntegerToPointer(Handle address, const TileType &type, Position where) {
  Emitter emit(where);
  Value value = emit.value(address);
  Type wanted = emit.typeLike(value.getType(), getElementTypeOrSelf(emit.type(type)));
  return emit.handle(emit.create("tt.int_to_ptr", wanted, value));
}

} // namespace heddle::build::detail
