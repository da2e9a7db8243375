// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory objects of shared memory and their views, copies straight to them, buffer accesses, and instructions of AMD's
// chips, as operations of `ttg` and `amdg`.
#include "compiler/dialects/ttg/TritonGpu.h"
#include "frontend/build/BlockEmission.h"
#include "frontend/build/Emitter.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
namespace ttg = heddle::triton::gpu;
namespace amdg = heddle::triton::amdg;

namespace heddle::build::detail {
namespace {

/// An emitter in a kernel with layouts.
Emitter emitterOf(const char *what, Position where) {
  Emitter emit(where);
  emit.requireLayouts(what);
  return emit;
}

Value optional(const Emitter &emit, Handle handle) {
  return handle ? emit.value(handle) : Value();
}

ttg::MemDescType memoryOf(Value value) {
  return cast<ttg::MemDescType>(value.getType());
}

/// Mutable memory of this shape; `allocated` empty: a memory object of its own.
ttg::MemDescType memoryType(const Emitter &emit, ArrayRef<int64_t> shape, Type element, Attribute encoding,
                            ArrayRef<int64_t> allocated = {}) {
  MLIRContext *context = emit.builder.getContext();
  return emit.checked([&](auto emitError) {
    return ttg::MemDescType::getChecked(emitError, context, shape, element, encoding,
                                        Attribute(ttg::SharedMemoryAttr::get(context)), true,
                                        allocated.empty() ? shape : allocated);
  });
}

ttg::MemDescType memoryType(const Emitter &emit, const TileType &type, Attribute encoding) {
  return memoryType(emit, ArrayRef(type.sizes, type.rank), emit.elementType(type.element), encoding);
}

triton::CachePolicyAttr policyOf(const Emitter &emit, Cache cache, Eviction eviction = Eviction::Normal) {
  if (cache == Cache::Default && eviction == Eviction::Normal)
    return {};
  return triton::CachePolicyAttr::get(emit.builder.getContext(), static_cast<triton::CacheModifier>(cache),
                                      static_cast<triton::EvictionPolicy>(eviction));
}

/// The operands of a buffer access, with a value that is stored or none, in the layout of the offsets.
struct Buffer {
  Buffer(const Emitter &emit, const BufferPart &part, Handle value = {}, Handle second = {})
      : pointer(emit.value(part.pointer)) {
    Value operands[] = {emit.value(part.offsets), optional(emit, part.mask), optional(emit, part.other),
                        optional(emit, value), optional(emit, second)};
    emit.shareLayout(operands);
    std::tie(offsets, mask, other, given, desired) =
        std::tie(operands[0], operands[1], operands[2], operands[3], operands[4]);
  }
  Type tile() const {
    Type pointee = cast<triton::PointerType>(pointer.getType()).getPointeeType();
    return cast<RankedTensorType>(offsets.getType()).clone(pointee);
  }
  Value pointer, offsets, mask, other, given, desired;
};

} // namespace

//===-- Memory objects -------------------------------------------------------------------------------------------===//

Handle emitAllocateShared(const TileType &type, const SharedLayout &layout, Handle value, Position where) {
  Emitter emit = emitterOf("allocateShared", where);
  auto memory = memoryType(emit, type, emit.encoding(layout));
  return emit.handle(
      ttg::LocalAllocOp::create(emit.builder, emit.location, memory, optional(emit, value), IntegerAttr()));
}

void emitDeallocateShared(Handle memory, Position where) {
  Emitter emit(where);
  ttg::LocalDeallocOp::create(emit.builder, emit.location, emit.value(memory));
}

Handle emitSharedIndex(Handle ring, Handle index, Position where) {
  Emitter emit(where);
  Value from = emit.value(ring);
  ttg::MemDescType type = memoryOf(from);
  if (ttg::rankOf(type.getEncoding()) == int64_t(type.getShape().size()))
    emit.fail("a memory object whose layout is of all its dimensions has no slots",
              {"the layout of a ring has one dimension less, without that of the slots"});
  auto slot = memoryType(emit, type.getShape().drop_front(), type.getElementType(), type.getEncoding());
  return emit.handle(ttg::MemDescIndexOp::create(emit.builder, emit.location, slot, from, emit.value(index)));
}

Handle emitSharedSlice(Handle memory, const TileType &type, const std::vector<int32_t> &offsets, Position where) {
  Emitter emit(where);
  Value from = emit.value(memory);
  ttg::MemDescType whole = memoryOf(from);
  auto part = memoryType(emit, ArrayRef(type.sizes, type.rank), whole.getElementType(), whole.getEncoding(),
                         whole.getAllocShape());
  return emit.handle(ttg::MemDescSubsliceOp::create(emit.builder, emit.location, part, from, offsets));
}

Handle emitSharedTranspose(Handle memory, const std::vector<int32_t> &order, Position where) {
  Emitter emit(where);
  Value from = emit.value(memory);
  ttg::MemDescType type = memoryOf(from);
  if (ttg::rankOf(type.getEncoding()) != int64_t(order.size()))
    emit.fail("a ring cannot be transposed", {"transpose a slot of it: ring.index(i).trans()"});
  SmallVector<int64_t> shape, allocated;
  for (int32_t axis : order) {
    shape.push_back(type.getShape()[size_t(axis)]);
    allocated.push_back(type.getAllocShape().take_back(order.size())[size_t(axis)]);
  }
  auto view = memoryType(emit, shape, type.getElementType(), transposedEncoding(type.getEncoding(), order), allocated);
  return emit.handle(ttg::MemDescTransOp::create(emit.builder, emit.location, view, from, order));
}

Handle emitSharedReinterpret(Handle memory, const TileType &type, const SharedLayout &layout, Position where) {
  Emitter emit(where);
  auto view = memoryType(emit, type, emit.encoding(layout));
  return emit.handle(ttg::MemDescReinterpretOp::create(emit.builder, emit.location, view, emit.value(memory)));
}

Handle emitSharedLoad(Handle memory, const Layout &layout, bool relaxed, Position where) {
  Emitter emit(where);
  Value from = emit.value(memory);
  ttg::MemDescType type = memoryOf(from);
  auto tile = RankedTensorType::get(type.getShape(), type.getElementType(),
                                    emit.encoding(layout, int64_t(type.getShape().size()), "a memory object"));
  auto load = ttg::LocalLoadOp::create(emit.builder, emit.location, tile, from, Value());
  if (relaxed)
    load->setAttr("ttg.amdg.syncedViaAsyncWait", emit.builder.getBoolAttr(true));
  return emit.handle(load);
}

void emitSharedStore(Handle memory, Handle value, Position where) {
  Emitter emit(where);
  ttg::LocalStoreOp::create(emit.builder, emit.location, emit.value(value), emit.value(memory));
}

Handle emitSharedGather(Handle memory, Handle indices, int axis, Position where) {
  Emitter emit(where);
  Value from = emit.value(memory), index = emit.value(indices);
  Type tile = cast<RankedTensorType>(index.getType()).clone(memoryOf(from).getElementType());
  return emit.handle(ttg::LocalGatherOp::create(emit.builder, emit.location, tile, from, index, uint32_t(axis)));
}

void emitSharedScatter(Handle memory, Handle indices, Handle value, int axis, Position where) {
  Emitter emit(where);
  Value operands[] = {emit.value(indices), emit.value(value)};
  emit.shareLayout(operands);
  ttg::LocalScatterOp::create(emit.builder, emit.location, emit.value(memory), operands[0], operands[1],
                              uint32_t(axis));
}

//===-- Buffers --------------------------------------------------------------------------------------------------===//

Handle emitBufferLoad(const BufferPart &from, Cache cache, Position where) {
  Emitter emit = emitterOf("bufferLoad", where);
  Buffer buffer(emit, from);
  return emit.handle(amdg::BufferLoadOp::create(emit.builder, emit.location, buffer.tile(), buffer.pointer,
                                                buffer.offsets, buffer.mask, buffer.other, Value(),
                                                policyOf(emit, cache), IntegerAttr()));
}

void emitBufferStore(const BufferPart &to, Handle value, Cache cache, Position where) {
  Emitter emit = emitterOf("bufferStore", where);
  Buffer buffer(emit, to, value);
  amdg::BufferStoreOp::create(emit.builder, emit.location, buffer.given, buffer.pointer, buffer.offsets, buffer.mask,
                              Value(), policyOf(emit, cache), IntegerAttr());
}

Handle emitBufferAtomic(Atomic kind, const BufferPart &at, Handle value, Order order, Scope scope, Position where) {
  Emitter emit = emitterOf("a buffer atomic", where);
  Buffer buffer(emit, at, value);
  return emit.handle(
      amdg::BufferAtomicRMWOp::create(emit.builder, emit.location, buffer.tile(), static_cast<triton::RMWOp>(kind),
                                      static_cast<triton::MemSemantic>(order), static_cast<triton::MemScope>(scope),
                                      buffer.given, buffer.pointer, buffer.offsets, buffer.mask, Value()));
}

Handle emitBufferCompareAndSwap(const BufferPart &at, Handle expected, Handle desired, Order order, Scope scope,
                                Position where) {
  Emitter emit = emitterOf("a buffer atomic", where);
  Buffer buffer(emit, at, expected, desired);
  return emit.handle(amdg::BufferAtomicCASOp::create(
      emit.builder, emit.location, buffer.tile(), static_cast<triton::MemSemantic>(order),
      static_cast<triton::MemScope>(scope), buffer.given, buffer.desired, buffer.pointer, buffer.offsets, Value()));
}

//===-- Copies in flight -----------------------------------------------------------------------------------------===//

void emitBufferCopy(Handle memory, const BufferPart &from, Cache cache, Position where) {
  Emitter emit = emitterOf("bufferLoadToShared", where);
  Buffer buffer(emit, from);
  auto token = ttg::AsyncTokenType::get(emit.builder.getContext());
  amdg::BufferLoadToLocalOp::create(emit.builder, emit.location, token, buffer.pointer, buffer.offsets, buffer.mask,
                                    buffer.other, Value(), policyOf(emit, cache), emit.value(memory), IntegerAttr());
}

void emitGlobalCopy(Handle memory, Handle pointers, Handle mask, Handle other, Access access, Position where) {
  Emitter emit = emitterOf("globalLoadToShared", where);
  Value operands[] = {emit.value(pointers), optional(emit, mask), optional(emit, other)};
  emit.shareLayout(operands);
  auto token = ttg::AsyncTokenType::get(emit.builder.getContext());
  BoolAttr isVolatile = access.isVolatile ? emit.builder.getBoolAttr(true) : BoolAttr();
  ttg::AsyncCopyOp::create(emit.builder, emit.location, token, operands[0], emit.value(memory), operands[1],
                           operands[2], policyOf(emit, access.cache, access.eviction), isVolatile, IntegerAttr());
}

void emitAsyncCommit(Position where) {
  Emitter emit = emitterOf("asyncCommit", where);
  auto token = ttg::AsyncTokenType::get(emit.builder.getContext());
  ttg::AsyncCommitGroupOp::create(emit.builder, emit.location, token, ValueRange());
}

void emitAsyncWait(int groups, Position where) {
  Emitter emit = emitterOf("asyncWait", where);
  if (groups < 0)
    emit.fail("asyncWait leaves " + std::to_string(groups) + " groups in flight", {"a number of groups is 0 or more"});
  auto token = ttg::AsyncTokenType::get(emit.builder.getContext());
  ttg::AsyncWaitOp::create(emit.builder, emit.location, token, ValueRange(), uint32_t(groups));
}

//===-- Instructions ---------------------------------------------------------------------------------------------===//

Handle emitScaledDot(const ScaledOperand &a, const ScaledOperand &b, Handle c, Position where) {
  Emitter emit = emitterOf("mfmaScaled", where);
  Value left = emit.value(a.value), accumulator = emit.value(c);
  auto layout = cast<RankedTensorType>(left.getType()).getEncoding();
  if (auto operand = dyn_cast_or_null<ttg::DotOperandAttr>(layout))
    accumulator = emit.inEncoding(accumulator, operand.getParent());
  auto formatOf = [](const char *name) { return *triton::symbolizeScaleDotElemType(name); };
  return emit.handle(triton::DotScaledOp::create(
      emit.builder, emit.location, accumulator.getType(), left, emit.value(b.value), accumulator,
      optional(emit, a.scale), optional(emit, b.scale), formatOf(a.format), formatOf(b.format), /*fastMath=*/false));
}

void emitScheduleBarrier(const char *kinds, Position where) {
  Emitter emit = emitterOf("scheduleBarrier", where);
  if (!amdg::scheduleKinds(kinds))
    emit.fail(std::string("scheduleBarrier lets `") + kinds + "` pass, which is no kind of instructions",
              {"words with | between them: none, non_mem_non_sideeffect, valu, salu, mfma_wmma, all_vmem, vmem_read, "
               "vmem_write, all_ds, ds_read, ds_write, transcendental, ldsdma, all"});
  amdg::ScheduleFenceOp::create(emit.builder, emit.location, kinds);
}

static void checkPriority(Emitter &emit, const char *of, int priority) {
  if (priority < 0 || priority > 3)
    emit.fail(std::string(of) + " of priority " + std::to_string(priority), {"priorities are 0 to 3"});
}

void emitSetPriority(int priority, Position where) {
  Emitter emit = emitterOf("setPriority", where);
  checkPriority(emit, "waves", priority);
  emit.builder.getContext()->getOrLoadDialect<ROCDL::ROCDLDialect>();
  ROCDL::SetPrioOp::create(emit.builder, emit.location, uint16_t(priority));
}

// The attributes are those of Triton's text.
void emitStageBorder(const char *label, int priority, Position where) {
  Emitter emit = emitterOf("stageBorder", where);
  checkPriority(emit, "a stage", priority);
  auto fence = amdg::ScheduleFenceOp::create(emit.builder, emit.location, "none");
  fence->setAttr("triton.warp_pipeline.border", emit.builder.getStringAttr(label));
  fence->setAttr("triton.warp_pipeline.priority", emit.builder.getI32IntegerAttr(priority));
}

Handle emitWarpId(Position where) {
  Emitter emit = emitterOf("warpId", where);
  return emit.handle(ttg::WarpIdOp::create(emit.builder, emit.location, emit.builder.getI32Type(), UnitAttr()));
}

} // namespace heddle::build::detail
