// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, stores, atomics, assertions, prints and hints of the builder.
#include "compiler/dialects/ttg/TritonGpu.h"
#include "frontend/build/Emitter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace heddle::build::detail {

static Value optional(const Emitter &emit, Handle handle) {
  return handle ? emit.value(handle) : Value();
}

Handle emitLoad(Handle pointer, Handle mask, Handle other, Access access, Position where) {
  Emitter emit(where);
  Value operands[] = {emit.value(pointer), optional(emit, mask), optional(emit, other)};
  emit.shareLayout(operands);
  auto [from, active, filler] = operands;
  return emit.handle(triton::LoadOp::create(emit.builder, emit.location, triton::valueTypeOf(from.getType()), from,
                                            active, filler, ArrayRef<int32_t>(), triton::PaddingOptionAttr(),
                                            static_cast<triton::CacheModifier>(access.cache),
                                            static_cast<triton::EvictionPolicy>(access.eviction), access.isVolatile));
}

void emitStore(Handle pointer, Handle value, Handle mask, Access access, Position where) {
  Emitter emit(where);
  if (access.isVolatile)
    emit.fail("only a load can be volatile");
  Value operands[] = {emit.value(pointer), emit.value(value), optional(emit, mask)};
  emit.shareLayout(operands);
  triton::StoreOp::create(emit.builder, emit.location, operands[0], operands[1], operands[2], ArrayRef<int32_t>(),
                          static_cast<triton::CacheModifier>(access.cache),
                          static_cast<triton::EvictionPolicy>(access.eviction));
}

Handle emitAtomic(Atomic kind, Handle pointer, Handle value, Handle mask, Order order, Scope scope, Position where) {
  Emitter emit(where);
  Value operands[] = {emit.value(pointer), emit.value(value), optional(emit, mask)};
  emit.shareLayout(operands);
  auto [to, given, active] = operands;
  return emit.handle(triton::AtomicRMWOp::create(
      emit.builder, emit.location, given.getType(), static_cast<triton::RMWOp>(kind), to, given, active,
      static_cast<triton::MemSemantic>(order), static_cast<triton::MemScope>(scope)));
}

Handle emitCompareAndSwap(Handle pointer, Handle expected, Handle desired, Order order, Scope scope, Position where) {
  Emitter emit(where);
  Value operands[] = {emit.value(pointer), emit.value(expected), emit.value(desired)};
  emit.shareLayout(operands);
  auto [to, held, given] = operands;
  return emit.handle(triton::AtomicCASOp::create(emit.builder, emit.location, given.getType(), to, held, given,
                                                 static_cast<triton::MemSemantic>(order),
                                                 static_cast<triton::MemScope>(scope)));
}

void emitAssert(Handle condition, const std::string &message, Position where) {
  Emitter emit(where);
  triton::AssertOp::create(emit.builder, emit.location, emit.value(condition), message);
}

void emitPrint(const std::string &prefix, const Handles &values, const std::vector<int32_t> &isSigned, Position where) {
  Emitter emit(where);
  triton::PrintOp::create(emit.builder, emit.location, prefix, /*hex=*/false, emit.values(values), isSigned);
}

void emitAssume(Handle condition, Position where) {
  Emitter emit(where);
  emit.builder.getContext()->getOrLoadDialect<LLVM::LLVMDialect>();
  LLVM::AssumeOp::create(emit.builder, emit.location, emit.value(condition));
}

void emitHint(Handle x, const char *name, const std::vector<int32_t> &values, Position where) {
  Emitter emit(where);
  Operation *producer = emit.value(x).getDefiningOp();
  if (!producer || producer->getNumRegions())
    emit.fail("this value has no operation that could carry a hint",
              {"what is known of a kernel's argument follows its name, as in Argument(\"n\").divisibleBy(16)"});
  auto type = RankedTensorType::get({int64_t(values.size())}, emit.builder.getI32Type());
  producer->setDiscardableAttr(name, DenseIntElementsAttr::get(type, ArrayRef(values)));
}

void emitBarrier(Position where) {
  Emitter emit(where);
  if (emit.hasLayouts) {
    triton::gpu::BarrierOp::create(emit.builder, emit.location, triton::gpu::BarrierMemory::All);
    return;
  }
  OperationState state(emit.location, gpu::BarrierOp::getOperationName());
  emit.builder.create(state);
}

} // namespace heddle::build::detail
