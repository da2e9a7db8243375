// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures module by module, and prints a row for each as soon as it is there.
#include "tools/BenchModule.h"
#include "api/Heddle.h"
#include "api/Module.h"
#include "tools/BenchPlot.h"
#include "tools/Output.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace heddle {
namespace {

double ratioOf(const ModuleBenchmark &row) {
  return ratioOf(row.fused.times, row.separate.times);
}

std::string formatHeader(const BenchVerbRequest &request, const ModuleBenchmark &first, size_t nameWidth) {
  std::string name = fmt::format("{:>{}}", "module", nameWidth), blank(nameWidth, ' ');
  return fmt::format("# heddle {} (LLVM {}): modules, fused and not\n"
                     "# {} ranks on {}: {}\n"
                     "# warmup iters: {} iters: {} validation: {}\n"
                     "{}"
                     "#\n"
                     "# {}  {:^23}  {:^23}\n"
                     "# {}  launches    time     p50  launches    time     p50  ratio  #different  algo\n"
                     "# {}              (us)    (us)              (us)    (us)\n",
                     version(), llvmVersion(), first.devices.size(), request.run.driver, first.description,
                     request.run.warmup, request.run.iterations, request.run.checks,
                     formatTiming(request.run, "runs", "p50 not fused / p50 fused"), blank, "fused", "not fused", name,
                     blank);
}

std::string formatRow(const BenchVerbRequest &request, const ModuleBenchmark &row, size_t nameWidth) {
  std::string text = fmt::format("  {:>{}}", row.module, nameWidth);
  for (const ModuleBenchmark::Side *side : {&row.fused, &row.separate})
    text += fmt::format("  {:>8} {} {}", side->launches, formatMicroseconds(side->times.average),
                        formatMicroseconds(side->times.p50));
  return text + fmt::format("  {:5.2f}  {:>10}  {}\n", ratioOf(row),
                            request.run.checks ? std::to_string(row.different) : "N/A", fmt::join(row.algorithms, "+"));
}

std::string formatCsv(const BenchVerbRequest &request, const ModuleBenchmark &row) {
  std::string text = fmt::format("{},{},{}", row.module, row.devices.size(), fmt::join(row.algorithms, "+"));
  for (const ModuleBenchmark::Side *side : {&row.fused, &row.separate})
    text += fmt::format(",{},{:.3f},{:.3f},{:.3f},{:.3f}", side->launches, side->times.average, side->times.p50,
                        side->times.minimum, side->times.maximum);
  return text + fmt::format(",{:.4f},{}\n", ratioOf(row), request.run.checks ? std::to_string(row.different) : "N/A");
}

nlohmann::ordered_json asJson(const ModuleBenchmark::Side &side) {
  return {{"launches", side.launches},
          {"microseconds", side.times.average},
          {"p50", side.times.p50},
          {"min", side.times.minimum},
          {"max", side.times.maximum}};
}

nlohmann::ordered_json asJson(const BenchVerbRequest &request, const ModuleBenchmark &row) {
  nlohmann::ordered_json json = {
      {"module", row.module},       {"devices", row.devices},           {"algorithms", row.algorithms},
      {"fused", asJson(row.fused)}, {"notFused", asJson(row.separate)}, {"ratio", ratioOf(row)}};
  if (request.run.checks)
    json["different"] = row.different;
  return json;
}

ModuleBenchmark measure(const BenchVerbRequest &request, const std::string &file) {
  ModuleRequest module;
  module.path = file;
  module.device = request.run.driver;
  module.devices = request.devicesGiven ? request.run.devices : 0;
  module.algorithm = request.run.plan.algorithm;
  module.timeoutSeconds = request.run.timeoutSeconds;
  module.matmuls = request.matmuls;
  module.quantise = request.quantise;
  return benchmarkModule(module, request.run);
}

void writePicture(const BenchVerbRequest &request, const std::vector<ModuleBenchmark> &rows) {
  PlotTitle title{"modules, fused and not", fmt::format("{} ranks on {}: {}", rows.front().devices.size(),
                                                        request.run.driver, rows.front().description)};
  std::vector<std::vector<std::string>> table = {
      {"module", "algorithms", "fused p50 (us)", "launches", "not fused p50 (us)", "launches", "not fused / fused"}};
  for (const ModuleBenchmark &row : rows)
    table.push_back({row.module, fmt::format("{}", fmt::join(row.algorithms, "+")),
                     fmt::format("{:.2f}", row.fused.times.p50), std::to_string(row.fused.launches),
                     fmt::format("{:.2f}", row.separate.times.p50), std::to_string(row.separate.launches),
                     fmt::format("{:.2f}", ratioOf(row))});
  writePlot(request.plot, title, plotModules(title, rows), table);
}

} // namespace

int benchModules(const BenchVerbRequest &request) {
  nlohmann::ordered_json json = {{"heddle", version()},
                                 {"iterations", request.run.iterations},
                                 {"warmup", request.run.warmup},
                                 {"graphReplays", request.run.graphReplays},
                                 {"rows", nlohmann::ordered_json::array()}};
  if (request.csv)
    printData(
        "module,ranks,algo,fused_launches,fused_us,fused_p50_us,fused_min_us,fused_max_us,plain_launches,plain_us,"
        "plain_p50_us,plain_min_us,plain_max_us,ratio,different\n");
  constexpr size_t nameWidth = 28;
  std::vector<std::string> different;
  bool isFirst = true;
  std::vector<ModuleBenchmark> drawn;
  for (const std::string &file : request.inputs) {
    ModuleBenchmark row = measure(request, file);
    if (row.different)
      different.push_back(fmt::format("{}: {} elements differ between the two, {} first", row.module, row.different,
                                      row.firstDifferent));
    if (request.json)
      json["rows"].push_back(asJson(request, row));
    else if (request.csv)
      printData(formatCsv(request, row));
    else
      printData((isFirst ? formatHeader(request, row, nameWidth) : "") + formatRow(request, row, nameWidth));
    isFirst = false;
    if (!request.plot.empty())
      drawn.push_back(std::move(row));
  }
  if (request.json)
    printJson(json);
  if (!request.plot.empty())
    writePicture(request, drawn);
  for (const std::string &line : different)
    printWarning(line);
  return different.empty() ? 0 : int(ErrorClass::WrongResult);
}

} // namespace heddle
