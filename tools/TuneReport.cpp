// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of the table, the points of the plot, and the page around them.
#include "tools/TuneReport.h"
#include "support/File.h"
#include "tools/Output.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr double left = 40, width = 760, rowHeight = 84;

std::string escape(const std::string &text) {
  std::string safe;
  for (char c : text)
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return safe;
}

std::string titleOf(const TuneResult &result) {
  return result.shape.empty() ? "the call" : result.shape;
}

/// Those with a time, the fastest first.
std::vector<TunedCandidate> timed(const TuneResult &result) {
  std::vector<TunedCandidate> candidates;
  for (const TunedCandidate &candidate : result.candidates)
    if (candidate.microseconds > 0)
      candidates.push_back(candidate);
  std::sort(candidates.begin(), candidates.end(), [](const TunedCandidate &a, const TunedCandidate &b) {
    return a.microseconds != b.microseconds ? a.microseconds < b.microseconds : a.configuration < b.configuration;
  });
  return candidates;
}

const char *colourOf(const TunedCandidate &candidate) {
  return candidate.configuration == "default" ? "#c0392b"
         : candidate.fate == "chosen"         ? "#1e8449"
         : candidate.rounds > 1               ? "#2e6da4"
                                              : "#9aa5b1";
}

/// Shares of a logarithmic axis from 0 to 1.
struct Axis {
  double low, high;
  double at(double value) const { return left + width * std::log(value / low) / std::log(high / low); }
};

std::string plotStrip(const TuneResult &result, double top) {
  std::vector<TunedCandidate> candidates = timed(result);
  std::string text = fmt::format("<text x=\"{}\" y=\"{:.0f}\" font-weight=\"bold\">{}</text>\n", left, top + 14,
                                 escape(titleOf(result)));
  if (candidates.empty())
    return text + fmt::format(
                      "<text x=\"{}\" y=\"{:.0f}\">{}</text>\n", left, top + 34,
                      escape(result.error.empty() ? "the database has the result, and no measurements" : result.error));
  // What is above three times the default says no more.
  double most = 3 * std::max(result.defaultMicroseconds, candidates.front().microseconds);
  Axis axis{candidates.front().microseconds * 0.97, std::min(most, candidates.back().microseconds * 1.03)};
  if (axis.high <= axis.low * 1.01)
    axis.high = axis.low * 1.1;
  double middle = top + 36;
  text += fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.0f}\" y2=\"{2:.0f}\" stroke=\"#ccd2d8\"/>\n", left,
                      left + width, middle + 18);
  for (double tick : {axis.low, std::sqrt(axis.low * axis.high), axis.high})
    text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\" fill=\"#555\">{:.4g} us</text>\n",
                        axis.at(tick), middle + 32, tick);
  for (auto candidate = candidates.rbegin(); candidate != candidates.rend(); ++candidate) {
    if (candidate->microseconds > axis.high)
      continue;
    double x = axis.at(candidate->microseconds);
    // Candidates of one time lie one above the other.
    double y = middle + 6.0 * double((candidate - candidates.rbegin()) % 4) - 9;
    bool isNoted = candidate->configuration == "default" || candidate->fate == "chosen";
    bool isFinalist = candidate->fate == "finalist" || candidate->fate == "chosen";
    if (isNoted)
      text += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\" stroke=\"{3}\"/>\n", x,
                          middle - 14, middle + 18, colourOf(*candidate));
    if (double half = candidate->halfWidth * result.defaultMicroseconds; isFinalist && half > 0)
      text += fmt::format("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.0f}\" y2=\"{2:.0f}\" stroke=\"{3}\" "
                          "stroke-width=\"2\"/>\n",
                          axis.at(std::max(candidate->microseconds - half, axis.low)),
                          axis.at(std::min(candidate->microseconds + half, axis.high)), y, colourOf(*candidate));
    text += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.0f}\" r=\"{}\" fill=\"{}\" fill-opacity=\"0.7\"><title>{}: "
                        "{:.4g} us, {}</title></circle>\n",
                        x, y, isNoted ? 5 : 3, colourOf(*candidate), escape(candidate->configuration),
                        candidate->microseconds, candidate->fate);
  }
  return text;
}

std::string htmlTable(const TuneResult &result) {
  std::string text = fmt::format("<h2>{}</h2>\n<p>{}: {:.4g} us, the default {:.4g} us; {}. Key {}; {}.</p>\n",
                                 escape(titleOf(result)), escape(result.configuration), result.microseconds,
                                 result.defaultMicroseconds, escape(result.reason), result.key, escape(result.clock));
  text += "<table><tr><th>us</th><th>IQR</th><th>gain</th><th>+-</th><th>rounds</th><th>fate</th>"
          "<th>configuration</th></tr>\n";
  for (const TunedCandidate &candidate : timed(result))
    text += fmt::format("<tr><td>{:.4g}</td><td>{:.2g}</td><td>{:.1f} %</td><td>{:.1f} %</td><td>{}</td><td>{}</td>"
                        "<td>{}</td></tr>\n",
                        candidate.microseconds, candidate.quartileRange, 100 * candidate.gain,
                        100 * candidate.halfWidth, candidate.rounds, candidate.fate, escape(candidate.configuration));
  for (const TunedCandidate &candidate : result.candidates)
    if (!candidate.reason.empty())
      text += fmt::format("<tr><td colspan=\"5\"></td><td>{}</td><td>{}: {}</td></tr>\n", candidate.fate,
                          escape(candidate.configuration), escape(candidate.reason));
  for (const PrunedCandidate &pruned : result.pruned)
    text += fmt::format("<tr><td colspan=\"5\"></td><td>pruned</td><td>{}: {}</td></tr>\n",
                        escape(pruned.configuration), escape(pruned.reason));
  return text + "</table>\n";
}

std::string htmlPage(const std::string &kernel, const std::vector<TuneResult> &results) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>heddle tune {0}</title>\n"
      "<style>body{{font-family:sans-serif;margin:2em;max-width:60em}}table{{border-collapse:collapse}}"
      "td,th{{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd}}"
      "td:last-child,th:last-child{{text-align:left}}</style></head><body>\n<h1>heddle tune {0}</h1>\n"
      "<p>heddle {1}. A dot is a candidate: red the default, green the choice, blue what was measured in rounds. "
      "Intervals hold the difference to the default with a probability of 99 %.</p>\n",
      escape(kernel), version());
  text += tunePlot(results);
  for (const TuneResult &result : results)
    text += htmlTable(result);
  return text + "</body></html>\n";
}

} // namespace

void checkReportName(const std::string &file) {
  if (file == "-")
    return;
  if (!file.ends_with(".html") && !file.ends_with(".svg"))
    throw inputError(fmt::format("`--report {}`: a report is a file `.html` or `.svg`, or `-`, a table as text", file));
  checkWritable(file);
}

std::string tuneTable(const TuneResult &result) {
  std::vector<std::vector<std::string>> rows = {{"us", "IQR", "gain", "+-", "rounds", "fate", "configuration"}};
  for (const TunedCandidate &candidate : timed(result))
    rows.push_back({fmt::format("{:.2f}", candidate.microseconds), fmt::format("{:.2f}", candidate.quartileRange),
                    fmt::format("{:.1f} %", 100 * candidate.gain), fmt::format("{:.1f} %", 100 * candidate.halfWidth),
                    std::to_string(candidate.rounds), candidate.fate, candidate.configuration});
  for (const TunedCandidate &candidate : result.candidates)
    if (!candidate.reason.empty())
      rows.push_back({"", "", "", "", "", candidate.fate, candidate.configuration + ": " + candidate.reason});
  for (const TunedCandidate &candidate : result.candidates)
    if (candidate.microseconds == 0 && candidate.reason.empty())
      rows.push_back({"", "", "", "", "", candidate.fate, candidate.configuration});
  for (const PrunedCandidate &pruned : result.pruned)
    rows.push_back({"", "", "", "", "", "pruned", pruned.configuration + ": " + pruned.reason});
  return fmt::format("{}\n{}", titleOf(result), formatTable(rows));
}

std::string tunePlot(const std::vector<TuneResult> &results) {
  double height = rowHeight * double(results.size()) + 10;
  std::string text = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                                 "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n",
                                 width + 2 * left, height);
  for (size_t i = 0; i < results.size(); ++i)
    text += plotStrip(results[i], rowHeight * double(i));
  return text + "</svg>\n";
}

void writeTuneReport(const std::string &file, const std::string &kernel, const std::vector<TuneResult> &results) {
  if (file == "-") {
    for (const TuneResult &result : results)
      printData(tuneTable(result) + "\n");
    return;
  }
  writeFileAtomically(file, file.ends_with(".svg") ? tunePlot(results) : htmlPage(kernel, results));
}

} // namespace heddle
