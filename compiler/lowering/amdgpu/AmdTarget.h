// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD's CDNA chips for the code of threads: operations of the LLVM and ROCDL dialects. Methods are grouped in
// files by what they emit: Atomics.cpp, MatrixProducts.cpp and ScaledProducts.cpp (MFMA), Lanes.cpp (exchange between
// lanes), AmdTarget.cpp the rest. What a chip has is said by its fields. Sources: the instruction set manuals of CDNA 3
// and CDNA 4, LLVM's AMDGPU user guide.
#pragma once
#include "chips/Chip.h"
#include "chips/TimingModel.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

namespace heddle::amdgpu {

class AmdTarget : public simt::GpuTarget {
public:
  explicit AmdTarget(const Chip &chip) : chip(chip) {}

  int lanesPerWarp() const override { return chip.threadsPerWarp; }
  int64_t sharedMemoryBytes() const override { return chip.sharedMemoryBytes; }
  int sharedMemoryBanks() const override { return chip.sharedMemoryBanks; }
  int64_t registersPerThread(int warps) const override {
    return chip.registersPerThread / std::max<int64_t>(1, llvm::divideCeil(warps, chip.unit.simds));
  }
  /// What a workgroup is given at least. A compute unit has 2 KiB for each of its waves (CDNA 4: 5), half of what an
  /// operand of a small matmul takes: the more workgroups fit, the less a barrier of one of them costs.
  int64_t sharedBytesBeforeReuse() const override { return chip.unit.sharedMemoryGranuleBytes; }
  bool ownsSharedMemory() const override { return true; }
  void markKernel(mlir::LLVM::LLVMFuncOp function, int64_t threads, int64_t residentBlocks) const override;
  mlir::Value threadId(Builder &b) const override { return mlir::ROCDL::ThreadIdXOp::create(b, b.getI32Type()); }
  mlir::Value programId(Builder &b, int axis) const override;
  mlir::Value programCount(Builder &b, int axis) const override;
  void barrier(Builder &b) const override;
  void warpBarrier(Builder &b, bool beforeCopies) const override;
  mlir::Value barrierOr(Builder &b, mlir::Value bit, int warps) const override;
  void barrierIf(Builder &b, mlir::Value bit) const override;
  const TimingModel *timing() const override {
    return chip.simulated == InstructionSet::Cdna4 ? &gfx950Timing : &gfx942Timing;
  }
  bool takesHints() const override { return true; }
  bool scheduleBarrier(Builder &b, int64_t kinds) const override {
    mlir::ROCDL::SchedBarrier::create(b, uint32_t(kinds));
    return true;
  }
  bool setPriority(Builder &b, int64_t priority) const override {
    mlir::ROCDL::SetPrioOp::create(b, uint16_t(priority));
    return true;
  }
  void stayInBranch(Builder &b) const override;
  mlir::Value shuffleXor(Builder &b, mlir::Value value, int mask) const override;
  std::optional<std::pair<mlir::Value, mlir::Value>> bothLanes(Builder &b, mlir::Value value, int mask) const override;
  std::optional<mlir::Value> fromRowBefore(Builder &b, mlir::Value value, int mask) const override;
  mlir::Value fromLastLane(Builder &b, mlir::Value value) const override;
  mlir::Value shuffleFrom(Builder &b, mlir::Value value, mlir::Value lane) const override;
  uint64_t swappedLaneBits() const override { return chip.laneSwaps ? 16 | 32 : 0; }
  std::pair<mlir::Value, mlir::Value> swapLanes(Builder &b, mlir::Value first, mlir::Value second,
                                                int mask) const override;
  mlir::Value atomicUpdate(Builder &b, triton::RMWOp kind, mlir::Value pointer, mlir::Value value,
                           triton::MemSemantic semantic, triton::MemScope scope) const override;
  int64_t mostUpdatedTogether(triton::RMWOp kind, mlir::Type element, triton::MemScope scope) const override;
  Values atomicUpdateTogether(Builder &b, triton::RMWOp kind, mlir::Value pointer, mlir::ValueRange values,
                              triton::MemSemantic semantic, triton::MemScope scope) const override;
  bool ordersByFences() const override { return true; }
  void fenceBefore(Builder &b, triton::MemSemantic semantic, triton::MemScope scope) const override;
  void fenceAfter(Builder &b, triton::MemSemantic semantic, triton::MemScope scope) const override;
  mlir::Value compareAndSwap(Builder &b, mlir::Value pointer, mlir::Value expected, mlir::Value value,
                             triton::MemSemantic semantic, triton::MemScope scope) const override;
  std::optional<simt::MatrixInstruction> matrixInstruction(triton::DotOp dot, int64_t mostRows) const override;
  std::optional<simt::MatrixInstruction> findInstruction(simt::MatrixDotOp dot, std::string &why) const override;
  bool readsTransposed(int elementBits) const override {
    return elementBits != 6 && llvm::is_contained(chip.transposedReadBits, elementBits);
  }
  Values readTransposed(Builder &b, mlir::Value shared, mlir::Type element) const override;
  bool carriesWords() const override { return true; }
  bool hasBuffers() const override { return true; }
  mlir::Value bufferLoad(Builder &b, const BufferPlace &place, mlir::Type type,
                         triton::CacheModifier cache) const override;
  void bufferStore(Builder &b, mlir::Value value, const BufferPlace &place, triton::CacheModifier cache) const override;
  bool updatesBuffers(triton::RMWOp kind, mlir::Type element, triton::MemScope scope) const override;
  mlir::Value bufferUpdate(Builder &b, triton::RMWOp kind, mlir::Value value, const BufferPlace &place) const override;
  llvm::SmallVector<int64_t> directCopyBytes() const override;
  void copyDirectly(Builder &b, mlir::Value shared, mlir::Value global, mlir::Value mask, int64_t bytes,
                    triton::CacheModifier cache) const override;
  void copyBufferDirectly(Builder &b, mlir::Value shared, const BufferPlace &place, int64_t bytes,
                          triton::CacheModifier cache) const override;
  void waitForCopies(Builder &b, int64_t instructions) const override;
  mlir::Value offsetIfAllowed(Builder &b, const BufferPlace &place) const override;
  void sharedBarrier(Builder &b) const override;
  void bareBarrier(Builder &b) const override;
  std::string adviceFor(triton::DotOp dot) const override;
  layout::LinearLayout accumulatorLayout(const simt::MatrixInstruction &instruction, const layout::Shape &shape,
                                         const layout::Shape &warps) const override;
  layout::LinearLayout operandLayout(const simt::MatrixInstruction &instruction, const layout::Shape &shape,
                                     const layout::Shape &warps, int operand) const override;
  bool storesResultsInPlace() const override { return true; }
  mlir::SmallVector<mlir::Value> multiply(Builder &builder, const simt::MatrixInstruction &instruction,
                                          mlir::ValueRange a, mlir::ValueRange b, mlir::ValueRange c) const override;
  std::optional<simt::MatrixInstruction> scaledInstruction(simt::MatrixAttr wanted, std::string &why) const override;
  mlir::SmallVector<mlir::Value> multiplyScaled(Builder &builder, const simt::MatrixInstruction &instruction,
                                                const simt::ScaledOperand &a, const simt::ScaledOperand &b,
                                                mlir::ValueRange c) const override;
  bool hasFusedMultiplyAdd(mlir::Type narrow) const override { return narrow.isF16(); }
  const char *blockScope() const override { return "workgroup"; }
  const char *deviceScope() const override { return "agent"; }
  bool computesPairs(mlir::Type element) const override {
    return element.isF32() || element.isF16() || element.isInteger(16);
  }
  bool narrowsPairs(mlir::Type element) const override;
  bool convertsFp8Together() const override { return true; }
  Values toFp8(Builder &b, mlir::ValueRange values, mlir::Type to, bool isWithinRange) const override;
  Values fromFp8(Builder &b, mlir::ValueRange values, mlir::Type from) const override;
  Values fromFp8ToHalf(Builder &b, mlir::ValueRange values, mlir::Type from, mlir::Type to) const override;
  mlir::Value approximateExp2(Builder &b, mlir::Value f32, bool flushes) const override;
  mlir::Value approximateDivide(Builder &b, mlir::Value x, mlir::Value y) const override;
  mlir::Value fastDivide(Builder &b, mlir::Value x, mlir::Value y) const override {
    return call(b, x.getType(), "llvm.amdgcn.fdiv.fast", {x, y});
  }
  mlir::Value approximateSqrt(Builder &b, mlir::Value f32) const override;
  mlir::Value approximateRsqrt(Builder &b, mlir::Value f32) const override;
  bool convertsBytesAsSigned() const override { return true; }
  mlir::Value multiplyHigh(Builder &b, mlir::Value x, mlir::Value y) const override;
  mlir::Type assemblyType(mlir::OpBuilder &b, llvm::StringRef constraint) const override {
    return constraint == "v" ? mlir::Type(b.getI32Type()) : mlir::Type();
  }
  const char *assemblyAdvice() const override { return "AMD's assembly has the register `v`, of 32 bits"; }
  void endThread(Builder &b) const override { call(b, "llvm.amdgcn.endpgm", {}); }

private:
  /// Elements of A, B and the result as they are multiplied and added.
  struct ElementTypes {
    mlir::Type a, b, d;
  };
  simt::MatrixInstruction instructionOf(const WarpMatmul &row, ElementTypes types, bool transposed) const;
  /// The matrix instruction `name`, as LLVM's intrinsic is called after `mfma.`, with the operands of that intrinsic.
  static mlir::Value multiplyByName(Builder &b, mlir::Type result, llvm::StringRef name, mlir::ValueRange operands);
  /// Intrinsics that the ROCDL dialect of LLVM 22 has no operation for.
  static mlir::Value call(Builder &b, mlir::Type type, llvm::StringRef name, mlir::ValueRange operands) {
    return mlir::LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
  }
  static void call(Builder &b, llvm::StringRef name, mlir::ValueRange operands) {
    mlir::LLVM::CallIntrinsicOp::create(b, b.getStringAttr(name), operands);
  }
  static mlir::Value i32(Builder &b, int64_t value) { return mlir::arith::ConstantIntOp::create(b, value, 32); }
  /// A number of f32 that is not beyond `largest`, or NaN.
  mlir::Value clamp(Builder &b, mlir::Value value, double largest) const;
  /// Whether the chip's instructions read and write this format of 8 bits.
  bool isNativeFp8(mlir::Type type) const;
  /// What matrix instructions multiply, or the floats of 8 bits of it.
  std::string operandTypes(bool onlyFp8) const;

  const Chip &chip;
};

/// The code of threads of a chip of AMD, which has to live as long.
std::unique_ptr<simt::GpuTarget> makeTarget(const Chip &chip);

} // namespace heddle::amdgpu
