// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of matrices with scales by one wave (v_mfma_scale_f32_*_f8f6f4, CDNA 4). As in MatrixProducts.cpp, A and B
// are swapped where results are transposed, and with them their formats and scales.
#include "compiler/lowering/amdgpu/AmdTarget.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::amdgpu;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
constexpr WarpMatmul scaledMatmuls[] = {{MatrixOperand::Fp8, 32, 32, 64, "scale.f32.32x32x64.f8f6f4"},
                                        {MatrixOperand::Fp8, 16, 16, 128, "scale.f32.16x16x128.f8f6f4"}};
} // namespace

std::optional<MatrixInstruction> AmdTarget::scaledInstruction(MatrixAttr wanted, std::string &why) const {
  for (const WarpMatmul &row : scaledMatmuls)
    if (chip.scaledMatmuls && row.m == wanted.getM() && row.n == wanted.getN() && row.k == wanted.getK()) {
      Type byte = IntegerType::get(wanted.getContext(), 8), single = Float32Type::get(wanted.getContext());
      MatrixInstruction made = instructionOf(row, {byte, byte, single}, wanted.getTransposed());
      made.kWidth = scaledRunBytes;
      return made;
    }
  llvm::raw_string_ostream stream(why);
  if (!chip.scaledMatmuls)
    stream << chip.name << " has no matrix instruction with scales";
  else
    stream << chip.name << " has matrix instructions with scales of 16x16x128 and 32x32x64, not of " << wanted.getM()
           << "x" << wanted.getN() << "x" << wanted.getK();
  return std::nullopt;
}

SmallVector<Value> AmdTarget::multiplyScaled(Builder &builder, const MatrixInstruction &shape, const ScaledOperand &a,
                                             const ScaledOperand &b, ValueRange c) const {
  const ScaledOperand &first = shape.transposed ? b : a, &second = shape.transposed ? a : b;
  auto joined = [&](ValueRange values, Type element) {
    Value whole = LLVM::PoisonOp::create(builder, VectorType::get(int64_t(values.size()), element));
    for (auto [i, value] : llvm::enumerate(values))
      whole = LLVM::InsertElementOp::create(builder, whole, value, i32(builder, int64_t(i)));
    return whole;
  };
  Value sum = joined(c, shape.d);
  auto number = [&](auto value) { return i32(builder, int64_t(value)); }; // LLVM numbers formats as Triton does
  Value product = multiplyByName(builder, sum.getType(), shape.name,
                                 {joined(first.words, builder.getI32Type()), joined(second.words, builder.getI32Type()),
                                  sum, number(first.format), number(second.format), number(first.scale), first.scales,
                                  number(second.scale), second.scales});
  SmallVector<Value> results;
  for (size_t i = 0; i < c.size(); ++i)
    results.push_back(LLVM::ExtractElementOp::create(builder, product, i32(builder, int64_t(i))));
  return results;
}
