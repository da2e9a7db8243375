// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes what one thread of a block does, from tiles with layouts: a tile is as many values as a thread has registers
// of it, in the order of the layout's register number. Methods are grouped in files by what they emit:
//   ThreadEmitter.cpp   frame, control flow      Places.cpp        coordinates, owners, shape operations
//   Elementwise.cpp     element operations       GlobalMemory.cpp  loads, stores, calls between devices
//   Assembly.cpp        inline assembly
//   Atomics.cpp         atomic accesses          Polls.cpp         waiting for values in memory
//   Lanes.cpp           moves between the lanes of a warp
//   Reduce.cpp          reductions within a warp      Scan.cpp     Dot.cpp, GroupDot.cpp   matmuls
//   SharedTiles.cpp     memory objects and their views, asynchronous copies, matrix loads
//   DirectCopies.cpp    copies of whole warps straight to them
//   SharedIndexed.cpp   accesses to them by an index; tiles made of parts
//   Buffers.cpp         a pointer of the block and offsets of 32 bits
//   Reports.cpp         prints and assertions
// What threads exchange through shared memory, and the barriers for it, are operations by now (Exchanges.h,
// InsertBarriers.h).
#pragma once
#include "compiler/analysis/Uniformity.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/lowering/simt/GlobalOrder.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/simt/SimtToThreads.h"
#include "compiler/sites/Sites.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>
#include <map>
#include <memory>

namespace heddle::simt {

class ThreadEmitter {
public:
  ThreadEmitter(triton::FuncOp source, const GpuTarget &target, const ThreadOptions &options, ThreadKernel &kernel);
  /// Emits the llvm.func beside the source function, which is erased.
  mlir::LogicalResult run();

private:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using Values = llvm::SmallVector<mlir::Value>;
  using Dim = layout::Dim;
  using LinearLayout = layout::LinearLayout;

  //===-- ThreadEmitter.cpp: frame and control flow --------------------------------------------------------------===//
  void createEntry();
  void emitBody();
  void emitBlock(mlir::Block &block);
  void emitOp(mlir::Operation *op);
  void emitFor(mlir::scf::ForOp loop);
  void emitIf(mlir::scf::IfOp branch);
  void emitWhile(mlir::scf::WhileOp loop);
  void emitBranch(mlir::Operation *op);
  void emitBarrier(mlir::Operation *op);
  void emitAsyncWait(AsyncWaitOp op);
  /// Refuses `op`, which takes an exchange among threads that `pass` should have written. Returns true.
  bool needsPass(mlir::Operation *op, llvm::StringRef pass);
  const Values &of(Value value); ///< what has been emitted for a value of the source
  Value scalar(Value value) { return of(value).front(); }
  Values all(mlir::ValueRange values);                          ///< one after the other
  void bind(mlir::ValueRange values, mlir::ValueRange emitted); ///< the reverse
  llvm::SmallVector<Type> threadTypes(mlir::TypeRange types);
  mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &why);

  //===-- Places.cpp ---------------------------------------------------------------------------------------------===//
  Type threadType(Type element); ///< of one element in a register: pointers !llvm.ptr<1>, f8 as i8
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value constantOf(Type type, int64_t value); ///< an integer, or its value as a float
  Value zeroOf(Type type);                    ///< also a null pointer
  /// What the lane and warp numbers add to the input `out` of the layout: i32, made once at the function's start.
  Value placePart(const LinearLayout &layout, Dim out);
  /// The coordinate along `out` of a register.
  Value coordinate(const LinearLayout &layout, int64_t reg, Dim out);
  int64_t registerPart(const LinearLayout &layout, int64_t reg, Dim out);
  /// Whether this thread is the one that acts for its elements (i1); null when every thread has elements of its own.
  Value isOwner(const LinearLayout &layout);
  BlockShape block() const { return {target.lanesPerWarp(), options.warps}; }
  /// The lowest register that holds the same element.
  int64_t firstCopy(const LinearLayout &layout, int64_t reg);
  Values emitShape(mlir::Operation *op);
  Values emitConstant(mlir::arith::ConstantOp op);
  Values emitRange(triton::MakeRangeOp op);
  /// The registers of `to` taken from those of `from`, of a tile whose element at coordinates x of `to` is the one at
  /// map(x) of `from`, for places that agree in lane and warp.
  Values pickRegisters(Type to, Type from, const Values &values,
                       llvm::function_ref<void(llvm::MutableArrayRef<int64_t>)> map);

  //===-- Elementwise.cpp ----------------------------------------------------------------------------------------===//
  Values emitElementwise(mlir::Operation *op);
  bool emitColumnsFirst(triton::AddPtrOp op, Values &results); ///< whether it did
  Values emitMap(triton::MapElementwiseOp op);
  Value compute(mlir::Operation *op, llvm::ArrayRef<Value> operands, Type result);
  Value divide(mlir::Operation *op, Value x, Value y);
  Value shift(mlir::Operation *op, Value x, Value amount);
  Value convertFloat(Value value, Type from, Type to, bool towardZero);
  /// As many values, i8 and f32. `isWithinRange`: none is beyond the largest number of `to`, but for NaN.
  Values toFp8(mlir::ValueRange f32, Type to, bool isWithinRange = false);
  Values fromFp8(mlir::ValueRange bits, Type from);
  Value cloneOn(mlir::Operation *op, mlir::ValueRange operands, Type result);
  Values runRegion(mlir::Region &region, mlir::ValueRange arguments);
  Value as(Type type, Value value); ///< bits of the same width as another type

  //===-- Pairs.cpp ----------------------------------------------------------------------------------------------===//
  int64_t togetherIn(mlir::Operation *op);                 ///< registers that one step of `op` takes
  bool emitTogether(mlir::Operation *op, Values &results); ///< whether it did
  Values computeTogether(mlir::Operation *op, llvm::ArrayRef<Values> operands);

  //===-- GlobalMemory.cpp ---------------------------------------------------------------------------------------===//
  Type memoryType(Type element); ///< i1 as i8, pointers as i64, floats as integers of their width
  Value toMemory(Value value, Type element);
  Value fromMemory(Value value, Type element);
  Value zeroMemory(); ///< 16 bytes of zeros to read instead of what a mask forbids
  void emitLoad(GlobalLoadOp op);
  Values loadRegisters(GlobalLoadOp op, bool atomically); ///< in this thread
  void emitStore(GlobalStoreOp op);
  void emitExternCall(triton::ExternElementwiseOp op);
  /// A call that implement-calls replaces.
  Value callExtern(llvm::StringRef symbol, Type result, mlir::ValueRange operands);
  /// Runs `body` in the threads whose bit is set, which may be null; the results, or `otherwise`.
  Values when(Value bit, llvm::ArrayRef<Type> types, llvm::function_ref<Values()> body, mlir::ValueRange otherwise);
  bool continueBranch(Value bit, llvm::function_ref<Values()> body); ///< whether there is one
  /// Runs `body` in the one thread that does scalar effects; others have nothing that may be looked at.
  Values inOwner(mlir::TypeRange scalars, llvm::function_ref<Values()> body);
  Value both(Value a, Value b); ///< and of two bits, either of which may be null

  //===-- Assembly.cpp -------------------------------------------------------------------------------------------===//
  void emitAssembly(triton::ElementwiseInlineAsmOp op);
  void packWords(Value source, int64_t reg, int64_t count, llvm::ArrayRef<Type> types, Values &words);
  Values unpackWords(llvm::ArrayRef<Value> words, Type result, int64_t count);

  //===-- Polls.cpp ----------------------------------------------------------------------------------------------===//
  void emitPoll(triton::AtomicPollOp op);
  void pollScalar(triton::AtomicPollOp op);
  void pollTile(triton::AtomicPollOp op);
  /// Waits in this thread for the value of a register; whether it came. `start`: when the wait began, null where it has
  /// no limit. `mayEnd`: a failed assertion of some program ends the wait.
  Value waitForValue(triton::AtomicPollOp op, int64_t reg, Value start, bool mayEnd);
  void endProgramUnless(Value came);
  Value clock(); ///< nanoseconds
  Value inverted(Value bit);

  //===-- Atomics.cpp --------------------------------------------------------------------------------------------===//
  void emitAtomic(mlir::Operation *op);
  /// The element of a register, or where updatesPairs() those of two; old values.
  Values updateAt(GlobalUpdateOp op, triton::MemSemantic semantic, int64_t reg);
  Values swapAt(triton::AtomicCASOp op, triton::MemSemantic semantic, int64_t reg);
  Values loadAt(triton::AtomicLoadOp op, triton::MemSemantic semantic, int64_t reg);
  void emitAtomicStore(triton::AtomicStoreOp op);
  bool updatesPairs(GlobalUpdateOp op);
  /// Refuses `op` where threads need results that only the owners of elements of `accessed` have.
  bool isMissingExchange(mlir::Operation *op, Type accessed);
  /// An effect of each element, once: `body(register)` runs in the owner, then all copies get its results, those of so
  /// many registers `together`, which have one mask.
  Values once(Type tile, Type result, llvm::function_ref<Values(int64_t reg)> body, const Values &masks,
              int64_t together = 1);

  //===-- Buffers.cpp --------------------------------------------------------------------------------------------===//
  void emitBufferLoad(BufferLoadOp op);
  void emitBufferStore(BufferStoreOp op);

  //===-- Reports.cpp --------------------------------------------------------------------------------------------===//
  void emitPrintRoom(PrintRoomOp op);
  void emitPrint(PrintOp op);
  void emitAssert(triton::AssertOp op);
  /// Makes a piece of the launch's record at `place`: one operand, or none (null).
  void emitPiece(int32_t site, int32_t operand, Value value, Value place);
  void writePieceHeader(Value start, int64_t size, int32_t site, int32_t operand);
  void writePieceElements(Value start, Value value, int64_t elementBytes);
  void refuseSites(mlir::Operation *op); ///< there are too many
  Value bytesAfter(Value pointer, Value offset);
  Value recordPointer(int64_t offset);
  Value addToRecord(int64_t offset, int64_t value); ///< the sum of before
  Value failureWord(int32_t site, Value element);
  Value someProgramFailed();
  /// All threads of the block do `before` and end if the bit is set in one of them. A barrier for all.
  void endProgramIf(Value anyThread, llvm::function_ref<void()> before);

  //===-- Lanes.cpp ----------------------------------------------------------------------------------------------===//
  void emitConvert(ConvertLayoutOp op);
  Value shuffleXor(Value value, int mask); ///< of any type
  /// This lane's word (i32 or f32) and the one of shuffleXor; in another order, the same for all words, if that is
  /// cheaper.
  std::pair<Value, Value> pairXor(Value value, int mask);
  Value shuffleFrom(Value value, Value lane);

  //===-- SharedTiles.cpp ----------------------------------------------------------------------------------------===//
  mlir::LogicalResult findMemory(); ///< checks that all memory objects have their places
  Value sharedStart();              ///< the first byte of the block's shared memory
  void sizeShared();                ///< gives the memory as many bytes as the kernel has
  Value sharedPointer(Value base, Value byteOffset);
  void storeShared(Value pointer, mlir::ValueRange values); ///< neighbours, as one vector
  Values loadShared(Value pointer, Type type, int64_t count);
  /// A tile in shared memory, as a thread addresses it.
  struct Memory {
    Value base;                 ///< a pointer
    Value offset;               ///< i32, elements from there, xor'ed to those of the tile's layout; null: none
    SharedType type;            ///< whose padding counts from `base` on where there is an offset
    int64_t mostContiguous = 0; ///< elements that an access may take, as far as offset and padding allow
  };
  /// `stage` may be null.
  Memory memoryAt(Value memory, Value stage);
  Value stageOf(Value ring, Value stage);     ///< a pointer; of what is neither padded nor a view
  static uint64_t possibleBits(Value offset); ///< that it may have, as far as the operations of views tell
  void emitAlloc(AllocOp op);
  void emitView(mlir::Operation *op);
  Value elementPointer(const Memory &memory, const LinearLayout &offsets, int64_t reg);
  void emitStoreShared(StoreSharedOp op);
  void emitLoadShared(LoadSharedOp op);
  void emitAsyncCopy(AsyncCopyOp op);
  /// By instructions of whole warps.
  void emitDirectCopy(AsyncCopyOp op);
  void emitBufferCopy(AsyncBufferCopyOp op);
  struct DirectStep {
    Value shared;                            ///< where the warp writes
    std::function<Value(const Values &)> of; ///< of what its lanes have of a tile what is for this step
  };
  void eachDirectCopy(mlir::Operation *op, Type addresses, int64_t elements, const Memory &memory,
                      llvm::function_ref<void(const DirectStep &)> body);
  /// What is read from `op` register by register, when somebody asks for one. Reads as many as one instruction gives.
  Value readShared(LoadSharedOp op, int64_t reg);
  /// Whether memory is as it was at `op` until its one reader, a matmul or a reduction in one thread.
  bool canReadLate(LoadSharedOp op);

  //===-- SharedIndexed.cpp --------------------------------------------------------------------------------------===//
  struct IndexedAccess {
    Value ring, indices;
    Type tile;
    int64_t axis;
  };
  /// Where the element of a register lies.
  std::function<Value(int64_t reg)> indexedPointers(const IndexedAccess &access);
  /// (i32) What an index along an axis adds to the offset, in elements, by xor.
  Value offsetOfIndex(const LinearLayout &place, Dim axis, Value index);
  void emitGatherShared(GatherSharedOp op);
  void emitScatterShared(ScatterSharedOp op);
  void emitUpdateShared(UpdateSharedOp op);
  void emitConcat(ConcatOp op);

  //===-- Reduce.cpp, Scan.cpp, Dot.cpp --------------------------------------------------------------------------===//
  void emitReduce(triton::ReduceOp op);
  void emitReduceWarps(ReduceWarpsOp op);
  Values fold(mlir::Region &region, llvm::SmallVector<Values> parts); ///< combines all parts, neighbours first
  /// The row-major index of a register's element.
  Value flatIndex(Type tile, int64_t reg);
  /// A list of operands for each element off the axis, in the order of their coordinates. Where lanes share the
  /// elements out among them, each has its own lists only: of those before, the upper half where the first of `sharing`
  /// is set in the lane's number, and so on.
  struct KeptParts {
    llvm::SmallVector<Values> parts;
    size_t elements = 0;            ///< of all lanes together
    llvm::SmallVector<int> sharing; ///< bits of the lane's number
  };
  /// Whether `reduce` combines what each thread has, and one thread needs the result. LLVM would combine in all
  /// threads, as late as the result is needed: until then all parts would live in registers.
  bool isReducedByOwner(mlir::Operation *reduce);
  /// Emits the results of `op`, from what is left of its operands along the axis.
  void bindReduced(triton::ReduceOp op, const KeptParts &kept);
  using Place = llvm::SmallVector<int64_t, 4>; ///< what a register adds to the coordinates off an axis
  Place placeOff(int skippedAxis, const LinearLayout &layout, int64_t reg);
  /// Combines the registers along the axis, each list in the order of its positions there.
  KeptParts combineRegisters(mlir::Region &region, mlir::ValueRange tiles, int axis);
  /// Combines the parts of lanes along the axis, of which the first `shared` share the elements out.
  void combineLanes(mlir::Region &region, KeptParts &kept, llvm::ArrayRef<int> bits, size_t shared);
  /// Each lane has all elements again.
  void unshare(KeptParts &kept);
  Value laneBit(int bit); ///< i1
  void emitScanWarps(ScanWarpsOp op);
  void emitJoinScan(JoinScanOp op);
  void emitScan(triton::ScanOp op);
  struct ScanLine;
  /// The lines along the axis that a thread has, scanned over its registers and the lanes before it.
  std::vector<ScanLine> scanLines(mlir::Region &region, mlir::ValueRange tiles, int axis, bool reverse);
  /// Combines what is before a thread's registers with each.
  void finishScan(mlir::Region &region, std::vector<ScanLine> &lines, mlir::ValueRange results);
  Values combine(mlir::Region &region, const Values &earlier, const Values &later);
  Values select(Value bit, const Values &yes, const Values &no);
  /// Whether the thread comes after its opposite in this bit of its number (i1).
  Value isLater(Value number, int bit, bool reverse);
  void emitDot(MatrixDotOp op);
  /// d = a * b + c; returns d.
  Values multiplyByInstruction(mlir::ValueRange abc, Type d, const MatrixInstruction &instruction);
  void emitDotScratch(DotScratchOp op);

  //===-- GroupDot.cpp -------------------------------------------------------------------------------------------===//
  void emitDotShared(DotSharedOp op);
  void emitDotWait(DotWaitOp op);
  /// (i64) The operand's part that this warp's group reads, at the block's start.
  Value groupDescriptor(DotSharedOp op, bool isB);

  //===-- State --------------------------------------------------------------------------------------------------===//
  triton::FuncOp source;
  const GpuTarget &target;
  ThreadOptions options;
  ThreadKernel &kernel;
  mlir::ImplicitLocOpBuilder b;
  mlir::LLVM::LLVMFuncOp entry;
  mlir::Operation *prologueEnd = nullptr; ///< what is made once goes before it
  Value thread, lane, warp;               ///< i32
  llvm::DenseMap<Value, Values> emitted;
  llvm::DenseMap<mlir::Block *, mlir::Block *> blocks;
  std::map<std::pair<uint64_t, Dim>, std::vector<std::pair<LinearLayout, Value>>> parts;
  std::map<uint64_t, Value> owners; ///< by the bits of the thread's number that must be 0
  struct SharedRead;
  llvm::DenseMap<mlir::Operation *, std::shared_ptr<SharedRead>> sharedReads; ///< of simt.load_shared
  mlir::LLVM::GlobalOp shared;                                                ///< the block's memory
  Value sharedAddress;
  Value zerosAddress;
  GlobalOrder order;
  bool copiesDirectly = false; ///< there are copies of warps straight to shared memory
  bool publishes = false;      ///< what is written to shared memory is read by products of warp groups
  SiteTable sites;
  bool mayFail = false;   ///< the kernel has assertions: who waits for others looks whether one failed
  bool divergent = false; ///< in code that not all threads of the block execute alike
  analysis::Uniformity uniformity;
  bool failed = false;
};

} // namespace heddle::simt
