// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Updates of global memory, with order and scope. The machine's update has no order: fences before and after it give it
// one, so that a relaxed one is the bare instruction, and LLVM's fault with releases is worked around in one place
// (compiler/lowering/peer). What the chip cannot do in one instruction is a loop of compare-and-swaps: LLVM's own
// begins with a plain load, which nothing orders with what others do.
#include "compiler/lowering/amdgpu/AmdTarget.h"
#include "compiler/lowering/amdgpu/Buffers.h"
#include "compiler/lowering/peer/PeerTarget.h"
#include "compiler/lowering/simt/Vectors.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::amdgpu;
using namespace heddle::simt;
using namespace heddle::triton;

void AmdTarget::fenceBefore(Builder &b, MemSemantic semantic, MemScope scope) const {
  const peer::PeerTarget &chip = *peer::findPeerTarget("amdgpu");
  if (semantic != MemSemantic::Release && semantic != MemSemantic::AcquireRelease)
    return;
  if (scope == MemScope::Cta)
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::release, peer::syncScope(chip, scope));
  else
    peer::emitReleaseFence(b, chip, scope);
}

void AmdTarget::fenceAfter(Builder &b, MemSemantic semantic, MemScope scope) const {
  if (semantic == MemSemantic::Acquire || semantic == MemSemantic::AcquireRelease)
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acquire, peer::syncScope(*peer::findPeerTarget("amdgpu"), scope));
}

/// `update`, between the fences that the order asks for.
static Value ordered(const AmdTarget &target, ImplicitLocOpBuilder &b, MemSemantic semantic, MemScope scope,
                     llvm::function_ref<Value(StringRef scope)> update) {
  target.fenceBefore(b, semantic, scope);
  Value old = update(peer::syncScope(*peer::findPeerTarget("amdgpu"), scope));
  target.fenceAfter(b, semantic, scope);
  return old;
}

// Which updates are one instruction. At system scope memory may be that of the host or of another device, where only
// the first three are: LLVM takes a loop there unless metadata promises ordinary memory, and nothing here can. Sums of
// floats that are one instruction are so without a promise at device scope, and are lost on fine-grained memory.
// Source: LLVM 22's AMDGPU back end, the fact sheet on the memory model.
static bool isNative(const Chip &chip, RMWOp kind, Type type, MemScope scope) {
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits < 32)
    return false;
  if (kind == RMWOp::Exchange || kind == RMWOp::Add)
    return true;
  if (scope == MemScope::System)
    return false;
  if (kind == RMWOp::FAdd)
    return chip.hasSum(bits == 64 ? AtomicSum::F64 : AtomicSum::F32);
  return isa<IntegerType>(type) || bits == 64;
}

Value AmdTarget::atomicUpdate(Builder &b, RMWOp kind, Value pointer, Value value, MemSemantic semantic,
                              MemScope scope) const {
  if (!isNative(chip, kind, value.getType(), scope))
    return ordered(*this, b, semantic, scope,
                   [&](StringRef) { return updateBySwapping(b, kind, pointer, value, MemSemantic::Relaxed, scope); });
  return ordered(*this, b, semantic, scope, [&](StringRef name) -> Value {
    return LLVM::AtomicRMWOp::create(b, peer::atomicOperation(kind), pointer, value, LLVM::AtomicOrdering::monotonic,
                                     name);
  });
}

// A single f16 would be a pair whose other half adds -0, but for one thing: what lies there may be no number, and a
// signalling NaN's bits do not survive.
int64_t AmdTarget::mostUpdatedTogether(RMWOp kind, Type element, MemScope scope) const {
  bool has = (element.isF16() && chip.hasSum(AtomicSum::F16x2)) || (element.isBF16() && chip.hasSum(AtomicSum::BF16x2));
  return kind == RMWOp::FAdd && has && scope != MemScope::System ? 2 : 1;
}

AmdTarget::Values AmdTarget::atomicUpdateTogether(Builder &b, RMWOp kind, Value pointer, ValueRange values,
                                                  MemSemantic semantic, MemScope scope) const {
  Value both = joined(b, values);
  Value old = ordered(*this, b, semantic, scope, [&](StringRef name) -> Value {
    return LLVM::AtomicRMWOp::create(b, peer::atomicOperation(kind), pointer, both, LLVM::AtomicOrdering::monotonic,
                                     name);
  });
  return apart(b, old);
}

Value AmdTarget::compareAndSwap(Builder &b, Value pointer, Value expected, Value value, MemSemantic semantic,
                                MemScope scope) const {
  return ordered(*this, b, semantic, scope, [&](StringRef name) -> Value {
    Value both = LLVM::AtomicCmpXchgOp::create(b, pointer, expected, value, LLVM::AtomicOrdering::monotonic,
                                               LLVM::AtomicOrdering::monotonic, name);
    return LLVM::ExtractValueOp::create(b, both, ArrayRef<int64_t>{0});
  });
}

// At system scope an instruction would need another cache policy, and only two kinds are one instruction there.
bool AmdTarget::updatesBuffers(RMWOp kind, Type element, MemScope scope) const {
  return scope != MemScope::System && isNative(chip, kind, element, scope);
}

static const char *nameOfBufferUpdate(RMWOp kind, bool isFloat) {
  switch (kind) {
  case RMWOp::And:
    return "and";
  case RMWOp::Or:
    return "or";
  case RMWOp::Xor:
    return "xor";
  case RMWOp::Add:
    return "add";
  case RMWOp::FAdd:
    return "fadd";
  case RMWOp::Max:
    return isFloat ? "fmax" : "smax";
  case RMWOp::Min:
    return isFloat ? "fmin" : "smin";
  case RMWOp::UMax:
    return "umax";
  case RMWOp::UMin:
    return "umin";
  case RMWOp::Exchange:
    return "swap";
  }
  llvm_unreachable("a kind of update");
}

Value AmdTarget::bufferUpdate(Builder &b, RMWOp kind, Value value, const BufferPlace &place) const {
  Type type = value.getType(), carrier = b.getIntegerType(type.getIntOrFloatBitWidth());
  bool isMoved = kind == RMWOp::Exchange && type != carrier; // bits, as an integer
  if (isMoved)
    value = LLVM::BitcastOp::create(b, carrier, value);
  std::string name = std::string("llvm.amdgcn.raw.ptr.buffer.atomic.") + nameOfBufferUpdate(kind, isa<FloatType>(type));
  Value old =
      call(b, value.getType(), name, {value, descriptorOf(b, place.pointer), offsetOf(b, place), i32(b, 0), i32(b, 0)});
  return isMoved ? Value(LLVM::BitcastOp::create(b, type, old)) : old;
}
