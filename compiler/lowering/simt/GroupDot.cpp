// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warp-group MMA (wgmma), whose operands a target reads from shared memory while threads go on.
#include "compiler/lowering/simt/RegisterMap.h"
#include "compiler/lowering/simt/SharedCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class GroupMatmuls : public SharedCode {
public:
  using SharedCode::SharedCode;
  void lower(DotSharedOp op);
  void lower(DotWaitOp op) { made[op.getD()] = target.waitGroups(b, of(op.getStarted()), op.getPending()); }

private:
  /// (i64) The operand's part that this warp's group reads, at the block's start.
  Value groupDescriptor(DotSharedOp op, bool isB);
  using LeftOperand = std::function<GroupOperand(int64_t row, int64_t k)>;
  LeftOperand leftInShared(DotSharedOp op);
  LeftOperand leftInRegisters(DotSharedOp op);
};
} // namespace

/// The byte of an element of a tile in its stage.
static int64_t byteAt(SharedType ring, const layout::LinearLayout &inverse, int64_t row, int64_t column) {
  using layout::Dim;
  return inverse.applyFlat({{Dim::Dim0, row}, {Dim::Dim1, column}}) * ring.getElementType().getIntOrFloatBitWidth() / 8;
}

Value GroupMatmuls::groupDescriptor(DotSharedOp op, bool isB) {
  auto ring = cast<SharedType>(isB ? op.getB().getType() : op.getA().getType());
  bool transposed = isB ? op.getBTransposed() : op.getATransposed();
  LinearLayout inverse = ring.getLayout().pseudoinvert();
  const LinearLayout &layout = layoutOf(op.getC().getType());
  // The four warps of a group share their rows; what tells groups apart moves the operand.
  LinearLayout::Input warps{Dim::Warp, {}};
  int64_t bytes = ring.getTileBytes();
  for (int bit = 0; bit < layout.inputBits(Dim::Warp); ++bit) {
    int64_t along = bit < 2 ? 0 : layout.basis(Dim::Warp, bit, isB ? Dim::Dim1 : Dim::Dim0);
    bool isRow = isB == transposed;
    warps.bases.push_back({byteAt(ring, inverse, isRow ? along : 0, isRow ? 0 : along)});
  }
  Value address = LLVM::PtrToIntOp::create(
      b, b.getI32Type(), firstByteOf(isB ? op.getB() : op.getA(), isB ? op.getBStage() : op.getAStage()));
  Value group =
      placePart(LinearLayout({{Dim::Register, {}}, {Dim::Lane, {}}, warps}, {{Dim::Offset, bytes}}), Dim::Offset);
  OperandLayout lies = *operandLayout(ring);
  bool alongK = lies.columnMajor == (isB ? !transposed : transposed);
  return target.operandDescriptor(b, arith::AddIOp::create(b, address, group), lies, alongK);
}

static Value moved(ImplicitLocOpBuilder &b, Value start, int64_t bytes) {
  Value units = bytes ? Value(arith::ConstantIntOp::create(b, bytes / 16, 64)) : Value();
  return units ? Value(arith::AddIOp::create(b, start, units)) : start;
}

GroupMatmuls::LeftOperand GroupMatmuls::leftInShared(DotSharedOp op) {
  auto a = cast<SharedType>(op.getA().getType());
  bool transposed = op.getATransposed();
  return [this, a, transposed, inverse = a.getLayout().pseudoinvert(), start = groupDescriptor(op, false)](int64_t row,
                                                                                                           int64_t k) {
    int64_t byte = transposed ? byteAt(a, inverse, k, row) : byteAt(a, inverse, row, k);
    return GroupOperand{moved(b, start, byte), {}, a.getElementType(), operandLayout(a)->columnMajor == transposed};
  };
}

// PTX ISA, fragment A of wgmma: words of contiguous elements along K, of this row and the one eight below, then of the
// second half of the depth.
GroupMatmuls::LeftOperand GroupMatmuls::leftInRegisters(DotSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getA().getType());
  auto perWord = int64_t(32 / tile.getElementTypeBitWidth());
  return [this, tile, perWord, values = of(op.getA()), map = RegisterMap(layoutOf(tile), 2)](int64_t row, int64_t k) {
    GroupOperand operand{{}, {}, tile.getElementType()};
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t rows : {0, 8}) {
        SmallVector<Value> parts;
        for (int64_t i = 0; i < perWord; ++i)
          parts.push_back(values[map({row + rows, k + half * 4 * perWord + i})]);
        operand.words.push_back(packRegister(b, parts));
      }
    return operand;
  };
}

void GroupMatmuls::lower(DotSharedOp op) {
  if (refuseIfDivergent())
    return;
  SharedType bb = op.getB().getType();
  auto tile = cast<RankedTensorType>(op.getC().getType());
  const LinearLayout &layout = layoutOf(tile);
  LinearLayout bInverse = bb.getLayout().pseudoinvert();
  bool bTransposed = op.getBTransposed();
  LeftOperand left = op.hasAInRegisters() ? leftInRegisters(op) : leftInShared(op);
  Value bStart = groupDescriptor(op, true);
  // The lowest register bits count the columns of an instruction, and rows 8 below.
  int inside = 0;
  auto isInside = [&](int bit) {
    return bit < 2 || (layout.basis(Dim::Register, bit, Dim::Dim0) == 0 &&
                       layout.basis(Dim::Register, bit, Dim::Dim1) == int64_t(2) << bit);
  };
  while (inside < layout.inputBits(Dim::Register) && isInside(inside) && 1 << inside < 128)
    ++inside;
  int64_t count = int64_t(1) << inside, depth = bb.getShape()[bTransposed ? 1 : 0];
  int64_t bits = bb.getElementType().getIntOrFloatBitWidth();
  int64_t depthOfOne = bytesOfGroupDepth * 8 / bits;
  // Registers of the left operand are written before the group begins.
  std::map<std::pair<int64_t, int64_t>, GroupOperand> lefts;
  for (int64_t first = 0; first < layout.inputSize(Dim::Register); first += count)
    for (int64_t k = 0; k < depth; k += depthOfOne)
      if (auto place = std::pair(registerPart(layout, first, Dim::Dim0), k); !lefts.count(place))
        lefts[place] = left(place.first, k);
  Values results = of(op.getC());
  target.beginGroup(b);
  for (int64_t first = 0; first < layout.inputSize(Dim::Register); first += count) {
    int64_t row = registerPart(layout, first, Dim::Dim0), column = registerPart(layout, first, Dim::Dim1);
    for (int64_t k = 0; k < depth; k += depthOfOne) {
      int64_t bByte = bTransposed ? byteAt(bb, bInverse, column, k) : byteAt(bb, bInverse, k, column);
      GroupOperand right{
          moved(b, bStart, bByte), {}, bb.getElementType(), operandLayout(bb)->columnMajor != bTransposed};
      ValueRange accumulators = ValueRange(results).slice(size_t(first), size_t(count));
      Value adds = k == 0 && op.getAdds() ? scalar(op.getAdds()) : Value();
      SmallVector<Value> next = target.multiplyGroup(b, lefts[{row, k}], right, accumulators, adds);
      llvm::copy(next, results.begin() + first);
    }
  }
  target.endGroup(b);
  made[op.getD()] = results;
}

void simt::addGroupMatmuls(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<GroupMatmuls, DotSharedOp, DotWaitOp>(patterns, state);
}
