// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/Simulator.h"
#include "chips/Chip.h"
#include "simulator/decode/Decoder.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::simulator {
namespace {

std::vector<std::string> simulatedChips() {
  std::vector<std::string> names;
  for (const Chip *chip : allChips())
    if (chip->vendor == Vendor::Amd)
      names.push_back(chip->name);
  return names;
}

/// `subject` is what names the chip.
void checkChip(const std::string &chip, const std::string &subject) {
  std::vector<std::string> known = simulatedChips();
  if (std::find(known.begin(), known.end(), chip) == known.end())
    throw inputError(fmt::format("{} {}, which is not simulated", subject, chip),
                     {fmt::format("`{}` are", fmt::join(known, "` and `"))});
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c"))
    throw environmentError("the simulator needs a processor with AVX2, FMA and F16C");
}

} // namespace

class Simulator::Code : public Program {
public:
  Code(const std::string &chip, std::span<const uint8_t> bytes, uint64_t base) : Program(bytes, base), decoder(chip) {}

private:
  Instruction decode(std::span<const uint8_t> bytes, uint64_t pc) override { return decoder.decode(bytes, pc); }
  Decoder decoder;
};

Simulator::Simulator(const AmdCodeObject &object) : code(object) {
  checkChip(code.chip, "the code object is for");
  const AmdSegment *text = nullptr;
  uint64_t end = 0;
  for (const AmdSegment &segment : code.segments) {
    end = std::max(end, segment.address + segment.sizeBytes);
    if (segment.executable && !text)
      text = &segment;
    else if (segment.executable)
      throw inputError("the code object has more than one segment of code, which is not simulated");
  }
  if (!text)
    throw inputError("the code object has no code");
  base = memory.reserve(end);
  for (const AmdSegment &segment : code.segments) {
    Allocation &placed = memory.place(base + segment.address, segment.sizeBytes, "code object");
    std::copy(segment.bytes.begin(), segment.bytes.end(), placed.bytes.get());
    for (const AmdRelocation &relocation : code.relocations)
      if (placed.contains(base + relocation.address, 8)) {
        uint64_t target = base + relocation.target;
        std::memcpy(placed.bytes.get() + (relocation.address - segment.address), &target, 8);
      }
    placed.writable = segment.writable;
  }
  program = std::make_unique<Code>(code.chip, bytes(base + text->address), base + text->address);
}

Simulator::~Simulator() = default;

uint64_t Simulator::allocate(uint64_t sizeBytes, const std::string &name) {
  return memory.allocate(sizeBytes, name).base;
}

std::span<uint8_t> Simulator::bytes(uint64_t address) {
  const Allocation *allocation = memory.owner(address);
  if (!allocation || allocation->base != address)
    throw internalError(fmt::format("no buffer begins at 0x{:x}", address));
  return {allocation->bytes.get(), allocation->sizeBytes};
}

RunStatistics Simulator::launch(const AmdKernel &kernel, const Geometry &geometry, const std::string &arguments,
                                const RunOptions &given) {
  const Chip &chip = lookupChip(code.chip);
  checkGeometry(kernel, chip, geometry);
  RunOptions options = given;
  if (options.residentGroups == 0)
    options.residentGroups = uint32_t(chip.computeUnits);
  Launch launch(memory, kernel, geometry, arguments, base, options.preloads, options.seed);
  try {
    return Machine(memory, *program, launch, options).run();
  } catch (const LocatedFault &located) {
    std::string lane = located.fault.lane < 0 ? "" : fmt::format(" lane {}", located.fault.lane);
    std::vector<std::string> notes = {fmt::format("pc 0x{:x}  {}  workgroup {},{},{} wave {}{}", located.pc - base,
                                                  located.text.empty() ? "-" : located.text, located.group[0],
                                                  located.group[1], located.group[2], located.wave, lane)};
    notes.insert(notes.end(), located.fault.notes.begin(), located.fault.notes.end());
    throw Error(ErrorClass::WrongResult, fmt::format("kernel `{}`: {}", kernel.name, located.fault.what()), notes);
  } catch (const Fault &fault) { // before the first instruction
    throw Error(ErrorClass::WrongResult, fmt::format("kernel `{}`: {}", kernel.name, fault.what()), fault.notes);
  }
}

std::vector<std::string> instructionNames(const std::string &chip) {
  checkChip(chip, "the chip is");
  return Decoder(chip).mnemonics();
}

} // namespace heddle::simulator
