// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All warps meet at the block's barrier when partitions start and when they have ended. Between, those of each
// partition execute its function, and those of none wait.
#include "compiler/lowering/simt/PartitionWarps.h"
#include "compiler/lowering/simt/ThreadCode.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

static constexpr int64_t registerWarps = 4; ///< that hardware gives registers to at once

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

static RegisterPlan planRegisters(ModuleOp module, ArrayRef<SmallVector<Partition>> starts, int64_t kernelWarps,
                                  int64_t blockWarps, const GpuTarget &target) {
  constexpr int64_t step = 8, least = 24, most = 240; // what `setmaxnreg` takes, but for numbers that ptxas cannot use
  RegisterPlan plan;
  if (starts.size() != 1 || kernelWarps % registerWarps)
    return plan;
  plan.groups.assign(size_t((blockWarps - kernelWarps) / registerWarps), 0);
  bool asks = false;
  int64_t each = target.registersPerThread(int(blockWarps)) / step * step, left = each * blockWarps;
  for (const Partition &partition : starts.front()) {
    auto wanted = module.lookupSymbol(partition.name)->getAttrOfType<IntegerAttr>(registersAttribute);
    asks |= bool(wanted);
    for (int64_t warp = partition.first; warp < partition.first + partition.warps; ++warp) {
      int64_t &group = plan.groups[size_t((warp - kernelWarps) / registerWarps)];
      group = std::max(group, wanted ? wanted.getInt() / step * step : each);
    }
  }
  for (int64_t &group : plan.groups) {
    group = std::clamp(group ? group : least, least, most);
    left -= group * registerWarps;
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

void simt::dispatch(ThreadState &state, const PartitionWarps &partitions) {
  const RegisterPlan &plan = partitions.registers;
  int64_t kernelWarps = partitions.kernel;
  auto module = state.entry->getParentOfType<ModuleOp>();
  Block *entry = state.prologueEnd->getBlock();
  Block *main = entry->splitBlock(state.prologueEnd->getNextNode());
  ImplicitLocOpBuilder b(state.entry.getLoc(), state.entry.getContext());
  auto number = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, value, 32); };
  auto addBlock = [&] {
    auto *block = new Block();
    state.entry.getBody().push_back(block);
    return block;
  };
  b.setInsertionPointToEnd(entry);
  Block *others = addBlock();
  Value isOther = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, state.warp, number(kernelWarps));
  cf::CondBranchOp::create(b, isOther, others, ValueRange(), main, ValueRange());
  b.setInsertionPointToEnd(others);
  // Who takes more waits until others have given: that is so after the barrier.
  auto takeRegisters = [&](bool more) {
    for (auto [group, registers] : llvm::enumerate(plan.groups)) {
      if (!plan.first || registers == plan.first || (registers > plan.first) != more)
        continue;
      Value mine = arith::ShRUIOp::create(b, state.warp, number(llvm::Log2_64(registerWarps)));
      Value isMine = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, mine,
                                           number(kernelWarps / registerWarps + int64_t(group)));
      auto branch = scf::IfOp::create(b, isMine);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      state.target.takeRegisters(b, registers, more);
    }
  };
  takeRegisters(/*more=*/false);
  for (const SmallVector<Partition> &started : partitions.starts) {
    state.target.barrier(b);
    takeRegisters(/*more=*/true);
    for (const Partition &partition : started) {
      Value isAfter = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, state.warp, number(partition.first));
      Value isBefore =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ult, state.warp, number(partition.first + partition.warps));
      Block *next = addBlock();
      Block *begin = takeIn(state.entry, module.lookupSymbol<LLVM::LLVMFuncOp>(partition.name), next);
      cf::CondBranchOp::create(b, Value(arith::AndIOp::create(b, isAfter, isBefore)), begin, ValueRange(), next,
                               ValueRange());
      b.setInsertionPointToEnd(next);
    }
    state.target.barrier(b);
  }
  LLVM::ReturnOp::create(b, ValueRange());
}
