// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tells LLVM that reads of LDS do not alias copies to it, as verify-hazards has proven: it would wait for them.
#include "compiler/emit/CopyScopes.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

using namespace llvm;

static bool isCopy(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call && (call->getIntrinsicID() == Intrinsic::amdgcn_global_load_lds ||
                  call->getIntrinsicID() == Intrinsic::amdgcn_raw_ptr_buffer_load_lds);
}

static bool accessesLds(const Instruction &instruction) {
  constexpr unsigned lds = 3;
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
    return call->getIntrinsicID() == Intrinsic::amdgcn_ds_read_tr16_b64 ||
           call->getIntrinsicID() == Intrinsic::amdgcn_ds_read_tr8_b64 ||
           call->getIntrinsicID() == Intrinsic::amdgcn_ds_read_tr4_b64;
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return load->getPointerAddressSpace() == lds;
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    return store->getPointerAddressSpace() == lds;
  if (auto *update = dyn_cast<AtomicRMWInst>(&instruction))
    return update->getPointerAddressSpace() == lds;
  if (auto *swap = dyn_cast<AtomicCmpXchgInst>(&instruction))
    return swap->getPointerAddressSpace() == lds;
  return false;
}

void heddle::separateCopies(Module &module) {
  MDBuilder builder(module.getContext());
  for (Function &function : module) {
    if (none_of(instructions(function), isCopy))
      continue;
    MDNode *domain = builder.createAnonymousAliasScopeDomain("heddle.copies");
    MDNode *scopes = MDNode::get(module.getContext(), {builder.createAnonymousAliasScope(domain, "copies to LDS")});
    for (Instruction &instruction : instructions(function))
      if (isCopy(instruction))
        instruction.setMetadata(LLVMContext::MD_alias_scope, scopes);
      else if (accessesLds(instruction))
        instruction.setMetadata(LLVMContext::MD_noalias, scopes);
  }
}
