// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vector clocks of threads, streams and addresses, and the comparison at each access.
#include "tests/thread_interpreter/DeviceOrder.h"
#include "tests/thread_interpreter/Machine.h"
#include <algorithm>
#include <fmt/format.h>

using namespace heddle::threads;

//===-- Knowledge ------------------------------------------------------------------------------------------------===//

void Knowledge::join(const Knowledge &other) {
  if (slots.size() < other.slots.size())
    slots.resize(other.slots.size());
  for (size_t slot = 0; slot < other.slots.size(); ++slot) {
    const auto &theirs = other.slots[slot];
    auto &ours = slots[slot];
    if (!theirs || theirs == ours)
      continue;
    if (!ours) {
      ours = theirs;
      continue;
    }
    auto both = std::make_shared<Clocks>(*ours);
    both->resize(std::max(ours->size(), theirs->size()));
    for (size_t thread = 0; thread < theirs->size(); ++thread)
      (*both)[thread] = std::max((*both)[thread], (*theirs)[thread]);
    ours = std::move(both);
  }
}

void Knowledge::learn(uint32_t slot, uint32_t first, uint32_t count, uint32_t lanes, uint32_t clock) {
  if (slots.size() <= slot)
    slots.resize(slot + 1);
  auto &ours = slots[slot];
  auto clocks = ours ? std::make_shared<Clocks>(*ours) : std::make_shared<Clocks>();
  if (clocks->size() < first + count)
    clocks->resize(first + count);
  eachLane(lanes, [&](unsigned lane) { (*clocks)[first + lane] = clock; });
  ours = std::move(clocks);
}

void heddle::threads::joinInto(Known &known, const Known &other) {
  if (!other || known == other)
    return;
  if (!known) {
    known = other;
    return;
  }
  auto both = std::make_shared<Knowledge>(*known);
  both->join(*other);
  known = std::move(both);
}

/// Joins what the lanes know, each different object once.
static void joinLanes(Knowledge &known, const Warp &warp, uint32_t lanes) {
  const Knowledge *last = nullptr;
  eachLane(lanes, [&](unsigned lane) {
    const Known &own = (*warp.deviceOrder)[lane].known;
    if (own && own.get() != last)
      known.join(*(last = own.get()));
  });
}

/// What a thread knows, and all that it did itself.
static Known knowledgeOf(Warp &warp, unsigned lane) {
  const Known &known = (*warp.deviceOrder)[lane].known;
  auto all = known ? std::make_shared<Knowledge>(*known) : std::make_shared<Knowledge>();
  all->learn(warp.block.slot, warp.thread(lane), 1, 1, warp.deviceClock);
  ++warp.deviceClock;
  return all;
}

//===-- Agents ---------------------------------------------------------------------------------------------------===//

uint32_t DeviceOrder::takeSlot(uint32_t device, AgentKind kind) {
  std::vector<uint32_t> &free = freeSlots[kind];
  if (free.empty()) {
    free.push_back(uint32_t(slots.size()));
    slots.emplace_back();
  }
  uint32_t slot = free.back();
  free.pop_back();
  slots[slot].device = device, slots[slot].kind = kind;
  return slot;
}

void DeviceOrder::returnSlot(uint32_t slot) {
  freeSlots[slots[slot].kind].push_back(slot);
}

uint32_t DeviceOrder::siteOf(const Program &program, const Op &op) {
  if (program.sites.empty())
    program.sites.resize(program.ops.size());
  uint32_t &site = program.sites[size_t(&op - program.ops.data())];
  if (!site) {
    sites.push_back(program.describe(op));
    site = uint32_t(sites.size());
  }
  return site;
}

bool DeviceOrder::reaches(Scope scope, uint32_t fromSlot, uint32_t toSlot) const {
  return scope == Scope::System || fromSlot == toSlot ||
         (scope == Scope::Device && slots[fromSlot].device == slots[toSlot].device);
}

//===-- Races ----------------------------------------------------------------------------------------------------===//

bool DeviceOrder::races(const Stamp &before, const Stamp &now, const Known &known) const {
  if (!before.clock || (before.slot == now.slot && before.thread == now.thread))
    return false;
  if (before.strong && now.strong && reaches(Scope(before.scope), before.slot, now.slot) &&
      reaches(Scope(now.scope), now.slot, before.slot))
    return false;
  return !known || !known->has(before.slot, before.thread, before.clock);
}

std::string DeviceOrder::describe(const Stamp &stamp) const {
  const Slot &slot = slots[stamp.slot];
  return slot.kind == AgentKind::Block
             ? fmt::format("`{}` by thread {} of {}", sites[stamp.site - 1], unsigned(stamp.thread), slot.name)
             : fmt::format("{} by {}", sites[stamp.site - 1], slot.name);
}

void DeviceOrder::report(const Stamp &before, const Stamp &now, uint64_t address) {
  machine.find(FindingKind::DeviceRace, &sites[before.site - 1], &sites[now.site - 1], [&] {
    return fmt::format("race at {} in device memory: {}, then {}: nothing orders the first before the second",
                       machine.describePlace(address), describe(before), describe(now));
  });
}

void DeviceOrder::Line::refine(uint32_t bytes) {
  std::vector<Cell> smaller(lineBytes / bytes);
  for (uint32_t i = 0; i < smaller.size(); ++i)
    smaller[i] = cells[i * bytes / cellBytes];
  cells = std::move(smaller);
  cellBytes = bytes;
}

void DeviceOrder::checkCell(Line &line, Cell &cell, const Stamp &now, const Known &known, uint64_t address,
                            Access access) {
  if (races(cell.write, now, known))
    report(cell.write, now, address);
  if (access == Access::Read) {
    auto isSame = [&](const Stamp &old) {
      return old.slot == now.slot && old.thread == now.thread && old.strong == now.strong;
    };
    auto replaceable = [&](const Stamp &old) {
      return !old.clock || isSame(old) ||
             (old.strong == now.strong && known && known->has(old.slot, old.thread, old.clock));
    };
    auto place = std::find_if(cell.reads.begin(), cell.reads.end(), replaceable);
    (place == cell.reads.end() ? cell.reads[line.nextReader++ % mostReaders] : *place) = now;
    return;
  }
  for (Stamp &read : cell.reads) {
    if (races(read, now, known))
      report(read, now, address);
    read = {};
  }
  cell.write = now;
}

void DeviceOrder::check(const Stamp &now, const Known &known, uint64_t address, uint64_t bytes, Access access) {
  for (uint64_t end = address + bytes; address < end;) {
    uint64_t lineBegin = address / lineBytes * lineBytes, stop = std::min(end, lineBegin + lineBytes);
    Line &line = lines[address / lineBytes];
    bool isWhole = stop - address == lineBytes, isWords = address % 4 == 0 && stop % 4 == 0;
    if (uint32_t wanted = isWhole ? lineBytes : isWords ? 4 : 1; wanted < line.cellBytes)
      line.refine(wanted);
    for (uint64_t at = address; at < stop; at += line.cellBytes)
      checkCell(line, line.cells[(at - lineBegin) / line.cellBytes], now, known, at, access);
    if (isWhole && access == Access::Write && line.cells.size() > 1) {
      line.cells.resize(1);
      line.cellBytes = lineBytes;
    }
    if (line.hasMessages && access == Access::Write && !now.strong)
      for (uint64_t at = address; at < stop; ++at)
        messages.erase(at);
    address = stop;
  }
}

void DeviceOrder::access(Warp &warp, unsigned lane, const Op &op, uint64_t address, uint32_t bytes, Access access) {
  Stamp now;
  now.clock = warp.deviceClock;
  now.site = siteOf(warp.program(), op);
  now.strong = op.order != Order::Plain;
  now.scope = uint32_t(op.scope);
  now.slot = uint16_t(warp.block.slot);
  now.thread = uint16_t(warp.thread(lane));
  if (now.strong && access != Access::Write)
    observe(warp, lane, op, address);
  check(now, (*warp.deviceOrder)[lane].known, address, bytes, access);
  if (now.strong && access != Access::Read)
    publish(warp, lane, op, address, access == Access::Update);
}

void DeviceOrder::access(HostAgent &agent, const char *what, uint64_t address, uint64_t bytes, Access access) {
  Stamp now;
  auto [site, isNew] = hostSites.try_emplace(what, 0);
  if (isNew) {
    sites.push_back(what);
    site->second = uint32_t(sites.size());
  }
  now.clock = agent.clock, now.site = site->second, now.slot = uint16_t(agent.slot);
  now.strong = (bytes == 4 || bytes == 8) && address % bytes == 0;
  now.scope = uint32_t(Scope::System);
  check(now, agent.known, address, bytes, access);
}

void DeviceOrder::forget(uint64_t address, uint64_t bytes) {
  for (uint64_t at = address; at < address + bytes; ++at) {
    if (at % lineBytes == 0 && at + lineBytes <= address + bytes) {
      lines.erase(at / lineBytes);
      at += lineBytes - 1;
    } else if (auto line = lines.find(at / lineBytes); line != lines.end()) {
      line->second.refine(1);
      line->second.cells[at % lineBytes] = {};
    }
  }
  std::erase_if(messages, [&](const auto &row) { return row.first >= address && row.first < address + bytes; });
}

//===-- Order ----------------------------------------------------------------------------------------------------===//

void DeviceOrder::observe(Warp &warp, unsigned lane, const Op &op, uint64_t address) {
  auto found = messages.find(address);
  if (found == messages.end())
    return;
  const Message &message = found->second;
  uint32_t slot = warp.block.slot;
  if (!reaches(message.scope, message.slot, slot) || !reaches(op.scope, slot, message.slot))
    return;
  LaneOrder &own = (*warp.deviceOrder)[lane];
  bool acquires = op.order == Order::Acquire || op.order == Order::AcquireRelease;
  joinInto(acquires ? own.known : own.seen, message.known);
}

void DeviceOrder::publish(Warp &warp, unsigned lane, const Op &op, uint64_t address, bool updates) {
  LaneOrder &own = (*warp.deviceOrder)[lane];
  bool releases = op.order == Order::Release || op.order == Order::AcquireRelease;
  Known released = releases ? knowledgeOf(warp, lane) : own.released;
  if (!released) {
    if (!updates) // a read-modify-write goes on with the release that it read from
      messages.erase(address);
    return;
  }
  Scope scope = releases ? op.scope : std::min(own.releasedScope, op.scope);
  Message &message = messages[address];
  if (!updates)
    message.known = nullptr;
  joinInto(message.known, released);
  message.scope = scope;
  message.slot = warp.block.slot;
  lines[address / lineBytes].hasMessages = true;
}

void DeviceOrder::fence(Warp &warp, uint32_t lanes, Order order, Scope scope) {
  eachLane(lanes, [&](unsigned lane) {
    LaneOrder &own = (*warp.deviceOrder)[lane];
    if (order != Order::Release)
      joinInto(own.known, own.seen);
    if (order != Order::Acquire) {
      own.released = knowledgeOf(warp, lane);
      own.releasedScope = scope;
    }
  });
}

void DeviceOrder::arrive(Warp &warp, uint32_t lanes, Knowledge &known) {
  joinLanes(known, warp, lanes);
  known.learn(warp.block.slot, warp.index * warpSize, warpSize, lanes, warp.deviceClock++);
}

void DeviceOrder::synchronise(Warp &warp, uint32_t lanes) {
  auto known = std::make_shared<Knowledge>();
  joinLanes(*known, warp, lanes);
  known->learn(warp.block.slot, warp.index * warpSize, warpSize, lanes, warp.deviceClock++);
  eachLane(lanes, [&](unsigned lane) { (*warp.deviceOrder)[lane].known = known; });
}

void DeviceOrder::end(Block &block, Knowledge &known) {
  uint32_t &clock = clockOf(block.slot);
  for (const auto &warp : block.warps) {
    joinLanes(known, *warp, ~0u);
    known.learn(block.slot, warp->index * warpSize, warpSize, ~0u, warp->deviceClock);
    clock = std::max(clock, warp->deviceClock + 1);
  }
}
