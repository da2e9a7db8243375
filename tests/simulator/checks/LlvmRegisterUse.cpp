// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decodes with LLVM and reads its operand tables, with which RegisterUse is compared.
#include "LlvmRegisterUse.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstrDesc.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include <stdexcept>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace heddle::simulator {
namespace {

/// `VGPR5_VGPR6`, `SGPR0_SGPR1`, `VCC`: a register of LLVM's, as its 32-bit ones.
void addRegister(llvm::StringRef name, std::set<std::string> &names) {
  if (name == "VCC" || name == "EXEC") {
    names.insert(name.lower() + "_lo");
    names.insert(name.lower() + "_hi");
    return;
  }
  llvm::SmallVector<llvm::StringRef> parts;
  if (name.starts_with("VCC_") || name.starts_with("EXEC_") || name == "M0" || name == "SCC") {
    names.insert(name.lower());
    return;
  }
  if (name == "SRC_VCCZ" || name == "SRC_EXECZ")
    return addRegister(name == "SRC_VCCZ" ? "VCC" : "EXEC", names);
  if (name == "SRC_SCC")
    return addRegister("SCC", names);
  name.split(parts, '_');
  for (llvm::StringRef part : parts) {
    unsigned number;
    if ((part.consume_front("VGPR") && !part.getAsInteger(10, number)))
      names.insert("v" + part.str());
    else if ((part.consume_front("AGPR") && !part.getAsInteger(10, number)))
      names.insert("a" + part.str());
    else if ((part.consume_front("SGPR") && !part.getAsInteger(10, number)))
      names.insert("s" + part.str());
  }
}

} // namespace

struct LlvmRegisterUse::State {
  explicit State(const std::string &chip) {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    std::string message;
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
    if (!target)
      throw std::runtime_error(message);
    registers.reset(target->createMCRegInfo(triple));
    assembly.reset(target->createMCAsmInfo(*registers, triple, options));
    instructions.reset(target->createMCInstrInfo());
    chipInfo.reset(target->createMCSubtargetInfo(triple, chip, ""));
    context = std::make_unique<llvm::MCContext>(triple, assembly.get(), registers.get(), chipInfo.get());
    disassembler.reset(target->createMCDisassembler(*chipInfo, *context));
  }

  llvm::Triple triple = llvm::Triple("amdgcn-amd-amdhsa");
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> chipInfo;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
};

LlvmRegisterUse::LlvmRegisterUse(const std::string &chip) : state(std::make_unique<State>(chip)) {}
LlvmRegisterUse::~LlvmRegisterUse() = default;

bool LlvmRegisterUse::find(std::span<const uint8_t> bytes, NamedRegisters &found) {
  uint8_t padded[20] = {};
  std::copy_n(bytes.data(), std::min(bytes.size(), sizeof padded), padded);
  llvm::MCInst instruction;
  uint64_t size = 0;
  if (state->disassembler->getInstruction(instruction, size, padded, 0, llvm::nulls()) != llvm::MCDisassembler::Success)
    return false;
  const llvm::MCInstrDesc &description = state->instructions->get(instruction.getOpcode());
  auto nameOf = [&](llvm::MCRegister number) { return llvm::StringRef(state->registers->getName(number)); };
  for (unsigned i = 0; i < instruction.getNumOperands(); ++i) {
    const llvm::MCOperand &operand = instruction.getOperand(i);
    if (!operand.isReg() || !operand.getReg())
      continue;
    addRegister(nameOf(operand.getReg()), i < description.getNumDefs() ? found.written : found.read);
  }
  for (llvm::MCPhysReg number : description.implicit_uses())
    addRegister(nameOf(number), found.read);
  for (llvm::MCPhysReg number : description.implicit_defs())
    addRegister(nameOf(number), found.written);
  return true;
}

} // namespace heddle::simulator
