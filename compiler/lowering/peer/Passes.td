// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two stages in which operations between devices become machine atomics: opaque calls on the tile level, and their
// code in the LLVM dialect when every other pass has run.
#ifndef HEDDLE_LOWERING_PEER_PASSES
#define HEDDLE_LOWERING_PEER_PASSES

include "mlir/Pass/PassBase.td"

def PeerToCallsPass : Pass<"heddle-peer-to-calls"> {
  let summary = "turn atomics between devices into calls of external functions, one per element";
  let description = [{
    `peer.atomic_write`, `atomic_spin_wait`, `thread_id`, `clock` and `release_fence` become `tt.extern_elementwise`,
    which every pass of the tile level carries along. The symbol holds all that the operation says.
  }];
  let dependentDialects = ["::heddle::triton::TritonDialect"];
}

def ImplementPeerCallsPass : Pass<"heddle-implement-peer-calls", "::mlir::ModuleOp"> {
  let summary = "replace the calls of heddle-peer-to-calls by atomics and bounded loops of the LLVM dialect";
  let description = [{
    The last pass on the LLVM dialect: it splits blocks, and what it makes must stay as it is. Names that are malformed
    and arguments that do not fit are errors. The external declarations are erased.
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"", "host, nvptx or amdgpu">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
