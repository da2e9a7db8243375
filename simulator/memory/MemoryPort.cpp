// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/memory/MemoryPort.h"

namespace heddle::simulator {
namespace {

void completeOldest(Wave &wave, PendingRequests::Queue &queue) {
  std::shared_ptr<PendingRequests::Entry> entry = queue.front();
  queue.pop_front();
  if (--entry->queuesLeft == 0)
    entry->request.land(wave, entry->request);
}

void shrink(Wave &wave, PendingRequests::Queue &queue, size_t most) {
  while (queue.size() > most)
    completeOldest(wave, queue);
}

} // namespace

void MemoryPort::enqueue(Wave &wave, const MemoryRequest &request) {
  auto entry = std::make_shared<PendingRequests::Entry>();
  entry->request = request;
  PendingRequests &pending = *wave.pending;
  entry->queuesLeft = unsigned(std::popcount(request.queues));
  if (request.queues & MemoryRequest::Vector)
    pending.vector.push_back(entry);
  if (request.queues & MemoryRequest::Lds)
    pending.local.push_back(entry);
  if (request.queues & MemoryRequest::Scalar)
    pending.scalar.push_back(entry);
  // A counter that is full holds the wave until there is room.
  shrink(wave, pending.vector, vectorCapacity);
  shrink(wave, pending.local, localCapacity);
  shrink(wave, pending.scalar, localCapacity);
}

/// Scalar loads return in any order, so that only a count of 0 says anything about them, and while one is pending a
/// count above 0 says of LDS operations only that not more than so many remain.
void MemoryPort::completeUntil(Wave &wave, unsigned vectorCount, unsigned localCount) {
  PendingRequests &pending = *wave.pending;
  if (vectorCount < vectorCapacity)
    shrink(wave, pending.vector, vectorCount);
  if (localCount < localCapacity)
    shrink(wave, pending.local, localCount);
  if (localCount == 0)
    shrink(wave, pending.scalar, 0);
}

} // namespace heddle::simulator
