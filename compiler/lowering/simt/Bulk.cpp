// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bulk copies of tensors, which one thread begins: a block goes in boxes, whose rows are as wide as what shared memory
// swizzles.
#include "compiler/lowering/simt/SharedCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class BulkCopies : public SharedCode {
public:
  using SharedCode::SharedCode;
  void lower(TensorMapOp op);
  void lower(BulkLoadOp op);
  void lower(BulkStoreOp op);
  void lower(BulkWaitOp op) { target.bulkWait(b, int64_t(op.getPending()), op.getReads()); }
  void lower(FenceAsyncOp) { target.publishShared(b); }

private:
  bool isRefused();
  /// Applies `copy` to each box of a block: where it is in shared memory, and its place in the tensor.
  void eachBox(TensorMapType map, ValueRange place, Value memory,
               llvm::function_ref<void(Value shared, ValueRange place)> copy);
};
} // namespace

bool BulkCopies::isRefused() {
  if (target.hasBulkCopies())
    return false;
  refuse("this chip has no bulk copies of tensors: copy tiles by simt.async_copy");
  return true;
}

SmallVector<int64_t> simt::boxOf(TensorMapType map) {
  constexpr int64_t mostElements = 256; // along an axis
  SmallVector<int64_t> box(map.getShape());
  if (map.getSwizzle())
    box.back() = std::min(box.back(), map.getSwizzle() * 8 / int64_t(map.getElementType().getIntOrFloatBitWidth()));
  // A box lies densely in shared memory. Rows that are cut lie further apart, but for those of what is swizzled.
  bool isCut = false;
  for (size_t axis = box.size(); axis-- > 0;) {
    box[axis] = isCut ? 1 : std::min(box[axis], mostElements);
    isCut |= box[axis] < map.getShape()[axis] && !(axis + 1 == box.size() && map.getSwizzle());
  }
  return box;
}

void BulkCopies::lower(TensorMapOp op) {
  if (isRefused())
    return;
  made[op.getMap()] = {state.tensorMaps.lookup(op)};
}

void BulkCopies::eachBox(TensorMapType map, ValueRange place, Value memory,
                         llvm::function_ref<void(Value shared, ValueRange place)> copy) {
  auto tile = cast<SharedType>(memory.getType());
  SmallVector<int64_t> box = boxOf(map), counts;
  int64_t boxes = 1;
  for (auto [size, part] : llvm::zip(map.getShape(), box)) {
    counts.push_back(size / part);
    boxes *= counts.back();
  }
  LinearLayout inverse = tile.placeOf();
  size_t dropped = map.getShape().size() - tile.getShape().size();
  Value first = firstByteOf(memory, Value());
  for (int64_t number = 0; number < boxes; ++number) {
    Values at;
    std::vector<std::pair<Dim, int64_t>> element;
    int64_t rest = number;
    SmallVector<int64_t> starts(box.size());
    for (size_t axis = box.size(); axis-- > 0; rest /= counts[axis])
      starts[axis] = rest % counts[axis] * box[axis];
    for (auto [axis, start] : llvm::enumerate(starts)) {
      Value coordinate = scalar(place[axis]);
      at.push_back(start ? Value(arith::AddIOp::create(b, coordinate, i32(start))) : coordinate);
      if (axis >= dropped)
        element.push_back({layout::tileDim(int(axis - dropped)), start});
    }
    int64_t byte = inverse.applyFlat(element) * tile.getElementBytes();
    copy(byte ? sharedPointer(first, i32(byte)) : first, at);
  }
}

void BulkCopies::lower(BulkLoadOp op) {
  if (isRefused())
    return;
  Value object = firstByteOf(op.getObjects(), Value());
  inOneThreadIf(op.getCondition(), [&] {
    eachBox(op.getMap().getType(), op.getPlace(), op.getMemory(),
            [&](Value shared, ValueRange place) { target.bulkLoad(b, shared, scalar(op.getMap()), place, object); });
  });
}

/// PTX ISA, `cp.reduce.async.bulk.tensor`: the element types of each kind.
static bool isReduced(DescriptorReduceKind kind, Type element) {
  using Kind = DescriptorReduceKind;
  unsigned bits = element.getIntOrFloatBitWidth();
  bool isInteger = element.isInteger() && bits >= 32;
  if (kind == Kind::Add)
    return isInteger || element.isF16() || element.isBF16() || element.isF32();
  if (kind == Kind::Min || kind == Kind::Max)
    return isInteger || element.isF16() || element.isBF16();
  return isInteger && (bits == 32 || (kind != Kind::Inc && kind != Kind::Dec));
}

void BulkCopies::lower(BulkStoreOp op) {
  if (isRefused())
    return;
  Type element = op.getMap().getType().getElementType();
  if (op.getKind() && !isReduced(*op.getKind(), element))
    return refuse("bulk copies have no `" + stringifyDescriptorReduceKind(*op.getKind()) + "` of " +
                  llvm::Twine(element.isInteger() ? "i" : "f") + llvm::Twine(element.getIntOrFloatBitWidth()));
  inOneThreadIf({}, [&] {
    eachBox(op.getMap().getType(), op.getPlace(), op.getMemory(), [&](Value shared, ValueRange place) {
      target.bulkStore(b, shared, scalar(op.getMap()), place, op.getKind());
    });
    target.bulkCommit(b);
  });
}

void simt::addBulkCopies(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<BulkCopies, TensorMapOp, BulkLoadOp, BulkStoreOp, BulkWaitOp, FenceAsyncOp>(patterns, state);
}
