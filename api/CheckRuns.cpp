// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans the runs of a check, makes them on all cores, compares their buffers, and makes one list of findings of all.
#include "api/CheckRuns.h"
#include "api/Values.h"
#include <algorithm>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <mutex>
#include <thread>

namespace heddle {

using namespace simulator;

void runInParallel(size_t count, unsigned threads, const std::function<void(size_t)> &work) {
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<size_t> next = 0;
  std::vector<std::exception_ptr> failures(count);
  auto loop = [&] {
    for (size_t i; (i = next++) < count;)
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min<size_t>(threads, count); ++i)
    others.emplace_back(loop);
  loop();
  for (std::thread &thread : others)
    thread.join();
  for (const std::exception_ptr &failure : failures)
    if (failure)
      std::rethrow_exception(failure);
}

std::vector<RunChoice> planRuns(const SimulatedKernel &kernel, unsigned schedules) {
  uint64_t groups = kernel.geometry.groupCount(), waves = (kernel.geometry.itemsPerGroup() + 63) / 64;
  uint64_t freezable = kernel.request.devices > 1 ? kernel.request.devices : groups;
  uint64_t ahead = std::max({waves, groups, uint64_t(kernel.request.devices)});
  std::vector<RunChoice> plan;
  for (const char *policy : {"earliest", "latest", "reordered"}) {
    plan.push_back({policy, "run-to-block", 0});
    plan.push_back({policy, "round-robin", 0});
    for (uint64_t seed = 0; seed < std::min<uint64_t>(schedules, ahead); ++seed)
      plan.push_back({policy, "leap-frog", seed});
    for (uint64_t seed = 0; freezable > 1 && seed < std::min<uint64_t>(schedules, freezable); ++seed)
      plan.push_back({policy, "frozen", seed});
  }
  for (uint64_t seed = 0; seed < schedules; ++seed)
    plan.push_back({"random", "random", seed});
  return plan;
}

SimulationOptions optionsOf(const SimulatedKernel &kernel, const RunChoice &choice) {
  SimulationOptions options = kernel.options();
  options.policy = parsePolicy(choice.policy);
  options.schedule = parseSchedule(choice.schedule);
  options.seed = choice.seed;
  if (choice.instructionLimit)
    options.instructionLimit = choice.instructionLimit;
  options.caches = true;
  return options;
}

// ---- Comparing ----

static bool holdsUnwritten(const UnwrittenStores &stores, size_t at, size_t size) {
  return !stores.bytes.empty() &&
         std::find(stores.bytes.begin() + ptrdiff_t(at), stores.bytes.begin() + ptrdiff_t(at + size), true) !=
             stores.bytes.begin() + ptrdiff_t(at + size);
}

std::vector<bool> ignoredBuffers(const SimulatedKernel &kernel, const std::vector<std::string> &names) {
  std::vector<bool> ignored(kernel.buffers.size());
  for (const std::string &name : names)
    for (size_t index : kernel.buffersNamed(name, NameUse::Ignored))
      ignored[index] = true;
  return ignored;
}

std::vector<Difference> compareOutcomes(const SimulatedKernel &kernel, const KernelOutcome &hereOutcome,
                                        const KernelOutcome &thereOutcome, const std::vector<bool> &ignored) {
  const std::vector<std::string> &here = hereOutcome.contents, &there = thereOutcome.contents;
  std::vector<Difference> found;
  for (size_t i = 0; i < here.size(); ++i) {
    if (ignored[i] || here[i] == there[i])
      continue;
    const Array &array = kernel.buffers[i].array;
    size_t size = size_t(elementSizeBytes(array.type));
    Difference difference{i, -1, 0, "", "", {}};
    for (size_t at = 0; at + size <= here[i].size(); at += size) {
      const char *mine = here[i].data() + at, *other = there[i].data() + at;
      if (std::memcmp(mine, other, size) == 0)
        continue;
      if (difference.elements++ > 0)
        continue;
      difference.element = int64_t(at / size);
      difference.here = formatElement(array.type, mine);
      difference.there = formatElement(array.type, other);
      for (const KernelOutcome *outcome : {&hereOutcome, &thereOutcome})
        if (const UnwrittenStores &stores = outcome->unwritten[i]; holdsUnwritten(stores, at, size))
          difference.unwritten = stores.first;
    }
    found.push_back(std::move(difference));
  }
  return found;
}

// ---- Running ----

namespace {

class Running {
public:
  Running(const SimulatedKernel &kernel, const CheckRequest &request)
      : kernel(kernel), request(request), deadline(request), ignored(ignoredBuffers(kernel, request.allowDifferent)) {}

  CheckedRuns makeAll();

private:
  void make(size_t index);
  void makeReference();

  const SimulatedKernel &kernel;
  const CheckRequest &request;
  Deadline deadline;
  std::vector<bool> ignored;
  CheckedRuns runs;
  std::mutex progress;
  size_t done = 0;
  uint64_t limit = 0; ///< of instructions, where the request has none
};

/// Without a limit of its own, a run may take so many times the instructions of the first, and so many more.
constexpr uint64_t mostSlowdown = 64, leastLimit = 1 << 24;

void Running::make(size_t index) {
  if (deadline.isOver())
    return;
  if (kernel.request.instructionLimit == 0)
    runs.plan[index].instructionLimit = limit;
  SimulationOptions options = optionsOf(kernel, runs.plan[index]);
  bool wasStopped = false;
  options.isCancelled = [&] { return wasStopped |= deadline.isOver(); };
  KernelOutcome outcome = kernel.run(kernel.object, options);
  if (!wasStopped) // what was stopped says nothing
    runs.outcomes[index] = std::move(outcome);
  std::lock_guard lock(progress);
  ++done;
  if (request.progress)
    request.progress(done, runs.plan.size());
}

/// The first run that gets through.
void Running::makeReference() {
  for (size_t i = 0; i < runs.plan.size() && !deadline.isOver(); ++i) {
    make(i);
    if (!runs.outcomes[i])
      continue;
    const SimulationReport &report = runs.outcomes[i]->report;
    runs.gaveUp = report.isEndless; // others would take as long, and say no more
    if (report.error && !runs.gaveUp)
      continue;
    runs.reference = i;
    limit = mostSlowdown * report.statistics.instructions + leastLimit;
    return;
  }
}

CheckedRuns Running::makeAll() {
  runs.plan = planRuns(kernel, request.schedules);
  size_t count = runs.plan.size();
  runs.outcomes.resize(count);
  runs.differences.resize(count);
  makeReference();
  if (runs.gaveUp)
    return std::move(runs);
  size_t first = done;
  runInParallel(count - first, request.threads, [&](size_t i) {
    size_t index = first + i;
    make(index);
    std::optional<KernelOutcome> &outcome = runs.outcomes[index];
    if (!outcome || outcome->report.error)
      return;
    runs.differences[index] = compareOutcomes(kernel, *outcome, *runs.outcomes[runs.reference], ignored);
    outcome->contents.clear();
    outcome->unwritten.clear();
  });
  return std::move(runs);
}

} // namespace

CheckedRuns makeRuns(const SimulatedKernel &kernel, const CheckRequest &request) {
  return Running(kernel, request).makeAll();
}

// ---- The verdict ----

namespace {

class Summary {
public:
  Summary(const SimulatedKernel &kernel, const CheckedRuns &runs) : kernel(kernel), runs(runs) {}

  CheckResult make(const CheckRequest &request);

private:
  void addRun(size_t index);
  void addFinding(size_t index, CheckFinding finding, const std::string &key);
  void addDifference(size_t index, const Difference &difference);
  void addReasons(const CheckRequest &request);
  void rateResults();

  const SimulatedKernel &kernel;
  const CheckedRuns &runs;
  CheckResult result;
  std::map<std::string, size_t> known; ///< findings by what makes them the same
  std::map<std::string, std::string> unknown;
};

void Summary::addFinding(size_t index, CheckFinding finding, const std::string &key) {
  auto [place, isNew] = known.try_emplace(key, result.findings.size());
  if (!isNew) { // of the run that shows it most
    CheckFinding &first = result.findings[place->second];
    finding.runs = ++first.runs;
    if (finding.severity <= first.severity)
      return;
    finding.run = runs.plan[index];
    first = std::move(finding);
    return;
  }
  finding.run = runs.plan[index];
  result.findings.push_back(std::move(finding));
}

void Summary::addDifference(size_t index, const Difference &difference) {
  const Array &array = kernel.buffers[difference.buffer].array;
  std::string place = array.name + formatIndex(difference.element, array.shape);
  size_t width = std::max(difference.there.size(), difference.here.size());
  std::string text = fmt::format("error: the result depends on policy or schedule (result)\n"
                                 "  {0} = {1:<{7}}   {2}\n"
                                 "  {0} = {3:<{7}}   {4}\n"
                                 "  {5} of {6} elements differ\n",
                                 place, difference.there, runs.plan[runs.reference].text(), difference.here,
                                 runs.plan[index].text(), difference.elements, countElements(array.shape), width);
  std::vector<InstructionPlace> places;
  if (difference.unwritten) {
    places = kernel.placesOf({*difference.unwritten});
    text += difference.unwritten->text(kernel.sources()) +
            "\n  note   such a store wrote uninitialised data of registers, LDS or memory there\n";
  } else if (isFloat(array.type))
    text +=
        fmt::format("  note   where bits may differ, as of sums by float atomics, `--allow-different {}` leaves the "
                    "buffer out\n",
                    array.name);
  addFinding(index, {.kind = "result", .text = text, .places = std::move(places), .run = {}}, "result " + array.name);
}

void Summary::addRun(size_t index) {
  const KernelOutcome &outcome = *runs.outcomes[index];
  ++result.ended;
  result.instructions += outcome.report.statistics.instructions;
  result.seconds += outcome.seconds;
  for (const Finding &finding : outcome.report.findings) {
    std::string name = infoOf(finding.check).name;
    auto measured = [&](uint64_t value) { return finding.likelihood.isMeasured ? std::optional(value) : std::nullopt; };
    addFinding(index,
               {.kind = name,
                .text = finding.text(kernel.sources()),
                .places = kernel.placesOf(finding.allLines()),
                .run = {},
                .firstPc = finding.firstPc,
                .secondPc = finding.secondPc,
                .severity = finding.likelihood.severity,
                .reason = finding.likelihood.reason(),
                .instructions = measured(finding.likelihood.instructions),
                .cycles = measured(finding.likelihood.cycles)},
               fmt::format("{} {} {} {}", name, finding.firstPc, finding.secondPc, finding.title));
  }
  if (const std::optional<KernelError> &error = outcome.report.error) {
    std::string kind = outcome.report.isEndless ? "no-end" : "fault",
                text = fmt::format("error: {} ({})\n", error->what(), kind);
    for (const ReportLine &note : error->lines)
      text += "  " + note.text(kernel.sources()) + "\n";
    std::string place;
    if (!error->lines.empty())
      place = error->lines[0].pc() ? fmt::format("{}", *error->lines[0].pc()) : error->lines[0].text();
    std::string reason = outcome.report.isEndless ? "what it waits for never comes" : "it does not depend on time";
    text += fmt::format("  severity high: {}\n", reason);
    addFinding(index,
               {.kind = kind, .text = text, .places = kernel.placesOf(error->lines), .run = {}, .reason = reason},
               outcome.report.isEndless ? kind : kind + " " + place);
  }
  for (const Difference &difference : runs.differences[index])
    addDifference(index, difference);
  for (const ReachedInstruction &instruction : outcome.reached) {
    if (instruction.approximates && std::find(result.approximated.begin(), result.approximated.end(),
                                              instruction.mnemonic) == result.approximated.end())
      result.approximated.push_back(instruction.mnemonic);
    if (!instruction.isKnown)
      unknown[instruction.text] = fmt::format("0x{:x}", instruction.pc);
  }
}

void Summary::addReasons(const CheckRequest &request) {
  for (const auto &[text, pc] : unknown)
    result.reasons.push_back(fmt::format("`{}` at {} ran, which the simulator does not know", text, pc));
  if (runs.gaveUp)
    result.reasons.push_back(fmt::format("{} of {} runs were not made, since an earlier one did not end",
                                         result.planned - result.ended, result.planned));
  else if (result.ended < result.planned)
    result.reasons.push_back(fmt::format("{} of {} runs did not end {}", result.planned - result.ended, result.planned,
                                         request.timeLimitSeconds > 0
                                             ? fmt::format("within `--time-limit {}`", request.timeLimitSeconds)
                                             : "before they were cancelled"));
  CheckSet checks = parseChecks(request.run.checks);
  std::vector<std::string> off;
  for (const CheckInfo &info : allChecks())
    if (CheckSet::usual().has(info.check) && !checks.has(info.check))
      off.push_back(info.name);
  if (!off.empty())
    result.reasons.push_back(fmt::format("checks were off: {}", fmt::join(off, ", ")));
}

/// Accesses that bring the same bits in any order, or are only slow, change no result.
bool mayChangeResults(const CheckFinding &finding) {
  return finding.secondPc && finding.kind != "lds-same-value" && finding.kind != "global-same-value" &&
         finding.kind != "misaligned-slow";
}

/// A result differs for the reason of another finding, the most severe of those that tell of an order. Which one is not
/// known, and other bits have been seen, so that a low one does not make the result low.
void Summary::rateResults() {
  const CheckFinding *cause = nullptr;
  for (const CheckFinding &finding : result.findings)
    if (mayChangeResults(finding) && (!cause || finding.severity > cause->severity))
      cause = &finding;
  for (CheckFinding &finding : result.findings) {
    if (finding.kind != "result")
      continue;
    if (!cause) {
      finding.severity = Severity::High;
      finding.reason = "no other finding explains it";
    } else if (cause->severity < Severity::Medium) {
      finding.severity = Severity::Medium;
      finding.reason = fmt::format("other bits were seen, and what may be their cause is low ({})", cause->kind);
    } else {
      finding.severity = cause->severity;
      finding.reason = fmt::format("as of the most severe finding that may be its cause ({})", cause->kind);
    }
    finding.text += fmt::format("  severity {}: {}\n", nameOf(finding.severity), finding.reason);
  }
}

CheckResult Summary::make(const CheckRequest &request) {
  result.kernel = kernel.kernel.name;
  result.chip = kernel.object.chip;
  result.planned = runs.plan.size();
  if (runs.outcomes[runs.reference])
    result.notes = textsOf(runs.outcomes[runs.reference]->report.notes, kernel.sources());
  for (size_t i = 0; i < runs.plan.size(); ++i)
    if (runs.outcomes[i])
      addRun(i);
  std::sort(result.approximated.begin(), result.approximated.end());
  addReasons(request);
  rateResults();
  auto isBelow = [&](const CheckFinding &finding) { return finding.severity < request.minSeverity; };
  result.leftOutResults = size_t(std::ranges::count_if(
      result.findings, [&](const CheckFinding &finding) { return finding.kind == "result" && isBelow(finding); }));
  result.leftOut = std::erase_if(result.findings, isBelow);
  return std::move(result);
}

} // namespace

CheckResult summarise(const SimulatedKernel &kernel, const CheckRequest &request, const CheckedRuns &runs) {
  return Summary(kernel, runs).make(request);
}

} // namespace heddle
