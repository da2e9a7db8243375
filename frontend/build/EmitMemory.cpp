// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, stores, atomics, assertions and prints of the builder.
#include "compiler/dialects/triton/Triton.h"
#include "compiler/dialects/triton/TritonGpu.h"
#include "frontend/build/Emitter.h"

using namespace mlir;

namespace heddle::build::detail {

static Value optional(const Emitter &emit, Handle handle) {
  return handle ? emit.value(handle) : Value();
}

Handle emitLoad(Handle pointer, Handle mask, Handle other, Access access, Position where) {
  Emitter emit(where);
  Value from = emit.value(pointer);
  return emit.handle(triton::LoadOp::create(emit.builder, emit.location, triton::valueTypeOf(from.getType()), from,
                                            optional(emit, mask), optional(emit, other), ArrayRef<int32_t>(),
                                            triton::PaddingOptionAttr(),
                                            static_cast<triton::CacheModifier>(access.cache),
                                            static_cast<triton::EvictionPolicy>(access.eviction), access.isVolatile));
}

void emitStore(Handle pointer, Handle value, Handle mask, Access access, Position where) {
  Emitter emit(where);
  if (access.isVolatile)
    emit.fail("only a load can be volatile");
  triton::StoreOp::create(emit.builder, emit.location, emit.value(pointer), emit.value(value), optional(emit, mask),
                          ArrayRef<int32_t>(), static_cast<triton::CacheModifier>(access.cache),
                          static_cast<triton::EvictionPolicy>(access.eviction));
}

Handle emitAtomic(Atomic kind, Handle pointer, Handle value, Handle mask, Order order, Scope scope, Position where) {
  Emitter emit(where);
  Value given = emit.value(value);
  return emit.handle(triton::AtomicRMWOp::create(
      emit.builder, emit.location, given.getType(), static_cast<triton::RMWOp>(kind), emit.value(pointer), given,
      optional(emit, mask), static_cast<triton::MemSemantic>(order), static_cast<triton::MemScope>(scope)));
}

Handle emitCompareAndSwap(Handle pointer, Handle expected, Handle desired, Order order, Scope scope, Position where) {
  Emitter emit(where);
  Value given = emit.value(desired);
  return emit.handle(triton::AtomicCASOp::create(emit.builder, emit.location, given.getType(), emit.value(pointer),
                                                 emit.value(expected), given, static_cast<triton::MemSemantic>(order),
                                                 static_cast<triton::MemScope>(scope)));
}

void emitAssert(Handle condition, const std::string &message, Position where) {
  Emitter emit(where);
  triton::AssertOp::create(emit.builder, emit.location, emit.value(condition), message);
}

void emitPrint(const std::string &prefix, const Handles &values, const std::vector<int32_t> &isSigned, bool hexadecimal,
               Position where) {
  Emitter emit(where);
  triton::PrintOp::create(emit.builder, emit.location, prefix, hexadecimal, emit.values(values), isSigned);
}

void emitBarrier(Position where) {
  Emitter emit(where);
  triton::gpu::BarrierOp::create(emit.builder, emit.location, triton::gpu::BarrierMemory::All);
}

} // namespace heddle::build::detail
