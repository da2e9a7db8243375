// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How each kind of chart is laid out. Coordinates have one decimal place, so that equal data give equal files.
#include "tools/pages/Chart.h"
#include "tools/pages/Html.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr const char *chartStyle = R"(
.chart text { font: 12px system-ui, sans-serif; fill: var(--soft) } .chart .title { font-size: 15px; font-weight: 600;
  fill: var(--text) } .chart .strong { fill: var(--text); font-weight: 600 } .chart .back { fill: var(--back);
  stroke: var(--line) } .chart .grid { stroke: var(--grid) } .chart .axis { stroke: var(--soft) }
.chart .curve { fill: none; stroke-width: 2; stroke-linejoin: round } .chart .loop { fill: var(--panel) }
.chart .mark { fill: none; stroke-width: 2.5 } .chart .limit { stroke: var(--high); stroke-dasharray: 5 3 })";

std::string text(double x, double y, std::string_view words, const char *anchor = "start", const char *style = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor,
                     *style ? fmt::format(" class=\"{}\"", style) : "", escapeHtml(words));
}

std::string line(double x1, double y1, double x2, double y2, const char *style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                     style);
}

std::string background(double width, double height, const std::string &title, const std::string &subtitle) {
  return fmt::format("<rect class=\"back\" x=\"0.5\" y=\"0.5\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"6\"/>\n",
                     width - 1, height - 1) +
         text(20, 28, title, "start", "title") + text(20, 48, subtitle);
}

std::string kindColour(const std::string &kind) {
  std::string name = kind;
  std::replace(name.begin(), name.end(), ' ', '-');
  return fmt::format("var(--kind-{})", name);
}

/// `512`, `64K`, `1.5M`, `1G`, as the options of heddle bench take it.
std::string byteText(double bytes) {
  const char *unit = "";
  for (const char *next : {"K", "M", "G"}) {
    if (bytes < 1024)
      break;
    bytes /= 1024;
    unit = next;
  }
  return fmt::format("{:.4g}{}", bytes, unit);
}

/// 1, 2 and 5 times powers of ten that span from `low` to `high`: at least the two ends.
std::vector<double> decadeSteps(double low, double high) {
  std::vector<double> all;
  for (double decade = std::floor(std::log10(low)); decade <= std::ceil(std::log10(high)); ++decade)
    for (double digit : {1, 2, 5})
      all.push_back(digit * std::pow(10, decade));
  auto above = [&](double value, double slack) {
    return std::find_if(all.begin(), all.end(), [&](double step) { return step >= value * slack; });
  };
  auto first = above(low, 1 + 1e-9), last = above(high, 1 - 1e-9);
  if (first != all.begin())
    --first;
  std::vector<double> steps(first, last == all.end() ? last : last + 1);
  if (steps.size() == 1)
    steps.push_back(steps.front() * 2);
  return steps;
}

/// Multiples of 1, 2 or 5 times a power of ten from 0 to `high`, about six of them.
std::vector<double> evenSteps(double high) {
  if (!(high > 0))
    high = 1;
  double step = std::pow(10, std::floor(std::log10(high / 5)));
  for (double digit : {1, 2, 5, 10})
    if (high / (step * digit) <= 6) {
      step *= digit;
      break;
    }
  std::vector<double> steps;
  for (double at = 0; at < high + step * 0.999; at += step)
    steps.push_back(at);
  return steps;
}

constexpr double legendHeight = 18;

/// As many names in a row as have room up to `right`; `rows` gets how many rows there are.
std::string legend(double left, double right, double y, const std::vector<SizeChart::Series> &series, int &rows) {
  std::string drawn;
  double x = left;
  rows = 1;
  for (const SizeChart::Series &each : series) {
    double width = 28 + 7.4 * double(each.name.size()) + 18;
    if (x + width > right && x > left)
      x = left, y += legendHeight, ++rows;
    drawn += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" style=\"stroke: "
                         "var(--series{3})\" stroke-width=\"2\"{4}/>\n",
                         x, y - 4, x + 22, each.colour % 4, each.isDashed ? " stroke-dasharray=\"4 3\"" : "");
    drawn += text(x + 28, y, each.name, "start", "strong");
    x += width;
  }
  return drawn;
}

/// Places of sizes (to the right) and of values (upwards).
struct SizeFrame {
  double left = 66, right = 700, top = 84, bottom = 340;
  double lowX = 1, highX = 2;
  std::vector<double> steps;

  explicit SizeFrame(const SizeChart &chart) {
    double lowY = 1, highY = 1;
    bool isFirst = true;
    for (const SizeChart::Series &series : chart.series)
      for (const ChartPoint &point : series.points) {
        if (!(point.x > 0 && point.y > 0))
          continue;
        lowX = isFirst ? point.x : std::min(lowX, point.x), highX = isFirst ? point.x : std::max(highX, point.x);
        lowY = isFirst ? point.y : std::min(lowY, point.y), highY = isFirst ? point.y : std::max(highY, point.y);
        isFirst = false;
      }
    if (lowX == highX)
      lowX /= 2, highX *= 2;
    steps = decadeSteps(lowY, highY);
  }
  double x(double size) const { return left + std::log2(size / lowX) / std::log2(highX / lowX) * (right - left); }
  double y(double value) const {
    return bottom - std::log(value / steps.front()) / std::log(steps.back() / steps.front()) * (bottom - top);
  }
};

} // namespace

std::string svgElement(const Svg &picture) {
  return fmt::format(
      "<div class=\"scroll\"><style>{0}</style><svg class=\"chart\" width=\"{1:.0f}\" height=\"{2:.0f}\" "
      "viewBox=\"0 0 {1:.0f} {2:.0f}\" role=\"img\" aria-label=\"{3}\">\n{4}</svg></div>\n",
      chartStyle, picture.width, picture.height, escapeHtml(picture.label), picture.body);
}

std::string svgFile(const std::vector<Svg> &pictures) {
  double width = 0, height = 0;
  std::string body, label;
  for (const Svg &picture : pictures) {
    body += fmt::format("<g transform=\"translate(0 {:.0f})\">\n{}</g>\n", height, picture.body);
    label += (label.empty() ? "" : "; ") + picture.label;
    width = std::max(width, picture.width);
    height += picture.height + (&picture == &pictures.back() ? 0 : 12);
  }
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                     "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" aria-label=\"{2}\">\n<style>{3}{4}\n</style>\n{5}"
                     "</svg>\n",
                     width, height, escapeHtml(label), pageColours, chartStyle, body);
}

bool isPictureName(std::string_view file) {
  return file.ends_with(".svg") || file.ends_with(".html");
}

Svg draw(const SizeChart &chart) {
  SizeFrame frame(chart);
  int rows = 1;
  std::string names = legend(frame.left, frame.right + 30, 72, chart.series, rows);
  frame.top += legendHeight * (rows - 1), frame.bottom += legendHeight * (rows - 1);
  double height = frame.bottom + 66;
  std::string body = background(740, height, chart.title, chart.subtitle) + names + text(20, height - 14, chart.footer);
  for (double step : frame.steps)
    body += line(frame.left, frame.y(step), frame.right, frame.y(step), "grid") +
            text(frame.left - 8, frame.y(step) + 4, fmt::format("{:.4g}", step), "end");
  double octaves = std::log2(frame.highX / frame.lowX), every = std::max(1.0, std::ceil(octaves / 11));
  for (double octave = 0; octave <= octaves + 1e-9; octave += every) {
    double size = frame.lowX * std::exp2(octave);
    body += line(frame.x(size), frame.bottom, frame.x(size), frame.bottom + 5, "axis") +
            text(frame.x(size), frame.bottom + 20, byteText(size), "middle");
  }
  body += line(frame.left, frame.bottom, frame.right, frame.bottom, "axis");
  for (const SizeChart::Series &series : chart.series) {
    std::string path, dots;
    for (const ChartPoint &point : series.points) {
      if (!(point.x > 0 && point.y > 0))
        continue;
      double x = frame.x(point.x), y = frame.y(point.y);
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x, y);
      dots +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" style=\"fill: var(--series{})\"><title>{}: {}, "
                      "{:.4g}</title></circle>\n",
                      x, y, series.colour % 4, escapeHtml(series.name), byteText(point.x), point.y);
    }
    body += fmt::format("<polyline class=\"curve\" style=\"stroke: var(--series{})\"{} points=\"{}\"/>\n{}",
                        series.colour % 4, series.isDashed ? " stroke-dasharray=\"4 3\"" : "", path, dots);
  }
  return {740, height, chart.title, body};
}

Svg draw(const BarChart &chart) {
  constexpr double barHeight = 16, gap = 12, top = 88;
  size_t longest = 4;
  double most = chart.reference.value_or(0);
  for (const BarChart::Group &group : chart.groups) {
    longest = std::max(longest, group.name.size());
    for (double value : group.values)
      most = std::max(most, value);
  }
  double left = 30 + std::min(8.2 * double(longest), 330.0), right = left + 440, width = right + 70;
  std::vector<double> steps = evenSteps(most);
  auto x = [&](double value) { return left + value / steps.back() * (right - left); };
  double groupHeight = barHeight * double(std::max<size_t>(chart.series.size(), 1)) + gap;
  double bottom = top + groupHeight * double(chart.groups.size()), height = bottom + 60;
  std::string body = background(width, height, chart.title, chart.subtitle) + text(20, height - 14, chart.footer);
  double at = 20;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    body += fmt::format("<rect x=\"{:.1f}\" y=\"61\" width=\"12\" height=\"12\" style=\"fill: var(--series{})\"/>\n",
                        at, i % 4) +
            text(at + 18, 72, chart.series[i], "start", "strong");
    at += 18 + 7.2 * double(chart.series[i].size()) + 24;
  }
  for (double step : steps)
    body +=
        line(x(step), top, x(step), bottom, "grid") + text(x(step), bottom + 18, fmt::format("{:.4g}", step), "middle");
  double y = top + gap / 2;
  for (const BarChart::Group &group : chart.groups) {
    body += text(left - 8, y + (groupHeight - gap) / 2 + 4, group.name, "end", "strong");
    for (size_t i = 0; i < group.values.size(); ++i, y += barHeight)
      body += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" style=\"fill: "
                          "var(--series{})\"/>\n",
                          left, y + 1, std::max(x(group.values[i]) - left, 1.0), barHeight - 2, i % 4) +
              text(x(group.values[i]) + 6, y + barHeight - 4, fmt::format("{:.4g}", group.values[i]));
    y += gap;
  }
  if (chart.reference)
    body += line(x(*chart.reference), top, x(*chart.reference), bottom, "limit") +
            text(x(*chart.reference), top - 4, chart.referenceName, "middle");
  return {width, height, chart.title, body};
}

Svg draw(const ProgramChart &chart) {
  constexpr double left = 66, top = 64, bottom = 264, strip = 22;
  size_t count = std::max<size_t>(chart.instructions.size(), 1);
  double step = std::max(900.0 / double(count), 0.5), right = left + step * double(count), width = right + 120;
  double most = chart.limit.value_or(0);
  for (const ProgramChart::Instruction &each : chart.instructions)
    most = std::max(most, each.value);
  std::vector<double> steps = evenSteps(most);
  auto y = [&](double value) { return bottom - value / steps.back() * (bottom - top); };
  std::string body = background(width, bottom + strip + 44, chart.title, chart.subtitle), path, cells;
  for (size_t i = 0; i < chart.instructions.size(); ++i) {
    const ProgramChart::Instruction &each = chart.instructions[i];
    double x = left + step * double(i);
    size_t loopEnd = i;
    if (each.isInLoop && (i == 0 || !chart.instructions[i - 1].isInLoop))
      while (loopEnd < chart.instructions.size() && chart.instructions[loopEnd].isInLoop)
        ++loopEnd;
    if (loopEnd > i)
      body += fmt::format("<rect class=\"loop\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", x,
                          top, step * double(loopEnd - i), bottom - top);
    path += fmt::format("{}{:.1f},{:.1f} {:.1f},{:.1f}", i ? " " : "", x, y(each.value), x + step, y(each.value));
    cells +=
        fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.0f}\" style=\"fill: {}\"><title>{}"
                    "</title></rect>\n",
                    x, bottom + 8, step, strip, kindColour(each.kind), escapeHtml(each.hint));
  }
  for (double at : steps)
    body += line(left, y(at), right, y(at), "grid") + text(left - 8, y(at) + 4, fmt::format("{:.4g}", at), "end");
  body += fmt::format("<polyline class=\"curve\" style=\"stroke: var(--series0)\" points=\"{}\"/>\n", path) + cells;
  if (chart.limit)
    body += line(left, y(*chart.limit), right, y(*chart.limit), "limit") +
            text(right + 6, y(*chart.limit) + 4, chart.limitName);
  body += line(left, bottom, right, bottom, "axis") + text(left, bottom + strip + 26, "first instruction") +
          text(right, bottom + strip + 26, "last", "end");
  return {width, bottom + strip + 44, chart.title, body};
}

Svg draw(const StepChart &chart) {
  constexpr double cell = 14, rowHeight = 24, top = 30;
  size_t longest = 0, gaps = 0;
  for (const std::string &row : chart.rows)
    longest = std::max(longest, row.size());
  for (const StepChart::Step &step : chart.steps)
    gaps += step.isAfterGap;
  double left = 24 + 7.0 * double(longest), bottom = top + rowHeight * double(chart.rows.size());
  double width = left + cell * double(chart.steps.size()) + 28 * double(gaps) + 24, height = bottom + 14;
  std::string body, marks;
  for (size_t row = 0; row < chart.rows.size(); ++row) {
    double middle = top + rowHeight * (double(row) + 0.5);
    body +=
        text(left - 10, middle + 4, chart.rows[row], "end", "strong") + line(left, middle, width - 20, middle, "grid");
  }
  double x = left;
  for (const StepChart::Step &step : chart.steps) {
    if (step.isAfterGap) {
      body += text(x + 14, (top + bottom) / 2 + 4, "…", "middle", "title");
      x += 28;
    }
    double y = top + rowHeight * double(step.row) + 4;
    body +=
        fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" style=\"fill: {}\"><title>{}"
                    "</title></rect>\n",
                    x + 0.5, y, cell - 1, rowHeight - 8, kindColour(step.kind), escapeHtml(step.hint));
    if (step.access) {
      const char *name = step.access == 1 ? "first" : "second";
      marks +=
          fmt::format("<rect class=\"mark\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                      "style=\"stroke: var(--{})\"/>\n<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" "
                      "style=\"stroke: var(--{})\"/>\n",
                      x - 1, y - 2, cell + 2, rowHeight - 4, name, x + cell / 2, x + cell / 2, top - 8, y - 2, name) +
          text(x + cell / 2, top - 12, std::to_string(step.access), "middle", "strong");
    }
    x += cell;
  }
  return {width, height, chart.label, body + marks};
}

std::string kindLegend(const std::vector<std::string> &kinds) {
  std::string html = "<p class=\"soft\">";
  for (const std::string &kind : kinds)
    html += fmt::format("<span class=\"key\" style=\"background: {}\"></span>{}", kindColour(kind), escapeHtml(kind));
  return html + "</p>\n";
}

} // namespace heddle
