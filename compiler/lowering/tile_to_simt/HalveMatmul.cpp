// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Splits layouts along K, reads both halves of each operand, and writes two matmuls.
#include "compiler/lowering/tile_to_simt/HalveMatmul.h"
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

static std::optional<layout::LinearLayout> firstHalf(LoadSharedOp load, int axis) {
  auto tile = cast<RankedTensorType>(load.getType());
  return firstHalf(layoutOf(tile), axis, tile.getDimSize(unsigned(axis)) / 2);
}

static bool hasHalves(LoadSharedOp load, int axis) {
  return firstHalf(load, axis) && !load.getRing().getType().isPadded();
}

/// Reads of both halves along `axis` of what `load` reads, before `place`.
static std::array<LoadSharedOp, 2> readHalves(LoadSharedOp load, int axis, Operation *place) {
  auto tile = cast<RankedTensorType>(load.getType());
  SharedType ring = load.getRing().getType();
  SmallVector<int64_t> shape(tile.getShape());
  shape[size_t(axis)] /= 2;
  ImplicitLocOpBuilder b(load.getLoc(), place);
  auto type =
      RankedTensorType::get(shape, tile.getElementType(), LinearAttr::get(b.getContext(), *firstHalf(load, axis)));
  auto whole = SharedType::get(b.getContext(), 1, ring.getShape(), ring.getElementType(), ring.getLayout());
  auto part = SharedType::get(b.getContext(), 1, shape, ring.getElementType(), ring.getLayout());
  Value memory = IndexOp::create(b, whole, load.getRing(), load.getStage());
  std::array<LoadSharedOp, 2> reads;
  for (int64_t number : {0, 1}) {
    SmallVector<int64_t> offsets(shape.size());
    offsets[size_t(axis)] = number * shape[size_t(axis)];
    Value from = SubsliceOp::create(b, part, memory, offsets);
    reads[size_t(number)] = LoadSharedOp::create(b, type, from, Value(), Value());
  }
  return reads;
}

bool simt::halveMatmul(scf::ForOp loop) {
  auto dots = llvm::to_vector(loop.getBody()->getOps<MatrixDotOp>());
  if (dots.size() != 1 || !dots.front().getInstruction() || dots.front().getWarpGroups())
    return false;
  MatrixDotOp dot = dots.front();
  auto a = dot.getA().getDefiningOp<LoadSharedOp>(), bb = dot.getB().getDefiningOp<LoadSharedOp>();
  int64_t depth = dot.getA().getType().getShape().back();
  if (!a || !bb || !a->hasOneUse() || !bb->hasOneUse() || !a.getStage() || !bb.getStage() ||
      depth < 2 * int64_t(dot.getInstruction()->getK()) || dot.getA().getType().getRank() != 2)
    return false;
  if (!hasHalves(a, 1) || !hasHalves(bb, 0))
    return false;
  auto left = readHalves(a, 1, dot), right = readHalves(bb, 0, dot);
  OpBuilder b(dot);
  Value sum = dot.getC();
  SmallVector<Operation *> matmuls;
  for (size_t half : {0, 1}) {
    auto made = MatrixDotOp::create(b, dot.getLoc(), dot.getType(), left[half], right[half], sum, *dot.getInstruction(),
                                    dot.getPrecision());
    sum = made;
    matmuls.push_back(made);
  }
  for (LoadSharedOp second : {left[1], right[1]})
    second->moveBefore(matmuls[1]);
  dot.getD().replaceAllUsesWith(sum);
  for (Operation *old : {dot.getOperation(), a.getOperation(), bb.getOperation()})
    old->erase();
  return true;
}
