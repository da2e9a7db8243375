// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffer accesses: a pointer that the block shares and a tile of offsets. Masks are the target's matter: no access
// needs a branch.
#include "compiler/lowering/simt/ThreadCode.h"
#include "compiler/lowering/simt/Vectors.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {
class Buffers : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(BufferLoadOp op);
  void lower(BufferStoreOp op);
};
} // namespace

/// Of so many bits in registers: words, or less than one.
static Type carrierOf(OpBuilder &b, int64_t bits) {
  return bits > 32 ? Type(VectorType::get(bits / 32, b.getI32Type())) : Type(b.getIntegerType(unsigned(bits)));
}

void Buffers::lower(BufferLoadOp op) {
  if (!target.hasBuffers())
    return refuse("the chip has no buffer instructions");
  const LinearLayout &layout = layoutOf(op.getType());
  Type element = triton::elementTypeOf(op.getType()), stored = memoryType(element);
  int64_t bits = stored.getIntOrFloatBitWidth(), width = int64_t(op.getElements());
  const Values &offsets = of(op.getOffsets());
  Values masks = op.getMask() ? of(op.getMask()) : Values(), others = op.getOther() ? of(op.getOther()) : Values();
  Values results(offsets.size());
  for (size_t first = 0; first < offsets.size(); first += size_t(width)) {
    if (auto copy = size_t(firstCopy(layout, int64_t(first))); copy != first) {
      std::copy_n(results.begin() + long(copy), width, results.begin() + long(first));
      continue;
    }
    Value offset = arith::MulIOp::create(b, offsets[first], i32(bits / 8));
    GpuTarget::BufferPlace place{scalar(op.getPointer()), offset, masks.empty() ? Value() : masks[first]};
    Value loaded = target.bufferLoad(b, place, carrierOf(b, bits * width), op.getCache());
    Values pieces = {loaded};
    if (width > 1 || bits > 32)
      pieces = apart(b, LLVM::BitcastOp::create(b, VectorType::get(width, stored), loaded));
    for (auto [i, piece] : llvm::enumerate(pieces)) {
      Value value = fromMemory(piece, element);
      if (!others.empty() && !isZero(others[first + i]))
        value = arith::SelectOp::create(b, masks[first + i], value, others[first + i]);
      results[first + i] = value;
    }
  }
  made[op.getResult()] = results;
}

void Buffers::lower(BufferStoreOp op) {
  if (!target.hasBuffers())
    return refuse("the chip has no buffer instructions");
  const LinearLayout &layout = layoutOf(op.getValue().getType());
  Type element = triton::elementTypeOf(op.getValue().getType()), stored = memoryType(element);
  int64_t bits = stored.getIntOrFloatBitWidth(), width = int64_t(op.getElements());
  const Values &offsets = of(op.getOffsets()), &values = of(op.getValue());
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  Value owner = isOwner(layout);
  for (size_t first = 0; first < offsets.size(); first += size_t(width)) {
    if (size_t(firstCopy(layout, int64_t(first))) != first)
      continue;
    Value offset = arith::MulIOp::create(b, offsets[first], i32(bits / 8));
    GpuTarget::BufferPlace place{scalar(op.getPointer()), offset, both(owner, masks.empty() ? Value() : masks[first])};
    Values parts;
    for (size_t i = 0; i < size_t(width); ++i)
      parts.push_back(toMemory(values[first + i], element));
    Value whole = parts.front();
    if (width > 1 || bits > 32)
      whole = LLVM::BitcastOp::create(b, carrierOf(b, bits * width), width > 1 ? joined(b, parts) : whole);
    target.bufferStore(b, whole, place, op.getCache());
  }
}

void simt::addBuffers(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Buffers, BufferLoadOp, BufferStoreOp>(patterns, state);
}
