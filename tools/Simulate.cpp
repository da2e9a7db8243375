// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle simulate`
#include "api/Simulate.h"
#include "support/File.h"
#include "support/Npy.h"
#include "tools/ArgumentOptions.h"
#include "tools/Arrays.h"
#include "tools/KernelOptions.h"
#include "tools/Output.h"
#include "tools/Places.h"
#include "tools/Step.h"
#include "tools/Timing.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

constexpr const char *help =
    R"(heddle simulate OBJECT [options]: runs a kernel of an AMD code object on this processor

  heddle simulate add.hsaco --grid 4 --block 256 --arg x=@x.npy --arg y=rand:f32[1024]:7 --arg out=f32[1024] --out out=-
  heddle simulate lib.hsaco --kernel scan --grid 1 --block 64 --arg 0=@x.npy --arg 1=f32[64] --arg 2=64 --out 1=out.npy
  heddle simulate sum.hsaco --devices 4 --grid 1 --block 64 --arg x=rand:f32[64]:7 --arg peers=ptrs:x --arg rank=rank ...
{})"
    R"(  --out NAME=FILE      write a buffer after the run as .npy; - prints it. With several devices out.npy becomes out.0.npy,
                         out.1.npy, ...; NAME@DEVICE=FILE is of one device
  --policy NAME        when memory operations take effect and their results land in registers: earliest (at once, the
                         default), latest (when a wait demands it), reordered (flags early, data late), random
  --schedule NAME      in which order waves run: run-to-block (each until it waits, the default), round-robin, leap-frog
                         (one wave as far as it can, then the next), frozen (one device or workgroup runs only when
                         nothing else can), random
  --no-hint            no second run under round-robin. Without --policy, --schedule, --checks and the like a run of at
                       most 2^24 instructions is repeated under round-robin, and a note says when the results differ
  --seed N             of random policies and schedules, of the choice which wave runs first (leap-frog) or which device
                         or workgroup is frozen, and of the patterns in uninitialised registers, LDS and scratch
  --caches             simulates caches: loads may read stale data, as with every policy but earliest and every check
  --checks NAMES       none (unless given), default (`heddle check` says which), all, a,b, all,-c, or -c, which is
                         default,-c: `heddle check --list` shows them; findings end with 1
  --threads N          of this processor, for runs without --caches whose workgroups do not wait for each other; results
                       and findings are the same for every number. HEDDLE_HOST_THREADS unless given, else as many as there are
                       processors
  --transactions       counts memory transactions: lines of 128 bytes that the lanes of each instruction touch (of 64
                       bytes for scalar reads), and how many of them hit L2; implies --caches; not with --checks
  --time               estimates the time on the chip, and what bounds it: docs/timing.md. An estimate, not a measurement;
                       implies --caches; not with --checks, --transactions and --devices
  --time-groups N      workgroups of a compute unit that are timed; the others are extrapolated. Twice as many as it holds
                       at once, unless given
  --trace-events FILE  writes a timeline of one workgroup in the Chrome trace format, which https://ui.perfetto.dev opens;
                       implies --time
  --trace-groups N     a timeline of N workgroups of the compute unit
  --trace              each instruction to standard error
  --step               stops before each instruction, shows its registers, and reads commands: enter (one instruction),
                         n COUNT, c (to the end), v N and s N (a register), q
  --json               counts, results and findings as JSON
  --list-instructions CHIP   prints the instructions that the simulator executes, and nothing else
)";

struct SimulateVerbRequest {
  KernelOptions kernel;
  std::string listedChip;
  std::vector<std::string> outputs;
  bool trace = false, step = false, json = false, noHint = false;
  bool saysSchedule = false; ///< `--schedule` is given
  std::string traceEvents;   ///< file
};

std::string describeRun(const SimulateResult &result) {
  return fmt::format(
      "{} on {}: {} workgroups, {} waves, {} instructions in {:.3f} s of processor time ({:.1f} million a second)\n",
      result.kernel, result.chip, result.groups, result.waves, result.instructions, result.seconds,
      double(result.instructions) / std::max(result.seconds, 1e-9) * 1e-6);
}

std::string describeTransactions(const SimulatedTransactions &counts) {
  auto count = [](const char *name, const SimulatedTransactions::Count &each, const std::string &unit = "lines") {
    return fmt::format("  {:<14} {:>12} {} by {} instructions\n", name, each.lines, unit, each.instructions);
  };
  std::string scalarUnit = fmt::format("lines of {} bytes", counts.scalarLineBytes);
  return fmt::format("transactions, in lines of {} bytes:\n", counts.lineBytes) + count("reads", counts.reads) +
         count("writes", counts.writes) + count("atomics", counts.atomics) +
         count("scalar reads", counts.scalarReads, scalarUnit) +
         fmt::format("  {:<14} {:>12} hits, {} misses, {} writes\n  {:<14} {:>12} instructions; scratch {}\n", "L2",
                     counts.l2Hits, counts.l2Misses, counts.l2Writes, "LDS", counts.ldsInstructions,
                     counts.scratchInstructions);
}

nlohmann::ordered_json describeAsJson(const SimulatedTransactions &counts) {
  auto count = [](const SimulatedTransactions::Count &each) {
    return nlohmann::ordered_json{{"instructions", each.instructions}, {"lines", each.lines}};
  };
  return {{"lineBytes", counts.lineBytes},
          {"scalarLineBytes", counts.scalarLineBytes},
          {"reads", count(counts.reads)},
          {"writes", count(counts.writes)},
          {"atomics", count(counts.atomics)},
          {"scalarReads", count(counts.scalarReads)},
          {"l2", {{"hits", counts.l2Hits}, {"misses", counts.l2Misses}, {"writes", counts.l2Writes}}},
          {"ldsInstructions", counts.ldsInstructions},
          {"scratchInstructions", counts.scratchInstructions}};
}

nlohmann::ordered_json describeAsJson(const ScheduleHint &hint) {
  using enum ScheduleHint::Result;
  const char *result = hint.result == Same ? "same" : hint.result == Different ? "different" : "not compared";
  return {{"result", result}, {"reasons", hint.reasons}};
}

void sayHint(const ScheduleHint &hint) {
  if (hint.result != ScheduleHint::Result::Different)
    return;
  say("heddle: note: the result depends on the schedule: `--schedule round-robin` gives another one");
  for (const std::string &reason : hint.reasons)
    say("  note: " + reason);
  say("  note: `heddle check` with the same options says why");
}

nlohmann::ordered_json describeAsJson(const SimulateResult &result) {
  nlohmann::ordered_json json = {{"kernel", result.kernel},
                                 {"chip", result.chip},
                                 {"workgroups", result.groups},
                                 {"waves", result.waves},
                                 {"instructions", result.instructions},
                                 {"seconds", result.seconds},
                                 {"elapsed_seconds", result.elapsedSeconds}};
  if (result.transactions)
    json["transactions"] = describeAsJson(*result.transactions);
  if (result.timing)
    json["time"] = timingAsJson(*result.timing);
  json["findings"] = nlohmann::ordered_json::array();
  for (const SimulatedFinding &finding : result.findings)
    json["findings"].push_back({{"check", finding.check},
                                {"firstPc", finding.firstPc},
                                {"secondPc", finding.secondPc},
                                {"count", finding.count},
                                {"text", finding.text},
                                {"places", placesAsJson(finding.places)}});
  json["notes"] = result.notes;
  if (result.schedules)
    json["roundRobin"] = describeAsJson(*result.schedules);
  if (result.error)
    json["error"] = {{"message", result.error->what()},
                     {"notes", result.error->notes},
                     {"places", placesAsJson(result.errorPlaces)}};
  return json;
}

void printResult(const SimulateResult &result, const std::vector<NamedValue> &files, bool asJson) {
  nlohmann::ordered_json json = describeAsJson(result);
  std::string text;
  for (const SimulatedOutput &output : result.outputs) {
    const Array &array = output.array;
    const NamedValue &file = files[output.requested];
    bool isOneOfSeveral = output.device >= 0 && file.name.find('@') == std::string::npos;
    std::string path = file.value != "-" && isOneOfSeveral ? fileOfRank(file.value, size_t(output.device)) : file.value;
    if (path != "-")
      writeNpy(path, {array.dtype, array.shape, array.bytes});
    else
      text += formatArray(array);
    json["outputs"].push_back(arrayAsJson(array, path));
  }
  if (asJson)
    return printJson(json);
  for (const SimulatedFinding &finding : result.findings)
    say(finding.text);
  for (const std::string &note : result.notes)
    say("heddle: note: " + note);
  if (result.schedules)
    sayHint(*result.schedules);
  if (!result.error) {
    text += describeRun(result);
    if (result.transactions)
      text += describeTransactions(*result.transactions);
    if (result.timing)
      text += describeTiming(*result.timing);
  }
  printData(text);
}

int listInstructions(const std::string &chip, bool asJson) {
  std::vector<std::string> names = simulatedInstructions(chip);
  if (asJson)
    printJson(names);
  else
    printData(fmt::format("{}\n", fmt::join(names, "\n")));
  return 0;
}

/// What the options of `--time` imply.
void prepareTiming(SimulateVerbRequest &request) {
  SimulateRequest &run = request.kernel.run;
  if (!request.traceEvents.empty()) {
    checkWritable(request.traceEvents);
    run.time = true;
    run.traceGroups = std::max(run.traceGroups, 1u);
  } else if (run.traceGroups)
    throw inputError("`--trace-groups` says how much of a timeline is written, and there is none",
                     {"give `--trace-events FILE`"});
  if (run.timeGroups && !run.time)
    throw inputError("`--time-groups` says how much is timed, and nothing is", {"give `--time`"});
}

void writeTraceEvents(const SimulatedTiming &timing, const std::string &path) {
  writeFileAtomically(path, timing.traceEvents);
  if (timing.droppedEvents)
    say(fmt::format(
        "heddle: note: `{}` has no room for {} of the events; give a smaller problem or fewer `--trace-groups`", path,
        timing.droppedEvents));
}

int simulateVerb(SimulateVerbRequest &request) {
  if (!request.listedChip.empty())
    return listInstructions(request.listedChip, request.json);
  SimulateRequest &run = request.kernel.run;
  std::string file = request.kernel.parse("simulate");
  std::vector<NamedValue> files;
  for (const std::string &text : request.outputs) {
    files.push_back(parseNamedValue(text, "--out"));
    run.outputs.push_back(files.back().name);
    if (files.back().value != "-")
      checkWritable(files.back().value);
  }
  if (request.trace)
    run.trace = [](const std::string &line) { say(line); };
  prepareTiming(request);
  bool isPlain = run.policy == SimulateRequest().policy && !request.saysSchedule && run.checks == "none" && !run.caches;
  run.comparesSchedules =
      isPlain && !request.noHint && !request.trace && !request.step && !run.transactions && !run.time;
  StepConsole console;
  if (request.step)
    run.step = [&console](const SimulatedStop &stop) { console.stop(stop); };
  SimulateResult result;
  try {
    result = namingOptions(simulatedArgumentOptions, [&] { return simulateKernel(file, request.kernel.input, run); });
  } catch (const StepQuit &) {
    return 0;
  }
  printResult(result, files, request.json);
  if (result.timing && !request.traceEvents.empty())
    writeTraceEvents(*result.timing, request.traceEvents);
  if (result.error)
    throw *result.error;
  return result.findings.empty() ? 0 : int(ErrorClass::WrongResult);
}

} // namespace

void addSimulate(CLI::App &program, VerbAction &action) {
  auto request = std::make_shared<SimulateVerbRequest>();
  CLI::App *verb = program.add_subcommand("simulate");
  verb->footer(fmt::format(fmt::runtime(help), kernelOptionsHelp));
  verb->set_help_flag("-h,--help");
  request->kernel.add(*verb);
  SimulateRequest &run = request->kernel.run;
  run.threads = 0;
  verb->add_option("--out", request->outputs)->allow_extra_args(false);
  verb->add_option("--policy", run.policy);
  verb->add_option_function<std::string>("--schedule", [request = request.get()](const std::string &text) {
    request->kernel.run.schedule = text;
    request->saysSchedule = true;
  });
  verb->add_flag("--no-hint", request->noHint);
  verb->add_option("--checks", run.checks);
  verb->add_flag("--caches", run.caches);
  verb->add_option_function<std::string>(
      "--seed", [&run](const std::string &text) { run.seed = parseUnsignedOption("--seed", text); });
  verb->add_option_function<std::string>("--threads", [&run](const std::string &text) {
    run.threads = unsigned(parseIntegerOption("--threads", text, 1, 1024));
  });
  verb->add_flag("--transactions", run.transactions);
  verb->add_flag("--time", run.time);
  auto addCount = [verb](const char *name, unsigned &count) {
    verb->add_option_function<std::string>(name, [name, &count](const std::string &text) {
      count = unsigned(parseIntegerOption(name, text, 1, 1'000'000));
    });
  };
  addCount("--time-groups", run.timeGroups);
  addCount("--trace-groups", run.traceGroups);
  verb->add_option("--trace-events", request->traceEvents);
  verb->add_flag("--trace", request->trace);
  verb->add_flag("--step", request->step);
  verb->add_option("--list-instructions", request->listedChip);
  verb->add_flag("--json", request->json);
  verb->callback([request, &action] { action = [request] { return simulateVerb(*request); }; });
}

} // namespace heddle
