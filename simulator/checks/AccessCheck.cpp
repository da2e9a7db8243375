// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recomputes addresses before bits are dropped, since the memory system sees them only afterwards.
#include "simulator/checks/AccessCheck.h"
#include "simulator/instructions/BufferDescriptor.h"
#include "simulator/instructions/ScalarMemory.h"
#include "simulator/state/Workgroup.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace heddle::simulator {
namespace {

/// Calls `action(lane)` for each of the lanes until it returns false.
template <typename Action>
void forLanesWhile(uint64_t lanes, Action action) {
  while (lanes && action(unsigned(std::countr_zero(lanes))))
    lanes &= lanes - 1;
}

const char *verbOf(const MemoryRequest &request) {
  return request.kind == RequestKind::Atomic ? "atomic" : request.writesMemory() ? "write" : "read";
}

/// The least power of two whose multiples its addresses must be.
unsigned demandedAlignment(const MemoryRequest &request) {
  unsigned most = request.space == Space::Lds ? 16 : 4;
  return std::min(std::bit_ceil(unsigned(request.bytes)), most);
}

/// The address of a lane of a buffer instruction, before any bits are dropped.
uint64_t bufferAddress(const Wave &wave, const Instruction &instruction, const AccessPlan &plan, unsigned lane) {
  const Modifiers &modifiers = instruction.modifiers;
  const Operand &address = instruction.operands[plan.address];
  BufferDescriptor descriptor(wave.s + instruction.operands[plan.address + 1].index);
  uint32_t index = modifiers.idxen ? wave.v[address.index][lane] : 0;
  uint32_t offset = uint32_t(modifiers.offset) + (modifiers.offen ? wave.v[address.index + modifiers.idxen][lane] : 0);
  return descriptor.base + uint64_t(descriptor.stride) * index + offset +
         readUniform32(wave, instruction.operands[plan.address + 2]);
}

/// The bits that are set in the address of any lane, before any are dropped: the lowest 32, of the active lanes.
uint32_t bufferAddressBits(const Wave &wave, const MemoryRequest &request, const AccessPlan &plan) {
  const Instruction &instruction = *request.instruction;
  const Modifiers &modifiers = instruction.modifiers;
  const Operand &address = instruction.operands[plan.address];
  BufferDescriptor descriptor(wave.s + instruction.operands[plan.address + 1].index);
  uint32_t uniform = uint32_t(descriptor.base) + uint32_t(modifiers.offset) +
                     readUniform32(wave, instruction.operands[plan.address + 2]);
  const uint32_t *index = modifiers.idxen ? wave.v[address.index] : nullptr;
  const uint32_t *offset = modifiers.offen ? wave.v[address.index + modifiers.idxen] : nullptr;
  uint32_t bits = 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    uint32_t place = uniform + (index ? index[lane] * descriptor.stride : 0) + (offset ? offset[lane] : 0);
    bits |= place & -uint32_t(request.inRange[0] >> lane & 1);
  }
  return bits;
}

/// Of a scalar access, before any bits are dropped.
uint64_t scalarStart(const Wave &wave, const Instruction &instruction) {
  const Operand &base = instruction.operands[1];
  uint64_t start = instruction.mnemonic.starts_with("s_buffer_") ? BufferDescriptor(wave.s + base.index).base
                                                                 : readUniform64(wave, base);
  return start + scalarOffset(wave, instruction);
}

} // namespace

/// What rounds addresses finds other data; the others do as they are told.
static Check alignmentCheckOf(const AccessPlan &plan, const MemoryRequest &request) {
  bool rounds = plan.kind == AccessPlan::Kind::Scalar || (plan.kind == AccessPlan::Kind::Buffer && request.bytes > 2);
  return rounds ? Check::Misaligned : Check::MisalignedSlow;
}

AccessPlan accessPlanOf(const Instruction &instruction) {
  AccessPlan plan;
  std::string_view name = instruction.mnemonic;
  if (name.starts_with("s_")) {
    plan.kind = AccessPlan::Kind::Scalar;
    plan.address = 1;
  } else if (name.starts_with("buffer_")) {
    plan.kind = AccessPlan::Kind::Buffer;
    plan.address = uint8_t(!instruction.modifiers.lds);
  }
  constexpr std::string_view everywhere[] = {"add", "add_x2", "swap", "swap_x2", "cmpswap", "cmpswap_x2"};
  if (size_t at = name.find("_atomic_"); at != std::string_view::npos)
    plan.isForAnyMemory = std::ranges::count(everywhere, name.substr(at + std::string_view("_atomic_").size())) > 0;
  return plan;
}

void AccessCheck::issued(Wave &wave, MemoryRequest &request) {
  if (request.space == Space::None)
    return;
  const AccessPlan &plan = plans.of(*request.instruction);
  if (checks.has(alignmentCheckOf(plan, request)) && request.kind != RequestKind::Atomic)
    checkAlignment(wave, request, plan);
  if (checks.has(Check::Bounds) && plan.kind == AccessPlan::Kind::Buffer)
    checkBuffer(wave, request, plan);
  if (checks.has(Check::LostUpdate) && !plan.isForAnyMemory && (request.scope == Scope::System || request.isScalar()) &&
      request.kind == RequestKind::Atomic)
    checkUpdate(wave, request);
}

// ---- Memory ----

void AccessCheck::checkUpdate(Wave &wave, const MemoryRequest &request) {
  forLanesWhile(request.inRange[0], [&](unsigned lane) {
    const Allocation *allocation = memory.owner(request.address[lane]);
    if (!allocation || (allocation->placement == Placement::Normal && allocation->owner == int(wave.workgroup->device)))
      return true;
    Site site = Site::of(wave, *request.instruction, int(lane));
    findings.report(Check::LostUpdate, site, {}, [&] {
      const char *kind = allocation->placement == Placement::FineGrained ? "fine-grained memory"
                         : allocation->placement == Placement::Uncached  ? "uncached memory"
                         : allocation->owner == hostOwner                ? "memory of the host"
                                                                         : "memory of another device";
      Finding finding;
      finding.title =
          fmt::format("{} may be lost in {}",
                      request.isScalar() ? "a scalar atomic operation" : "an atomic operation for all devices", kind);
      finding.lines = {findings.line("atomic", site, describePlace(*allocation, request.address[lane]))};
      finding.needs = "a loop of compare-and-swaps, or ordinary memory of the device";
      return finding;
    });
    return false;
  });
}

// ---- Alignment ----

void AccessCheck::checkAlignment(Wave &wave, const MemoryRequest &request, const AccessPlan &plan) {
  unsigned demanded = demandedAlignment(request);
  if (demanded == 1)
    return;
  if (plan.kind == AccessPlan::Kind::Scalar) {
    if (uint64_t address = scalarStart(wave, *request.instruction); address % 4)
      reportMisaligned(wave, request, plan, address, 4, -1);
    return;
  }
  bool isBuffer = plan.kind == AccessPlan::Kind::Buffer && demanded > 2; // whose addresses are rounded already
  uint64_t bits = isBuffer ? bufferAddressBits(wave, request, plan) : 0;
  for (unsigned lane = 0; lane < waveLanes && !isBuffer; ++lane)
    bits |= request.address[lane];
  if (!(bits % demanded))
    return;
  forLanesWhile(request.inRange[0], [&](unsigned lane) {
    uint64_t address = isBuffer ? bufferAddress(wave, *request.instruction, plan, lane) : request.address[lane];
    if (address % demanded)
      reportMisaligned(wave, request, plan, address, demanded, int(lane));
    return address % demanded == 0;
  });
}

void AccessCheck::reportMisaligned(Wave &wave, const MemoryRequest &request, const AccessPlan &plan, uint64_t address,
                                   unsigned demanded, int lane) {
  Site site = Site::of(wave, *request.instruction, lane);
  findings.report(alignmentCheckOf(plan, request), site, {}, [&] {
    bool isGlobal = request.space == Space::Global || request.space == Space::Flat;
    const Allocation *allocation = isGlobal ? memory.owner(address) : nullptr;
    std::string place = allocation                        ? describePlace(*allocation, address)
                        : request.space == Space::Lds     ? fmt::format("LDS 0x{:x}", address)
                        : request.space == Space::Scratch ? fmt::format("scratch 0x{:x}", address)
                                                          : fmt::format("0x{:x}", address);
    Finding finding;
    finding.title =
        fmt::format("{} bytes are accessed at an address that is no multiple of {}", request.bytes, demanded);
    finding.lines = {findings.line(verbOf(request), site, place)};
    finding.needs = fmt::format("addresses that are multiples of {}, or accesses of fewer bytes", demanded);
    return finding;
  });
}

// ---- Ranges of descriptors ----

void AccessCheck::checkBuffer(Wave &wave, const MemoryRequest &request, const AccessPlan &plan) {
  const Instruction &instruction = *request.instruction;
  BufferDescriptor descriptor(wave.s + instruction.operands[plan.address + 1].index);
  uint64_t any = 0, all = request.lanes;
  for (unsigned word = 0; word < (request.bytes + 3u) / 4; ++word)
    any |= request.inRange[word], all &= request.inRange[word];
  bool isStructured = instruction.modifiers.idxen && descriptor.stride;
  if (all != request.lanes && !isStructured)
    forLanesWhile(request.lanes & ~all, [&](unsigned lane) {
      uint64_t first = request.address[lane] - descriptor.base, end = descriptor.records;
      bool isCut = first < end && first + request.bytes > end;
      if (isCut)
        reportBuffer(wave, request, plan, "an access is in part beyond the range of its descriptor", lane,
                     "a range that ends where an access does, or narrower accesses at its end");
      return !isCut;
    });
  const Allocation *buffer = any ? memory.around(descriptor.base, false) : nullptr;
  if (!buffer)
    return;
  uint64_t least = ~uint64_t(0), greatest = 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    uint64_t inactive = (any >> lane & 1) - 1;
    least = std::min(least, request.address[lane] | inactive);
    greatest = std::max(greatest, request.address[lane] & ~inactive);
  }
  if (least >= buffer->base && buffer->contains(greatest, request.bytes))
    return;
  forLanesWhile(any, [&](unsigned lane) {
    unsigned words = 0;
    for (unsigned word = 0; word < (request.bytes + 3u) / 4; ++word)
      words += request.inRange[word] >> lane & 1;
    bool isInside = buffer->contains(request.address[lane], std::min<unsigned>(request.bytes, 4 * words));
    if (!isInside)
      reportBuffer(wave, request, plan,
                   "an access within the range of its descriptor leaves the buffer in which the descriptor begins",
                   lane,
                   fmt::format("a range of at most {} bytes, which the buffer has after the descriptor's base",
                               buffer->base + buffer->usedBytes() - descriptor.base));
    return isInside;
  });
}

void AccessCheck::reportBuffer(Wave &wave, const MemoryRequest &request, const AccessPlan &plan, const char *title,
                               unsigned lane, const std::string &needs) {
  Site site = Site::of(wave, *request.instruction, int(lane));
  findings.report(Check::Bounds, site, {}, [&] {
    BufferDescriptor descriptor(wave.s + request.instruction->operands[plan.address + 1].index);
    const Allocation *buffer = memory.owner(descriptor.base);
    uint64_t offset = request.address[lane] - descriptor.base;
    Finding finding;
    finding.title = title;
    finding.lines = {
        findings.line(verbOf(request), site,
                      fmt::format("bytes 0x{:x}..0x{:x} after its base", offset, offset + request.bytes - 1)),
        fmt::format("  note   the descriptor's range: {} {} from {}", descriptor.records,
                    descriptor.stride && request.instruction->modifiers.idxen ? "elements" : "bytes",
                    buffer ? describePlace(*buffer, descriptor.base) : fmt::format("0x{:x}", descriptor.base))};
    finding.needs = needs;
    return finding;
  });
}

} // namespace heddle::simulator
