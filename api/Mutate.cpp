// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the places where a fault fits, makes each mutant, and checks it against the runs of the good kernel.
#include "api/Mutate.h"
#include "api/CheckRuns.h"
#include "api/Equivalence.h"
#include "api/Values.h"
#include "simulator/mutations/Mutations.h"
#include "support/Suggest.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <mutex>
#include <set>
#include <sstream>

namespace heddle {
namespace {

using namespace simulator;

/// Where the instructions that ran may jump to.
std::set<uint64_t> jumpTargets(const std::string &chip, std::span<const uint8_t> code, uint64_t address,
                               const std::map<uint64_t, uint32_t> &reached) {
  std::set<uint64_t> targets;
  Decoder decoder(chip);
  for (auto [pc, size] : reached) {
    Instruction instruction = decoder.decode(code.subspan(pc - address), pc);
    const std::string &name = instruction.mnemonic;
    if (name.starts_with("s_cbranch_") || name == "s_branch")
      targets.insert(pc + size + uint64_t(int64_t(int16_t(instruction.immediate)) * 4));
    if (name.starts_with("s_setpc") || name.starts_with("s_swappc") || name.starts_with("s_call")) // anywhere
      for (auto [other, unused] : reached)
        targets.insert(other);
  }
  return targets;
}

/// The order checks of a mutant report the same value too: a kernel whose waves never store the same in no order must
/// not begin to.
SimulateRequest withSameValues(SimulateRequest run) {
  CheckSet checks = parseChecks(run.checks);
  if (checks.has(Check::LdsRace))
    run.checks += ",+lds-same-value";
  if (checks.has(Check::GlobalRace))
    run.checks += ",+global-same-value";
  return run;
}

class Mutating {
public:
  Mutating(const std::string &file, const std::string &name, const MutateRequest &request)
      : file(file), name(name), run(withSameValues(request.check.run)), kernel(file, name, run), request(request),
        deadline(request.check) {}

  MutateResult execute();

private:
  void findSites();
  void findPages();
  void checkExplanations() const;
  void orderRuns();
  void leaveOutSameValues();
  void runMutant(size_t index);
  bool judge(Mutant &mutant, size_t choice, const KernelOutcome &outcome) const;
  void explain();

  const std::string &file, &name;
  const SimulateRequest run;
  const SimulatedKernel kernel;
  const MutateRequest &request;
  Deadline deadline;
  MutateResult result;
  CheckedRuns runs;
  std::vector<MutantSite> sites;
  std::vector<size_t> order; ///< of the plan's runs: what catches most comes first
  std::vector<bool> ignored;
  CheckSet counted = CheckSet::all(); ///< whose findings give a mutant away
};

/// What ran is changed; what lies between and did not run is counted.
void Mutating::findSites() {
  std::map<uint64_t, uint32_t> reached;
  for (const auto &outcome : runs.outcomes)
    for (const ReachedInstruction &instruction : outcome->reached)
      reached[instruction.pc] = instruction.sizeBytes;
  result.executed = reached.size();
  if (reached.empty())
    return;
  AmdCodeObject object = kernel.object;
  const AmdSegment &code = codeOf(object);
  std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(code.bytes.data()), code.bytes.size());
  MutationMaker maker(object.chip);
  uint64_t last = reached.rbegin()->first;
  for (uint64_t pc = reached.begin()->first; pc <= last;) {
    uint32_t size = 4;
    std::vector<Mutation> mutations = maker.of(bytes, pc - code.address, size);
    if (!reached.contains(pc))
      result.notReached += !mutations.empty();
    else
      for (Mutation &mutation : mutations)
        sites.push_back({pc, std::move(mutation), ""});
    pc += size;
  }
  // Where several instructions are swapped, no jump may lead between them.
  std::set<uint64_t> targets = jumpTargets(object.chip, bytes, code.address, reached);
  std::erase_if(sites, [&](const MutantSite &site) {
    auto inside = targets.upper_bound(site.pc);
    return inside != targets.end() && *inside < site.pc + site.mutation.bytes.size();
  });
  findPages();
  for (const MutantSite &site : sites)
    result.mutants.push_back({.kind = infoOf(site.mutation.kind).name,
                              .pc = site.pc,
                              .before = site.mutation.before,
                              .after = site.mutation.after,
                              .source = site.pc ? kernel.lineOf(site.pc) : "",
                              .detail = "",
                              .proof = "",
                              .equivalent = ""});
}

/// Buffers that are kept out of caches.
void Mutating::findPages() {
  std::map<std::string, const char *> special;
  for (const SimulatedBuffer &buffer : kernel.buffers)
    if (buffer.placement != Placement::Normal)
      special[buffer.base] = buffer.placement == Placement::Uncached ? "uncached:" : "fine:";
  for (const auto &[base, prefix] : special)
    sites.push_back({0, {MutationKind::PageCached, "", base + "=" + prefix, base + "=", {}, {}}, base});
}

void Mutating::orderRuns() {
  auto rank = [&](const RunChoice &choice) {
    if (choice.seed > 0)
      return 3;
    return choice.policy == "latest" ? 0 : choice.policy == "random" ? 1 : 2;
  };
  for (int wanted = 0; wanted <= 3; ++wanted)
    for (size_t i = 0; i < runs.plan.size(); ++i)
      if (rank(runs.plan[i]) == wanted)
        order.push_back(i);
}

/// What the request did not ask for is no finding of the good kernel, and then none of its mutants.
void Mutating::leaveOutSameValues() {
  CheckSet asked = parseChecks(request.check.run.checks);
  std::erase_if(result.good.findings, [&](const CheckFinding &finding) {
    for (Check check : {Check::LdsSameValue, Check::GlobalSameValue})
      if (!asked.has(check) && finding.kind == infoOf(check).name) {
        counted.remove(check);
        return true;
      }
    return false;
  });
}

/// Whether the run gave the mutant away.
bool Mutating::judge(Mutant &mutant, size_t choice, const KernelOutcome &outcome) const {
  const SimulationReport &report = outcome.report;
  auto finding = std::find_if(report.findings.begin(), report.findings.end(),
                              [&](const Finding &each) { return counted.has(each.check); });
  if (finding != report.findings.end()) {
    mutant.fate = Mutant::Fate::Finding;
    mutant.detail = infoOf(finding->check).name;
    return true;
  }
  if (report.error) {
    mutant.fate = report.isEndless ? Mutant::Fate::NoEnd : Mutant::Fate::Fault;
    mutant.detail = report.error->what();
    return true;
  }
  std::vector<Difference> differences = compareOutcomes(kernel, outcome, *runs.outcomes[runs.reference], ignored);
  if (differences.empty())
    return false;
  const Difference &first = differences.front();
  const Array &array = kernel.buffers[first.buffer].array;
  mutant.fate = Mutant::Fate::WrongResult;
  mutant.detail = fmt::format("{}{} = {} for {} ({})", array.name, formatIndex(first.element, array.shape), first.here,
                              first.there, runs.plan[choice].text());
  return true;
}

void Mutating::runMutant(size_t index) {
  Mutant &mutant = result.mutants[index];
  AmdCodeObject object = mutate(kernel.object, sites[index]);
  std::unique_ptr<SimulatedKernel> other;
  if (const std::string &base = sites[index].buffer; !base.empty()) {
    other = std::make_unique<SimulatedKernel>(file, name, run);
    for (SimulatedBuffer &buffer : other->buffers)
      if (buffer.base == base)
        buffer.placement = Placement::Normal;
  }
  for (size_t choice : order) {
    SimulationOptions options = optionsOfMutant(kernel, runs, choice);
    bool wasStopped = false;
    options.isCancelled = [&] { return wasStopped |= deadline.isOver(); };
    KernelOutcome outcome = (other ? *other : kernel).run(object, options);
    if (wasStopped || judge(mutant, choice, outcome)) // what was stopped says nothing
      return;
  }
  mutant.fate = Mutant::Fate::Survived;
}

bool fits(const EquivalentMutant &known, const Mutant &mutant) {
  bool isPlace = known.pc ? mutant.pc == *known.pc : mutant.before == known.text || mutant.source == known.text;
  return isPlace && (known.kind.empty() || mutant.kind == known.kind);
}

/// An explanation that fits nothing is mistyped; that is known before any mutant has run.
void Mutating::checkExplanations() const {
  for (const EquivalentMutant &known : request.equivalents) {
    if (std::any_of(result.mutants.begin(), result.mutants.end(),
                    [&](const Mutant &mutant) { return fits(known, mutant); }))
      continue;
    std::vector<std::string> texts, notes;
    for (const Mutant &mutant : result.mutants)
      texts.push_back(mutant.before);
    if (std::string close = known.pc ? "" : closestName(known.text, texts); !close.empty() && close != known.text)
      notes.push_back(fmt::format("the closest is `{}`", close));
    notes.push_back("`--json` lists every change with its kind, its pc and its instruction");
    throw inputError(fmt::format("{}: no instruction that ran is `{}`{}", known.origin,
                                 known.pc ? fmt::format("0x{:x}", *known.pc) : known.text,
                                 known.kind.empty() ? "" : " and can be changed by " + known.kind),
                     notes);
  }
}

void Mutating::explain() {
  for (const EquivalentMutant &known : request.equivalents) {
    size_t survivors = 0, notRun = 0;
    for (Mutant &mutant : result.mutants) {
      if (!fits(known, mutant))
        continue;
      notRun += mutant.fate == Mutant::Fate::NotRun;
      if (mutant.fate != Mutant::Fate::Survived)
        continue;
      ++survivors;
      if (mutant.equivalence != Mutant::Equivalence::Unknown)
        continue; // what is shown need not be believed
      mutant.equivalence = Mutant::Equivalence::Stated;
      mutant.equivalent = known.reason;
    }
    if (survivors == 0)
      result.notes.push_back(
          fmt::format("{}: what it explains {}", known.origin, notRun ? "did not run" : "is caught"));
  }
}

MutateResult Mutating::execute() {
  ignored = ignoredBuffers(kernel, request.check.allowDifferent);
  runs = makeRuns(kernel, request.check);
  result.good = summarise(kernel, request.check, runs);
  leaveOutSameValues();
  if (!result.good.findings.empty() || result.good.ended < result.good.planned)
    return std::move(result);
  findSites();
  checkExplanations();
  orderRuns();
  std::mutex progress;
  size_t done = 0;
  runInParallel(sites.size(), request.check.threads, [&](size_t index) {
    if (!deadline.isOver())
      runMutant(index);
    std::lock_guard lock(progress);
    ++done;
    if (request.check.progress)
      request.check.progress(done, sites.size());
  });
  findEquivalents(kernel, runs, sites, request, deadline, result.mutants);
  explain();
  return std::move(result);
}

} // namespace

std::vector<EquivalentMutant> parseEquivalents(const std::string &text, const std::string &name) {
  std::vector<EquivalentMutant> parsed;
  std::istringstream lines(text);
  std::string line;
  for (size_t number = 1; std::getline(lines, line); ++number) {
    if (size_t begin = line.find_first_not_of(" \t"); begin == std::string::npos || line[begin] == '#')
      continue;
    EquivalentMutant mutant;
    mutant.origin = fmt::format("{}:{}", name, number);
    size_t colon = line.find(": ");
    if (colon == std::string::npos || line.find_first_not_of(" \t", colon + 1) == std::string::npos)
      throw inputError(fmt::format("{}: `{}` is not `[KIND] LOCATION: REASON`", mutant.origin, line),
                       {"LOCATION is an address, `FILE:LINE` of the source, or the instruction"});
    mutant.reason = line.substr(line.find_first_not_of(" \t", colon + 1));
    std::string place = line.substr(0, colon);
    for (const MutationKindInfo &info : allMutationKinds())
      if (place.starts_with(std::string(info.name) + " ")) {
        mutant.kind = info.name;
        place.erase(0, mutant.kind.size() + 1);
      }
    uint64_t pc = 0;
    auto [stop, status] =
        std::from_chars(place.data() + std::min<size_t>(2, place.size()), place.data() + place.size(), pc, 16);
    if (place.starts_with("0x") && status == std::errc() && stop == place.data() + place.size())
      mutant.pc = pc;
    else
      mutant.text = place;
    parsed.push_back(mutant);
  }
  return parsed;
}

std::vector<MutationKindText> mutationKinds() {
  std::vector<MutationKindText> texts;
  for (const MutationKindInfo &info : allMutationKinds())
    texts.push_back({info.name, info.what});
  return texts;
}

size_t MutateResult::count(Mutant::Fate fate) const {
  return size_t(std::count_if(mutants.begin(), mutants.end(), [&](const Mutant &m) { return m.fate == fate; }));
}
size_t MutateResult::caught() const {
  return mutants.size() - count(Mutant::Fate::Survived) - count(Mutant::Fate::NotRun);
}
size_t MutateResult::count(Mutant::Equivalence equivalence) const {
  return size_t(
      std::count_if(mutants.begin(), mutants.end(), [&](const Mutant &m) { return m.equivalence == equivalence; }));
}
size_t MutateResult::equivalent() const {
  return mutants.size() - count(Mutant::Equivalence::Unknown);
}
double MutateResult::score() const {
  size_t counted = mutants.size() - equivalent() - count(Mutant::Fate::NotRun);
  return counted == 0 ? 1 : double(caught()) / double(counted);
}

MutateResult mutateKernel(const std::string &file, const std::string &name, const MutateRequest &request) {
  return Mutating(file, name, request).execute();
}

} // namespace heddle
