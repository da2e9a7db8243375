// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses to shared memory by an index along one axis, element by element: the offset is that of the coordinates which
// the tile's layout gives, and of the index, which is known only when the kernel runs.
#include "compiler/lowering/peer/PeerTarget.h"
#include "compiler/lowering/simt/SharedCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::tileDim;

namespace {
class SharedIndexed : public SharedCode {
public:
  using SharedCode::SharedCode;
  void lower(GatherSharedOp op);
  void lower(ScatterSharedOp op);
  void lower(UpdateSharedOp op);

private:
  struct IndexedAccess {
    Value ring, indices;
    Type tile;
    int64_t axis;
  };
  /// Where the element of a register lies.
  std::function<Value(int64_t reg)> indexedPointers(const IndexedAccess &access);
  /// (i32) What an index along an axis adds to the offset, in elements, by xor.
  Value offsetOfIndex(const LinearLayout &place, Dim axis, Value index);
};
} // namespace

/// The offset in `whole` of each place of `tile`, as if its coordinate along `axis` were 0.
static layout::LinearLayout offsetsWithout(const layout::LinearLayout &tile, const layout::LinearLayout &whole,
                                           size_t axis) {
  std::vector<layout::LinearLayout::Input> inputs = tile.inputs();
  for (layout::LinearLayout::Input &input : inputs)
    for (std::vector<int64_t> &basis : input.bases)
      basis[axis] = 0;
  return layout::LinearLayout(inputs, whole.outputs()).invertAndCompose(whole);
}

// Bits of the index go to bits of the offset; those that move equally far move together.
Value SharedIndexed::offsetOfIndex(const LinearLayout &place, Dim axis, Value index) {
  std::map<int, int64_t> moved; // how far left -> bits
  for (int bit = 0; bit < place.inputBits(axis); ++bit)
    for (int64_t basis = place.basis(axis, bit, Dim::Offset), to = 0; basis >> to; ++to)
      if (basis >> to & 1)
        moved[int(to) - bit] |= int64_t(1) << bit;
  unsigned width = index.getType().getIntOrFloatBitWidth();
  if (width > 32)
    index = arith::TruncIOp::create(b, b.getI32Type(), index);
  else if (width < 32)
    index = arith::ExtUIOp::create(b, b.getI32Type(), index);
  Value offset;
  for (auto [distance, bits] : moved) {
    Value term = arith::AndIOp::create(b, index, i32(bits));
    if (distance > 0)
      term = arith::ShLIOp::create(b, term, i32(distance));
    else if (distance < 0)
      term = arith::ShRUIOp::create(b, term, i32(-distance));
    offset = offset ? Value(arith::XOrIOp::create(b, offset, term)) : term;
  }
  return offset ? offset : i32(0);
}

std::function<Value(int64_t)> SharedIndexed::indexedPointers(const IndexedAccess &access) {
  const LinearLayout &whole = cast<SharedType>(access.ring.getType()).getLayout();
  auto at = std::make_shared<LinearLayout>(offsetsWithout(layoutOf(access.tile), whole, size_t(access.axis)));
  auto place = std::make_shared<LinearLayout>(cast<SharedType>(access.ring.getType()).placeOf());
  return [this, at, place, access, memory = memoryAt(access.ring, Value())](int64_t reg) {
    Memory element = memory;
    Value index = offsetOfIndex(*place, tileDim(int(access.axis)), of(access.indices)[size_t(reg)]);
    element.offset = memory.offset ? Value(arith::XOrIOp::create(b, memory.offset, index)) : index;
    return elementPointer(element, *at, reg);
  };
}

void SharedIndexed::lower(GatherSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getType());
  auto pointerOf = indexedPointers({op.getRing(), op.getIndices(), tile, int64_t(op.getAxis())});
  Type element = tile.getElementType(), stored = memoryType(element);
  Values results;
  for (int64_t reg = 0; reg < registersOf(tile); ++reg) {
    int64_t copy = firstCopy(layoutOf(tile), reg);
    results.push_back(copy == reg ? fromMemory(loadShared(pointerOf(reg), stored, 1).front(), element)
                                  : results[size_t(copy)]);
  }
  made[op.getTile()] = results;
}

void SharedIndexed::lower(ScatterSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  auto pointerOf = indexedPointers({op.getRing(), op.getIndices(), tile, int64_t(op.getAxis())});
  when(isOwner(layoutOf(tile)), [&] {
    for (int64_t reg = 0; reg < registersOf(tile); ++reg)
      if (firstCopy(layoutOf(tile), reg) == reg)
        storeShared(pointerOf(reg), toMemory(of(op.getTile())[size_t(reg)], tile.getElementType()));
  });
}

void SharedIndexed::lower(UpdateSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  Type element = tile.getElementType();
  auto pointerOf = indexedPointers({op.getRing(), op.getIndices(), tile, int64_t(op.getAxis())});
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  auto update = [&](int64_t reg) -> Values {
    Value pointer = pointerOf(reg), value = of(op.getTile())[size_t(reg)];
    if (triton::elementBits(element) < 32) // no instruction updates less than a word
      return {target.updateBySwapping(b, op.getKind(), pointer, value, triton::MemSemantic::Relaxed,
                                      triton::MemScope::Cta)};
    return {LLVM::AtomicRMWOp::create(b, peer::atomicOperation(op.getKind()), pointer, value,
                                      LLVM::AtomicOrdering::monotonic, target.blockScope())};
  };
  if (isMissingExchange(tile))
    return;
  Values old = once(tile, element, update, masks);
  if (op.getOld())
    made[op.getOld()] = old;
}

void simt::addSharedIndexed(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<SharedIndexed, GatherSharedOp, ScatterSharedOp, UpdateSharedOp>(patterns, state);
}
