// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matmuls by groups of four warps, from shared memory and registers (wgmma). Source: PTX ISA 8.6.
#include "compiler/lowering/nvptx/NvptxTarget.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nvptx;
using namespace heddle::simt;
using namespace heddle::triton;

std::optional<GroupInstruction> NvptxTarget::groupInstruction(DotOp dot, int warps) const {
  auto aType = cast<RankedTensorType>(dot.getA().getType()), dType = cast<RankedTensorType>(dot.getType());
  Type a = aType.getElementType(), b = elementTypeOf(dot.getB().getType());
  int64_t m = dType.getDimSize(0), n = dType.getDimSize(1), k = aType.getDimSize(1);
  // Sums of products of 8 bits are kept in fewer bits than f32 has.
  bool areNarrow = isNativeFp8(a) && isNativeFp8(b) && int64_t(dot.getMaxNumImpreciseAcc()) > k;
  bool areTf32 = a.isF32() && b.isF32() && dot.getInputPrecision() == InputPrecision::TF32;
  bool areFloats = dType.getElementType().isF32() && ((a == b && (a.isF16() || a.isBF16())) || areNarrow || areTf32);
  bool areBytes = dType.getElementType().isInteger(32) && a.isInteger(8) && b.isInteger(8);
  bool fits = chip.warpGroupMatmuls && dType.getRank() == 2 && (areFloats || areBytes) && warps % 4 == 0;
  if (!fits || m < 64 || k < bytesOfGroupDepth * 8 / a.getIntOrFloatBitWidth())
    return std::nullopt;
  GroupInstruction instruction;
  instruction.groupsAlongM = std::min<int64_t>(warps / 4, m / 64);
  instruction.groupsAlongN = warps / 4 / instruction.groupsAlongM;
  instruction.n = std::min<int64_t>(256, n / instruction.groupsAlongN);
  return instruction.n >= 16 ? std::optional(instruction) : std::nullopt;
}

// PTX ISA, "Matrix Descriptor Format": fields in units of 16 bytes. Along K, eight rows lie behind one another and the
// next eight at the stride; across it, eight of the depth do, and stripes are apart by the leading offset. Without a
// swizzle the leading offset is always along K: from a stripe to the next, or over eight of the depth.
Value NvptxTarget::operandDescriptor(Builder &b, Value address, const OperandLayout &layout, bool alongK) const {
  int64_t bytes = layout.swizzleBytes;
  uint64_t swizzle = bytes == 128 ? 1 : bytes == 64 ? 2 : bytes == 32 ? 3 : 0;
  uint64_t leading = uint64_t(layout.stripeBytes) / 16, stride = uint64_t(8 * std::max<int64_t>(16, bytes)) / 16;
  if (bytes == 0 && !alongK)
    std::swap(leading, stride);
  Value start = arith::AndIOp::create(b, Value(arith::ShRUIOp::create(b, address, i32(b, 4))), i32(b, 0x3fff));
  Value fields = arith::ConstantIntOp::create(b, int64_t(swizzle << 62 | stride << 32 | leading << 16), 64);
  return arith::OrIOp::create(b, Value(arith::ExtUIOp::create(b, b.getI64Type(), start)), fields);
}

// Each register of the result has that of an operand.
static std::string tiedConstraints(size_t count, Type type) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += type.isF32() ? "=f," : "=r,";
  for (size_t i = 0; i < count; ++i)
    text += std::to_string(i) + ",";
  return text;
}

static SmallVector<Value> fieldsOf(ImplicitLocOpBuilder &b, Value whole, size_t count) {
  SmallVector<Value> results;
  for (size_t i = 0; i < count; ++i)
    results.push_back(LLVM::ExtractValueOp::create(b, whole, ArrayRef<int64_t>{int64_t(i)}));
  return results;
}

void NvptxTarget::beginGroup(Builder &b) const {
  NVVM::WgmmaFenceAlignedOp::create(b);
}

void NvptxTarget::endGroup(Builder &b) const {
  NVVM::WgmmaGroupSyncAlignedOp::create(b);
}

// By assembly: the dialect's operation, which is assembly as well, takes accumulators as one structure.
SmallVector<Value> NvptxTarget::multiplyGroup(Builder &builder, GroupOperand a, GroupOperand b, ValueRange accumulators,
                                              Value adds) const {
  size_t count = accumulators.size();
  std::string list;
  for (size_t i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(i);
  unsigned bits = a.element.getIntOrFloatBitWidth();
  std::string shape = "m64n" + std::to_string(2 * count) + "k" + std::to_string(bytesOfGroupDepth * 8 / bits);
  // Only elements of 16 bits may lie across K, and only in shared memory.
  std::string transposed = bits != 16 ? "" : std::string(a.words.empty() ? a.alongK ? ", 0" : ", 1" : "");
  transposed += bits != 16 ? "" : b.alongK ? ", 0" : ", 1";
  SmallVector<Value> operands = llvm::to_vector(accumulators);
  // The accumulators count as operands a second time.
  auto next = [&] { return "$" + std::to_string(count + operands.size()); };
  std::string left, constraints;
  for (Value word : a.words) {
    left += (left.empty() ? "{" : ", ") + next();
    operands.push_back(word);
    constraints += "r,";
  }
  if (a.words.empty()) {
    left = next();
    operands.push_back(a.descriptor);
    constraints = "l,";
  } else {
    left += "}";
  }
  Type sum = accumulators.front().getType();
  // Integers are neither negated nor transposed.
  std::string isAdded = adds ? "setp.ne.u32 p, $" + std::to_string(count + operands.size() + 1) + ", 0"
                             : std::string("setp.eq.u32 p, 0, 0");
  std::string text = "{ .reg .pred p; " + isAdded + "; wgmma.mma_async.sync.aligned." + shape +
                     (sum.isF32() ? ".f32." : ".s32.") + matrixTypeName(a.element) + "." + matrixTypeName(b.element) +
                     " {" + list + "}, " + left + ", " + next() + ", p" + (sum.isF32() ? ", 1, 1" + transposed : "") +
                     "; }";
  operands.push_back(b.descriptor);
  constraints += "l,";
  if (adds) {
    operands.push_back(arith::ExtUIOp::create(builder, builder.getI32Type(), adds));
    constraints += "r,";
  }
  Type result = LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(count, sum));
  std::string all = tiedConstraints(count, sum) + constraints + "~{memory}";
  return fieldsOf(builder, assembly(builder, result, text, all, operands), count);
}

// Reading the registers through the wait keeps their uses behind it.
SmallVector<Value> NvptxTarget::waitGroups(Builder &b, ValueRange accumulators, int64_t pending) const {
  size_t count = accumulators.size();
  Type sum = accumulators.front().getType();
  Type result = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, sum));
  std::string text = "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";";
  return fieldsOf(b, assembly(b, result, text, tiedConstraints(count, sum) + "~{memory}", accumulators), count);
}
