// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic loads and stores as LLVM's, with order and scope, and fences; where a target orders by fences, those stand
// around accesses.
#include "compiler/lowering/simt/GpuTarget.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

// The system's scope is the empty name.
static StringRef scopeName(const GpuTarget &target, MemScope scope) {
  return scope == MemScope::Cta ? target.blockScope() : scope == MemScope::Gpu ? target.deviceScope() : "";
}

Value GpuTarget::atomicLoad(Builder &b, IntegerType type, Value pointer, MemSemantic semantic, MemScope scope) const {
  bool acquires = semantic == MemSemantic::Acquire && !ordersByFences();
  Value loaded = LLVM::LoadOp::create(
      b, type, pointer, type.getWidth() / 8, /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
      /*isInvariantGroup=*/false, acquires ? LLVM::AtomicOrdering::acquire : LLVM::AtomicOrdering::monotonic,
      scopeName(*this, scope));
  if (ordersByFences())
    fenceAfter(b, semantic, scope);
  return loaded;
}

void GpuTarget::atomicStore(Builder &b, Value value, Value pointer, MemSemantic semantic, MemScope scope) const {
  bool releases = semantic == MemSemantic::Release && !ordersByFences();
  if (ordersByFences())
    fenceBefore(b, semantic, scope);
  LLVM::StoreOp::create(b, value, pointer, value.getType().getIntOrFloatBitWidth() / 8, /*isVolatile=*/false,
                        /*isNonTemporal=*/false, /*isInvariantGroup=*/false,
                        releases ? LLVM::AtomicOrdering::release : LLVM::AtomicOrdering::monotonic,
                        scopeName(*this, scope));
}

void GpuTarget::acquireFence(Builder &b, MemScope scope) const {
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acquire, scopeName(*this, scope));
}

void GpuTarget::releaseFence(Builder &b, MemScope scope) const {
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::release, scopeName(*this, scope));
}

void GpuTarget::orderBy(Builder &b, MemSemantic semantic, MemScope scope) const {
  if (ordersByFences()) {
    fenceBefore(b, semantic, scope);
    fenceAfter(b, semantic, scope);
    return;
  }
  LLVM::AtomicOrdering order = semantic == MemSemantic::Acquire   ? LLVM::AtomicOrdering::acquire
                               : semantic == MemSemantic::Release ? LLVM::AtomicOrdering::release
                                                                  : LLVM::AtomicOrdering::acq_rel;
  LLVM::FenceOp::create(b, order, scopeName(*this, scope));
}
