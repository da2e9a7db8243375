// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Worker threads with machines of their own; what they did is taken over in the order of the workgroups.
#include "simulator/machine/Together.h"
#include <algorithm>
#include <system_error>

namespace heddle::simulator {

static RunOptions optionsOfWorker(RunOptions options) {
  options.threads = 1;
  options.trace = nullptr, options.isCancelled = nullptr, options.skip = nullptr;
  return options;
}

Together::Together(MemorySystem &system, const RunOptions &given, Watcher *watcher)
    : system(system), options(optionsOfWorker(given)), watcher(watcher), mostWorkers(given.threads) {
  workers.push_back(std::make_unique<Worker>());
}

Together::~Together() {
  {
    std::lock_guard lock(mutex);
    isOver = true;
  }
  begins.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

/// No more than there are workgroups for, and than the host gives: results are the same for every number.
void Together::hire(size_t count) {
  while (workers.size() < std::min(count, mostWorkers)) {
    workers.push_back(std::make_unique<Worker>());
    try {
      threads.emplace_back([this, &worker = *workers.back(), seen = round] { serve(worker, seen); });
    } catch (const std::system_error &) {
      workers.pop_back();
      mostWorkers = workers.size();
    }
  }
}

/// A machine with the run on it, which sees the memory of all.
void Together::prepare(Worker &worker, const KernelRun &run) {
  worker.machine.reset();
  worker.memory.home.share(system.home);
  while (worker.memory.devices.size() < system.devices.size())
    worker.memory.addDevice(system.devices[worker.memory.devices.size()]->shape);
  worker.run = std::make_unique<KernelRun>();
  worker.run->device = worker.memory.devices[run.device->index].get();
  worker.run->program = run.program;
  worker.run->codeBase = run.codeBase;
  worker.run->launch = std::shared_ptr<const Launch>(std::shared_ptr<void>(), run.launch.get()); // the run's own
  worker.watcher = watcher ? watcher->makeApart(worker.memory) : nullptr;
  worker.machine = std::make_unique<Machine>(worker.memory, options, worker.watcher.get());
  worker.machine->begin(*worker.run);
}

void Together::work(Worker &worker) {
  for (size_t index; (index = nextGroup++) < groupCount;) {
    Outcome &outcome = outcomes[index];
    try {
      if (!worker.machine)
        prepare(worker, *current);
      outcome.instructions = worker.machine->runAlone(*worker.run, firstGroup + index, *outcome.speculation);
      outcome.record = worker.watcher ? worker.watcher->takeRecord() : nullptr;
    } catch (const std::exception &) { // whatever it is happens again in its turn
      outcome.instructions.reset();
    }
    if (!outcome.instructions)
      worker.machine.reset();
  }
}

void Together::serve(Worker &worker, uint64_t seen) {
  std::unique_lock lock(mutex);
  for (;;) {
    begins.wait(lock, [&] { return isOver || round != seen; });
    if (isOver)
      return;
    seen = round;
    lock.unlock();
    work(worker);
    lock.lock();
    if (--busy == 0)
      ends.notify_one();
  }
}

void Together::run(KernelRun &run, size_t count) {
  if (!isFresh || current != &run)
    for (auto &worker : workers)
      worker->machine.reset();
  hire(count);
  isFresh = true;
  current = &run;
  firstGroup = run.nextGroup();
  groupCount = count;
  nextGroup = 0;
  if (outcomes.size() < count)
    outcomes.resize(count);
  run.program->setFrozen(true);
  {
    std::lock_guard lock(mutex);
    ++round;
    busy = threads.size();
  }
  begins.notify_all();
  work(*workers.front());
  {
    std::unique_lock lock(mutex);
    ends.wait(lock, [&] { return busy == 0; });
  }
  run.program->setFrozen(false);
}

bool Together::isGood(size_t index) const {
  if (!outcomes[index].instructions)
    return false;
  if (watcher) // those before it have had their turns
    return !outcomes[index].speculation->readsChanged(system.home);
  for (size_t earlier = 0; earlier < index; ++earlier)
    if (outcomes[index].speculation->readsFrom(*outcomes[earlier].speculation))
      return false;
  return true;
}

} // namespace heddle::simulator
