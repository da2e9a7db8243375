// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The simulator is deterministic, so a run that is made again with the same options does the same steps: the first time
// notes when the two accesses of each finding happen, the second time keeps the steps around these.
#include "api/CheckEvidence.h"
#include "api/CheckRuns.h"
#include "simulator/analysis/MachineCode.h"
#include "simulator/state/Workgroup.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>

namespace heddle {
namespace {

using namespace simulator;

constexpr uint64_t never = std::numeric_limits<uint64_t>::max();
constexpr size_t mostWaves = 8;
constexpr size_t stepsAround = 24; ///< kept before and after each access, of all waves that are shown

/// One wave of the launch, and its workgroup.
struct WaveName {
  uint32_t device = 0;
  std::array<uint32_t, 3> group = {0, 0, 0};
  uint32_t wave = 0;

  static WaveName of(const Site &site) { return {site.device, site.group, site.wave}; }
  bool isBeside(const WaveName &other) const { return device == other.device && group == other.group; }
  auto operator<=>(const WaveName &) const = default;
  std::string text(bool severalDevices) const {
    return fmt::format("{}workgroup {},{},{} wave {}", severalDevices ? fmt::format("device {} ", device) : "",
                       group[0], group[1], group[2], wave);
  }
};

/// When the two accesses of a finding happen; `second` is the one during which it is reported.
struct Moment {
  size_t finding = 0; ///< of the check
  WaveName firstWave, secondWave;
  uint64_t first = never, second = never;
};

/// The findings of one run.
class Rerun {
public:
  Rerun(const SimulatedKernel &kernel, const std::vector<CheckFinding> &findings, const Deadline &deadline,
        std::vector<size_t> mine)
      : kernel(kernel), findings(findings), deadline(deadline), mine(std::move(mine)) {}

  void gather(CheckEvidence &evidence) {
    findMoments();
    if (!deadline.isOver())
      keepSteps(evidence);
    evidence.wasStopped |= deadline.isOver();
  }

private:
  const RunChoice &choice() const { return findings[mine.front()].run; }
  void findMoments();
  void keepSteps(CheckEvidence &evidence);
  void note(const Finding &finding, const Site &first, const Site &second);
  void addMoment(size_t finding, const Site &first, const Site &second);

  const SimulatedKernel &kernel;
  const std::vector<CheckFinding> &findings;
  const Deadline &deadline;
  std::vector<size_t> mine;
  std::vector<Moment> moments;
  uint64_t step = 0; ///< of the instruction that was begun last, from 1
  /// The last step of a wave at an instruction of which a finding may tell.
  std::map<std::pair<WaveName, const Instruction *>, uint64_t> lastSteps;
};

void Rerun::addMoment(size_t finding, const Site &first, const Site &second) {
  auto stepOf = [&](const Site &site) {
    auto found = lastSteps.find({WaveName::of(site), site.instruction});
    return found == lastSteps.end() ? never : found->second;
  };
  Moment moment{finding, WaveName::of(first), WaveName::of(second.instruction ? second : first)};
  moment.first = stepOf(first);
  moment.second = second.instruction ? stepOf(second) : never;
  moments.push_back(moment);
}

void Rerun::note(const Finding &finding, const Site &first, const Site &second) {
  for (size_t index : mine) {
    const CheckFinding &wanted = findings[index];
    if (wanted.kind == infoOf(finding.check).name && wanted.firstPc == finding.firstPc &&
        wanted.secondPc == finding.secondPc && wanted.text.starts_with("error: " + finding.title + " ("))
      addMoment(index, first, second);
  }
}

void Rerun::findMoments() {
  std::set<uint64_t> pcs; // of which findings tell
  bool hasFault = false;
  for (size_t index : mine) {
    pcs.insert({findings[index].firstPc, findings[index].secondPc});
    hasFault |= findings[index].kind == "fault";
  }
  std::optional<Site> last;
  SimulationOptions options = optionsOf(kernel, choice());
  options.isCancelled = [this] { return deadline.isOver(); };
  options.found = [this](const Finding &finding, const Site &first, const Site &second) {
    note(finding, first, second);
  };
  KernelOutcome outcome =
      kernel.run(kernel.object, options, [&](const Wave &wave, const Instruction &instruction, uint64_t pc) {
        ++step;
        if (hasFault || pcs.contains(pc)) {
          last = Site::of(wave, instruction);
          if (pcs.contains(pc))
            lastSteps[{WaveName::of(*last), &instruction}] = step;
        }
      });
  if (!hasFault || !last || !outcome.report.error || deadline.isOver())
    return;
  for (size_t index : mine)
    if (findings[index].kind == "fault") {
      WaveName wave = WaveName::of(*last);
      moments.push_back({index, wave, wave, step, never});
    }
}

/// The steps of one wave's neighbourhood around one access. Instructions live as long as the run.
class Window {
public:
  struct Step {
    uint64_t number = 0;
    WaveName wave;
    uint64_t pc = 0;
    std::string text, kind;
  };
  explicit Window(uint64_t at) : at(at) {}

  bool isOver() const { return at == never || after.size() == stepsAround; }
  void take(uint64_t number, const WaveName &wave, const Instruction &instruction, uint64_t pc) {
    if (isOver())
      return;
    std::vector<Step> &side = number <= at ? before : after;
    // Twice as many are kept, so that the oldest need not be dropped at each step.
    if (side.size() == 2 * stepsAround)
      side.erase(side.begin(), side.begin() + ptrdiff_t(stepsAround));
    side.push_back({number, wave, pc, instruction.text, simulator::nameOf(classOf(instruction))});
  }
  void appendTo(std::map<uint64_t, Step> &steps) const {
    size_t first = before.size() > stepsAround ? before.size() - stepsAround : 0;
    for (size_t i = first; i < before.size(); ++i)
      steps.emplace(before[i].number, before[i]);
    for (const Step &step : after)
      steps.emplace(step.number, step);
  }

private:
  uint64_t at;
  std::vector<Step> before, after;
};

/// The waves to show: the two of the finding, and others of their workgroups.
std::vector<WaveName> wavesOf(const Moment &moment, const std::map<uint64_t, Window::Step> &steps) {
  std::set<WaveName> chosen = {moment.firstWave, moment.secondWave};
  for (const auto &[number, step] : steps)
    if (chosen.size() < mostWaves)
      chosen.insert(step.wave);
  return {chosen.begin(), chosen.end()};
}

FindingTimeline makeTimeline(const Moment &moment, const std::vector<Window> &windows, bool severalDevices) {
  std::map<uint64_t, Window::Step> steps;
  for (const Window &window : windows)
    window.appendTo(steps);
  std::vector<WaveName> waves = wavesOf(moment, steps);
  FindingTimeline timeline;
  for (const WaveName &wave : waves)
    timeline.waves.push_back(wave.text(severalDevices));
  uint64_t before = 0, firstEnd = std::min(moment.first, moment.second);
  bool isApart = windows.size() == 2 && !steps.empty();
  for (const auto &[number, step] : steps) {
    auto wave = std::find(waves.begin(), waves.end(), step.wave);
    if (wave == waves.end())
      continue;
    // Between the two windows steps are left out.
    bool isAfterGap = isApart && before > firstEnd && number - before > stepsAround;
    timeline.steps.push_back({size_t(wave - waves.begin()), number, step.pc, step.text, step.kind,
                              number == moment.first    ? 1
                              : number == moment.second ? 2
                                                        : 0,
                              isAfterGap});
    before = number;
  }
  return timeline;
}

void Rerun::keepSteps(CheckEvidence &evidence) {
  if (moments.empty())
    return;
  std::vector<std::vector<Window>> windows;
  uint64_t last = 0;
  for (const Moment &moment : moments) {
    std::vector<Window> &mine = windows.emplace_back();
    for (uint64_t at : {moment.first, moment.second})
      if (at != never)
        mine.emplace_back(at), last = std::max(last, at);
  }
  uint64_t number = 0;
  SimulationOptions options = optionsOf(kernel, choice());
  // What follows the last access by far is of no interest.
  options.isCancelled = [&] { return number > last + (uint64_t(1) << 20) || deadline.isOver(); };
  kernel.run(kernel.object, options, [&](const Wave &wave, const Instruction &instruction, uint64_t pc) {
    ++number;
    WaveName name = WaveName::of(Site::of(wave, instruction));
    for (size_t i = 0; i < moments.size(); ++i)
      if (name.isBeside(moments[i].firstWave) || name.isBeside(moments[i].secondWave))
        for (Window &window : windows[i])
          window.take(number, name, instruction, pc);
  });
  for (size_t i = 0; i < moments.size(); ++i)
    evidence.timelines[moments[i].finding] = makeTimeline(moments[i], windows[i], kernel.request.devices > 1);
}

std::vector<InspectedInstruction> instructionsOf(const std::string &file, const std::string &name,
                                                 const std::string &kernel) {
  CodeObjectRequest request;
  request.kernel = kernel;
  return inspectCodeObject(file, name, request).instructions;
}

} // namespace

CheckEvidence gatherEvidence(const std::string &file, const std::string &name, const CheckRequest &request,
                             const std::vector<CheckFinding> &findings, size_t mostFindings) {
  SimulatedKernel kernel(file, name, request.run);
  CheckEvidence evidence;
  evidence.timelines.resize(findings.size());
  std::map<std::string, std::vector<size_t>> byRun;
  size_t taken = 0;
  for (size_t i = 0; i < findings.size(); ++i) {
    for (const InstructionPlace &place : findings[i].places)
      if (!place.file.empty())
        evidence.sourcePaths.try_emplace(place.file, kernel.pathOf(place.pc));
    bool hasSteps = findings[i].firstPc || findings[i].kind == "fault";
    if (hasSteps && ++taken <= mostFindings)
      byRun[findings[i].run.text()].push_back(i);
  }
  evidence.leftOut = taken > mostFindings ? taken - mostFindings : 0;
  Deadline deadline(request);
  for (auto &[run, mine] : byRun)
    Rerun(kernel, findings, deadline, mine).gather(evidence);
  if (!findings.empty())
    evidence.instructions = instructionsOf(file, name, kernel.kernel.name);
  return evidence;
}

} // namespace heddle
