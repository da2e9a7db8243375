// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All warps wait at the block's barrier when partitions start and when they have ended. Between, those of each
// partition execute its function, and those of none wait.
#include "compiler/lowering/simt/PartitionWarps.h"
#include "compiler/lowering/simt/ThreadCode.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

static constexpr int64_t registerWarps = 4; ///< that hardware gives registers to at once

FuncOp simt::makePartition(OpBuilder &b, FuncOp kernel, StringRef name, PartitionTraits traits) {
  auto made = FuncOp::create(b, kernel.getLoc(), name, kernel.getFunctionType());
  made.setPrivate();
  made->setAttr(warpsAttribute, b.getI64IntegerAttr(traits.warps));
  made->setAttr(firstWarpAttribute, b.getI64IntegerAttr(traits.firstWarp));
  if (traits.registers)
    made->setAttr(registersAttribute, b.getI64IntegerAttr(traits.registers));
  if (ArrayAttr attributes = kernel.getArgAttrsAttr())
    made.setArgAttrsAttr(attributes);
  Block &entry = made.getBody().emplaceBlock();
  for (BlockArgument argument : kernel.getArguments())
    entry.addArgument(argument.getType(), argument.getLoc());
  return made;
}

//===-- Which warps ----------------------------------------------------------------------------------------------===//

/// Each partition has warps of its own, and is started once.
static LogicalResult checkWarps(ArrayRef<SmallVector<Partition>> starts, int64_t kernelWarps, Location place) {
  llvm::StringSet<> known;
  for (const SmallVector<Partition> &partitions : starts)
    for (auto [number, partition] : llvm::enumerate(partitions)) {
      if (!known.insert(partition.name).second)
        return emitError(place) << "partition '" << partition.name
                                << "' is started twice: make a function for each start";
      if (partition.first < kernelWarps)
        return emitError(place) << "partition '" << partition.name << "' begins with warp " << partition.first
                                << ", which is one of the kernel's " << kernelWarps;
      for (const Partition &other : ArrayRef(partitions).take_front(number))
        if (partition.first < other.first + other.warps && other.first < partition.first + partition.warps)
          return emitError(place) << "partitions '" << other.name << "' and '" << partition.name
                                  << "' have warps in common: warps " << other.first << " to "
                                  << other.first + other.warps - 1 << " and " << partition.first << " to "
                                  << partition.first + partition.warps - 1;
    }
  return success();
}

/// The warps after the kernel's in fours; those that a partition has in common are one group.
static SmallVector<RegisterGroup> groupWarps(ArrayRef<Partition> started, int64_t kernelWarps, int64_t blockWarps) {
  SmallVector<RegisterGroup> groups;
  for (int64_t warp = kernelWarps; warp < blockWarps; warp += registerWarps) {
    bool isShared = llvm::any_of(
        started, [&](const Partition &each) { return each.first < warp && each.first + each.warps > warp; });
    if (isShared)
      groups.back().warps += registerWarps;
    else
      groups.push_back({warp, registerWarps});
  }
  for (const Partition &partition : started)
    for (RegisterGroup &group : groups)
      if (partition.first >= group.first && partition.first < group.first + group.warps)
        group.partitions.push_back(partition);
  return groups;
}

static RegisterPlan planRegisters(ModuleOp module, ArrayRef<SmallVector<Partition>> starts, int64_t kernelWarps,
                                  int64_t blockWarps, const GpuTarget &target) {
  constexpr int64_t step = 8, least = 24, most = 240; // what `setmaxnreg` takes, but for numbers that ptxas cannot use
  RegisterPlan plan;
  if (starts.size() != 1 || kernelWarps % registerWarps)
    return plan;
  plan.groups = groupWarps(starts.front(), kernelWarps, blockWarps);
  bool asks = false;
  int64_t each = target.registersPerThread(int(blockWarps)) / step * step, left = each * blockWarps;
  for (RegisterGroup &group : plan.groups) {
    group.registers = least;
    for (const Partition &partition : group.partitions) {
      auto wanted = module.lookupSymbol(partition.name)->getAttrOfType<IntegerAttr>(registersAttribute);
      asks |= bool(wanted);
      group.registers = std::max(group.registers, wanted ? wanted.getInt() / step * step : each);
    }
    group.registers = std::min(group.registers, most);
    left -= group.registers * group.warps;
  }
  plan.kernel = std::min(left / kernelWarps / step * step, most);
  plan.first = asks && each < most && plan.kernel >= least ? each : 0;
  return plan;
}

FailureOr<PartitionWarps> simt::findPartitions(ModuleOp module, FuncOp kernel, int64_t kernelWarps,
                                               const GpuTarget &target) {
  PartitionWarps found;
  found.kernel = found.block = kernelWarps;
  kernel.walk([&](StartPartitionsOp start) {
    SmallVector<Partition> &started = found.starts.emplace_back();
    for (Attribute each : start.getPartitions()) {
      auto function = module.lookupSymbol<FuncOp>(cast<FlatSymbolRefAttr>(each).getValue());
      int64_t first = function->getAttrOfType<IntegerAttr>(firstWarpAttribute).getInt(), warps = warpsOf(function, 1);
      started.push_back({function.getName().str(), first, warps});
      found.functions.push_back(function);
      found.block = std::max(found.block, first + warps);
    }
  });
  Location place = kernel.getLoc();
  if (failed(checkWarps(found.starts, kernelWarps, place)))
    return failure();
  auto count = int64_t(found.functions.size()), barriers = target.namedBarriers() - barrierOfPartitions;
  if (count > 0 && count > barriers)
    return emitError(place) << "kernel '" << kernel.getName() << "' has " << count
                            << " partitions; the chip has barriers for " << std::max<int64_t>(0, barriers);
  if (count > 0)
    found.block = int64_t(llvm::alignTo(uint64_t(found.block), uint64_t(registerWarps)));
  constexpr int64_t mostThreads = 1024; // of a block, on each chip that has partitions
  if (found.block * target.lanesPerWarp() > mostThreads)
    return emitError(place) << "kernel '" << kernel.getName() << "' has " << found.block
                            << " warps with those of its partitions, in whole groups of " << registerWarps
                            << "; a block has " << mostThreads / target.lanesPerWarp();
  found.registers = planRegisters(module, found.starts, kernelWarps, found.block, target);
  return found;
}

//===-- Their code -----------------------------------------------------------------------------------------------===//

/// Puts the code of a partition after that of the kernel; where it ends, `next` goes on.
static Block *takeIn(LLVM::LLVMFuncOp kernel, LLVM::LLVMFuncOp partition, Block *next) {
  Block *begin = &partition.getBody().front();
  for (auto [from, to] : llvm::zip(begin->getArguments(), kernel.getBody().front().getArguments()))
    from.replaceAllUsesWith(to);
  begin->eraseArguments([](BlockArgument) { return true; });
  for (Block &block : partition.getBody())
    if (auto end = dyn_cast<LLVM::ReturnOp>(block.getTerminator())) {
      OpBuilder b(end);
      cf::BranchOp::create(b, end.getLoc(), next);
      end.erase();
    }
  kernel.getBody().getBlocks().splice(next->getIterator(), partition.getBody().getBlocks());
  partition.erase();
  return begin;
}

namespace {

/// The code by which warps that are not the kernel's get to their partitions.
class Dispatch {
public:
  Dispatch(ThreadState &state, const PartitionWarps &partitions)
      : state(state), partitions(partitions), b(state.entry.getLoc(), state.entry.getContext()) {}

  void run();

private:
  Value number(int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }
  Value isOneOf(int64_t first, int64_t warps);
  Block *addBlock();
  /// So many warps go on in `begin`, the others in `next`, where code is added now.
  void branch(int64_t first, int64_t warps, Block *begin, Block *next);
  void execute(ArrayRef<Partition> started);
  void executeWithRegisters();

  ThreadState &state;
  const PartitionWarps &partitions;
  ImplicitLocOpBuilder b;
};

} // namespace

Value Dispatch::isOneOf(int64_t first, int64_t warps) {
  Value isAfter = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, state.warp, number(first));
  Value isBefore = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, state.warp, number(first + warps));
  return arith::AndIOp::create(b, isAfter, isBefore);
}

Block *Dispatch::addBlock() {
  auto *block = new Block();
  state.entry.getBody().push_back(block);
  return block;
}

void Dispatch::branch(int64_t first, int64_t warps, Block *begin, Block *next) {
  cf::CondBranchOp::create(b, isOneOf(first, warps), begin, ValueRange(), next, ValueRange());
  b.setInsertionPointToEnd(next);
}

void Dispatch::execute(ArrayRef<Partition> started) {
  auto module = state.entry->getParentOfType<ModuleOp>();
  for (const Partition &partition : started) {
    Block *next = addBlock();
    Block *begin = takeIn(state.entry, module.lookupSymbol<LLVM::LLVMFuncOp>(partition.name), next);
    branch(partition.first, partition.warps, begin, next);
  }
}

// Warps with different numbers of registers share no code after they took them: ptxas would ignore the numbers. A group
// that increases its number waits until the others have decreased theirs, which is so after the barrier.
void Dispatch::executeWithRegisters() {
  const RegisterPlan &plan = partitions.registers;
  for (const RegisterGroup &group : plan.groups) {
    Block *own = addBlock(), *next = addBlock();
    branch(group.first, group.warps, own, next);
    b.setInsertionPointToEnd(own);
    if (group.registers < plan.first)
      state.target.takeRegisters(b, group.registers, /*more=*/false);
    state.target.barrier(b);
    if (group.registers > plan.first)
      state.target.takeRegisters(b, group.registers, /*more=*/true);
    execute(group.partitions);
    state.target.barrier(b);
    LLVM::ReturnOp::create(b, ValueRange());
    b.setInsertionPointToEnd(next);
  }
}

void Dispatch::run() {
  Block *entry = state.prologueEnd->getBlock();
  Block *main = entry->splitBlock(state.prologueEnd->getNextNode());
  b.setInsertionPointToEnd(entry);
  Block *others = addBlock();
  Value isOther = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, state.warp, number(partitions.kernel));
  cf::CondBranchOp::create(b, isOther, others, ValueRange(), main, ValueRange());
  b.setInsertionPointToEnd(others);
  if (partitions.registers.first)
    executeWithRegisters();
  else
    for (const SmallVector<Partition> &started : partitions.starts) {
      state.target.barrier(b);
      execute(started);
      state.target.barrier(b);
    }
  LLVM::ReturnOp::create(b, ValueRange());
}

void simt::dispatch(ThreadState &state, const PartitionWarps &partitions) {
  Dispatch(state, partitions).run();
}
