// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Allocates on each device and maps or imports the others' memory; all of it is released in step.
#include "runtime/SymmetricMemory.h"
#include "runtime/Device.h"
#include "runtime/PeerAccess.h"
#include "runtime/ProcessGroup.h"
#include "runtime/Stream.h"
#include "runtime/processes/Frame.h"
#include <algorithm>
#include <fmt/format.h>

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

SymmetricMemory::SymmetricMemory(ProcessGroup &group, uint64_t sizeBytes, const std::string &name, Caching caching)
    : SymmetricMemory(group, sizeBytes, name, caching, group.sharing()) {}

SymmetricMemory::SymmetricMemory(ProcessGroup &group, uint64_t sizeBytes, const std::string &name, Caching caching,
                                 SharingKind theKind)
    : kind(theKind), ownRank(group.rank()) {
  Device &device = *group.device();
  sizeBytes = std::max<uint64_t>(1, sizeBytes);
  auto nameOf = [&](int rank) { return name + " of rank " + std::to_string(rank); };
  Buffer own;
  ExportedMemory exported;
  auto messages = group.exchange([&](std::vector<int> &files) {
    own = device.allocateShared(sizeBytes, nameOf(group.rank()), caching, kind);
    std::unique_ptr<Stream> stream = device.createStream();
    stream->fill(own, 0);
    stream->synchronize();
    exported = device.exportMemory(own);
    if (exported.file)
      files.push_back(exported.file.get());
    FieldWriter fields;
    fields.number(uint64_t(exported.kind)).number(exported.sizeBytes).text(exported.handle);
    return fields.bytes;
  });
  buffers.resize(size_t(group.ranks()));
  buffers[size_t(ownRank)] = std::move(own);
  try {
    group.agree([&] {
      for (int rank = 0; rank < group.ranks(); ++rank)
        if (rank != ownRank)
          buffers[size_t(rank)] = importFrom(group, rank, messages[size_t(rank)], exported, nameOf(rank));
      return "";
    });
  } catch (...) { // some rank may have mapped it
    leaveOwn();
    throw;
  }
}

Buffer SymmetricMemory::importFrom(ProcessGroup &group, int rank, Neighbours::Message &message,
                                   const ExportedMemory &mine, const std::string &name) const {
  FieldReader fields(message.bytes, group.describe(rank));
  ExportedMemory theirs;
  theirs.kind = kind;
  uint64_t theirKind = fields.number();
  theirs.sizeBytes = fields.number();
  theirs.handle = fields.text(ExportedMemory::mostHandleBytes);
  fields.end();
  if (theirKind != uint64_t(kind) || theirs.sizeBytes != mine.sizeBytes || message.files.size() != (mine.file ? 1 : 0))
    throw environmentError(fmt::format("{} shares {} bytes of memory in way {}, this rank {} in way {}",
                                       group.describe(rank), theirs.sizeBytes, theirKind, mine.sizeBytes, int(kind)));
  if (!message.files.empty())
    theirs.file = std::move(message.files[0]);
  return group.device()->importMemory(theirs, name);
}

SymmetricMemory::~SymmetricMemory() {
  if (!released)
    leaveOwn();
}

void SymmetricMemory::leaveOwn() noexcept {
  if (kind == SharingKind::CudaHandle && ownRank >= 0)
    (void)new Buffer(std::move(buffers[size_t(ownRank)]));
}

void SymmetricMemory::release(ProcessGroup &group) {
  for (int rank = 0; rank < int(buffers.size()); ++rank)
    if (rank != ownRank)
      buffers[size_t(rank)] = Buffer();
  if (kind == SharingKind::CudaHandle)
    group.neighbours().barrier(group.stepSeconds());
  released = true;
}

} // namespace heddle
