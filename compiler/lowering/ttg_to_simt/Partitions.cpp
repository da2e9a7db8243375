// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Specialised warps: each partition becomes a function of its own, which computes again what it uses of the kernel's
// values. Memory objects that several use are the same bytes (`common`).
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/lowering/simt/PartitionWarps.h"
#include "compiler/lowering/ttg_to_simt/TtgToSimt.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include <numeric>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
namespace ttg = heddle::triton::gpu;
namespace tt = heddle::triton;

void simt::dropCaptures(ModuleOp module) {
  module.walk([](ttg::WarpSpecializeOp op) {
    SmallVector<Value> captures(op.getCaptures());
    for (Region &partition : op.getPartitions()) {
      for (auto [argument, value] : llvm::zip(partition.getArguments(), captures))
        argument.replaceAllUsesWith(value);
      partition.front().eraseArguments([](BlockArgument) { return true; });
    }
    op.getCapturesMutable().clear();
  });
}

/// The first warp of each partition: larger ones first, so that four warps that multiply together are a group.
static SmallVector<int64_t> firstWarps(ttg::WarpSpecializeOp op, int64_t kernelWarps) {
  ArrayRef<int32_t> warps = op.getPartitionNumWarps();
  SmallVector<int64_t> starts(warps.size());
  if (std::optional<ArrayRef<int32_t>> given = op.getWarpGroupStartIds(); given && given->size() == warps.size()) {
    llvm::copy(*given, starts.begin());
    return starts;
  }
  SmallVector<size_t> order(warps.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::sort(order, [&](size_t a, size_t b) { return std::pair(-warps[a], a) < std::pair(-warps[b], b); });
  constexpr uint64_t warpsOfGroup = 4;
  int64_t next = int64_t(llvm::alignTo(uint64_t(kernelWarps), warpsOfGroup));
  for (size_t number : order) {
    starts[number] = next;
    next += warps[number];
  }
  return starts;
}

namespace {

/// Makes the function of one partition.
class PartitionMaker {
public:
  PartitionMaker(tt::FuncOp kernel, int64_t &nextCommon) : kernel(kernel), nextCommon(nextCommon) {}
  FailureOr<tt::FuncOp> make(Region &region, StringRef name, int64_t warps, int64_t firstWarp, int64_t registers);

private:
  FailureOr<Value> get(Value value, Operation *user);

  tt::FuncOp kernel, made;
  int64_t &nextCommon;
  Operation *begin = nullptr; ///< what is computed again goes before it
  DenseMap<Value, Value> known;
};

} // namespace

/// Values that an operation uses from outside of it, in its regions too.
static llvm::SetVector<Value> usedBy(Operation *op) {
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  return used;
}

FailureOr<Value> PartitionMaker::get(Value value, Operation *user) {
  if (Value found = known.lookup(value))
    return found;
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == &kernel.getBody().front())
    return known[value] = made.getArgument(argument.getArgNumber());
  Operation *op = value.getDefiningOp();
  bool isMemory = isa_and_nonnull<AllocOp>(op);
  if (!op || (!isMemory && !isMemoryEffectFree(op)))
    return user->emitError()
           << "a partition of specialised warps uses a value that the kernel loads or computes in a loop: "
              "give it to the partition by shared memory, or compute it there";
  IRMapping mapping;
  for (Value each : usedBy(op)) {
    FailureOr<Value> inner = get(each, user);
    if (failed(inner))
      return failure();
    mapping.map(each, *inner);
  }
  OpBuilder b(begin);
  if (auto alloc = dyn_cast<AllocOp>(op); alloc && !alloc.getCommon())
    alloc.setCommon(uint64_t(nextCommon++));
  Operation *copy = b.clone(*op, mapping);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    known[from] = to;
  return known[value];
}

FailureOr<tt::FuncOp> PartitionMaker::make(Region &region, StringRef name, int64_t warps, int64_t firstWarp,
                                           int64_t registers) {
  OpBuilder b(kernel->getContext());
  b.setInsertionPointAfter(kernel);
  made = makePartition(b, kernel, name, {warps, firstWarp, registers});
  made->setLoc(region.getLoc());
  Block &entry = made.getBody().front();
  entry.getOperations().splice(entry.end(), region.front().getOperations());
  made.getBody().getBlocks().splice(made.getBody().end(), region.getBlocks(), std::next(region.begin()), region.end());
  begin = &entry.front();
  SmallVector<Operation *> ops;
  made.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    for (OpOperand &operand : op->getOpOperands())
      if (!made.getBody().isAncestor(operand.get().getParentRegion())) {
        FailureOr<Value> value = get(operand.get(), op);
        if (failed(value))
          return failure();
        operand.set(*value);
      }
    if (isa<ttg::WarpReturnOp>(op)) {
      b.setInsertionPoint(op);
      tt::ReturnOp::create(b, op->getLoc(), ValueRange());
      op->erase();
    }
  }
  return made;
}

LogicalResult simt::makePartitions(ModuleOp module, tt::FuncOp kernel, const TtgModule &about) {
  SmallVector<ttg::WarpSpecializeOp> found;
  kernel.walk([&](ttg::WarpSpecializeOp op) { found.push_back(op); });
  int64_t common = 0;
  size_t number = 0;
  for (ttg::WarpSpecializeOp op : found) {
    if (!op.getDefaultRegion().hasOneBlock() || op->getBlock() != &kernel.getBody().front())
      return op.emitOpError("has a default region of several blocks, or follows a branch: warps are specialised in "
                            "straight code of the kernel");
    SmallVector<int64_t> starts = firstWarps(op, about.warps);
    SmallVector<Attribute> names;
    for (auto [i, region] : llvm::enumerate(op.getPartitions())) {
      std::string name = (kernel.getName() + ".partition" + llvm::Twine(number++)).str();
      int64_t registers = op.getRequestedRegisters() ? (*op.getRequestedRegisters())[i] : 0;
      FailureOr<tt::FuncOp> made =
          PartitionMaker(kernel, common).make(region, name, op.getPartitionNumWarps()[i], starts[i], registers);
      if (failed(made))
        return failure();
      names.push_back(FlatSymbolRefAttr::get(kernel->getContext(), name));
    }
    OpBuilder b(op);
    StartPartitionsOp::create(b, op.getLoc(), b.getArrayAttr(names));
    Block &body = op.getDefaultRegion().front();
    Operation *yield = body.getTerminator();
    op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations(), body.begin(), yield->getIterator());
    JoinPartitionsOp::create(b, op.getLoc());
    op->replaceAllUsesWith(yield->getOperands());
    op->erase();
  }
  return success();
}
