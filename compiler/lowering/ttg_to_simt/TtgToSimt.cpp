// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two steps: all values get the types of the simt level in place, then operations of `ttg`, `amdg` and `ttng` are
// replaced.
// What is known of addresses is asked before, because the analysis goes through the operations of the text.
#include "compiler/lowering/ttg_to_simt/TtgToSimt.h"
#include "compiler/analysis/Access.h"
#include "compiler/layout/Axes.h"
#include "compiler/lowering/simt/Accesses.h"
#include "compiler/lowering/simt/CarryRingNumbers.h"
#include "compiler/lowering/simt/DirectCopy.h"
#include "compiler/lowering/ttg_to_simt/CopyAdvice.h"
#include "compiler/lowering/ttg_to_simt/EncodingLayouts.h"
#include "compiler/lowering/ttg_to_simt/HopperOps.h"
#include "compiler/lowering/ttg_to_simt/ScaledOps.h"
#include "compiler/lowering/ttg_to_simt/ThreadAssembly.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::Dim;
using layout::LinearLayout;
namespace ttg = heddle::triton::gpu;
namespace amdg = heddle::triton::amdg;
namespace tt = heddle::triton;

namespace {

class Converter {
public:
  Converter(tt::FuncOp function, const GpuTarget &target, const TtgModule &about)
      : function(function), target(target), threads{about.lanes, about.warps}, facts(function) {}

  LogicalResult run() {
    noteText();
    if (failed(retype()))
      return failure();
    takeDescriptors(function);
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (failed(convert(op)))
        return failure();
    return success();
  }

private:
  //===-- What the text says -------------------------------------------------------------------------------------===//
  void noteText() {
    function.walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp>([&](auto access) {
            Value pointer = access.getPtr();
            if (!isa<RankedTensorType>(pointer.getType()))
              return;
            analysis::Order order = analysis::accessOrder(facts, pointer);
            widths[op] = {order[0], analysis::alignedElements(facts, pointer, access.getMask(), order)};
          })
          .Case([&](tt::DotOp dot) {
            auto encodingOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getEncoding(); };
            products[op] = {encodingOf(dot.getA()), encodingOf(dot.getB()), encodingOf(dot.getC()),
                            encodingOf(dot.getD())};
          })
          .Case([&](tt::DotScaledOp dot) { scaledResults[op] = cast<RankedTensorType>(dot.getType()).getEncoding(); })
          .Case<ttg::AsyncCopyOp>([&](auto copy) {
            analysis::Order order = analysis::accessOrder(facts, copy.getSrc());
            widths[op] = {order[0], analysis::alignedElements(facts, copy.getSrc(), copy.getMask(), order)};
            unmasked[op] = analysis::alignedElements(facts, copy.getSrc(), Value(), order);
          })
          .Case<amdg::BufferLoadToLocalOp>([&](auto copy) {
            int64_t promised = copy.getContiguity() ? int64_t(*copy.getContiguity()) : 1;
            widths[op] = bufferWidth(copy.getPtr(), copy.getOffsets(), copy.getMask(), promised);
            unmasked[op] = bufferWidth(copy.getPtr(), copy.getOffsets(), Value(), promised).elements;
          })
          .Case<amdg::BufferLoadOp, amdg::BufferStoreOp>([&](auto access) {
            int64_t promised = access.getContiguity() ? int64_t(*access.getContiguity()) : 1;
            widths[op] = bufferWidth(access.getPtr(), access.getOffsets(), access.getMask(), promised);
          });
    });
  }

  AccessWidth bufferWidth(Value pointer, Value offsets, Value mask, int64_t promised) {
    analysis::Order order = analysis::accessOrder(facts, offsets);
    const analysis::Axis &axis = facts.of(offsets).axes[size_t(order[0])];
    Type pointee = cast<tt::PointerType>(pointer.getType()).getPointeeType();
    int64_t bytes = std::max<int64_t>(1, tt::elementBits(pointee) / 8);
    int64_t aligned = std::max<int64_t>(1, facts.of(pointer).axes[0].divisibility / bytes);
    int64_t elements = std::min({axis.contiguity, axis.divisibility, aligned});
    elements = std::max(elements, int64_t(llvm::bit_floor(uint64_t(std::max<int64_t>(1, promised)))));
    if (mask)
      elements = std::min(elements, facts.of(mask).axes[size_t(order[0])].constancy);
    return {order[0], std::max<int64_t>(1, elements)};
  }

  /// Registers that one instruction takes, of 16 bytes at most.
  int64_t registersOfAccess(Operation *op, RankedTensorType tile) {
    return contiguousRegisters(layoutOf(tile), widths.lookup(op), 128 / memoryBits(tile.getElementType()));
  }

  //===-- Types --------------------------------------------------------------------------------------------------===//
  FailureOr<Type> convertType(Type type, int64_t warps, EmitError emitError) {
    if (auto descriptor = dyn_cast<tt::TensorDescType>(type))
      return tensorMapType(descriptor, emitError);
    if (auto memory = dyn_cast<ttg::MemDescType>(type)) {
      FailureOr<SharedType> shared = memoryType(memory, emitError);
      return failed(shared) ? FailureOr<Type>() : FailureOr<Type>(*shared);
    }
    if (isa<ttg::AsyncTokenType>(type)) // a number that nothing computes with: loops may carry it
      return Type(IntegerType::get(type.getContext(), 32));
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!tile)
      return type;
    if (!tile.getEncoding())
      return emitError() << "a tile of " << type << " without a layout among tiles with layouts";
    Type &known = types[{type, warps}];
    if (known)
      return known;
    FailureOr<LinearLayout> layout = tileLayout(tile.getEncoding(), tile.getShape(), {threads.lanes, warps}, emitError);
    if (failed(layout))
      return failure();
    return known = withLayout(tile, *layout);
  }

  LogicalResult retype(Value value, Location loc) {
    int64_t warps = ttg::warpsIn(value.getParentRegion(), int(threads.warps));
    FailureOr<Type> type = convertType(value.getType(), warps, [&] { return emitError(loc); });
    if (failed(type))
      return failure();
    value.setType(*type);
    return success();
  }

  /// That of a user where folding has made the operation.
  static Location positionOf(Operation *op) {
    if (isa<UnknownLoc>(op->getLoc()))
      for (Operation *user : op->getUsers())
        if (!isa<UnknownLoc>(user->getLoc()))
          return user->getLoc();
    return op->getLoc();
  }

  LogicalResult retype() {
    WalkResult result = function.walk([&](Operation *op) {
      for (Value value : op->getResults())
        if (failed(retype(value, positionOf(op))))
          return WalkResult::interrupt();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            if (failed(retype(argument, argument.getLoc())))
              return WalkResult::interrupt();
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        if (auto tile = dyn_cast<RankedTensorType>(op->getResult(0).getType()))
          constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).reshape(tile));
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  //===-- Operations ---------------------------------------------------------------------------------------------===//
  LogicalResult convert(Operation *op) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    if (auto hint = op->getAttrOfType<StringAttr>(amdg::registerClassAttribute))
      op->emitRemark() << "`" << amdg::registerClassAttribute << " = \"" << hint.getValue()
                       << "\"` has no effect: LLVM chooses which registers hold the accumulators";
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<ttg::ConvertLayoutOp, amdg::InThreadTransposeOp>([&](auto from) {
          if (from.getSrc().getType() == from.getType())
            return replace(op, from.getSrc());
          return replace(op, ConvertLayoutOp::create(b, loc, from.getType(), from.getSrc()));
        })
        .Case([&](amdg::ExtractSliceOp from) {
          return replace(op, ExtractSliceOp::create(b, loc, from.getType(), from.getSrc(), from.getStaticOffsets()));
        })
        .Case([&](ttg::LocalAllocOp from) {
          auto ring = AllocOp::create(b, loc, cast<SharedType>(op->getResult(0).getType()));
          if (from.getSrc())
            StoreSharedOp::create(b, loc, from.getSrc(), ring, Value());
          return replace(op, ring);
        })
        .Case([&](amdg::ConcatOp from) {
          return replace(op, ConcatOp::create(b, loc, from.getType(), from.getSources()));
        })
        .Case([&](ttg::InlineAsmOp assembly) { return convertThreadAssembly(assembly); })
        .Case([&](ttg::WarpIdOp) { return replace(op, WarpIdOp::create(b, loc, b.getI32Type())); })
        .Case([&](ttg::LocalGatherOp from) {
          return replace(
              op, GatherSharedOp::create(b, loc, from.getType(), op->getOperand(0), from.getIndices(), from.getAxis()));
        })
        .Case([&](ttg::LocalScatterOp from) {
          ScatterSharedOp::create(b, loc, from.getValues(), op->getOperand(0), from.getIndices(), from.getAxis());
          return erase(op);
        })
        .Case([&](ttg::LocalAtomicScatterRMWOp from) {
          Type old = op->use_empty() ? Type() : from.getType();
          auto update = UpdateSharedOp::create(b, loc, old, from.getAtomicRmwOp(), from.getValues(), op->getOperand(0),
                                               from.getIndices(), from.getMask(), from.getAxis());
          return old ? replace(op, update.getOld()) : erase(op);
        })
        .Case([&](ttg::LocalDeallocOp) { return erase(op); })
        .Case([&](ttg::LocalLoadOp from) {
          return replace(op, LoadSharedOp::create(b, loc, from.getType(), op->getOperand(0), Value(), Value()));
        })
        .Case([&](amdg::LocalLoadPackedTransposedOp from) {
          return replace(op, LoadRepackedOp::create(b, loc, from.getType(), op->getOperand(0)));
        })
        .Case([&](ttg::LocalStoreOp from) {
          StoreSharedOp::create(b, loc, from.getSrc(), op->getOperand(1), Value());
          return erase(op);
        })
        .Case([&](ttg::MemDescIndexOp from) {
          return replace(op, IndexOp::create(b, loc, op->getResult(0).getType(), op->getOperand(0), from.getIndex()));
        })
        .Case([&](ttg::MemDescSubsliceOp from) {
          SmallVector<int64_t> offsets(from.getOffsets().begin(), from.getOffsets().end());
          return replace(op, SubsliceOp::create(b, loc, op->getResult(0).getType(), op->getOperand(0), offsets));
        })
        .Case([&](ttg::AsyncCommitGroupOp) {
          AsyncCommitOp::create(b, loc);
          return replace(op, noToken(b, loc));
        })
        .Case([&](ttg::AsyncWaitOp wait) {
          AsyncWaitOp::create(b, loc, uint64_t(wait.getNum()));
          return replace(op, noToken(b, loc));
        })
        .Case([&](amdg::AsyncWaitOp wait) {
          AsyncWaitOp::create(b, loc, uint64_t(0)).setInstructions(uint64_t(wait.getNumInst()));
          return replace(op, noToken(b, loc));
        })
        .Case([&](amdg::BufferLoadToLocalOp from) { return convertBufferCopy(from, b); })
        .Case([&](ttg::AsyncCopyOp from) { return convertCopy(from, b); })
        .Case([&](ttg::MemDescTransOp from) {
          auto order = from.getOrder();
          return convertView(op, b, [&](const LinearLayout &layout) {
            return layout::permuteAxes(layout, {order.begin(), order.end()});
          });
        })
        .Case([&](ttg::MemDescReshapeOp) {
          ArrayRef<int64_t> shape = cast<SharedType>(op->getResult(0).getType()).getShape();
          return convertView(
              op, b, [&](const LinearLayout &layout) { return layout::reshape(layout, {shape.begin(), shape.end()}); });
        })
        .Case([&](ttg::MemDescReinterpretOp) {
          return replace(op, ViewOp::create(b, loc, op->getResult(0).getType(), op->getOperand(0)));
        })
        .Case([&](amdg::CondBarrierOp from) {
          CondBarrierOp::create(b, loc, from.getPred());
          return erase(op);
        })
        .Case([&](amdg::BufferLoadOp from) { return convertBufferLoad(from, b); })
        .Case([&](amdg::BufferStoreOp from) { return convertBufferStore(from, b); })
        .Case([&](amdg::BufferAtomicRMWOp from) -> LogicalResult {
          if (target.updatesBuffers(from.getAtomicRmwOp(), tt::elementTypeOf(from.getValue().getType()),
                                    from.getScope())) {
            Type result = op->use_empty() ? Type() : from.getType();
            auto update = BufferUpdateOp::create(b, loc, result, from.getValue(), from.getPtr(), from.getOffsets(),
                                                 from.getMask(), from.getAtomicRmwOp(), from.getSem(), from.getScope());
            return result ? replace(op, update.getResult()) : erase(op);
          }
          if (tt::elementTypeOf(from.getValue().getType()).isF64() && from.getAtomicRmwOp() != tt::RMWOp::FAdd &&
              from.getAtomicRmwOp() != tt::RMWOp::Exchange)
            return op->emitOpError() << "has kind '" << stringifyRMWOp(from.getAtomicRmwOp())
                                     << "' for elements of 'f64' at system scope: the chip has it at `gpu` and `cta`";
          Value places = pointers(b, from.getPtr(), from.getOffsets());
          auto update = GlobalUpdateOp::create(b, loc, from.getType(), from.getAtomicRmwOp(), places, from.getValue(),
                                               from.getMask(), from.getSem(), from.getScope());
          return replace(op, update.getResult());
        })
        .Case([&](amdg::BufferAtomicCASOp from) {
          Value places = pointers(b, from.getPtr(), from.getOffsets());
          auto swap = GlobalSwapOp::create(b, loc, from.getType(), places, from.getCmp(), from.getVal(), Value(),
                                           from.getSem(), from.getScope());
          return replace(op, swap.getResult());
        })
        .Case<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::AtomicLoadOp, tt::AtomicStoreOp,
              tt::AtomicPollOp>([&](auto) {
          auto known = widths.find(op);
          replaceAccess(op, known != widths.end() ? known->second : singleElements(op->getOperand(0).getType()));
          return success();
        })
        .Case([&](tt::DotOp dot) { return convertDot(dot, b); })
        .Case([&](ttg::WarpSpecializeOp) { return success(); }) // the last step
        .Case<ttg::WarpYieldOp, ttg::WarpReturnOp>([&](auto) { return success(); })
        .Case([&](tt::DotScaledOp dot) { return convertScaledDot(dot, scaledResults.lookup(op), target); })
        .Case<ttg::Fp4ToFpOp, amdg::ScaledUpcastFp4Op, amdg::ScaledUpcastFp8Op>(
            [&](auto upcast) { return convertUpcast(upcast); })
        .Case<amdg::ScaledDowncastFp8Op, amdg::ScaledDowncastFp4Op>(
            [&](auto downcast) { return convertDowncast(downcast); })
        .Default([&](Operation *other) {
          if (isa_and_nonnull<tt::nvgpu::NvidiaGpuDialect>(other->getDialect()))
            return convertHopperOp(other, int(ttg::warpsIn(other->getParentRegion(), int(threads.warps))));
          replaceExchange(other);
          return success();
        });
  }

  static LogicalResult replace(Operation *op, Value by) {
    op->getResult(0).replaceAllUsesWith(by);
    op->erase();
    return success();
  }
  static LogicalResult erase(Operation *op) {
    op->erase();
    return success();
  }

  /// Rule V22: each element of the view is the one that `change` of the source's layout says, at the same offset.
  static LogicalResult convertView(Operation *op, OpBuilder &b,
                                   llvm::function_ref<LinearLayout(const LinearLayout &)> change) {
    auto from = cast<SharedType>(op->getOperand(0).getType()), to = cast<SharedType>(op->getResult(0).getType());
    bool isPart = from.getTileElements() != ShapedType::getNumElements(from.getShape());
    if (from.getStages() == 1 && !(isPart && isa<ttg::MemDescReshapeOp>(op)) &&
        (change(from.getLayout()) != to.getLayout() || from.getIntervals() != to.getIntervals() ||
         from.getPaddings() != to.getPaddings()))
      return op->emitOpError() << "makes " << to << " of " << from << ": the elements of the two lie in other places";
    return replace(op, ViewOp::create(b, op->getLoc(), to, op->getOperand(0)));
  }

  Value pointers(OpBuilder &b, Value pointer, Value offsets) {
    auto tile = cast<RankedTensorType>(offsets.getType()).clone(pointer.getType());
    Value all = tt::SplatOp::create(b, offsets.getLoc(), tile, pointer);
    return tt::AddPtrOp::create(b, offsets.getLoc(), tile, all, offsets);
  }

  static tt::CacheModifier cacheOf(tt::CachePolicyAttr policy) {
    return policy ? policy.getCacheModifier() : tt::CacheModifier::None;
  }

  //===-- Copies to shared memory --------------------------------------------------------------------------------===//
  // A copy that the chip cannot make straight to shared memory goes through registers and is over where it stands.
  static Value noToken(OpBuilder &b, Location loc) { return arith::ConstantIntOp::create(b, loc, 0, 32); }

  // Rule K8: a copy is between tiles of one shape and element type.
  LogicalResult checkCopy(Operation *op, RankedTensorType tile, SharedType to) {
    if (tile.getShape() == to.getShape() && to.getStages() == 1)
      return success();
    return op->emitOpError() << "copies a tile of " << tile << " to " << to;
  }

  /// How many elements a lane moves at once where the chip copies straight to shared memory; else 0, and a warning.
  int64_t directElements(Operation *op, RankedTensorType tile, Value memory, Value other) {
    auto to = cast<SharedType>(memory.getType());
    std::string why;
    int64_t elements = 0;
    if (target.hasAsyncCopies())
      return elementsOfThreads(op, tile, memory);
    if (other && !matchPattern(other, m_Zero()) && !matchPattern(other, m_AnyZeroFloat()))
      why = "rule C5: masked elements are to be other values than zero";
    else if (auto plan = planDirectCopy(layoutOf(tile), to, registersOfAccess(op, tile), target, why))
      elements = plan->elements;
    if (int64_t span = elements * target.lanesPerWarp(); elements && !beginsAtSpan(memory, span)) {
      why = ruleOfParts(span);
      elements = 0;
    }
    if (elements)
      return elements;
    auto warning = op->emitWarning() << "`" << op->getName().getStringRef() << "` goes through registers: " << why;
    if (!StringRef(why).starts_with("rule C4") && !StringRef(why).starts_with("rule C5"))
      adviseOnCopy(warning, tile, to, widths.lookup(op), unmasked.lookup(op), threads, target);
    return 0;
  }

  /// How many elements a thread copies by one instruction, where each thread does it for itself.
  int64_t elementsOfThreads(Operation *op, RankedTensorType tile, Value memory) {
    auto to = cast<SharedType>(memory.getType());
    LinearLayout offsets = to.offsetsOf(layoutOf(tile));
    int64_t bytes = to.getElementBytes();
    int64_t inShared = int64_t(1) << layout::contiguousRegisterBits(offsets, 16 / bytes).size();
    int64_t elements = std::min(registersOfAccess(op, tile), inShared);
    if (elements * bytes >= 4 && !to.isPadded())
      return elements;
    op->emitWarning() << "`" << op->getName().getStringRef() << "` goes through registers: a thread copies 4, 8 or 16 "
                      << "bytes at once, and here " << elements * bytes
                      << " bytes are contiguous in global and in shared memory";
    return 0;
  }

  LogicalResult convertBufferCopy(amdg::BufferLoadToLocalOp op, OpBuilder &b) {
    auto to = cast<SharedType>(op.getDestMutable().get().getType());
    auto tile = cast<RankedTensorType>(op.getOffsets().getType()).clone(to.getElementType());
    if (failed(checkCopy(op, tile, to)))
      return failure();
    Value memory = op.getDestMutable().get();
    if (int64_t elements = directElements(op, tile, memory, op.getOther())) {
      AsyncBufferCopyOp::create(b, op.getLoc(), op.getPtr(), op.getOffsets(), memory, Value(), op.getMask(),
                                uint64_t(elements), cacheOf(op.getCachePolicyAttr()));
      return replace(op, noToken(b, op.getLoc()));
    }
    auto load = BufferLoadOp::create(b, op.getLoc(), tile, op.getPtr(), op.getOffsets(), op.getMask(), op.getOther(),
                                     registersOfAccess(op, tile));
    load.setCache(cacheOf(op.getCachePolicyAttr()));
    StoreSharedOp::create(b, op.getLoc(), load, op.getDestMutable().get(), Value());
    return replace(op, noToken(b, op.getLoc()));
  }

  // Without a value for masked elements, what lies in shared memory stays.
  LogicalResult convertCopy(ttg::AsyncCopyOp op, OpBuilder &b) {
    auto to = cast<SharedType>(op.getDstMutable().get().getType());
    auto tile = cast<RankedTensorType>(tt::valueTypeOf(op.getSrc().getType()));
    if (tile.getElementType() != to.getElementType())
      return op.emitOpError() << "copies elements of " << tile.getElementType() << " to " << to;
    if (failed(checkCopy(op, tile, to)))
      return failure();
    Value other = op.getOther();
    if (int64_t elements = directElements(op, tile, op.getDstMutable().get(), other)) {
      AsyncCopyOp::create(b, op.getLoc(), op.getSrc(), op.getDstMutable().get(), Value(), op.getMask(),
                          uint64_t(elements), /*keeps=*/op.getMask() && !other && !target.hasAsyncCopies(),
                          cacheOf(op.getCachePolicyAttr()));
      return replace(op, noToken(b, op.getLoc()));
    }
    if (op.getMask() && target.hasAsyncCopies()) { // what the mask forbids is zero
      auto zero = cast<TypedAttr>(b.getZeroAttr(tile.getElementType()));
      other = arith::ConstantOp::create(b, op.getLoc(), tile, DenseElementsAttr::get(tile, zero));
    } else if (op.getMask() && !other)
      other = LoadSharedOp::create(b, op.getLoc(), tile, op.getDstMutable().get(), Value(), Value());
    auto load = tt::LoadOp::create(b, op.getLoc(), tile, op.getSrc(), op.getMask(), other, ArrayRef<int32_t>(),
                                   tt::PaddingOptionAttr(), cacheOf(op.getCachePolicyAttr()),
                                   tt::EvictionPolicy::Normal, op.getIsVolatile().value_or(false));
    Operation *loaded = replaceAccess(load, widths.lookup(op));
    StoreSharedOp::create(b, op.getLoc(), loaded->getResult(0), op.getDstMutable().get(), Value());
    return replace(op, noToken(b, op.getLoc()));
  }

  LogicalResult convertBufferLoad(amdg::BufferLoadOp op, OpBuilder &b) {
    auto load = BufferLoadOp::create(b, op.getLoc(), op.getType(), op.getPtr(), op.getOffsets(), op.getMask(),
                                     op.getOther(), registersOfAccess(op, cast<RankedTensorType>(op.getType())));
    load.setCache(cacheOf(op.getCachePolicyAttr()));
    return replace(op, load);
  }

  LogicalResult convertBufferStore(amdg::BufferStoreOp op, OpBuilder &b) {
    auto store = BufferStoreOp::create(b, op.getLoc(), op.getValue(), op.getPtr(), op.getOffsets(), op.getMask(),
                                       registersOfAccess(op, cast<RankedTensorType>(op.getValue().getType())));
    store.setCache(cacheOf(op.getCachePolicyAttr()));
    return erase(op);
  }

  LogicalResult convertDot(tt::DotOp op, OpBuilder &b) {
    auto [a, bb, c, d] = products.lookup(op);
    auto left = dyn_cast<ttg::DotOperandAttr>(a), right = dyn_cast<ttg::DotOperandAttr>(bb);
    // Rule K7: operands lie where the result's instruction reads them, and reach as deep as it multiplies.
    if (!left || !right || left.getOpIdx() != 0 || right.getOpIdx() != 1 || left.getParent() != d ||
        right.getParent() != d || c != d)
      return op.emitOpError() << "multiplies tiles in " << a << " and " << bb << " into one in " << d
                              << ": the operands have `#ttg.dot_op` of the result's layout";
    MatrixAttr instruction;
    if (auto mma = dyn_cast<ttg::NvidiaMmaAttr>(d)) {
      if (mma.getVersionMajor() != 2)
        return op.emitOpError() << "has results in " << d << ": `tt.dot` is `mma.sync`, of version 2";
      constexpr int64_t rowBits = 256; // of A, for one instruction
      int64_t bits = cast<RankedTensorType>(op.getA().getType()).getElementTypeBitWidth();
      if (bits == 64) // element by element
        return replace(op, MatrixDotOp::create(b, op.getLoc(), op.getType(), op.getA(), op.getB(), op.getC(),
                                               MatrixAttr(), op.getInputPrecision()));
      instruction = MatrixAttr::get(op.getContext(), 16, 8, rowBits / bits, /*transposed=*/true, Type());
      int64_t depth = cast<RankedTensorType>(op.getA().getType()).getShape().back();
      if (left.getKWidth() != right.getKWidth() || depth < rowBits / bits)
        return op.emitOpError() << "has kWidth " << left.getKWidth() << " and " << right.getKWidth() << " and K "
                                << depth << ": both are alike, and K is " << rowBits / bits << " or more";
    }
    if (auto mfma = dyn_cast<ttg::AmdMfmaAttr>(d)) {
      ArrayRef<int64_t> size = mfma.getInstrShape();
      instruction = MatrixAttr::get(op.getContext(), size[0], size[1], size[2], mfma.getIsTransposed(), Type());
      int64_t depth = cast<RankedTensorType>(op.getA().getType()).getShape().back();
      int64_t least = left.getKWidth() * (threads.lanes / std::min(size[0], size[1]));
      if (left.getKWidth() != right.getKWidth() || depth < least)
        return op.emitOpError() << "has kWidth " << left.getKWidth() << " and " << right.getKWidth() << " and K "
                                << depth << ": both are alike, and K is " << least << " or more";
    }
    auto dot = MatrixDotOp::create(b, op.getLoc(), op.getType(), op.getA(), op.getB(), op.getC(), instruction,
                                   op.getInputPrecision());
    return replace(op, dot);
  }

  tt::FuncOp function;
  const GpuTarget &target;
  BlockThreads threads;
  analysis::AxisAnalysis facts;
  DenseMap<Operation *, AccessWidth> widths;
  DenseMap<Operation *, int64_t> unmasked; ///< of copies, elements whose addresses are contiguous
  /// The encodings of the operands and of the result of products.
  DenseMap<Operation *, std::tuple<Attribute, Attribute, Attribute, Attribute>> products;
  DenseMap<Operation *, Attribute> scaledResults;
  DenseMap<std::pair<Type, int64_t>, Type> types;
};

} // namespace

LogicalResult simt::convertTtgToSimt(ModuleOp module, const GpuTarget &target, const TtgModule &about) {
  module.getContext()->loadDialect<SimtDialect>();
  int count = 0;
  tt::FuncOp function = tt::findKernel(module, count);
  if (!function)
    return module.emitError() << "expected one public 'tt.func', found " << count;
  if (failed(Converter(function, target, about).run()) || failed(makePartitions(module, function, about)))
    return failure();
  for (auto each : module.getOps<tt::FuncOp>()) {
    fitLayouts(each, target, warpsOf(each, about.warps));
    if (failed(makeStages(each)))
      return failure();
    carryRingNumbers(each);
  }
  return mlir::verify(module); // what the rules of `simt` refuse is the text's
}
