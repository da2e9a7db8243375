// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Goes through the runs of instructions without side effects, and moves what no load of a run's first group needs after
// the group.
#include "compiler/accesses/LoadGroups.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace {

/// Bytes of a lane that a group loads at most: what comes after it can make no room for more.
constexpr uint64_t mostBytes = 256;
constexpr unsigned globalSpace = 1;

/// From a load of global memory on, as far as all may change their order; what follows may not.
using Run = SmallVector<Instruction *>;

bool isGlobalLoad(const Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return load->isSimple() && load->getPointerAddressSpace() == globalSpace;
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == Intrinsic::amdgcn_raw_ptr_buffer_load;
}

bool endsRun(const Instruction &instruction) {
  return instruction.isTerminator() || instruction.mayHaveSideEffects() || isa<PHINode>(instruction);
}

/// What the loads of a group need, and they themselves, in the order of the run.
class Group {
public:
  explicit Group(const Run &run, const DataLayout &layout) : run(run.begin(), run.end()), layout(layout) {
    for (Instruction *instruction : run)
      if (isGlobalLoad(*instruction) && !add(instruction))
        break;
  }
  size_t loads() const { return count; }
  bool contains(Instruction *instruction) const { return needed.contains(instruction); }

private:
  /// False where the load waits for another one, or the group is full.
  bool add(Instruction *load) {
    uint64_t size = layout.getTypeStoreSize(load->getType()).getFixedValue();
    SmallSetVector<Instruction *, 16> own;
    own.insert(load);
    for (size_t i = 0; i < own.size(); ++i)
      for (Value *operand : own[i]->operands())
        if (auto *from = dyn_cast<Instruction>(operand); from && run.contains(from) && !needed.contains(from)) {
          if (from->mayReadFromMemory())
            return false;
          own.insert(from);
        } else if (from && count && isGlobalLoad(*from) && run.contains(from)) {
          return false;
        }
    if (bytes + size > mostBytes)
      return false;
    needed.insert(own.begin(), own.end());
    bytes += size;
    ++count;
    return true;
  }

  SmallPtrSet<Instruction *, 32> run, needed;
  const DataLayout &layout;
  uint64_t bytes = 0;
  size_t count = 0;
};

} // namespace

/// Moves the group before the rest of the run, which is what is left.
static Run splitOff(const Run &run, const Group &group) {
  Instruction *end = run.back()->getNextNode();
  Run rest;
  for (Instruction *instruction : run)
    if (!group.contains(instruction))
      rest.push_back(instruction);
  IRBuilder<> b(end);
  // All but vector code may pass.
  constexpr uint32_t others = 0x7FF & ~0x403;
  if (group.loads() > 1)
    b.CreateIntrinsic(Intrinsic::amdgcn_sched_barrier, {}, {b.getInt32(others)});
  for (Instruction *instruction : rest)
    instruction->moveBefore(end->getIterator());
  return rest;
}

static void groupIn(Run run, const DataLayout &layout) {
  auto isLoad = [](Instruction *instruction) { return isGlobalLoad(*instruction); };
  while (any_of(run, isLoad)) {
    run.truncate(size_t(find_if(reverse(run), isLoad).base() - run.begin()));
    if (Group group(run, layout); group.loads())
      run = splitOff(run, group);
    else // it waits for something else, and stays
      run.erase(run.begin(), std::next(find_if(run, isLoad)));
  }
}

/// Matrix instructions, and what orders them.
static bool isOfMatmul(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  const Function *callee = call ? call->getCalledFunction() : nullptr;
  return callee && (callee->getName().starts_with("llvm.amdgcn.mfma") ||
                    callee->getName().starts_with("llvm.amdgcn.sched.group"));
}

void heddle::groupLoads(Module &module) {
  for (Function &function : module)
    for (BasicBlock &block : function) {
      if (any_of(block, isOfMatmul))
        continue;
      SmallVector<Run> runs(1);
      for (Instruction &instruction : block)
        if (endsRun(instruction))
          runs.emplace_back();
        else
          runs.back().push_back(&instruction);
      for (Run &run : runs)
        groupIn(run, module.getDataLayout());
    }
}
