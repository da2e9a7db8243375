// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the typed layer of the builder asks of the untyped one: one function an operation, values as opaque handles.
// Kernels include this; they see nothing of MLIR. Every function throws Error{Input} outside of kernel(), and for a
// value that belongs to another kernel.
#pragma once
#include "support/ElementType.h"
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace heddle::build {

/// A line of the kernel's C++ source. Each operation carries one into the emitted text.
using Position = std::source_location;

/// Order that an atomic gives to the accesses around it.
enum class Order { Relaxed = 1, Acquire, Release, AcquireRelease };
/// Who observes an atomic in its order: the device, this program instance, or all devices and the host.
enum class Scope { Device = 1, Program, System };
/// Where a load or store may be cached; the values are those of the text.
enum class Cache { Default = 1, All, Global, WriteBack, Streaming, WriteThrough, Volatile };
/// How soon a cached line may leave.
enum class Eviction { Normal = 1, First, Last };
/// How the f32 operands of a dot may be rounded.
enum class Precision { TF32, TF32x3, IEEE, BF16x3, BF16x6 };
/// How many products of FP8 a dot may add in fewer bits than f32 has, as sm_90's warp-group MMA does.
struct ImpreciseSums {
  int32_t most = 1 << 30;
};
/// What a maximum or minimum of a NaN and a number is: the number, or NaN.
enum class NaN { Ignored, Propagated };

/// Hints of one load or store.
struct Access {
  Cache cache = Cache::Default;
  Eviction eviction = Eviction::Normal;
  bool isVolatile = false; ///< loads only
};

/// Hints of one loop; 0 leaves the choice to the compiler.
struct LoopOptions {
  int stages = 0; ///< of the software pipeline
  int unroll = 0; ///< copies of the body
};

/// The block of blockKernel(): AMD's chip, and warps of 64 threads.
struct BlockOptions {
  const char *chip = "gfx950";
  int warps = 4; ///< 1, 2, 4, 8 or 16
};

namespace detail {

struct Handle {
  void *value = nullptr;
  uint64_t kernel = 0; ///< which kernel made it; 0 for no value

  explicit operator bool() const { return value; }
};
using Handles = std::vector<Handle>;
/// Emits a region: from its block's arguments to the values it yields.
using Body = std::function<Handles(const Handles &)>;

struct TileType {
  ElementType element; ///< of the pointee, for pointers
  bool isPointer;
  const int64_t *sizes;
  unsigned rank;
};

enum class Unary {
  Negate,
  Absolute,
  Exp,
  Exp2,
  Log,
  Log2,
  Sqrt,
  PreciseSqrt,
  ReciprocalSqrt,
  Erf,
  Sin,
  Cos,
  Floor,
  Ceil
};
enum class Binary {
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  And,
  Or,
  Xor,
  ShiftLeft,
  ShiftRight,
  Maximum,
  Minimum,
  MaximumOrNaN,
  MinimumOrNaN,
  PreciseDivide,
  MultiplyHigh,
};
enum class Comparison { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };
enum class Atomic { And = 1, Or, Xor, Add, FloatAdd, Max, Min, UnsignedMax, UnsignedMin, Exchange };

/// The line of the operation that was emitted last; that of the caller outside of kernel().
Position latestPosition(Position otherwise = Position::current());

Handle emitInteger(const TileType &type, int64_t value, bool isUnsigned, Position where);
Handle emitFloat(const TileType &type, double value, Position where);
/// A scalar to any shape, a tile along its dimensions of 1.
Handle emitBroadcast(Handle source, const TileType &type, Position where);
Handle emitUnary(Unary kind, Handle x, ElementType element, Position where);
Handle emitBinary(Binary kind, Handle x, Handle y, ElementType element, Position where);
Handle emitComparison(Comparison kind, Handle x, Handle y, ElementType element, Position where);
Handle emitSelect(Handle condition, Handle x, Handle y, Position where);
Handle emitFusedMultiplyAdd(Handle x, Handle y, Handle z, Position where);
Handle emitClamp(Handle x, Handle lower, Handle upper, NaN nan, Position where);
/// Values: saturation and rounding are those of the `arith` casts and of tt.fp_to_fp.
Handle emitCast(Handle x, ElementType from, ElementType to, Position where);
/// The same bits, for numbers and for pointers.
Handle emitBitcast(Handle x, const TileType &type, Position where);
Handle emitAddPointer(Handle pointer, Handle offset, Position where);
Handle emitPointerToInteger(Handle pointer, Position where);
Handle emitIntegerToPointer(Handle address, const TileType &type, Position where);

Handle emitProgramId(int axis, Position where);
Handle emitProgramCount(int axis, Position where);
Handle emitRange(int32_t start, int32_t end, Position where);

Handle emitExpandDims(Handle x, int axis, Position where);
Handle emitReshape(Handle x, const TileType &type, bool anyOrder, Position where);
Handle emitTranspose(Handle x, const std::vector<int32_t> &order, Position where);
Handle emitJoin(Handle x, Handle y, Position where);
std::pair<Handle, Handle> emitSplit(Handle x, Position where);
Handle emitConcatenate(Handle x, Handle y, Position where);
Handle emitGather(Handle source, Handle indices, int axis, Position where);
Handle emitHistogram(Handle x, Handle mask, const TileType &type, Position where);

Handles emitReduce(const Handles &inputs, int axis, const Body &combine, Position where);
Handles emitScan(const Handles &inputs, int axis, bool reverse, const Body &combine, Position where);
Handle emitDot(Handle a, Handle b, Handle c, Precision precision, int32_t mostImprecise, Position where);

/// Masks and others may be absent.
Handle emitLoad(Handle pointer, Handle mask, Handle other, Access access, Position where);
void emitStore(Handle pointer, Handle value, Handle mask, Access access, Position where);
Handle emitAtomic(Atomic kind, Handle pointer, Handle value, Handle mask, Order order, Scope scope, Position where);
Handle emitCompareAndSwap(Handle pointer, Handle expected, Handle desired, Order order, Scope scope, Position where);

/// The body gets the index and the carried values; it yields the carried values.
Handles emitFor(const Handles &bounds, const Handles &carried, LoopOptions options, const Body &body, Position where);
/// `otherwise` may be empty when nothing is yielded.
Handles emitIf(Handle condition, const Body &then, const Body &otherwise, Position where);
/// `condition` gets the carried values and yields one i1.
Handles emitWhile(const Handles &carried, const Body &condition, const Body &body, Position where);

void emitAssert(Handle condition, const std::string &message, Position where);
void emitPrint(const std::string &prefix, const Handles &values, const std::vector<int32_t> &isSigned, Position where);
/// The compiler may rely on the condition.
void emitAssume(Handle condition, Position where);
/// Puts `name` with one value for each dimension on the operation that makes `x`.
void emitHint(Handle x, const char *name, const std::vector<int32_t> &values, Position where);
void emitBarrier(Position where);

} // namespace detail
} // namespace heddle::build
