// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How each target says what goes between devices: one row per target, chosen by value.
#pragma once
#include "compiler/dialects/peer/Peer.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle::peer {

struct PeerTarget {
  const char *name;           ///< host, nvptx, amdgpu
  unsigned addressSpace;      ///< of global memory
  const char *gpuScope;       ///< LLVM's name for one device; system scope is the empty name everywhere
  const char *ctaScope;       ///< and for one block
  const char *threadId;       ///< intrinsic; null where a block is one thread
  int64_t nanosecondsPerTick; ///< of LLVM's steady counter; 0: ask the C library
  /// LLVM 22 drops the wait between write-back and flag of a release store (llvm-project PR 178316).
  bool splitsRelease;
  /// An acquire load invalidates the cache each time it runs: the loop polls relaxed and one fence follows.
  bool fencesAfterLoop;
  /// A relaxed store of one thread may overtake the stores that other threads of its block made before a barrier.
  bool fencesEachThread;
  /// Intrinsic before a release store: stores past the caches would overtake it. Null where there are none.
  const char *streamFence;
  /// Waits for several words poll all of them in each turn. On the host one after the other is better: threads yield.
  bool joinsWaits;
  /// Of several words those that are masked off are not read: each load is under a predicate (emitPredicatedLoad).
  bool predicatesLoads;
  int64_t pollsPerClock;       ///< polls without success before the clock is read, and again; a power of two
  const char *holdConstraints; ///< of an empty instruction whose result is its operand; null where nothing is held
  const char *pause; ///< intrinsic that spares the other hardware thread while polling; then other threads run too
};

/// Null for an unknown name.
const PeerTarget *findPeerTarget(llvm::StringRef name);
/// `host, nvptx or amdgpu`, for messages.
std::string peerTargetNames();

/// LLVM's name of a scope, checked by this table because LLVM may take a wrong one without a word.
llvm::StringRef syncScope(const PeerTarget &target, triton::MemScope scope);
/// LLVM's name of an update; the language's maxima and minima are of integers.
mlir::LLVM::AtomicBinOp atomicOperation(triton::RMWOp kind);
/// The steady clock in nanoseconds, i64.
mlir::Value emitClock(mlir::ImplicitLocOpBuilder &b, const PeerTarget &target);
/// Waits until everything this thread stored can be seen in `scope`.
void emitReleaseFence(mlir::ImplicitLocOpBuilder &b, const PeerTarget &target, triton::MemScope scope);
/// PTX's load under a predicate, of an order such as `relaxed.sys` or `volatile`: what is at `pointer` where `bit` is
/// set, elsewhere `other`, an integer of 8 to 64 bits.
mlir::Value emitPredicatedLoad(mlir::ImplicitLocOpBuilder &b, mlir::Value pointer, mlir::Value bit, mlir::Value other,
                               llvm::StringRef order);
/// Call of a function of the C library, declared on first use.
mlir::Value callLibrary(mlir::ImplicitLocOpBuilder &b, llvm::StringRef name, mlir::ValueRange arguments);

} // namespace heddle::peer
