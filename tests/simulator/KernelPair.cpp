// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles for the chip with LLVM's AMDGPU back end and for this process with its JIT, and makes the inputs.
#include "KernelPair.h"
#include "binary/AmdCodeObject.h"
#include "compiler/emit/SharedObject.h"
#include "simulator/Simulator.h"
#include "simulator/numbers/Conversions.h"
#include "support/Error.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <fmt/format.h>
#include <random>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
}

namespace heddle::simulator {

//===-- Inputs ---------------------------------------------------------------------------------------------------===//

namespace {

/// Bits of a floating number of the type that is nearest to `value`.
uint64_t encodeAs(const std::string &element, double value) {
  if (element == "half")
    return encodeFloat(f16, value);
  if (element == "bfloat")
    return encodeFloat(bf16, value);
  return element == "float" ? bitsOf(float(value)) : bitsOf(value);
}

uint64_t quietBit(const KernelType &type) {
  return type.element == "half"     ? 0x200
         : type.element == "bfloat" ? 0x40
         : type.element == "float"  ? 0x400000
                                    : 0x8000000000000;
}

uint64_t anyBits(const KernelType &type, std::mt19937_64 &random, unsigned index) {
  uint64_t ones = ~uint64_t(0) >> (64 - type.elementBits), top = ones - (ones >> 1);
  if (!type.isFloat()) {
    const uint64_t edges[] = {0, 1, 2, ones, top, top - 1, top + 1, ones - 1};
    uint64_t any = random(), shift = random() % type.elementBits;
    return index % 3 == 0 ? edges[any % std::size(edges)] & ones : index % 3 == 1 ? any & ones : (any & ones) >> shift;
  }
  const double edges[] = {0.0,       -0.0,         1,     -1,   0.5,     2.5,   -3.5, 1.5, HUGE_VAL,
                          -HUGE_VAL, std::nan(""), 1e-40, 6e-8, -1e-310, 65504, 3e38};
  if (index % 3 == 0)
    return encodeAs(type.element, edges[random() % std::size(edges)]);
  uint64_t any = random() & ones;
  if (index % 3 == 2) // numbers near 1, whose sums and products stay in range
    return encodeAs(type.element, std::ldexp(double(int64_t(any)) / double(ones), int(random() % 16) - 8));
  bool isNan = encodeAs(type.element, HUGE_VAL) < (any & (ones >> 1));
  return isNan ? any | quietBit(type) : any;
}

uint64_t chosenBits(const KernelType &type, Inputs inputs, std::mt19937_64 &random, unsigned index) {
  std::uniform_real_distribution<double> magnitude(0, index % 4 == 0 ? 100 : index % 4 == 1 ? 8 : 1);
  double value = index % 8 == 0 ? std::round(magnitude(random)) : magnitude(random);
  switch (inputs) {
  case Inputs::Any:
    return anyBits(type, random, index);
  case Inputs::Small:
    return encodeAs(type.element, random() % 2 ? value : -value);
  case Inputs::Positive:
    return encodeAs(type.element, value + 0.01);
  case Inputs::Exponent:
    return uint64_t(int64_t(random() % 41) - 20);
  }
  return 0;
}

Bytes makeInput(const KernelType &type, Inputs inputs, std::mt19937_64 &random) {
  Bytes bytes;
  for (unsigned index = 0; index < threadCount * type.count; ++index) {
    uint64_t value = chosenBits(type, inputs, random, index);
    for (unsigned byte = 0; byte < type.elementBits / 8; ++byte)
      bytes.push_back(uint8_t(value >> (8 * byte)));
  }
  return bytes;
}

} // namespace

KernelData makeData(const GeneratedKernel &kernel) {
  std::mt19937_64 random(kernel.input.sizeBytes() * 1000 + kernel.body.size());
  KernelData data;
  data.x = makeInput(kernel.input, kernel.inputs, random);
  data.y = makeInput(kernel.input, kernel.inputs, random);
  data.z = makeInput(kernel.third, kernel.thirdInputs, random);
  return data;
}

//===-- Compilation ----------------------------------------------------------------------------------------------===//

namespace {

/// The function of a kernel. `pointer` is the type of its arguments, `index` the lines that define %i.
std::string functionText(const GeneratedKernel &kernel, const std::string &head, const std::string &pointer,
                         const std::string &index) {
  auto load = [&](char value, const KernelType &type) {
    return fmt::format("%p{0} = getelementptr {1}, {2} %{0}s, i64 %i\n%{0} = load {1}, {2} %p{0}, align {3}\n", value,
                       type.name, pointer, type.elementBits / 8);
  };
  return fmt::format("{0} {{\n{1}{2}{3}{4}{5}\n%pr = getelementptr {6}, {7} %rs, i64 %i\n"
                     "store {6} %r, {7} %pr, align {8}\nret void\n}}\n",
                     head, index, load('x', kernel.input), load('y', kernel.input), load('z', kernel.third),
                     kernel.body, kernel.result.name, pointer, kernel.result.elementBits / 8);
}

std::string chipModule(const std::vector<GeneratedKernel> &kernels) {
  std::string text = "declare i32 @llvm.amdgcn.workitem.id.x()\n";
  for (const GeneratedKernel &kernel : kernels)
    text += functionText(kernel,
                         fmt::format("define amdgpu_kernel void @{}(ptr addrspace(1) %xs, ptr addrspace(1) %ys, "
                                     "ptr addrspace(1) %zs, ptr addrspace(1) %rs) #0",
                                     kernel.name),
                         "ptr addrspace(1)", "%id = call i32 @llvm.amdgcn.workitem.id.x()\n%i = zext i32 %id to i64\n");
  return text + "attributes #0 = { \"amdgpu-flat-work-group-size\"=\"256,256\" }\n";
}

std::string hostModule(const std::vector<GeneratedKernel> &kernels) {
  std::string text;
  for (const GeneratedKernel &kernel : kernels)
    text += functionText(
        kernel, fmt::format("define void @{}(ptr %xs, ptr %ys, ptr %zs, ptr %rs, i64 %i)", kernel.name), "ptr", "");
  return text;
}

std::unique_ptr<llvm::Module> parse(const std::string &text, llvm::LLVMContext &context) {
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseIR(llvm::MemoryBufferRef(text, "kernels"), diagnostic, context);
  if (module)
    return module;
  throw internalError(fmt::format("generated IR, line {}: {}: {}", diagnostic.getLineNo(),
                                  diagnostic.getMessage().str(), diagnostic.getLineContents().str()));
}

} // namespace

std::string compileForChip(const std::vector<GeneratedKernel> &kernels, const std::string &chip) {
  return compileModule(chipModule(kernels), chip);
}

std::string compileModule(const std::string &text, const std::string &chip) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmPrinter();
  llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, chip, "", {}, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = parse(text, context);
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
  passes.run(*module);
  return linkSharedObject(object.str().str());
}

//===-- Execution ------------------------------------------------------------------------------------------------===//

std::map<std::string, Outcome> simulate(const std::vector<GeneratedKernel> &kernels, const std::string &codeObject,
                                        std::set<std::string> &executedMnemonics, CheckSet checks) {
  Simulator simulator(parseAmdCodeObject(codeObject, "kernels"));
  constexpr uint64_t mostBytes = threadCount * 32;
  uint64_t addresses[4];
  const char *names[] = {"x", "y", "z", "r"};
  for (unsigned index = 0; index < 4; ++index)
    addresses[index] = simulator.allocate(mostBytes, names[index]);
  std::string arguments(reinterpret_cast<const char *>(addresses), sizeof addresses);
  Geometry geometry;
  geometry.items = {threadCount, 1, 1};
  SimulationOptions options;
  options.checks = checks;
  options.trace = [&](const Wave &, const Instruction &instruction) { executedMnemonics.insert(instruction.mnemonic); };
  std::map<std::string, Outcome> outcomes;
  for (const GeneratedKernel &kernel : kernels) {
    KernelData data = makeData(kernel);
    const Bytes *inputs[] = {&data.x, &data.y, &data.z};
    for (unsigned index = 0; index < 3; ++index)
      std::copy(inputs[index]->begin(), inputs[index]->end(), simulator.bytes(addresses[index]).begin());
    Outcome &outcome = outcomes[kernel.name];
    AddressSpace::setWritten(*simulator.system.home.owner(addresses[3]));
    simulator.setUninitialised(addresses[3]);
    SimulationReport report = simulator.run(simulator.object().kernel(kernel.name), geometry, arguments, options);
    if (report.error) {
      outcome.error = report.error->what();
      for (const std::string &note : report.error->notes)
        outcome.error += "; " + note;
    }
    for (const Finding &finding : report.findings)
      outcome.error += finding.text();
    uint64_t unwritten = simulator.system.home.countUnwritten(addresses[3], kernel.result.sizeBytes() * threadCount);
    if (unwritten)
      outcome.error += fmt::format("{} bytes of the result depend on what nothing has written", unwritten);
    auto result = simulator.bytes(addresses[3]).first(kernel.result.sizeBytes() * threadCount);
    outcome.result.assign(result.begin(), result.end());
  }
  return outcomes;
}

namespace {

// What the host's code generator calls: conversions that this library lacks or rounds in another way.
__bf16 roundFloatToBrain(float value) {
  return std::bit_cast<__bf16>(toBf16(value));
}
__bf16 roundDoubleToBrain(double value) {
  return std::bit_cast<__bf16>(uint16_t(encodeFloat(bf16, value)));
}
_Float16 roundDoubleToHalf(double value) {
  return std::bit_cast<_Float16>(uint16_t(encodeFloat(f16, value)));
}

void defineHelpers(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto define = [&](const char *name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  define("__truncsfbf2", roundFloatToBrain);
  define("__truncdfbf2", roundDoubleToBrain);
  define("__truncdfhf2", roundDoubleToHalf);
  llvm::cantFail(jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
}

} // namespace

std::map<std::string, Outcome> runOnHost(const std::vector<GeneratedKernel> &kernels) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  // No wider than this: AVX-512's conversions to bf16 flush denormals.
  llvm::orc::JITTargetMachineBuilder machine(llvm::Triple("x86_64-unknown-linux-gnu"));
  machine.setCPU("x86-64-v3");
  auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create());
  defineHelpers(*jit);
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module = parse(hostModule(kernels), *context);
  module->setDataLayout(jit->getDataLayout());
  llvm::cantFail(jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  std::map<std::string, Outcome> outcomes;
  for (const GeneratedKernel &kernel : kernels) {
    using Entry = void (*)(const void *, const void *, const void *, void *, uint64_t);
    auto entry = llvm::cantFail(jit->lookup(kernel.name)).toPtr<Entry>();
    KernelData data = makeData(kernel);
    Bytes &result = outcomes[kernel.name].result;
    result.resize(kernel.result.sizeBytes() * threadCount);
    for (uint64_t thread = 0; thread < threadCount; ++thread)
      entry(data.x.data(), data.y.data(), data.z.data(), result.data(), thread);
  }
  return outcomes;
}

} // namespace heddle::simulator
