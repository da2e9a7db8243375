// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of matrices by one warp (mma.sync), and their operands from shared memory (ldmatrix). Source: PTX ISA 8.6.
#include "compiler/lowering/nvptx/NvptxTarget.h"

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

std::optional<MatrixInstruction> NvptxTarget::matrixInstruction(DotOp dot) const {
  auto aType = cast<RankedTensorType>(dot.getA().getType()), dType = cast<RankedTensorType>(dot.getType());
  auto bType = cast<RankedTensorType>(dot.getB().getType());
  Type a = aType.getElementType(), b = bType.getElementType(), d = dType.getElementType();
  MatrixInstruction instruction{.m = 16, .n = 8, .a = a, .b = b, .d = d, .aRows = {0, 8}};
  instruction.results = {{0, 0}, {0, 1}, {8, 0}, {8, 1}};
  bool sameFloat = a == b && d.isF32();
  if (sameFloat && (a.isF16() || a.isBF16()))
    instruction.kWidth = 2;
  else if (sameFloat && isa<Float8E4M3FNType, Float8E5M2Type>(a))
    instruction.kWidth = 4;
  else if (d.isF32() && isa<Float8E4M3FNType, Float8E5M2Type>(a) && isa<Float8E4M3FNType, Float8E5M2Type>(b))
    instruction.kWidth = 4;
  else if (sameFloat && a.isF32() && dot.getInputPrecision() == InputPrecision::TF32)
    instruction.kWidth = 1;
  else if (a.isInteger(8) && b.isInteger(8) && d.isInteger(32))
    instruction.kWidth = 4;
  else
    return std::nullopt;
  instruction.k = 8 * instruction.kWidth;
  instruction.kPerLane = 2 * instruction.kWidth;
  int rank = int(dType.getRank());
  bool fits = dType.getDimSize(rank - 2) >= instruction.m && dType.getDimSize(rank - 1) >= instruction.n &&
              aType.getDimSize(rank - 1) >= instruction.k;
  return fits ? std::optional(instruction) : std::nullopt;
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
  bool integer = accumulator.isInteger(32);
  SmallVector<Value> operands;
  auto add = [&](ValueRange words) {
    for (Value word : words) {
      if (aElement.isF32()) // to nearest, ties away: what the instruction would otherwise cut off
        word = call(builder, builder.getI32Type(), "llvm.nvvm.f2tf32.rna",
                    {LLVM::BitcastOp::create(builder, builder.getF32Type(), word).getResult()});
      if (aElement.isF16())
        word = LLVM::BitcastOp::create(builder, VectorType::get(2, builder.getF16Type()), word);
      operands.push_back(word);
    }
  };
  add(a);
  add(b);
  llvm::append_range(operands, c);
  Type result = LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(4, accumulator));
  std::string name = "llvm.nvvm.mma.m16n8k" + std::to_string(shape.k) + ".row.col.";
  if (aElement.isF16())
    name += "f32.f32";
  else if (shape.kWidth == 4 && !integer)
    name += std::string("f32.") + matrixTypeName(aElement) + "." + matrixTypeName(bElement) + ".f32";
  else
    name += matrixTypeName(aElement);
  Value d = call(builder, result, name, operands);
  SmallVector<Value> results;
  for (int64_t i = 0; i < 4; ++i)
    results.push_back(LLVM::ExtractValueOp::create(builder, d, ArrayRef<int64_t>{i}));
  return results;
}

SmallVector<Value> NvptxTarget::loadMatrix(Builder &b, Value shared, bool transposed) const {
  Type words = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getI32Type()));
  // The name ends in the address space of its overload.
  std::string name = std::string("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4") + (transposed ? ".trans" : "") + ".b16.p3";
  Value whole = call(b, words, name, {shared});
  SmallVector<Value> results;
  for (int64_t i = 0; i < 4; ++i)
    results.push_back(LLVM::ExtractValueOp::create(b, whole, ArrayRef<int64_t>{i}));
  return results;
}
