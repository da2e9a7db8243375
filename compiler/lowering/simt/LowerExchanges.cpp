// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that exchange elements among threads by their nature: histograms, gathers, matmuls element by element, and
// what one thread does and all must know.
#include "binary/LaunchRecord.h"
#include "compiler/analysis/Uniformity.h"
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::LinearLayout;

namespace {

class ExchangeLowering {
public:
  ExchangeLowering(FuncOp function, const GpuTarget &target, int warps)
      : b(function.getLoc(), function.getContext()), function(function), target(target),
        block{target.lanesPerWarp(), warps}, order(function, block), uniformity(function) {}
  LogicalResult run();

private:
  LogicalResult lower(Operation *op);
  void lower(TileHistogramOp op);
  void lower(TileGatherOp op);
  LogicalResult lower(MatrixDotOp op);
  void lower(triton::PrintOp op);
  void tellAll(Operation *op, Type accessed);
  void sinkReads();
  Value constant(RankedTensorType tile, int64_t value);
  Value asIndex(Value tile);
  int64_t freeBytes();

  ImplicitLocOpBuilder b;
  FuncOp function;
  const GpuTarget &target;
  BlockShape block;
  GlobalOrder order;
  analysis::Uniformity uniformity;
};

} // namespace

Value ExchangeLowering::constant(RankedTensorType tile, int64_t value) {
  Attribute element = b.getIntegerAttr(tile.getElementType(), value);
  return arith::ConstantOp::create(b, DenseElementsAttr::get(tile, element));
}

/// As i32, of any width.
Value ExchangeLowering::asIndex(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  unsigned bits = type.getElementTypeBitWidth();
  Type word = type.clone(b.getI32Type());
  return bits > 32   ? Value(arith::TruncIOp::create(b, word, tile))
         : bits < 32 ? Value(arith::ExtUIOp::create(b, word, tile))
                     : tile;
}

//===-- Histogram and gather -------------------------------------------------------------------------------------===//

void ExchangeLowering::lower(TileHistogramOp op) {
  auto bins = cast<RankedTensorType>(op.getType()), source = cast<RankedTensorType>(op.getSource().getType());
  auto counts = cast<RankedTensorType>(bins.clone(b.getI32Type())),
       ones = cast<RankedTensorType>(source.clone(b.getI32Type()));
  int64_t count = bins.getDimSize(0);
  Value memory = makeScratch(b, bins.getShape(), b.getI32Type(), rowMajor(bins.getShape()));
  StoreSharedOp::create(b, constant(counts, 0), memory, Value());
  // A value outside is in no bin.
  Value wide = op.getSource();
  auto wideType = cast<RankedTensorType>(source.clone(b.getI64Type()));
  if (source != wideType)
    wide = arith::ExtSIOp::create(b, wideType, wide);
  Value mask = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, wide, constant(wideType, count));
  if (op.getMask())
    mask = arith::AndIOp::create(b, op.getMask(), mask);
  UpdateSharedOp::create(b, Type(), RMWOp::Add, constant(ones, 1), memory, asIndex(op.getSource()), mask, uint64_t(0));
  Value result = LoadSharedOp::create(b, counts, memory, Value(), Value());
  if (bins.getElementTypeBitWidth() > 32)
    result = arith::ExtUIOp::create(b, bins, result);
  else if (bins.getElementTypeBitWidth() < 32)
    result = arith::TruncIOp::create(b, bins, result);
  op.getCounts().replaceAllUsesWith(result);
}

void ExchangeLowering::lower(TileGatherOp op) {
  auto source = cast<RankedTensorType>(op.getSource().getType());
  Value memory = makeScratch(b, source.getShape(), source.getElementType(), rowMajor(source.getShape()));
  StoreSharedOp::create(b, op.getSource(), memory, Value());
  Value index = asIndex(op.getIndices());
  int64_t last = source.getDimSize(unsigned(op.getAxis())) - 1; // an index outside reads something
  index = arith::AndIOp::create(b, index, constant(cast<RankedTensorType>(index.getType()), last));
  Value result = GatherSharedOp::create(b, op.getType(), memory, index, op.getAxis());
  op.getResult().replaceAllUsesWith(result);
}

//===-- Matmuls element by element -------------------------------------------------------------------------------===//

/// Of shared memory, beside what memory objects of the program take at most.
int64_t ExchangeLowering::freeBytes() {
  int64_t taken = 0;
  function.walk([&](AllocOp alloc) {
    if (!alloc.getScratch())
      taken += int64_t(llvm::alignTo(uint64_t(alloc.getRing().getType().getBytes()), memoryAlignment));
  });
  return target.sharedMemoryBytes() - taken;
}

// In parts along K, so that a part of both operands fits.
LogicalResult ExchangeLowering::lower(MatrixDotOp op) {
  auto a = cast<RankedTensorType>(op.getA().getType()), bb = cast<RankedTensorType>(op.getB().getType()),
       d = cast<RankedTensorType>(op.getType());
  auto rank = int(d.getRank());
  int64_t k = a.getDimSize(rank - 1), depth = k, most = freeBytes();
  auto bytes = [&](RankedTensorType tile) {
    return int64_t(llvm::alignTo(uint64_t(tile.getNumElements() / k * depth * memoryBits(tile.getElementType()) / 8),
                                 scratchAlignment));
  };
  while (bytes(a) + bytes(bb) > most && depth > 1)
    depth /= 2;
  if (bytes(a) + bytes(bb) > most)
    return op.emitOpError() << "needs " << bytes(a) + bytes(bb) << " bytes of shared memory for a column of "
                            << a.cloneWithEncoding({}) << " and a row of " << bb.cloneWithEncoding({})
                            << "; the chip has " << target.sharedMemoryBytes()
                            << " for a block, of which memory objects take " << target.sharedMemoryBytes() - most
                            << ": take smaller tiles";
  Type element = d.getElementType(),
       computed = isa<IntegerType>(element) || element.isF64() ? element : Type(b.getF32Type());
  Value sum = op.getC();
  if (element != computed)
    sum = arith::ExtFOp::create(b, d.clone(computed), sum);
  for (int64_t part = 0; part < k / depth; ++part) {
    Value left = makeScratch(b, a.getShape(), a.getElementType(), rowMajorParts(a.getShape(), rank - 1, depth));
    Value right = makeScratch(b, bb.getShape(), bb.getElementType(), rowMajorParts(bb.getShape(), rank - 2, depth));
    StoreSharedOp::create(b, op.getA(), left, Value(), part);
    StoreSharedOp::create(b, op.getB(), right, Value(), part);
    sum = DotScratchOp::create(b, sum.getType(), left, right, sum);
  }
  if (element != computed)
    sum = arith::TruncFOp::create(b, d, sum);
  op.getD().replaceAllUsesWith(sum);
  return success();
}

//===-- What one thread does -------------------------------------------------------------------------------------===//

// One thread asks for room and tells the others where it is; then each writes what it has.
void ExchangeLowering::lower(triton::PrintOp op) {
  SmallVector<Value> places;
  auto add = [&](int64_t lines, int64_t elementBytes) {
    Value room =
        PrintRoomOp::create(b, b.getI64Type(), uint64_t(lines), uint64_t(printPieceBytes(lines, elementBytes)));
    places.push_back(exchangeScalar(b, room, block));
  };
  if (op.getArgs().empty())
    add(1, 0);
  for (Value value : op.getArgs()) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    add(tile ? tile.getNumElements() : 1, memoryBits(elementTypeOf(value.getType())) / 8);
  }
  simt::PrintOp::create(b, op.getPrefix(), op.getHex(), op.getArgs(), places, op.getIsSigned());
}

/// Results that the owners of elements of `accessed` have, in all threads.
void ExchangeLowering::tellAll(Operation *op, Type accessed) {
  if (op->use_empty() || isForExchange(op) || !block.copies(accessed))
    return;
  b.setInsertionPointAfter(op);
  Value result = op->getResult(0);
  SmallVector<OpOperand *> uses = llvm::to_vector(llvm::make_pointer_range(result.getUses()));
  Value all = isa<RankedTensorType>(result.getType()) ? exchange(b, result) : exchangeScalar(b, result, block);
  for (OpOperand *use : uses)
    use->set(all);
}

LogicalResult ExchangeLowering::lower(Operation *op) {
  LogicalResult status = success();
  bool isReplaced = true;
  b.setInsertionPoint(op);
  b.setLoc(op->getLoc());
  llvm::TypeSwitch<Operation *>(op)
      .Case<TileHistogramOp, TileGatherOp, triton::PrintOp>([&](auto each) { lower(each); })
      .Case([&](MatrixDotOp dot) {
        isReplaced = !dot.getInstruction() && !dot.getWarpGroups();
        if (isReplaced)
          status = lower(dot);
      })
      .Default([&](Operation *) {
        isReplaced = false;
        auto load = dyn_cast<GlobalLoadOp>(op);
        bool isTile = isa<GlobalWaitOp>(op) && isa<RankedTensorType>(op->getOperand(0).getType());
        if (isa<GlobalUpdateOp, BufferUpdateOp, GlobalSwapOp, GlobalAtomicLoadOp>(op) || isTile ||
            (load && !order.isLoadedByOwner(load) && order.mustAgree(load)))
          tellAll(op, op->getOperand(0).getType());
        else if (auto update = dyn_cast<UpdateSharedOp>(op))
          tellAll(op, update.getTile().getType());
      });
  if (isReplaced && succeeded(status))
    op->erase();
  return status;
}

/// Whether a read of a ring may go past `op`, which accesses scratch memory or no shared memory at all.
static bool leavesRings(Operation *op) {
  auto isScratch = [](Value memory) {
    auto alloc = memory.getDefiningOp<AllocOp>();
    return alloc && alloc.getScratch();
  };
  if (auto store = dyn_cast<StoreSharedOp>(op))
    return isScratch(store.getRing());
  return isMemoryEffectFree(op) || isa<AllocOp, GlobalLoadOp, LoadSharedOp>(op);
}

// What matmuls read from a ring is read where they stand, not before an exchange: until then it would live in
// registers.
void ExchangeLowering::sinkReads() {
  SmallVector<LoadSharedOp> loads;
  function.walk([&](LoadSharedOp load) { loads.push_back(load); });
  for (LoadSharedOp load : loads) {
    auto dot = load.getTile().hasOneUse() ? dyn_cast<MatrixDotOp>(*load.getTile().user_begin()) : MatrixDotOp();
    if (!dot || !load.getStage() || dot->getBlock() != load->getBlock())
      continue;
    bool mayMove = true, passesExchange = false;
    for (Operation *between = load->getNextNode(); between != dot; between = between->getNextNode()) {
      mayMove &= leavesRings(between);
      passesExchange |= isa<StoreSharedOp>(between);
    }
    if (mayMove && passesExchange)
      load->moveBefore(dot);
  }
}

LogicalResult ExchangeLowering::run() {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    bool isDivergent = uniformity.isDivergent(op->getBlock()),
         needsAll = isa<TileHistogramOp, TileGatherOp, triton::PrintOp>(op);
    if (isDivergent && needsAll)
      return op->emitOpError("cannot be compiled: it stands in a branch that not all threads take");
    if (!isDivergent && failed(lower(op)))
      return failure();
  }
  sinkReads();
  return success();
}

LogicalResult simt::lowerExchanges(ModuleOp module, const GpuTarget &target, int warps) {
  for (auto function : module.getOps<FuncOp>())
    if (failed(ExchangeLowering(function, target, warpsOf(function, warps)).run()))
      return failure();
  return success();
}
