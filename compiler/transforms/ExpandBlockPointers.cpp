// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-expand-block-pointers: a block pointer (Triton before 3.7) becomes its parts - base, shape, strides, offsets -
// and each access through it a tile of pointers with a mask.
#include "compiler/transforms/BlockAccess.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

namespace heddle {
#define GEN_PASS_DEF_EXPANDBLOCKPOINTERSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::triton;

namespace {

RankedTensorType blockOf(Type blockPointer) {
  return cast<RankedTensorType>(cast<PointerType>(blockPointer).getPointeeType());
}

/// A block pointer's parts in the order in which they are carried: base, shape (i64), strides (i64), offsets (i32).
struct Parts {
  Value base;
  ValueRange shape, strides, offsets;

  Parts(ValueRange all, int64_t rank)
      : base(all[0]), shape(all.slice(1, rank)), strides(all.slice(1 + rank, rank)),
        offsets(all.slice(1 + 2 * rank, rank)) {}
};

Access accessOf(ImplicitLocOpBuilder &builder, RankedTensorType block, ValueRange parts, ArrayRef<int32_t> checked) {
  Parts pointer(parts, block.getRank());
  return accessAt(builder, pointer.base, coordinatesOf(builder, pointer.offsets, block.getShape()), pointer.shape,
                  pointer.strides, checked);
}

struct MakePointer : OpConversionPattern<MakeTensorPtrOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MakeTensorPtrOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> parts = {op.getBase()};
    llvm::append_range(parts, op.getShape());
    llvm::append_range(parts, op.getStrides());
    llvm::append_range(parts, op.getOffsets());
    rewriter.replaceOpWithMultiple(op, {parts});
    return success();
  }
};

struct Advance : OpConversionPattern<AdvanceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AdvanceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> parts(adaptor.getPtr());
    for (auto [part, increment] :
         llvm::zip_equal(MutableArrayRef(parts).take_back(op.getOffsets().size()), op.getOffsets()))
      part = arith::AddIOp::create(rewriter, op.getLoc(), part, increment);
    rewriter.replaceOpWithMultiple(op, {parts});
    return success();
  }
};

struct LoadBlock : OpConversionPattern<LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    RankedTensorType block = blockOf(op.getPtr().getType());
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Access access = accessOf(builder, block, adaptor.getPtr(), op.getBoundaryCheck());
    PaddingOption padding = op.getPadding().value_or(PaddingOption::Zero);
    Value other = access.mask ? paddingTile(builder, block, padding) : Value();
    auto load = LoadOp::create(builder, block, access.pointers, access.mask, other, ArrayRef<int32_t>(),
                               PaddingOptionAttr(), op.cacheModifier(), op.evictionPolicy(), op.getIsVolatile());
    load->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.replaceOp(op, load);
    return success();
  }
};

struct StoreBlock : OpConversionPattern<StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(StoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Access access = accessOf(builder, blockOf(op.getPtr().getType()), adaptor.getPtr(), op.getBoundaryCheck());
    auto store = StoreOp::create(builder, access.pointers, op.getValue(), access.mask, ArrayRef<int32_t>(),
                                 op.cacheModifier(), op.evictionPolicy());
    store->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.replaceOp(op, store);
    return success();
  }
};

LogicalResult checkFunction(FuncOp function) {
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (isBlockPointer(type))
      return refuseArgument(function, index, "block pointer",
                            "pass base, shape and strides, and form the block pointer in the kernel");
  }
  return success();
}

struct ExpandBlockPointersPass : heddle::impl::ExpandBlockPointersPassBase<ExpandBlockPointersPass> {
  void runOnOperation() override {
    WalkResult checked = getOperation()->walk([](FuncOp function) {
      return failed(checkFunction(function)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (checked.wasInterrupted())
      return signalPassFailure();
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](PointerType type, SmallVectorImpl<Type> &parts) -> std::optional<LogicalResult> {
      if (!isBlockPointer(type))
        return std::nullopt;
      int64_t rank = blockOf(type).getRank();
      parts.push_back(basePointerOf(type));
      parts.append(2 * rank, IntegerType::get(type.getContext(), 64));
      parts.append(rank, IntegerType::get(type.getContext(), 32));
      return success();
    });
    RewritePatternSet patterns(&getContext());
    patterns.add<MakePointer, Advance, LoadBlock, StoreBlock>(converter, &getContext());
    if (failed(convertParts(getOperation(), converter, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
