// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element-wise operations: which types each takes, and the agreement of their operands.
#include "frontend/hlo/InferShape.h"
#include "frontend/hlo/ReadComplex.h"
#include <fmt/format.h>

namespace heddle::hlo {
namespace {

using enum Opcode;

bool takesPred(Opcode opcode) {
  switch (opcode) {
  case Not:
  case Copy:
  case Add:
  case Multiply:
  case Maximum:
  case Minimum:
  case And:
  case Or:
  case Xor:
    return true;
  default:
    return false;
  }
}

bool takesFloating(Opcode opcode) {
  switch (opcode) {
  case Not:
  case PopulationCount:
  case CountLeadingZeros:
  case And:
  case Or:
  case Xor:
  case ShiftLeft:
  case ShiftRightArithmetic:
  case ShiftRightLogical:
    return false;
  default:
    return true;
  }
}

bool takesInteger(Opcode opcode) {
  switch (opcode) {
  case Abs:
  case Negate:
  case Sign:
  case Not:
  case PopulationCount:
  case CountLeadingZeros:
  case Copy:
    return true;
  default:
    return opcodeClass(opcode) == OpcodeClass::Binary && opcode != Atan2;
  }
}

void checkType(const ShapeQuery &query, DType type) {
  Opcode opcode = query.instruction.opcode;
  bool taken = isFloating(type)      ? takesFloating(opcode)
               : isInteger(type)     ? takesInteger(opcode)
               : type == DType::Pred ? takesPred(opcode)
                                     : opcode == Copy;
  if (!taken)
    throw inputError(fmt::format("'{}' of type {} is not supported", query.opcode(), dtypeName(type)));
}

Shape withType(Shape shape, DType type) {
  shape.type = type;
  return shape;
}

void checkSameShape(const ShapeQuery &query, const Shape &left, const Shape &right) {
  if (!left.sameAs(right))
    throw inputError(fmt::format("'{}' takes operands of one shape, got {} and {}", query.opcode(),
                                 formatShapePlain(left), formatShapePlain(right)));
}

Shape inferUnary(const ShapeQuery &query) {
  if (query.instruction.opcode == Copy && !query.operand(0).isArray())
    return query.operand(0);
  const Shape &shape = query.arrayOperand(0);
  checkType(query, shape.type);
  return query.instruction.opcode == IsFinite ? withType(shape, DType::Pred) : shape;
}

Shape inferBinary(const ShapeQuery &query) {
  const Shape &shape = query.arrayOperand(0);
  checkSameShape(query, shape, query.arrayOperand(1));
  checkType(query, shape.type);
  return shape;
}

Shape inferCompare(const ShapeQuery &query) {
  const Shape &shape = query.arrayOperand(0);
  checkSameShape(query, shape, query.arrayOperand(1));
  if (isComplex(shape.type))
    throw inputError(fmt::format("'compare' of type {} is not supported", dtypeName(shape.type)));
  return withType(shape, DType::Pred);
}

Shape inferSelect(const ShapeQuery &query) {
  const Shape &predicate = query.arrayOperand(0), &shape = query.arrayOperand(1);
  checkSameShape(query, shape, query.arrayOperand(2));
  if (predicate.type != DType::Pred || (!predicate.isScalar() && !predicate.sameDimensionsAs(shape)))
    throw inputError(fmt::format("'select' takes a pred of the shape of the values, or a scalar, got {} for {}",
                                 formatShapePlain(predicate), formatShapePlain(shape)));
  return shape;
}

Shape inferClamp(const ShapeQuery &query) {
  const Shape &shape = query.arrayOperand(1);
  if (!isFloating(shape.type) && !isInteger(shape.type))
    throw inputError(fmt::format("'clamp' of type {} is not supported", dtypeName(shape.type)));
  for (size_t bound : {0, 2}) {
    const Shape &limit = query.arrayOperand(bound);
    if (limit.type != shape.type || (!limit.isScalar() && !limit.sameDimensionsAs(shape)))
      throw inputError(fmt::format("'clamp' takes bounds of the shape of the value, or scalars, got {} for {}",
                                   formatShapePlain(limit), formatShapePlain(shape)));
  }
  return shape;
}

Shape inferConvert(const ShapeQuery &query) {
  const Shape &from = query.arrayOperand(0), &to = query.needDeclaredArray();
  if (isComplex(from.type) != isComplex(to.type) || (isComplex(from.type) && from.type != to.type))
    throw inputError(fmt::format("'convert' from {} to {} is not supported", dtypeName(from.type), dtypeName(to.type)));
  return withType(from, to.type);
}

/// A narrower result gets a new last dimension, a wider one loses the last dimension of its operand.
Shape inferBitcastConvert(const ShapeQuery &query) {
  const Shape &from = query.arrayOperand(0), &to = query.needDeclaredArray();
  int fromBits = bitWidth(from.type), toBits = bitWidth(to.type);
  Shape result = Shape::array(to.type, from.dimensions);
  if (fromBits > toBits)
    result.dimensions.push_back(fromBits / toBits);
  if (fromBits < toBits) {
    if (from.dimensions.empty() || from.dimensions.back() != toBits / fromBits)
      throw inputError(fmt::format("'bitcast-convert' from {} to {} needs a last dimension of size {}",
                                   formatShapePlain(from), dtypeName(to.type), toBits / fromBits));
    result.dimensions.pop_back();
  }
  return result;
}

Shape inferComplex(const ShapeQuery &query) {
  const Shape &shape = query.arrayOperand(0);
  checkSameShape(query, shape, query.arrayOperand(1));
  if (shape.type != DType::F32 && shape.type != DType::F64)
    throw inputError(fmt::format("'complex' takes parts of f32 or f64, got {}", dtypeName(shape.type)));
  return withType(shape, shape.type == DType::F32 ? DType::C64 : DType::C128);
}

Shape inferPart(const ShapeQuery &query) {
  const Shape &shape = query.arrayOperand(0);
  if (!isComplex(shape.type))
    throw inputError(fmt::format("'{}' of type {} is not supported", query.opcode(), dtypeName(shape.type)));
  return withType(shape, partType(shape.type));
}

} // namespace

Shape inferElementwise(const ShapeQuery &query) {
  switch (query.instruction.opcode) {
  case Compare:
    return inferCompare(query);
  case Select:
    return inferSelect(query);
  case Clamp:
    return inferClamp(query);
  case Convert:
    return inferConvert(query);
  case BitcastConvert:
    return inferBitcastConvert(query);
  case Opcode::Complex:
    return inferComplex(query);
  case Real:
  case Imag:
    return inferPart(query);
  default:
    break;
  }
  return opcodeClass(query.instruction.opcode) == OpcodeClass::Unary ? inferUnary(query) : inferBinary(query);
}

} // namespace heddle::hlo
