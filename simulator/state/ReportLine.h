// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A line of a report. The instruction that it names is kept by its address, so that who knows the source can say where
// it comes from; the simulator does not know it.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heddle::simulator {

/// The source of the instruction at an address in the file, as `scan.cl:12:5`; empty where it is not known.
using SourceOf = std::function<std::string(uint64_t pc)>;

class ReportLine {
public:
  ReportLine(std::string text) : before(std::move(text)) {}
  ReportLine(const char *text) : before(text) {}
  /// Between the two stands `pc 0x1b0c`.
  ReportLine(std::string before, uint64_t pc, std::string after)
      : before(std::move(before)), named(pc), after(std::move(after)) {}

  std::optional<uint64_t> pc() const { return named; }
  /// `read   pc 0x1b0c (scan.cl:12:5)  ds_read_b32 v1, v2`, without the parentheses where `source` knows nothing.
  std::string text(const SourceOf &source = {}) const;

private:
  std::string before;
  std::optional<uint64_t> named;
  std::string after;
};

std::vector<std::string> textsOf(const std::vector<ReportLine> &lines, const SourceOf &source = {});

} // namespace heddle::simulator
