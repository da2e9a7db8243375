// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the memory objects of exchanges, with offsets that avoid bank conflicts.
#include "compiler/lowering/simt/Exchanges.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::Dim;
using layout::LinearLayout;

Value simt::makeScratch(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape, Type element, const LinearLayout &layout) {
  return AllocOp::create(b, SharedType::get(b.getContext(), 1, shape, element, layout), /*scratch=*/true);
}

Value simt::exchange(ImplicitLocOpBuilder &b, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  Value memory = makeScratch(b, type.getShape(), type.getElementType(), rowMajor(type.getShape()));
  StoreSharedOp::create(b, tile, memory, Value());
  return LoadSharedOp::create(b, type, memory, Value(), Value());
}

Value simt::exchangeScalar(ImplicitLocOpBuilder &b, Value scalar, BlockShape block) {
  LinearLayout everywhere = LinearLayout::zeros1D(1, Dim::Register, Dim::Dim0) *
                            LinearLayout::zeros1D(block.lanes, Dim::Lane, Dim::Dim0) *
                            LinearLayout::zeros1D(block.warps, Dim::Warp, Dim::Dim0);
  auto type = withLayout(RankedTensorType::get({1}, scalar.getType()), everywhere);
  Value all = exchange(b, triton::SplatOp::create(b, type, scalar));
  return triton::UnsplatOp::create(b, scalar.getType(), all);
}

bool simt::isForExchange(Operation *op) {
  auto isStored = [](OpOperand &use) { return isa<StoreSharedOp>(use.getOwner()) && use.getOperandNumber() == 0; };
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    auto splat = dyn_cast<triton::SplatOp>(use.getOwner());
    return splat ? llvm::all_of(splat->getUses(), isStored) : isStored(use);
  });
}
