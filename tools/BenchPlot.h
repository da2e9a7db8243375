// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of `heddle bench` as pictures: `--plot FILE.svg` or `--plot FILE.html`.
#pragma once
#include "api/Collectives.h"
#include "api/Module.h"
#include "tools/pages/Chart.h"

namespace heddle {

/// Throws Error{Input} for a name that ends in neither `.svg` nor `.html`, Error{Environment} for one that cannot be
/// written. An empty name is no plot.
void checkPlotFile(const std::string &file);

/// What is measured, and on what: `all-reduce of f32, sum`; `4 ranks on cuda: NVIDIA H200`.
struct PlotTitle {
  std::string what, where;
};

/// Time and bus bandwidth against size, of ours and of the peer. `peer` is empty for none.
std::vector<Svg> plotCollective(const PlotTitle &title, const std::vector<BenchmarkRow> &rows, const std::string &peer);
/// The time of each module, fused and not.
std::vector<Svg> plotModules(const PlotTitle &title, const std::vector<ModuleBenchmark> &rows);

struct BandwidthRow {
  std::string shape;
  double bytesPerSecond = 0;
};
/// Bandwidths beside that of a copy, which may be 0: not known.
std::vector<Svg> plotBandwidths(const PlotTitle &title, const std::vector<BandwidthRow> &rows, double copy);

/// Writes the pictures; a page has the numbers of `table` too.
void writePlot(const std::string &file, const PlotTitle &title, const std::vector<Svg> &pictures,
               const std::vector<std::vector<std::string>> &table);

} // namespace heddle
