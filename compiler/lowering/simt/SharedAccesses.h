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

  bool mayMeet(const SharedPart &other) const;
  std::tuple<void *, uint8_t, void *, int64_t, int64_t> key() const;
};
/// Of the memory that an operation of this level is given; `stage` may be null.
SharedPart partOf(mlir::Value memory, mlir::Value stage);

struct SharedAccess {
  SharedPart part;
  mlir::Operation *op = nullptr;
  int number = 0; ///< of `op`, in the order of the text
  bool writes = false;
  /// A copy or a product that goes on by itself until a wait; others are over when the thread goes on.
  enum InFlight : uint8_t { No, Copy, Product } inFlight = No;
  int age = 0; ///< of what is in flight: groups of copies that were made, or products that were begun, since

  auto key() const { return std::tuple(number, part.key(), writes, inFlight, age); }
  bool operator<(const SharedAccess &other) const { return key() < other.key(); }
};
/// Those of an operation, without their numbers; most have none.
llvm::SmallVector<SharedAccess, 2> accessesOf(mlir::Operation *op);

} // namespace heddle::simt
