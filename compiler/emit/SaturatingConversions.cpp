// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the calls one by one.
#include "compiler/emit/SaturatingConversions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

void heddle::usePlainConversions(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      auto *call = dyn_cast<IntrinsicInst>(&instruction);
      Intrinsic::ID id = call ? call->getIntrinsicID() : Intrinsic::not_intrinsic;
      bool isSigned = id == Intrinsic::fptosi_sat;
      if ((!isSigned && id != Intrinsic::fptoui_sat) || !call->getType()->getScalarType()->isIntegerTy(32) ||
          isa<Constant>(call->getArgOperand(0)))
        continue;
      IRBuilder<> b(call);
      Value *plain = isSigned ? b.CreateFPToSI(call->getArgOperand(0), call->getType())
                              : b.CreateFPToUI(call->getArgOperand(0), call->getType());
      // Code generation would take what is out of range for undefined, and a conversion back for a truncation.
      call->replaceAllUsesWith(b.CreateFreeze(plain));
      call->eraseFromParent();
    }
}
