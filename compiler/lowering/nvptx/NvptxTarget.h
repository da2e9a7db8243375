// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA's chips for the code of threads: NVVM intrinsics and inline assembly. Methods are grouped in files by what
// they emit: Atomics.cpp, MatrixProducts.cpp (mma.sync), WarpGroupMma.cpp (wgmma), NvptxTarget.cpp the rest. Source:
// PTX ISA 8.6.
#pragma once
#include "chips/Chip.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace heddle::nvptx {

class NvptxTarget : public simt::GpuTarget {
public:
  explicit NvptxTarget(const Chip &chip) : chip(chip) {}

  int lanesPerWarp() const override { return chip.threadsPerWarp; }
  int64_t sharedMemoryBytes() const override { return chip.sharedMemoryBytes; }
  int sharedMemoryBanks() const override { return chip.sharedMemoryBanks; }
  void markKernel(mlir::LLVM::LLVMFuncOp function, int64_t threads, int64_t residentBlocks) const override;
  bool waitForLaunchBefore(Builder &b) const override;
  mlir::Value threadId(Builder &b) const override;
  mlir::Value laneNumber(Builder &b) const override;
  mlir::Value programId(Builder &b, int axis) const override;
  mlir::Value programCount(Builder &b, int axis) const override;
  void barrier(Builder &b) const override;
  void warpBarrier(Builder &b, bool beforeCopies) const override;
  mlir::Value barrierOr(Builder &b, mlir::Value bit, int warps) const override;
  void barrierIf(Builder &b, mlir::Value bit) const override;
  bool hasStageBarrier() const override { return true; }
  void stageBarrier(Builder &b, int64_t threads, mlir::Value bit) const override;
  bool hasArrivals() const override { return hasAsyncCopies(); }
  void initArrivals(Builder &b, mlir::Value object, int64_t arrivals) const override;
  void arrive(Builder &b, mlir::Value object) const override;
  void arriveAfterCopies(Builder &b, mlir::Value object, bool increments) const override;
  mlir::Value waitArrivals(Builder &b, mlir::Value object, mlir::Value parity) const override;
  void arriveTimes(Builder &b, mlir::Value object, int64_t count) const override;
  void expectBytes(Builder &b, mlir::Value object, int64_t bytes) const override;
  void endArrivals(Builder &b, mlir::Value object) const override;
  void publishArrivals(Builder &b) const override;
  bool hasBulkCopies() const override { return hasAsyncCopies(); }
  mlir::Value tensorMap(mlir::LLVM::LLVMFuncOp kernel, int64_t number) const override;
  void bulkLoad(Builder &b, mlir::Value shared, mlir::Value map, mlir::ValueRange place,
                mlir::Value object) const override;
  void bulkStore(Builder &b, mlir::Value shared, mlir::Value map, mlir::ValueRange place,
                 std::optional<triton::DescriptorReduceKind> kind) const override;
  void bulkCommit(Builder &b) const override;
  void bulkWait(Builder &b, int64_t pending, bool reads) const override;
  int64_t namedBarriers() const override { return 16; }
  void namedBarrier(Builder &b, int64_t number, int64_t threads) const override;
  mlir::Value namedBarrierOr(Builder &b, mlir::Value bit, int64_t number, int64_t threads) const override;
  void limitRegisters(mlir::LLVM::LLVMFuncOp kernel, int64_t registers) const override;
  void takeRegisters(Builder &b, int64_t registers, bool more) const override;
  mlir::Value combineWarp(Builder &b, mlir::Operation *combine, mlir::Value value) const override;
  mlir::Value shuffleXor(Builder &b, mlir::Value value, int mask) const override;
  mlir::Value shuffleFrom(Builder &b, mlir::Value value, mlir::Value lane) const override;
  mlir::Value atomicUpdate(Builder &b, triton::RMWOp kind, mlir::Value pointer, mlir::Value value,
                           triton::MemSemantic semantic, triton::MemScope scope) const override;
  mlir::Value compareAndSwap(Builder &b, mlir::Value pointer, mlir::Value expected, mlir::Value value,
                             triton::MemSemantic semantic, triton::MemScope scope) const override;
  int64_t mostUpdatedTogether(triton::RMWOp kind, mlir::Type element, triton::MemScope scope) const override;
  Values atomicUpdateTogether(Builder &b, triton::RMWOp kind, mlir::Value pointer, mlir::ValueRange values,
                              triton::MemSemantic semantic, triton::MemScope scope) const override;
  bool ordersTilesByFences() const override { return true; }
  void fenceBefore(Builder &b, triton::MemSemantic semantic, triton::MemScope scope) const override;
  void fenceAfter(Builder &b, triton::MemSemantic semantic, triton::MemScope scope) const override;
  mlir::Value saturateToWord(Builder &b, mlir::Value f32, bool isSigned) const override;
  bool predicatesAccesses() const override { return true; }
  mlir::Value orderedLoadIf(Builder &b, mlir::Value bit, mlir::Value pointer, mlir::Value other,
                            bool isVolatile) const override;
  std::optional<simt::MatrixInstruction> matrixInstruction(triton::DotOp dot, int64_t mostRows) const override;
  std::optional<simt::MatrixInstruction> findInstruction(simt::MatrixDotOp dot, std::string &why) const override;
  layout::LinearLayout accumulatorLayout(const simt::MatrixInstruction &instruction, const layout::Shape &shape,
                                         const layout::Shape &warps) const override;
  layout::LinearLayout operandLayout(const simt::MatrixInstruction &instruction, const layout::Shape &shape,
                                     const layout::Shape &warps, int operand) const override;
  mlir::SmallVector<mlir::Value> multiply(Builder &builder, const simt::MatrixInstruction &instruction,
                                          mlir::ValueRange a, mlir::ValueRange b, mlir::ValueRange c) const override;
  bool hasAsyncCopies() const override { return !chip.sharedCopies.laneBits.empty(); }
  void asyncCopy(Builder &b, mlir::Value shared, mlir::Value global, int64_t bytes,
                 mlir::Value sourceBytes) const override;
  void asyncCommit(Builder &b) const override;
  void asyncWait(Builder &b, int64_t pendingGroups) const override;
  bool hasMatrixLoads() const override { return chip.matrixLoads; }
  mlir::SmallVector<mlir::Value> loadMatrix(Builder &b, mlir::Value shared, bool transposed) const override;
  std::optional<simt::GroupInstruction> groupInstruction(triton::DotOp dot, int warps) const override;
  void publishShared(Builder &b) const override;
  mlir::Value operandDescriptor(Builder &b, mlir::Value address, const simt::OperandLayout &layout,
                                bool alongK) const override;
  void beginGroup(Builder &b) const override;
  void endGroup(Builder &b) const override;
  mlir::SmallVector<mlir::Value> multiplyGroup(Builder &builder, simt::GroupOperand a, simt::GroupOperand b,
                                               mlir::ValueRange accumulators, mlir::Value adds) const override;
  mlir::SmallVector<mlir::Value> waitGroups(Builder &b, mlir::ValueRange accumulators, int64_t pending) const override;
  const char *blockScope() const override { return "block"; }
  const char *deviceScope() const override { return "device"; }
  Values toFp8(Builder &b, mlir::ValueRange values, mlir::Type to, bool isWithinRange) const override;
  Values fromFp8(Builder &b, mlir::ValueRange values, mlir::Type from) const override;
  bool convertsBytesTogether() const override { return true; }
  Values fromBytes(Builder &b, mlir::ValueRange bytes, mlir::Type to, bool isSigned) const override;
  mlir::Value approximateExp2(Builder &b, mlir::Value f32, bool flushes) const override;
  mlir::Value approximateDivide(Builder &b, mlir::Value x, mlir::Value y) const override;
  mlir::Value fastDivide(Builder &b, mlir::Value x, mlir::Value y) const override {
    return call(b, x.getType(), "llvm.nvvm.div.approx.f", {x, y});
  }
  mlir::Value approximateSqrt(Builder &b, mlir::Value f32) const override;
  mlir::Value approximateRsqrt(Builder &b, mlir::Value f32) const override;
  mlir::Value multiplyHigh(Builder &b, mlir::Value x, mlir::Value y) const override {
    return call(b, x.getType(), "llvm.nvvm.mulhi.ull", {x, y});
  }
  mlir::Type assemblyType(mlir::OpBuilder &b, llvm::StringRef constraint) const override;
  bool computesPairs(mlir::Type element) const override {
    return element.isF16() || element.isBF16() || element.isInteger(16);
  }
  int64_t registersPerThread(int warps) const override {
    return std::min<int64_t>(chip.registersPerThread, chip.unit.registers / (int64_t(warps) * lanesPerWarp()));
  }
  const char *assemblyAdvice() const override { return "PTX has the registers `h`, `r`, `l`, `f` and `d`"; }
  void endThread(Builder &b) const override;

private:
  static const char *matrixTypeName(mlir::Type type); ///< `bf16`, `e4m3`, ...
  /// An intrinsic for which the NVVM dialect has no operation.
  static mlir::Value call(Builder &b, mlir::Type type, llvm::StringRef name, mlir::ValueRange operands) {
    return mlir::LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
  }
  static void callWithout(Builder &b, llvm::StringRef name, mlir::ValueRange operands) { // a result
    mlir::LLVM::CallIntrinsicOp::create(b, b.getStringAttr(name), operands);
  }
  static mlir::Value i32(Builder &b, int64_t value) { return mlir::arith::ConstantIntOp::create(b, value, 32); }
  static mlir::Value assembly(Builder &b, mlir::Type result, const std::string &text, const std::string &constraints,
                              mlir::ValueRange operands);
  /// Whether the chip's instructions read and write this format of 8 bits.
  bool isNativeFp8(mlir::Type type) const;

  const Chip &chip;
};

/// The code of threads of a chip of NVIDIA, which has to live as long.
std::unique_ptr<simt::GpuTarget> makeTarget(const Chip &chip);

} // namespace heddle::nvptx
