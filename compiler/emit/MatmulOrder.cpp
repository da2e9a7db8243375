// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans the groups of a loop's matrix instructions by the chip's timing model (docs/timing.md), lists instructions in
// the new order, and puts a border that LLVM's scheduler keeps after each group.
#include "compiler/emit/MatmulOrder.h"
#include "chips/TimingModel.h"
#include "compiler/emit/AccumulatorVectors.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include <cmath>
#include <optional>

using namespace llvm;
using namespace heddle;

constexpr static unsigned globalSpace = 1, sharedSpace = 3;
constexpr static int lanes = 64, simds = 4;

//===-- Instructions ---------------------------------------------------------------------------------------------===//

static bool isOneOf(const Instruction &instruction, ArrayRef<Intrinsic::ID> ids) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call && is_contained(ids, call->getIntrinsicID());
}

static bool loadsFrom(const Instruction &instruction, unsigned space) {
  auto *load = dyn_cast<LoadInst>(&instruction);
  return load && load->getPointerAddressSpace() == space;
}

static bool isCopy(const Instruction &instruction) {
  return isOneOf(instruction, {Intrinsic::amdgcn_global_load_lds, Intrinsic::amdgcn_raw_ptr_buffer_load_lds});
}

static bool isSharedRead(const Instruction &instruction) {
  return loadsFrom(instruction, sharedSpace) ||
         isOneOf(instruction, {Intrinsic::amdgcn_ds_read_tr16_b64, Intrinsic::amdgcn_ds_read_tr8_b64,
                               Intrinsic::amdgcn_ds_read_tr4_b64});
}

static bool isGlobalLoad(const Instruction &instruction) {
  return loadsFrom(instruction, globalSpace) ||
         isOneOf(instruction, {Intrinsic::masked_load, Intrinsic::amdgcn_raw_ptr_buffer_load});
}

/// Bytes of a lane.
static double bytesOf(const Instruction &load) {
  constexpr unsigned sizeOfCopy = 2;
  if (isCopy(load))
    return double(cast<ConstantInt>(load.getOperand(sizeOfCopy))->getZExtValue());
  return double(load.getType()->getPrimitiveSizeInBits().getFixedValue()) / 8;
}

/// Cycles of the matrix unit: `...MxNxK...` is in the intrinsic's name. The rate grows as elements become narrower;
/// that of f32 and f64 is an eighth of f16's. 0: there is no such name.
static double cyclesOf(const Instruction &matmul, const TimingModel &model) {
  SmallVector<StringRef> words;
  cast<CallInst>(matmul).getCalledFunction()->getName().split(words, '.');
  for (StringRef word : words) {
    SmallVector<StringRef> sizes;
    word.split(sizes, 'x');
    unsigned m = 0, n = 0, k = 0;
    if (sizes.size() != 3 || sizes[0].getAsInteger(10, m) || sizes[1].getAsInteger(10, n) ||
        sizes[2].consumeInteger(10, k)) // `8` or `8f16`
      continue;
    double bits = double(matmul.getOperand(0)->getType()->getPrimitiveSizeInBits().getFixedValue()) * lanes / (m * k);
    double rate = model.matrixOperationsPerCycle;
    rate = bits > 16 ? rate / 8 : rate * 16 / bits;
    return 2.0 * m * n * k / rate;
  }
  return 0;
}

//===-- Order ----------------------------------------------------------------------------------------------------===//

namespace {
/// Instructions of a block between two that have effects. They may be in any order in which operands come first.
class Segment {
public:
  Segment(const TimingModel &model, int warps, bool isStage) : model(model), warps(warps), isStage(isStage) {}
  void add(Instruction *one) { all.push_back(one); }
  /// `end` follows the last one.
  void order(Instruction *end);

private:
  void sort();
  bool plan();
  size_t secondOfChain() const;
  void place(Instruction *end, size_t second);
  void emit(Instruction *one);
  void emitLoads(double group);
  void emitInterleaved(size_t begin, size_t end);
  void leaveLast(Instruction *end);
  void emitOperands(size_t matmul);
  int emitAhead(size_t matmul, int mostReads);
  void emitGroup(size_t number);

  const TimingModel &model;
  int warps;
  bool isStage;                                   ///< of a warp pipeline
  SmallVector<Instruction *> all, matmuls, loads; ///< `loads`: copies and loads of global memory
  DenseMap<Instruction *, size_t> matmulsBefore;  ///< of each: the number of the last one that it needs, and 1; 0: none
  int reads = 0;                                  ///< of shared memory
  bool hasCopies = false;

  double matmulCycles = 0, loadCycles = 0; ///< of one; loadCycles 0: all loads come first
  size_t size = 1, groups = 0;             ///< matmuls of a group, and the number of groups

  SmallVector<Instruction *> list; ///< the order; null: a border
  DenseSet<Instruction *> done;
  size_t matmulsDone = 0, loadsDone = 0;
  int readsDone = 0;
};
} // namespace

void Segment::sort() {
  for (Instruction *one : all) {
    size_t before = 0;
    for (Value *operand : one->operands())
      if (auto *from = dyn_cast<Instruction>(operand))
        before = std::max(before, matmulsBefore.lookup(from));
    if (isMatrixInstruction(*one)) {
      matmuls.push_back(one);
      before = matmuls.size();
    }
    matmulsBefore[one] = before;
    if (isCopy(*one) || isGlobalLoad(*one))
      loads.push_back(one);
    hasCopies |= isCopy(*one);
    reads += isSharedRead(*one);
  }
}

bool Segment::plan() {
  constexpr size_t fewGroups = 3;
  constexpr int latencies = 2;
  if (matmuls.empty() || reads == 0 || (!hasCopies && warps > simds && !isStage))
    return false;
  matmulCycles = cyclesOf(*matmuls.front(), model);
  if (matmulCycles <= 0)
    return false;
  size = size_t(std::max(1.0, std::round(latencies * model.ldsLatencyCycles / matmulCycles)));
  groups = (matmuls.size() + size - 1) / size;
  if (groups < fewGroups)
    return false;
  double bytes = 0;
  for (Instruction *load : loads)
    bytes += bytesOf(*load) * lanes * warps;
  double path = bytes / model.unitBytesPerCycle;
  // Where matmuls are over before the last of them would arrive, they cannot begin early enough.
  if (!loads.empty() && path + model.lastLevelCycles <= matmulCycles * double(matmuls.size()))
    loadCycles = path / double(loads.size());
  return true;
}

/// The first matmul that multiplies what is computed from another one's result; their number where there is none.
size_t Segment::secondOfChain() const {
  auto *second = find_if(matmuls, [&](Instruction *matmul) {
    return any_of(ArrayRef<Use>(matmul->op_begin(), 2), [&](const Use &operand) {
      auto *from = dyn_cast<Instruction>(operand.get());
      return from && matmulsBefore.lookup(from) > 0;
    });
  });
  return size_t(second - matmuls.begin());
}

void Segment::emit(Instruction *one) {
  if (!matmulsBefore.contains(one) || !done.insert(one).second)
    return;
  for (Value *operand : one->operands())
    if (auto *from = dyn_cast<Instruction>(operand))
      emit(from);
  list.push_back(one);
  readsDone += isSharedRead(*one);
}

/// As many as the path from L2 has served when the group of this number begins. The first groups begin with reads,
/// which would wait for copies.
void Segment::emitLoads(double group) {
  constexpr double firstGroup = 2;
  double first = loadCycles > 0 ? firstGroup : 0;
  double time = (group + 1 - first) * double(size) * matmulCycles;
  while (group >= first && loadsDone < loads.size() && double(loadsDone) * loadCycles < time)
    emit(loads[loadsDone++]);
}

void Segment::emitOperands(size_t matmul) {
  for (Value *operand : cast<CallInst>(matmuls[matmul])->args())
    if (auto *from = dyn_cast<Instruction>(operand); from && !isMatrixInstruction(*from))
      emit(from);
}

/// Operands that need no matmul which is not emitted yet, while they read shared memory less than `mostReads` times;
/// returns how many times they do.
int Segment::emitAhead(size_t matmul, int mostReads) {
  int count = 0;
  for (Value *operand : cast<CallInst>(matmuls[matmul])->args()) {
    auto *from = dyn_cast<Instruction>(operand);
    if (!from || count >= mostReads || isMatrixInstruction(*from) || matmulsBefore.lookup(from) > matmulsDone)
      continue;
    size_t before = list.size();
    emit(from);
    count += int(count_if(ArrayRef<Instruction *>(list).drop_front(before),
                          [](Instruction *one) { return one && isSharedRead(*one); }));
  }
  return count;
}

// Reads for the next group, and more where the groups after it have many: about as many before each group.
void Segment::emitGroup(size_t number) {
  constexpr size_t window = 16;
  constexpr int any = INT_MAX;
  size_t begin = number * size, end = std::min(begin + size, matmuls.size());
  if (isStage) {
    emitInterleaved(begin, end);
    return;
  }
  emitLoads(double(number));
  for (size_t matmul = begin; matmul < end; ++matmul)
    emitOperands(matmul);
  int left = (reads + int(groups) - 1) / int(groups);
  for (size_t matmul = end; matmul < std::min(end + window, matmuls.size()); ++matmul)
    left -= emitAhead(matmul, matmul < end + size ? any : left);
  for (size_t matmul = begin; matmul < end; ++matmul)
    emit(matmuls[matmul]);
  matmulsDone = end;
  list.push_back(nullptr);
}

// Nothing else has the matrix unit meanwhile: after each matmul come as many reads as LDS serves until it is executed,
// but for what the first ones need.
void Segment::emitInterleaved(size_t begin, size_t end) {
  constexpr size_t window = 16;
  constexpr double lead = 1.25;
  if (begin == 0)
    for (size_t matmul = 0; matmul < end; ++matmul)
      emitOperands(matmul);
  for (size_t matmul = begin; matmul < end; ++matmul) {
    emitOperands(matmul);
    emit(matmuls[matmul]);
    matmulsDone = matmul + 1;
    list.push_back(nullptr);
    emitLoads(double(matmul) / double(size));
    double due = double(reads) * lead * double(matmul + 1) / double(matmuls.size());
    for (size_t next = matmul + 1; next < std::min(matmul + 1 + window, matmuls.size()); ++next)
      if (int left = int(std::round(due)) - readsDone; left > 0)
        emitAhead(next, left);
  }
}

/// What follows the next barrier from `from` on, and what keeps instructions from moving over it; null: there is none.
static Instruction *afterBarrier(Instruction *from) {
  while (from && !isOneOf(*from, {Intrinsic::amdgcn_s_barrier}))
    from = from->getNextNode();
  Instruction *after = from ? from->getNextNode() : nullptr;
  while (after && (isa<FenceInst>(after) || isOneOf(*after, {Intrinsic::amdgcn_sched_barrier})))
    after = after->getNextNode();
  return after;
}

/// Moves the last group of matmuls past the barrier that ends the stage: they are executed while the warps of the other
/// group, whose stage with matmuls begins there, read the first operands. What they multiply has been read before it.
void Segment::leaveLast(Instruction *end) {
  Instruction *after = afterBarrier(end);
  ArrayRef<Instruction *> last = ArrayRef(matmuls).take_back(size);
  bool isNeeded = any_of(last, [&](Instruction *matmul) {
    return any_of(matmul->users(), [&](User *user) {
      auto *reader = cast<Instruction>(user);
      return after && !isa<PHINode>(reader) && !is_contained(last, reader) &&
             reader->getParent() == after->getParent() && reader->comesBefore(after);
    });
  });
  if (!after || isNeeded)
    return;
  for (Instruction *matmul : last)
    matmul->moveBefore(after->getIterator());
  IRBuilder<> builder(after);
  builder.CreateIntrinsic(Intrinsic::amdgcn_sched_barrier, {}, {builder.getInt32(0)});
}

/// Moves all in the order of the list before `end`. Of two warps of a SIMD the one whose matrix instructions are next
/// goes before the one with vector code, which could issue in every cycle and leave the matrix unit idle.
void Segment::place(Instruction *end, size_t second) {
  // Scalar instructions stay too: of M0, which a copy reads, there is one. Vector code between matmuls may be anywhere.
  constexpr uint32_t vectorCode = 2;
  bool isChain = second < matmuls.size();
  bool hasPriorities = isChain && warps > simds && none_of(instructions(*end->getFunction()), [](Instruction &one) {
                         return isOneOf(one, {Intrinsic::amdgcn_s_setprio}); // the kernel sets its own
                       });
  IRBuilder<> builder(end);
  auto setPriority = [&](uint16_t priority) {
    if (hasPriorities)
      builder.CreateIntrinsic(Intrinsic::amdgcn_s_setprio, {}, {builder.getInt16(priority)});
  };
  setPriority(1);
  for (Instruction *one : list) {
    if (!one) {
      builder.CreateIntrinsic(Intrinsic::amdgcn_sched_barrier, {}, {builder.getInt32(isChain ? vectorCode : 0)});
      continue;
    }
    if (isChain && one == matmuls[second])
      setPriority(1);
    one->moveBefore(end->getIterator());
    if (isChain && one == matmuls[second - 1])
      setPriority(0);
  }
  setPriority(0);
}

void Segment::order(Instruction *end) {
  sort();
  // A stage with vector code between matmuls has the order of its author.
  if (!plan() || (isStage && secondOfChain() < matmuls.size()))
    return;
  for (size_t number = 0; number < groups; ++number)
    emitGroup(number);
  for (Instruction *one : all)
    emit(one);
  place(end, secondOfChain());
  if (isStage)
    leaveLast(end);
}

/// Whether a warp pipeline has stages here: between two of them the scheduler moves nothing over the barrier
/// (lowering/simt/WarpPipelines.cpp).
static bool hasStages(const BasicBlock &block) {
  return any_of(block, [](const Instruction &one) {
    const Instruction *next = one.getNextNode();
    while (isa_and_nonnull<FenceInst>(next))
      next = next->getNextNode();
    return next && isOneOf(one, {Intrinsic::amdgcn_s_barrier}) && isOneOf(*next, {Intrinsic::amdgcn_sched_barrier});
  });
}

static void orderBlock(BasicBlock &block, const TimingModel &model, int warps) {
  bool isStaged = hasStages(block);
  std::optional<Segment> segment(std::in_place, model, warps, isStaged);
  for (Instruction &one : make_early_inc_range(block)) {
    if (isa<PHINode>(one))
      continue;
    if (!one.isTerminator() && (isCopy(one) || !one.mayHaveSideEffects())) {
      segment->add(&one);
      continue;
    }
    segment->order(&one);
    segment.emplace(model, warps, isStaged);
  }
}

void heddle::orderMatmuls(Module &module, const TimingModel &model, int warps) {
  for (Function &function : module)
    for (BasicBlock &block : function)
      if (is_contained(successors(&block), &block))
        orderBlock(block, model, warps);
}
