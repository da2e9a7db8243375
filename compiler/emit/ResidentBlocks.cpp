// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pass that writes the number into the kernel's attributes, from the estimate of its registers.
#include "compiler/emit/ResidentBlocks.h"
#include "chips/Chip.h"
#include "compiler/emit/RegisterEstimate.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace heddle;

namespace {

constexpr StringLiteral threadsAttribute = "nvvm.reqntid", blocksAttribute = "nvvm.minctasm",
                        registersAttribute = "nvvm.maxnreg";

class ResidentBlocksPass : public PassInfoMixin<ResidentBlocksPass> {
public:
  using Report = unique_function<void(const ResidentBlocks &)>;
  ResidentBlocksPass(const Chip &chip, int64_t sharedBytes, Report report)
      : chip(chip), sharedBytes(sharedBytes), report(std::move(report)) {}

  PreservedAnalyses run(Function &function, FunctionAnalysisManager &analyses) {
    unsigned threads = 0;
    if (!function.getFnAttribute(threadsAttribute).getValueAsString().getAsInteger(10, threads) && threads &&
        !function.hasFnAttribute(blocksAttribute) && !function.hasFnAttribute(registersAttribute)) {
      unsigned needed = estimateRegisters(function, analyses.getResult<UniformityInfoAnalysis>(function));
      unsigned groups = leastForGroupMatmuls(function);
      ResidentBlocks chosen = {fitting(threads, needed, groups, groups && copiesAsynchronously(function)), needed};
      function.addFnAttr(blocksAttribute, std::to_string(chosen.blocks));
      report(chosen);
    }
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }

private:
  int64_t fitting(int64_t threads, int64_t needed, int64_t leastForGroups, bool isLargerThanNeeded) const {
    // With fewer registers the assembler lets fewer loads be in flight, and layer norm takes 1.22 times as long
    // (docs/sm_90-code.md); with `more` than the estimate it rarely spills. Of kernels with matmuls of warp groups
    // whose operands are copied asynchronously the estimate is larger than what the assembler needs, by up to a ninth
    // (bench/peers/random_tiles.py).
    constexpr int64_t least = 48;
    int64_t more = isLargerThanNeeded ? -(needed / 10) : 4, granule = chip.unit.registerGranule;
    int64_t each = int64_t(alignTo(uint64_t(std::max({least, needed + more, leastForGroups})), uint64_t(granule)));
    // Each part of a multiprocessor has registers of its own, of which a warp takes all that it needs from one.
    int64_t warps = std::max<int64_t>(1, threads / chip.threadsPerWarp);
    auto blocksWith = [&](int64_t registers) {
      return chip.unit.simds * (chip.unit.registers / chip.unit.simds / (chip.threadsPerWarp * registers)) / warps;
    };
    int64_t byRegisters = blocksWith(each);
    // Of two blocks one loads while the other computes and stores, which is worth more than the margin.
    int64_t tight = int64_t(alignTo(uint64_t(std::max(least, needed)), uint64_t(granule)));
    if (byRegisters == 1 && !leastForGroups && blocksWith(tight) >= 2)
      byRegisters = 2;
    constexpr int64_t ownBytes = 1024; // of each block's shared memory, for the system
    int64_t memory = int64_t(alignTo(uint64_t(sharedBytes), uint64_t(chip.unit.sharedMemoryGranuleBytes)));
    int64_t byMemory = (chip.sharedMemoryBytes + ownBytes) / (memory + ownBytes);
    return std::max<int64_t>(1, std::min({byRegisters, byMemory, chip.unit.mostBlocks(threads)}));
  }

  const Chip &chip;
  int64_t sharedBytes;
  Report report;
};

} // namespace

void heddle::addResidentBlocks(ModulePassManager &manager, const Chip &chip, int64_t sharedBytes,
                               unique_function<void(const ResidentBlocks &)> report) {
  manager.addPass(createModuleToFunctionPassAdaptor(ResidentBlocksPass(chip, sharedBytes, std::move(report))));
}
