// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the simulated machine for the first launch, adds later ones to it, and reports what its checks found.
#include "runtime/drivers/simulated/SimulatedEngine.h"
#include "runtime/LaunchReport.h"
#include "runtime/drivers/simulated/SimulatedModule.h"
#include "runtime/drivers/simulated/SimulationSettings.h"
#include "simulator/state/Fault.h"
#include "support/Error.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <new>

namespace heddle {
namespace {

constexpr uint64_t nanosecondsPerTick = 10;
constexpr uint8_t fillOfNewMemory = 0xd5; // so that reading what nothing wrote shows

simulator::Placement placementOf(Caching caching) {
  return caching == Caching::Normal        ? simulator::Placement::Normal
         : caching == Caching::FineGrained ? simulator::Placement::FineGrained
                                           : simulator::Placement::Uncached;
}

} // namespace

//===-- Launches -------------------------------------------------------------------------------------------------===//

class SimulatedEngine::Launched : public SteppedLaunch {
public:
  Launched(SimulatedEngine &engine, const SimulatedRequest &request) : engine(engine), request(request) {
    for (const simulator::Finding &finding : engine.session->findings())
      known.push_back(finding.count);
  }

  bool isDone() const override { return run->ended; }
  void finish() override {
    std::unique_ptr<simulator::KernelRun> over = std::move(run);
    reportRecord();
    std::vector<std::string> findings = newFindings();
    std::string where = "launched on " + request.text;
    if (over->error) {
      Error error = *over->error;
      std::erase_if(error.notes,
                    [](const std::string &note) { return note.starts_with("`--"); }); // of the command line
      error.notes.push_back(where);
      error.notes.insert(error.notes.end(), findings.begin(), findings.end());
      throw error;
    }
    if (findings.empty())
      return;
    std::string message =
        fmt::format("kernel `{}`: {} finding{} of the simulator's checks while it ran",
                    request.module->package().kernel, findings.size(), findings.size() == 1 ? "" : "s");
    findings.insert(findings.begin(), where);
    throw Error(ErrorClass::WrongResult, message, findings);
  }

  /// Ends it when it has run for too long.
  void checkLimit() {
    if (request.limitSeconds == 0 || run->ended || secondsRun() < request.limitSeconds)
      return;
    engine.session->machine().stop(
        *run, Error(ErrorClass::WrongResult, fmt::format("kernel `{}` has not ended within its time limit of {} s",
                                                         request.module->package().kernel, request.limitSeconds)));
  }
  /// Of its own limit, or of the time for which launches may wait for others.
  double secondsLeft(double waited) const {
    return request.limitSeconds ? request.limitSeconds - secondsRun() : request.waitSeconds - waited;
  }

private:
  double secondsRun() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }

  /// What it printed, also when it failed; throws the error of an assertion.
  void reportRecord() {
    if (!record)
      return;
    std::span<uint8_t> bytes = engine.simulated->bytes(record);
    std::vector<uint64_t> copy(size_t(launchRecordBytes) / sizeof(uint64_t));
    std::memcpy(copy.data(), bytes.data(), size_t(launchRecordBytes));
    engine.freeRecords.insert({request.ordinal, record});
    const auto &groups = request.geometry.groups;
    reportLaunch(request.module->package(), {groups.x, groups.y, groups.z}, copy.data());
  }

  /// Which came, or came again, since it began.
  std::vector<std::string> newFindings() const {
    std::vector<std::string> texts;
    const auto &all = engine.session->findings();
    for (size_t i = 0; i < all.size(); ++i) {
      if (i < known.size() && all[i].count == known[i])
        continue;
      std::string text = all[i].text();
      while (text.ends_with('\n'))
        text.pop_back();
      texts.push_back(text);
    }
    return texts;
  }

  friend class SimulatedEngine;
  SimulatedEngine &engine;
  const SimulatedRequest request; ///< keeps the module loaded
  std::unique_ptr<simulator::KernelRun> run;
  uint64_t record = 0;         ///< where the kernel's prints and assertions go
  std::vector<uint64_t> known; ///< counts of the findings of before
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

std::unique_ptr<SteppedLaunch> SimulatedEngine::begin(const SimulatedRequest &request) {
  if (!session) {
    if (!counts)
      links.reset();
    options = simulationOptions();
    options.patient = true;
    options.links = links.get();
    if (links && options.schedule == simulator::Schedule::RunToBlock)
      options.schedule = simulator::Schedule::RoundRobin; // what is at once on devices is at once in the windows too
    options.firstTick = ticks;
    options.skip = [this](uint64_t wanted) { return passTime(wanted); };
    session = std::make_unique<simulator::Session>(*simulated, options);
  }
  waitedSeconds = 0;
  auto launched = std::make_unique<Launched>(*this, request);
  simulator::RunOptions own = options;
  if (request.cooperative)
    own.residentGroups = uint32_t(request.geometry.groupCount());
  std::string segment = request.arguments;
  if (!request.module->package().sites.empty()) {
    launched->record = takeRecord(request.ordinal);
    request.module->setRecord(segment, launched->record);
  }
  launched->run = simulated->prepare(request.module->loaded, request.module->kernel, request.geometry, segment,
                                     request.ordinal, own);
  session->begin(*launched->run);
  return launched;
}

void SimulatedEngine::countTraffic(bool on) {
  Guard guard = lock();
  if (on && session)
    throw internalError("counting cannot begin while kernels run");
  counts = on; // a session that counts goes on with it
  if (on)
    links = std::make_unique<simulator::LinkTraffic>();
}

std::optional<simulator::LinkTraffic> SimulatedEngine::traffic() {
  Guard guard = lock();
  return counts ? std::optional(*links) : std::nullopt;
}

uint64_t SimulatedEngine::takeRecord(unsigned ordinal) {
  uint64_t address = 0;
  if (auto free = freeRecords.find(ordinal); free != freeRecords.end()) {
    address = free->second;
    freeRecords.erase(free);
  } else {
    address = simulated->allocate(uint64_t(launchRecordBytes), "the launch's record", int(ordinal),
                                  simulator::Placement::Normal);
  }
  std::memset(simulated->bytes(address).data(), 0, size_t(launchRecordBytes));
  return address;
}

bool SimulatedEngine::runLaunches(Guard &guard) {
  guardOfTurn = &guard;
  try {
    session->pass();
  } catch (const std::bad_alloc &) {
    stopAll(environmentError("out of memory while the simulator ran"));
  } catch (const std::exception &exception) {
    stopAll(internalError(fmt::format("the simulator failed: {}", exception.what())));
  }
  guardOfTurn = nullptr;
  for (SteppedQueue *queue : queues)
    if (queue->running)
      static_cast<Launched &>(*queue->running).checkLimit();
  return !session->machine().isStuck();
}

/// The machine stopped amid an instruction: what runs cannot go on.
void SimulatedEngine::stopAll(const Error &error) {
  for (SteppedQueue *queue : queues)
    if (queue->running)
      if (auto &launched = static_cast<Launched &>(*queue->running); !launched.isDone())
        session->machine().stop(*launched.run, error);
}

/// All waves wait, and some of them until a time: time passes at once when no host thread can do anything meanwhile,
/// else as fast as it really does.
uint64_t SimulatedEngine::passTime(uint64_t wanted) {
  constexpr uint64_t mostAtOnce = uint64_t(1) << 20;
  if (secondsLeft(waitedSeconds) <= 0 || isAlone())
    return wanted;
  wanted = std::min(wanted, mostAtOnce);
  double seconds = double(wanted * nanosecondsPerTick) * 1e-9;
  waitedSeconds = waitForArrival(*guardOfTurn, seconds) ? 0 : waitedSeconds + seconds;
  return wanted;
}

double SimulatedEngine::secondsLeft(double waited) const {
  double seconds = std::numeric_limits<double>::max();
  for (const SteppedQueue *queue : queues)
    if (queue->running)
      seconds = std::min(seconds, static_cast<const Launched &>(*queue->running).secondsLeft(waited));
  return seconds;
}

void SimulatedEngine::giveUp(double waited) {
  constexpr double grain = 1e-3; // of waiting
  bool any = false;
  for (SteppedQueue *queue : queues)
    if (queue->running)
      if (auto &launched = static_cast<Launched &>(*queue->running);
          !launched.isDone() && launched.secondsLeft(waited) <= grain) {
        session->machine().giveUp(*launched.run);
        any = true;
      }
  if (!any)
    session->machine().giveUp();
}

void SimulatedEngine::launchEnded(SteppedQueue &) {
  waitedSeconds = 0;
  if (!anyRunning())
    endSession();
}

void SimulatedEngine::endSession() {
  if (!session)
    return;
  ticks = session->machine().ticks();
  session.reset();
}

uint64_t SimulatedEngine::nanoseconds() {
  return (session ? session->machine().ticks() : ticks) * nanosecondsPerTick;
}

//===-- Memory and code ------------------------------------------------------------------------------------------===//

void SimulatedEngine::openDevice(unsigned ordinal) {
  Guard guard = lock();
  if (!simulated)
    simulated = std::make_unique<simulator::Simulator>(chip.name, 0);
  while (simulated->deviceCount() <= ordinal)
    simulated->addDevice();
}

uint64_t SimulatedEngine::allocate(const std::string &device, unsigned ordinal, uint64_t sizeBytes,
                                   const std::string &name, Caching caching) {
  Guard guard = lock();
  releaseRetired();
  std::string label = name.empty() ? "a buffer of " + device : name;
  uint64_t address = simulated->allocate(sizeBytes, label, int(ordinal), placementOf(caching));
  std::memset(simulated->bytes(address).data(), fillOfNewMemory, sizeBytes);
  keep({address, sizeBytes, name, device});
  return address;
}

void SimulatedEngine::releaseMemory(uint64_t address) {
  simulated->free(address);
}

uint8_t *SimulatedEngine::access(SteppedQueue &, const char *what, uint64_t address, uint64_t sizeBytes, bool writes) {
  static uint8_t nothing;
  if (sizeBytes == 0)
    return &nothing;
  try {
    return simulated->system.home.at(address, sizeBytes, writes);
  } catch (const simulator::Fault &fault) {
    throw inputError(fmt::format("{} {}", what, fault.what()), fault.notes);
  }
}

simulator::LoadedObject &SimulatedEngine::load(const AmdCodeObject &object, unsigned ordinal) {
  Guard guard = lock();
  releaseRetired();
  return simulated->load(object, ordinal);
}

void SimulatedEngine::unload(simulator::LoadedObject &loaded) noexcept {
  std::lock_guard guard(unloadMutex);
  unloaded.push_back(&loaded);
}

void SimulatedEngine::becameIdle() {
  endSession();
  std::vector<simulator::LoadedObject *> objects;
  {
    std::lock_guard guard(unloadMutex);
    objects.swap(unloaded);
  }
  for (simulator::LoadedObject *object : objects)
    simulated->unload(*object);
}

} // namespace heddle
