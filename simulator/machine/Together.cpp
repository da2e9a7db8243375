// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/machine/Together.h"

namespace heddle::simulator {

static RunOptions optionsOfWorker(RunOptions options) {
  options.threads = 1;
  options.trace = nullptr, options.isCancelled = nullptr, options.skip = nullptr;
  return options;
}

Together::Together(const MemorySystem &system, const RunOptions &given)
    : system(system), options(optionsOfWorker(given)) {
  for (unsigned i = 0; i < given.threads; ++i)
    workers.push_back(std::make_unique<Worker>());
  for (unsigned i = 1; i < given.threads; ++i)
    threads.emplace_back([this, i] { serve(*workers[i]); });
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
  worker.machine = std::make_unique<Machine>(worker.memory, options, nullptr);
  worker.machine->begin(*worker.run);
}

void Together::work(Worker &worker) {
  for (size_t index; (index = nextGroup++) < groupCount;) {
    Outcome &outcome = outcomes[index];
    try {
      if (!worker.machine)
        prepare(worker, *current);
      outcome.instructions = worker.machine->runAlone(*worker.run, firstGroup + index, *outcome.speculation);
    } catch (const std::exception &) { // whatever it is happens again in its turn
      outcome.instructions.reset();
    }
    if (!outcome.instructions)
      worker.machine.reset();
  }
}

void Together::serve(Worker &worker) {
  uint64_t seen = 0;
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
  for (size_t earlier = 0; earlier < index; ++earlier)
    if (outcomes[index].speculation->readsFrom(*outcomes[earlier].speculation))
      return false;
  return true;
}

} // namespace heddle::simulator
