// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules of accesses to shared memory by an index, and of tiles made of parts.
#include "compiler/dialects/simt/SimtVerify.h"
#include "mlir/IR/Builders.h"
#include <map>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::Dim;
using layout::LinearLayout;

static LogicalResult verifyIndexed(Operation *op, SharedType ring, RankedTensorType indices, RankedTensorType tile,
                                   int64_t axis) {
  // Rule S34: one tile is accessed, along an axis that it has, with an index for each element.
  if (ring.getStages() != 1 || ring.getParts() != 1 || axis < 0 || axis >= int64_t(ring.getShape().size()))
    return op->emitOpError() << "takes an index along axis " << axis << " of " << ring;
  if (!hasLayout(tile) || indices.getShape() != tile.getShape() || indices.getEncoding() != tile.getEncoding() ||
      tile.getElementType() != ring.getElementType() || tile.getRank() != int64_t(ring.getShape().size()))
    return op->emitOpError() << "moves " << tile << " at indices " << indices << " to or from " << ring;
  // Rule S35: the other coordinates lie in the memory object.
  for (auto [at, size] : llvm::enumerate(tile.getShape()))
    if (int64_t(at) != axis && size > ring.getShape()[at])
      return op->emitOpError() << "takes " << size << " elements along axis " << at << " of a memory object with "
                               << ring.getShape()[at];
  return success();
}

LogicalResult GatherSharedOp::verify() {
  return verifyIndexed(*this, getRing().getType(), cast<RankedTensorType>(getIndices().getType()),
                       cast<RankedTensorType>(getType()), int64_t(getAxis()));
}

LogicalResult ScatterSharedOp::verify() {
  return verifyIndexed(*this, getRing().getType(), cast<RankedTensorType>(getIndices().getType()),
                       cast<RankedTensorType>(getTile().getType()), int64_t(getAxis()));
}

LogicalResult UpdateSharedOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  // Rule S36: the mask is of the tile's shape and layout, old values of its type.
  if (getMask() && getMask().getType() != tile.clone(IntegerType::get(getContext(), 1)))
    return emitOpError() << "has a mask " << getMask().getType() << " for " << tile;
  if (getOld() && getOld().getType() != tile)
    return emitOpError() << "updates with " << tile << " and returns " << getOld().getType();
  if (failed(verifyUpdate(*this, getKind(), tile.getElementType())))
    return failure();
  return verifyIndexed(*this, getRing().getType(), cast<RankedTensorType>(getIndices().getType()), tile,
                       int64_t(getAxis()));
}

/// Which of the parts has the element that a register adds to the coordinates, and where in it.
static std::pair<int64_t, SmallVector<int64_t>> placeInParts(const LinearLayout &layout, int64_t reg,
                                                             ArrayRef<int64_t> tile, ArrayRef<int64_t> part) {
  SmallVector<int64_t> at = coordinatesOfRegister(layout, reg);
  int64_t number = 0;
  for (auto [coordinate, size, whole] : llvm::zip(at, part, tile)) {
    number = number * (whole / size) + coordinate / size;
    coordinate %= size;
  }
  return {number, at};
}

std::optional<SmallVector<std::pair<int64_t, int64_t>>> ConcatOp::registersOfParts() {
  auto tile = cast<RankedTensorType>(getType()), part = cast<RankedTensorType>(getParts().front().getType());
  const LinearLayout &whole = layoutOf(tile), &piece = layoutOf(part);
  if (!placeThreadsAlike(whole, piece))
    return std::nullopt;
  std::map<SmallVector<int64_t>, int64_t> held;
  for (int64_t reg = 0; reg < piece.inputSize(Dim::Register); ++reg)
    held.insert({coordinatesOfRegister(piece, reg), reg});
  SmallVector<std::pair<int64_t, int64_t>> result;
  for (int64_t reg = 0; reg < whole.inputSize(Dim::Register); ++reg) {
    auto [number, at] = placeInParts(whole, reg, tile.getShape(), part.getShape());
    auto found = held.find(at);
    if (found == held.end())
      return std::nullopt;
    result.push_back({number, found->second});
  }
  return result;
}

LogicalResult ConcatOp::verify() {
  auto tile = cast<RankedTensorType>(getType());
  // Rule S38: the parts have one type and make up the tile.
  if (getParts().empty())
    return emitOpError() << "makes " << tile << " of no parts";
  auto part = cast<RankedTensorType>(getParts().front().getType());
  bool fits = hasLayout(tile) && hasLayout(part) && part.getRank() == tile.getRank() &&
              part.getElementType() == tile.getElementType();
  int64_t parts = 1;
  for (int64_t axis = 0; fits && axis < tile.getRank(); ++axis) {
    fits = tile.getDimSize(axis) % part.getDimSize(axis) == 0;
    parts *= tile.getDimSize(axis) / part.getDimSize(axis);
  }
  for (Value each : getParts())
    fits = fits && each.getType() == part;
  if (!fits || parts != int64_t(getParts().size()))
    return emitOpError() << "makes " << tile << " of " << getParts().size() << " parts of " << part;
  // Rule S39: each thread has the elements of its tile.
  if (!registersOfParts())
    return emitOpError() << "makes " << tile << " of parts of " << part << ", whose threads hold other elements";
  return success();
}
