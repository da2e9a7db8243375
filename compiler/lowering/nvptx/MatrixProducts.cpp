// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of matrices by one warp (mma.sync), and their operands from shared memory (ldmatrix). Source: PTX ISA 8.6.
#include "compiler/lowering/nvptx/NvptxTarget.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nvptx;
using namespace heddle::simt;
using namespace heddle::triton;

const char *NvptxTarget::matrixTypeName(Type type) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isF32())
    return "tf32";
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (isa<Float8E5M2Type>(type))
    return "e5m2";
  return "s8";
}

/// What the elements are multiplied as; nothing when no instruction of any chip does it.
static std::optional<MatrixOperand> multipliedAs(Type a, Type b, Type d, InputPrecision precision) {
  bool isShort = d.isF16() || d.isBF16(); // f32 until the end
  if (isFp8(a) && isFp8(b) && (d.isF32() || isShort))
    return MatrixOperand::Fp8;
  if (a == b && a.isInteger(8) && d.isInteger(32))
    return MatrixOperand::I8;
  if (a != b || !(d.isF32() || (isShort && (a.isF16() || a.isBF16()))))
    return std::nullopt;
  if (a.isF16())
    return MatrixOperand::F16;
  if (a.isBF16())
    return MatrixOperand::BF16;
  if (a.isF32() && precision == InputPrecision::TF32)
    return MatrixOperand::TF32;
  return std::nullopt;
}

static MatrixInstruction instructionOf(const WarpMatmul &row, Type a, Type b, Type d) {
  MatrixInstruction made{.m = row.m, .n = row.n, .k = row.k, .kWidth = row.k / 8, .kPerLane = row.k / 4};
  made.name = row.name;
  made.a = a, made.b = b, made.d = d.isF16() || d.isBF16() ? Type(Float32Type::get(d.getContext())) : d;
  made.aRows = {0, 8};
  made.results = {{0, 0}, {0, 1}, {8, 0}, {8, 1}};
  return made;
}

std::optional<MatrixInstruction> NvptxTarget::matrixInstruction(DotOp dot, int64_t /*mostRows*/) const {
  auto aType = cast<RankedTensorType>(dot.getA().getType()), dType = cast<RankedTensorType>(dot.getType());
  Type a = aType.getElementType(), b = elementTypeOf(dot.getB().getType());
  std::optional<MatrixOperand> type = multipliedAs(a, b, dType.getElementType(), dot.getInputPrecision());
  if (!type || (type == MatrixOperand::Fp8 && !(isNativeFp8(a) && isNativeFp8(b))))
    return std::nullopt;
  int rank = int(dType.getRank());
  for (const WarpMatmul &row : chip.matmuls) {
    // Lanes for which a smaller tile has no row or column repeat one that it has. Along K that would count twice.
    if (row.operand != *type || aType.getDimSize(rank - 1) < row.k)
      continue;
    return instructionOf(row, a, b, dType.getElementType());
  }
  return std::nullopt;
}

std::optional<MatrixInstruction> NvptxTarget::findInstruction(MatrixDotOp dot, std::string &why) const {
  MatrixAttr wanted = *dot.getInstruction();
  Type as = wanted.getAs(), d = elementTypeOf(dot.getType());
  Type a = as ? as : elementTypeOf(dot.getA().getType()), b = as ? as : elementTypeOf(dot.getB().getType());
  std::optional<MatrixOperand> type = multipliedAs(a, b, d, dot.getPrecision());
  bool isKnown = type && (type != MatrixOperand::Fp8 || (isNativeFp8(a) && isNativeFp8(b))) && wanted.getTransposed();
  for (const WarpMatmul &row : chip.matmuls)
    if (isKnown && row.operand == *type && row.m == wanted.getM() && row.n == wanted.getN() && row.k == wanted.getK())
      return instructionOf(row, a, b, d);
  llvm::raw_string_ostream(why) << chip.name << " has no matrix instruction of " << wanted.getM() << "x"
                                << wanted.getN() << "x" << wanted.getK() << " for " << a << " and " << b << " into "
                                << d << (wanted.getTransposed() ? "" : " whose results are along M");
  return std::nullopt;
}

layout::LinearLayout NvptxTarget::accumulatorLayout(const MatrixInstruction &, const layout::Shape &shape,
                                                    const layout::Shape &warps) const {
  return layout::mmaAccumulator(shape, warps);
}

layout::LinearLayout NvptxTarget::operandLayout(const MatrixInstruction &instruction, const layout::Shape &shape,
                                                const layout::Shape &warps, int operand) const {
  return layout::mmaOperand(shape, warps, operand, instruction.kWidth);
}

SmallVector<Value> NvptxTarget::multiply(Builder &builder, const MatrixInstruction &shape, ValueRange a, ValueRange b,
                                         ValueRange c) const {
  Type aElement = shape.a, bElement = shape.b;
  Type accumulator = c.front().getType();
  SmallVector<Value> operands;
  auto add = [&](ValueRange words) {
    for (Value word : words) {
      if (aElement.isF32()) // to nearest, ties away: what the instruction would otherwise cut off
        word = NVVM::ConvertFloatToTF32Op::create(builder, builder.getI32Type(),
                                                  LLVM::BitcastOp::create(builder, builder.getF32Type(), word),
                                                  NVVM::FPRoundingMode::RNA);
      if (aElement.isF16())
        word = LLVM::BitcastOp::create(builder, VectorType::get(2, builder.getF16Type()), word);
      operands.push_back(word);
    }
  };
  add(a);
  add(b);
  llvm::append_range(operands, c);
  Type result = LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(4, accumulator));
  std::string name = std::string("llvm.nvvm.mma.") + shape.name;
  if (isFp8(aElement))
    name += std::string(".") + matrixTypeName(aElement) + "." + matrixTypeName(bElement) + ".f32";
  Value d = call(builder, result, name, operands);
  SmallVector<Value> results;
  for (int64_t i = 0; i < 4; ++i)
    results.push_back(LLVM::ExtractValueOp::create(builder, d, ArrayRef<int64_t>{i}));
  return results;
}

SmallVector<Value> NvptxTarget::loadMatrix(Builder &b, Value shared, bool transposed) const {
  Type words = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getI32Type()));
  auto layout = transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
  Value whole = NVVM::LdMatrixOp::create(b, words, shared, 4, layout, shape, NVVM::LdStMatrixEltType::B16);
  SmallVector<Value> results;
  for (int64_t i = 0; i < 4; ++i)
    results.push_back(LLVM::ExtractValueOp::create(b, whole, ArrayRef<int64_t>{i}));
  return results;
}
