// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs kernels on simulated devices: one instruction of one wave at a time, always in the same order for the same
// options.
#pragma once
#include "simulator/machine/KernelError.h"
#include "simulator/machine/Launch.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Program.h"
#include <functional>
#include <optional>

namespace heddle::simulator {

/// In which order waves run. Every wave that can go on gets its turn in the end.
enum class Schedule : uint8_t {
  RunToBlock, ///< each until it waits
  RoundRobin, ///< a few instructions each
  LeapFrog,   ///< the first runs as far ahead as it can, then the second, ...; the seed says which is first
  /// One device (with one device: one workgroup) runs only when nothing else can, or has for long; the seed says which.
  Frozen,
  Random,
};

/// Throw Error{Input} `there is no policy `x`` with the names there are.
Policy parsePolicy(const std::string &name);
Schedule parseSchedule(const std::string &name);
std::string nameOf(Policy policy);
std::string nameOf(Schedule schedule);

struct RunOptions {
  Policy policy = Policy::Earliest;
  /// Whether loads may find what caches keep. Always, except with Policy::Earliest and without checks.
  bool caches = false;
  Schedule schedule = Schedule::RunToBlock;
  uint64_t seed = 0;             ///< of patterns in what nothing has written, of schedules and of Policy::Random
  bool preloads = true;          ///< whether the chip's firmware preloads kernel arguments
  uint32_t residentGroups = 0;   ///< workgroups of a launch alive at once; 0: as many as the chip has compute units
  unsigned threads = 1;          ///< threads; more than one help where workgroups run each as if alone (Together)
  uint64_t instructionLimit = 0; ///< of all waves since a launch last ended; 0: 4 * 2^30
  uint64_t firstTick = 0;        ///< of the virtual clock
  /// Waiting for ever is no error of its own: Machine::isStuck() says it, and the host may change memory, begin
  /// another kernel, or call giveUp().
  bool patient = false;
  /// Called before time passes because all wait, with the ticks; returns how many may. None: all of them.
  std::function<uint64_t(uint64_t)> skip;
  /// Called before each instruction; slows the run down.
  std::function<void(const Wave &, const Instruction &)> trace;
  LinkTraffic *links = nullptr; ///< counts what goes between devices
  /// Asked now and then; when it is true, all launches end with an error.
  std::function<bool()> isCancelled;
};

struct RunStatistics {
  uint64_t instructions = 0; ///< executed by waves
  uint64_t waves = 0, groups = 0;
  uint64_t groupsApart = 0; ///< of these, the ones that ran beside others, on any thread
};

/// A launch on a device, from its begin to its end.
struct KernelRun {
  Device *device = nullptr;
  Program *program = nullptr;
  uint64_t codeBase = 0; ///< where the file's address 0 lies, for messages
  std::shared_ptr<const Launch> launch;
  uint32_t residentGroups = 1; ///< at most

  RunStatistics statistics;         ///< up to now
  bool ended = false;               ///< in whatever way
  std::optional<KernelError> error; ///< what ended it early
  bool isEndless = false;           ///< it was ended because it waits for ever, or has run for too long

  KernelRun();
  ~KernelRun();
  uint64_t nextGroup() const { return next; } ///< to be admitted

private:
  friend class Machine;
  struct Resident;
  uint64_t next = 0;                    ///< workgroup to admit
  uint32_t batches = 0, badBatches = 0; ///< of workgroups that ran together
  bool needsTurn = false;               ///< the next one cannot run with others
  uint32_t number = 0;                  ///< in the order of begin()
  std::vector<std::unique_ptr<Resident>> residents, idle;
  std::unique_ptr<Resident> repeated; ///< a workgroup that ran apart, in its turn
};

class Together;

class Machine {
public:
  /// `watcher` may be null.
  Machine(MemorySystem &system, const RunOptions &options, Watcher *watcher);
  ~Machine();

  /// From now on pass() runs it, beside others on any devices. It outlives its end, or the machine.
  void begin(KernelRun &run);
  /// Every workgroup gets a turn. False when no kernel runs any more. A kernel that does what it must not, and all of
  /// them when nothing can go on or the limit is reached, end with their error.
  bool pass();
  bool isStuck() const { return stuck; }             ///< nothing could go on in the last pass
  void giveUp();                                     ///< ends all kernels: they wait for ever
  void giveUp(KernelRun &run);                       ///< one of them
  void stop(KernelRun &run, const Error &error);     ///< ends one that runs
  uint64_t instructions() const { return executed; } ///< of all waves of all kernels
  uint64_t ticks() const { return executed + port.skippedTicks; }
  /// Of a machine that serves Together: one workgroup of the run that was begun. How many instructions it took; none
  /// when it did not simply come to its end, and the machine is of no use any more.
  std::optional<uint64_t> runAlone(KernelRun &run, uint64_t number, Speculation &speculation);

private:
  using Resident = KernelRun::Resident;
  struct Place {
    KernelRun *run;
    Resident *resident;
  };
  static KernelError errorOf(const KernelRun &run, const Wave &running, const Fault &fault);
  void noteProgress();
  std::unique_ptr<Resident> makeResident(const KernelRun &run);
  void seat(KernelRun &run, Resident &resident);
  void admit(KernelRun &run);
  bool admitAll(KernelRun &run);
  bool mayAdmit(const KernelRun &run, uint64_t until) const;
  bool admitTogether(KernelRun &run, uint64_t until);
  uint64_t countTogether(const KernelRun &run, uint64_t until) const;
  void takeTurn(KernelRun &run, size_t index);
  std::vector<Place> order();
  bool isFrozen(const Place &place, size_t index) const;
  bool runTurn(const Place &place);
  bool runSlices(const Place &place, unsigned slices, uint64_t instructions);
  bool runWave(KernelRun &run, Wave &wave, uint64_t most);
  template <bool watched>
  void step(Program &program, Wave &wave, uint64_t most);
  bool finishEnded(KernelRun &run, Workgroup &group);
  void openBarrier(Workgroup &group);
  bool retire(KernelRun &run, size_t index, bool force);
  bool retireGuarded(KernelRun &run, size_t index, bool force);
  bool retireAll(KernelRun &run, bool force);
  void end(KernelRun &run);
  void abandon(KernelRun &run, KernelError error);
  bool unblock();
  KernelRun *runOf(const Wave &wave) const;
  bool endAtFault();
  bool isOverLimit() const { return executed - countedFrom > options.instructionLimit; }
  void endAll(const std::string &message, const std::vector<ReportLine> &extra);
  KernelError endlessError(const KernelRun &run, const std::string &message, std::vector<ReportLine> notes,
                           const std::vector<ReportLine> &extra) const;
  std::vector<ReportLine> describeWaiting() const;

  MemorySystem &system;
  RunOptions options;
  Watcher *watcher;
  MemoryPort port;
  std::mt19937_64 random;
  std::vector<KernelRun *> running;
  bool mayRunTogether = false;
  std::unique_ptr<Together> together; ///< made when there is something for it
  uint64_t executed = 0;
  uint64_t countedFrom = 0; ///< `executed` when a launch last ended
  uint32_t nextWave = 0, nextLaunch = 0;
  uint64_t agedAt = 0;                        ///< `executed` when old requests were last performed
  uint64_t progressedAt = 0;                  ///< and when anything changed
  uint64_t thawedAt = 0;                      ///< and when what is frozen last ran
  static constexpr uint64_t firstSkip = 1024; ///< ticks of the clock
  uint64_t nextSkip = 0;
  unsigned mostInSlice = 1; ///< instructions, of Schedule::Random
  bool thawed = false;      ///< what is frozen may run in this pass
  bool hasThawed = false;   ///< it has run, and nothing went on
  bool stuck = false;
};

} // namespace heddle::simulator
