// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gives lanes whose mask is false 16 bytes of zeros to copy, and adds the waits that LLVM 22 leaves out.
#include "compiler/accesses/PointerCopies.h"
#include "chips/AmdWaits.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace heddle;

constexpr static unsigned globalSpace = 1;

/// 16 bytes of zeros to copy instead of what a mask forbids.
static Value *zeroMemory(Module &module) {
  constexpr const char *name = "heddle_zeros";
  if (GlobalVariable *known = module.getNamedGlobal(name))
    return known;
  Type *words = ArrayType::get(Type::getInt32Ty(module.getContext()), 4);
  auto *zeros =
      new GlobalVariable(module, words, /*isConstant=*/false, GlobalValue::InternalLinkage,
                         Constant::getNullValue(words), name, nullptr, GlobalValue::NotThreadLocal, globalSpace);
  zeros->setAlignment(Align(16));
  return zeros;
}

static bool waitsForLds(const IntrinsicInst &wait) {
  constexpr uint64_t lgkmcnt = 0xF00;
  return wait.getIntrinsicID() == Intrinsic::amdgcn_s_waitcnt &&
         (cast<ConstantInt>(wait.getArgOperand(0))->getZExtValue() & lgkmcnt) == 0;
}

/// Lanes exchange values through LDS hardware by calls that access no memory for LLVM, which may place them anywhere
/// among other instructions. Assembly and other calls may do anything.
static bool mayUseLdsAnywhere(const Instruction &instruction) {
  auto *call = dyn_cast<CallBase>(&instruction);
  if (!call)
    return false;
  Intrinsic::ID id = call->getIntrinsicID();
  return id == Intrinsic::not_intrinsic || id == Intrinsic::amdgcn_ds_bpermute || id == Intrinsic::amdgcn_ds_permute ||
         id == Intrinsic::amdgcn_ds_swizzle;
}

static bool accessesLds(const Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return load->getPointerAddressSpace() != globalSpace;
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
    Intrinsic::ID id = call->getIntrinsicID();
    return call->mayReadOrWriteMemory() && id != Intrinsic::amdgcn_s_barrier && id != Intrinsic::amdgcn_sched_barrier &&
           id != Intrinsic::amdgcn_raw_ptr_buffer_load_lds;
  }
  return instruction.mayReadOrWriteMemory() && !isa<FenceInst>(instruction);
}

/// Whether no LDS operation is in flight before `copy`, as far as its block tells: nothing but accesses of global
/// memory comes between it and a wait, or another copy, which waited. Blocks may yet be merged, so that calls anywhere
/// in the function count.
static bool hasWaited(const Instruction &copy) {
  if (any_of(instructions(*copy.getFunction()), mayUseLdsAnywhere))
    return false;
  for (const Instruction *at = copy.getPrevNode(); at; at = at->getPrevNode()) {
    auto *call = dyn_cast<IntrinsicInst>(at);
    if (call && (call->getIntrinsicID() == Intrinsic::amdgcn_global_load_lds || waitsForLds(*call)))
      return true;
    if (accessesLds(*at))
      return false;
  }
  return false;
}

// LLVM 22 believes that lgkmcnt counts this instruction, which it does not, and waits for one LDS operation too few
// where one before it is read after it (fixed by llvm/llvm-project#179305; tests/cli/amd.test says when). So none is
// in flight when it is issued, and neither such an operation nor the instruction moves over the other.
void heddle::copyByPointer(IRBuilder<> &b, IntrinsicInst &call, Value *bit) {
  Value *pointer = call.getArgOperand(0);
  if (bit)
    pointer = b.CreateSelect(bit, pointer, zeroMemory(*call.getModule()));
  constexpr uint32_t lds = 0x380, vectorMemory = 0x70, all = 0x7FF;
  auto letPass = [&](uint32_t kinds) { b.CreateIntrinsic(Intrinsic::amdgcn_sched_barrier, {}, {b.getInt32(kinds)}); };
  letPass(all & ~lds);
  if (!hasWaited(call))
    b.CreateIntrinsic(Intrinsic::amdgcn_s_waitcnt, {}, {b.getInt32(waitForLgkmcnt0)});
  b.CreateIntrinsic(Intrinsic::amdgcn_global_load_lds, {},
                    {pointer, call.getArgOperand(1), call.getArgOperand(2), b.getInt32(0), call.getArgOperand(4)});
  letPass(all & ~(lds | vectorMemory));
}
