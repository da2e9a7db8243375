// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the host code of one kernel. The class is one state (builder, buffers, scalars, lanes of the current loop) and
// its methods are grouped in files by what they emit:
//   HostEmitter.cpp   entry, blocks and control flow      Evaluate.cpp     values of tiles, shape operations
//   Emission.cpp      types, constants, loops, lanes      Elementwise.cpp  arith, math and tt element operations
//   Buffers.cpp       scratch, tile buffers, spills       Reduce.cpp       reduce, scan, histogram
//   Memory.cpp        loads and stores                    Atomics.cpp      atomics and polls
//   Dot.cpp           matrix products                     Debug.cpp        print, assert, bounds checks
//   ExternCalls.cpp   calls that carry operations between devices
// What an element operation means stands in compiler/arithmetic/Numbers.h.
#pragma once
#include "compiler/arithmetic/Numbers.h"
#include "compiler/dialects/triton/Triton.h"
#include "compiler/lowering/host/HostPlan.h"
#include "compiler/lowering/host/Lanes.h"
#include "compiler/lowering/host/TileToHost.h"
#include "compiler/sites/Sites.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace heddle::host {

using arithmetic::isNarrowFloat;
using arithmetic::like;
using arithmetic::Numbers;

/// A tile in scratch memory, row-major. `stored` may differ from what the element type is in registers: bits are stored
/// as bytes, and a dot keeps f32 after an f16 result.
struct TileBuffer {
  mlir::Value pointer; ///< !llvm.ptr
  mlir::Type stored;   ///< element type in memory
  mlir::Type logical;  ///< element type of the tile (tt type)
  llvm::SmallVector<int64_t> shape;
};

class HostEmitter {
public:
  HostEmitter(triton::FuncOp source, const LoweringOptions &options, LoweredKernel &kernel);
  /// Emits the llvm.func beside the source function, which is erased.
  mlir::LogicalResult run();

private:
  using Values = llvm::SmallVector<mlir::Value>;

  //===-- HostEmitter.cpp: entry, blocks, control flow -----------------------------------------------------------===//
  void createEntry();
  void bindArguments();
  void emitFunctionBody();
  void emitBlock(mlir::Block &block);
  void emitOp(mlir::Operation *op);
  void emitFor(mlir::scf::ForOp loop);
  void emitIf(mlir::scf::IfOp branch);
  void emitWhile(mlir::scf::WhileOp loop);
  void emitBranch(mlir::Operation *op);
  /// Leaves the kernel when the driver asks; a spinning loop also lets another thread run.
  void emitStopCheck(mlir::Operation *op, bool spin);
  /// Assigns `values` to `targets` as if at once: scalars are returned, tiles written to the targets' buffers.
  Values assign(mlir::ValueRange values, llvm::ArrayRef<TileBuffer *> targets);
  /// Buffers for the tiles among `values` (null for scalars), registered under those values.
  llvm::SmallVector<TileBuffer *> allocateFor(mlir::ValueRange values);
  TileBuffer *reusableLoopBuffer(mlir::Value value);

  //===-- Emission.cpp: types, constants, loops, lanes -----------------------------------------------------------===//
  mlir::Type registerType(mlir::Type element); ///< how a tt element travels: pointers i64, floats under 32 bits as bits
  mlir::Type storedType(mlir::Type element);   ///< the same in memory: i1 as i8
  static int64_t sizeOf(mlir::Type stored);    ///< bytes
  mlir::Value i64(int64_t value);
  Numbers numbers() { return {b, loc}; } ///< at the place where the emitter is
  mlir::Value constantLike(mlir::Type scalar, int64_t value, mlir::Value shape) {
    return numbers().constantLike(scalar, value, shape);
  }
  mlir::Value widen(mlir::Value bits, mlir::Type from) { return numbers().widen(bits, from); }
  mlir::Value narrow(mlir::Value wide, mlir::Type to) { return numbers().narrow(wide, to); }
  mlir::Value zero(mlir::Type type); ///< of any register type or vector of it
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value shiftRight(mlir::Value a, int64_t bits);
  mlir::Value maskBits(mlir::Value a, int64_t mask);
  mlir::Value splat(mlir::Value scalar); ///< to `width` lanes
  mlir::Value patternVector(mlir::Type scalar, const LanePattern &lanes);
  mlir::Value toLanes(const LaneValue &value); ///< a vector of `width` lanes (the scalar when width is 1)
  mlir::Value laneAt(const LaneValue &value, int lane);
  Values forLoop(int64_t lower, int64_t upper, int64_t step, mlir::ValueRange inits,
                 llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  /// Walks `shape` in pieces of `lanes`; `excluded` stays with the body (its index is null).
  void iterate(llvm::ArrayRef<int64_t> shape, const LaneMap &lanes, llvm::function_ref<void(TileIndex)> body,
               int excluded = -1);
  int maxLanes() const { return options.vectorBits / 32; } ///< 32-bit elements of a register
  Index linearIndex(llvm::ArrayRef<int64_t> shape, const TileIndex &index);
  TileIndex delinearize(const Index &linear, llvm::ArrayRef<int64_t> shape);

  //===-- Evaluate.cpp: values of tiles --------------------------------------------------------------------------===//
  mlir::Value scalar(mlir::Value value); ///< the emitted value of a scalar of the source
  LaneValue evaluate(mlir::Value value, const TileIndex &index);
  LaneValue evaluateUncached(mlir::Operation *op, mlir::Value value, const TileIndex &index);
  LaneValue evaluateConstant(mlir::Operation *op, mlir::DenseElementsAttr constant, const TileIndex &index);
  LaneValue selectHalf(const Index &index, int64_t bit, llvm::function_ref<LaneValue(bool)> half);
  LaneValue evaluateGather(triton::GatherOp gather, const TileIndex &index);
  /// Writes the lazy tile `value` to `target` in one loop nest.
  void fill(mlir::Value value, TileBuffer &target);
  void materialise(mlir::Value value);
  void materialiseMap(triton::MapElementwiseOp op);

  //===-- Elementwise.cpp ----------------------------------------------------------------------------------------===//
  LaneValue elementwise(mlir::Operation *op, llvm::ArrayRef<LaneValue> operands);
  std::optional<LaneValue> affine(mlir::Operation *op, llvm::ArrayRef<LaneValue> operands);
  LaneValue addPointer(triton::AddPtrOp op, const LaneValue &pointer, const LaneValue &offset);
  mlir::Value compute(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);
  mlir::Value computeFloat(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);
  /// Whether `region` is one block without control flow or effects, which runs on vectors.
  static bool isStraightLine(mlir::Region &region);
  /// The values that the region's one block yields; with control flow in it, of one element.
  llvm::SmallVector<LaneValue> runRegion(mlir::Region &region, llvm::ArrayRef<LaneValue> arguments);

  //===-- Buffers.cpp: private memory ----------------------------------------------------------------------------===//
  TileBuffer allocate(mlir::RankedTensorType type, mlir::Type stored = {});
  mlir::Value scratch(int64_t bytes); ///< a pointer to private memory, alive until the end of the current block
  mlir::Value gep(mlir::Value pointer, mlir::Type stored, mlir::Value index);
  mlir::Value toPointer(mlir::Value address); ///< i64 (or a vector) to !llvm.ptr
  mlir::Value loadFrom(mlir::Value pointer, mlir::Type type, bool isVolatile = false);
  void storeTo(mlir::Value pointer, mlir::Value value);
  mlir::Value fromStored(mlir::Value value, const TileBuffer &buffer);
  mlir::Value toStored(mlir::Value value, const TileBuffer &buffer);
  LaneValue readBuffer(const TileBuffer &buffer, const TileIndex &index);
  LaneValue readBufferAt(const TileBuffer &buffer, const LaneValue &linear);
  mlir::Value loadAndShuffle(mlir::Value pointer, mlir::Type stored, const LanePattern &lanes, int64_t count);
  void writeBuffer(const TileBuffer &buffer, const TileIndex &index, const LaneValue &value);
  mlir::Value spill(mlir::Value lanes); ///< lanes in scratch memory, to be read one by one
  mlir::Value spilledLane(mlir::Value memory, mlir::Type scalar, mlir::Value lane);

  //===-- Memory.cpp: loads and stores ---------------------------------------------------------------------------===//
  struct Access {
    LaneValue address;
    std::optional<LaneValue> mask;
    LaneValue element; ///< row-major index in the tile, for reports
  };
  Access accessAt(mlir::Operation *op, mlir::Value pointer, mlir::Value mask, const TileIndex &index);
  LaneValue emitLoad(triton::LoadOp load, const TileIndex &index);
  LaneValue loadThrough(const Access &access, mlir::Type stored, const LaneValue &other, bool isVolatile);
  void emitStore(triton::StoreOp store);
  void storeThrough(const Access &access, mlir::Value value, bool streams);
  /// Runs `body(lane)` for each lane whose mask is set, one after the other.
  void forActiveLanes(mlir::Value mask, llvm::function_ref<void(mlir::Value)> body);
  mlir::Value gatherLanes(mlir::Value addresses, mlir::Value mask, mlir::Value other, bool isVolatile = false);
  void scatterLanes(mlir::Value addresses, mlir::Value mask, mlir::Value value);
  mlir::Value allTrue(mlir::Value mask);
  mlir::Value anyTrue(mlir::Value mask);
  LanePattern stepPattern(int64_t step) const;
  mlir::Value areContiguous(mlir::Value addresses, mlir::Value first, mlir::Type stored);
  mlir::Value loadMasked(mlir::Value pointer, mlir::Value mask, mlir::Value otherwise, bool isVolatile);
  void storeMasked(mlir::Value pointer, mlir::Value mask, mlir::Value value, bool streams = false);
  void storeWhole(mlir::Value pointer, mlir::Value value, bool streams);
  void fenceStreams();

  //===-- Atomics.cpp --------------------------------------------------------------------------------------------===//
  void emitAtomic(mlir::Operation *op);
  mlir::Value atomicStep(mlir::Operation *op, mlir::Value address, mlir::Value value, mlir::Value compare);
  mlir::Value atomicNarrowAdd(triton::AtomicRMWOp op, mlir::Value pointer, mlir::Value value);
  /// `given`: the value and what it is compared with, null where `op` takes none.
  void emitAtomicTile(mlir::Operation *op, mlir::Value pointer, std::array<mlir::Value, 2> given, mlir::Value mask);

  //===-- Polls.cpp ----------------------------------------------------------------------------------------------===//
  void emitPoll(triton::AtomicPollOp op);
  void pollTile(triton::AtomicPollOp op, mlir::Value start);
  /// Waits for one element; whether it came. `start`: when the wait began, null where it has no limit.
  mlir::Value pollStep(triton::AtomicPollOp op, mlir::Value address, mlir::Value expected, mlir::Value start);
  mlir::Value clock(); ///< nanoseconds

  //===-- Reduce.cpp, Dot.cpp, Debug.cpp -------------------------------------------------------------------------===//
  void emitReduce(triton::ReduceOp op);
  void reduceAlongLanes(triton::ReduceOp op, llvm::ArrayRef<TileBuffer *> results);
  void reduceAcrossLanes(triton::ReduceOp op, llvm::ArrayRef<TileBuffer *> results);
  llvm::SmallVector<LaneValue> evaluateAll(mlir::ValueRange values, const TileIndex &index);
  Values combine(mlir::Region &region, llvm::ArrayRef<mlir::Value> lhs, llvm::ArrayRef<mlir::Value> rhs);
  Values foldLanes(mlir::Region &region, Values lanes);
  void emitScan(triton::ScanOp op);
  void scanAlongLanes(triton::ScanOp op, llvm::ArrayRef<TileBuffer *> results);
  void scanAcrossLanes(triton::ScanOp op, llvm::ArrayRef<TileBuffer *> results);
  void emitHistogram(triton::HistogramOp op);
  void emitDot(triton::DotOp op);
  void packB(mlir::Value operand, mlir::Value packed, mlir::Type type, mlir::Value batch, int64_t panel);
  void multiplyTile(const TileBuffer &a, mlir::Value packed, const TileBuffer &d, mlir::Value batch, int64_t panel,
                    bool startAtZero);
  void emitPrint(triton::PrintOp op);
  void emitAssert(triton::AssertOp op);
  void checkAccess(mlir::Operation *op, const Access &access, int64_t sizeBytes);
  void callHook(int64_t offset, llvm::ArrayRef<mlir::Value> arguments);

  //===-- ExternCalls.cpp ----------------------------------------------------------------------------------------===//
  void emitExternCall(triton::ExternElementwiseOp op);
  Values externOperands(triton::ExternElementwiseOp op, const TileIndex &index);
  mlir::Value callElement(triton::ExternElementwiseOp op, Values operands);
  /// A call that implement-calls replaces.
  mlir::Value callExtern(llvm::StringRef symbol, mlir::Type result, mlir::ValueRange operands);

  //===-- State --------------------------------------------------------------------------------------------------===//
  triton::FuncOp source;
  LoweringOptions options;
  LoweredKernel &kernel;
  HostPlan plan;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::LLVM::LLVMFuncOp entry;
  mlir::Value program, launch, scratchBase;
  int width = 1; ///< lanes of the current loop nest
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
  llvm::DenseMap<mlir::Value, std::unique_ptr<TileBuffer>> buffers;
  llvm::DenseMap<mlir::Block *, mlir::Block *> blocks;
  llvm::DenseMap<int64_t, mlir::Value> constants;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<std::pair<TileIndex, LaneValue>, 1>> memo; ///< of the current piece
  SiteTable sites;
  int64_t scratchUsed = 0;

  friend struct PieceScope;
};

/// A new loop body: `width` lanes and an empty memo, restored at the end.
struct PieceScope {
  PieceScope(HostEmitter &emitter, int width) : emitter(emitter), width(emitter.width), memo(std::move(emitter.memo)) {
    emitter.width = width;
    emitter.memo.clear();
  }
  ~PieceScope() {
    emitter.width = width;
    emitter.memo = std::move(memo);
  }
  HostEmitter &emitter;
  int width;
  decltype(HostEmitter::memo) memo;
};

} // namespace heddle::host
