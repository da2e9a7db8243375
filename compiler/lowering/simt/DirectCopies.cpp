// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies from global memory straight to shared memory, by instructions of whole warps (DirectCopy.h).
#include "compiler/lowering/simt/DirectCopy.h"
#include "compiler/lowering/simt/SharedCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class DirectCopies : public SharedCode {
public:
  using SharedCode::SharedCode;
  void lower(AsyncCopyOp op);
  void lower(AsyncBufferCopyOp op);

private:
  struct Step {
    Value shared;                          ///< where the warp writes
    size_t number;                         ///< the register of the tile of addresses
    std::function<Value(Value)> fromLanes; ///< what the lane has for which this one writes
  };
  void eachStep(Type addresses, int64_t elements, const Memory &memory, llvm::function_ref<void(const Step &)> body);
};
} // namespace

// Lanes that write for another one take its address, and its mask.
void DirectCopies::eachStep(Type addresses, int64_t elements, const Memory &memory,
                            llvm::function_ref<void(const Step &)> body) {
  if (refuseIfDivergent())
    return;
  const LinearLayout &layout = layoutOf(addresses);
  std::string why;
  std::optional<DirectCopy> plan = planDirectCopy(layout, memory.type, elements, target, why);
  if (!plan || plan->elements != elements)
    return refuse(why);
  int64_t span = elements * target.lanesPerWarp();
  if (memory.offset && possibleBits(memory.offset) & uint64_t(span - 1))
    return refuse(ruleOfParts(span));
  when(isOwner(layout), [&] {
    for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); reg += elements) {
      if (firstCopy(layout, reg) != reg)
        continue;
      Value from = plan->usesOtherLanes ? coordinate(plan->source, reg, Dim::Lane) : Value();
      auto fromLanes = [&](Value own) { return from ? shuffleFrom(own, from) : own; };
      body({elementPointer(memory, plan->first, reg), size_t(reg), fromLanes});
    }
  });
}

// An instruction copies for all lanes of a warp: those that a mask forbids copy zeros.
void DirectCopies::lower(AsyncCopyOp op) {
  SharedType memory = op.getRing().getType();
  const Values &pointers = of(op.getPointers());
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  int64_t bytes = int64_t(op.getElements()) * memory.getElementBytes();
  auto step = [&](const Step &step) {
    Value pointer = step.fromLanes(pointers[step.number]);
    Value mask = masks.empty() ? Value() : step.fromLanes(masks[step.number]);
    auto copy = [&](Value allowed) { target.copyDirectly(b, step.shared, pointer, allowed, bytes, op.getCache()); };
    if (op.getKeeps())
      when(mask, [&] { copy({}); });
    else
      copy(mask);
  };
  eachStep(op.getPointers().getType(), int64_t(op.getElements()), memoryAt(op.getRing(), op.getStage()), step);
}

void DirectCopies::lower(AsyncBufferCopyOp op) {
  if (!target.hasBuffers())
    return refuse("the chip has no buffer instructions");
  SharedType memory = op.getRing().getType();
  const Values &offsets = of(op.getOffsets());
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  auto step = [&](const Step &step) {
    Value offset = arith::MulIOp::create(b, offsets[step.number], i32(memory.getElementBytes()));
    GpuTarget::BufferPlace place{scalar(op.getPointer()), offset, masks.empty() ? Value() : masks[step.number]};
    place = {place.pointer, step.fromLanes(target.offsetIfAllowed(b, place)), {}};
    target.copyBufferDirectly(b, step.shared, place, int64_t(op.getElements()) * memory.getElementBytes(),
                              op.getCache());
  };
  eachStep(op.getOffsets().getType(), int64_t(op.getElements()), memoryAt(op.getRing(), op.getStage()), step);
}

void simt::addDirectCopies(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<DirectCopies, AsyncBufferCopyOp>(patterns, state);
  if (!state.target.hasAsyncCopies())
    addFamily<DirectCopies, AsyncCopyOp>(patterns, state);
}
