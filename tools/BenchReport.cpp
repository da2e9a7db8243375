// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The columns are those of nccl-tests.
#include "tools/BenchReport.h"
#include "api/Heddle.h"
#include "tools/Output.h"
#include <fmt/format.h>

namespace heddle {

BenchReport::BenchReport(const BenchVerbRequest &request, const std::vector<std::string> &deviceNames,
                         const std::string &description, const std::vector<int64_t> &sizes)
    : request(request) {
  json["heddle"] = version();
  json["collective"] = request.collective;
  json["devices"] = deviceNames;
  json["description"] = description;
  json["iterations"] = request.run.iterations;
  json["warmup"] = request.run.warmup;
  json["checks"] = request.run.checks;
  json["rows"] = nlohmann::ordered_json::array();
  if (request.csv)
    printData("size,count,type,redop,root,algo,blocks,out_us,out_algbw,out_busbw,out_wrong,out_p50_us,out_min_us,"
              "out_max_us,in_us,in_algbw,in_busbw,in_wrong,in_p50_us,in_min_us,in_max_us\n");
  else if (!request.json)
    printHeader(description, sizes);
}

void BenchReport::printHeader(const std::string &device, const std::vector<int64_t> &sizes) const {
  std::string steps =
      request.factor > 1 ? fmt::format("{} (factor)", request.factor) : fmt::format("{} (bytes)", request.step);
  std::string text = fmt::format("# heddle {} (LLVM {}): {}\n"
                                 "# {} ranks on {}: {}\n"
                                 "# minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} validation: {}\n#\n",
                                 version(), llvmVersion(), request.collective, request.run.devices, request.run.driver,
                                 device, sizes.front(), request.last ? request.last : request.first, steps,
                                 request.run.warmup, request.run.iterations, request.run.checks);
  auto line = [&](const std::vector<const char *> &words) {
    constexpr int widths[] = {10, 12, 8, 6, 6, 7, 6, 6, 5, 7, 6, 6, 5, 4};
    std::string columns = "#";
    for (size_t i = 0; i < words.size(); ++i)
      columns += fmt::format("{}{:>{}}", i ? "  " : " ", words[i], widths[i]);
    text += columns.substr(0, columns.find_last_not_of(' ') + 1) + "\n";
  };
  text += fmt::format("#{:>69}{:>34}\n", "out-of-place", "in-place");
  line({"size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw",
        "#wrong", "algo"});
  line({"(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)"});
  printData(text);
}

std::string BenchReport::formatTimes(const BenchmarkTimes &times) const {
  int digits = times.average >= 10000 ? 0 : times.average >= 100 ? 1 : 2;
  return fmt::format("  {:7.{}f}  {:6.2f}  {:6.2f}  {:>5}", times.average, digits, times.algorithmBandwidth,
                     times.busBandwidth, wrongText(times));
}

std::string BenchReport::formatCsv(const BenchmarkTimes &times) const {
  return fmt::format("{:.3f},{:.4f},{:.4f},{},{:.3f},{:.3f},{:.3f}", times.average, times.algorithmBandwidth,
                     times.busBandwidth, wrongText(times), times.p50, times.minimum, times.maximum);
}

nlohmann::ordered_json BenchReport::timesAsJson(const BenchmarkTimes &times) const {
  return {{"us", times.average},
          {"algbw", times.algorithmBandwidth},
          {"busbw", times.busBandwidth},
          {"wrong", request.run.checks ? nlohmann::ordered_json(times.wrong) : nlohmann::ordered_json()},
          {"p50", times.p50},
          {"min", times.minimum},
          {"max", times.maximum}};
}

void BenchReport::add(const BenchmarkRow &row) {
  const Collective &c = row.plan.collective;
  for (const BenchmarkTimes *times : {&row.outOfPlace, &row.inPlace}) {
    wrong += times->wrong;
    busSum += times->busBandwidth;
    if (times->wrong)
      firstWrong.push_back(fmt::format("{} bytes, {}: {}", sizeColumn(c),
                                       times == &row.inPlace ? "in place" : "out of place", times->firstWrong));
  }
  ++rows;
  if (request.json)
    json["rows"].push_back({{"size", sizeColumn(c)},
                            {"count", countColumn(c)},
                            {"type", elementTypeName(c.type)},
                            {"redop", reductionText()},
                            {"root", root()},
                            {"algorithm", row.plan.algorithm->name},
                            {"blocks", row.plan.blocks},
                            {"outOfPlace", timesAsJson(row.outOfPlace)},
                            {"inPlace", timesAsJson(row.inPlace)}});
  else if (request.csv)
    printData(fmt::format("{},{},{},{},{},{},{},{},{}\n", sizeColumn(c), countColumn(c), elementTypeName(c.type),
                          reductionText(), root(), row.plan.algorithm->name, row.plan.blocks, formatCsv(row.outOfPlace),
                          formatCsv(row.inPlace)));
  else
    printData(fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}  {}\n", sizeColumn(c), countColumn(c),
                          elementTypeName(c.type), reductionText(), root(), formatTimes(row.outOfPlace),
                          formatTimes(row.inPlace), row.plan.algorithm->name));
}

int BenchReport::finish() {
  double average = rows ? busSum / (2 * rows) : 0;
  if (request.json) {
    json["outOfBounds"] = wrong;
    json["averageBusBandwidth"] = average;
    printJson(json);
  } else if (!request.csv) {
    printData(fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g}\n#\n", wrong,
                          wrong ? "FAILED" : "OK", average));
  }
  for (const std::string &text : firstWrong)
    say("first wrong of " + text);
  return wrong ? int(ErrorClass::WrongResult) : 0;
}

} // namespace heddle
