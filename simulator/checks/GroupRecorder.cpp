// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the requests of a workgroup compactly, and makes them again when its turn has come.
#include "simulator/checks/GroupRecorder.h"
#include "simulator/checks/Checks.h"
#include "simulator/state/Fault.h"
#include "simulator/state/Workgroup.h"
#include <cstddef>
#include <fmt/format.h>

namespace heddle::simulator {
namespace {

constexpr size_t headBytes = offsetof(MemoryRequest, address);

bool maintainsCaches(const MemoryRequest &request) {
  return request.kind == RequestKind::WriteBack || request.kind == RequestKind::Invalidate ||
         request.kind == RequestKind::ScalarWriteBack || request.kind == RequestKind::ScalarInvalidate;
}

bool reachesGlobal(const MemoryRequest &request) {
  return request.space == Space::Global || request.space == Space::Flat || maintainsCaches(request);
}

/// How many addresses a request has that do not follow from the first.
size_t addressCount(const MemoryRequest &request) {
  return request.isScalar() || request.isRow ? 1 : waveLanes;
}

/// A compare-and-swap has twice as many words as its result.
size_t dataBytes(const MemoryRequest &request) {
  if (request.kind == RequestKind::Atomic)
    return sizeof request.data;
  return request.kind == RequestKind::Store ? request.words * sizeof(Row) : 0;
}

} // namespace

void GroupRecord::append(const void *bytes, size_t size) {
  auto first = static_cast<const uint8_t *>(bytes);
  requests.insert(requests.end(), first, first + size);
}

void GroupRecord::addRequest(const Wave &wave, const MemoryRequest &request) {
  size_t size = headBytes + addressCount(request) * sizeof request.address[0] + dataBytes(request);
  if (size > requestBytes - requests.size())
    throw Fault(fmt::format("records {} bytes of requests and {} more, and a record has {} at most: it needs its turn",
                            requests.size(), size, requestBytes));
  entries.push_back({.event = Event::Issued, .wave = uint8_t(wave.indexInGroup), .value = uint32_t(requests.size())});
  append(&request, headBytes);
  append(request.address, addressCount(request) * sizeof request.address[0]);
  append(request.data, dataBytes(request));
}

void GroupRecord::readRequest(uint32_t offset, MemoryRequest &request) const {
  const uint8_t *from = requests.data() + offset;
  std::memcpy(static_cast<void *>(&request), from, headBytes);
  size_t bytes = addressCount(request) * sizeof request.address[0];
  std::memcpy(request.address, from + headBytes, bytes);
  for (unsigned lane = 1; request.isRow && lane < waveLanes; ++lane)
    request.address[lane] = request.address[0] + lane * request.bytes;
  std::memcpy(request.data, from + headBytes + bytes, dataBytes(request));
}

GroupRecorder::GroupRecorder(Findings &findings) : findings(findings) {
  findings.onReport = [this](const Findings::Report &report) {
    record->entries.push_back({.event = GroupRecord::Event::Reported, .value = uint32_t(record->reports.size())});
    record->reports.push_back({report.check, report.first, report.second, report.likelihood, report.index});
  };
}

void GroupRecorder::groupBegins(Workgroup &) {
  record = std::make_unique<GroupRecord>();
  findings.clear();
}

void GroupRecorder::issued(Wave &wave, MemoryRequest &request) {
  if (!reachesGlobal(request))
    return;
  if (request.space == Space::Flat)
    for (uint64_t rest = request.lanes; rest; rest &= rest - 1)
      if (isOnChip(request.address[std::countr_zero(rest)]))
        throw Fault("reaches LDS or scratch by flat addresses, which needs its turn");
  record->addRequest(wave, request);
}

void GroupRecorder::completed(Wave &wave, MemoryRequest &request) {
  if (reachesGlobal(request))
    record->entries.push_back(
        {GroupRecord::Event::Completed, uint8_t(wave.indexInGroup), request.kind, request.scope, request.serial, 0});
}

void GroupRecorder::waveEnds(Wave &wave) {
  record->entries.push_back({.event = GroupRecord::Event::WaveEnds, .wave = uint8_t(wave.indexInGroup)});
}

void GroupRecorder::barrierOpens(Workgroup &group, bool someEnded) {
  record->entries.push_back(
      {.event = GroupRecord::Event::BarrierOpens, .value = someEnded, .times = uint32_t(record->times.size())});
  for (auto &wave : group.waves)
    record->times.push_back(wave->checks->clock.now);
}

std::unique_ptr<RecordedGroup> GroupRecorder::take() {
  record->findings = findings.list();
  return std::move(record);
}

} // namespace heddle::simulator
