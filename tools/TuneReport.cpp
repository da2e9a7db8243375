// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of the table, the points of the plot, and the page with both.
#include "tools/TuneReport.h"
#include "support/File.h"
#include "tools/Output.h"
#include "tools/pages/Chart.h"
#include "tools/pages/Html.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr double left = 40, width = 760, height = 90, middle = 46;

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
  return candidate.configuration == "default" ? "var(--high)"
         : candidate.fate == "chosen"         ? "var(--good)"
         : candidate.rounds > 1               ? "var(--series0)"
                                              : "var(--soft)";
}

/// Shares of a logarithmic axis from 0 to 1.
struct Axis {
  double low, high;
  double at(double value) const { return left + width * std::log(value / low) / std::log(high / low); }
};

std::string text(double x, double y, const char *attributes, const std::string &words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, attributes, escapeHtml(words));
}

std::string line(double x1, double x2, double y1, double y2, const std::string &stroke) {
  return fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" style=\"stroke: {}\"/>\n", x1, x2,
                     y1, y2, stroke);
}

/// A dot, with its line where a reader looks for it, and its interval where it has one. `row` of four: candidates of
/// one time lie one above the other.
std::string mark(const TunedCandidate &candidate, const Axis &axis, size_t row, double defaultMicroseconds) {
  const char *colour = colourOf(candidate);
  double x = axis.at(candidate.microseconds), y = middle + 6.0 * double(row) - 9;
  bool isNoted = candidate.configuration == "default" || candidate.fate == "chosen";
  bool isFinalist = candidate.fate == "finalist" || candidate.fate == "chosen";
  std::string drawn = isNoted ? line(x, x, middle - 14, middle + 18, colour) : "";
  if (double half = candidate.halfWidth * defaultMicroseconds; isFinalist && half > 0)
    drawn += line(axis.at(std::max(candidate.microseconds - half, axis.low)),
                  axis.at(std::min(candidate.microseconds + half, axis.high)), y, y,
                  fmt::format("{}; stroke-width: 2", colour));
  return drawn + fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" style=\"fill: {}\" fill-opacity=\"0.7\">"
                             "<title>{}: {:.4g} us, {}</title></circle>\n",
                             x, y, isNoted ? 5 : 3, colour, escapeHtml(candidate.configuration), candidate.microseconds,
                             candidate.fate);
}

/// A dot for each candidate by its time, intervals of finalists, and lines of the default and the choice.
Svg plot(const TuneResult &result) {
  std::vector<TunedCandidate> candidates = timed(result);
  Svg picture{width + 2 * left, height, "heddle tune: " + titleOf(result), ""};
  picture.body = fmt::format("<rect class=\"back\" x=\"0.5\" y=\"0.5\" width=\"{:.0f}\" height=\"{:.0f}\" "
                             "rx=\"6\"/>\n",
                             picture.width - 1, height - 1) +
                 text(left, 22, " class=\"strong\"", titleOf(result));
  if (candidates.empty()) {
    picture.body +=
        text(left, 44, "", result.error.empty() ? "the database has the result, and no measurements" : result.error);
    return picture;
  }
  // What is above three times the default says no more.
  double most = 3 * std::max(result.defaultMicroseconds, candidates.front().microseconds);
  Axis axis{candidates.front().microseconds * 0.97, std::min(most, candidates.back().microseconds * 1.03)};
  if (axis.high <= axis.low * 1.01)
    axis.high = axis.low * 1.1;
  picture.body += line(left, left + width, middle + 18, middle + 18, "var(--line)");
  for (double tick : {axis.low, std::sqrt(axis.low * axis.high), axis.high})
    picture.body += text(axis.at(tick), middle + 32, " text-anchor=\"middle\"", fmt::format("{:.4g} us", tick));
  for (size_t i = 0; i < candidates.size(); ++i) { // the fastest is drawn last, above the others
    const TunedCandidate &candidate = candidates[candidates.size() - 1 - i];
    if (candidate.microseconds <= axis.high)
      picture.body += mark(candidate, axis, i % 4, result.defaultMicroseconds);
  }
  return picture;
}

/// The heading, and every candidate: those with a time, the fastest first, then the others, and what was pruned.
std::vector<std::vector<std::string>> rowsOf(const TuneResult &result) {
  std::vector<std::vector<std::string>> rows = {{"us", "IQR", "gain", "+-", "rounds", "outcome", "configuration"}};
  auto addRest = [&](const std::string &fate, const std::string &configuration, const std::string &reason) {
    rows.push_back({"", "", "", "", "", fate, reason.empty() ? configuration : configuration + ": " + reason});
  };
  for (const TunedCandidate &candidate : timed(result))
    rows.push_back({fmt::format("{:.2f}", candidate.microseconds), fmt::format("{:.2f}", candidate.quartileRange),
                    fmt::format("{:.1f} %", 100 * candidate.gain), fmt::format("{:.1f} %", 100 * candidate.halfWidth),
                    std::to_string(candidate.rounds), candidate.fate, candidate.configuration});
  for (const TunedCandidate &candidate : result.candidates)
    if (!candidate.reason.empty())
      addRest(candidate.fate, candidate.configuration, candidate.reason);
  for (const TunedCandidate &candidate : result.candidates)
    if (candidate.microseconds == 0 && candidate.reason.empty())
      addRest(candidate.fate, candidate.configuration, "");
  for (const PrunedCandidate &pruned : result.pruned)
    addRest("pruned", pruned.configuration, pruned.reason);
  return rows;
}

std::string pageOf(const std::string &kernel, const std::vector<TuneResult> &results) {
  HtmlPage page("heddle tune " + kernel);
  page.paragraph(fmt::format(
      "heddle {}. A dot is a candidate: red the default, green the choice, blue what was measured in rounds. "
      "Intervals hold the difference to the default with a probability of 99 %.",
      version()));
  for (const TuneResult &result : results)
    page.add(svgElement(plot(result)));
  for (const TuneResult &result : results) {
    page.heading(titleOf(result));
    page.paragraph(result.error.empty()
                       ? fmt::format("{}: {:.4g} us, the default {:.4g} us; {}. Key {}; {}.", result.configuration,
                                     result.microseconds, result.defaultMicroseconds, result.reason, result.key,
                                     result.clock)
                       : result.error);
    page.table(rowsOf(result));
  }
  return page.text();
}

std::string pictureFile(const std::vector<TuneResult> &results) {
  std::vector<Svg> pictures;
  for (const TuneResult &result : results)
    pictures.push_back(plot(result));
  return svgFile(pictures);
}

} // namespace

void checkReportName(const std::string &file) {
  if (file == "-")
    return;
  if (!isPictureName(file))
    throw inputError(fmt::format("`--report {}`: a report is a file `.html` or `.svg`, or `-`, a table as text", file));
  checkWritable(file);
}

std::string tuneTable(const TuneResult &result) {
  return fmt::format("{}\n{}", titleOf(result), formatTable(rowsOf(result)));
}

void writeTuneReport(const std::string &file, const std::string &kernel, const std::vector<TuneResult> &results) {
  if (file == "-") {
    for (const TuneResult &result : results)
      printData(tuneTable(result) + "\n");
    return;
  }
  writeFileAtomically(file, file.ends_with(".svg") ? pictureFile(results) : pageOf(kernel, results));
}

} // namespace heddle
