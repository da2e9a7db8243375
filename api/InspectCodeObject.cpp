// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collects what the analyses of simulator/analysis find in one kernel, in the words of the API.
#include "api/InspectCodeObject.h"
#include "api/KernelCode.h"
#include "binary/AmdAbi.h"
#include "chips/Chip.h"
#include "simulator/analysis/LiveRegisters.h"
#include "simulator/analysis/Waits.h"
#include "simulator/decode/SourceLines.h"
#include "support/Error.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {
namespace {

using namespace simulator;

void describeInstructions(const MachineCode &code, const SourceLines &lines, InspectedKernel &made) {
  std::array<InstructionCount, instructionClassCount> counts;
  InstructionCount all{"all"};
  for (const CodeBlock &block : code.blocks)
    for (uint32_t i = block.first; i < block.end; ++i) {
      const Instruction &instruction = code.instructions[i];
      made.instructions.push_back({instruction.pc, instruction.sizeBytes, instruction.text,
                                   lines.lineAt(instruction.pc), block.isInLoop, nameOf(classOf(instruction))});
      for (InstructionCount *count : {&counts[unsigned(classOf(instruction))], &all}) {
        ++count->all;
        count->inLoops += block.isInLoop;
      }
    }
  for (unsigned kind = 0; kind < instructionClassCount; ++kind) {
    counts[kind].name = nameOf(InstructionClass(kind));
    made.counts.push_back(counts[kind]);
  }
  made.counts.push_back(all);
}

InspectedWait describe(const Wait &wait) {
  InspectedWait made{wait.instruction, {}, wait.waitsForNothing(), wait.waitsTooLong(), ""};
  if (made.waitsTooLong)
    made.tooLongClass = infoOf(wait.tooLongClass()).name;
  for (const CounterWait &counter : wait.counters) {
    const ExactCount &exact = counter.exact;
    bool isCount = exact.kind != CountClass::NothingInFlight && exact.kind != CountClass::Unneeded &&
                   exact.kind != CountClass::NotKnown;
    made.counters.push_back({counter.isVector ? "vmcnt" : "lgkmcnt", counter.count,
                             std::vector<size_t>(counter.waitsFor.begin(), counter.waitsFor.end()), counter.enough,
                             counter.user, counter.waitsTooLong(), infoOf(exact.kind).name, infoOf(exact.kind).what,
                             isCount ? std::optional(exact.count) : std::nullopt, exact.user});
  }
  return made;
}

} // namespace

int64_t InspectedKernel::codeBytes() const {
  int64_t bytes = 0;
  for (const InspectedInstruction &instruction : instructions)
    bytes += instruction.sizeBytes;
  return bytes;
}

const InstructionCount &InspectedKernel::count(const std::string &name) const {
  return *std::find_if(counts.begin(), counts.end(), [&](const auto &count) { return count.name == name; });
}

bool hasCodeObject(const Package &package) {
  return package.binaryKind == amdBinaryKind;
}

InspectedKernel inspectCodeObject(const std::string &file, const std::string &name, const CodeObjectRequest &request) {
  AmdCodeObject object = parseAmdCodeObject(file, name);
  const Chip &chip = inspectedChip(object, name);
  InspectedKernel made;
  made.chip = object.chip;
  made.codeObjectVersion = object.version;
  made.kernel = object.kernel(request.kernel);
  const auto &required = made.kernel.requiredWorkgroup;
  made.workItems = request.workItems ? request.workItems
                   : required[0]     ? int64_t(required[0]) * required[1] * required[2]
                                     : made.kernel.mostWorkItems;
  made.dynamicLdsBytes = request.dynamicLdsBytes;
  made.ldsBytesOfUnit = chip.sharedMemoryBytes;
  if (made.workItems)
    made.occupancy = occupancyOf(made.kernel, chip, made.workItems, made.dynamicLdsBytes);
  MachineCode code = readKernelCode(object, made.kernel);
  made.isComplete = code.isComplete;
  describeInstructions(code, SourceLines(file), made);
  if (request.liveRegisters) {
    std::vector<LiveCount> counts = countLiveRegisters(code);
    for (size_t i = 0; i < made.instructions.size(); ++i)
      made.instructions[i].liveVectorRegisters = counts[i].vector;
  }
  for (const Wait &wait : analyseWaits(code))
    made.waits.push_back(describe(wait));
  return made;
}

} // namespace heddle
