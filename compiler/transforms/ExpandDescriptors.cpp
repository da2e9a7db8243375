// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-expand-descriptors: a tensor descriptor becomes its parts - base, shape, strides, kind of padding - and each
// access through it tiles of pointers with a mask. One that the kernel is given is its base pointer; shape and strides
// are the arguments after it, as Triton launches such kernels.
#include "compiler/transforms/BlockAccess.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"

namespace heddle {
#define GEN_PASS_DEF_EXPANDDESCRIPTORSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::triton;

namespace {

Type signless(Type element) {
  return element.isInteger() ? IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth()) : element;
}

/// The descriptor's block with a signless element.
RankedTensorType blockOf(Type descriptor) {
  RankedTensorType block = cast<TensorDescType>(descriptor).getBlockType();
  return block.clone(signless(block.getElementType()));
}

/// A descriptor's parts in the order in which they are carried: base, shape (i32), strides (i64), and whether elements
/// outside read as NaN instead of zero (i1).
struct Parts {
  Value base;
  ValueRange shape, strides;
  Value isNanPadded;

  Parts(ValueRange all, int64_t rank)
      : base(all[0]), shape(all.slice(1, rank)), strides(all.slice(1 + rank, rank)), isNanPadded(all.back()) {}
};

Access accessAt(ImplicitLocOpBuilder &builder, const Parts &parts, ValueRange coordinates) {
  auto all = llvm::to_vector(llvm::seq<int32_t>(0, coordinates.size()));
  return heddle::triton::accessAt(builder, parts.base, coordinates, parts.shape, parts.strides, all);
}

Access blockAt(ImplicitLocOpBuilder &builder, const Parts &parts, RankedTensorType block, ValueRange indices) {
  return accessAt(builder, parts, coordinatesOf(builder, indices, block.getShape()));
}

Access rowsAt(ImplicitLocOpBuilder &builder, const Parts &parts, RankedTensorType block, Value rows, Value column) {
  return accessAt(builder, parts, {toI64(builder, rows), consecutive(builder, column, block.getDimSize(1))});
}

Value load(ImplicitLocOpBuilder &builder, const Parts &parts, Access access, CacheModifier cache = CacheModifier::None,
           EvictionPolicy evict = EvictionPolicy::Normal) {
  auto type = cast<RankedTensorType>(valueTypeOf(access.pointers.getType()));
  Value other = paddingTile(builder, type, PaddingOption::Zero);
  if (isa<FloatType>(type.getElementType()) && !matchPattern(parts.isNanPadded, m_Zero())) {
    Value nan = paddingTile(builder, type, PaddingOption::Nan);
    other = builder.createOrFold<arith::SelectOp>(parts.isNanPadded, nan, other);
  }
  return LoadOp::create(builder, type, access.pointers, access.mask, other, ArrayRef<int32_t>(), PaddingOptionAttr(),
                        cache, evict);
}

/// `tile` in the shape `type`, when they differ: accesses may drop leading dimensions of size 1.
Value inShape(ImplicitLocOpBuilder &builder, Value tile, RankedTensorType type) {
  return tile.getType() == type ? tile : Value(ReshapeOp::create(builder, type, tile, false, false));
}

template <typename Op>
Parts partsOf(Op op, typename OpConversionPattern<Op>::OneToNOpAdaptor adaptor) {
  return Parts(adaptor.getDesc(), blockOf(op.getDesc().getType()).getRank());
}

struct MakeDescriptor : OpConversionPattern<MakeTensorDescOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MakeTensorDescOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Value base = op.getBase();
    Type expected = PointerType::get(blockOf(op.getType()).getElementType());
    if (base.getType() != expected)
      base = BitcastOp::create(builder, expected, base);
    SmallVector<Value> parts = {base};
    llvm::append_range(parts, op.getShape());
    llvm::append_range(parts, op.getStrides());
    parts.push_back(arith::ConstantOp::create(builder, builder.getBoolAttr(op.getPadding() == PaddingOption::Nan)));
    rewriter.replaceOpWithMultiple(op, {parts});
    return success();
  }
};

struct Load : OpConversionPattern<DescriptorLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(DescriptorLoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Parts parts = partsOf(op, adaptor);
    Access access = blockAt(builder, parts, blockOf(op.getDesc().getType()), op.getIndices());
    Value tile = load(builder, parts, access, op.cacheModifier(), op.evictionPolicy());
    rewriter.replaceOp(op, inShape(builder, tile, cast<RankedTensorType>(op.getType())));
    return success();
  }
};

struct Store : OpConversionPattern<DescriptorStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(DescriptorStoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    RankedTensorType block = blockOf(op.getDesc().getType());
    Access access = blockAt(builder, partsOf(op, adaptor), block, op.getIndices());
    StoreOp::create(builder, access.pointers, inShape(builder, op.getSrc(), block), access.mask);
    rewriter.eraseOp(op);
    return success();
  }
};

struct Gather : OpConversionPattern<DescriptorGatherOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(DescriptorGatherOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Parts parts = partsOf(op, adaptor);
    RankedTensorType block = blockOf(op.getDesc().getType());
    rewriter.replaceOp(op, load(builder, parts, rowsAt(builder, parts, block, op.getXOffsets(), op.getYOffset())));
    return success();
  }
};

struct Scatter : OpConversionPattern<DescriptorScatterOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(DescriptorScatterOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Access access =
        rowsAt(builder, partsOf(op, adaptor), blockOf(op.getDesc().getType()), op.getXOffsets(), op.getYOffset());
    StoreOp::create(builder, access.pointers, op.getSrc(), access.mask);
    rewriter.eraseOp(op);
    return success();
  }
};

/// The atomic that does to one element what the reduction does to a block; none when there is no such atomic.
std::optional<RMWOp> atomicOf(DescriptorReduceOp op) {
  Type element = op.getDesc().getType().getBlockType().getElementType();
  bool isFloat = isa<FloatType>(element), isUnsigned = element.isUnsignedInteger();
  if (op.getKind() == DescriptorReduceKind::Add)
    return isFloat ? RMWOp::FAdd : RMWOp::Add;
  if (isFloat)
    return std::nullopt;
  switch (op.getKind()) {
  case DescriptorReduceKind::Min:
    return isUnsigned ? RMWOp::UMin : RMWOp::Min;
  case DescriptorReduceKind::Max:
    return isUnsigned ? RMWOp::UMax : RMWOp::Max;
  case DescriptorReduceKind::And:
    return RMWOp::And;
  case DescriptorReduceKind::Or:
    return RMWOp::Or;
  case DescriptorReduceKind::Xor:
    return RMWOp::Xor;
  default:
    return std::nullopt;
  }
}

struct Reduce : OpConversionPattern<DescriptorReduceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(DescriptorReduceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    RankedTensorType block = blockOf(op.getDesc().getType());
    Access access = blockAt(builder, partsOf(op, adaptor), block, op.getIndices());
    AtomicRMWOp::create(builder, block, *atomicOf(op), access.pointers, inShape(builder, op.getSrc(), block),
                        access.mask, MemSemantic::Relaxed, MemScope::Gpu);
    rewriter.eraseOp(op);
    return success();
  }
};

/// Whether argument `index`, a descriptor, is followed by its sizes, of 32 bits, and strides, of 64.
bool hasShapeArguments(FuncOp function, size_t index) {
  auto rank = size_t(cast<TensorDescType>(function.getArgumentTypes()[index]).getBlockType().getRank());
  ArrayRef<Type> after = function.getArgumentTypes().drop_front(index + 1);
  if (!function.isPublic() || after.size() < 2 * rank)
    return false;
  return llvm::all_of(after.take_front(rank), [](Type type) { return type.isInteger(32); }) &&
         llvm::all_of(after.slice(rank, rank), [](Type type) { return type.isInteger(64); });
}

LogicalResult checkFunction(FuncOp function) {
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isa<TensorDescType>(type) ? !hasShapeArguments(function, index)
                                  : bool(function.getArgAttr(index, "tt.nv_tma_desc")))
      return refuseArgument(function, index, "tensor descriptor",
                            "pass it with its sizes (i32) and strides (i64) as the arguments after it, or pass "
                            "pointer, shape and strides, and call `make_tensor_descriptor` in the kernel");
  return success();
}

/// Makes each descriptor that the kernel is given of the arguments from it on, before all else. What is outside the
/// tensor reads as zero: that it be NaN is said in the launch, to the chip's own descriptor.
void makeArguments(FuncOp function) {
  if (function.isExternal())
    return;
  SmallVector<Type> types(function.getArgumentTypes());
  Block &entry = function.getBody().front();
  ImplicitLocOpBuilder builder(function.getLoc(), function.getContext());
  builder.setInsertionPointToStart(&entry);
  for (auto [index, type] : llvm::enumerate(types)) {
    auto descriptor = dyn_cast<TensorDescType>(type);
    if (!descriptor)
      continue;
    BlockArgument base = entry.getArgument(unsigned(index));
    int64_t rank = descriptor.getBlockType().getRank();
    ValueRange after = ValueRange(entry.getArguments()).drop_front(index + 1);
    type = PointerType::get(blockOf(descriptor).getElementType());
    auto made = MakeTensorDescOp::create(builder, descriptor, base, after.take_front(size_t(rank)),
                                         after.slice(size_t(rank), size_t(rank)));
    base.replaceAllUsesExcept(made, made);
    base.setType(type);
    function.removeArgAttr(unsigned(index), "tt.nv_tma_desc");
  }
  function.setType(FunctionType::get(function.getContext(), types, function.getResultTypes()));
}

LogicalResult checkOperation(Operation *op) {
  if (auto function = dyn_cast<FuncOp>(op))
    return checkFunction(function);
  if (auto reduce = dyn_cast<DescriptorReduceOp>(op); reduce && !atomicOf(reduce))
    return op->emitError("descriptor reduction `")
           << stringifyDescriptorReduceKind(reduce.getKind()) << "` of "
           << reduce.getDesc().getType().getBlockType().getElementType() << " is not supported";
  return success();
}

struct ExpandDescriptorsPass : heddle::impl::ExpandDescriptorsPassBase<ExpandDescriptorsPass> {
  void runOnOperation() override {
    WalkResult checked = getOperation()->walk(
        [](Operation *op) { return failed(checkOperation(op)) ? WalkResult::interrupt() : WalkResult::advance(); });
    if (checked.wasInterrupted())
      return signalPassFailure();
    getOperation()->walk(makeArguments);
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](TensorDescType type, SmallVectorImpl<Type> &parts) -> std::optional<LogicalResult> {
      RankedTensorType block = blockOf(type);
      parts.push_back(PointerType::get(block.getElementType()));
      parts.append(block.getRank(), IntegerType::get(type.getContext(), 32));
      parts.append(block.getRank(), IntegerType::get(type.getContext(), 64));
      parts.push_back(IntegerType::get(type.getContext(), 1));
      return success();
    });
    RewritePatternSet patterns(&getContext());
    patterns.add<MakeDescriptor, Load, Store, Gather, Scatter, Reduce>(converter, &getContext());
    if (failed(convertParts(getOperation(), converter, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
