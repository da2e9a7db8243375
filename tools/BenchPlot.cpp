// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which figures of the rows are drawn, and how.
#include "tools/BenchPlot.h"
#include "support/File.h"
#include "tools/Output.h"
#include "tools/pages/Html.h"
#include <fmt/format.h>

namespace heddle {
namespace {

/// A line of a chart of collectives: whose times, and which of them.
struct Source {
  const char *who, *where;
  unsigned colour;
  bool isDashed;
  const BenchmarkTimes *(*times)(const BenchmarkRow &row);
};

template <std::optional<BenchmarkTimes> BenchmarkRow::*member>
const BenchmarkTimes *peerTimes(const BenchmarkRow &row) {
  return row.*member ? &*(row.*member) : nullptr;
}

constexpr Source sources[] = {
    {"Heddle", "out of place", 0, false, [](const BenchmarkRow &row) { return &row.outOfPlace; }},
    {"Heddle", "in place", 0, true, [](const BenchmarkRow &row) { return &row.inPlace; }},
    {"peer", "out of place", 1, false, peerTimes<&BenchmarkRow::ncclOutOfPlace>},
    {"peer", "in place", 1, true, peerTimes<&BenchmarkRow::ncclInPlace>},
};

SizeChart makeChart(const std::vector<BenchmarkRow> &rows, const std::string &peer,
                    double (*figure)(const BenchmarkTimes &)) {
  SizeChart chart;
  for (const Source &source : sources) {
    SizeChart::Series series{
        fmt::format("{}, {}", source.colour ? peer.substr(0, peer.find(" (")) : source.who, source.where),
        {},
        source.colour,
        source.isDashed};
    for (const BenchmarkRow &row : rows)
      if (const BenchmarkTimes *times = source.times(row))
        series.points.push_back({double(sizeColumn(row.plan.collective)), figure(*times)});
    if (!series.points.empty())
      chart.series.push_back(std::move(series));
  }
  return chart;
}

} // namespace

void checkPlotFile(const std::string &file) {
  if (file.empty())
    return;
  if (!isPictureName(file))
    throw inputError(fmt::format("`--plot {}` ends in neither `.svg` nor `.html`", file),
                     {"`.svg` is the picture alone; `.html` is a page with the picture and the numbers"});
  checkWritable(file);
}

std::vector<Svg> plotCollective(const PlotTitle &title, const std::vector<BenchmarkRow> &rows,
                                const std::string &peer) {
  SizeChart time = makeChart(rows, peer, [](const BenchmarkTimes &times) { return times.p50; });
  time.title = title.what + ": time";
  time.subtitle = "microseconds of one call, p50, by size in bytes; lower is better";
  time.footer = title.where;
  SizeChart bandwidth = makeChart(rows, peer, [](const BenchmarkTimes &times) { return times.busBandwidth; });
  bandwidth.title = title.what + ": bus bandwidth";
  bandwidth.subtitle = "GB/s of calls back to back, by size in bytes; higher is better";
  bandwidth.footer = title.where;
  return {draw(time), draw(bandwidth)};
}

std::vector<Svg> plotModules(const PlotTitle &title, const std::vector<ModuleBenchmark> &rows) {
  BarChart chart;
  chart.title = title.what;
  chart.subtitle = "microseconds of one run, p50; lower is better";
  chart.footer = title.where;
  chart.series = {"fused", "not fused"};
  for (const ModuleBenchmark &row : rows)
    chart.groups.push_back({row.module, {row.fused.times.p50, row.separate.times.p50}});
  return {draw(chart)};
}

std::vector<Svg> plotBandwidths(const PlotTitle &title, const std::vector<BandwidthRow> &rows, double copy) {
  BarChart chart;
  chart.title = title.what;
  chart.subtitle = "GB/s of the bytes that the kernel must move, p50; higher is better";
  chart.footer = title.where;
  chart.series = {"kernel"};
  for (const BandwidthRow &row : rows)
    chart.groups.push_back({row.shape, {row.bytesPerSecond / 1e9}});
  if (copy > 0)
    chart.reference = copy / 1e9, chart.referenceName = "copy";
  return {draw(chart)};
}

void writePlot(const std::string &file, const PlotTitle &title, const std::vector<Svg> &pictures,
               const std::vector<std::vector<std::string>> &table) {
  if (file.ends_with(".svg")) {
    writeFileAtomically(file, svgFile(pictures));
  } else {
    HtmlPage page("heddle bench: " + title.what);
    page.paragraph(title.where);
    for (const Svg &picture : pictures)
      page.add(svgElement(picture));
    page.table(table);
    writeFileAtomically(file, page.text());
  }
  say(file + ": the rows as a picture");
}

} // namespace heddle
