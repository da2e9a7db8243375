// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Charts as SVG: lines over sizes in bytes, bars, curves over a program, and what waves did one after the other. They
// stand in an HtmlPage or in a file of their own.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A picture, `width` by `height` in CSS pixels; `label` says what it shows to who cannot see it.
struct Svg {
  double width = 0, height = 0;
  std::string label, body;
};

std::string svgElement(const Svg &picture); ///< for an HtmlPage, whose colours it takes
/// A file with the pictures one below the other.
std::string svgFile(const std::vector<Svg> &pictures);

bool isPictureName(std::string_view file); ///< `.svg`, or `.html` for a page with the pictures

struct ChartPoint {
  double x = 0, y = 0;
};

/// Sizes in bytes to the right and a positive quantity upwards, both logarithmic. Points that are not positive are left
/// out.
struct SizeChart {
  struct Series {
    std::string name;
    std::vector<ChartPoint> points;
    unsigned colour = 0; ///< of four
    bool isDashed = false;
  };
  std::string title, subtitle, footer; ///< the footer says where the figures are from
  std::vector<Series> series;
};
Svg draw(const SizeChart &chart);

/// Horizontal bars from 0, in groups of one for each series.
struct BarChart {
  struct Group {
    std::string name;
    std::vector<double> values; ///< by series
  };
  std::string title, subtitle, footer;
  std::vector<std::string> series; ///< names
  std::vector<Group> groups;
  std::optional<double> reference; ///< a vertical line,
  std::string referenceName;       ///< and what it is
};
Svg draw(const BarChart &chart);

/// A quantity at each instruction of a program, with the kind of each instruction below it.
struct ProgramChart {
  struct Instruction {
    double value = 0;
    std::string kind, hint; ///< `LDS`: simulator/analysis/MachineCode.h; what is shown under the pointer
    bool isInLoop = false;
  };
  std::string title, subtitle;
  std::vector<Instruction> instructions;
  std::optional<double> limit; ///< a horizontal line,
  std::string limitName;       ///< and what it is
};
Svg draw(const ProgramChart &chart);

/// What each of several rows did, a cell for each step, left to right in the order of time.
struct StepChart {
  struct Step {
    size_t row = 0;
    std::string kind, hint; ///< as in ProgramChart
    int access = 0;         ///< 1, 2: the first and the second access of a finding; else 0
    bool isAfterGap = false;
  };
  std::string label;
  std::vector<std::string> rows;
  std::vector<Step> steps;
};
Svg draw(const StepChart &chart);

/// The colours of kinds, as HTML.
std::string kindLegend(const std::vector<std::string> &kinds);

} // namespace heddle
