// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

std::string Finding::text() const {
  std::string text = fmt::format("error: {} ({})\n", title, infoOf(check).name);
  for (const std::string &line : lines)
    text += line + "\n";
  if (!needs.empty())
    text += "  needs  " + needs + "\n";
  text += fmt::format("  severity {}: {}\n", nameOf(likelihood.severity), likelihood.reason());
  if (count > 1)
    text += fmt::format("  seen   {} times\n", count);
  return text;
}

uint64_t Findings::pcInFile(uint64_t pc) const {
  auto above = code.upper_bound(pc);
  if (above == code.begin())
    return pc;
  auto [base, size] = *std::prev(above);
  return pc - base < size ? pc - base : pc;
}

std::string Findings::line(const std::string &verb, const Site &site, const std::string &place) const {
  std::string device = severalDevices ? fmt::format("device {} ", site.device) : "";
  return fmt::format("  {:<6} pc 0x{:x}  {:<40}  {}workgroup {},{},{} wave {}{}{}{}", verb,
                     site.instruction ? pcInFile(site.instruction->pc) : 0,
                     site.instruction ? site.instruction->text : "-", device, site.group[0], site.group[1],
                     site.group[2], site.wave, site.lane < 0 ? "" : fmt::format(" lane {}", site.lane),
                     place.empty() ? "" : "   ", place);
}

void Findings::add(Check check, const Site &first, const Site &second, const Likelihood &likelihood, Finding finding) {
  finding.check = check;
  finding.likelihood = likelihood;
  finding.firstPc = first.instruction ? pcInFile(first.instruction->pc) : 0;
  finding.secondPc = second.instruction ? pcInFile(second.instruction->pc) : 0;
  found.push_back(std::move(finding));
}

} // namespace heddle::simulator
