// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Disassembles a host package with LLVM's machine-code layer and sorts its instructions by their text.
#include "compiler/emit/Disassembly.h"
#include "compiler/emit/CodeGenerator.h"
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
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace heddle {
namespace {

/// Everything of LLVM's machine-code layer that one disassembly needs.
struct Decoder {
  Decoder() : triple("x86_64-pc-linux-gnu") {
    initializeTargets();
    std::string message;
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
    if (!target)
      throw internalError("LLVM has no x86-64 back end: " + message);
    registers.reset(target->createMCRegInfo(triple));
    assembly.reset(target->createMCAsmInfo(*registers, triple, options));
    instructions.reset(target->createMCInstrInfo());
    subtarget.reset(target->createMCSubtargetInfo(triple, "", ""));
    context = std::make_unique<llvm::MCContext>(triple, assembly.get(), registers.get(), subtarget.get());
    disassembler.reset(target->createMCDisassembler(*subtarget, *context));
    printer.reset(
        target->createMCInstPrinter(triple, assembly->getAssemblerDialect(), *assembly, *instructions, *registers));
    if (!disassembler || !printer)
      throw internalError("LLVM has no disassembler for x86-64");
    printer->setPrintBranchImmAsAddress(true);
  }
  llvm::Triple triple;
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

/// The class of an instruction comes from its text: registers say vector, a suffix of `ss`, `sd` or `sh` one element.
void count(CodeCounts &counts, llvm::StringRef text, bool isCall) {
  ++counts.instructions;
  if (isCall) {
    ++counts.calls;
    return;
  }
  llvm::StringRef mnemonic = text.ltrim().take_until([](char c) { return c == ' ' || c == '\t'; });
  const char *widest = nullptr;
  for (const char *kind : {"%zmm", "%ymm", "%xmm"})
    if (text.contains(kind)) {
      widest = kind + 1;
      break;
    }
  bool touchesMask = text.contains("%k");
  if (!widest && !touchesMask) {
    ++counts.scalar;
    return;
  }
  bool oneElement = mnemonic.ends_with("ss") || mnemonic.ends_with("sd") || mnemonic.ends_with("sh") ||
                    mnemonic.contains("ss2") || mnemonic.contains("sd2") || mnemonic.contains("2ss") ||
                    mnemonic.contains("2sd");
  if (oneElement && !mnemonic.contains("broadcast")) {
    ++counts.floating;
    return;
  }
  ++counts.vector;
  if (widest)
    ++counts.byRegister[widest];
}

std::string symbolAt(const llvm::object::ELFObjectFileBase &file, uint64_t address) {
  for (const auto &symbol : file.getDynamicSymbolIterators()) {
    auto at = symbol.getAddress();
    auto name = symbol.getName();
    if (at && name && *at == address && !name->empty())
      return name->str();
    llvm::consumeError(at.takeError());
    llvm::consumeError(name.takeError());
  }
  return "";
}

void disassembleSection(const llvm::object::ELFObjectFileBase &file, uint64_t start, llvm::StringRef contents,
                        Decoder &decoder, Disassembly &result) {
  llvm::raw_string_ostream out(result.text);
  llvm::ArrayRef<uint8_t> bytes(contents.bytes_begin(), contents.bytes_end());
  result.counts.codeBytes += bytes.size();
  for (uint64_t offset = 0, size = 0; offset < bytes.size(); offset += std::max<uint64_t>(size, 1)) {
    uint64_t address = start + offset;
    if (std::string symbol = symbolAt(file, address); !symbol.empty())
      out << symbol << ":\n";
    llvm::MCInst instruction;
    auto status = decoder.disassembler->getInstruction(instruction, size, bytes.slice(offset), address, llvm::nulls());
    std::string text;
    if (status == llvm::MCDisassembler::Fail) {
      text = "\t.byte\t" + std::to_string(bytes[offset]);
    } else {
      llvm::raw_string_ostream stream(text);
      decoder.printer->printInst(&instruction, address, "", *decoder.subtarget, stream);
      if (!llvm::StringRef(text).contains("nop") && !llvm::StringRef(text).contains("int3"))
        count(result.counts, text, decoder.instructions->get(instruction.getOpcode()).isCall());
    }
    out << llvm::format_hex_no_prefix(address, 8) << ":" << text << "\n";
  }
}

} // namespace

Disassembly disassemble(const std::string &binary, const std::string &name) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(binary, name));
  if (!file)
    throw inputError(name + ": the binary is no ELF file: " + llvm::toString(file.takeError()));
  auto *elf = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(file->get());
  if (!elf || elf->getEMachine() != llvm::ELF::EM_X86_64)
    throw inputError(name + ": the binary is not for x86-64");
  Decoder decoder;
  Disassembly result;
  for (const llvm::object::SectionRef &section : elf->sections()) {
    if (!section.isText())
      continue;
    auto sectionName = section.getName();
    auto contents = section.getContents();
    if (!sectionName || !contents)
      throw inputError(name + ": the binary is damaged");
    if (*sectionName == ".text")
      disassembleSection(*elf, section.getAddress(), *contents, decoder, result);
  }
  return result;
}

} // namespace heddle
