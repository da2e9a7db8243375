// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of matrices by one wave (MFMA). A and B change places, so that a lane's results are neighbours in a row of
// the product: stores are wide, and a product is an operand of the next one in its registers. Source: the instruction
// set manuals of CDNA 3 and CDNA 4, matrix instructions; names of LLVM's intrinsics.
#include "compiler/lowering/amdgpu/AmdTarget.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::amdgpu;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {

enum class Multiplied { F16, BF16, F32, TF32, F64, I8, Fp8 };

/// An instruction of 16 x 16 results and one of 32 x 32, with half the depth.
struct Row {
  Multiplied type;
  int64_t kPerLane;
  const char *small, *large; ///< behind `llvm.amdgcn.mfma.`; of Fp8 without the formats
  bool gfx942, gfx950;
};

// The deepest of a type first.
constexpr Row table[] = {
    {Multiplied::F16, 8, "f32.16x16x32.f16", "f32.32x32x16.f16", false, true},
    {Multiplied::F16, 4, "f32.16x16x16f16", "f32.32x32x8f16", true, true},
    {Multiplied::BF16, 8, "f32.16x16x32.bf16", "f32.32x32x16.bf16", false, true},
    {Multiplied::BF16, 4, "f32.16x16x16bf16.1k", "f32.32x32x8bf16.1k", true, true},
    {Multiplied::I8, 16, "i32.16x16x64.i8", "i32.32x32x32.i8", false, true},
    {Multiplied::I8, 8, "i32.16x16x32.i8", "i32.32x32x16.i8", true, true},
    {Multiplied::Fp8, 8, "f32.16x16x32", "f32.32x32x16", true, true},
    {Multiplied::TF32, 2, "f32.16x16x8.xf32", "f32.32x32x4.xf32", true, false},
    {Multiplied::F32, 1, "f32.16x16x4f32", "f32.32x32x2f32", true, true},
    {Multiplied::F64, 1, "f64.16x16x4f64", nullptr, true, true},
};

bool isBf8(Type type) {
  return isa<Float8E5M2Type, Float8E5M2FNUZType>(type);
}

/// What the elements are multiplied as; f8 that the chip does not know are exact as f16.
std::optional<Multiplied> multipliedAs(DotOp dot, bool nativeFp8, bool hasTf32) {
  Type a = elementTypeOf(dot.getA().getType()), b = elementTypeOf(dot.getB().getType());
  Type d = elementTypeOf(dot.getType());
  if (isFp8(a) && isFp8(b) && (d.isF32() || d.isF16()))
    return nativeFp8 ? Multiplied::Fp8 : Multiplied::F16;
  if (a != b)
    return std::nullopt;
  if (a.isInteger(8) && d.isInteger(32))
    return Multiplied::I8;
  if (a.isF64() && d.isF64())
    return Multiplied::F64;
  if (!d.isF32() && !d.isF16() && !d.isBF16())
    return std::nullopt;
  if (a.isF16())
    return Multiplied::F16;
  if (a.isBF16())
    return Multiplied::BF16;
  if (a.isF32())
    return hasTf32 && dot.getInputPrecision() == InputPrecision::TF32 ? Multiplied::TF32 : Multiplied::F32;
  return std::nullopt;
}

/// Results are those of 32 x 32 where every wave of a block gets some.
constexpr int64_t manyResults = 128 * 64;

} // namespace

std::optional<MatrixInstruction> AmdTarget::matrixInstruction(DotOp dot) const {
  auto aType = cast<RankedTensorType>(dot.getA().getType()), dType = cast<RankedTensorType>(dot.getType());
  Type a = aType.getElementType(), b = elementTypeOf(dot.getB().getType());
  bool isGfx942 = &chip == &gfx942Chip;
  bool native = isNativeFp8(a) && isNativeFp8(b);
  std::optional<Multiplied> type = multipliedAs(dot, native, isGfx942);
  int rank = int(dType.getRank());
  int64_t rows = dType.getDimSize(rank - 2), columns = dType.getDimSize(rank - 1), depth = aType.getDimSize(rank - 1);
  if (!type)
    return std::nullopt;
  for (const Row &row : table) {
    if (row.type != *type || !(isGfx942 ? row.gfx942 : row.gfx950))
      continue;
    bool isLarge = row.large && rows >= 32 && columns >= 32 && rows * columns >= manyResults;
    int64_t side = isLarge ? 32 : 16, lanesAlongK = lanesPerWarp() / side;
    if (rows < side || columns < side || depth < lanesAlongK * row.kPerLane)
      continue;
    Builder context(dot.getLoc(), dot.getContext());
    MatrixInstruction made{.m = side, .n = side, .k = lanesAlongK * row.kPerLane, .kPerLane = row.kPerLane};
    made.name = isLarge ? row.large : row.small;
    bool viaHalf = isFp8(a) && *type == Multiplied::F16;
    made.a = viaHalf ? Type(context.getF16Type()) : a;
    made.b = viaHalf ? Type(context.getF16Type()) : b;
    made.d = a.isF64() ? a : a.isInteger(8) ? elementTypeOf(dot.getType()) : Type(context.getF32Type());
    // Operands are read from shared memory 16 bytes at a time, or what there is.
    int64_t bytes = aType.getElementTypeBitWidth() / 8;
    made.kWidth = std::max(row.kPerLane, std::min(16 / bytes, depth / lanesAlongK));
    int64_t perGroup = a.isF64() ? 1 : 4, groups = side * side / lanesPerWarp() / perGroup;
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t i = 0; i < perGroup; ++i)
        made.results.push_back({0, group * lanesAlongK * perGroup + i});
    return made;
  }
  return std::nullopt;
}

std::string AmdTarget::adviceFor(DotOp dot) const {
  Type a = elementTypeOf(dot.getA().getType()), b = elementTypeOf(dot.getB().getType());
  bool native = isNativeFp8(a) && isNativeFp8(b);
  std::optional<Multiplied> type = multipliedAs(dot, native, &chip == &gfx942Chip);
  bool viaHalf = type && isFp8(a) && !native && matrixInstruction(dot);
  if (type && !viaHalf)
    return "";
  std::string text, known;
  llvm::raw_string_ostream stream(text);
  for (ElementType each : chip.matrixTypes)
    if (!viaHalf || StringRef(elementTypeName(each)).starts_with("f8"))
      known += (known.empty() ? "" : ", ") + std::string(elementTypeName(each));
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

SmallVector<Value> AmdTarget::multiply(Builder &builder, const MatrixInstruction &shape, ValueRange a, ValueRange b,
                                       ValueRange c) const {
  Type element = shape.a;
  std::string name = shape.name;
  auto suffix = [](Type type) { return isBf8(type) ? ".bf8" : ".fp8"; };
  if (isFp8(element)) // A and B change places
    name += std::string(suffix(shape.b)) + suffix(shape.a);
  int64_t bits = shape.kPerLane * element.getIntOrFloatBitWidth();
  Type operand;
  if (shape.kPerLane == 1)
    operand = element;
  else if (element.isF16() || element.isF32() || (element.isBF16() && bits > 64))
    operand = VectorType::get(shape.kPerLane, element);
  else if (element.isBF16())
    operand = VectorType::get(shape.kPerLane, builder.getI16Type());
  else
    operand = bits > 64 ? Type(VectorType::get(bits / 32, builder.getI32Type())) : Type(builder.getI64Type());
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
  Value zero = i32(builder, 0); // nothing is broadcast or permuted
  sum = call(builder, result, "llvm.amdgcn.mfma." + name, {joined(b), joined(a), sum, zero, zero, zero});
  SmallVector<Value> results;
  for (size_t i = 0; i < c.size(); ++i)
    results.push_back(LLVM::ExtractElementOp::create(builder, sum, i32(builder, int64_t(i))));
  return results;
}
