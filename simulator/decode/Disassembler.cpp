// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/decode/Disassembler.h"
#include "support/Error.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include <algorithm>
#include <cstring>
#include <mutex>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace heddle::simulator {
namespace {

const llvm::Target &amdTarget(const llvm::Triple &triple) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    throw internalError("this LLVM has no disassembler for AMD: " + message);
  return *target;
}

/// LLVM's printer takes the selects of sub-dword addressing as given and jumps anywhere for those that do not exist.
bool hasBadSelects(const uint8_t *bytes) {
  constexpr uint32_t subDword = 0xf9, comparison = 0x3e, lastSelect = 6, lastUnused = 2;
  uint32_t first, second;
  std::memcpy(&first, bytes, 4);
  std::memcpy(&second, bytes + 4, 4);
  if (first >> 31 || (first & 0x1ff) != subDword)
    return false;
  bool hasDestination = first >> 25 != comparison;
  return (second >> 16 & 7) > lastSelect || (second >> 24 & 7) > lastSelect ||
         (hasDestination && ((second >> 8 & 7) > lastSelect || (second >> 11 & 3) > lastUnused));
}

} // namespace

struct Disassembler::State {
  explicit State(const std::string &chip) : target(amdTarget(triple)) {
    registers.reset(target.createMCRegInfo(triple));
    assembly.reset(target.createMCAsmInfo(*registers, triple, options));
    instructions.reset(target.createMCInstrInfo());
    chipInfo.reset(target.createMCSubtargetInfo(triple, chip, ""));
    if (!chipInfo || !chipInfo->isCPUStringValid(chip))
      throw internalError("this LLVM does not know the chip `" + chip + "`");
    context = std::make_unique<llvm::MCContext>(triple, assembly.get(), registers.get(), chipInfo.get());
    disassembler.reset(target.createMCDisassembler(*chipInfo, *context));
    printer.reset(
        target.createMCInstPrinter(triple, assembly->getAssemblerDialect(), *assembly, *instructions, *registers));
  }

  llvm::Triple triple = llvm::Triple("amdgcn-amd-amdhsa");
  const llvm::Target &target;
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> chipInfo;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

Disassembler::Disassembler(const std::string &chip) : state(std::make_unique<State>(chip)) {}
Disassembler::~Disassembler() = default;

Disassembler::Printed Disassembler::print(std::span<const uint8_t> bytes) {
  // The disassembler fails badly on a literal that is cut off: it always gets enough bytes.
  constexpr size_t longest = 20;
  uint8_t padded[longest] = {};
  std::memcpy(padded, bytes.data(), std::min(longest, bytes.size()));
  if (hasBadSelects(padded))
    return {};
  llvm::MCInst instruction;
  uint64_t size = 0;
  auto status = state->disassembler->getInstruction(instruction, size, padded, 0, llvm::nulls());
  if (status != llvm::MCDisassembler::Success || size > bytes.size())
    return {};
  Printed printed{uint32_t(size), ""};
  llvm::raw_string_ostream stream(printed.text);
  state->printer->printInst(&instruction, 0, "", *state->chipInfo, stream);
  size_t begin = printed.text.find_first_not_of(" \t");
  printed.text.erase(0, begin == std::string::npos ? printed.text.size() : begin);
  for (char &letter : printed.text)
    if (letter == '\t')
      letter = ' ';
  return printed;
}

} // namespace heddle::simulator
