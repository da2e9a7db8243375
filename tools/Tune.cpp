// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle tune`: searches the tile parameters of kernels of the library, and keeps what it found.
#include "api/Tune.h"
#include "support/File.h"
#include "tools/KernelLibrary.h"
#include "tools/Output.h"
#include "tools/Supervisor.h"
#include "tools/TuneReport.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace heddle {
namespace {

constexpr const char *help =
    R"(heddle tune kernel:NAME --shape ... [options]: which tile parameters make a kernel of the library fastest

  heddle tune kernel:fp8_rowwise_3d --shape E=16,K=5120,N=8192 --device cuda --report tuned.html
  heddle tune kernel:fp8_rowwise_2d --shape M=16640,K=5120 --shape M=32768,K=7168 --device cuda --budget 5m
  heddle tune kernel:amax --shape M=64,N=4096 --device sim:gfx950
  heddle tune kernel:fp8_rowwise_3d --shape E=2,K=256,N=256 --dry-run --target gfx942
  heddle run kernel:fp8_rowwise_2d --shape M=16640,K=5120 --device cuda --tuned
  heddle tune --list

  kernel:NAME          docs/kernels.md; its results are compared with those of its default for each candidate
  --shape M=64,K=512   may come several times; also --arg, --elements, --permute and --strides, as heddle run. An option
                       or tile parameter that --arg gives stays as it is
  --device NAME        host (the default), cuda, hip, or sim:gfx942, sim:gfx950: the simulator's estimate of time
  --budget TIME        of all shapes together: 90s, 5m, 1h. Fewer candidates are measured then; default: all
  --margin PERCENT     by which a candidate must be faster than the default, beyond noise; default 3
  --cold               empties caches before each call; default: calls follow each other
  --seed N             of the order of measurements; default 1
  --force              measures again what the database has; its choice is kept unless another is faster
  --replay             decides again from the measurements in the database, without a device's work
  --dry-run            prints the candidates, and what is pruned and why; --target CHIP: of a chip that is not here
  --report FILE        all candidates: .html (plot and table), .svg (plot) or - (table)
  --threads N          that compile at the same time; default: one for each processor, 16 at most
  --json               the results with every candidate, for programs

  --list [--json]      what the database has, and what is shipped with heddle
  --export FILE        writes the database's results as text; - is standard output
  --import FILE        merges such a text, or another database: new keys, and later results; may come several times
  --forget KEY         removes a key that --list shows, or `all`

Killed at any time it loses nothing: the same command goes on. The database is HEDDLE_TUNING_DATABASE; docs/tuning.md.
)";

struct TuneVerbRequest {
  std::vector<std::string> inputs, arguments, imports;
  TuneRequest tune;
  std::string report, exported, forgotten, target, worker;
  std::string ofTuning; ///< the first given option that says how a kernel is tuned; empty: none
  bool list = false, json = false, dryRun = false, force = false;
  bool hasExport = false, hasForget = false;
};

/// `90s`, `5m`, `1h`, or seconds.
double parseDuration(const std::string &text) {
  double factor = text.ends_with('h') ? 3600 : text.ends_with('m') ? 60 : 1;
  bool hasUnit = text.ends_with('h') || text.ends_with('m') || text.ends_with('s');
  std::optional<double> value = parseNumber(std::string_view(text).substr(0, text.size() - hasUnit));
  if (!value || !(*value > 0) || *value * factor > 1e6)
    throw inputError(fmt::format("`--budget {}` is no time above 0", text), {"write 90s, 5m or 1h"});
  return *value * factor;
}

double parsePercent(const std::string &text) {
  std::optional<double> value = parseNumber(std::string_view(text).substr(0, text.size() - text.ends_with('%')));
  if (!value || !(*value >= 0 && *value <= 90))
    throw inputError(fmt::format("`--margin {}` is no number of percent from 0 to 90", text));
  return *value / 100;
}

//===-- What is printed
//----------------------------------------------------------------------------------------------===//

/// One line on the terminal that is written over.
class ProgressLine {
public:
  void show(const TuneProgress &step) {
    if (!isShown)
      return;
    constexpr int width = 24;
    int full = step.all ? int(width * step.done / step.all) : 0;
    fmt::print(stderr, "\r\033[K[{}/{}] {:12} [{}{}] {}/{}  default {:.2f} us, best {:.2f} us{}", step.shapeNumber + 1,
               step.shapes, step.stage, std::string(size_t(full), '='), std::string(size_t(width - full), ' '),
               step.done, step.all, step.defaultMicroseconds, step.bestMicroseconds,
               step.failures ? fmt::format(", {} failed", step.failures) : "");
    std::fflush(stderr);
    isDirty = true;
  }
  void clear() {
    if (isDirty)
      fmt::print(stderr, "\r\033[K");
    isDirty = false;
  }

private:
  const bool isShown = isatty(STDERR_FILENO);
  bool isDirty = false;
};

size_t failuresOf(const TuneResult &result) {
  return size_t(std::count_if(result.candidates.begin(), result.candidates.end(),
                              [](const TunedCandidate &candidate) { return candidate.fate == "failed"; }));
}

/// What a person should know beside the row.
std::string remarksOf(const TuneResult &result) {
  std::vector<std::string> remarks;
  if (result.wasKnown)
    remarks.push_back("known");
  if (result.wasResumed)
    remarks.push_back("resumed");
  if (result.isCutShort)
    remarks.push_back("cut short by the budget");
  if (size_t failures = failuresOf(result))
    remarks.push_back(fmt::format("{} failed", failures));
  return remarks.empty() ? "" : fmt::format(" ({})", fmt::join(remarks, ", "));
}

std::string rowOf(const TuneResult &result) {
  if (!result.error.empty())
    return fmt::format("{:>10} {:>10} {:>8} {:>7}  {}: {}\n", "-", "-", "-", "-", result.shape, result.error);
  return fmt::format("{:>10.2f} {:>10.2f} {:>6.1f} % {:>5.1f} %  {}: {}{}\n", result.defaultMicroseconds,
                     result.microseconds, 100 * result.gain, 100 * result.halfWidth, result.shape, result.configuration,
                     remarksOf(result));
}

nlohmann::ordered_json asJson(const TuneResult &result) {
  if (!result.error.empty())
    return {{"shape", result.shape}, {"error", result.error}};
  nlohmann::ordered_json json = {{"shape", result.shape},
                                 {"key", result.key},
                                 {"keyParts", result.keyParts},
                                 {"configuration", result.configuration},
                                 {"reason", result.reason},
                                 {"microseconds", result.microseconds},
                                 {"defaultMicroseconds", result.defaultMicroseconds},
                                 {"gain", result.gain},
                                 {"halfWidth", result.halfWidth},
                                 {"rounds", result.rounds},
                                 {"measurements", result.measurements},
                                 {"known", result.wasKnown},
                                 {"resumed", result.wasResumed},
                                 {"cutShort", result.isCutShort},
                                 {"clock", result.clock}};
  json["candidates"] = nlohmann::ordered_json::array();
  for (const TunedCandidate &candidate : result.candidates) {
    nlohmann::ordered_json row = {{"configuration", candidate.configuration}, {"fate", candidate.fate}};
    if (!candidate.reason.empty())
      row["reason"] = candidate.reason;
    if (candidate.microseconds > 0)
      row.update({{"microseconds", candidate.microseconds},
                  {"quartileRange", candidate.quartileRange},
                  {"gain", candidate.gain},
                  {"halfWidth", candidate.halfWidth},
                  {"rounds", candidate.rounds}});
    json["candidates"].push_back(row);
  }
  json["pruned"] = nlohmann::ordered_json::array();
  for (const PrunedCandidate &pruned : result.pruned)
    json["pruned"].push_back({{"configuration", pruned.configuration}, {"reason", pruned.reason}});
  return json;
}

//===-- The database
//-------------------------------------------------------------------------------------------------===//

int listVerb(const TuneVerbRequest &request) {
  std::vector<TunedEntry> entries = listTuned();
  if (request.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const TunedEntry &entry : entries)
      rows.push_back({{"key", entry.key},
                      {"keyParts", entry.keyParts},
                      {"origin", entry.origin},
                      {"configuration", entry.configuration},
                      {"microseconds", entry.microseconds},
                      {"defaultMicroseconds", entry.defaultMicroseconds},
                      {"gain", entry.gain},
                      {"halfWidth", entry.halfWidth},
                      {"measuredAt", entry.measuredAt},
                      {"stale", entry.isStale}});
    printJson({{"database", tuningDatabasePath()}, {"results", rows}});
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"key", "kernel", "device", "extents", "configuration", "us", "gain", "origin"}};
  for (const TunedEntry &entry : entries)
    rows.push_back({entry.key, entry.keyParts.at("kernel"), entry.keyParts.at("device"), entry.keyParts.at("extents"),
                    entry.configuration, fmt::format("{:.2f}", entry.microseconds),
                    fmt::format("{:.1f} %", 100 * entry.gain),
                    entry.isStale ? entry.origin + ", of another version of the kernel" : entry.origin});
  printData(formatTable(rows));
  say(fmt::format("{} results; the database is {}", entries.size(), tuningDatabasePath()));
  return 0;
}

bool isDatabaseVerb(const TuneVerbRequest &request) {
  return request.list || request.hasExport || !request.imports.empty() || request.hasForget;
}

int databaseVerb(const TuneVerbRequest &request) {
  const char *what = request.list ? "list" : request.hasExport ? "export" : request.hasForget ? "forget" : "import";
  if (!request.inputs.empty())
    throw inputError(fmt::format("`--{}` and a kernel to tune: one at a time", what), {"run `heddle tune` for each"});
  if (!request.ofTuning.empty())
    throw inputError(fmt::format("`--{}` tunes nothing, and `{}` is for a kernel to tune", what, request.ofTuning),
                     {"leave one out"});
  for (const std::string &file : request.imports) {
    auto [taken, all] = importTuned(file);
    say(fmt::format("{}: {} of {} results are new or later", file, taken, all));
  }
  if (request.hasForget)
    say(fmt::format("{} keys forgotten", forgetTuned(request.forgotten)));
  if (request.hasExport) {
    std::string text = exportTuned();
    if (request.exported == "-")
      printData(text);
    else
      writeFileAtomically(request.exported, text);
  }
  return request.list ? listVerb(request) : 0;
}

//===-- Tuning
//-------------------------------------------------------------------------------------------------------===//

int dryRunVerb(const TuneVerbRequest &request) {
  std::vector<TuneResult> results = describeSpace(request.tune, request.target);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const TuneResult &result : results) {
    if (request.json)
      rows.push_back(asJson(result));
    else
      printData(fmt::format("{}\n{} candidates, {} pruned\n\n", tuneTable(result), result.candidates.size(),
                            result.pruned.size()));
  }
  if (request.json)
    printJson({{"kernel", request.tune.library.kernel}, {"shapes", rows}});
  return 0;
}

/// Exit code 3 where a shape has no result.
int printResults(const TuneVerbRequest &request, const std::vector<TuneResult> &results) {
  const LibraryRequest &library = request.tune.library;
  bool hasErrors = false;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::string clock, text;
  for (const TuneResult &result : results) {
    hasErrors |= !result.error.empty();
    clock = result.clock.empty() ? clock : result.clock;
    text += rowOf(result);
    rows.push_back(asJson(result));
  }
  if (request.json)
    printJson({{"heddle", version()},
               {"kernel", library.kernel},
               {"device", library.device},
               {"database", tuningDatabasePath()},
               {"shapes", rows}});
  else if (request.report != "-")
    printData(fmt::format("# heddle {}: {} on {}; time: {}\n#  default us   tuned us     gain      +-  shape: "
                          "configuration\n{}",
                          version(), library.kernel, library.device, clock, text));
  if (!request.report.empty())
    writeTuneReport(request.report, library.kernel, results);
  return hasErrors ? int(ErrorClass::Environment) : 0;
}

/// Of what the command line gave, the part that this worker has: earlier ones may have ended.
void shortenBudget(TuneVerbRequest &request) {
  std::tm parts = {};
  if (request.tune.budgetSeconds == 0 || !::strptime(request.worker.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts))
    return;
  double passed = std::difftime(std::time(nullptr), ::timegm(&parts));
  request.tune.budgetSeconds = std::max(1.0, request.tune.budgetSeconds - std::max(passed, 0.0));
}

int measure(TuneVerbRequest &request) {
  if (!request.worker.empty()) {
    becomeWorker();
    shortenBudget(request);
    request.tune.isCancelled = isInterrupted;
  }
  ProgressLine line;
  request.tune.progress = [&](const TuneProgress &step) { line.show(step); };
  if (CapturedOutput *output = CapturedOutput::current()) {
    request.tune.progress = [output](const TuneProgress &step) {
      if (output->progress && output->progress(step.done, step.all))
        output->isCancelled = true;
    };
    request.tune.isCancelled = [output] { return output->isCancelled.load(); };
  }
  std::vector<TuneResult> results;
  bool talks = request.tune.shapes.size() > 1;
  try {
    tuneLibraryKernel(request.tune, [&](const TuneResult &result) {
      line.clear();
      if (talks)
        say(fmt::format("[{}/{}] {}: {}", results.size() + 1, request.tune.shapes.size(), result.shape,
                        result.error.empty()
                            ? fmt::format("{}, {:.2f} us, the default {:.2f} us{}", result.configuration,
                                          result.microseconds, result.defaultMicroseconds, remarksOf(result))
                            : result.error));
      results.push_back(result);
    });
  } catch (const TuneCancelled &) {
    line.clear();
    printResults(request, results); // those that are done
    throw;
  } catch (const TuneDeviceLost &error) {
    line.clear();
    if (request.worker.empty())
      throw;
    say(error.what());
    std::fflush(nullptr);
    ::_exit(deviceLostCode); // the driver's ends may wait for the device for ever
  } catch (...) {
    line.clear();
    throw;
  }
  return printResults(request, results);
}

int tuneVerb(TuneVerbRequest &request) {
  if (isDatabaseVerb(request))
    return databaseVerb(request);
  if (request.inputs.empty())
    throw inputError("no kernel: `heddle tune` wants one, as in `heddle tune kernel:amax --shape M=64,N=4096`",
                     {"`heddle tune kernel:` lists them; `heddle tune --help` shows the options"});
  LibraryRequest &library = request.tune.library;
  library.kernel = request.inputs.front();
  if (!isLibraryKernel(library.kernel))
    throw inputError(fmt::format("`{}` is no kernel of the library", library.kernel),
                     {fmt::format("its name begins with `kernel:`, as `kernel:{}`", library.kernel),
                      "`heddle tune kernel:` lists them"});
  if (request.inputs.size() > 1)
    throw inputError(fmt::format("`{}` and `{}`: one kernel at a time", request.inputs[0], request.inputs[1]),
                     {"`--shape` may be given several times"});
  for (const std::string &text : request.arguments)
    library.arguments.push_back(parseNamedValue(text, "--arg"));
  if (request.tune.shapes.empty() && library.arguments.empty()) {
    printData(describeLibraryKernel(library.kernel));
    return 0;
  }
  if (!request.target.empty() && !request.dryRun)
    throw inputError("`--target` is for `--dry-run`: what is measured runs on a device",
                     {"give `--device`, or `--dry-run` as well"});
  if (request.json && request.report == "-")
    throw inputError("`--json` and `--report -` exclude each other: both are standard output",
                     {"`--json` has every candidate; or write the report to a file"});
  if (request.dryRun && !request.report.empty())
    throw inputError("`--dry-run` measures nothing, and `--report` is of measurements",
                     {"leave one out; `--json` has the candidates"});
  if (!request.report.empty())
    checkReportName(request.report);
  if (request.dryRun)
    return dryRunVerb(request);
  std::string time = request.worker.empty() ? tuningTime() : request.worker;
  if (request.force)
    request.tune.forceBefore = time;
  if (request.worker.empty() && !request.tune.replays && canSupervise())
    return superviseWorkers(time);
  return measure(request);
}

/// TuneVerbRequest::ofTuning.
std::string givenForTuning(const CLI::App &verb) {
  const std::string others[] = {"--list", "--json", "--export", "--import", "--forget"};
  for (const CLI::Option *option : verb.get_options())
    if (option->count() > 0 && !option->get_positional() && !std::ranges::count(others, option->get_name()))
      return option->get_name();
  return "";
}

} // namespace

void addTune(CLI::App &program, VerbAction &action) {
  auto request = std::make_shared<TuneVerbRequest>();
  CLI::App *verb = program.add_subcommand("tune");
  verb->footer(help);
  verb->set_help_flag("-h,--help");
  verb->add_option("kernel", request->inputs);
  addArrayOptions(*verb, request->tune.library, request->tune.shapes);
  verb->add_option("--arg", request->arguments)->allow_extra_args(false);
  verb->add_option("--device", request->tune.library.device);
  verb->add_option("--target", request->target);
  auto addText = [&](const char *name, std::function<void(const std::string &)> use) {
    verb->add_option_function<std::string>(name, std::move(use));
  };
  addText("--budget", [request](const std::string &text) { request->tune.budgetSeconds = parseDuration(text); });
  addText("--margin", [request](const std::string &text) { request->tune.margin = parsePercent(text); });
  addText("--seed", [request](const std::string &text) { request->tune.seed = parseUnsignedOption("--seed", text); });
  addText("--threads", [request](const std::string &text) {
    request->tune.threads = parseIntegerOption("--threads", text, 1, 256);
  });
  verb->add_flag("--cold", request->tune.isCold);
  verb->add_flag("--force", request->force);
  verb->add_flag("--replay", request->tune.replays);
  verb->add_flag("--dry-run", request->dryRun);
  verb->add_option("--report", request->report);
  verb->add_flag("--json", request->json);
  verb->add_flag("--list", request->list);
  verb->add_option("--export", request->exported);
  verb->add_option("--import", request->imports)->allow_extra_args(false);
  verb->add_option("--forget", request->forgotten);
  verb->add_option("--worker", request->worker); // of Supervisor.cpp
  verb->callback([request, verb, &action] {
    request->ofTuning = givenForTuning(*verb);
    request->hasExport = verb->get_option("--export")->count() > 0;
    request->hasForget = verb->get_option("--forget")->count() > 0;
    action = [request] { return tuneVerb(*request); };
  });
}

} // namespace heddle
