// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Communicators whose kernels begin with another epoch than 1, for tests of the counters' range. The counters lie at
// the begin of each rank's arena, which is the second argument of every launch: a stream in between writes them before
// the first launch of each arena.
#pragma once
#include "collectives/Communicator.h"
#include "runtime/Stream.h"
#include <set>

namespace heddle::testing {

class FirstEpochStream : public Stream {
public:
  FirstEpochStream(Device &device, uint64_t firstEpoch)
      : inner(device.createStream()), counters(maxCollectiveBlocks, firstEpoch - 1) {}

  void launch(const Launch &launch) override {
    uint64_t arena = std::get<DeviceAddress>(launch.arguments.at(1)).value;
    if (counters.front() != 0 && arenas.insert(arena).second) // fresh memory has zeros
      inner->copyToDevice(arena + uint64_t(ArenaLayout().counters), counters.data(),
                          counters.size() * sizeof(uint64_t));
    inner->launch(launch);
  }

  void copyToDevice(uint64_t destination, const void *source, uint64_t sizeBytes) override {
    inner->copyToDevice(destination, source, sizeBytes);
  }
  void copyToHost(void *destination, uint64_t source, uint64_t sizeBytes) override {
    inner->copyToHost(destination, source, sizeBytes);
  }
  void copy(uint64_t destination, uint64_t source, uint64_t sizeBytes) override {
    inner->copy(destination, source, sizeBytes);
  }
  void fill(uint64_t destination, uint8_t value, uint64_t sizeBytes) override {
    inner->fill(destination, value, sizeBytes);
  }
  void record(const std::shared_ptr<Event> &event) override { inner->record(event); }
  void wait(const std::shared_ptr<Event> &event) override { inner->wait(event); }
  void hostFunction(std::function<void()> function) override { inner->hostFunction(std::move(function)); }
  void synchronize() override { inner->synchronize(); }

private:
  const std::unique_ptr<Stream> inner;
  const std::vector<uint64_t> counters; ///< of a rank, as they are before the first round
  std::set<uint64_t> arenas;            ///< whose counters are set
};

/// A group of devices whose first round has the epoch `firstEpoch`, from 1 to 2^63.
class GroupFromEpoch {
  std::vector<std::unique_ptr<FirstEpochStream>> streams;
  std::vector<Stream *> makeStreams(const std::vector<std::shared_ptr<Device>> &devices, uint64_t firstEpoch) {
    std::vector<Stream *> made;
    for (const auto &device : devices) {
      streams.push_back(std::make_unique<FirstEpochStream>(*device, firstEpoch));
      made.push_back(streams.back().get());
    }
    return made;
  }

public:
  GroupFromEpoch(const std::vector<std::shared_ptr<Device>> &devices, uint64_t firstEpoch,
                 const Communicator::Options &options = {})
      : communicator(devices, makeStreams(devices, firstEpoch), options) {}

  Communicator communicator;
};

} // namespace heddle::testing
