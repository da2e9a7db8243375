// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of a finding, and addresses as they are in the file.
#include "simulator/checks/Findings.h"
#include "simulator/state/Workgroup.h"
#include <fmt/format.h>

namespace heddle::simulator {

Site Site::of(const Wave &wave, const Instruction &instruction, int lane) {
  Site site;
  site.instruction = &instruction;
  site.wave = wave.indexInGroup;
  site.lane = lane;
  if (wave.workgroup) {
    site.device = wave.workgroup->device;
    site.group = {wave.workgroup->id[0], wave.workgroup->id[1], wave.workgroup->id[2]};
  }
  return site;
}

std::string Finding::text(const SourceOf &source) const {
  std::string text = fmt::format("error: {} ({})\n", title, infoOf(check).name);
  for (const ReportLine &line : lines)
    text += line.text(source) + "\n";
  if (needs)
    text += "  needs  " + needs->text(source) + "\n";
  text += fmt::format("  severity {}: {}\n", nameOf(likelihood.severity), likelihood.reason());
  if (count > 1)
    text += fmt::format("  seen   {} times\n", count);
  return text;
}

std::vector<ReportLine> Finding::allLines() const {
  std::vector<ReportLine> all = lines;
  if (needs)
    all.push_back(*needs);
  return all;
}

uint64_t Findings::pcInFile(uint64_t pc) const {
  auto above = code.upper_bound(pc);
  if (above == code.begin())
    return pc;
  auto [base, size] = *std::prev(above);
  return pc - base < size ? pc - base : pc;
}

ReportLine Findings::line(const std::string &verb, const Site &site, const std::string &place) const {
  std::string device = severalDevices ? fmt::format("device {} ", site.device) : "";
  std::string before = fmt::format("  {:<6} ", verb);
  std::string after =
      fmt::format("  {:<40}  {}workgroup {},{},{} wave {}{}{}{}", site.instruction ? site.instruction->text : "-",
                  device, site.group[0], site.group[1], site.group[2], site.wave,
                  site.lane < 0 ? "" : fmt::format(" lane {}", site.lane), place.empty() ? "" : "   ", place);
  if (!site.instruction)
    return before + "pc 0x0" + after;
  return {before, pcInFile(site.instruction->pc), after};
}

void Findings::add(Check check, const Site &first, const Site &second, const Likelihood &likelihood, Finding finding) {
  finding.check = check;
  finding.likelihood = likelihood;
  finding.firstPc = first.instruction ? pcInFile(first.instruction->pc) : 0;
  finding.secondPc = second.instruction ? pcInFile(second.instruction->pc) : 0;
  found.push_back(std::move(finding));
  if (onNew)
    onNew(found.back(), first, second);
}

} // namespace heddle::simulator
