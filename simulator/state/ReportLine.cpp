// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts a line together, with the source of its instruction where that is known.
#include "simulator/state/ReportLine.h"
#include <fmt/format.h>

namespace heddle::simulator {

std::string ReportLine::text(const SourceOf &source) const {
  if (!named)
    return before;
  std::string place = source ? source(*named) : "";
  return fmt::format("{}pc 0x{:x}{}{}", before, *named, place.empty() ? "" : fmt::format(" ({})", place), after);
}

std::vector<std::string> textsOf(const std::vector<ReportLine> &lines, const SourceOf &source) {
  std::vector<std::string> texts;
  for (const ReportLine &line : lines)
    texts.push_back(line.text(source));
  return texts;
}

} // namespace heddle::simulator
