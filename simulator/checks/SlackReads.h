// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel reads of the slack after buffers (Allocation::slackBytes): counted, and no finding, since kernels that
// read ahead do it on purpose. What then depends on it is found by PoisonCheck.
#pragma once
#include "simulator/checks/Findings.h"
#include "simulator/memory/AddressSpace.h"
#include "simulator/memory/Watcher.h"

namespace heddle::simulator {

class SlackReads final : public Watcher {
public:
  SlackReads(const Findings &findings, AddressSpace &memory);
  bool any() const { return !ranges.empty(); } ///< whether there is slack

  void issued(Wave &wave, MemoryRequest &request) override;
  /// A line for each buffer of whose slack something was read.
  std::vector<ReportLine> notes() const;

private:
  struct Range {
    std::string name;
    uint64_t begin = 0, end = 0;
    uint64_t instructions = 0, furthest = 0; ///< reads of waves, and the bytes up to the last one that was read
    Site first;
  };
  const Findings &findings;
  std::vector<Range> ranges;
};

} // namespace heddle::simulator
