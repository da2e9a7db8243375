// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Workgroups of one launch on several threads of the host. Each runs from its begin to its end on memory that nothing
// changes meanwhile; afterwards the machine takes their stores over one after the other, as long as none has read what
// an earlier one stored. So everything is as if they had run in their order, and what cannot be so runs in its turn:
// workgroups that wait, change memory by atomic operations, look at the clock, or are at fault.
#pragma once
#include "simulator/machine/Machine.h"
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace heddle::simulator {

class Together {
public:
  /// `watcher`, of the machine, may be null; else it repeats each workgroup in its turn.
  Together(MemorySystem &system, const RunOptions &options, Watcher *watcher);
  ~Together();
  Together(const Together &) = delete;

  /// Runs workgroups from `run.next` on. The memory of `system` was allocated before the last refresh().
  void run(KernelRun &run, size_t count);
  void refresh() { isFresh = false; }

  // Of the workgroup that is `index` after the first one:

  /// Whether it has ended, and has read nothing that those before it have stored.
  bool isGood(size_t index) const;
  uint64_t instructions(size_t index) const { return *outcomes[index].instructions; }
  Speculation &stores(size_t index) { return *outcomes[index].speculation; }
  /// What the watcher is to repeat.
  const RecordedGroup &record(size_t index) const { return *outcomes[index].record; }
  void forget(size_t index) { outcomes[index].record.reset(); }

private:
  struct Worker {
    MemorySystem memory; ///< a view, with devices of its own
    std::unique_ptr<Watcher> watcher;
    std::unique_ptr<KernelRun> run;
    std::unique_ptr<Machine> machine;
  };
  struct Outcome {
    std::unique_ptr<Speculation> speculation = std::make_unique<Speculation>();
    std::unique_ptr<RecordedGroup> record;
    std::optional<uint64_t> instructions; ///< none: it has to run in its turn
  };
  void prepare(Worker &worker, const KernelRun &run);
  void work(Worker &worker);
  void hire(size_t count);
  void serve(Worker &worker, uint64_t seen); ///< rounds after `seen`

  MemorySystem &system;
  RunOptions options;
  Watcher *watcher;
  size_t mostWorkers;
  std::vector<std::unique_ptr<Worker>> workers; ///< the first is the caller's
  std::vector<Outcome> outcomes;
  bool isFresh = false;
  const KernelRun *current = nullptr;
  uint64_t firstGroup = 0;
  size_t groupCount = 0;
  std::atomic<size_t> nextGroup = 0;

  std::mutex mutex;
  std::condition_variable begins, ends;
  uint64_t round = 0;
  size_t busy = 0; ///< threads
  bool isOver = false;
  std::vector<std::thread> threads;
};

} // namespace heddle::simulator
