// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All devices of one simulated chip: their memory, their streams, and the machine that runs their kernels side by side.
// While none runs there is no machine; the first launch makes it, with the options of the environment.
#pragma once
#include "chips/Chip.h"
#include "runtime/Device.h"
#include "runtime/stepped/SteppedEngine.h"
#include "simulator/Simulator.h"

namespace heddle {

class SimulatedModule;

/// A launch that was checked.
struct SimulatedRequest {
  std::shared_ptr<const SimulatedModule> module;
  simulator::Geometry geometry;
  std::string arguments; ///< the explicit part of the kernel's segment
  unsigned ordinal = 0;
  bool cooperative = false;
  double limitSeconds = 0; ///< of real time; 0: none
  double waitSeconds = 0;  ///< of waiting for others, where there is no limit
  std::string text;        ///< `sim:gfx942:1, grid 4 x 1 x 1`, for messages
};

class SimulatedEngine : public SteppedEngine {
public:
  explicit SimulatedEngine(const Chip &chip) : chip(chip) {}

  /// From now on the device exists. Throws Error{Environment} where this machine cannot simulate.
  void openDevice(unsigned ordinal);
  uint64_t allocate(const std::string &device, unsigned ordinal, uint64_t sizeBytes, const std::string &name,
                    Caching caching);
  simulator::LoadedObject &load(const AmdCodeObject &object, unsigned ordinal);
  void unload(simulator::LoadedObject &loaded) noexcept; ///< when nothing is queued or running

  /// When the launch's turn has come.
  std::unique_ptr<SteppedLaunch> begin(const SimulatedRequest &request);

  /// Of what kernels move between devices. It begins while none runs, and ends with the next that begins alone.
  void countTraffic(bool on);
  std::optional<simulator::LinkTraffic> traffic();

  uint8_t *access(SteppedQueue &queue, const char *what, uint64_t address, uint64_t sizeBytes, bool writes) override;
  uint64_t nanoseconds() override; ///< 10 for a tick, which is an instruction of a wave

  const Chip &chip;

protected:
  bool runLaunches(Guard &guard) override;
  double secondsLeft(double waited) const override;
  void giveUp(double waited) override;
  void releaseMemory(uint64_t address) override;
  void launchEnded(SteppedQueue &queue) override;
  void becameIdle() override;

private:
  class Launched;
  /// Zeroed memory of a device for a launch's record, until it is put into `freeRecords`.
  uint64_t takeRecord(unsigned ordinal);
  uint64_t passTime(uint64_t wanted);
  void stopAll(const Error &error);
  void endSession();

  std::unique_ptr<simulator::Simulator> simulated;
  std::unique_ptr<simulator::Session> session;   ///< null while no kernel runs
  simulator::SimulationOptions options;          ///< of the session
  uint64_t ticks = 0;                            ///< of sessions that are over
  std::unique_ptr<simulator::LinkTraffic> links; ///< of the session, if it counts
  bool counts = false;                           ///< whether the next session does
  std::multimap<unsigned, uint64_t> freeRecords; ///< by the device
  Guard *guardOfTurn = nullptr;
  double waitedSeconds =
      0; ///< for another host thread, while only time passed: since launches began, ended or were told
  std::mutex unloadMutex;
  std::vector<simulator::LoadedObject *> unloaded;
};

} // namespace heddle
