// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one thread of a block does, written by conversion patterns: a tile becomes as many values as a thread has
// registers of it, in the order of the layout's register number. ThreadCode is the vocabulary that all patterns share;
// a family of operations is a class derived from it in a file of its own, with a method `lower` for each operation:
//   ControlFlow.cpp      loops, conditionals, branches
//   Arrivals.cpp         barrier objects
//   Bulk.cpp             bulk copies of tensors
//   Partitions.cpp       partitions of the block's warps
//   Synchronisation.cpp  barriers, fences, waits, program numbers
//   Shapes.cpp           constants, ranges, operations on shapes
//   Elementwise.cpp      element operations (Pairs.cpp: several elements at once)
//   Maps.cpp             tt.map_elementwise
//   Assembly.cpp         inline assembly
//   GlobalMemory.cpp     loads, stores
//   Buffers.cpp          accesses by a pointer of the block and 32-bit offsets
//   Atomics.cpp          atomic accesses
//   Polls.cpp            waiting for values in memory
//   Calls.cpp            calls between devices
//   Conversions.cpp      conversions of layouts within a warp
//   SharedTiles.cpp      memory objects, their views, accesses, asynchronous copies
//   SharedIndexed.cpp    accesses to them by an index
//   SharedRepacked.cpp   reads of them that pack 4-bit elements along another axis
//   DirectCopies.cpp     copies of whole warps straight to them
//   Reduce.cpp           reductions within a warp
//   Scan.cpp             scans within a warp
//   Dot.cpp              matmuls (ScaledDot.cpp: with scales, GroupDot.cpp: of warp groups)
//   Reports.cpp          prints and assertions
// What threads exchange through shared memory, and the barriers for it, are operations by now (Exchanges.h,
// InsertBarriers.h).
#pragma once
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/simt/SimtToThreads.h"
#include "compiler/lowering/simt/SourceFacts.h"
#include "mlir/Transforms/DialectConversion.h"
#include <map>
#include <unordered_map>

namespace heddle::simt {

/// One kernel while its operations are replaced.
struct ThreadState {
  /// `options.warps`: of the function, which may be one partition of the block.
  ThreadState(triton::FuncOp source, const GpuTarget &target, const ThreadOptions &options, ThreadKernel &kernel)
      : target(target), options(options), kernel(kernel), facts(source, target, options.warps) {}

  const GpuTarget &target;
  const ThreadOptions &options;
  ThreadKernel &kernel;
  SourceFacts facts;
  mlir::LLVM::LLVMFuncOp entry;
  mlir::Operation *prologueEnd = nullptr; ///< what is made once goes before it
  mlir::Value thread, lane, warp;         ///< i32; of a partition, counted from its first
  int64_t registers = 0;                  ///< that a thread takes when partitions have begun; 0: it keeps what it has
  bool moreRegisters = true;              ///< more than it had
  int64_t barrier = 0;                    ///< the named barrier of these warps; 0: of all of the block
  mlir::Value laneAlone;                  ///< the lane by the chip's own register, once it is asked for
  /// By hash and output of a layout: what the lane and warp numbers add there.
  std::map<std::pair<uint64_t, layout::Dim>, std::vector<std::pair<layout::LinearLayout, mlir::Value>>> parts;
  std::map<uint64_t, mlir::Value> owners; ///< by the bits of the thread's number that must be 0
  mlir::LLVM::GlobalOp shared;            ///< the block's shared memory
  mlir::Value sharedAddress;
  /// Memory objects by the pointer to their first byte.
  struct Ring {
    int64_t start = 0; ///< in shared memory, bytes
    bool isScratch = false;
  };
  llvm::DenseMap<mlir::Value, Ring> rings;
  llvm::DenseMap<mlir::Operation *, mlir::Value> tensorMaps; ///< addresses, by `simt.tensor_map`
  bool failed = false;                                       ///< an operation was refused: the rest need not be right
};

class ThreadCode {
public:
  /// Of an operation, at the place of `at`.
  ThreadCode(ThreadState &state, const mlir::OpBuilder &at, mlir::Operation *op)
      : state(state), facts(state.facts), target(state.target), op(op), b(op->getLoc(), at),
        divergent(facts.divergent.contains(op)) {}
  /// Replaces the operation by what `lower` made for its results.
  void finish(mlir::ConversionPatternRewriter &rewriter);

protected:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using Values = llvm::SmallVector<mlir::Value>;
  using Dim = layout::Dim;
  using LinearLayout = layout::LinearLayout;

  //===-- Values: ThreadCode.cpp ---------------------------------------------------------------------------------===//
  const Values &of(Value value); ///< what a thread has of a value of the source
  Value scalar(Value value) { return of(value).front(); }
  Values all(mlir::ValueRange values); ///< one after the other
  /// A value of the source that stands for what a thread has of it.
  Value stand(Type type, mlir::ValueRange registers);
  void bind(mlir::ValueRange results, mlir::ValueRange registers); ///< results of the operation, one after the other
  llvm::SmallVector<Type> threadTypes(mlir::TypeRange types);
  /// Refuses the operation at its location.
  void refuse(const llvm::Twine &why);
  bool refuseIfDivergent(); ///< all threads of the block have to take part; whether it did
  /// It takes an exchange among threads that `pass` should have written.
  void refuseWithout(llvm::StringRef pass);
  /// Moves the operations of `from` to the end of `to`, with what the threads have of its arguments.
  void moveBody(mlir::Block &from, mlir::Block &to, mlir::ValueRange arguments);
  /// The values that a region gives for these arguments, each of one register. Its assertions hold where nothing needs
  /// the values (`isNeeded`, i1; null: everywhere needed).
  Values runRegion(mlir::Region &region, mlir::ValueRange arguments, Value isNeeded = {});

  //===-- Types and constants ------------------------------------------------------------------------------------===//
  Type threadType(Type element); ///< of one element in a register: pointers !llvm.ptr<1>, f8 as i8
  Type memoryType(Type element); ///< i1 as i8, pointers as i64, floats as integers of their width
  Value toMemory(Value value, Type element);
  Value fromMemory(Value value, Type element);
  Value as(Type type, Value value); ///< bits of the same width as another type
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value constantOf(Type type, int64_t value); ///< an integer, or its value as a float
  Value zeroOf(Type type);                    ///< also a null pointer
  Value inverted(Value bit);
  Value both(Value a, Value b); ///< and of two bits, either of which may be null

  //===-- Who holds what: Places.cpp -----------------------------------------------------------------------------===//
  /// What the lane and warp numbers add to the input `out` of the layout: i32, made once at the function's start.
  Value placePart(const LinearLayout &layout, Dim out);
  Value laneAlone();
  /// The coordinate along `out` of a register.
  Value coordinate(const LinearLayout &layout, int64_t reg, Dim out);
  static int64_t registerPart(const LinearLayout &layout, int64_t reg, Dim out);
  /// Whether this thread is the one that acts for its elements (i1); null when every thread has elements of its own.
  Value isOwner(const LinearLayout &layout);
  BlockShape block() const { return {target.lanesPerWarp(), state.options.warps}; }
  /// The lowest register that holds the same element.
  static int64_t firstCopy(const LinearLayout &layout, int64_t reg);
  /// The row-major index of a register's element.
  Value flatIndex(Type tile, int64_t reg);

  //===-- Who does what ------------------------------------------------------------------------------------------===//
  /// Runs `body` in the threads whose bit is set, which may be null; the results, or `otherwise`.
  Values when(Value bit, llvm::ArrayRef<Type> types, llvm::function_ref<Values()> body, mlir::ValueRange otherwise);
  void when(Value bit, llvm::function_ref<void()> body);
  bool continueBranch(Value bit, llvm::function_ref<void()> body); ///< whether there is one under the bit, just before
  /// Runs `body` in the first thread, where the bit of the source is set; null: always.
  void inOneThreadIf(Value condition, llvm::function_ref<void()> body);
  /// A barrier of the warps that execute this function, and whether `bit` is set in any of their threads.
  void blockBarrier();
  Value blockBarrierOr(Value bit);
  /// Runs `body` in the one thread that does scalar effects; others have nothing that may be looked at.
  Values inOwner(mlir::TypeRange scalars, llvm::function_ref<Values()> body);
  /// An effect of each element, once: `body(register)` runs in the owner, then all copies get its results, those of so
  /// many registers `together`, which have one mask.
  Values once(Type tile, Type result, llvm::function_ref<Values(int64_t reg)> body, const Values &masks,
              int64_t together = 1);
  /// Refuses the operation where threads need results that only the owners of elements of `accessed` have.
  bool isMissingExchange(Type accessed);
  /// A call that implement-calls replaces.
  Value callExtern(llvm::StringRef symbol, Type result, mlir::ValueRange operands);
  Value clock(); ///< nanoseconds

  //===-- Between the lanes of a warp: Lanes.cpp -----------------------------------------------------------------===//
  Value shuffleXor(Value value, int mask); ///< of any type
  /// This lane's word (i32 or f32) and the one of shuffleXor; in another order, the same for all words, if that takes
  /// fewer instructions.
  std::pair<Value, Value> pairXor(Value value, int mask);
  Value shuffleFrom(Value value, Value lane);
  Value fromRowBefore(Value value, int mask); ///< GpuTarget's, of any type; null if there is none
  Value fromLastLane(Value value);            ///< of any type

  //===-- Floats: Floats.cpp -------------------------------------------------------------------------------------===//
  Value convertFloat(Value value, Type from, Type to, bool towardZero);
  /// As many values, i8 and f32. `isWithinRange`: none is beyond the largest number of `to`, but for NaN.
  Values toFp8(mlir::ValueRange f32, Type to, bool isWithinRange = false);
  Values fromFp8(mlir::ValueRange bits, Type from);

  ThreadState &state;
  SourceFacts &facts;
  const GpuTarget &target;
  mlir::Operation *op;
  mlir::ImplicitLocOpBuilder b;
  bool divergent;                              ///< in code that not all threads of the block execute alike
  llvm::DenseMap<Value, Values> made;          ///< for results of the operation
  llvm::SmallVector<mlir::Operation *> unused; ///< other operations that nothing uses when it is gone

private:
  std::unordered_map<void *, Values> known; ///< references stay valid
};

//===-- Patterns --------------------------------------------------------------------------------------------------===//

/// Replaces an operation by what a method `lower` of `Family` writes.
template <typename Family, typename Op>
class FamilyPattern : public mlir::ConversionPattern {
public:
  FamilyPattern(ThreadState &state, mlir::MLIRContext *context)
      : ConversionPattern(Op::getOperationName(), /*benefit=*/2, context), state(state) {}
  mlir::LogicalResult matchAndRewrite(mlir::Operation *op, llvm::ArrayRef<mlir::ValueRange>,
                                      mlir::ConversionPatternRewriter &rewriter) const override {
    Family code(state, rewriter, op);
    if (!state.failed)
      code.lower(llvm::cast<Op>(op));
    code.finish(rewriter);
    return mlir::success();
  }

private:
  ThreadState &state;
};

template <typename Family, typename... Ops>
void addFamily(mlir::RewritePatternSet &patterns, ThreadState &state) {
  (patterns.add(std::make_unique<FamilyPattern<Family, Ops>>(state, patterns.getContext())), ...);
}

void addAssembly(mlir::RewritePatternSet &patterns, ThreadState &state);
void addAtomics(mlir::RewritePatternSet &patterns, ThreadState &state);
void addBulkCopies(mlir::RewritePatternSet &patterns, ThreadState &state);
void addPartitions(mlir::RewritePatternSet &patterns, ThreadState &state);
void addBuffers(mlir::RewritePatternSet &patterns, ThreadState &state);
void addCalls(mlir::RewritePatternSet &patterns, ThreadState &state);
void addControlFlow(mlir::RewritePatternSet &patterns, ThreadState &state);
void addConversions(mlir::RewritePatternSet &patterns, ThreadState &state);
void addDirectCopies(mlir::RewritePatternSet &patterns, ThreadState &state);
/// Takes all operations that no other family does, and refuses what it does not know.
void addElementwise(mlir::RewritePatternSet &patterns, ThreadState &state);
void addGlobalMemory(mlir::RewritePatternSet &patterns, ThreadState &state);
void addMaps(mlir::RewritePatternSet &patterns, ThreadState &state);
void addMatmuls(mlir::RewritePatternSet &patterns, ThreadState &state);
void addGroupMatmuls(mlir::RewritePatternSet &patterns, ThreadState &state);
void addPolls(mlir::RewritePatternSet &patterns, ThreadState &state);
void addReductions(mlir::RewritePatternSet &patterns, ThreadState &state);
void addReports(mlir::RewritePatternSet &patterns, ThreadState &state);
void addScaledMatmuls(mlir::RewritePatternSet &patterns, ThreadState &state);
void addScans(mlir::RewritePatternSet &patterns, ThreadState &state);
void addShapes(mlir::RewritePatternSet &patterns, ThreadState &state);
void addSharedIndexed(mlir::RewritePatternSet &patterns, ThreadState &state);
void addSharedRepacked(mlir::RewritePatternSet &patterns, ThreadState &state);
void addSharedTiles(mlir::RewritePatternSet &patterns, ThreadState &state);
void addArrivals(mlir::RewritePatternSet &patterns, ThreadState &state);
void addSynchronisation(mlir::RewritePatternSet &patterns, ThreadState &state);

} // namespace heddle::simt
