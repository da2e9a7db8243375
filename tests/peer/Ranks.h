// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A group of ranks on host devices: records, symmetric memory, and launches on all of them or on some.
#pragma once
#include "binary/PeerAbi.h"
#include "runtime/Device.h"
#include "runtime/Launch.h"
#include "runtime/Stream.h"
#include <memory>
#include <string>
#include <vector>

namespace heddle::peertest {

/// The text with each `NAME` of the pairs replaced by its value.
std::string fill(std::string text, const std::vector<std::pair<std::string, int64_t>> &values);

/// `worldSize` ranks on host:0, host:1, ...; symmetric memory and records are zero, the limit is 60 seconds.
class Ranks {
public:
  static constexpr uint64_t arenaBytes = 1 << 20;

  Ranks(int worldSize, double limitSeconds = 60);

  int size() const { return int(members.size()); }
  void load(const std::string &text, bool checked = false); ///< compiles a kernel for every rank

  /// Starts the kernel on a rank: `group`, then `arguments`. `blocks` instances live at once.
  void start(int rank, int64_t blocks, std::vector<LaunchArgument> arguments);
  void finish(int rank); ///< waits for the rank's work; throws its error

  uint64_t *arena(int rank) { return reinterpret_cast<uint64_t *>(members[rank].arena.address()); }
  PeerError &error(int rank) { return *reinterpret_cast<PeerError *>(members[rank].error.address()); }
  void abort(int rank); ///< asks every wait of the rank to end
  DeviceAddress at(int rank, uint64_t offsetBytes) {
    return DeviceAddress(members[rank].arena.address() + offsetBytes);
  }

private:
  struct Member {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    std::shared_ptr<Module> module;
    Buffer group, arena, error, abort;
  };
  std::vector<Member> members;
};

} // namespace heddle::peertest
