// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle bench`: the table of nccl-tests for Heddle's collectives.
#include "api/Collectives.h"
#include "api/Heddle.h"
#include "tools/Output.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace heddle {
namespace {

constexpr const char *help =
    R"(heddle bench COLLECTIVE [options]: how fast a collective is, and whether its result is right

  heddle bench all-reduce -b 1K -e 64M -f 4
  heddle bench all-gather -b 1M -e 1M -d bf16 --devices 8
  heddle bench all-reduce -b 4K -e 4K --algorithm two_shot_pull --csv > rows.csv

  COLLECTIVE                all-reduce, all-gather, reduce-scatter, all-to-all, permute or broadcast
  -b, --minbytes SIZE       first size; 512, 64K, 1.5M, 2G; default 32M; what a rank has in all, parts included
  -e, --maxbytes SIZE       last size; default the first
  -f, --stepfactor N        each size is N times the one before
  -i, --stepbytes SIZE      or so much more; default 1M
  -n, --iters N             calls that are timed, back to back; default 20
  -w, --warmup_iters N      calls before; default 1
  -c, --check N             calls with fresh inputs whose every element is compared; default 1, 0 for none
  -o, --op NAME             sum (the default), prod, min, max, and, or
  -d, --datatype NAME       f32 (the default), bf16, f16, i32, ui8, f8E4M3FN, ...; nccl's names also
  --devices N               ranks, 1 to 8; default 4
  --device NAME             whose devices: host (the default)
  --algorithm NAME          instead of the plan's choice; `heddle inspect COLLECTIVE` shows that
  --blocks N                program instances on each rank, instead of the plan's choice
  --timeout SECONDS         how long one call may wait for other ranks; default 30
  --json, --csv             the same and the p50, min and max of single calls, for programs

Columns, sizes and factors are those of nccl-tests. Exit code 1 when an element is wrong.
)";

struct BenchVerbRequest {
  std::string collective, datatype = "f32", reduction = "sum";
  BenchmarkRequest run;
  int64_t first = int64_t(32) << 20, last = 0, step = int64_t(1) << 20;
  int factor = 0;
  bool json = false, csv = false;
};

/// One line on the terminal that is written over.
void showProgress(const std::string &text) {
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

std::vector<int64_t> sizesOf(const BenchVerbRequest &request) {
  constexpr size_t limit = 100000;
  int64_t last = request.last ? request.last : request.first;
  if (last < request.first)
    throw inputError(
        fmt::format("`--minbytes {}` is above `--maxbytes {}`", request.first, last),
        {fmt::format("both are in bytes; give `-e {}` or more, or leave it out for one size", request.first)});
  if (request.factor > 1 && request.first == 0)
    throw inputError("`--minbytes 0` times `--stepfactor` stays 0", {"begin with 1, or give `--stepbytes`"});
  std::vector<int64_t> sizes;
  for (int64_t size = request.first; size <= last && sizes.size() <= limit;) {
    sizes.push_back(size);
    int64_t next = 0;
    bool overflows = request.factor > 1 ? __builtin_mul_overflow(size, request.factor, &next)
                                        : __builtin_add_overflow(size, request.step, &next);
    if (overflows)
      break;
    size = std::max(next, size + 1);
  }
  if (sizes.size() > limit)
    throw inputError(fmt::format("more than {} sizes from {} to {} bytes", limit, request.first, last),
                     {"give a larger `--stepbytes`, or `--stepfactor 2`"});
  return sizes;
}

//===-- Output ---------------------------------------------------------------------------------------------------===//

class Report {
public:
  Report(const BenchVerbRequest &request, const CollectiveBenchmark &benchmark, const std::vector<int64_t> &sizes);
  void add(const BenchmarkRow &row);
  int finish(); ///< the exit code

private:
  void printHeader(const std::string &device, const std::vector<int64_t> &sizes) const;
  std::string reductionText() const {
    bool reduces = request.run.kind == CollectiveKind::AllReduce || request.run.kind == CollectiveKind::ReduceScatter;
    return reduces ? shortReductionName(request.run.reduction) : "none";
  }
  int root() const { return request.run.kind == CollectiveKind::Broadcast ? 0 : -1; }
  std::string wrongText(const BenchmarkTimes &times) const {
    return request.run.checks ? std::to_string(times.wrong) : "N/A";
  }
  std::string formatTimes(const BenchmarkTimes &times) const;
  std::string formatCsv(const BenchmarkTimes &times) const;
  nlohmann::ordered_json timesAsJson(const BenchmarkTimes &times) const;

  const BenchVerbRequest &request;
  nlohmann::ordered_json json;
  int64_t wrong = 0;
  std::vector<std::string> firstWrong;
  double busSum = 0;
  int rows = 0;
};

Report::Report(const BenchVerbRequest &request, const CollectiveBenchmark &benchmark, const std::vector<int64_t> &sizes)
    : request(request) {
  json["heddle"] = version();
  json["collective"] = request.collective;
  json["devices"] = benchmark.deviceNames();
  json["description"] = benchmark.deviceDescription();
  json["iterations"] = request.run.iterations;
  json["warmup"] = request.run.warmup;
  json["checks"] = request.run.checks;
  json["rows"] = nlohmann::ordered_json::array();
  if (request.csv)
    printData("size,count,type,redop,root,algo,blocks,out_us,out_algbw,out_busbw,out_wrong,out_p50_us,out_min_us,"
              "out_max_us,in_us,in_algbw,in_busbw,in_wrong,in_p50_us,in_min_us,in_max_us\n");
  else if (!request.json)
    printHeader(benchmark.deviceDescription(), sizes);
}

void Report::printHeader(const std::string &device, const std::vector<int64_t> &sizes) const {
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

std::string Report::formatTimes(const BenchmarkTimes &times) const {
  int digits = times.average >= 10000 ? 0 : times.average >= 100 ? 1 : 2;
  return fmt::format("  {:7.{}f}  {:6.2f}  {:6.2f}  {:>5}", times.average, digits, times.algorithmBandwidth,
                     times.busBandwidth, wrongText(times));
}

std::string Report::formatCsv(const BenchmarkTimes &times) const {
  return fmt::format("{:.3f},{:.4f},{:.4f},{},{:.3f},{:.3f},{:.3f}", times.average, times.algorithmBandwidth,
                     times.busBandwidth, wrongText(times), times.p50, times.minimum, times.maximum);
}

nlohmann::ordered_json Report::timesAsJson(const BenchmarkTimes &times) const {
  return {{"us", times.average},
          {"algbw", times.algorithmBandwidth},
          {"busbw", times.busBandwidth},
          {"wrong", request.run.checks ? nlohmann::ordered_json(times.wrong) : nlohmann::ordered_json()},
          {"p50", times.p50},
          {"min", times.minimum},
          {"max", times.maximum}};
}

void Report::add(const BenchmarkRow &row) {
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

int Report::finish() {
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

int benchVerb(BenchVerbRequest &request) {
  if (request.collective.empty())
    throw inputError("no collective: `heddle bench` wants one, as in `heddle bench all-reduce`",
                     {"`heddle bench --help` shows the options"});
  if (request.json && request.csv)
    throw inputError("`--json` and `--csv` exclude each other", {"run `heddle bench` for each"});
  BenchmarkRequest &run = request.run;
  run.kind = parseCollective(request.collective);
  run.type = parseDatatype(request.datatype);
  run.reduction = parseReduction(request.reduction);
  std::vector<int64_t> sizes = sizesOf(request);
  bool shows = isatty(STDERR_FILENO);
  if (shows)
    run.progress = showProgress;
  // What can be refused is refused before anything is printed.
  Collective largest = collectiveOfSize(run.kind, run.type, run.reduction, run.devices, sizes.back());
  planFor(largest, run.driver, run.plan);
  CollectiveBenchmark benchmark(run);
  Report report(request, benchmark, sizes);
  for (int64_t size : sizes) {
    BenchmarkRow row;
    try {
      row = benchmark.measure(size);
    } catch (...) {
      if (shows)
        showProgress("");
      throw;
    }
    if (shows)
      showProgress("");
    report.add(row);
  }
  return report.finish();
}

} // namespace

void addBench(CLI::App &program, VerbAction &action) {
  auto request = std::make_shared<BenchVerbRequest>();
  CLI::App *verb = program.add_subcommand("bench");
  verb->footer(help);
  verb->set_help_flag("-h,--help");
  verb->add_option("collective", request->collective);
  auto addSize = [&](const char *flags, const char *name, int64_t BenchVerbRequest::*member) {
    verb->add_option_function<std::string>(
        flags, [request, name, member](const std::string &text) { (*request).*member = parseByteSize(name, text); });
  };
  auto addInteger = [&](const char *flags, const char *name, int *value, int least, int most = INT_MAX) {
    verb->add_option_function<std::string>(flags, [request, name, value, least, most](const std::string &text) {
      *value = parseIntegerOption(name, text, least, most);
    });
  };
  addSize("-b,--minbytes", "--minbytes", &BenchVerbRequest::first);
  addSize("-e,--maxbytes", "--maxbytes", &BenchVerbRequest::last);
  addSize("-i,--stepbytes", "--stepbytes", &BenchVerbRequest::step);
  addInteger("-f,--stepfactor", "--stepfactor", &request->factor, 1, 1 << 20);
  addInteger("-n,--iters", "--iters", &request->run.iterations, 1, 100000);
  addInteger("-w,--warmup_iters", "--warmup_iters", &request->run.warmup, 0, 100000);
  addInteger("-c,--check", "--check", &request->run.checks, 0, 1000);
  addInteger("--devices", "--devices", &request->run.devices, 1, 8);
  addInteger("--blocks", "--blocks", &request->run.plan.blocks, 1, maxCollectiveBlocks);
  verb->add_option("-o,--op", request->reduction);
  verb->add_option("-d,--datatype", request->datatype);
  verb->add_option("--device", request->run.driver);
  verb->add_option("--algorithm", request->run.plan.algorithm);
  verb->add_option_function<std::string>("--timeout", [request](const std::string &text) {
    request->run.timeoutSeconds = parseTimeoutOption("--timeout", text);
  });
  verb->add_flag("--json", request->json);
  verb->add_flag("--csv", request->csv);
  verb->callback([request, &action] { action = [request] { return benchVerb(*request); }; });
}

} // namespace heddle
