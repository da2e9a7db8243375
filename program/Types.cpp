// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of types, and the list of them for errors.
#include "program/Types.h"
#include "frontend/hlo/ReadComplex.h"

namespace heddle::program {

std::optional<ElementType> bufferType(hlo::DType type) {
  using hlo::DType;
  switch (type) {
  case DType::Pred:
    return ElementType::I1;
  case DType::S8:
    return ElementType::I8;
  case DType::S16:
    return ElementType::I16;
  case DType::S32:
    return ElementType::I32;
  case DType::S64:
    return ElementType::I64;
  case DType::U8:
    return ElementType::UI8;
  case DType::U16:
    return ElementType::UI16;
  case DType::U32:
    return ElementType::UI32;
  case DType::U64:
    return ElementType::UI64;
  case DType::F16:
    return ElementType::F16;
  case DType::BF16:
    return ElementType::BF16;
  case DType::F32:
    return ElementType::F32;
  case DType::F64:
    return ElementType::F64;
  case DType::F8E4M3FN:
    return ElementType::F8E4M3FN;
  case DType::F8E5M2:
    return ElementType::F8E5M2;
  case DType::F8E4M3FNUZ:
    return ElementType::F8E4M3FNUZ;
  case DType::F8E5M2FNUZ:
    return ElementType::F8E5M2FNUZ;
  case DType::S1:
  case DType::S2:
  case DType::S4:
    return ElementType::I8;
  case DType::U1:
  case DType::U2:
  case DType::U4:
  case DType::F8E4M3:
  case DType::F8E4M3B11FNUZ:
  case DType::F8E3M4:
  case DType::F8E8M0FNU:
  case DType::F4E2M1FN:
    return ElementType::UI8;
  default:
    return std::nullopt;
  }
}

hlo::Shape arrayOf(const hlo::Shape &shape) {
  if (!hlo::isComplex(shape.type))
    return shape;
  hlo::Shape pairs = hlo::Shape::array(hlo::partType(shape.type), shape.dimensions);
  pairs.dimensions.push_back(2);
  return pairs;
}

std::string knownTypes() {
  std::string names;
  for (hlo::DType type : hlo::allDTypes())
    if (bufferType(type))
      names += (names.empty() ? "" : ", ") + std::string(hlo::dtypeName(type));
  return names;
}

} // namespace heddle::program
