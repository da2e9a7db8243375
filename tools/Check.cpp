// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle check`
#include "tools/Check.h"
#include "support/File.h"
#include "support/ShellWord.h"
#include "tools/ArgumentOptions.h"
#include "tools/CheckPage.h"
#include "tools/Output.h"
#include "tools/Places.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <unistd.h>

namespace heddle {

const char *const checkOptionsHelp =
    R"(  --schedules N        number of seeds of the random schedule, and at most as many of leap-frog and frozen; default 8
  --checks NAMES       default (all but lds-same-value, global-same-value and misaligned-slow), all, or a list: a,b;
                         +a adds a check to default, -a removes one; without all of default the verdict is never
                         clean
  --allow-different NAME   a buffer whose bits may differ between runs, as those of sums by float atomics do
  --time-limit S       after S seconds start no more runs and stop those in flight
  --threads N          runs at once; default one for each core
  Without --limit a run may take 64 times the instructions of the first one, and 2^24 more.
)";

namespace {

constexpr const char *help =
    R"(heddle check OBJECT [options]: whether a kernel of an AMD code object is right under many schedules that the memory
  model allows, extreme ones included

  heddle check add.hsaco --grid 4 --block 256 --arg x=rand:f32[1024]:1 --arg y=rand:f32[1024]:7 --arg out=f32[1024]
  heddle check --list

  Runs the kernel under every policy and schedule of `heddle simulate` with --checks, and compares the bits of all
  buffers. Prints what it found with the command that shows it again, and `clean` only if everything ran.
{}{})"
    R"(  --json               the verdict as JSON
  --min-severity LEVEL   low (the default), medium or high: findings below it are not shown and do not count; their
                         number is printed
  --html FILE          also writes a page: the source with the findings in place, both accesses in the machine code, and a
                         timeline of the waves around each. It runs the kernel twice more for each run that it shows
  --source FOLDER      where the source files of the page are looked for first; may come several times
  --list               the checks, each with the reason why what it reports is wrong, and nothing else

Exit codes: 0 clean, also when all findings are below --min-severity; 1 a finding or not clean; 2 bad input
)";

struct CheckVerbRequest {
  CheckOptions options;
  bool list = false, json = false;
  std::string page; ///< file of the HTML page; empty: none
  std::vector<std::string> sourceFolders;
};

int listChecks(bool asJson) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::string text;
  for (const CheckInfoText &check : kernelChecks()) {
    json.push_back({{"name", check.name}, {"justification", check.justification}});
    text += fmt::format("{}\n  {}\n", check.name, check.justification);
  }
  asJson ? printJson(json) : printData(text);
  return 0;
}

std::string replayOf(const CheckFinding &finding, const KernelOptions &kernel) {
  // What does not end would run for many minutes with the default limit.
  bool isLimited = finding.kind == "no-end" && finding.run.instructionLimit > 0;
  return fmt::format("{}{} --policy {} --schedule {} --seed {} --caches --checks {}", kernel.commandLine(),
                     isLimited ? fmt::format(" --limit {}", finding.run.instructionLimit) : "", finding.run.policy,
                     finding.run.schedule, finding.run.seed, quoteForShell(kernel.run.checks));
}

double parseSeconds(const std::string &option, const std::string &text) {
  std::optional<double> seconds = parseNumber(text);
  if (!seconds || !(*seconds > 0))
    throw inputError(fmt::format("`{} {}` is not a number of seconds above 0", option, text));
  return *seconds;
}

/// The last line of what is printed.
std::string lastLine(const std::string &text) {
  size_t end = text.find_last_not_of('\n') + 1, begin = text.rfind('\n', end - 1);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin - 1);
}

void writePage(const CheckVerbRequest &request, const std::string &file, const CheckResult &result) {
  const KernelOptions &kernel = request.options.kernel;
  CheckEvidence evidence = gatherEvidence(file, kernel.input, request.options.request, result.findings);
  SourceFiles sources(request.sourceFolders, evidence.sourcePaths, kernel.input);
  std::vector<std::string> replays;
  for (const CheckFinding &finding : result.findings)
    replays.push_back(replayOf(finding, kernel));
  std::string verdict = lastLine(formatVerdict(result, kernel));
  writeFileAtomically(request.page, checkPage(result, evidence, sources, verdict, replays));
  say(request.page + ": the findings, with sources and timelines");
}

void checkPageOptions(const CheckVerbRequest &request) {
  if (request.page.empty() && !request.sourceFolders.empty())
    throw inputError(fmt::format("`--source {}` is for the page of `--html`, and there is no `--html`",
                                 request.sourceFolders.front()),
                     {"add `--html FILE`, or leave `--source` out"});
  if (!request.page.empty() && request.list)
    throw inputError(fmt::format("`--list` runs nothing, and `--html {}` is of a run", request.page),
                     {"leave one of them out"});
  if (!request.page.empty())
    checkWritable(request.page);
}

int checkVerb(CheckVerbRequest &request) {
  checkPageOptions(request);
  if (request.list)
    return listChecks(request.json);
  std::string file = request.options.parse("check");
  CheckRequest &check = request.options.request;
  addProgress(check, "run");
  const KernelOptions &kernel = request.options.kernel;
  CheckResult result = namingOptions(simulatedArgumentOptions, [&] { return checkKernel(file, kernel.input, check); });
  if (request.json)
    printJson(verdictAsJson(result, kernel));
  else
    printData(formatVerdict(result, kernel));
  if (!request.page.empty())
    writePage(request, file, result);
  return result.isClean() ? 0 : int(ErrorClass::WrongResult);
}

} // namespace

void CheckOptions::add(CLI::App &verb) {
  kernel.add(verb);
  kernel.run.checks = "default";
  verb.add_option_function<std::string>("--schedules", [this](const std::string &text) {
    request.schedules = unsigned(parseIntegerOption("--schedules", text, 1, 100000));
  });
  verb.add_option("--checks", kernel.run.checks);
  verb.add_option("--allow-different", request.allowDifferent)->allow_extra_args(false);
  verb.add_option_function<std::string>("--time-limit", [this](const std::string &text) {
    request.timeLimitSeconds = parseSeconds("--time-limit", text);
  });
  verb.add_option_function<std::string>("--threads", [this](const std::string &text) {
    request.threads = unsigned(parseIntegerOption("--threads", text, 1, 1024));
  });
}

std::string CheckOptions::parse(const std::string &verb) {
  std::string file = kernel.parse(verb);
  request.run = kernel.run;
  return file;
}

std::function<void(size_t, size_t)> makeProgress(const std::string &what) {
  if (CapturedOutput *output = CapturedOutput::current()) {
    if (!output->progress)
      return {};
    return [output](size_t done, size_t all) {
      if (output->progress(done, all))
        output->isCancelled = true;
    };
  }
  if (!isatty(STDERR_FILENO))
    return {};
  return [what](size_t done, size_t all) {
    fmt::print(stderr, "\r{} {} of {}{}", what, done, all, done == all ? "\n" : "");
  };
}

void addProgress(CheckRequest &request, const std::string &what) {
  request.progress = makeProgress(what);
  if (CapturedOutput *output = CapturedOutput::current())
    request.isCancelled = [output] { return output->isCancelled.load(); };
}

std::string formatVerdict(const CheckResult &result, const KernelOptions &kernel) {
  std::string text;
  for (const CheckFinding &finding : result.findings)
    text += fmt::format("{}  runs   {} of {}\n  replay {}\n\n", finding.text, finding.runs, result.planned,
                        replayOf(finding, kernel));
  for (const std::string &note : result.notes)
    text += "note: " + note + "\n";
  text += fmt::format("{} on {}: {} of {} runs, {} instructions in {:.1f} s of processor time\n", result.kernel,
                      result.chip, result.ended, result.planned, result.instructions, result.seconds);
  std::string approximated =
      result.approximated.empty() ? "" : fmt::format("; approximated: {}", fmt::join(result.approximated, ", "));
  std::string leftOut = result.leftOut ? fmt::format("; {} of lower severity not shown", result.leftOut) : "";
  if (result.leftOutResults)
    leftOut += fmt::format(", {} of them a result that depends on policy or schedule", result.leftOutResults);
  if (result.isClean())
    return text + "clean" + leftOut + approximated + "\n";
  std::string found = result.findings.empty()
                          ? "no finding"
                          : fmt::format("{} finding{}", result.findings.size(), result.findings.size() == 1 ? "" : "s");
  if (!result.reasons.empty())
    found += fmt::format("; not clean because {}", fmt::join(result.reasons, ", and "));
  return text + found + leftOut + approximated + "\n";
}

static nlohmann::ordered_json orNull(const std::optional<uint64_t> &value) {
  return value ? nlohmann::ordered_json(*value) : nullptr;
}

nlohmann::ordered_json verdictAsJson(const CheckResult &result, const KernelOptions &kernel) {
  nlohmann::ordered_json json = {{"kernel", result.kernel},
                                 {"chip", result.chip},
                                 {"clean", result.isClean()},
                                 {"belowMinSeverity", result.leftOut},
                                 {"resultsBelowMinSeverity", result.leftOutResults},
                                 {"runs", result.planned},
                                 {"ended", result.ended},
                                 {"instructions", result.instructions},
                                 {"seconds", result.seconds},
                                 {"notes", result.notes},
                                 {"notCleanBecause", result.reasons},
                                 {"approximated", result.approximated}};
  json["findings"] = nlohmann::ordered_json::array();
  for (const CheckFinding &finding : result.findings)
    json["findings"].push_back({{"kind", finding.kind},
                                {"text", finding.text},
                                {"places", placesAsJson(finding.places)},
                                {"severity", simulator::nameOf(finding.severity)},
                                {"reason", finding.reason},
                                {"instructions", orNull(finding.instructions)},
                                {"cycles", orNull(finding.cycles)},
                                {"runs", finding.runs},
                                {"firstPc", finding.firstPc},
                                {"secondPc", finding.secondPc},
                                {"policy", finding.run.policy},
                                {"schedule", finding.run.schedule},
                                {"seed", finding.run.seed},
                                {"replay", replayOf(finding, kernel)}});
  return json;
}

void addCheck(CLI::App &program, VerbAction &action) {
  auto request = std::make_shared<CheckVerbRequest>();
  CLI::App *verb = program.add_subcommand("check");
  verb->footer(fmt::format(fmt::runtime(help), kernelOptionsHelp, checkOptionsHelp));
  verb->set_help_flag("-h,--help");
  request->options.add(*verb);
  verb->add_option_function<std::string>("--min-severity", [request](const std::string &text) {
    request->options.request.minSeverity = simulator::parseSeverity("--min-severity", text);
  });
  verb->add_option("--html", request->page);
  verb->add_option("--source", request->sourceFolders)->allow_extra_args(false);
  verb->add_flag("--list", request->list);
  verb->add_flag("--json", request->json);
  verb->callback([request, &action] { action = [request] { return checkVerb(*request); }; });
}

} // namespace heddle
