// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the good kernel under observers that prove of a mutant that no run of it could differ.
#include "api/Equivalence.h"
#include "simulator/mutations/AccessTrace.h"
#include "simulator/mutations/WaitFlow.h"
#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <optional>

namespace heddle {
namespace {

using namespace simulator;

/// A mutant that runs longer than this many times the good kernel does not end.
constexpr uint64_t slowdown = 16, leastLimit = 100000;
/// Instructions that the firmware skips when it preloads arguments.
constexpr uint64_t preloadPrologueBytes = 256;

struct Proof {
  const char *name, *what;
};
constexpr Proof emptyWait{
    "empty-wait", "on every path that leads there, no more operations can be outstanding than its count allows"},
    repeatedWait{"repeated-wait", "on every path, another wait demands as much before anything depends on it"},
    sameWaits{"same-waits", "on every path, each wait completes both loads or neither before anything depends on one"},
    noLane{"no-lane", "no lane was active, each time it ran"},
    idleWait{"idle-wait", "no more operations were outstanding than its count allows, each time it ran"},
    freeWait{"free-wait", "until the next wait for the same operations, the wave uses nothing that is outstanding, "
                          "and no other wave accesses it"},
    freeBarrier{"free-barrier", "no access before it overlaps one of another wave after it, or signals another wave"},
    nothingStored{"nothing-stored", "its workgroup had stored nothing that it would write back, each time it ran"},
    nothingRead{"nothing-read", "after it, its workgroup loads nothing that a cache may hold"},
    uncached{"uncached", "all that it stores is in uncached pages, which no L2 holds"},
    systemScope{"system-scope",
                "all accesses to the buffer have system scope, for which no cache keeps data of any page"},
    oneDevice{"one-device", "one device runs, and device scope contains all of its waves"},
    fullMask{"full-mask", "the mask held every lane that was active, each time it ran"},
    sameAccesses{"same-accesses",
                 "the lanes that it would enable access only what other lanes access, with the same data"};

constexpr const Proof *ofCode[] = {&emptyWait, &repeatedWait, &sameWaits};
constexpr const Proof *ofLaunch[] = {&idleWait,    &freeWait,  &freeBarrier, &nothingStored, &nothingRead, &uncached,
                                     &systemScope, &oneDevice, &fullMask,    &sameAccesses,  &noLane};

const Proof &proofOf(LaunchReason reason) {
  switch (reason) {
  case LaunchReason::NothingThere:
    return noLane;
  case LaunchReason::NothingUnderWay:
    return idleWait;
  case LaunchReason::NothingDepends:
    return freeWait;
  case LaunchReason::NotShared:
    return freeBarrier;
  case LaunchReason::NothingStored:
    return nothingStored;
  case LaunchReason::NothingRead:
    return nothingRead;
  case LaunchReason::Uncached:
    return uncached;
  case LaunchReason::SystemScope:
    return systemScope;
  case LaunchReason::None:
    break;
  }
  throw internalError("there is no proof of nothing");
}

/// Runs without checks, under an observer. `codeBase` gets where the file's address 0 lies. Returns whether it got to
/// its end in time; else nothing may be concluded.
bool observe(const SimulatedKernel &kernel, const AmdCodeObject &object, SimulationOptions options,
             const Deadline &deadline, Watcher &observer, uint64_t &codeBase) {
  options.checks = {};
  options.observer = &observer;
  options.isCancelled = [&] { return deadline.isOver(); };
  auto findBase = [&](const Wave &, const Instruction &instruction, uint64_t pc) { codeBase = instruction.pc - pc; };
  return !deadline.isOver() && !kernel.run(object, options, findBase).report.error;
}

class Equivalents {
public:
  Equivalents(const SimulatedKernel &kernel, const CheckedRuns &runs, const std::vector<MutantSite> &sites,
              const MutateRequest &request, const Deadline &deadline, std::vector<Mutant> &mutants)
      : kernel(kernel), runs(runs), sites(sites), threads(request.check.threads), crossChecks(request.crossCheck),
        deadline(deadline), mutants(mutants), wrong(mutants.size()) {}

  void readCode();
  void askLaunch();
  void compareMasks();
  void throwWrong() const;

private:
  struct GoodTrace {
    AccessTrace trace;
    uint64_t codeBase = 0;
    bool isWhole = false;
  };
  bool isOpen(size_t index) const {
    const Mutant &mutant = mutants[index];
    return mutant.equivalence == Mutant::Equivalence::Unknown && !wrong[index] &&
           (crossChecks ? mutant.fate != Mutant::Fate::NotRun : mutant.fate == Mutant::Fate::Survived);
  }
  /// Of another index by each thread.
  void say(size_t index, Mutant::Equivalence equivalence, const Proof &proof) {
    Mutant &mutant = mutants[index];
    if (mutant.fate != Mutant::Fate::Survived) {
      wrong[index] = &proof;
      return;
    }
    mutant.equivalence = equivalence;
    mutant.proof = proof.name;
    mutant.equivalent = proof.what;
  }
  bool hasSameTrace(size_t index, const std::vector<GoodTrace> &good) const;

  const SimulatedKernel &kernel;
  const CheckedRuns &runs;
  const std::vector<MutantSite> &sites;
  unsigned threads;
  bool crossChecks;
  const Deadline &deadline;
  std::vector<Mutant> &mutants;
  std::vector<const Proof *> wrong; ///< what is said of mutants that are caught
};

void Equivalents::readCode() {
  AmdCodeObject object = kernel.object;
  const AmdSegment &code = codeOf(object);
  std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(code.bytes.data()), code.bytes.size());
  std::vector<uint64_t> entries = {kernel.kernel.entry};
  if (kernel.kernel.preloadedWords())
    entries.push_back(kernel.kernel.entry + preloadPrologueBytes);
  WaitFlow flow(object.chip, bytes, code.address, entries);
  for (size_t i = 0; i < sites.size(); ++i) {
    if (!isOpen(i))
      continue;
    if (sites[i].mutation.kind == MutationKind::LoadsSwapped && flow.maySwapLoads(sites[i].pc))
      say(i, Mutant::Equivalence::Always, sameWaits);
    if (sites[i].mutation.before.find("s_waitcnt") != 0)
      continue;
    WaitReason reason = flow.reasonToWeaken(sites[i].pc, sites[i].mutation.demanded, sites[i].mutation.left);
    if (reason != WaitReason::None)
      say(i, Mutant::Equivalence::Always, reason == WaitReason::NothingUnderWay ? emptyWait : repeatedWait);
  }
}

/// Of a wait that was moved over the barrier after it: that barrier without it. If a launch does not need the barrier,
/// the wait may stand on either side.
std::optional<MutantSite> barrierAfterWait(const MutantSite &site) {
  if (site.mutation.kind != MutationKind::WaitLate || !site.mutation.before.ends_with("; s_barrier"))
    return std::nullopt;
  Mutation removed{MutationKind::BarrierRemoved, "", "s_barrier", "s_nop 0", {}, {}};
  return MutantSite{site.pc + 4, std::move(removed), ""};
}

/// A reason holds when it held in every run.
void Equivalents::askLaunch() {
  std::vector<size_t> open;
  std::vector<MutantSite> asked;
  for (size_t i = 0; i < sites.size(); ++i) {
    if (!isOpen(i))
      continue;
    const Mutation &mutation = sites[i].mutation;
    if (kernel.request.devices <= 1 && mutation.scope == Scope::System && mutation.narrowed == Scope::Agent &&
        mutation.kind == MutationKind::ScopeNarrowed) {
      say(i, Mutant::Equivalence::Launch, oneDevice);
      continue;
    }
    open.push_back(i);
    asked.push_back(sites[i]);
    if (std::optional<MutantSite> barrier = barrierAfterWait(sites[i])) {
      open.push_back(i);
      asked.push_back(std::move(*barrier));
    }
  }
  if (asked.empty())
    return;
  std::vector<std::vector<LaunchReason>> answers(runs.plan.size());
  runInParallel(runs.plan.size(), threads, [&](size_t choice) {
    LaunchFacts facts(asked);
    answers[choice].resize(asked.size(), LaunchReason::None);
    if (observe(kernel, kernel.object, optionsOf(kernel, runs.plan[choice]), deadline, facts, facts.codeBase))
      answers[choice] = facts.reasons();
  });
  for (size_t i = 0; i < open.size(); ++i) {
    LaunchReason reason = answers[0][i];
    for (const std::vector<LaunchReason> &answer : answers) {
      if (answer[i] == LaunchReason::None || reason == LaunchReason::None)
        reason = LaunchReason::None;
      else if (answer[i] != LaunchReason::NothingThere && answer[i] != LaunchReason::NothingUnderWay)
        reason = answer[i]; // it says more
    }
    bool isOther = asked[i].pc != sites[open[i]].pc;
    if (reason != LaunchReason::None && (!isOther || (reason == LaunchReason::NotShared && isOpen(open[i]))))
      say(open[i], Mutant::Equivalence::Launch, proofOf(reason));
  }
}

bool Equivalents::hasSameTrace(size_t index, const std::vector<GoodTrace> &good) const {
  AmdCodeObject object = mutate(kernel.object, sites[index]);
  for (size_t choice = 0; choice < runs.plan.size(); ++choice) {
    AccessTrace trace;
    uint64_t codeBase = 0;
    if (!observe(kernel, object, optionsOfMutant(kernel, runs, choice), deadline, trace, codeBase) ||
        !(trace.digest() == good[choice].trace.digest()))
      return false;
  }
  return true;
}

/// A mask that is gone lets more lanes through: no matter, if all waves do the same as before
/// in every run.
void Equivalents::compareMasks() {
  std::vector<size_t> open;
  for (size_t i = 0; i < sites.size(); ++i)
    if (isOpen(i) && sites[i].mutation.kind == MutationKind::MaskRemoved)
      open.push_back(i);
  if (open.empty())
    return;
  std::vector<GoodTrace> good(runs.plan.size());
  runInParallel(good.size(), threads, [&](size_t choice) {
    GoodTrace &each = good[choice];
    each.isWhole =
        observe(kernel, kernel.object, optionsOf(kernel, runs.plan[choice]), deadline, each.trace, each.codeBase);
  });
  if (!std::all_of(good.begin(), good.end(), [](const GoodTrace &each) { return each.isWhole; }))
    return;
  runInParallel(open.size(), threads, [&](size_t i) {
    size_t index = open[i];
    if (!hasSameTrace(index, good))
      return;
    bool masks = std::any_of(good.begin(), good.end(),
                             [&](const GoodTrace &each) { return each.trace.masks(each.codeBase + sites[index].pc); });
    say(index, Mutant::Equivalence::Launch, masks ? sameAccesses : fullMask);
  });
}

void Equivalents::throwWrong() const {
  for (size_t i = 0; i < wrong.size(); ++i)
    if (wrong[i])
      throw internalError(fmt::format("`{}` -> `{}` at 0x{:x} ({}) is caught, and {} calls it equivalent",
                                      mutants[i].before, mutants[i].after, mutants[i].pc, mutants[i].kind,
                                      wrong[i]->name),
                          {mutants[i].detail, wrong[i]->what});
}

} // namespace

AmdSegment &codeOf(AmdCodeObject &object) {
  return *std::find_if(object.segments.begin(), object.segments.end(),
                       [](const AmdSegment &segment) { return segment.executable; });
}

AmdCodeObject mutate(const AmdCodeObject &object, const MutantSite &site) {
  AmdCodeObject changed = object;
  if (site.mutation.bytes.empty())
    return changed;
  AmdSegment &code = codeOf(changed);
  code.bytes.replace(site.pc - code.address, site.mutation.bytes.size(), site.mutation.bytes);
  return changed;
}

SimulationOptions optionsOfMutant(const SimulatedKernel &kernel, const CheckedRuns &runs, size_t choice) {
  SimulationOptions options = optionsOf(kernel, runs.plan[choice]);
  uint64_t limit = slowdown * runs.outcomes[choice]->report.statistics.instructions + leastLimit;
  uint64_t asked = kernel.request.instructionLimit;
  options.instructionLimit = asked ? std::min(asked, limit) : limit;
  return options;
}

void findEquivalents(const SimulatedKernel &kernel, const CheckedRuns &runs, const std::vector<MutantSite> &sites,
                     const MutateRequest &request, const Deadline &deadline, std::vector<Mutant> &mutants) {
  Equivalents equivalents(kernel, runs, sites, request, deadline, mutants);
  equivalents.readCode();
  equivalents.askLaunch();
  equivalents.compareMasks();
  equivalents.throwWrong();
}

std::vector<EquivalenceText> equivalences() {
  std::vector<EquivalenceText> texts;
  for (const Proof *proof : ofCode)
    texts.push_back({proof->name, proof->what, true});
  for (const Proof *proof : ofLaunch)
    texts.push_back({proof->name, proof->what, false});
  return texts;
}

} // namespace heddle
