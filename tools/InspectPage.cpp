// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines of a phase's text that the preceding phase did not have are marked; names of values do not count, since phases
// number them again.
#include "tools/InspectPage.h"
#include "tools/SourceExcerpt.h"
#include "tools/pages/Chart.h"
#include "tools/pages/Html.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace heddle {
namespace {

constexpr size_t mostLines = 4000; ///< of one column, so that a page of a large kernel can be opened

/// The line without the names of values and without blanks at its ends.
std::string withoutNames(const std::string &line) {
  std::string kept;
  for (size_t i = line.find_first_not_of(' '); i < line.size(); ++i) {
    kept += line[i];
    if (line[i] != '%')
      continue;
    while (i + 1 < line.size() && (std::isalnum(uint8_t(line[i + 1])) || line[i + 1] == '_' || line[i + 1] == '.'))
      ++i;
  }
  return kept;
}

std::string column(const PhaseText &phase, const std::string &before) {
  std::map<std::string, int> known;
  for (const std::string &line : splitLines(before))
    ++known[withoutNames(line)];
  std::vector<std::string> lines = splitLines(phase.text);
  std::string html;
  size_t fresh = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    bool isNew = !before.empty() && known[withoutNames(lines[i])]-- <= 0;
    fresh += isNew;
    if (i < mostLines)
      html += fmt::format("<span{}>{}</span>\n", isNew ? " class=\"new\"" : "", escapeHtml(lines[i]));
  }
  if (lines.size() > mostLines)
    html += fmt::format("<span class=\"note\">... {} more lines</span>\n", lines.size() - mostLines);
  return fmt::format("<section id=\"phase-{0}\"><h3>{0} <span class=\"soft\">{1}</span></h3><p class=\"soft\">{2}; {3} "
                     "lines{4}</p><div class=\"listing\">{5}</div></section>\n",
                     escapeHtml(phase.phase.name), escapeHtml(phase.phase.level), escapeHtml(phase.phase.sentence),
                     lines.size(), before.empty() ? "" : fmt::format(", {} new", fresh), html);
}

void addPhases(HtmlPage &page, const std::vector<PhaseText> &phases) {
  page.heading("Phases");
  std::string table = "<div class=\"scroll\"><table><tr><th>phase</th><th>leaves</th><th class=\"number\">lines</th>"
                      "<th class=\"number\">ms</th><th>what it does</th></tr>\n";
  std::string columns;
  const PhaseText *before = nullptr; // the last one with a text
  for (const PhaseText &phase : phases) {
    bool isChange = !phase.text.empty() && (!before || before->text != phase.text);
    std::string name = escapeHtml(phase.phase.name);
    table += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{:.2f}</td>"
                         "<td>{}{}</td></tr>\n",
                         isChange ? fmt::format("<a href=\"#phase-{0}\">{0}</a>", name) : name,
                         escapeHtml(phase.phase.level),
                         phase.text.empty() ? std::string("-") : std::to_string(splitLines(phase.text).size()),
                         phase.milliseconds, escapeHtml(phase.phase.sentence),
                         isChange || phase.text.empty() ? "" : " <span class=\"soft\">(changes nothing here)</span>");
    if (!isChange)
      continue;
    columns += column(phase, before ? before->text : "");
    before = &phase;
  }
  page.add(table + "</table></div>\n");
  page.heading("What each phase leaves");
  page.paragraph("Phases that change the text, side by side, from left to right; lines that the preceding one did not "
                 "have are marked.");
  page.add("<div class=\"columns\">" + columns + "</div>\n");
}

void addCode(HtmlPage &page, const InspectedKernel &code) {
  ProgramChart chart;
  chart.title = "Live vector registers over the program";
  chart.subtitle =
      "registers whose value a later instruction reads, of one lane; loops are shaded; below: the class of "
      "each instruction";
  chart.limit = double(code.kernel.vectorRegisters());
  chart.limitName = fmt::format("{} allocated", code.kernel.vectorRegisters());
  std::vector<std::string> kinds;
  uint32_t most = 0;
  const InspectedInstruction *where = nullptr;
  for (const InspectedInstruction &each : code.instructions) {
    chart.instructions.push_back(
        {double(each.liveVectorRegisters), each.kind,
         fmt::format("0x{:x}  {}  {}  {} live", each.address, each.text, each.line, each.liveVectorRegisters),
         each.isInLoop});
    if (!where || each.liveVectorRegisters > most)
      most = each.liveVectorRegisters, where = &each;
    if (std::find(kinds.begin(), kinds.end(), each.kind) == kinds.end())
      kinds.push_back(each.kind);
  }
  page.heading("Registers and LDS");
  if (!where)
    return;
  page.add(fmt::format(
      "<p>At most {} of the {} allocated vector registers are live at once, at 0x{:x}: <code>{}</code>{}. A "
      "workgroup has {} bytes of LDS; {} instructions access it, {} of them in loops.</p>\n",
      most, code.kernel.vectorRegisters(), where->address, escapeHtml(where->text),
      where->line.empty() ? "" : ", " + escapeHtml(where->line), code.kernel.groupBytes + code.dynamicLdsBytes,
      code.count("LDS").all, code.count("LDS").inLoops));
  page.add(svgElement(draw(chart)));
  page.add(kindLegend(kinds));
  page.heading("Machine code");
  std::string html = "<div class=\"listing\" style=\"max-height: 80vh; overflow: auto\">";
  uint64_t end = code.instructions.front().address;
  for (const InspectedInstruction &each : code.instructions) {
    if (each.address != end)
      html += "<span class=\"note\">...</span>\n";
    end = each.address + each.sizeBytes;
    html += fmt::format("<span>{:>4} {} 0x{:x}  {:<58}{}</span>\n", each.liveVectorRegisters, each.isInLoop ? '|' : ' ',
                        each.address, escapeHtml(each.text), each.line.empty() ? "" : "  ; " + escapeHtml(each.line));
  }
  page.add("<p class=\"soft\">Live vector registers, <code>|</code> for instructions in loops, address, "
           "instruction.</p>\n" +
           html + "</div>\n");
}

} // namespace

std::vector<PhaseText> textOfPhases(const std::string &text, const std::string &name, CompileOptions options) {
  std::vector<PhaseText> phases;
  for (const PhaseDescription &phase : describePhases(options.target)) {
    options.stopAfter = phase.name;
    CompileResult result = compile(text, name, options);
    if (!result.times.empty() && result.times.back().phase == phase.name) // some are not for texts of every level
      phases.push_back({phase, result.times.back().milliseconds, result.text});
  }
  return phases;
}

std::string inspectPage(const InspectPageContent &content) {
  HtmlPage page(content.title);
  std::vector<std::vector<std::string>> rows = content.rows;
  rows.insert(rows.begin(), {"what", "value"});
  page.table(rows);
  if (content.code)
    addCode(page, *content.code);
  if (!content.phases.empty())
    addPhases(page, content.phases);
  if (!content.assembly.empty()) {
    page.heading("Machine code");
    page.preformatted(content.assembly);
  }
  return page.text();
}

} // namespace heddle
