// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle mutate`
#include "api/Mutate.h"
#include "support/File.h"
#include "tools/ArgumentOptions.h"
#include "tools/Check.h"
#include "tools/Output.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

namespace heddle {
namespace {

constexpr const char *help =
    R"(heddle mutate OBJECT [options]: whether `heddle check` finds faults that are put into a kernel's machine code

  heddle mutate add.hsaco --grid 4 --block 256 --arg x=rand:f32[1024]:1 --arg y=rand:f32[1024]:7 --arg out=f32[1024]

  First the kernel itself must be without findings, and all its runs must end. Then each instruction that ran is changed
  in every way that its kind allows, one at a time. A finding, another result, a fault or a run that does not end catches
  such a mutant. The kinds of changes:
{}
  Score: the mutants caught, divided by those that are not equivalent to the good kernel. A mutant is equivalent where
  --equivalent says so, or where the machine code or the runs of the good kernel show it:
{}
  A run of a mutant may take 16 times the instructions of the same run of the kernel itself, and 100000 more.
{}{})"
    R"(  --equivalent FILE    why surviving mutants are no fault: lines `[KIND] LOCATION: REASON`; LOCATION is an address,
                       FILE:LINE of the source, or the instruction
  --min-score PERCENT  below it the exit code is 1; default 100
  --cross-check        ask also of caught mutants whether they are equivalent; one that is proves a fault of this tool
  --json               everything as JSON, mutant by mutant
  --list               the kinds of changes and of equivalences, and nothing else

Exit codes: 0 good enough, 1 below --min-score, or the kernel itself has findings, or not all mutants ran; 2 bad input
)";

struct MutateVerbRequest {
  CheckOptions options;
  std::string equivalents;
  double minimumPercent = 100;
  bool crossCheck = false, list = false, json = false;
};

using Fate = Mutant::Fate;

const char *nameOf(Fate fate) {
  switch (fate) {
  case Fate::Finding:
    return "finding";
  case Fate::WrongResult:
    return "result";
  case Fate::Fault:
    return "fault";
  case Fate::NoEnd:
    return "no-end";
  case Fate::Survived:
    return "survived";
  case Fate::NotRun:
    return "not-run";
  }
  return "";
}

std::string formatKinds() {
  std::string text;
  for (const MutationKindText &kind : mutationKinds())
    text += fmt::format("    {:<19}{}\n", kind.name, kind.what);
  return text;
}

std::string formatEquivalences() {
  std::string text;
  for (const EquivalenceText &each : equivalences())
    text += fmt::format("    {:<19}{}{}\n", each.name, each.always ? "" : "for this launch: ", each.what);
  return text;
}

using Equivalence = Mutant::Equivalence;

const char *headOf(const Mutant &survivor) {
  switch (survivor.equivalence) {
  case Equivalence::Unknown:
    return "survived";
  case Equivalence::Stated:
    return "explained";
  case Equivalence::Always:
  case Equivalence::Launch:
    return "equivalent";
  }
  return "";
}

std::string reasonOf(const Mutant &survivor) {
  switch (survivor.equivalence) {
  case Equivalence::Unknown:
    return "";
  case Equivalence::Stated:
    return ": " + survivor.equivalent;
  case Equivalence::Always:
    return fmt::format(": {} ({})", survivor.equivalent, survivor.proof);
  case Equivalence::Launch:
    return fmt::format(": for this launch: {} ({})", survivor.equivalent, survivor.proof);
  }
  return "";
}

const char *nameOf(Equivalence equivalence) {
  switch (equivalence) {
  case Equivalence::Unknown:
    return "";
  case Equivalence::Stated:
    return "stated";
  case Equivalence::Always:
    return "always";
  case Equivalence::Launch:
    return "launch";
  }
  return "";
}

std::string formatMutants(const MutateResult &result) {
  constexpr Fate fates[] = {Fate::Finding, Fate::WrongResult, Fate::Fault, Fate::NoEnd, Fate::Survived};
  std::vector<std::vector<std::string>> rows = {{"kind", "applied", "caught", "by finding", "by result", "by fault",
                                                 "by no end", "survived", "of them equivalent"}};
  auto addRow = [&](const std::string &name, auto belongs) {
    size_t applied = 0, equivalent = 0, count[std::size(fates)] = {};
    for (const Mutant &mutant : result.mutants) {
      if (!belongs(mutant) || mutant.fate == Fate::NotRun)
        continue;
      ++applied;
      equivalent += mutant.equivalence != Mutant::Equivalence::Unknown;
      for (size_t i = 0; i < std::size(fates); ++i)
        count[i] += mutant.fate == fates[i];
    }
    if (applied == 0)
      return;
    std::vector<std::string> row = {name, std::to_string(applied), std::to_string(applied - count[4])};
    for (size_t each : count)
      row.push_back(std::to_string(each));
    row.push_back(std::to_string(equivalent));
    rows.push_back(row);
  };
  for (const MutationKindText &kind : mutationKinds())
    addRow(kind.name, [&](const Mutant &mutant) { return mutant.kind == kind.name; });
  addRow("all", [](const Mutant &) { return true; });
  std::string text = formatTable(rows);
  for (const Mutant &mutant : result.mutants)
    if (mutant.fate == Fate::Survived)
      text += fmt::format("{:<10} {}{}  {}  `{}` -> `{}`{}\n", headOf(mutant),
                          mutant.pc ? fmt::format("0x{:x}", mutant.pc) : "launch",
                          mutant.source.empty() ? "" : " (" + mutant.source + ")", mutant.kind, mutant.before,
                          mutant.after, reasonOf(mutant));
  return text;
}

std::string formatScore(const MutateResult &result) {
  size_t notRun = result.count(Fate::NotRun), counted = result.mutants.size() - result.equivalent() - notRun;
  std::string text = formatMutants(result);
  text += fmt::format("{} instructions ran; {} between them did not, and were not changed\n", result.executed,
                      result.notReached);
  if (notRun)
    text += fmt::format("{} of {} mutants did not run within the time limit\n", notRun, result.mutants.size());
  for (const std::string &note : result.notes)
    text += note + "\n";
  if (size_t ofLaunch = result.count(Equivalence::Launch))
    text +=
        fmt::format("{} of {} equivalent mutants are equivalent for this launch only: other arguments may catch them; "
                    "if they counted, the score would be {:.1f} %\n",
                    ofLaunch, result.equivalent(), 100 * double(result.caught()) / double(counted + ofLaunch));
  return text + fmt::format("score {:.1f} % ({} of {})\n", 100 * result.score(), result.caught(), counted);
}

/// Why no mutants were made, or nothing.
const char *noMutantsBecause(const MutateResult &result) {
  if (!result.good.findings.empty())
    return "the kernel itself must be without findings first";
  return result.good.ended == result.good.planned ? nullptr : "all runs of the kernel itself must end first";
}

nlohmann::ordered_json asJson(const MutateResult &result, const KernelOptions &kernel) {
  const char *reason = noMutantsBecause(result);
  nlohmann::ordered_json json = {{"good", verdictAsJson(result.good, kernel)},
                                 {"executed", result.executed},
                                 {"notReached", result.notReached},
                                 {"caught", result.caught()},
                                 {"equivalent", result.equivalent()},
                                 {"score", reason ? nullptr : nlohmann::ordered_json(result.score())},
                                 {"noMutantsBecause", reason ? nlohmann::ordered_json(reason) : nullptr},
                                 {"notes", result.notes}};
  json["mutants"] = nlohmann::ordered_json::array();
  for (const Mutant &mutant : result.mutants)
    json["mutants"].push_back({{"kind", mutant.kind},
                               {"pc", mutant.pc},
                               {"before", mutant.before},
                               {"after", mutant.after},
                               {"source", mutant.source},
                               {"fate", nameOf(mutant.fate)},
                               {"detail", mutant.detail},
                               {"equivalence", nameOf(mutant.equivalence)},
                               {"proof", mutant.proof},
                               {"equivalent", mutant.equivalent}});
  return json;
}

double parsePercent(const std::string &option, const std::string &text) {
  std::optional<double> percent = parseNumber(text);
  if (!percent || !(*percent >= 0 && *percent <= 100))
    throw inputError(fmt::format("`{} {}` is not a number from 0 to 100", option, text));
  return *percent;
}

int listKinds(bool asJson) {
  nlohmann::ordered_json json;
  for (const MutationKindText &kind : mutationKinds())
    json["changes"].push_back({{"name", kind.name}, {"what", kind.what}});
  for (const EquivalenceText &each : equivalences())
    json["equivalences"].push_back(
        {{"name", each.name}, {"for", each.always ? "every launch" : "this launch"}, {"what", each.what}});
  asJson ? printJson(json) : printData("changes\n" + formatKinds() + "equivalences\n" + formatEquivalences());
  return 0;
}

int mutateVerb(MutateVerbRequest &request) {
  if (request.list)
    return listKinds(request.json);
  std::string file = request.options.parse("mutate");
  MutateRequest mutate;
  if (!request.equivalents.empty())
    mutate.equivalents = parseEquivalents(readFile(request.equivalents), request.equivalents);
  mutate.check = request.options.request;
  mutate.crossCheck = request.crossCheck;
  addProgress(mutate.check, "step");
  const KernelOptions &kernel = request.options.kernel;
  MutateResult result =
      namingOptions(simulatedArgumentOptions, [&] { return mutateKernel(file, kernel.input, mutate); });
  const char *reason = noMutantsBecause(result);
  if (request.json)
    printJson(asJson(result, kernel));
  else
    printData(formatVerdict(result.good, kernel) +
              (reason ? fmt::format("no mutants: {}\n", reason) : "\n" + formatScore(result)));
  bool isEnough = !reason && 100 * result.score() >= request.minimumPercent && result.count(Fate::NotRun) == 0;
  return isEnough ? 0 : int(ErrorClass::WrongResult);
}

} // namespace

void addMutate(CLI::App &program, VerbAction &action) {
  auto request = std::make_shared<MutateVerbRequest>();
  CLI::App *verb = program.add_subcommand("mutate");
  verb->footer(
      fmt::format(fmt::runtime(help), formatKinds(), formatEquivalences(), kernelOptionsHelp, checkOptionsHelp));
  verb->set_help_flag("-h,--help");
  request->options.add(*verb);
  verb->add_option("--equivalent", request->equivalents);
  verb->add_option_function<std::string>("--min-score", [request](const std::string &text) {
    request->minimumPercent = parsePercent("--min-score", text);
  });
  verb->add_flag("--cross-check", request->crossCheck);
  verb->add_flag("--list", request->list);
  verb->add_flag("--json", request->json);
  verb->callback([request, &action] { action = [request] { return mutateVerb(*request); }; });
}

} // namespace heddle
