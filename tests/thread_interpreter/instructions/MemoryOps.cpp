// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addresses, loads and stores. Device memory is the host's own, every access checked against the registered ranges;
// shared addresses are offsets into the block's array, local ones into the thread's, and generic ones tell which by
// their window.
#include "tests/thread_interpreter/Machine.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace heddle::threads;

static Place locateDevice(Warp &warp, const Op &op, unsigned lane, uint64_t address, uint64_t sizeBytes) {
  auto holds = [&](const Range &range) {
    return address >= range.begin && address <= range.end && sizeBytes <= range.end - address;
  };
  if (warp.range && holds(*warp.range))
    return {reinterpret_cast<uint8_t *>(address), 0, false, true};
  const Range *range = warp.machine().rangeBefore(address);
  if (!range || !holds(*range)) {
    std::string near = !range ? "below all ranges"
                              : fmt::format("{} bytes behind the begin of '{}', which has {}", address - range->begin,
                                            range->name, range->end - range->begin);
    warp.fail(op, lane,
              fmt::format("{} bytes at address {:#x} are outside device memory: {}", sizeBytes, address, near));
  }
  warp.range = range;
  return {reinterpret_cast<uint8_t *>(address), 0, false, true};
}

Place heddle::threads::locate(Warp &warp, const Op &op, unsigned lane, uint64_t address, uint64_t sizeBytes,
                              unsigned space, uint32_t alignment) {
  if (address & (alignment - 1))
    warp.fail(op, lane, fmt::format("address {:#x} is not a multiple of {}", address, alignment));
  if (space == Generic && address >= sharedWindow) {
    space = address >= localWindow ? Local : Shared;
    address -= space == Local ? localWindow : sharedWindow;
  }
  uint8_t *base;
  uint64_t limit;
  const char *memory;
  if (space == Shared) {
    base = warp.block.shared.data(), limit = warp.block.shared.size(), memory = "shared";
  } else if (space == Local) {
    limit = warp.program().localBytes, base = warp.local.get() + lane * limit, memory = "local";
  } else {
    return locateDevice(warp, op, lane, address, sizeBytes);
  }
  if (address > limit || sizeBytes > limit - address)
    warp.fail(
        op, lane,
        fmt::format("{} bytes at {:#x} are outside the {} bytes of {} memory", sizeBytes, address, limit, memory));
  return {base + address, uint32_t(address), space == Shared};
}

void heddle::threads::note(Warp &warp, const Op &op, unsigned lane, const Place &place, uint32_t bytes, Access access,
                           const uint8_t *values) {
  if (place.shared) {
    if (access != Access::Write)
      warp.block.checks.read(warp, lane, op, place.offset, bytes);
    if (access != Access::Read)
      warp.block.checks.write(warp, lane, op, place.offset, bytes, values);
  } else if (place.device) {
    warp.machine().progress += access != Access::Read;
    if (warp.deviceOrder)
      warp.machine().order->access(warp, lane, op, reinterpret_cast<uint64_t>(place.bytes), bytes, access);
  }
}

// Of a word of device memory that a range ends in.
static unsigned bytesInside(const Warp &warp, uint64_t address, unsigned sizeBytes) {
  auto begins = [&](const Range *range) { return range && address >= range->begin && address < range->end; };
  const Range *range = begins(warp.range) ? warp.range : warp.machine().rangeBefore(address);
  return sizeBytes == 4 && begins(range) ? unsigned(std::min<uint64_t>(sizeBytes, range->end - address)) : sizeBytes;
}

ChangedBytes::ChangedBytes(Warp &warp, const Op &op, unsigned lane, uint64_t address, unsigned sizeBytes,
                           unsigned space, uint32_t alignment, Access access)
    : warp(warp), op(op), lane(lane), sizeBytes(sizeBytes), space(space), address(address),
      inside(space == Global || space == Generic ? bytesInside(warp, address, sizeBytes) : sizeBytes),
      place(locate(warp, op, lane, address, inside, space, alignment)) {
  if (access != Access::None)
    note(warp, op, lane, place, inside, access);
  std::memcpy(bytes, place.bytes, inside);
}

void ChangedBytes::writeBack() {
  if (std::any_of(bytes + inside, bytes + sizeBytes, [](uint8_t byte) { return byte != 0; }))
    locate(warp, op, lane, address, sizeBytes, space, 1); // is the fault of any other write
  std::memcpy(place.bytes, bytes, inside);
}

static uint64_t fetch(const uint8_t *bytes, unsigned size) {
  uint64_t value = 0;
  switch (size) {
  case 1:
    return *bytes;
  case 2:
    std::memcpy(&value, bytes, 2);
    return value;
  case 4:
    std::memcpy(&value, bytes, 4);
    return value;
  default:
    std::memcpy(&value, bytes, size);
    return value;
  }
}

static Flow load(Warp &warp, const Op &op) {
  const uint64_t *address = warp.reg(op.in[0]);
  unsigned size = op.elementSize, bytes = size * op.outs;
  eachLane(warp.active, [&](unsigned lane) {
    Place place = locate(warp, op, lane, address[lane] + op.immediate, bytes, op.space, op.alignment);
    note(warp, op, lane, place, bytes, Access::Read);
    for (unsigned i = 0; i < op.outs; ++i)
      warp.reg(op.out[i])[lane] = fetch(place.bytes + i * size, size) & op.mask;
    if (op.atomic && lane == unsigned(std::countr_zero(warp.active)))
      warp.polledAddress = reinterpret_cast<uint64_t>(place.bytes), warp.polledValue = warp.reg(op.out[0])[lane];
  });
  return op.atomic ? Flow::Yield : Flow::Next;
}

// The address is the first operand, the elements follow.
static Flow store(Warp &warp, const Op &op) {
  const uint64_t *address = warp.reg(op.in[0]);
  unsigned size = op.elementSize, bytes = size * (op.ins - 1);
  std::vector<uint8_t> large(bytes > 64 ? bytes : 0);
  uint8_t small[64], *values = large.empty() ? small : large.data();
  eachLane(warp.active, [&](unsigned lane) {
    Place place = locate(warp, op, lane, address[lane] + op.immediate, bytes, op.space, op.alignment);
    for (unsigned i = 0; i + 1 < op.ins; ++i)
      std::memcpy(values + i * size, &warp.reg(op.in[i + 1])[lane], size);
    note(warp, op, lane, place, bytes, Access::Write, values);
    std::memcpy(place.bytes, values, bytes);
  });
  return Flow::Next;
}

// The address, the mask's bit, and what lanes read whose bit is 0.
static Flow loadMasked(Warp &warp, const Op &op) {
  const uint64_t *address = warp.reg(op.in[0]), *bit = warp.reg(op.in[1]);
  unsigned size = op.elementSize, bytes = size * op.outs;
  eachLane(warp.active, [&](unsigned lane) {
    if (!(bit[lane] & 1)) {
      for (unsigned i = 0; i < op.outs; ++i)
        warp.reg(op.out[i])[lane] = warp.reg(op.in[2 + i])[lane];
      return;
    }
    Place place = locate(warp, op, lane, address[lane], bytes, op.space, op.alignment);
    note(warp, op, lane, place, bytes, Access::Read);
    for (unsigned i = 0; i < op.outs; ++i)
      warp.reg(op.out[i])[lane] = fetch(place.bytes + i * size, size) & op.mask;
  });
  return Flow::Next;
}

// The address, the mask's bit, the elements.
static Flow storeMasked(Warp &warp, const Op &op) {
  const uint64_t *address = warp.reg(op.in[0]), *bit = warp.reg(op.in[1]);
  unsigned size = op.elementSize, count = op.ins - 2u;
  std::vector<uint8_t> values(size * count);
  eachLane(warp.active, [&](unsigned lane) {
    if (!(bit[lane] & 1))
      return;
    Place place = locate(warp, op, lane, address[lane], values.size(), op.space, op.alignment);
    for (unsigned i = 0; i < count; ++i)
      std::memcpy(values.data() + i * size, &warp.reg(op.in[2 + i])[lane], size);
    note(warp, op, lane, place, uint32_t(values.size()), Access::Write, values.data());
    std::memcpy(place.bytes, values.data(), values.size());
  });
  return Flow::Next;
}

// memcpy, memmove: target, source, length; op.space is the target's, op.second the source's address space.
static Flow copyMemory(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    uint64_t bytes = warp.reg(op.in[2])[lane];
    if (!bytes)
      return;
    Place source = locate(warp, op, lane, warp.reg(op.in[1])[lane], bytes, op.second, 1);
    note(warp, op, lane, source, bytes, Access::Read);
    std::vector<uint8_t> values(source.bytes, source.bytes + bytes);
    Place target = locate(warp, op, lane, warp.reg(op.in[0])[lane], bytes, op.space, 1);
    note(warp, op, lane, target, bytes, Access::Write, values.data());
    std::memcpy(target.bytes, values.data(), bytes);
  });
  return Flow::Next;
}

static Flow setMemory(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    uint64_t bytes = warp.reg(op.in[2])[lane];
    if (!bytes)
      return;
    std::vector<uint8_t> values(bytes, uint8_t(warp.reg(op.in[1])[lane]));
    Place target = locate(warp, op, lane, warp.reg(op.in[0])[lane], bytes, op.space, 1);
    note(warp, op, lane, target, bytes, Access::Write, values.data());
    std::memcpy(target.bytes, values.data(), bytes);
  });
  return Flow::Next;
}

// base + index * immediate + second; the index is signed, of op.width bits.
static Flow indexAddress(Warp &warp, const Op &op) {
  const uint64_t *base = warp.reg(op.in[0]), *index = warp.reg(op.in[1]);
  uint64_t *__restrict result = warp.reg(op.out[0]);
  uint64_t signBit = uint64_t(1) << (op.width - 1);
  eachLane(warp.active, [&](unsigned lane) {
    uint64_t extended = (index[lane] ^ signBit) - signBit;
    result[lane] = base[lane] + extended * uint64_t(op.immediate) + uint64_t(op.second);
  });
  return Flow::Next;
}
static Flow offsetAddress(Warp &warp, const Op &op) {
  const uint64_t *base = warp.reg(op.in[0]);
  uint64_t *__restrict result = warp.reg(op.out[0]);
  eachLane(warp.active, [&](unsigned lane) { result[lane] = base[lane] + uint64_t(op.immediate); });
  return Flow::Next;
}

// From op.space to op.second. Null stays null.
static Flow castAddress(Warp &warp, const Op &op) {
  auto window = [](int64_t space) { return space == Shared ? sharedWindow : space == Local ? localWindow : 0; };
  uint64_t add = window(op.space) - window(op.second);
  const uint64_t *from = warp.reg(op.in[0]);
  uint64_t *to = warp.reg(op.out[0]);
  eachLane(warp.active, [&](unsigned lane) { to[lane] = from[lane] + add; });
  return Flow::Next;
}

template <unsigned Space>
static Flow isInSpace(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    uint64_t address = warp.reg(op.in[0])[lane];
    unsigned space = address >= localWindow ? Local : address >= sharedWindow ? Shared : Global;
    warp.reg(op.out[0])[lane] = space == Space;
  });
  return Flow::Next;
}

std::span<const Entry> heddle::threads::memoryTable() {
  static const Entry rows[] = {
      forAll("load", load),
      forAll("store", store),
      forAll("load.masked", loadMasked),
      forAll("store.masked", storeMasked),
      forAll("address.index", indexAddress),
      forAll("address.offset", offsetAddress),
      forAll("address.cast", castAddress),
      forAll("llvm.memcpy", copyMemory),
      forAll("llvm.memcpy.inline", copyMemory),
      forAll("llvm.memmove", copyMemory),
      forAll("llvm.memset", setMemory),
      forAll("llvm.nvvm.isspacep.global", isInSpace<Global>),
      forAll("llvm.nvvm.isspacep.shared", isInSpace<Shared>),
      forAll("llvm.nvvm.isspacep.local", isInSpace<Local>),
  };
  return rows;
}
