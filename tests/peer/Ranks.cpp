// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles a kernel, makes the records of its ranks, and launches it on each.
#include "tests/peer/Ranks.h"
#include "compiler/pipeline/Compile.h"
#include "runtime/Driver.h"
#include <atomic>
#include <cstring>

using namespace heddle;
using namespace heddle::peertest;

std::string peertest::fill(std::string text, const std::vector<std::pair<std::string, int64_t>> &values) {
  for (const auto &[name, value] : values)
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos;)
      text.replace(at, name.size(), std::to_string(value));
  return text;
}

Ranks::Ranks(int worldSize, double limitSeconds) {
  auto zeroed = [](Device &device, uint64_t bytes, const char *name) {
    Buffer buffer = device.allocate(bytes, name);
    std::memset(reinterpret_cast<void *>(buffer.address()), 0, bytes);
    return buffer;
  };
  for (int rank = 0; rank < worldSize; ++rank) {
    Member member;
    member.device = openDevice("host:" + std::to_string(rank));
    member.stream = member.device->createStream();
    member.arena = zeroed(*member.device, arenaBytes, "arena");
    member.error = zeroed(*member.device, sizeof(PeerError), "error");
    member.abort = zeroed(*member.device, sizeof(uint32_t), "abort");
    member.group = zeroed(*member.device, sizeof(PeerGroup), "group");
    members.push_back(std::move(member));
  }
  for (int rank = 0; rank < worldSize; ++rank) {
    PeerGroup &group = *reinterpret_cast<PeerGroup *>(members[rank].group.address());
    group.rank = uint64_t(rank);
    group.worldSize = uint64_t(worldSize);
    for (int peer = 0; peer < worldSize; ++peer)
      group.arena[peer] = members[peer].arena.address();
    group.abort = members[rank].abort.address();
    group.limitNs = uint64_t(limitSeconds * 1e9);
    group.error = members[rank].error.address();
  }
}

void Ranks::load(const std::string &text, bool checked) {
  CompileOptions options;
  options.checkAccesses = checked;
  Package package = compile(text, "peer-test", options).package;
  for (Member &member : members)
    member.module = member.device->loadModule(package);
}

void Ranks::start(int rank, int64_t blocks, std::vector<LaunchArgument> arguments) {
  Launch launch;
  launch.kernel.module = members[rank].module;
  launch.cooperative = true;
  launch.grid = {blocks, 1, 1};
  launch.arguments = {DeviceAddress(members[rank].group)};
  launch.arguments.insert(launch.arguments.end(), arguments.begin(), arguments.end());
  members[rank].stream->launch(launch);
}

void Ranks::finish(int rank) {
  members[rank].stream->synchronize();
}

void Ranks::abort(int rank) {
  std::atomic_ref(*reinterpret_cast<uint32_t *>(members[rank].abort.address())).store(1);
}
