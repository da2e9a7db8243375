// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fills the argument segment and the dispatch packet, and sets the registers in the order of the descriptor's bits.
#include "simulator/machine/Launch.h"
#include "chips/Chip.h"
#include "simulator/memory/Pattern.h"
#include "simulator/state/Apertures.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::simulator {
namespace {

constexpr uint32_t mostWavesPerGroup = 16;
constexpr uint64_t packetBytes = 64, queueBytes = 256;
constexpr uint64_t preloadPrologueBytes = 256;
constexpr uint64_t dynamicStackBytes = 16 * 1024;
constexpr uint32_t mostPrivateBytes = 128 * 1024; ///< of a work-item: what 8 MiB for a wave give
/// Bits of KERNEL_CODE_PROPERTIES, in the order in which their registers follow each other.
enum Property : uint16_t {
  privateSegmentBuffer = 1,
  dispatchPointer = 2,
  queuePointer = 4,
  kernargPointer = 8,
  dispatchId = 16,
  flatScratchInit = 32,
  privateSegmentSize = 64,
};

template <typename T>
void put(std::string &bytes, uint64_t offset, T value) {
  if (offset + sizeof value <= bytes.size())
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// What the driver gives a launch: memory of the host, which all devices see alike.
Allocation &allocateOnHost(AddressSpace &memory, uint64_t sizeBytes, const char *name) {
  Allocation &made = memory.allocate(sizeBytes, name);
  made.owner = hostOwner;
  return made;
}

} // namespace

void checkGeometry(const AmdKernel &kernel, const Chip &chip, const Geometry &geometry) {
  uint64_t items = 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (geometry.groups[i] == 0 || geometry.items[i] == 0)
      throw inputError("a grid and a block have at least one element in each dimension");
    items *= geometry.items[i];
    if (items > mostWavesPerGroup * waveLanes || geometry.items[i] > 1024)
      throw inputError(fmt::format("a workgroup of {} x {} x {} work-items, and {} are the most on {}",
                                   geometry.items[0], geometry.items[1], geometry.items[2],
                                   mostWavesPerGroup * waveLanes, chip.name));
    if (uint64_t(geometry.groups[i]) * geometry.items[i] > UINT32_MAX)
      throw inputError(fmt::format("{} workgroups of {} work-items along {} are {} work-items, and 2^32-1 are the most",
                                   geometry.groups[i], geometry.items[i], "xyz"[i],
                                   uint64_t(geometry.groups[i]) * geometry.items[i]));
  }
  if (kernel.mostWorkItems && items > kernel.mostWorkItems)
    throw inputError(fmt::format("a workgroup of {} work-items, and kernel `{}` is compiled for at most {}", items,
                                 kernel.name, kernel.mostWorkItems),
                     {fmt::format("give `--block {}` or less, or compile the kernel for more", kernel.mostWorkItems)});
  if (const auto &wanted = kernel.requiredWorkgroup;
      wanted[0] && wanted != std::array{geometry.items[0], geometry.items[1], geometry.items[2]})
    throw inputError(fmt::format("a workgroup of {} x {} x {} work-items, and kernel `{}` is compiled for {} x {} x {}",
                                 geometry.items[0], geometry.items[1], geometry.items[2], kernel.name, wanted[0],
                                 wanted[1], wanted[2]),
                     {fmt::format("give `--block {},{},{}`", wanted[0], wanted[1], wanted[2])});
  if (kernel.privateBytes > mostPrivateBytes)
    throw inputError(fmt::format("kernel `{}` takes {} bytes of scratch for each work-item, and {} are the most",
                                 kernel.name, kernel.privateBytes, mostPrivateBytes));
  uint64_t lds = uint64_t(kernel.groupBytes) + geometry.dynamicLdsBytes;
  if (lds > uint64_t(chip.sharedMemoryBytes))
    throw inputError(fmt::format("kernel `{}` takes {} bytes of LDS ({} of its own, {} dynamic), and {} has {}",
                                 kernel.name, lds, kernel.groupBytes, geometry.dynamicLdsBytes, chip.name,
                                 chip.sharedMemoryBytes));
}

Launch::Launch(AddressSpace &memory, const AmdKernel &kernel, const Geometry &geometry, std::string bytes,
               uint64_t codeBase, bool preloads, uint64_t seed)
    : kernel(kernel), geometry(geometry), memory(memory), entry(codeBase + kernel.entry),
      pattern(firstOfPattern(seed)) {
  constexpr uint64_t readAhead = 64; // a wide scalar load may reach past the last argument
  bytes.resize((std::max<uint64_t>(kernel.kernargBytes, bytes.size()) + readAhead) & ~uint64_t(3));
  fillHiddenArguments(bytes);
  queue = allocateOnHost(memory, queueBytes, "queue").base;
  for (const AmdArgument &argument : kernel.arguments)
    if (argument.valueKind == "hidden_queue_ptr")
      put(bytes, argument.offset, queue);
  Allocation &segment = allocateOnHost(memory, bytes.size(), "kernel arguments");
  std::memcpy(segment.bytes.get(), bytes.data(), bytes.size());
  segment.writable = false;
  arguments = segment.base;
  writeDispatchPacket();
  if (preloads && kernel.preloadedWords()) {
    entry += preloadPrologueBytes;
    preloaded.resize(kernel.preloadedWords());
    uint64_t first = kernel.preloadOffsetWords() * 4;
    for (uint64_t i = 0; i < preloaded.size() && first + 4 * i + 4 <= bytes.size(); ++i)
      std::memcpy(&preloaded[i], bytes.data() + first + 4 * i, 4);
  }
}

Launch::~Launch() {
  for (uint64_t address : {arguments, packet, queue})
    memory.free(address);
}

void Launch::fillHiddenArguments(std::string &bytes) const {
  unsigned dimensions = geometry.groups[2] * geometry.items[2] > 1   ? 3
                        : geometry.groups[1] * geometry.items[1] > 1 ? 2
                                                                     : 1;
  for (const AmdArgument &argument : kernel.arguments) {
    const std::string &kind = argument.valueKind;
    unsigned axis = kind.ends_with("_y") ? 1 : kind.ends_with("_z") ? 2 : 0;
    if (kind.starts_with("hidden_block_count_"))
      put(bytes, argument.offset, geometry.groups[axis]);
    else if (kind.starts_with("hidden_group_size_"))
      put(bytes, argument.offset, uint16_t(geometry.items[axis]));
    else if (kind == "hidden_grid_dims")
      put(bytes, argument.offset, uint16_t(dimensions));
    else if (kind == "hidden_dynamic_lds_size")
      put(bytes, argument.offset, geometry.dynamicLdsBytes);
    else if (kind == "hidden_shared_base")
      put(bytes, argument.offset, uint32_t(sharedAperture >> 32));
    else if (kind == "hidden_private_base")
      put(bytes, argument.offset, uint32_t(privateAperture >> 32));
  }
}

void Launch::writeDispatchPacket() {
  std::string bytes(packetBytes, '\0');
  constexpr uint16_t kernelDispatch = 2, systemScopes = 2 << 9 | 2 << 11;
  put(bytes, 0, uint16_t(kernelDispatch | systemScopes));
  put(bytes, 2, uint16_t(3)); // dimensions
  for (unsigned i = 0; i < 3; ++i) {
    put(bytes, 4 + 2 * i, uint16_t(geometry.items[i]));
    put(bytes, 12 + 4 * i, uint32_t(geometry.groups[i] * geometry.items[i]));
  }
  put(bytes, 24, kernel.privateBytes);
  put(bytes, 28, ldsBytes());
  put(bytes, 32, entry - kernel.entry + kernel.descriptor);
  put(bytes, 40, arguments);
  Allocation &allocation = allocateOnHost(memory, packetBytes, "dispatch packet");
  std::memcpy(allocation.bytes.get(), bytes.data(), bytes.size());
  allocation.writable = false;
  packet = allocation.base;
}

std::array<uint32_t, 3> Launch::groupId(uint64_t number) const {
  return {uint32_t(number % geometry.groups[0]), uint32_t(number / geometry.groups[0] % geometry.groups[1]),
          uint32_t(number / geometry.groups[0] / geometry.groups[1])};
}

/// Returns the number of user registers.
unsigned Launch::startScalars(Wave &wave) const {
  unsigned next = 0;
  auto pair = [&](Property property, uint64_t value) {
    if (kernel.properties & property) {
      wave.setScalar64(next, value);
      wave.givenScalars |= uint64_t(3) << next;
      next += 2;
    }
  };
  if (kernel.properties & privateSegmentBuffer)
    next += 4;
  pair(dispatchPointer, packet);
  pair(queuePointer, queue);
  pair(kernargPointer, arguments);
  pair(dispatchId, 0);
  pair(flatScratchInit, 0);
  auto give = [&wave](unsigned index, uint32_t value) {
    wave.s[index] = value;
    wave.givenScalars |= uint64_t(1) << index;
  };
  if (kernel.properties & privateSegmentSize)
    give(next++, uint32_t(wave.scratchBytes));
  for (size_t i = 0; i < preloaded.size() && next + i < kernel.userRegisters(); ++i)
    give(unsigned(next + i), preloaded[i]);
  return kernel.userRegisters();
}

void Launch::startLds(std::vector<uint8_t> &lds) const {
  lds.resize(ldsBytes());
  fillPattern(lds.data(), lds.size() & ~size_t(3), pattern);
}

void Launch::start(Wave &wave, const Workgroup &group) const {
  unsigned accumulators = kernel.firstAccumulator(), all = kernel.vectorRegisters();
  fillPattern(wave.v[0], std::min(accumulators, 256u) * waveLanes * 4, pattern);
  if (all > accumulators)
    fillPattern(wave.v[firstAccumulationRow], std::min(all - accumulators, 256u) * waveLanes * 4, pattern);
  fillPattern(wave.s, sizeof wave.s, pattern);
  wave.scratchBytes = (kernel.privateBytes + (kernel.dynamicStack ? dynamicStackBytes : 0) + 3) & ~uint64_t(3);
  wave.scratch.resize(wave.scratchBytes * waveLanes);
  fillPattern(wave.scratch.data(), wave.scratch.size() & ~size_t(3), pattern);
  wave.mode = (kernel.resource1 >> 12 & 0xff) | (kernel.resource1 >> 21 & 1) << 8 | (kernel.resource1 >> 23 & 1) << 9;
  wave.givenScalars = 0;
  unsigned next = startScalars(wave);
  for (unsigned axis = 0; axis < 3; ++axis)
    if (kernel.resource2 >> (7 + axis) & 1) {
      wave.givenScalars |= uint64_t(1) << next;
      wave.s[next++] = group.id[axis];
    }
  uint32_t first = wave.indexInGroup * waveLanes, items = geometry.itemsPerGroup();
  uint32_t x = first % geometry.items.x, y = first / geometry.items.x % geometry.items.y,
           z = first / geometry.items.x / geometry.items.y;
  unsigned ids = kernel.resource2 >> 11 & 3; // beyond x: what the kernel did not ask for is 0
  for (uint32_t lane = 0; lane < waveLanes; ++lane) {
    wave.v[0][lane] = x | (ids > 0 ? y << 10 : 0) | (ids > 1 ? z << 20 : 0);
    if (++x == geometry.items.x) {
      x = 0;
      if (++y == geometry.items.y)
        y = 0, ++z;
    }
  }
  uint32_t active = std::min(items - first, waveLanes);
  wave.setExec(active == waveLanes ? allLanes : (uint64_t(1) << active) - 1);
  wave.scc = false;
  wave.setVcc(0);
  wave.pc = entry;
  wave.state = Wave::State::Running;
}

} // namespace heddle::simulator
