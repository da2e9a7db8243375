// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Assembles with LLVM, decodes with the simulator, and executes on a wave of its own.
#include "simulator/decode/TestAssembler.h"
#include "simulator/decode/Decoder.h"
#include "simulator/instructions/LaneModifiers.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <map>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
}

namespace heddle::simulator {
namespace {

/// The bytes of `.text`, or LLVM's messages as an exception.
std::vector<uint8_t> textSection(llvm::StringRef object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!file)
    throw std::runtime_error(llvm::toString(file.takeError()));
  for (const llvm::object::SectionRef &section : (*file)->sections())
    if (llvm::StringRef name = llvm::cantFail(section.getName()); name == ".text") {
      llvm::StringRef bytes = llvm::cantFail(section.getContents());
      return {bytes.bytes_begin(), bytes.bytes_end()};
    }
  throw std::runtime_error("the assembled object has no code");
}

} // namespace

std::vector<uint8_t> assemble(const std::string &chip, const std::string &text) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string messages;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, messages);
  if (!target)
    throw std::runtime_error(messages);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test"), llvm::SMLoc());
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic &diagnostic, void *context) {
        *static_cast<std::string *>(context) += (diagnostic.getMessage() + "\n").str();
      },
      &messages);
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(triple));
  std::unique_ptr<llvm::MCAsmInfo> assembly(target->createMCAsmInfo(*registers, triple, options));
  std::unique_ptr<llvm::MCInstrInfo> instructions(target->createMCInstrInfo());
  std::unique_ptr<llvm::MCSubtargetInfo> chipInfo(target->createMCSubtargetInfo(triple, chip, ""));
  llvm::MCContext context(triple, assembly.get(), registers.get(), chipInfo.get(), &sources, &options);
  std::unique_ptr<llvm::MCObjectFileInfo> sections(target->createMCObjectFileInfo(context, true));
  context.setObjectFileInfo(sections.get());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(target->createMCAsmBackend(*chipInfo, *registers, options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(target->createMCCodeEmitter(*instructions, context));
  std::unique_ptr<llvm::MCStreamer> streamer(target->createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer), std::move(emitter), *chipInfo));
  std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(sources, context, *streamer, *assembly));
  std::unique_ptr<llvm::MCTargetAsmParser> targetParser(
      target->createMCAsmParser(*chipInfo, *parser, *instructions, options));
  parser->setTargetParser(*targetParser);
  if (parser->Run(false) || !messages.empty())
    throw std::runtime_error("cannot assemble `" + text + "` for " + chip + ": " + messages);
  return textSection(object);
}

std::vector<Instruction> decodeText(const std::string &chip, const std::string &text) {
  static std::map<std::string, Decoder> decoders;
  Decoder &decoder = decoders.try_emplace(chip, chip).first->second;
  std::vector<uint8_t> code = assemble(chip, text);
  std::vector<Instruction> decoded;
  for (size_t at = 0; at < code.size(); at += decoded.back().sizeBytes)
    decoded.push_back(decoder.decode(std::span(code).subspan(at), at));
  return decoded;
}

std::unique_ptr<Wave> makeTestWave() {
  auto wave = std::make_unique<Wave>();
  wave->setExec(allLanes);
  wave->mode = usualMode;
  return wave;
}

void executeText(Wave &wave, const std::string &text, const std::string &chip) {
  for (const Instruction &instruction : decodeText(chip, text)) {
    wave.pc = instruction.pc + instruction.sizeBytes;
    wave.current = &instruction;
    instruction.execute(wave, instruction);
  }
}

} // namespace heddle::simulator
