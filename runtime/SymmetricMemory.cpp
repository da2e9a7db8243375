// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/SymmetricMemory.h"
#include "runtime/Device.h"
#include "runtime/PeerAccess.h"
#include "runtime/Stream.h"
#include <algorithm>

namespace heddle {

SymmetricMemory::SymmetricMemory(const std::vector<std::shared_ptr<Device>> &devices, uint64_t sizeBytes,
                                 const std::string &name, Caching caching) {
  requirePeerAccess(devices);
  std::vector<std::unique_ptr<Stream>> streams;
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    buffers.push_back(
        devices[rank]->allocate(std::max<uint64_t>(1, sizeBytes), name + " of rank " + std::to_string(rank), caching));
    streams.push_back(devices[rank]->createStream());
    streams.back()->fill(buffers.back(), 0);
  }
  for (const auto &stream : streams)
    stream->synchronize();
}

} // namespace heddle
