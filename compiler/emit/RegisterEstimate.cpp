// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts live values over the instructions in an order in which a scheduler might put them.
#include "compiler/emit/RegisterEstimate.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace heddle;

namespace {

/// Registers of shared memory's addresses hold 32 bits, those of all others 64.
constexpr unsigned sharedSpace = 3;

/// Of a structure its parts count, each on its own: 0.
unsigned registersOf(Type *type) {
  if (isa<StructType>(type))
    return 0;
  if (auto *pointer = dyn_cast<PointerType>(type))
    return pointer->getAddressSpace() == sharedSpace ? 1 : 2;
  if (auto *vector = dyn_cast<FixedVectorType>(type); vector && vector->getElementType()->isPointerTy())
    return vector->getNumElements() * registersOf(vector->getElementType());
  unsigned bits = type->getPrimitiveSizeInBits().getKnownMinValue();
  return bits <= 1 ? 0 : (bits + 31) / 32;
}

/// One instruction of the target, more or less, that may stand anywhere between its operands and its users.
bool isMovable(const Instruction &instruction) {
  return isa<BinaryOperator, CastInst, CmpInst, SelectInst, GetElementPtrInst, ExtractElementInst, InsertElementInst,
             ShuffleVectorInst, UnaryOperator>(instruction);
}

/// Arithmetic that costs less than keeping its result in a register.
bool isRecomputed(const Instruction &instruction) {
  if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
    return !operation->isIntDivRem() && operation->getOpcode() != Instruction::Mul &&
           operation->getType()->isIntegerTy();
  return isa<GetElementPtrInst, TruncInst, ZExtInst, SExtInst, PtrToIntInst, IntToPtrInst>(instruction) &&
         !instruction.getType()->isVectorTy();
}

bool isGroupMatmul(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  auto *text = call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
  return text && text->getAsmString().contains("wgmma.mma_async");
}

/// What the assembler keeps free for an instruction beside its operands. It refuses a warp-group MMA with n
/// accumulators below n + 26 registers (ptxas 12.8: "Insufficient registers").
constexpr unsigned reservedForGroups = 26;

/// For 64-bit divisions, each a sequence of some 70 instructions, of which ptxas 12.8 has several at a time.
constexpr unsigned reservedForDivisions = 64;

unsigned reservedFor(const Instruction &instruction) {
  return isGroupMatmul(instruction) ? reservedForGroups : isWideDivision(instruction) ? reservedForDivisions : 0;
}

class Estimate {
public:
  Estimate(const Function &function, const UniformityInfo &uniformity) : function(function), uniformity(uniformity) {}

  unsigned most() {
    number();
    findLive();
    unsigned most = 0;
    for (const BasicBlock &block : function)
      most = std::max(most, std::min(mostOf(block, inOrder(block)), mostOf(block, inMovedOrder(block))));
    return most;
  }

private:
  using Order = SmallVector<const Instruction *, 0>;

  /// Of what is computed alike in a warp, only what integers compute is in uniform registers.
  bool isUniform(const Value &value) const {
    auto *instruction = dyn_cast<Instruction>(&value);
    if (!instruction)
      return true; // arguments and constants, which lie in constant memory
    bool isInteger = value.getType()->isIntOrPtrTy();
    return isInteger && !instruction->mayReadFromMemory() && uniformity.isUniform(instruction);
  }

  /// The number of what `instruction` reads in registers, if that is one value.
  std::optional<unsigned> onlyOperand(const Instruction &instruction) const {
    std::optional<unsigned> only;
    for (const Value *operand : instruction.operand_values())
      if (auto found = numbers.find(operand); found != numbers.end()) {
        if (only && *only != found->second)
          return std::nullopt;
        only = found->second;
      }
    return only;
  }

  /// Of an address, its 32-bit offset is kept: adding it to the base is part of the access.
  bool isOffset(const Instruction &instruction) const {
    auto *address = dyn_cast<GetElementPtrInst>(&instruction);
    if (!address || address->getNumIndices() != 1)
      return false;
    auto found = numbers.find(address->idx_begin()->get());
    return found != numbers.end() && sizes[found->second] == 1;
  }

  void number(const Instruction &instruction) {
    unsigned registers = registersOf(instruction.getType());
    if (!registers || isUniform(instruction))
      return;
    if (std::optional<unsigned> only = isRecomputed(instruction) ? onlyOperand(instruction) : std::nullopt) {
      numbers[&instruction] = *only;
      computed.insert(&instruction);
      return;
    }
    numbers[&instruction] = sizes.size();
    sizes.push_back(isOffset(instruction) ? 1 : registers);
  }
  /// Operands before what they are operands of, but for those of phis.
  void number() {
    for (const BasicBlock *block : ReversePostOrderTraversal<const Function *>(&function))
      for (const Instruction &instruction : *block)
        number(instruction);
  }

  template <typename Call>
  void forResults(const Instruction &instruction, Call call) const {
    if (computed.contains(&instruction))
      return;
    if (auto found = numbers.find(&instruction); found != numbers.end() && !isa<ExtractValueInst>(instruction))
      call(found->second);
    if (isa<StructType>(instruction.getType()))
      for (const User *user : instruction.users())
        if (auto found = numbers.find(user); found != numbers.end() && isa<ExtractValueInst>(user))
          call(found->second);
  }
  template <typename Call>
  void forOperands(const Instruction &instruction, Call call) const {
    if (isa<PHINode, ExtractValueInst>(instruction) || computed.contains(&instruction))
      return;
    for (const Value *operand : instruction.operand_values())
      if (auto found = numbers.find(operand); found != numbers.end())
        call(found->second);
  }

  void findLive() {
    DenseMap<const BasicBlock *, BitVector> before;
    for (const BasicBlock &block : function) {
      before[&block].resize(sizes.size());
      after[&block].resize(sizes.size());
    }
    bool changed = true;
    while (changed) {
      changed = false;
      for (const BasicBlock *block : post_order(&function)) {
        BitVector live(sizes.size());
        for (const BasicBlock *next : successors(block)) {
          live |= before[next];
          for (const PHINode &phi : next->phis())
            if (auto found = numbers.find(phi.getIncomingValueForBlock(block)); found != numbers.end())
              live.set(found->second);
        }
        after[block] = live;
        for (const Instruction &instruction : reverse(*block)) {
          forResults(instruction, [&](unsigned number) { live.reset(number); });
          forOperands(instruction, [&](unsigned number) { live.set(number); });
        }
        if (live != before[block]) {
          before[block] = live;
          changed = true;
        }
      }
    }
  }

  static Order inOrder(const BasicBlock &block) {
    Order order;
    for (const Instruction &instruction : block)
      order.push_back(&instruction);
    return order;
  }

  /// Registers that `instruction` is the only one to read, in its block.
  unsigned ending(const Instruction &instruction) const {
    unsigned sum = 0;
    for (const Value *operand : instruction.operand_values()) {
      auto found = numbers.find(operand);
      auto *by = dyn_cast<Instruction>(operand);
      if (found != numbers.end() && operand->hasOneUse() && by->getParent() == instruction.getParent() &&
          !isa<PHINode>(by))
        sum += sizes[found->second];
    }
    return sum;
  }

  bool moves(const Instruction &instruction) const {
    if (!isMovable(instruction) || !instruction.hasOneUse())
      return false;
    auto *user = cast<Instruction>(*instruction.user_begin());
    if (user->getParent() != instruction.getParent() || isa<PHINode>(user))
      return false;
    return ending(instruction) <= registersOf(instruction.getType());
  }

  /// `root` after what moves to it, in the order of operands; a stack of its own, since chains are long.
  void place(const Instruction &root, Order &order) const {
    SmallVector<std::pair<const Instruction *, unsigned>> stack = {{&root, 0}}; // with the next operand
    while (!stack.empty()) {
      auto &[instruction, next] = stack.back();
      if (next == instruction->getNumOperands()) {
        order.push_back(instruction);
        stack.pop_back();
        continue;
      }
      auto *by = dyn_cast<Instruction>(instruction->getOperand(next++));
      if (by && by->getParent() == root.getParent() && moves(*by))
        stack.emplace_back(by, 0);
    }
  }
  Order inMovedOrder(const BasicBlock &block) const {
    Order order;
    for (const Instruction &instruction : block)
      if (!moves(instruction))
        place(instruction, order);
    return order;
  }

  unsigned mostOf(const BasicBlock &block, const Order &order) const {
    BitVector live = after.lookup(&block);
    unsigned now = 0;
    for (unsigned number : live.set_bits())
      now += sizes[number];
    unsigned most = now;
    for (const Instruction *instruction : reverse(order)) {
      forResults(*instruction, [&](unsigned number) {
        if (live.test(number))
          now -= sizes[number];
        live.reset(number);
      });
      forOperands(*instruction, [&](unsigned number) {
        if (!live.test(number))
          now += sizes[number];
        live.set(number);
      });
      most = std::max(most, now + reservedFor(*instruction));
    }
    return most;
  }

  const Function &function;
  const UniformityInfo &uniformity;
  DenseMap<const Value *, unsigned> numbers; ///< of values that take registers
  DenseSet<const Value *> computed;          ///< recomputed wherever they are read, from one register
  SmallVector<unsigned, 0> sizes;            ///< registers, by number
  DenseMap<const BasicBlock *, BitVector> after;
};

} // namespace

bool heddle::isWideDivision(const Instruction &instruction) {
  return instruction.isIntDivRem() && instruction.getType()->isIntegerTy(64) &&
         !isa<Constant>(instruction.getOperand(1));
}

unsigned heddle::estimateRegisters(const Function &function, const UniformityInfo &uniformity) {
  return Estimate(function, uniformity).most();
}

unsigned heddle::leastForGroupMatmuls(const Function &function) {
  unsigned least = 0;
  for (const Instruction &instruction : instructions(function))
    if (isGroupMatmul(instruction))
      least = std::max(least, unsigned(instruction.getType()->getNumContainedTypes()) + reservedForGroups);
  return least;
}

bool heddle::copiesAsynchronously(const Function &function) {
  return any_of(instructions(function), [](const Instruction &instruction) {
    const auto *call = dyn_cast<CallInst>(&instruction);
    const Function *called = call ? call->getCalledFunction() : nullptr;
    return called && called->getName().starts_with("llvm.nvvm.cp.async.");
  });
}
