// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Splits layouts along K, reads all parts of each operand, and writes as many matmuls.
#include "compiler/lowering/tile_to_simt/SplitMatmul.h"
#include "compiler/dialects/simt/Simt.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

/// That of half a tile along `axis`, whose second half is one bit of the registers; nothing where it is not.
static std::optional<layout::LinearLayout> firstHalf(const layout::LinearLayout &layout, int axis, int64_t half) {
  std::vector<layout::LinearLayout::Input> inputs = layout.inputs();
  std::vector<layout::LinearLayout::Output> outputs = layout.outputs();
  size_t along = 0;
  while (along < outputs.size() && outputs[along].dim != layout::tileDim(axis))
    ++along;
  if (along == outputs.size())
    return std::nullopt;
  std::vector<int64_t> second(outputs.size());
  second[along] = half;
  bool isFound = false;
  for (layout::LinearLayout::Input &input : inputs)
    for (size_t bit = 0; bit < input.bases.size(); ++bit) {
      if (!(input.bases[bit][along] & half))
        continue;
      if (isFound || input.dim != layout::Dim::Register || input.bases[bit] != second)
        return std::nullopt;
      input.bases.erase(input.bases.begin() + long(bit--));
      isFound = true;
    }
  outputs[along].size = half;
  return isFound ? std::optional(layout::LinearLayout(inputs, outputs)) : std::nullopt;
}

/// That of the first of `parts` of a tile.
static std::optional<layout::LinearLayout> firstPart(RankedTensorType tile, int axis, int parts) {
  std::optional<layout::LinearLayout> layout = layoutOf(tile);
  int64_t size = tile.getDimSize(unsigned(axis));
  for (; parts > 1 && layout; parts /= 2)
    layout = firstHalf(*layout, axis, size /= 2);
  return layout;
}

/// Reads of all parts along `axis` of what `load` reads, before `place`.
static SmallVector<LoadSharedOp> readParts(LoadSharedOp load, int axis, int parts, Operation *place) {
  auto tile = cast<RankedTensorType>(load.getType());
  SharedType ring = load.getRing().getType();
  SmallVector<int64_t> shape(tile.getShape());
  shape[size_t(axis)] /= parts;
  ImplicitLocOpBuilder b(load.getLoc(), place);
  auto type = RankedTensorType::get(shape, tile.getElementType(),
                                    LinearAttr::get(b.getContext(), *firstPart(tile, axis, parts)));
  auto whole = SharedType::get(b.getContext(), 1, ring.getShape(), ring.getElementType(), ring.getLayout());
  auto part = SharedType::get(b.getContext(), 1, shape, ring.getElementType(), ring.getLayout());
  Value memory = IndexOp::create(b, whole, load.getRing(), load.getStage());
  SmallVector<LoadSharedOp> reads;
  for (int64_t number = 0; number < parts; ++number) {
    SmallVector<int64_t> offsets(shape.size());
    offsets[size_t(axis)] = number * shape[size_t(axis)];
    Value from = SubsliceOp::create(b, part, memory, offsets);
    reads.push_back(LoadSharedOp::create(b, type, from, Value(), Value()));
  }
  return reads;
}

bool simt::canSplit(MatrixDotOp dot, int parts) {
  auto a = cast<RankedTensorType>(dot.getA().getType()), b = cast<RankedTensorType>(dot.getB().getType());
  return dot.getInstruction() && !dot.getWarpGroups() && a.getRank() == 2 &&
         a.getDimSize(1) >= parts * int64_t(dot.getInstruction()->getK()) && firstPart(a, 1, parts) &&
         firstPart(b, 0, parts);
}

bool simt::splitMatmul(Block &body, int parts) {
  auto dots = llvm::to_vector(body.getOps<MatrixDotOp>());
  if (dots.size() != 1 || !canSplit(dots.front(), parts))
    return false;
  MatrixDotOp dot = dots.front();
  auto a = dot.getA().getDefiningOp<LoadSharedOp>(), bb = dot.getB().getDefiningOp<LoadSharedOp>();
  if (!a || !bb || !a->hasOneUse() || !bb->hasOneUse() || !a.getStage() || !bb.getStage() ||
      a.getRing().getType().isPadded() || bb.getRing().getType().isPadded())
    return false;
  SmallVector<LoadSharedOp> left = readParts(a, 1, parts, dot), right = readParts(bb, 0, parts, dot);
  OpBuilder b(dot);
  Value sum = dot.getC();
  for (auto [one, other] : llvm::zip(left, right)) {
    auto made =
        MatrixDotOp::create(b, dot.getLoc(), dot.getType(), one, other, sum, *dot.getInstruction(), dot.getPrecision());
    sum = made;
    one->moveBefore(made);
    other->moveBefore(made);
  }
  dot.getD().replaceAllUsesWith(sum);
  for (Operation *old : {dot.getOperation(), a.getOperation(), bb.getOperation()})
    old->erase();
  return true;
}
