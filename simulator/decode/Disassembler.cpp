// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes LLVM's disassembler, and keeps from it the encodings that it does not survive.
#include "simulator/decode/Disassembler.h"
#include "support/Error.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSchedule.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include <algorithm>
#include <cmath>
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

// LLVM 22 crashes on some bytes that are no instruction, so that they must not reach it. What is here was found by
// decoding some hundred million random words in child processes; the test repeats a part of that.

/// The selects of sub-dword addressing: the printer takes them as given, and jumps anywhere for those that there are
/// not.
bool hasBadSelects(uint32_t first, uint32_t second) {
  constexpr uint32_t subDword = 0xf9, comparison = 0x3e, lastSelect = 6, lastUnused = 2;
  if (first >> 31 || (first & 0x1ff) != subDword)
    return false;
  bool hasDestination = first >> 25 != comparison;
  return (second >> 16 & 7) > lastSelect || (second >> 24 & 7) > lastSelect ||
         (hasDestination && ((second >> 8 & 7) > lastSelect || (second >> 11 & 3) > lastUnused));
}

/// The code of a literal as an operand of an encoding that has 8 bytes without it. These chips have none; the
/// disassembler looks for it after the longest instruction of gfx942 and falls over its own message, and believes in
/// it on gfx950.
bool hasLiteralBehindLongEncoding(uint32_t first, uint32_t second) {
  constexpr uint32_t literal = 255;
  enum : uint32_t { Vop3 = 0b110100, Buffer = 0b111000, FormattedBuffer = 0b111010 };
  switch (first >> 26) {
  case Vop3: {
    uint32_t opcode = first >> 16 & 0x3ff;
    constexpr uint32_t firstBehindComparisons = 0x100, readLane = 0x289;
    bool hasScalarDestination = opcode < firstBehindComparisons || opcode == readLane;
    return (hasScalarDestination && (first & 0xff) == literal) || (second & 0x1ff) == literal ||
           (second >> 9 & 0x1ff) == literal || (second >> 18 & 0x1ff) == literal;
  }
  case Buffer:
  case FormattedBuffer:
    return second >> 24 == literal;
  default:
    return false;
  }
}

/// A product of f8f6f4 whose A or B is no vector register: the disassembler narrows the register to what the format
/// takes without asking whether there is one.
bool hasScalarMatrix(uint32_t first, uint32_t second) {
  constexpr uint32_t product16 = 0xd3ad, product32 = 0xd3ae, firstVector = 256;
  uint32_t opcode = first >> 16;
  return (opcode == product16 || opcode == product32) &&
         ((second & 0x1ff) < firstVector || (second >> 9 & 0x1ff) < firstVector);
}

bool isRefused(uint32_t first, uint32_t second) {
  return hasBadSelects(first, second) || hasLiteralBehindLongEncoding(first, second) || hasScalarMatrix(first, second);
}

bool isRefused(const uint8_t *bytes) {
  uint32_t words[4];
  std::memcpy(words, bytes, sizeof words);
  constexpr uint32_t scales = 0xd3ac; // of the product after them: both are one instruction
  return isRefused(words[0], words[1]) || (words[0] >> 16 == scales && isRefused(words[2], words[3]));
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

  /// Its size; 0 when the bytes are no instruction.
  uint64_t decode(std::span<const uint8_t> bytes, llvm::MCInst &instruction) const;
};

Disassembler::Disassembler(const std::string &chip) : state(std::make_unique<State>(chip)) {}
Disassembler::~Disassembler() = default;

uint64_t Disassembler::State::decode(std::span<const uint8_t> bytes, llvm::MCInst &instruction) const {
  // The disassembler fails badly on a literal that is cut off: it always gets enough bytes.
  constexpr size_t longest = 20;
  uint8_t padded[longest] = {};
  std::memcpy(padded, bytes.data(), std::min(longest, bytes.size()));
  if (isRefused(padded))
    return 0;
  uint64_t size = 0;
  auto status = disassembler->getInstruction(instruction, size, padded, 0, llvm::nulls());
  if (status != llvm::MCDisassembler::Success || size > bytes.size())
    return 0;
  bool isWhole =
      std::all_of(instruction.begin(), instruction.end(), [](const auto &operand) { return operand.isValid(); });
  return isWhole ? size : 0;
}

Disassembler::Printed Disassembler::print(std::span<const uint8_t> bytes) {
  llvm::MCInst instruction;
  uint64_t size = state->decode(bytes, instruction);
  if (!size)
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

std::optional<Disassembler::Scheduling> Disassembler::schedulingOf(std::span<const uint8_t> bytes) {
  llvm::MCInst instruction;
  if (!state->decode(bytes, instruction))
    return {};
  const llvm::MCSubtargetInfo &chip = *state->chipInfo;
  const llvm::MCSchedModel &model = chip.getSchedModel();
  unsigned number = state->instructions->get(instruction.getOpcode()).getSchedClass();
  while (number && model.getSchedClassDesc(number)->isVariant())
    number = chip.resolveVariantSchedClass(number, &instruction, state->instructions.get(), model.getProcessorID());
  const llvm::MCSchedClassDesc *description = number ? model.getSchedClassDesc(number) : nullptr;
  if (!description || !description->isValid())
    return {};
  Scheduling scheduling;
  int latency = llvm::MCSchedModel::computeInstrLatency(chip, *description);
  int delay = int(llvm::MCSchedModel::getForwardingDelayCycles(chip.getReadAdvanceEntries(*description)));
  scheduling.latencyPasses = unsigned(std::max(1, latency + delay));
  scheduling.busyPasses =
      unsigned(std::ceil(std::max(1.0, llvm::MCSchedModel::getReciprocalThroughput(chip, *description))));
  for (const llvm::MCWriteProcResEntry *entry = chip.getWriteProcResBegin(description);
       entry != chip.getWriteProcResEnd(description); ++entry)
    scheduling.isOnMatrixUnit |= llvm::StringRef(model.getProcResource(entry->ProcResourceIdx)->Name) == "HWXDL";
  return scheduling;
}

} // namespace heddle::simulator
