// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matmuls by one wave (MFMA). A and B are swapped, so that a lane's results are contiguous in a row of
// the product: stores are wide, and a product is an operand of the next one in its registers. The chip lists its
// instructions (Chip::matmuls); here is which one a product takes.
#include "compiler/lowering/amdgpu/AmdTarget.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::amdgpu;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {

bool isBf8(Type type) {
  return isa<Float8E5M2Type, Float8E5M2FNUZType>(type);
}

/// What the elements are multiplied as; f8 that the chip does not know are exact as f16.
std::optional<MatrixOperand> multipliedAs(Type a, Type b, Type d, bool nativeFp8, bool asTf32) {
  if (isFp8(a) && isFp8(b) && (d.isF32() || d.isF16()))
    return nativeFp8 ? MatrixOperand::Fp8 : MatrixOperand::F16;
  if (a != b)
    return std::nullopt;
  if (a.isInteger(8) && d.isInteger(32))
    return MatrixOperand::I8;
  if (a.isF64() && d.isF64())
    return MatrixOperand::F64;
  if (!d.isF32() && !d.isF16() && !d.isBF16())
    return std::nullopt;
  if (a.isF16())
    return MatrixOperand::F16;
  if (a.isBF16())
    return MatrixOperand::BF16;
  if (a.isF32())
    return asTf32 ? MatrixOperand::TF32 : MatrixOperand::F32;
  return std::nullopt;
}

std::optional<MatrixOperand> multipliedAs(DotOp dot, bool nativeFp8, const Chip &chip) {
  bool asTf32 = chip.hasMatmul(MatrixOperand::TF32) && dot.getInputPrecision() == InputPrecision::TF32;
  return multipliedAs(elementTypeOf(dot.getA().getType()), elementTypeOf(dot.getB().getType()),
                      elementTypeOf(dot.getType()), nativeFp8, asTf32);
}

/// Four results of a lane are contiguous, of f64 one.
void fillResults(MatrixInstruction &made, int64_t lanes) {
  int64_t perGroup = made.a.isF64() ? 1 : 4, groups = made.m * made.n / lanes / perGroup;
  int64_t step = lanes / std::max(made.m, made.n);
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t i = 0; i < perGroup; ++i) {
      int64_t at = group * step * perGroup + i;
      made.results.push_back(made.transposed ? std::pair(int64_t(0), at) : std::pair(at, int64_t(0)));
    }
}

/// Of 4 x 64; transposed, as A and B are swapped, of 64 x 4.
bool isOfShape(const WarpMatmul &row, MatrixAttr wanted) {
  bool swapped = row.m != row.n && wanted.getTransposed();
  return wanted.getM() == (swapped ? row.n : row.m) && wanted.getN() == (swapped ? row.m : row.n);
}

/// Results are those of 32 x 32 where every wave of a block gets some.
constexpr int64_t manyResults = 128 * 64;

} // namespace

MatrixInstruction AmdTarget::instructionOf(const WarpMatmul &row, ElementTypes types, bool transposed) const {
  int64_t kPerLane = row.k / (lanesPerWarp() / row.m);
  MatrixInstruction made{.m = row.m, .n = row.n, .k = row.k, .kWidth = kPerLane, .kPerLane = kPerLane};
  made.pieces = row.n / row.m;
  if (transposed)
    std::swap(made.m, made.n);
  made.name = row.name;
  made.a = types.a;
  made.b = types.b;
  bool isExact = types.a.isF64() || types.a.isInteger(8);
  made.d = isExact ? types.d : Type(Float32Type::get(types.d.getContext()));
  made.transposed = transposed;
  fillResults(made, lanesPerWarp());
  return made;
}

std::optional<MatrixInstruction> AmdTarget::matrixInstruction(DotOp dot, int64_t mostRows) const {
  auto aType = cast<RankedTensorType>(dot.getA().getType()), dType = cast<RankedTensorType>(dot.getType());
  Type a = aType.getElementType(), b = elementTypeOf(dot.getB().getType());
  bool native = isNativeFp8(a) && isNativeFp8(b);
  std::optional<MatrixOperand> type = multipliedAs(dot, native, chip);
  int rank = int(dType.getRank());
  int64_t rows = dType.getDimSize(rank - 2), columns = dType.getDimSize(rank - 1), depth = aType.getDimSize(rank - 1);
  if (!type)
    return std::nullopt;
  constexpr int64_t large = 32;
  bool isLarge = rows >= large && columns >= large && rows * columns >= manyResults && mostRows >= large;
  for (const WarpMatmul &row : chip.matmuls) {
    bool isSquare = row.m == row.n; // the others have no operand layout that is read 16 bytes at a time
    // Lanes for which a smaller tile has no row or column repeat one that it has. Along K that would count twice.
    if (!isSquare || row.operand != *type || (row.m == large && !isLarge) || depth < row.k)
      continue;
    Type as = isFp8(a) && *type == MatrixOperand::F16 ? Type(Float16Type::get(dot.getContext())) : Type();
    MatrixInstruction made =
        instructionOf(row, {as ? as : a, as ? as : b, elementTypeOf(dot.getType())}, /*transposed=*/true);
    // Operands are read from shared memory 16 bytes at a time, or what there is.
    int64_t bytes = aType.getElementTypeBitWidth() / 8, lanesAlongK = lanesPerWarp() / row.m;
    made.kWidth = std::max(made.kPerLane, std::min(16 / bytes, depth / lanesAlongK));
    return made;
  }
  return std::nullopt;
}

std::optional<MatrixInstruction> AmdTarget::findInstruction(MatrixDotOp dot, std::string &why) const {
  MatrixAttr wanted = *dot.getInstruction();
  Type as = wanted.getAs(), d = elementTypeOf(dot.getType());
  Type a = as ? as : elementTypeOf(dot.getA().getType()), b = as ? as : elementTypeOf(dot.getB().getType());
  bool asTf32 = chip.hasMatmul(MatrixOperand::TF32) && dot.getPrecision() == InputPrecision::TF32;
  std::optional<MatrixOperand> type = multipliedAs(a, b, d, isNativeFp8(a) && isNativeFp8(b), asTf32);
  if (type == MatrixOperand::F16 && isFp8(a))
    type.reset(); // a named instruction multiplies the types of its operands
  std::string depths;
  for (const WarpMatmul &row : chip.matmuls) {
    if (!type || row.operand != *type || !isOfShape(row, wanted))
      continue;
    if (row.k == wanted.getK())
      return instructionOf(row, {a, b, d}, wanted.getTransposed());
    depths += (depths.empty() ? "" : ", ") + std::to_string(row.k);
  }
  llvm::raw_string_ostream stream(why);
  // Rule K6: a matmul names an instruction that the chip has.
  stream << chip.name << " has no matrix instruction of " << wanted.getM() << "x" << wanted.getN() << "x"
         << wanted.getK() << " for " << a << " and " << b << " into " << d;
  if (!depths.empty())
    stream << ": K is " << depths;
  else if ((isFp8(a) && !isNativeFp8(a)) || (isFp8(b) && !isNativeFp8(b)))
    stream << ": its floats of 8 bits are " << operandTypes(/*onlyFp8=*/true);
  return std::nullopt;
}

std::string AmdTarget::operandTypes(bool onlyFp8) const {
  std::string known;
  for (ElementType each : chip.matrixTypes)
    if (!onlyFp8 || StringRef(elementTypeName(each)).starts_with("f8"))
      known += (known.empty() ? "" : ", ") + std::string(elementTypeName(each));
  return known;
}

std::string AmdTarget::adviceFor(DotOp dot) const {
  Type a = elementTypeOf(dot.getA().getType()), b = elementTypeOf(dot.getB().getType());
  bool native = isNativeFp8(a) && isNativeFp8(b);
  std::optional<MatrixOperand> type = multipliedAs(dot, native, chip);
  bool viaHalf = type && isFp8(a) && !native && matrixInstruction(dot, INT64_MAX);
  if (type && !viaHalf)
    return "";
  std::string text, known = operandTypes(viaHalf);
  llvm::raw_string_ostream stream(text);
  stream << "`tt.dot` of " << a << " and " << b << " into " << elementTypeOf(dot.getType());
  if (viaHalf)
    stream << " is multiplied as f16 on " << chip.name << ", whose matrix instructions read 8-bit floats as " << known
           << ": convert the operands to these formats, or to f16, before they are stored";
  else
    stream << " has no matrix instruction on " << chip.name
           << " and is multiplied element by element: convert both operands to one of " << known;
  return text;
}

layout::LinearLayout AmdTarget::accumulatorLayout(const MatrixInstruction &instruction, const layout::Shape &shape,
                                                  const layout::Shape &warps) const {
  return layout::mfmaAccumulator(shape, warps, instruction.m, instruction.n, /*transposed=*/true,
                                 int(instruction.d.getIntOrFloatBitWidth()));
}

layout::LinearLayout AmdTarget::operandLayout(const MatrixInstruction &instruction, const layout::Shape &shape,
                                              const layout::Shape &warps, int operand) const {
  return layout::mfmaOperand(shape, warps, operand, instruction.kWidth, instruction.m, instruction.n);
}

// The operations of ROCDL are called as the intrinsics are; their operands have no types.
Value AmdTarget::multiplyByName(Builder &b, Type result, StringRef name, ValueRange operands) {
  OperationState state(b.getLoc(), ("rocdl.mfma." + name).str());
  state.addOperands(operands);
  state.addTypes(result);
  return b.create(state)->getResult(0);
}

SmallVector<Value> AmdTarget::multiply(Builder &builder, const MatrixInstruction &shape, ValueRange a, ValueRange b,
                                       ValueRange c) const {
  Type element = shape.a;
  std::string name = shape.name;
  auto suffix = [](Type type) { return isBf8(type) ? ".bf8" : ".fp8"; };
  if (shape.transposed) // A and B are swapped
    std::swap(a, b);
  if (isFp8(element))
    name += shape.transposed ? std::string(suffix(shape.b)) + suffix(shape.a)
                             : std::string(suffix(shape.a)) + suffix(shape.b);
  int64_t bits = shape.kPerLane * element.getIntOrFloatBitWidth();
  Type operand;
  if (shape.kPerLane == 1)
    operand = element;
  else if (element.isF16() || element.isF32() || (element.isBF16() && bits > 64))
    operand = VectorType::get(shape.kPerLane, element);
  else if (element.isBF16())
    operand = VectorType::get(shape.kPerLane, builder.getI16Type());
  else
    operand = bits > 64 ? Type(VectorType::get(bits / 32, builder.getI32Type()))
                        : Type(builder.getIntegerType(unsigned(bits)));
  auto joined = [&](ValueRange words) -> Value {
    if (words.size() == 1)
      return LLVM::BitcastOp::create(builder, operand, words[0]);
    Value whole = LLVM::PoisonOp::create(builder, VectorType::get(int64_t(words.size()), builder.getI32Type()));
    for (auto [i, word] : llvm::enumerate(words))
      whole = LLVM::InsertElementOp::create(builder, whole, word, i32(builder, int64_t(i)));
    return operand == whole.getType() ? whole : Value(LLVM::BitcastOp::create(builder, operand, whole));
  };
  Type result = VectorType::get(int64_t(c.size()), shape.d);
  Value sum = LLVM::PoisonOp::create(builder, result);
  for (auto [i, value] : llvm::enumerate(c))
    sum = LLVM::InsertElementOp::create(builder, sum, value, i32(builder, int64_t(i)));
  // Of pieces, all blocks read the block `piece` of the narrow operand.
  size_t words = b.size() / size_t(shape.pieces);
  Value zero = i32(builder, 0), broadcast = i32(builder, llvm::Log2_64(uint64_t(shape.pieces)));
  for (int64_t piece = 0; piece < shape.pieces; ++piece)
    sum = multiplyByName(
        builder, result, name,
        {joined(a), joined(b.slice(size_t(piece) * words, words)), sum, broadcast, i32(builder, piece), zero});
  SmallVector<Value> results;
  for (size_t i = 0; i < c.size(); ++i)
    results.push_back(LLVM::ExtractElementOp::create(builder, sum, i32(builder, int64_t(i))));
  return results;
}
