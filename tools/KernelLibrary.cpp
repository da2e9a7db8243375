// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads shapes and arguments of library kernels, and prints results and times.
#include "tools/KernelLibrary.h"
#include "support/File.h"
#include "support/Npy.h"
#include "tools/Arrays.h"
#include "tools/BenchPlot.h"
#include "tools/Output.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {
namespace {

constexpr const char *options[] = {"--shape", "--permute", "--strides", "--elements", "--tuned"};

struct Times {
  double p50, minimum, maximum; ///< milliseconds
};

Times summarize(std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  return {milliseconds[milliseconds.size() / 2], milliseconds.front(), milliseconds.back()};
}

nlohmann::ordered_json describe(const LibraryResult &result) {
  nlohmann::ordered_json json = {{"kernel", result.kernel},          {"target", result.target},
                                 {"inputs", result.inputs},          {"launches", result.launches},
                                 {"leastBytes", result.leastBytes},  {"compared", result.compared},
                                 {"differences", result.differences}};
  if (!result.tuned.empty())
    json["tuned"] = result.tuned;
  if (!result.milliseconds.empty()) {
    Times times = summarize(result.milliseconds);
    json["milliseconds"] = {
        {"launches", result.milliseconds.size()}, {"p50", times.p50}, {"min", times.minimum}, {"max", times.maximum}};
  }
  return json;
}

int exitCode(const LibraryResult &result) {
  return result.differences.empty() ? 0 : int(ErrorClass::WrongResult);
}

void writePicture(const LibraryBench &bench, const std::vector<BandwidthRow> &rows, double copy) {
  PlotTitle title{bench.request.kernel, "on " + bench.request.device};
  std::vector<std::vector<std::string>> table = {{"shape", "GB/s", "of a copy"}};
  for (const BandwidthRow &row : rows)
    table.push_back({row.shape, fmt::format("{:.1f}", row.bytesPerSecond / 1e9),
                     copy > 0 ? fmt::format("{:.1f} %", 100 * row.bytesPerSecond / copy) : "-"});
  writePlot(bench.plot, title, plotBandwidths(title, rows, copy), table);
}

/// A kernel without arguments asks what it is.
bool asksForHelp(const LibraryRequest &request) {
  return request.kernel == "kernel:" || request.kernel == "kernel:list" ||
         (request.arguments.empty() && request.shape.empty());
}

} // namespace

void addLibraryOptions(CLI::App &verb, LibraryRequest &request, std::vector<std::string> &shapes) {
  addArrayOptions(verb, request, shapes);
  verb.add_flag("--tuned", request.tuned);
}

void addArrayOptions(CLI::App &verb, LibraryRequest &request, std::vector<std::string> &shapes) {
  verb.add_option("--shape", shapes)->allow_extra_args(false);
  verb.add_option("--permute", request.permutations)->allow_extra_args(false);
  verb.add_option("--strides", request.strides)->allow_extra_args(false);
  verb.add_option("--elements", request.elements);
}

std::string givenLibraryOption(const CLI::App &verb) {
  for (const char *name : options)
    if (verb.get_option(name)->count())
      return name;
  return "";
}

void refuseLibraryOption(const std::string &option, const std::string &input, const std::string &verb) {
  if (!option.empty())
    throw inputError(fmt::format("`{}` is for kernels of the library, and {} is a file", option, sourceName(input)),
                     {fmt::format("`heddle {} kernel:` lists them", verb)});
}

int runLibraryVerb(LibraryRequest request, const std::vector<std::string> &files, bool asJson) {
  if (asksForHelp(request)) {
    asJson ? printData(libraryKernelAsJson(request.kernel) + "\n") : printData(describeLibraryKernel(request.kernel));
    return 0;
  }
  std::vector<NamedValue> outputs;
  for (const std::string &text : files) {
    outputs.push_back(parseNamedValue(text, "--out"));
    request.outputs.push_back(outputs.back().name);
    if (outputs.back().value != "-")
      checkWritable(outputs.back().value);
  }
  LibraryResult result = runLibraryKernel(request);
  if (!result.tuned.empty())
    say(result.tuned);
  nlohmann::ordered_json json = describe(result);
  json["device"] = request.device;
  std::string text;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Array &array = result.outputs[i];
    if (outputs[i].value != "-")
      writeNpy(outputs[i].value, {array.dtype, array.shape, array.bytes});
    else
      text += formatArray(array);
    json["outputs"].push_back(arrayAsJson(array, outputs[i].value));
  }
  if (request.verify && result.differences.empty())
    text +=
        fmt::format("{} elements agree with the plain reference {}\n", result.compared,
                    result.tolerance > 0 ? fmt::format("within {} of the largest", result.tolerance) : "bit by bit");
  for (const std::string &difference : result.differences)
    text += difference + "\n";
  if (!result.milliseconds.empty()) {
    Times times = summarize(result.milliseconds);
    text += fmt::format("{} calls: p50 {:.4f} ms, min {:.4f} ms, max {:.4f} ms\n", result.milliseconds.size(),
                        times.p50, times.minimum, times.maximum);
  }
  asJson ? printJson(json) : printData(text);
  return exitCode(result);
}

int benchLibraryVerb(const LibraryBench &bench) {
  std::vector<std::string> shapes = bench.shapes;
  if (shapes.empty() && asksForHelp(bench.request)) {
    printData(describeLibraryKernel(bench.request.kernel));
    return 0;
  }
  if (shapes.empty())
    shapes.push_back("");
  double bandwidth = copyBandwidth(bench.request.device);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::vector<BandwidthRow> drawn;
  std::vector<std::string> wrong;
  bool table = !bench.json && !bench.csv;
  if (table)
    printData(fmt::format("# heddle {}: {} on {}; {}\n# calls: {}, after {}; a copy moves {:.0f} GB/s\n"
                          "#   p50 us   min us      GB/s  of copy    #wrong  shape\n",
                          version(), bench.request.kernel, bench.request.device,
                          bench.request.device.starts_with("host")  ? "single calls"
                          : bench.request.device.starts_with("sim") ? "simulated: 10 ns an instruction"
                                                                    : "graphs of one call",
                          bench.request.repeat, bench.request.warmup, bandwidth / 1e9));
  if (bench.csv)
    printData("kernel,shape,p50_us,min_us,max_us,least_bytes,gb_per_s,of_copy,wrong\n");
  for (const std::string &shape : shapes) {
    LibraryRequest request = bench.request;
    request.shape = shape;
    LibraryResult result = runLibraryKernel(request);
    if (!result.tuned.empty())
      say(result.tuned);
    Times times = summarize(result.milliseconds);
    double rate = double(result.leastBytes) / times.p50 * 1e3, ratio = bandwidth > 0 ? rate / bandwidth : 0;
    std::string name = shape.empty() ? fmt::format("{}", fmt::join(result.inputs, ", ")) : shape;
    std::string count = request.verify ? std::to_string(result.differences.size()) : "N/A";
    for (const std::string &difference : result.differences)
      wrong.push_back(fmt::format("{}: {}", name, difference));
    if (table)
      printData(fmt::format("{:>10.2f} {:>8.2f} {:>9.1f}  {:>6.1f}%  {:>8}  {}\n", times.p50 * 1e3, times.minimum * 1e3,
                            rate / 1e9, 100 * ratio, count, name));
    if (bench.csv)
      printData(fmt::format("{},\"{}\",{:.3f},{:.3f},{:.3f},{},{:.1f},{:.4f},{}\n", result.kernel, name,
                            times.p50 * 1e3, times.minimum * 1e3, times.maximum * 1e3, result.leastBytes, rate / 1e9,
                            ratio, count));
    drawn.push_back({name, rate});
    nlohmann::ordered_json row = describe(result);
    row["shape"] = name;
    row["bytesPerSecond"] = rate;
    row["ofCopy"] = ratio;
    rows.push_back(row);
  }
  if (bench.json)
    printJson({{"heddle", version()},
               {"kernel", bench.request.kernel},
               {"device", bench.request.device},
               {"copyBytesPerSecond", bandwidth},
               {"rows", rows}});
  if (!bench.plot.empty())
    writePicture(bench, drawn, bandwidth);
  for (const std::string &line : wrong)
    printWarning(line);
  return wrong.empty() ? 0 : int(ErrorClass::WrongResult);
}

int compileLibraryVerb(const LibraryRequest &request, const std::string &target, const std::string &output,
                       bool asJson) {
  if (asksForHelp(request)) {
    printData(describeLibraryKernel(request.kernel));
    return 0;
  }
  if (!request.options.stopAfter.empty()) {
    printData(libraryKernelPhase(request, target, request.options.stopAfter));
    return 0;
  }
  std::string folder = output.empty() ? request.kernel.substr(request.kernel.find(':') + 1) : output;
  std::string plan = compileLibraryKernel(request, target, folder);
  if (asJson)
    printData(plan);
  else
    say(fmt::format("{}: packages of `{}` for {}, and plan.json", folder, request.kernel, target));
  return 0;
}

} // namespace heddle
