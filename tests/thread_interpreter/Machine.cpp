// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks and warps: how they begin, what their threads are called in messages, and how a warp's lanes learn of each
// other.
#include "tests/thread_interpreter/Machine.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace heddle::threads;

bool Report::has(FindingKind kind) const {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding &finding) { return finding.kind == kind; });
}

std::string Report::text() const {
  std::string text = error.empty() ? "" : "error: " + error + "\n";
  for (const Finding &finding : findings)
    text += finding.message + (finding.count > 1 ? fmt::format(" ({} times)\n", finding.count) : "\n");
  return text;
}

const Range *Machine::rangeBefore(uint64_t address) const {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                [](uint64_t value, const Range &range) { return value < range.begin; });
  return after == ranges.begin() ? nullptr : &*std::prev(after);
}

std::string Machine::describePlace(uint64_t address) const {
  const Range *range = rangeBefore(address);
  return range ? fmt::format("byte {} of '{}'", address - range->begin, range->name)
               : fmt::format("address {:#x}", address);
}

// Bytes that no thread wrote: a NaN in every format.
static constexpr uint8_t unwritten = 0xff;

Block::Block(Machine &machine, Rank &rank, Dim3 index, uint32_t slot)
    : machine(machine), rank(rank), index(index), threads(rank.launch.block.count()),
      shared(rank.program->staticSharedBytes + rank.launch.dynamicSharedBytes, unwritten), checks(shared.size()),
      slot(slot) {
  for (unsigned warp = 0; warp * warpSize < threads; ++warp)
    warps.push_back(std::make_unique<Warp>(*this, warp));
}

bool Block::isDone() const {
  return std::all_of(warps.begin(), warps.end(), [](const auto &warp) { return !warp->live; });
}

std::string Block::name() const {
  std::string text = fmt::format("block ({}, {}, {})", index.x, index.y, index.z);
  return rank.name.empty() ? text : text + " of " + rank.name;
}

Warp::Warp(Block &block, unsigned index)
    : block(block), index(index), registers(new uint64_t[size_t(block.program().registers) * warpSize]),
      knownWarps((block.threads + warpSize - 1) / warpSize) {
  const Program &program = block.program();
  uint32_t lanes = std::min(warpSize, block.threads - index * warpSize);
  live = lanes == warpSize ? ~0u : (1u << lanes) - 1;
  if (program.localBytes) {
    local.reset(new uint8_t[size_t(program.localBytes) * warpSize]);
    std::memset(local.get(), unwritten, size_t(program.localBytes) * warpSize);
  }
  for (auto [slot, value] : program.constants)
    std::fill_n(reg(slot), warpSize, value);
  const Launch &launch = block.rank.launch;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    size_t count = launch.arguments.size();
    uint64_t value = i < count ? launch.arguments[i] : reinterpret_cast<uint64_t>(&launch.tensorMaps[i - count]);
    std::fill_n(reg(program.parameters[i]), warpSize, value);
  }
  if (DeviceOrder *order = block.machine.order) {
    deviceClock = order->clockOf(block.slot);
    deviceOrder = std::make_unique<std::array<LaneOrder, warpSize>>();
    // The end of a kernel, or of a copy, releases what its stream has done: what a kernel then stores relaxed carries
    // it.
    for (LaneOrder &lane : *deviceOrder)
      lane.known = lane.released = block.rank.begin;
  }
}

std::string Warp::name(unsigned lane) const {
  return fmt::format("thread {} of {}", thread(lane), block.name());
}

void Warp::synchronise(uint32_t lanes) {
  if (deviceOrder)
    machine().order->synchronise(*this, lanes);
  synchroniseShared(lanes);
}

void heddle::threads::joinInto(KnownThreads &known, const KnownThreads &other) {
  if (!other || known == other)
    return;
  if (!known) {
    known = other;
    return;
  }
  auto both = std::make_shared<Clocks>(*known);
  for (size_t thread = 0; thread < both->size(); ++thread)
    (*both)[thread] = std::max((*both)[thread], (*other)[thread]);
  known = std::move(both);
}

void Warp::synchroniseShared(uint32_t lanes) {
  KnownThreads threads;
  eachLane(lanes, [&](unsigned lane) { joinInto(threads, knownThreads[lane]); });
  if (threads)
    eachLane(lanes, [&](unsigned lane) { knownThreads[lane] = threads; });
  if (lanes == ~0u) {
    // Everyone learns all; nothing older is left to know.
    for (auto &known : knownLanes)
      known.fill(clock);
  } else {
    std::array<uint32_t, warpSize> joined{};
    eachLane(lanes, [&](unsigned lane) {
      for (unsigned other = 0; other < warpSize; ++other)
        joined[other] = std::max(joined[other], knownLanes[lane][other]);
    });
    eachLane(lanes, [&](unsigned lane) { joined[lane] = clock; });
    eachLane(lanes, [&](unsigned lane) { knownLanes[lane] = joined; });
  }
  ++clock;
}

void Warp::fail(const Op &op, unsigned lane, const std::string &what) const {
  throw Fatal{fmt::format("`{}`, {}: {}", program().describe(op), name(lane), what)};
}
