// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the code of a thread needs of its chip, as one interface: numbers of threads, exchange between lanes, barriers,
// atomics, matrix instructions. One implementation per vendor (compiler/lowering/nvptx,
// compiler/lowering/amdgpu).
#pragma once
#include "compiler/dialects/simt/Simt.h"
#include "compiler/layout/Encodings.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <optional>
#include <string>

namespace heddle {
struct TimingModel;
}

namespace heddle::simt {

/// Whether `type` is a floating-point type of 8 bits.
inline bool isFp8(mlir::Type type) {
  return mlir::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

/// Bits of an element in memory, of pointers too.
inline int64_t memoryBits(mlir::Type element) {
  return element.isIntOrFloat() ? std::max(8u, element.getIntOrFloatBitWidth()) : 64;
}

/// How a matrix instruction of a target multiplies: C[m, n] += A[m, k] * B[k, n] by one warp. Which lane has what is
/// the layouts' matter (accumulatorLayout, operandLayout); this says what one thread gives and gets.
struct MatrixInstruction {
  int64_t m = 0, n = 0, k = 0;
  int64_t kWidth = 0;                ///< contiguous elements along k that the operands' layouts keep in one thread
  int64_t kPerLane = 0;              ///< elements of a row of A, or of a column of B, that a thread gives
  int64_t pieces = 1;                ///< the wider operand of 4 x 64 or 64 x 4: a thread gives so many times kPerLane
  const char *name = nullptr;        ///< the target's own
  mlir::Type a = {}, b = {}, d = {}; ///< the types that are multiplied and added; elements of others are converted
  llvm::SmallVector<int64_t, 2> aRows = {0}; ///< rows of A of which a thread gives elements, counted from its first
  /// Row and column of each result of a thread, counted from its first.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 16> results = {};
  bool transposed = true; ///< a thread's results are along a row; counts where the target has both
};

/// What a thread gives of one operand to a matrix instruction with scales.
struct ScaledOperand {
  llvm::SmallVector<mlir::Value> words; ///< i32, with contiguous bytes along k packed
  triton::ScaleDotElemType format;
  mlir::Value scales; ///< i32, four of them
  int64_t scale = 0;  ///< the byte of the one that counts
};

/// How deep a product by four warps is: so many bytes of a row of A.
inline constexpr int64_t bytesOfGroupDepth = 32;

/// A product by four warps: 64 rows, n columns.
struct GroupInstruction {
  int64_t n = 0;
  int64_t groupsAlongM = 1, groupsAlongN = 1; ///< of four warps, in the block
};

/// An operand of such a product. Elements of 8 bits always lie along K.
struct GroupOperand {
  mlir::Value descriptor;                    ///< of what lies in shared memory; else null
  llvm::SmallVector<mlir::Value> words = {}; ///< i32: what this thread has of a left operand in registers
  mlir::Type element = {};
  bool alongK = true;
};

/// Adds a parameter after the others, and returns its value.
mlir::Value addParameter(mlir::LLVM::LLVMFuncOp function, mlir::Type type, mlir::DictionaryAttr attributes = {});
/// What one instruction of a bulk copy moves of a block, along each axis.
llvm::SmallVector<int64_t> boxOf(TensorMapType map);

class GpuTarget {
public:
  virtual ~GpuTarget();

  virtual int lanesPerWarp() const = 0;
  virtual int64_t sharedMemoryBytes() const = 0; ///< most that a block may have
  virtual int sharedMemoryBanks() const { return 32; }
  /// Registers of 32 bits that a thread of a block of `warps` may have, if the block is alone.
  virtual int64_t registersPerThread(int warps) const { return 255; }
  /// Whether loops are to carry small elements in the words in which they are loaded: the compiler of this target would
  /// keep each in a register of its own.
  virtual bool carriesWords() const { return false; }
  /// So much a kernel's buffers may take together before they share bytes, which takes more barriers.
  virtual int64_t sharedBytesBeforeReuse() const { return int64_t(32) * 1024; }
  /// Whether a kernel's shared memory is part of its code; otherwise a launch says how much it gets.
  virtual bool ownsSharedMemory() const { return false; }

  /// Marks `function` as a kernel of `threads` threads. Of a unit's registers its code takes so many at most that
  /// `residentBlocks` blocks fit there, if this target can be told; 0: the target chooses.
  virtual void markKernel(mlir::LLVM::LLVMFuncOp function, int64_t threads, int64_t residentBlocks) const = 0;

  using Builder = mlir::ImplicitLocOpBuilder;
  /// Waits until the launch before this one in its stream has ended and what it wrote can be seen; from then on the
  /// launch after it may start, which waits likewise. Returns false where launches start after each other anyway.
  virtual bool waitForLaunchBefore(Builder &b) const { return false; }
  virtual mlir::Value threadId(Builder &b) const = 0; ///< i32, in the block
  /// i32, the thread's number in its warp, of which LLVM does not know that it is a part of threadId; null where the
  /// chip has no such register.
  virtual mlir::Value laneNumber(Builder &b) const { return {}; }
  virtual mlir::Value programId(Builder &b, int axis) const = 0;    ///< i32
  virtual mlir::Value programCount(Builder &b, int axis) const = 0; ///< i32
  /// A barrier of the block, at which its threads see each other's accesses to shared and global memory.
  virtual void barrier(Builder &b) const = 0;
  /// A barrier of each warp, at which its lanes see each other's accesses to shared memory. `beforeCopies`: copies
  /// straight to shared memory may follow, and must not come before those accesses.
  virtual void warpBarrier(Builder &b, bool beforeCopies) const = 0;
  /// As barrier(), and whether `bit` is set in any thread of the block of `warps`.
  virtual mlir::Value barrierOr(Builder &b, mlir::Value bit, int warps) const = 0;
  /// A barrier of the threads whose `bit` is set, which is so in all lanes of a warp or in none; no order of memory.
  virtual void barrierIf(Builder &b, mlir::Value bit) const = 0;
  /// Whether the groups of a warp pipeline have a barrier of their own, which no other barrier of the block completes.
  virtual bool hasStageBarrier() const { return false; }
  /// That barrier, of a block of `threads`: of all of them, or of those whose `bit` is set, as in barrierIf(); orders
  /// memory like barrier().
  virtual void stageBarrier(Builder &b, int64_t threads, mlir::Value bit = {}) const {}
  /// Whether shared memory can have barrier objects (simt.init_arrivals), words of 64 bits, to which `object` points.
  virtual bool hasArrivals() const { return false; }
  virtual void initArrivals(Builder &b, mlir::Value object, int64_t arrivals) const {}
  virtual void arrive(Builder &b, mlir::Value object) const {} ///< this thread
  /// This thread, when its copies have landed; `increments`: the phase expects an arrival more for it.
  virtual void arriveAfterCopies(Builder &b, mlir::Value object, bool increments) const {}
  /// Whether (i1) the phase of this parity has ended, after some time of waiting for it.
  virtual mlir::Value waitArrivals(Builder &b, mlir::Value object, mlir::Value parity) const { return {}; }
  virtual void arriveTimes(Builder &b, mlir::Value object, int64_t count) const {} ///< this thread
  /// This thread arrives, and the phase waits for so many bytes of bulk copies besides.
  virtual void expectBytes(Builder &b, mlir::Value object, int64_t bytes) const {}
  virtual void endArrivals(Builder &b, mlir::Value object) const {} ///< the memory may hold something else
  /// After this thread's initArrivals(): bulk copies, too, see the objects.
  virtual void publishArrivals(Builder &b) const {}
  /// Named barriers of the block, of which number 0 is barrier()'s; 0: the chip has none. One is for so many threads,
  /// whole warps, and orders memory as barrier() does.
  virtual int64_t namedBarriers() const { return 0; }
  virtual void namedBarrier(Builder &b, int64_t number, int64_t threads) const {}
  virtual mlir::Value namedBarrierOr(Builder &b, mlir::Value bit, int64_t number, int64_t threads) const { return {}; }
  /// A kernel of threads that begin with so many registers each, and take others later on.
  virtual void limitRegisters(mlir::LLVM::LLVMFuncOp kernel, int64_t registers) const {}
  /// From here on each thread of these four warps has so many registers: `more` or fewer than it had.
  virtual void takeRegisters(Builder &b, int64_t registers, bool more) const {}
  /// Lets the scheduler move only instructions of these kinds over this place (simt.schedule_barrier), and sets the
  /// warp's priority. Both return false where the chip has none of this.
  virtual const TimingModel *timing() const { return nullptr; } ///< null: there is no estimate of time
  virtual bool takesHints() const { return false; }             ///< whether it has them
  virtual bool scheduleBarrier(Builder &b, int64_t kinds) const { return false; }
  virtual bool setPriority(Builder &b, int64_t priority) const { return false; }
  /// What some threads do in a branch, here, stays in it though all of them could do it at low cost.
  virtual void stayInBranch(Builder &b) const {}
  /// The value (i32) of the lane whose number differs by `mask`. All lanes take part.
  virtual mlir::Value shuffleXor(Builder &b, mlir::Value value, int mask) const = 0;
  /// The value (i32) of this lane and that one, in the order of their numbers, where that costs less than to know which
  /// of them this one is.
  virtual std::optional<std::pair<mlir::Value, mlir::Value>> bothLanes(Builder &b, mlir::Value value, int mask) const {
    return std::nullopt;
  }
  /// Where lanes of one row of 16 have the same value (i32): in the last row the value of the row before, for `mask`
  /// 16, and that of the second row, for 32, where that costs less than shuffleXor. What other lanes get means nothing.
  virtual std::optional<mlir::Value> fromRowBefore(Builder &b, mlir::Value value, int mask) const {
    return std::nullopt;
  }
  /// The value (i32) of the warp's last lane, in all lanes.
  virtual mlir::Value fromLastLane(Builder &b, mlir::Value value) const { return {}; }
  /// The values (i32) of all lanes of the warp combined by an operation of `arith`, in all lanes; null where the chip
  /// has no instruction for it.
  virtual mlir::Value combineWarp(Builder &b, mlir::Operation *combine, mlir::Value value) const { return {}; }
  /// The value (i32) of lane `lane` (i32, of the same warp).
  virtual mlir::Value shuffleFrom(Builder &b, mlir::Value value, mlir::Value lane) const = 0;

  /// With these bits of a lane's number, a mask, two registers swap lanes by one instruction.
  virtual uint64_t swappedLaneBits() const { return 0; }
  /// What `first` (i32) has in lanes with the bit `mask` changes places with what `second` has in the lanes without it.
  /// All lanes take part.
  virtual std::pair<mlir::Value, mlir::Value> swapLanes(Builder &b, mlir::Value first, mlir::Value second,
                                                        int mask) const {
    return {first, second};
  }

  virtual const char *blockScope() const = 0;  ///< LLVM's name for what the threads of a block see of each other
  virtual const char *deviceScope() const = 0; ///< and those of a device
  /// The old value at `pointer`; `value` has the type that memory has.
  virtual mlir::Value atomicUpdate(Builder &b, triton::RMWOp kind, mlir::Value pointer, mlir::Value value,
                                   triton::MemSemantic semantic, triton::MemScope scope) const = 0;
  virtual mlir::Value compareAndSwap(Builder &b, mlir::Value pointer, mlir::Value expected, mlir::Value value,
                                     triton::MemSemantic semantic, triton::MemScope scope) const = 0;

  /// Most contiguous elements of type `element` that one update does, a power of two; the first one is aligned to all
  /// of them.
  virtual int64_t mostUpdatedTogether(triton::RMWOp kind, mlir::Type element, triton::MemScope scope) const {
    return 1;
  }
  /// The old values.
  virtual llvm::SmallVector<mlir::Value> atomicUpdateTogether(Builder &b, triton::RMWOp kind, mlir::Value pointer,
                                                              mlir::ValueRange values, triton::MemSemantic semantic,
                                                              triton::MemScope scope) const {
    return {};
  }
  /// Whether updates have no order of their own, and these fences around one or more that are relaxed give it to them.
  virtual bool ordersByFences() const { return false; }
  /// The same of the updates of several elements; updates of one have an order of their own then.
  virtual bool ordersTilesByFences() const { return ordersByFences(); }
  virtual void fenceBefore(Builder &b, triton::MemSemantic semantic, triton::MemScope scope) const {}
  virtual void fenceAfter(Builder &b, triton::MemSemantic semantic, triton::MemScope scope) const {}

  /// One atomic access of an integer of 8 to 64 bits.
  mlir::Value atomicLoad(Builder &b, mlir::IntegerType type, mlir::Value pointer, triton::MemSemantic semantic,
                         triton::MemScope scope) const;
  void atomicStore(Builder &b, mlir::Value value, mlir::Value pointer, triton::MemSemantic semantic,
                   triton::MemScope scope) const;
  /// A fence of this thread.
  void orderBy(Builder &b, triton::MemSemantic semantic, triton::MemScope scope) const;
  /// Whether an instruction has a mask of its own: one thread's load needs no branch then.
  virtual bool predicatesAccesses() const { return false; }
  /// A load that is volatile, or else relaxed in the device's scope, where `bit` is set; `other`, whose type it has,
  /// elsewhere. Null where that takes a branch.
  virtual mlir::Value orderedLoadIf(Builder &b, mlir::Value bit, mlir::Value pointer, mlir::Value other,
                                    bool isVolatile) const {
    return {};
  }
  /// After relaxed reads: what was written before the values that they gave is seen.
  void acquireFence(Builder &b, triton::MemScope scope) const;
  void releaseFence(Builder &b, triton::MemScope scope) const;

  /// The same by a loop of compareAndSwap, for what the chip has no instruction.
  mlir::Value updateBySwapping(Builder &b, triton::RMWOp kind, mlir::Value pointer, mlir::Value value,
                               triton::MemSemantic semantic, triton::MemScope scope) const;

  /// The instruction for operands and accumulators of these types, of at most so many rows where the chip has a choice;
  /// nothing when the chip multiplies them otherwise.
  virtual std::optional<MatrixInstruction> matrixInstruction(triton::DotOp dot, int64_t mostRows) const = 0;
  /// The instruction that a product names; nothing when the chip has none for its types, and `why`.
  virtual std::optional<MatrixInstruction> findInstruction(MatrixDotOp dot, std::string &why) const = 0;
  /// What its author is told of a product whose element types the chip does not multiply as they are: what becomes of
  /// it, and which types to convert to. Empty for others.
  virtual std::string adviceFor(triton::DotOp dot) const { return {}; }
  /// Of results and operands (0: A, 1: B) of tiles of `shape`, split among `warps` along each axis of the result.
  virtual layout::LinearLayout accumulatorLayout(const MatrixInstruction &instruction, const layout::Shape &shape,
                                                 const layout::Shape &warps) const = 0;
  virtual layout::LinearLayout operandLayout(const MatrixInstruction &instruction, const layout::Shape &shape,
                                             const layout::Shape &warps, int operand) const = 0;
  /// Whether results go to memory from where the instruction leaves them. Otherwise they are exchanged first, so that
  /// the lanes of a warp write contiguous elements.
  virtual bool storesResultsInPlace() const { return false; }
  /// One instruction: `a`, `b` are registers (i32; i64 for elements of 64 bits) with contiguous elements along k
  /// packed, those of the rows `aRows` side by side; `c` the accumulators; returns as many as `c`.
  virtual mlir::SmallVector<mlir::Value> multiply(Builder &builder, const MatrixInstruction &instruction,
                                                  mlir::ValueRange a, mlir::ValueRange b, mlir::ValueRange c) const = 0;

  //===-- Matmuls with scales ------------------------------------------------------------------------------------===//
  /// The instruction that multiplies so; nothing, and why, where the chip has none. Its a and b are of i8.
  virtual std::optional<MatrixInstruction> scaledInstruction(MatrixAttr wanted, std::string &why) const;
  /// As multiply().
  virtual mlir::SmallVector<mlir::Value> multiplyScaled(Builder &builder, const MatrixInstruction &instruction,
                                                        const ScaledOperand &a, const ScaledOperand &b,
                                                        mlir::ValueRange c) const {
    return {};
  }

  //===-- Buffers ------------------------------------------------------------------------------------------------===//
  virtual bool hasBuffers() const { return false; }
  /// Where a thread accesses memory: a pointer that the block shares plus bytes (i32, unsigned, less than 2^31).
  struct BufferPlace {
    mlir::Value pointer, offset;
    mlir::Value allowed; ///< i1; where it is false nothing is accessed, and zeros are read; null: always true
  };
  virtual mlir::Value bufferLoad(Builder &b, const BufferPlace &place, mlir::Type type,
                                 triton::CacheModifier cache) const {
    return {};
  }
  virtual void bufferStore(Builder &b, mlir::Value value, const BufferPlace &place, triton::CacheModifier cache) const {
  }

  /// Whether such an update is one buffer instruction; then bufferUpdate() does it, and gives the old value, 0 where it
  /// is not allowed. Fences around it are its user's matter.
  virtual bool updatesBuffers(triton::RMWOp kind, mlir::Type element, triton::MemScope scope) const { return false; }
  virtual mlir::Value bufferUpdate(Builder &b, triton::RMWOp kind, mlir::Value value, const BufferPlace &place) const {
    return {};
  }

  //===-- Copies from global to shared memory that go on by themselves -------------------------------------------===//
  virtual bool hasAsyncCopies() const { return false; }
  /// Bytes that each lane may move by a copy of a whole warp straight to shared memory, the widest first
  /// (DirectCopy.h).
  virtual llvm::SmallVector<int64_t> directCopyBytes() const { return {}; }
  /// Begins to copy `bytes` for each lane to `shared`, which all lanes of the warp share, plus `bytes` for each lane
  /// before it. `mask` (i1; null: all): lanes where it is not set copy zeros.
  virtual void copyDirectly(Builder &b, mlir::Value shared, mlir::Value global, mlir::Value mask, int64_t bytes,
                            triton::CacheModifier cache) const {}
  /// The offset of a place, of which a lane that may not access it has one outside of the buffer; such an offset is for
  /// a place that is always allowed.
  virtual mlir::Value offsetIfAllowed(Builder &b, const BufferPlace &place) const { return place.offset; }
  virtual void copyBufferDirectly(Builder &b, mlir::Value shared, const BufferPlace &place, int64_t bytes,
                                  triton::CacheModifier cache) const {}
  /// Waits until at most so many instructions of copies of this thread are in flight.
  virtual void waitForCopies(Builder &b, int64_t instructions) const {}
  /// As barrier(), for shared memory alone: copies in flight stay in flight.
  virtual void sharedBarrier(Builder &b) const { barrier(b); }
  /// A barrier of the block that need not order any access.
  virtual void bareBarrier(Builder &b) const { barrier(b); }
  /// Begins to copy `bytes` (4, 8, 16): the first `sourceBytes` (i32; null: all of them), and zeros after them.
  virtual void asyncCopy(Builder &b, mlir::Value shared, mlir::Value global, int64_t bytes,
                         mlir::Value sourceBytes) const {}
  virtual void asyncCommit(Builder &b) const {}                      ///< makes a group of what was begun
  virtual void asyncWait(Builder &b, int64_t pendingGroups) const {} ///< until at most so many are in flight

  //===-- Bulk copies of tensors, which one thread begins --------------------------------------------------------===//
  virtual bool hasBulkCopies() const { return false; }
  /// Adds a parameter to the kernel, for tensor map `number`, and returns its address.
  virtual mlir::Value tensorMap(mlir::LLVM::LLVMFuncOp kernel, int64_t number) const { return {}; }
  /// The box of the map at `place` (i32, outermost axis first) to `shared`; its bytes arrive at `object`.
  virtual void bulkLoad(Builder &b, mlir::Value shared, mlir::Value map, mlir::ValueRange place,
                        mlir::Value object) const {}
  /// `shared` to the box of the map at `place`, or relaxed atomic updates of it; in the thread's next group.
  virtual void bulkStore(Builder &b, mlir::Value shared, mlir::Value map, mlir::ValueRange place,
                         std::optional<triton::DescriptorReduceKind> kind) const {}
  virtual void bulkCommit(Builder &b) const {} ///< makes a group of the bulk stores that were begun
  /// Until at most so many groups of this thread are in flight, or with `reads` still read shared memory.
  virtual void bulkWait(Builder &b, int64_t pending, bool reads) const {}

  /// Four matrices of 8 rows of 16 bytes (layout::MatrixLoad): as many words (i32). `shared` is the row that this lane
  /// names. Nothing when the chip has no such instruction.
  virtual mlir::SmallVector<mlir::Value> loadMatrix(Builder &b, mlir::Value shared, bool transposed) const {
    return {};
  }
  virtual bool hasMatrixLoads() const { return false; }
  /// Whether a warp reads elements of so many bits across the rows of shared memory (layout::TransposedRead).
  virtual bool readsTransposed(int elementBits) const { return false; }
  /// As many elements as 64 bits have, by one such read. `element`: i8, i16, f16 or bf16; i4 gives bytes of two.
  virtual llvm::SmallVector<mlir::Value> readTransposed(Builder &b, mlir::Value shared, mlir::Type element) const {
    return {};
  }

  //===-- Warp-group MMA, operands in shared memory ---------------------------------------------------===//
  /// The instruction for this product in a block of `warps`; nothing when the chip has none.
  virtual std::optional<GroupInstruction> groupInstruction(triton::DotOp dot, int warps) const { return std::nullopt; }
  /// What this thread stored to shared memory will be seen by matmuls that start after a barrier. Copies that a thread
  /// has waited for need none.
  virtual void publishShared(Builder &b) const {}
  /// (i64) The matrix that begins at this byte of shared memory (i32); `alongK`: K is its contiguous axis.
  virtual mlir::Value operandDescriptor(Builder &b, mlir::Value address, const OperandLayout &layout,
                                        bool alongK) const {
    return {};
  }
  virtual void beginGroup(Builder &b) const {} ///< before the first of a group of products
  virtual void endGroup(Builder &b) const {}   ///< after the last
  /// 64 x n accumulators of four warps, += a * b, bytesOfGroupDepth deep. An operand is along K when that is what is
  /// contiguous. `adds` (i1; null: set): without it, = a * b.
  virtual mlir::SmallVector<mlir::Value> multiplyGroup(Builder &b, GroupOperand a, GroupOperand bb,
                                                       mlir::ValueRange accumulators, mlir::Value adds) const {
    return {};
  }
  /// The accumulators when all groups but the last `pending` are done.
  virtual mlir::SmallVector<mlir::Value> waitGroups(Builder &b, mlir::ValueRange accumulators, int64_t pending) const {
    return {};
  }

  /// An f32 to i32, toward zero: numbers beyond its range are the nearest that it has, and NaN is 0. Null when the chip
  /// has no such instruction.
  virtual mlir::Value saturateToWord(Builder &b, mlir::Value f32, bool isSigned) const { return {}; }
  /// Whether x * y + z of f16 or bf16 is rounded once by the chip's instruction.
  virtual bool hasFusedMultiplyAdd(mlir::Type narrow) const { return true; }
  /// Whether sums, products and fused products of two contiguous elements of this type are one instruction; of i16,
  /// extrema and operations on bits.
  virtual bool computesPairs(mlir::Type element) const { return false; }
  /// Whether two f32 become two of this type in one instruction.
  virtual bool narrowsPairs(mlir::Type element) const { return false; }
  /// Integers of 8 bits, four contiguous bytes of a word, to `to`: f32, f16 or bf16, which hold them; empty unless that
  /// takes fewer instructions than one after the other.
  virtual mlir::SmallVector<mlir::Value> fromBytes(Builder &b, mlir::ValueRange bytes, mlir::Type to,
                                                   bool isSigned) const {
    return {};
  }
  /// Whether it does; then bytes are taken by four.
  virtual bool convertsBytesTogether() const { return false; }
  /// Whether conversions of f8 take several contiguous elements.
  virtual bool convertsFp8Together() const { return false; }
  using Values = llvm::SmallVector<mlir::Value>;
  /// f32 to f8 of type `to`, and back; empty when the chip has no such instruction. As many values, i8 and f32.
  /// `isWithinRange`: none is beyond the largest number of `to`, but for NaN.
  virtual Values toFp8(Builder &b, mlir::ValueRange values, mlir::Type to, bool isWithinRange) const { return {}; }
  virtual Values fromFp8(Builder &b, mlir::ValueRange values, mlir::Type from) const { return {}; }
  /// The same to f16 or bf16, which hold every f8; empty unless that takes fewer instructions than by f32.
  virtual Values fromFp8ToHalf(Builder &b, mlir::ValueRange values, mlir::Type from, mlir::Type to) const { return {}; }

  /// `flushes`: a result below the smallest normal number may be 0, which takes fewer instructions.
  virtual mlir::Value approximateExp2(Builder &b, mlir::Value f32, bool flushes) const = 0;
  virtual mlir::Value approximateDivide(Builder &b, mlir::Value x,
                                        mlir::Value y) const = 0; ///< f32, 2 units in the last place
  /// f32, for divisors of 2^-126 to 2^126 within 2.5 units in the last place; subnormal numbers may be taken for 0.
  virtual mlir::Value fastDivide(Builder &b, mlir::Value x, mlir::Value y) const = 0;
  virtual mlir::Value approximateSqrt(Builder &b, mlir::Value f32) const = 0;
  virtual mlir::Value approximateRsqrt(Builder &b, mlir::Value f32) const = 0; ///< within 2^-22.9 of it
  /// Whether floats become unsigned integers of 8 bits as signed ones: of -2 comes 254, not 0.
  virtual bool convertsBytesAsSigned() const { return false; }
  /// The upper half of the unsigned product of two i64.
  virtual mlir::Value multiplyHigh(Builder &b, mlir::Value x, mlir::Value y) const = 0;
  /// The register that a constraint of the program's assembly names, as a type of so many bits; null where the chip has
  /// none of that name, or its assembly is not taken.
  virtual mlir::Type assemblyType(mlir::OpBuilder &b, llvm::StringRef constraint) const { return {}; }
  /// Which constraints it takes, for a message.
  virtual const char *assemblyAdvice() const { return "assembly is taken for NVIDIA's chips only"; }
  /// The thread ends here; all of its block do.
  virtual void endThread(Builder &b) const = 0;
};

} // namespace heddle::simt
