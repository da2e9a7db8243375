// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts by buffer, and makes one note for each.
#include "simulator/checks/SlackReads.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace heddle::simulator {

SlackReads::SlackReads(const Findings &findings, AddressSpace &memory) : findings(findings) {
  memory.forEach([&](const Allocation &each) {
    if (each.slackBytes)
      ranges.push_back({each.name, each.base + each.usedBytes(), each.end(), 0, 0, {}});
  });
}

/// The lowest address that the request may access, and the end of the highest.
static std::pair<uint64_t, uint64_t> boundsOf(const MemoryRequest &request) {
  if (request.isScalar())
    return {request.address[0], request.address[0] + 4 * mostScalarWords};
  uint64_t first = ~uint64_t(0), last = 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane) { // no early end: vector code
    uint64_t isOff = (request.lanes >> lane & 1) - 1;
    first = std::min(first, request.address[lane] | isOff);
    last = std::max(last, request.address[lane] & ~isOff);
  }
  return {first, last + 4 * mostWordsPerLane};
}

void SlackReads::issued(Wave &wave, MemoryRequest &request) {
  bool isGlobal = request.space == Space::Global || request.space == Space::Flat;
  if (!isGlobal || !request.readsMemory())
    return;
  auto [first, end] = boundsOf(request);
  for (Range &range : ranges) {
    if (first >= range.end || end <= range.begin)
      continue;
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
