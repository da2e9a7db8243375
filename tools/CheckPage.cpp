// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A section for each finding: its text, the source with both accesses, the machine code with both, and a timeline.
#include "tools/CheckPage.h"
#include "tools/pages/Chart.h"
#include "tools/pages/Html.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace heddle {
namespace {

constexpr unsigned linesAround = 4, instructionsAround = 5;
constexpr const char *accessStyles[] = {"", "first", "second"};

/// The lines of a finding's text, without its title.
std::vector<std::string> linesOf(const std::string &text) {
  return splitLines(text.substr(text.find('\n') + 1));
}

/// `missing wait: ... (register-wait)`
std::string titleOf(const CheckFinding &finding) {
  std::string title = finding.text.substr(0, finding.text.find('\n'));
  return title.starts_with("error: ") ? title.substr(7) : title;
}

int accessOf(const CheckFinding &finding, uint64_t pc) {
  return pc == finding.firstPc ? 1 : pc == finding.secondPc && pc ? 2 : 0;
}

std::string badge(simulator::Severity severity) {
  return fmt::format("<span class=\"badge {0}\">{0}</span>", simulator::nameOf(severity));
}

/// The addresses of the accesses, and the first one's line in the source.
std::string accessesOf(const CheckFinding &finding) {
  if (finding.places.empty())
    return "";
  std::string text = fmt::format("0x{:x}", finding.firstPc);
  if (finding.secondPc && finding.secondPc != finding.firstPc)
    text += fmt::format(", 0x{:x}", finding.secondPc);
  const InstructionPlace &place = finding.places.front();
  return place.file.empty() ? text : fmt::format("{} {}:{}", text, place.file, place.line);
}

/// An instruction that the text names, with the line that does.
struct Named {
  InstructionPlace place;
  std::string line;
  int access = 0;
};

std::vector<Named> namedBy(const CheckFinding &finding) {
  std::vector<Named> named;
  for (const std::string &line : linesOf(finding.text))
    if (line.find("pc 0x") != std::string::npos && named.size() < finding.places.size()) {
      const InstructionPlace &place = finding.places[named.size()];
      std::string words = line.substr(line.find_first_not_of(' '));
      named.push_back({place, words, accessOf(finding, place.pc)});
    }
  return named;
}

class Page {
public:
  Page(const CheckResult &result, const CheckEvidence &evidence, SourceFiles &sources)
      : result(result), evidence(evidence), sources(sources),
        page(fmt::format("heddle check: {} on {}", result.kernel, result.chip)) {}

  std::string make(const std::string &verdict, const std::vector<std::string> &replays) {
    addSummary(verdict);
    for (size_t i = 0; i < result.findings.size(); ++i)
      addFinding(i, replays[i]);
    addSources();
    return page.text();
  }

private:
  void addSummary(const std::string &verdict);
  void addFinding(size_t index, const std::string &replay);
  void addExcerpts(const CheckFinding &finding);
  void addCode(const CheckFinding &finding);
  void addTimeline(size_t index);
  void addSources();
  std::string hintOf(uint64_t pc, const std::string &text) const;

  const CheckResult &result;
  const CheckEvidence &evidence;
  SourceFiles &sources;
  HtmlPage page;
  std::set<std::string> missing; ///< source files that are nowhere
};

void Page::addSummary(const std::string &verdict) {
  page.add(fmt::format("<p><strong class=\"{}\">{}</strong></p>\n", result.isClean() ? "good" : "high",
                       escapeHtml(verdict)));
  page.paragraph(fmt::format("{} of {} runs, {} instructions in {:.1f} s of processor time", result.ended,
                             result.planned, result.instructions, result.seconds));
  for (const std::string &note : result.notes)
    page.paragraph("note: " + note);
  if (result.findings.empty())
    return;
  std::string rows = "<table><tr><th>finding</th><th>accesses</th><th>severity</th><th>runs</th></tr>\n";
  for (size_t i = 0; i < result.findings.size(); ++i) {
    const CheckFinding &finding = result.findings[i];
    rows += fmt::format("<tr><td><a href=\"#finding{0}\">{0}. {1}</a></td><td><code>{2}</code></td><td>{3}</td>"
                        "<td class=\"number\">{4}</td></tr>\n",
                        i + 1, escapeHtml(titleOf(finding)), escapeHtml(accessesOf(finding)), badge(finding.severity),
                        finding.runs);
  }
  page.add(rows + "</table>\n");
}

void Page::addFinding(size_t index, const std::string &replay) {
  const CheckFinding &finding = result.findings[index];
  page.heading(fmt::format("{}. {}", index + 1, titleOf(finding)), fmt::format("finding{}", index + 1));
  std::string text;
  for (const std::string &line : linesOf(finding.text))
    text += line + "\n";
  page.preformatted(
      text + fmt::format("  runs   {} of {}, the first: {}\n", finding.runs, result.planned, finding.run.text()));
  addExcerpts(finding);
  addCode(finding);
  addTimeline(index);
  page.add("<h3>See it again</h3>\n");
  page.preformatted(replay + "\n");
}

void Page::addExcerpts(const CheckFinding &finding) {
  std::map<std::string, std::vector<SourceNote>> byFile;
  for (const Named &named : namedBy(finding))
    if (!named.place.file.empty())
      byFile[named.place.file].push_back(
          {named.place.line, accessStyles[named.access],
           fmt::format("{}{}", named.access ? fmt::format("{}: ", named.access) : "", escapeHtml(named.line))});
  for (const auto &[file, notes] : byFile) {
    page.add(fmt::format("<h3>{}</h3>\n", escapeHtml(file)));
    if (const auto &lines = sources.lines(file))
      page.add(sourceExcerpt(*lines, notes, linesAround));
    else {
      page.add(fmt::format("<p class=\"soft\">The source is not here; <code>--source FOLDER</code> says where "
                           "<code>{}</code> lies.</p>\n",
                           escapeHtml(file)));
      missing.insert(file);
    }
  }
}

std::string Page::hintOf(uint64_t pc, const std::string &text) const {
  auto found = std::find_if(evidence.instructions.begin(), evidence.instructions.end(),
                            [&](const InspectedInstruction &each) { return each.address == pc; });
  std::string source = found == evidence.instructions.end() || found->line.empty() ? "" : "  " + found->line;
  return fmt::format("0x{:x}  {}{}", pc, text, source);
}

void Page::addCode(const CheckFinding &finding) {
  const std::vector<InspectedInstruction> &code = evidence.instructions;
  std::vector<bool> isShown(code.size());
  bool any = false;
  for (size_t i = 0; i < code.size(); ++i)
    if (accessOf(finding, code[i].address)) {
      any = true;
      size_t end = std::min(code.size(), i + instructionsAround + 1);
      std::fill(isShown.begin() + ptrdiff_t(i > instructionsAround ? i - instructionsAround : 0),
                isShown.begin() + ptrdiff_t(end), true);
    }
  if (!any)
    return;
  std::string html = "<h3>Machine code</h3>\n<div class=\"listing\">";
  for (size_t i = 0; i < code.size(); ++i) {
    if (!isShown[i])
      continue;
    if (i && !isShown[i - 1] && html.back() == '\n')
      html += "<span class=\"note\">...</span>\n";
    int access = accessOf(finding, code[i].address);
    html += fmt::format("<span class=\"{}\">{} 0x{:x}  {:<52}{}</span>\n", accessStyles[access],
                        access ? std::to_string(access) : " ", code[i].address, escapeHtml(code[i].text),
                        code[i].line.empty() ? "" : "  ; " + escapeHtml(code[i].line));
  }
  page.add(html + "</div>\n");
}

void Page::addTimeline(size_t index) {
  if (!evidence.timelines[index])
    return;
  const FindingTimeline &timeline = *evidence.timelines[index];
  StepChart chart{"the waves around the finding", timeline.waves, {}};
  std::vector<std::string> kinds;
  for (const FindingTimeline::Step &step : timeline.steps) {
    chart.steps.push_back({step.wave, step.kind, fmt::format("step {}: {}", step.number, hintOf(step.pc, step.text)),
                           step.access, step.isAfterGap});
    if (std::find(kinds.begin(), kinds.end(), step.kind) == kinds.end())
      kinds.push_back(step.kind);
  }
  page.add("<h3>The waves around it</h3>\n");
  page.add(
      fmt::format("<p class=\"soft\">An instruction is a cell, in the order in which the simulator executed them in "
                  "the run <code>{}</code>. This is one order that the rules allow, not a measure of time. The "
                  "numbers mark the last execution of each access before the finding.</p>\n",
                  escapeHtml(result.findings[index].run.text())));
  page.add(svgElement(draw(chart)));
  page.add(kindLegend(kinds));
}

/// All lines that any finding names, with links to the findings.
void Page::addSources() {
  std::map<std::string, std::vector<SourceNote>> byFile;
  std::set<std::tuple<std::string, unsigned, size_t>> known;
  for (size_t i = 0; i < result.findings.size(); ++i)
    for (const Named &named : namedBy(result.findings[i]))
      if (!named.place.file.empty() && !missing.contains(named.place.file) &&
          known.insert({named.place.file, named.place.line, i}).second)
        byFile[named.place.file].push_back(
            {named.place.line, "",
             fmt::format(
                 "<a href=\"#finding{0}\">finding {0}</a> <span class=\"{1}\" style=\"display: inline; padding: "
                 "0\">{2}</span>",
                 i + 1, simulator::nameOf(result.findings[i].severity), escapeHtml(result.findings[i].kind))});
  if (!byFile.empty())
    page.heading("Sources with all findings");
  for (const auto &[file, notes] : byFile) {
    page.add(fmt::format("<h3>{}</h3>\n", escapeHtml(file)));
    page.add(sourceExcerpt(*sources.lines(file), notes, 12));
  }
  if (evidence.wasStopped)
    page.paragraph("Timelines are missing: the time limit was over before all runs were made again.");
  if (evidence.leftOut)
    page.paragraph(fmt::format("{} findings have no timeline: the runs of the first {} were made again",
                               evidence.leftOut, result.findings.size() - evidence.leftOut));
}

} // namespace

std::string checkPage(const CheckResult &result, const CheckEvidence &evidence, SourceFiles &sources,
                      const std::string &verdict, const std::vector<std::string> &replays) {
  return Page(result, evidence, sources).make(verdict, replays);
}

} // namespace heddle
