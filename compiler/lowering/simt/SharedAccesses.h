// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses to memory objects of shared memory, and which of them may be for the same bytes at the same time.
#pragma once
#include "compiler/analysis/RingNumbers.h"
#include "compiler/dialects/simt/Simt.h"

namespace heddle::simt {

/// What an access may touch: an object, or the tile of a ring that a number tells.
struct SharedPart {
  AllocOp object = {}; ///< null: any
  /// Which tile of the ring: nothing known, a constant, or as it counts in a loop.
  enum Kind : uint8_t { Whole, Tile, Turn } kind = Whole;
  mlir::scf::ForOp loop = {};
  int64_t number = 0, modulus = 1; ///< of a turn: (iteration + number) mod modulus
  /// The part of the tile, of a subslice: its first coordinate along each axis, and the one after its last; empty: all.
  std::vector<std::pair<int64_t, int64_t>> box = {};
  bool isWithinBox = false; ///< not all of the box: a part of a view of another shape

  bool mayOverlap(const SharedPart &other) const;
  bool isSame(const SharedPart &other) const; ///< the same part of the same tile, for certain
  auto key() const {
    return std::tuple(object.getAsOpaquePointer(), kind, loop.getAsOpaquePointer(), number, modulus, isWithinBox, box);
  }
};
/// Of the memory that an operation of this level is given; `stage` may be null.
SharedPart partOf(mlir::Value memory, mlir::Value stage);

/// A barrier: none; of each warp; of each warp and before copies straight to shared memory; of the block. Each includes
/// those before it.
enum class Scope : uint8_t { None, Warp, WarpBeforeCopies, Block };

struct SharedAccess {
  SharedPart part;
  mlir::Operation *op = nullptr;
  int number = 0; ///< of `op`, in the order of the text
  bool writes = false;
  /// A copy, a matmul or a bulk store that goes on by itself until a wait; others are over when the thread goes on. A
  /// bulk load is waited for at a barrier object: the program orders what comes after it.
  enum InFlight : uint8_t { No, Copy, Matmul, Bulk } inFlight = No;
  int age = 0;    ///< of what is in flight: groups of copies that were made, or matmuls or stores begun, since
  int issued = 0; ///< of a copy: instructions of copies since, at least
  Scope since = Scope::None;       ///< the strongest barrier since
  int barriers = 0;                ///< of the block, since, where conditional ones make several necessary
  mlir::Operation *wait = nullptr; ///< of what was in flight, by which it is over; for messages

  auto key() const { return std::tuple(number, part.key(), writes, inFlight, age, issued, since, barriers); }
  bool operator<(const SharedAccess &other) const { return key() < other.key(); }
};
/// Those of an operation, without their numbers; most have none.
llvm::SmallVector<SharedAccess, 2> accessesOf(mlir::Operation *op);

/// Whether `op` is a barrier of the block, at which all its threads see each other's accesses.
bool isBarrier(mlir::Operation *op);
/// Which warp alone accesses each place (offset, part) of a memory object by `op`; nothing where that is not known, or
/// where several do.
std::optional<layout::LinearLayout> warpOfPlaces(mlir::Operation *op, int warps);
/// The tile that an exchange through scratch memory, which `load` ends, gives to other threads; or null.
mlir::Value sourceOfExchange(LoadSharedOp load);

} // namespace heddle::simt
