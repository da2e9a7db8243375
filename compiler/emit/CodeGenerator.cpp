// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Optimises and emits with LLVM's back ends, and turns each of their ways to fail into an Error.
#include "compiler/emit/CodeGenerator.h"
#include "chips/Chip.h"
#include "compiler/emit/CopyScopes.h"
#include "compiler/emit/Guard.h"
#include "compiler/emit/LlvmOptions.h"
#include "compiler/emit/RegisterEstimate.h"
#include "compiler/emit/SingleLanes.h"
#include "compiler/emit/TargetMachines.h"
#include "support/Error.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <mutex>

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeX86AsmParser();
void LLVMInitializeX86Disassembler();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUAsmParser();
}

namespace heddle {
namespace {

/// A kernel arrives as loops over explicit vectors of the machine's width: there is nothing left to vectorise or to
/// inline. What remains is to promote memory, fold addresses, hoist and simplify, which takes a fraction of -O3.
/// Partial unrolling is left out: it costs a third of a large kernel's compile time and gives 2 to 5 % on small loops.
constexpr const char *shortPipeline =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop(indvars,loop-deletion,loop-unroll-full),sroa,early-cse<memssa>,dse,loop-mssa(licm),"
    "early-cse<memssa>,instcombine<no-verify-fixpoint>,adce,simplifycfg)";

constexpr const char *hostTriple = "x86_64-pc-linux-gnu", *nvidiaTriple = "nvptx64-nvidia-cuda",
                     *amdTriple = "amdgcn-amd-amdhsa";
/// What the kernels need at least: one-sided fences, conversions of f8. CUDA 12.7 and later load it.
constexpr const char *ptxVersion = "+ptx86";
/// LLVM 22 makes a fused multiply-add with +0 of a product that is rounded to f16, and -0 becomes +0. It writes 12
/// bytes of shared memory at multiples of 4, which chips allow in one of their modes only.
constexpr const char *amdFeatures = "-fma-mix-insts,-unaligned-access-mode";

/// Collects error diagnostics of a context; the default handler would end the process.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(llvm::LLVMContext &context) : context(context) {
    context.setDiagnosticHandlerCallBack(
        [](const llvm::DiagnosticInfo *info, void *into) {
          if (info->getSeverity() != llvm::DS_Error)
            return;
          llvm::raw_string_ostream stream(*static_cast<std::string *>(into));
          llvm::DiagnosticPrinterRawOStream printer(stream);
          info->print(printer);
        },
        &text);
  }
  ~DiagnosticCollector() { context.setDiagnosticHandlerCallBack(nullptr, nullptr); }
  std::string text;

private:
  llvm::LLVMContext &context;
};

/// Narrows 64-bit divisions whose operands fit fewer bits, as offsets often do.
constexpr const char *narrowDivisions = ",function(correlated-propagation,instcombine<no-verify-fixpoint>)";

bool dividesWide(const llvm::Module &module) {
  return llvm::any_of(module, [](const llvm::Function &function) {
    return llvm::any_of(llvm::instructions(function), isWideDivision);
  });
}

std::string pipelineOf(int level) {
  return level == 0 ? "" : level == 3 ? "default<O3>" : shortPipeline;
}

/// Scheduling compares each access to memory with every other of its block. After this many in one block the time is
/// quadratic, and the scheduler that runs after register allocation (most of it, and of least use to vector code) is
/// left out by choosing a lower level.
constexpr int manyAccesses = 500;

int64_t mostAccesses(const llvm::Module &module) {
  int64_t most = 0;
  for (const llvm::Function &function : module)
    for (const llvm::BasicBlock &block : function)
      most = std::max(
          most, int64_t(llvm::count_if(block, [](const llvm::Instruction &i) { return i.mayReadOrWriteMemory(); })));
  return most;
}

/// The back end of NVPTX reduces the strength of straight lines by trying pairs of address computations, which in a
/// large function takes longer than all the rest. There it is left out, and -O3 has it.
class PassGate : public llvm::OptPassGate {
public:
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override { return pass != "slsr"; }
  bool isEnabled() const override { return true; }
};
constexpr unsigned manyInstructions = 800;

/// Runs the passes that `fill` adds; none when it returns false.
void runPasses(llvm::Module &module, llvm::TargetMachine &machine,
               llvm::function_ref<bool(llvm::PassBuilder &, llvm::ModulePassManager &)> fill) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager manager;
  if (fill(builder, manager))
    manager.run(module, modules);
}

} // namespace

void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeX86Disassembler();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    setLlvmOptions();
  });
}

std::unique_ptr<CodeGenerator> CodeGenerator::forHost(const HostProcessor &processor, int level) {
  std::unique_ptr<CodeGenerator> result(new CodeGenerator(hostTriple, processor.name, processor.featureString, level));
  result->vectorBits = processor.vectorBits;
  return result;
}

std::unique_ptr<CodeGenerator> CodeGenerator::forNvidia(const Chip &chip, int level) {
  return std::unique_ptr<CodeGenerator>(new CodeGenerator(nvidiaTriple, chip.processor, ptxVersion, level));
}

std::unique_ptr<CodeGenerator> CodeGenerator::forAmd(const Chip &chip, int level) {
  return std::unique_ptr<CodeGenerator>(new CodeGenerator(amdTriple, chip.processor, amdFeatures, level));
}

CodeGenerator::CodeGenerator(std::string triple, std::string processor, std::string features, int level)
    : key{std::move(triple), std::move(processor), std::move(features), level} {
  initializeTargets();
  machine = takeTargetMachine(key);
}

CodeGenerator::~CodeGenerator() {
  if (failed)
    (void)machine.release(); // in an unknown state (Guard.h)
  else
    giveTargetMachineBack(key, std::move(machine));
}

/// Runs one step of LLVM; its failure is a fault of ours, since kernels that reach it have been verified: all but the
/// text of their inline assembly.
void CodeGenerator::runStep(llvm::Module &module, const char *step, llvm::function_ref<void()> action) const {
  DiagnosticCollector diagnostics(module.getContext());
  bool before = std::exchange(failed, true); // also when `action` throws
  std::string failure = runGuarded(action);
  if (!diagnostics.text.empty())
    failure = diagnostics.text;
  if (llvm::StringRef(failure).contains("inline asm"))
    throw inputError("the assembler refuses inline assembly of the kernel: " + llvm::StringRef(failure).trim().str());
  if (!failure.empty())
    throw internalError(std::string("LLVM failed in ") + step + ": " + failure);
  failed = before;
}

std::vector<PackageLimit> CodeGenerator::limitsOf(const llvm::Module &module) const {
  std::vector<PackageLimit> limits;
  int64_t accesses = mostAccesses(module), instructions = module.getInstructionCount();
  if (machine->getOptLevel() > llvm::CodeGenOptLevel::Less && accesses > manyAccesses)
    limits.push_back({"accesses to memory in one block of code", accesses, manyAccesses,
                      "code is generated as at -O 1, with instructions scheduled in less detail"});
  if (machine->getOptLevel() < llvm::CodeGenOptLevel::Aggressive && instructions > int64_t(manyInstructions) &&
      key.triple != hostTriple)
    limits.push_back({"instructions of LLVM IR", instructions, manyInstructions,
                      "products in addresses are not replaced by sums; -O 3 does it"});
  return limits;
}

// LLVM 22 does not say of matrix instructions that all lanes have to take part: it would move one into a branch. Those
// that are inline assembly have `.aligned` in their text.
static void markMatrixInstructions(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      llvm::Function *callee = call->getCalledFunction();
      auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
      if ((callee && callee->getName().starts_with("llvm.nvvm.mma.")) ||
          (assembly && assembly->getAsmString().contains(".aligned")))
        call->setConvergent();
    }
}

// LLVM's own bound is that of any block. With the kernel's, the bits of a thread's number and those of its registers
// and its block do not overlap, and offsets of registers become those of instructions.
static void boundThreadNumbers(llvm::Function &function) {
  unsigned threads = 0;
  bool isAmd = function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL;
  llvm::StringRef text =
      function.getFnAttribute(isAmd ? "amdgpu-flat-work-group-size" : "nvvm.reqntid").getValueAsString();
  if (text.split(',').first.getAsInteger(10, threads) || !threads)
    return;
  const llvm::Intrinsic::ID amd = llvm::Intrinsic::amdgcn_workitem_id_x,
                            nvidia = llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, number = isAmd ? amd : nvidia;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction); call && call->getIntrinsicID() == number)
      call->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, threads)));
}

void CodeGenerator::prepare(llvm::Module &module) const {
  module.setTargetTriple(llvm::Triple(key.triple));
  module.setDataLayout(machine->createDataLayout());
  if (key.triple == amdTriple)
    separateCopies(module);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", key.processor);
    function.addFnAttr("target-features", key.features);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (vectorBits == 0) {
      markMatrixInstructions(function);
      boundThreadNumbers(function);
      continue;
    }
    std::string bits = std::to_string(vectorBits);
    function.addFnAttr("prefer-vector-width", bits);
    function.addFnAttr("min-legal-vector-width", bits);
  }
}

void CodeGenerator::optimize(llvm::Module &module, const std::string &passes) const {
  std::string pipeline = passes.empty() ? pipelineOf(key.level) : passes;
  if (pipeline == shortPipeline && dividesWide(module))
    pipeline += narrowDivisions;
  if (passes.empty() && key.level > 0 && key.triple == amdTriple)
    pipeline += ",amdgpu-attributor"; // which of a wave's inputs a kernel has no use for
  if (pipeline.empty())
    return;
  std::string malformed;
  runStep(module, "optimisation", [&] {
    runPasses(module, *machine, [&](llvm::PassBuilder &builder, llvm::ModulePassManager &manager) {
      if (llvm::Error error = builder.parsePassPipeline(manager, pipeline))
        malformed = llvm::toString(std::move(error));
      return malformed.empty();
    });
  });
  if (!malformed.empty())
    throw inputError("LLVM does not know the passes `" + pipeline + "`: " + malformed);
}

void CodeGenerator::run(llvm::Module &module, const char *step, PassFiller fill) const {
  runStep(module, step, [&] {
    runPasses(module, *machine, [&](llvm::PassBuilder &builder, llvm::ModulePassManager &manager) {
      fill(builder, manager);
      return true;
    });
  });
}

std::string CodeGenerator::emitFile(llvm::Module &module, bool asText) const {
  llvm::SmallString<0> bytes;
  bool refused = false;
  llvm::CodeGenOptLevel level = machine->getOptLevel();
  if (level > llvm::CodeGenOptLevel::Less && mostAccesses(module) > manyAccesses)
    machine->setOptLevel(llvm::CodeGenOptLevel::Less);
  PassGate gate;
  llvm::OptPassGate &usual = module.getContext().getOptPassGate();
  if (level < llvm::CodeGenOptLevel::Aggressive && module.getInstructionCount() > manyInstructions)
    module.getContext().setOptPassGate(gate);
  auto restore = llvm::scope_exit([&] {
    machine->setOptLevel(level);
    module.getContext().setOptPassGate(usual);
  });
  auto options = keepLlvmOptions();
  runStep(module, "code generation", [&] {
    if (vectorBits > 0)
      storeSingleLanes(module);
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    refused = machine->addPassesToEmitFile(
        passes, stream, nullptr, asText ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile,
        /*DisableVerify=*/true);
    if (!refused)
      passes.run(module);
  });
  if (refused)
    throw internalError("LLVM cannot emit this kind of file");
  return bytes.str().str();
}

std::string CodeGenerator::object(llvm::Module &module) const {
  return emitFile(module, /*asText=*/false);
}

std::string CodeGenerator::assembly(const llvm::Module &module) const {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  return emitFile(*copy, /*asText=*/true);
}

std::string printModule(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

} // namespace heddle
