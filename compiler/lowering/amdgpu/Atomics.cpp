// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Updates of global memory, with order and scope. The machine's update has no order: fences before and after it give it
// one, so that a relaxed one is the bare instruction, and LLVM's fault with releases is worked around in one place
// (compiler/lowering/peer). What the chip cannot do in one instruction is a loop of compare-and-swaps: LLVM's own
// begins with a plain load, which nothing orders with what others do.
#include "compiler/lowering/amdgpu/AmdTarget.h"
#include "compiler/lowering/peer/PeerTarget.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::amdgpu;
using namespace heddle::simt;
using namespace heddle::triton;

/// `update`, between the fences that the order asks for.
static Value ordered(ImplicitLocOpBuilder &b, MemSemantic semantic, MemScope scope,
                     llvm::function_ref<Value(StringRef scope)> update) {
  const peer::PeerTarget &chip = *peer::findPeerTarget("amdgpu");
  bool releases = semantic == MemSemantic::Release || semantic == MemSemantic::AcquireRelease;
  bool acquires = semantic == MemSemantic::Acquire || semantic == MemSemantic::AcquireRelease;
  StringRef name = peer::syncScope(chip, scope);
  if (releases && scope == MemScope::Cta)
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::release, name);
  else if (releases)
    peer::emitReleaseFence(b, chip, scope);
  Value old = update(name);
  if (acquires)
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acquire, name);
  return old;
}

// Which updates are one instruction. At system scope memory may be that of the host or of another device, where only
// the first three are. Source: LLVM 22's AMDGPU back end, the fact sheet on the memory model.
static bool isNative(RMWOp kind, Type type, MemScope scope) {
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits < 32)
    return false;
  if (kind == RMWOp::Exchange || kind == RMWOp::Add)
    return true;
  if (scope == MemScope::System)
    return false;
  return kind == RMWOp::FAdd || isa<IntegerType>(type) || bits == 64;
}

Value AmdTarget::atomicUpdate(Builder &b, RMWOp kind, Value pointer, Value value, MemSemantic semantic,
                              MemScope scope) const {
  if (!isNative(kind, value.getType(), scope))
    return ordered(b, semantic, scope,
                   [&](StringRef) { return updateBySwapping(b, kind, pointer, value, MemSemantic::Relaxed, scope); });
  return ordered(b, semantic, scope, [&](StringRef name) -> Value {
    return LLVM::AtomicRMWOp::create(b, peer::atomicOperation(kind), pointer, value, LLVM::AtomicOrdering::monotonic,
                                     name);
  });
}

Value AmdTarget::compareAndSwap(Builder &b, Value pointer, Value expected, Value value, MemSemantic semantic,
                                MemScope scope) const {
  return ordered(b, semantic, scope, [&](StringRef name) -> Value {
    Value both = LLVM::AtomicCmpXchgOp::create(b, pointer, expected, value, LLVM::AtomicOrdering::monotonic,
                                               LLVM::AtomicOrdering::monotonic, name);
    return LLVM::ExtractValueOp::create(b, both, ArrayRef<int64_t>{0});
  });
}
