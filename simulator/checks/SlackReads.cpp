// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts by buffer, and makes one note for each.
#include "simulator/checks/SlackReads.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::simulator {

SlackReads::SlackReads(const Findings &findings, AddressSpace &memory) : findings(findings) {
  memory.forEach([&](const Allocation &each) {
    if (each.slackBytes)
      ranges.push_back({each.name, each.base + each.usedBytes(), each.end(), 0, 0, {}});
  });
}

void SlackReads::issued(Wave &wave, MemoryRequest &request) {
  bool isGlobal = request.space == Space::Global || request.space == Space::Flat;
  if (!isGlobal || !request.readsMemory())
    return;
  for (Range &range : ranges) {
    uint64_t reach = 0;
    forGlobalWords(request, [&](uint64_t address, unsigned bytes) {
      if (address < range.end && address + bytes > range.begin)
        reach = std::max(reach, std::min(address + bytes, range.end) - range.begin);
    });
    if (!reach)
      continue;
    if (range.instructions++ == 0)
      range.first = Site::of(wave, *request.instruction);
    range.furthest = std::max(range.furthest, reach);
  }
}

std::vector<ReportLine> SlackReads::notes() const {
  std::vector<ReportLine> lines;
  for (const Range &range : ranges)
    if (range.instructions)
      lines.emplace_back(fmt::format("{} read{} of up to {} bytes beyond the end of `{}` (slack: {}), first at ",
                                     range.instructions, range.instructions == 1 ? "" : "s", range.furthest, range.name,
                                     range.end - range.begin),
                         findings.pcInFile(range.first.instruction->pc), "  " + range.first.instruction->text);
  return lines;
}

} // namespace heddle::simulator
