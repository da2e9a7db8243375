// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The names under which operations between devices travel from the tile level to the LLVM dialect, as calls of external
// functions that no pass looks into. One place writes, reads and checks them:
//   __heddle_gettid, __heddle_clock, __heddle_hold, __heddle_releasefence
//   __heddle_atomicwrite_<width>_<semantic>_<scope>_<maskness>
//   __heddle_atomicspinwait_<width>_<semantic>_<scope>_<comparator>_<maskness>
#pragma once
#include "compiler/dialects/peer/Peer.h"

namespace heddle::peer {

struct ExternCall {
  enum class Kind {
    ThreadId,     ///< () -> i32, pure
    Clock,        ///< () -> i64
    Hold,         ///< (i64) -> the same i64
    ReleaseFence, ///< () -> i32 that nothing may use
    Write,        ///< (pointer, value[, mask]) -> a value that nothing may use
    SpinWait,     ///< (pointer, expected, deadline, group[, mask]) -> the value loaded last
  };
  Kind kind;
  // Of Write and SpinWait:
  unsigned width = 32; ///< 32 or 64 bits
  triton::MemSemantic semantic = triton::MemSemantic::Relaxed;
  triton::MemScope scope = triton::MemScope::System;
  Comparator comparator = Comparator::Equal; ///< of SpinWait
  bool masked = false;
};

/// Whether a symbol is one of ours, well formed or not.
bool isExternCallName(llvm::StringRef symbol);

std::string externCallName(const ExternCall &call);

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// Reads a name: every field is there, none has a default. Errors name the field and what it may be. Refuses what the
/// verifier of the `peer` dialect refuses: an acquire write, a release wait, either with acqrel, `hi` of 32 bits.
mlir::FailureOr<ExternCall> parseExternCall(llvm::StringRef symbol, EmitError emitError);

/// Checks the types of one element's operands and result: of the tile level or of the LLVM dialect, where a mask may
/// have been widened to i32.
mlir::LogicalResult checkExternCall(const ExternCall &call, llvm::StringRef symbol, mlir::TypeRange operands,
                                    mlir::Type result, EmitError emitError);

} // namespace heddle::peer
