// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Empty initialisers for the LLVM targets we do not link: lld::elf calls InitializeAllTargets(), and LTO names Polly.

// The three targets we do link: a name made by ## below is looked up as a macro again, so theirs get another, unused
// name.
#define LLVMInitializeNVPTXTarget unusedNVPTXTarget
#define LLVMInitializeNVPTXTargetInfo unusedNVPTXTargetInfo
#define LLVMInitializeNVPTXTargetMC unusedNVPTXTargetMC
#define LLVMInitializeNVPTXAsmPrinter unusedNVPTXAsmPrinter
#define LLVMInitializeAMDGPUTarget unusedAMDGPUTarget
#define LLVMInitializeAMDGPUTargetInfo unusedAMDGPUTargetInfo
#define LLVMInitializeAMDGPUTargetMC unusedAMDGPUTargetMC
#define LLVMInitializeAMDGPUAsmPrinter unusedAMDGPUAsmPrinter
#define LLVMInitializeAMDGPUAsmParser unusedAMDGPUAsmParser
#define LLVMInitializeX86Target unusedX86Target
#define LLVMInitializeX86TargetInfo unusedX86TargetInfo
#define LLVMInitializeX86TargetMC unusedX86TargetMC
#define LLVMInitializeX86AsmPrinter unusedX86AsmPrinter
#define LLVMInitializeX86AsmParser unusedX86AsmParser

#include "llvm/Plugins/PassPlugin.h"

#pragma GCC visibility push(hidden) // a shared library must not export empty initialisers to its host process
extern "C" {
#define LLVM_TARGET(T)                                                                                                 \
  void LLVMInitialize##T##Target() {}                                                                                  \
  void LLVMInitialize##T##TargetInfo() {}                                                                              \
  void LLVMInitialize##T##TargetMC() {}
#include "llvm/Config/Targets.def"
#define LLVM_ASM_PRINTER(T)                                                                                            \
  void LLVMInitialize##T##AsmPrinter() {}
#include "llvm/Config/AsmPrinters.def"
#define LLVM_ASM_PARSER(T)                                                                                             \
  void LLVMInitialize##T##AsmParser() {}
#include "llvm/Config/AsmParsers.def"
}

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", "stub", [](llvm::PassBuilder &) {}};
}
#pragma GCC visibility pop
