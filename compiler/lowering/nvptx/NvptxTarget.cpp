// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/lowering/nvptx/NvptxTarget.h"
#include "chips/Chip.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {

class NvptxTarget : public GpuTarget {
public:
  int lanesPerWarp() const override { return sm90Chip.threadsPerWarp; }
  int64_t sharedMemoryBytes() const override { return sm90Chip.sharedMemoryBytes; }
  void markKernel(LLVM::LLVMFuncOp function, int64_t threads) const override;
  Value threadId(Builder &b) const override { return special(b, "tid.x"); }
  Value programId(Builder &b, int axis) const override { return special(b, std::string("ctaid.") + "xyz"[axis]); }
  Value programCount(Builder &b, int axis) const override { return special(b, std::string("nctaid.") + "xyz"[axis]); }
  void barrier(Builder &b) const override;
  void warpBarrier(Builder &b) const override;
  bool isBarrier(Operation *op) const override;
  Value barrierOr(Builder &b, Value bit) const override;
  Value shuffleXor(Builder &b, Value value, int mask) const override;
  Value shuffleFrom(Builder &b, Value value, Value lane) const override;
  Value atomicUpdate(Builder &b, RMWOp kind, Value pointer, Value value, MemSemantic semantic,
                     MemScope scope) const override;
  Value compareAndSwap(Builder &b, Value pointer, Value expected, Value value, MemSemantic semantic,
                       MemScope scope) const override;
  std::optional<MatrixInstruction> matrixInstruction(DotOp dot) const override;
  SmallVector<Value> multiply(Builder &builder, DotOp dot, ValueRange a, ValueRange b, ValueRange c) const override;
  bool hasAsyncCopies() const override { return true; }
  void asyncCopy(Builder &b, Value shared, Value global, int64_t bytes, Value sourceBytes) const override;
  void asyncCommit(Builder &b) const override { call(b, "llvm.nvvm.cp.async.commit.group", {}); }
  void asyncWait(Builder &b, int64_t pendingGroups) const override {
    call(b, "llvm.nvvm.cp.async.wait.group", {i32(b, pendingGroups)});
  }
  bool hasMatrixLoads() const override { return true; }
  SmallVector<Value> loadMatrix(Builder &b, Value shared, bool transposed) const override;
  std::optional<GroupInstruction> groupInstruction(DotOp dot, int warps) const override;
  void publishShared(Builder &b) const override { call(b, "llvm.nvvm.fence.proxy.async.shared_cta", {}); }
  Value operandDescriptor(Builder &b, Value address, const OperandLayout &layout) const override;
  void beginGroup(Builder &b) const override { call(b, "llvm.nvvm.wgmma.fence.sync.aligned", {}); }
  void endGroup(Builder &b) const override { call(b, "llvm.nvvm.wgmma.commit_group.sync.aligned", {}); }
  SmallVector<Value> multiplyGroup(Builder &builder, Type element, GroupOperand a, GroupOperand b,
                                   ValueRange accumulators) const override;
  SmallVector<Value> waitGroups(Builder &b, ValueRange accumulators) const override;
  Value toFp8(Builder &b, Value value, Type to) const override;
  Value fromFp8(Builder &b, Value value, Type from) const override;
  Value approximateExp2(Builder &b, Value f32, bool flushes) const override;
  Value approximateDivide(Builder &b, Value x, Value y) const override;
  Value approximateSqrt(Builder &b, Value f32) const override;
  Value multiplyHigh(Builder &b, Value x, Value y) const override {
    return call(b, x.getType(), "llvm.nvvm.mulhi.ull", {x, y});
  }
  void trap(Builder &b) const override { LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.trap"), ValueRange{}); }

private:
  static Value call(Builder &b, Type type, llvm::StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
  }
  static void call(Builder &b, llvm::StringRef name, ValueRange operands) {
    LLVM::CallIntrinsicOp::create(b, b.getStringAttr(name), operands);
  }
  static Value special(Builder &b, const std::string &name) {
    return call(b, b.getI32Type(), "llvm.nvvm.read.ptx.sreg." + name, {});
  }
  static Value i32(Builder &b, int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }
  Value updateBySwapping(Builder &b, RMWOp kind, Value pointer, Value value, MemSemantic semantic,
                         MemScope scope) const;
  static Value assembly(Builder &b, Type result, const std::string &text, const std::string &constraints,
                        ValueRange operands);
};

} // namespace

const GpuTarget &heddle::nvptx::target() {
  static const NvptxTarget target;
  return target;
}

void NvptxTarget::markKernel(LLVM::LLVMFuncOp function, int64_t threads) const {
  OpBuilder b(function.getContext());
  function.setCConv(LLVM::CConv::PTX_Kernel);
  // What LLVM reads of a kernel: the exact size of its blocks.
  function.setPassthroughAttr(
      b.getArrayAttr({b.getArrayAttr({b.getStringAttr("nvvm.reqntid"), b.getStringAttr(llvm::Twine(threads).str())})}));
}

void NvptxTarget::barrier(Builder &b) const {
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.all"), ValueRange{i32(b, 0)});
}

void NvptxTarget::warpBarrier(Builder &b) const {
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.nvvm.bar.warp.sync"), ValueRange{i32(b, -1)});
}

bool NvptxTarget::isBarrier(Operation *op) const {
  auto called = dyn_cast<LLVM::CallIntrinsicOp>(op);
  return called && called.getIntrin().starts_with("llvm.nvvm.barrier.cta.");
}

Value NvptxTarget::barrierOr(Builder &b, Value bit) const {
  return call(b, b.getI1Type(), "llvm.nvvm.barrier.cta.red.or.aligned.all", {i32(b, 0), bit});
}

Value NvptxTarget::shuffleXor(Builder &b, Value value, int mask) const {
  return call(b, b.getI32Type(), "llvm.nvvm.shfl.sync.bfly.i32", {i32(b, -1), value, i32(b, mask), i32(b, 31)});
}

Value NvptxTarget::shuffleFrom(Builder &b, Value value, Value lane) const {
  return call(b, b.getI32Type(), "llvm.nvvm.shfl.sync.idx.i32", {i32(b, -1), value, lane, i32(b, 31)});
}

//===-- Atomics --------------------------------------------------------------------------------------------------===//

Value NvptxTarget::assembly(Builder &b, Type result, const std::string &text, const std::string &constraints,
                            ValueRange operands) {
  return LLVM::InlineAsmOp::create(b, result, operands, text, constraints, /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr())
      .getResult(0);
}

static std::string orderOf(MemSemantic semantic, MemScope scope) {
  const char *order = semantic == MemSemantic::Relaxed   ? "relaxed"
                      : semantic == MemSemantic::Acquire ? "acquire"
                      : semantic == MemSemantic::Release ? "release"
                                                         : "acq_rel";
  const char *where = scope == MemScope::Gpu ? "gpu" : scope == MemScope::Cta ? "cta" : "sys";
  return std::string(order) + "." + where;
}

static Value combine(ImplicitLocOpBuilder &b, RMWOp kind, Value old, Value value) {
  switch (kind) {
  case RMWOp::And:
    return arith::AndIOp::create(b, old, value);
  case RMWOp::Or:
    return arith::OrIOp::create(b, old, value);
  case RMWOp::Xor:
    return arith::XOrIOp::create(b, old, value);
  case RMWOp::Add:
    return arith::AddIOp::create(b, old, value);
  case RMWOp::Max:
    return arith::MaxSIOp::create(b, old, value);
  case RMWOp::Min:
    return arith::MinSIOp::create(b, old, value);
  case RMWOp::UMax:
    return arith::MaxUIOp::create(b, old, value);
  case RMWOp::UMin:
    return arith::MinUIOp::create(b, old, value);
  case RMWOp::Exchange:
  case RMWOp::FAdd:
    break;
  }
  return value;
}

// PTX has no such operations on 8 and 16 bits: compares and swaps the word around them until nobody else was faster.
Value NvptxTarget::updateBySwapping(Builder &b, RMWOp kind, Value pointer, Value value, MemSemantic semantic,
                                    MemScope scope) const {
  Type type = value.getType(), own = b.getIntegerType(type.getIntOrFloatBitWidth()), word = b.getI32Type();
  Value given = own == type ? value : Value(LLVM::BitcastOp::create(b, own, value));
  Value address = LLVM::PtrToIntOp::create(b, b.getI64Type(), pointer);
  auto i64 = [&](int64_t number) -> Value { return arith::ConstantIntOp::create(b, number, 64); };
  Value wordPointer = LLVM::IntToPtrOp::create(b, pointer.getType(), Value(arith::AndIOp::create(b, address, i64(-4))));
  Value byte = arith::TruncIOp::create(b, word, arith::AndIOp::create(b, address, i64(3)));
  Value shift = arith::ShLIOp::create(b, byte, i32(b, 3));
  Value mask = arith::ShLIOp::create(b, i32(b, (int64_t(1) << own.getIntOrFloatBitWidth()) - 1), shift);
  Value others = arith::XOrIOp::create(b, mask, i32(b, -1));
  auto partOf = [&](Value whole) -> Value {
    return arith::TruncIOp::create(b, own, arith::ShRUIOp::create(b, whole, shift));
  };
  // The first word is a guess: a wrong one is answered by the right one.
  auto loop = scf::WhileOp::create(
      b, TypeRange{word}, ValueRange{i32(b, 0)},
      [&](OpBuilder &, Location, ValueRange seen) {
        Value part = arith::ExtUIOp::create(b, word, combine(b, kind, partOf(seen[0]), given));
        Value next =
            arith::OrIOp::create(b, arith::AndIOp::create(b, seen[0], others), arith::ShLIOp::create(b, part, shift));
        Value old = compareAndSwap(b, wordPointer, seen[0], next, semantic, scope);
        Value again = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, old, seen[0]);
        scf::ConditionOp::create(b, again, ValueRange{old});
      },
      [&](OpBuilder &, Location, ValueRange seen) { scf::YieldOp::create(b, seen); });
  Value old = partOf(loop.getResult(0));
  return own == type ? old : Value(LLVM::BitcastOp::create(b, type, old));
}

// LLVM 22 prints `atomicrmw` without its order and scope; PTX then means relaxed, gpu scope. So the instruction is
// written here.
Value NvptxTarget::atomicUpdate(Builder &b, RMWOp kind, Value pointer, Value value, MemSemantic semantic,
                                MemScope scope) const {
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits < 32 && kind != RMWOp::FAdd)
    return updateBySwapping(b, kind, pointer, value, semantic, scope);
  bool real = isa<FloatType>(type);
  std::string operation;
  switch (kind) {
  case RMWOp::And:
    operation = "and.b";
    break;
  case RMWOp::Or:
    operation = "or.b";
    break;
  case RMWOp::Xor:
    operation = "xor.b";
    break;
  case RMWOp::Add:
    operation = "add.u";
    break;
  case RMWOp::FAdd:
    operation = bits == 16 ? type.isBF16() ? "add.noftz.bf" : "add.noftz.f" : "add.f";
    break;
  case RMWOp::Max:
    operation = "max.s";
    break;
  case RMWOp::Min:
    operation = "min.s";
    break;
  case RMWOp::UMax:
    operation = "max.u";
    break;
  case RMWOp::UMin:
    operation = "min.u";
    break;
  case RMWOp::Exchange:
    operation = "exch.b";
    break;
  }
  Type carried = b.getIntegerType(bits);
  const char *letter = bits == 64 ? "l" : bits == 16 ? "h" : "r";
  if (real && kind != RMWOp::Exchange && bits > 16) {
    carried = type;
    letter = bits == 64 ? "d" : "f";
  }
  Value given = carried == type ? value : Value(LLVM::BitcastOp::create(b, carried, value));
  std::string text =
      "atom." + orderOf(semantic, scope) + ".global." + operation + std::to_string(bits) + " $0, [$1], $2;";
  Value old = assembly(b, carried, text, std::string("=") + letter + ",l," + letter + ",~{memory}", {pointer, given});
  return carried == type ? old : Value(LLVM::BitcastOp::create(b, type, old));
}

Value NvptxTarget::compareAndSwap(Builder &b, Value pointer, Value expected, Value value, MemSemantic semantic,
                                  MemScope scope) const {
  unsigned bits = expected.getType().getIntOrFloatBitWidth();
  const char *letter = bits == 64 ? "l" : bits == 16 ? "h" : "r";
  std::string text = "atom." + orderOf(semantic, scope) + ".global.cas.b" + std::to_string(bits) + " $0, [$1], $2, $3;";
  return assembly(b, expected.getType(), text, std::string("=") + letter + ",l," + letter + "," + letter + ",~{memory}",
                  {pointer, expected, value});
}

//===-- Matrix products ------------------------------------------------------------------------------------------===//

std::optional<MatrixInstruction> NvptxTarget::matrixInstruction(DotOp dot) const {
  auto aType = cast<RankedTensorType>(dot.getA().getType()), dType = cast<RankedTensorType>(dot.getType());
  auto bType = cast<RankedTensorType>(dot.getB().getType());
  Type a = aType.getElementType(), b = bType.getElementType(), d = dType.getElementType();
  MatrixInstruction instruction{16, 8, 0, 0};
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
  int rank = int(dType.getRank());
  bool fits = dType.getDimSize(rank - 2) >= instruction.m && dType.getDimSize(rank - 1) >= instruction.n &&
              aType.getDimSize(rank - 1) >= instruction.k;
  return fits ? std::optional(instruction) : std::nullopt;
}

static const char *matrixTypeName(Type type) {
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

SmallVector<Value> NvptxTarget::multiply(Builder &builder, DotOp dot, ValueRange a, ValueRange b, ValueRange c) const {
  Type aElement = elementTypeOf(dot.getA().getType()), bElement = elementTypeOf(dot.getB().getType());
  MatrixInstruction shape = *matrixInstruction(dot);
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

//===-- Products of warp groups ----------------------------------------------------------------------------------===//

std::optional<GroupInstruction> NvptxTarget::groupInstruction(DotOp dot, int warps) const {
  auto aType = cast<RankedTensorType>(dot.getA().getType()), dType = cast<RankedTensorType>(dot.getType());
  Type element = aType.getElementType();
  bool fits = dType.getRank() == 2 && (element.isF16() || element.isBF16()) &&
              element == elementTypeOf(dot.getB().getType()) && dType.getElementType().isF32() && warps % 4 == 0;
  if (!fits)
    return std::nullopt;
  int64_t m = dType.getDimSize(0), n = dType.getDimSize(1), k = aType.getDimSize(1);
  if (m < 64 || k < 16)
    return std::nullopt;
  GroupInstruction instruction;
  instruction.groupsAlongM = std::min<int64_t>(warps / 4, m / 64);
  instruction.groupsAlongN = warps / 4 / instruction.groupsAlongM;
  instruction.n = std::min<int64_t>(256, n / instruction.groupsAlongN);
  return instruction.n >= 16 ? std::optional(instruction) : std::nullopt;
}

// PTX ISA, "Matrix Descriptor Format": fields in units of 16 bytes. Along K, eight rows lie behind one another and the
// next eight at the stride; across it, eight of the depth do, and stripes are apart by the leading offset.
Value NvptxTarget::operandDescriptor(Builder &b, Value address, const OperandLayout &layout) const {
  uint64_t swizzle = layout.swizzleBytes == 128 ? 1 : layout.swizzleBytes == 64 ? 2 : 3;
  uint64_t leading = uint64_t(layout.stripeBytes) / 16, stride = uint64_t(8 * layout.swizzleBytes) / 16;
  Value start = arith::AndIOp::create(b, Value(arith::ShRUIOp::create(b, address, i32(b, 4))), i32(b, 0x3fff));
  Value fields = arith::ConstantIntOp::create(b, int64_t(swizzle << 62 | stride << 32 | leading << 16), 64);
  return arith::OrIOp::create(b, Value(arith::ExtUIOp::create(b, b.getI64Type(), start)), fields);
}

// Each register of the result has that of an operand.
static std::string tiedConstraints(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += "=f,";
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

SmallVector<Value> NvptxTarget::multiplyGroup(Builder &builder, Type element, GroupOperand a, GroupOperand b,
                                              ValueRange accumulators) const {
  size_t count = accumulators.size();
  std::string type = matrixTypeName(element), list;
  for (size_t i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(i);
  // The accumulators count as operands a second time.
  std::string text = "{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n" +
                     std::to_string(2 * count) + "k16.f32." + type + "." + type + " {" + list + "}, $" +
                     std::to_string(2 * count) + ", $" + std::to_string(2 * count + 1) + ", p, 1, 1, " +
                     (a.alongK ? "0, " : "1, ") + (b.alongK ? "0; }" : "1; }");
  SmallVector<Value> operands = llvm::to_vector(accumulators);
  operands.append({a.descriptor, b.descriptor});
  Type result =
      LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(count, accumulators.front().getType()));
  return fieldsOf(builder, assembly(builder, result, text, tiedConstraints(count) + "l,l,~{memory}", operands), count);
}

// Reading the registers through the wait keeps their uses behind it.
SmallVector<Value> NvptxTarget::waitGroups(Builder &b, ValueRange accumulators) const {
  size_t count = accumulators.size();
  Type result =
      LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, accumulators.front().getType()));
  return fieldsOf(
      b, assembly(b, result, "wgmma.wait_group.sync.aligned 0;", tiedConstraints(count) + "~{memory}", accumulators),
      count);
}

//===-- Shared memory --------------------------------------------------------------------------------------------===//

void NvptxTarget::asyncCopy(Builder &b, Value shared, Value global, int64_t bytes, Value sourceBytes) const {
  // Those of 16 bytes stay out of the first-level cache.
  std::string name = bytes == 16 ? "llvm.nvvm.cp.async.cg.shared.global.16"
                                 : "llvm.nvvm.cp.async.ca.shared.global." + std::to_string(bytes);
  if (sourceBytes)
    call(b, name + ".s", {shared, global, sourceBytes});
  else
    call(b, name, {shared, global});
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

//===-- Numbers --------------------------------------------------------------------------------------------------===//

Value NvptxTarget::toFp8(Builder &b, Value value, Type to) const {
  const char *name = isa<Float8E4M3FNType>(to) ? "llvm.nvvm.ff.to.e4m3x2.rn"
                     : isa<Float8E5M2Type>(to) ? "llvm.nvvm.ff.to.e5m2x2.rn"
                                               : nullptr;
  if (!name)
    return {};
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value pair = call(b, b.getI16Type(), name, {zero, value}); // the second operand is the low byte
  return arith::TruncIOp::create(b, b.getI8Type(), pair);
}

Value NvptxTarget::fromFp8(Builder &b, Value value, Type from) const {
  const char *name = isa<Float8E4M3FNType>(from) ? "llvm.nvvm.e4m3x2.to.f16x2.rn"
                     : isa<Float8E5M2Type>(from) ? "llvm.nvvm.e5m2x2.to.f16x2.rn"
                                                 : nullptr;
  if (!name)
    return {};
  Value wide = arith::ExtUIOp::create(b, b.getI16Type(), value);
  Value pair = call(b, VectorType::get(2, b.getF16Type()), name, {wide});
  Value half = LLVM::ExtractElementOp::create(b, pair, i32(b, 0));
  return arith::ExtFOp::create(b, b.getF32Type(), half);
}

Value NvptxTarget::approximateExp2(Builder &b, Value f32, bool flushes) const {
  return call(b, f32.getType(), flushes ? "llvm.nvvm.ex2.approx.ftz.f32" : "llvm.nvvm.ex2.approx.f32", {f32});
}

Value NvptxTarget::approximateDivide(Builder &b, Value x, Value y) const {
  return call(b, x.getType(), "llvm.nvvm.div.full", {x, y});
}

Value NvptxTarget::approximateSqrt(Builder &b, Value f32) const {
  return call(b, f32.getType(), "llvm.nvvm.sqrt.approx.f", {f32});
}
