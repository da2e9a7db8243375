// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Digests of each wave's accesses, in the order in which others could see them.
#include "simulator/mutations/AccessTrace.h"
#include "simulator/state/Workgroup.h"
#include <algorithm>
#include <bit>

namespace heddle::simulator {
namespace {

constexpr uint64_t factors[2] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f};

void mix(AccessTrace::Digest &digest, uint64_t value) {
  for (unsigned i = 0; i < 2; ++i) {
    uint64_t &word = digest.words[i];
    word = (std::rotl(word, 23) ^ value) * factors[i];
    word ^= word >> 29;
  }
}

/// What one lane accesses, and with what.
struct LaneAccess {
  uint64_t address = 0, other = 0; ///< `other`: the data of a store, the place in LDS of a load to it
  auto operator<=>(const LaneAccess &) const = default;
};

std::vector<LaneAccess> accessesOf(const MemoryRequest &request) {
  std::vector<LaneAccess> accesses;
  for (uint64_t rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    LaneAccess access{request.address[lane], 0};
    if (request.kind == RequestKind::LoadToLds)
      access.other = uint64_t(request.ldsBase) + lane * request.ldsStride;
    if (request.kind == RequestKind::Store) {
      AccessTrace::Digest data;
      for (unsigned word = 0; word < request.words; ++word)
        mix(data, request.data[word][lane]);
      access.other = data.words[0];
    }
    accesses.push_back(access);
  }
  std::sort(accesses.begin(), accesses.end());
  accesses.erase(std::unique(accesses.begin(), accesses.end()), accesses.end());
  return accesses;
}

/// Whether it matters which lanes there are, and not only what they do.
bool countsLanes(const MemoryRequest &request, const std::vector<LaneAccess> &accesses) {
  if (request.kind == RequestKind::Atomic)
    return true;
  if (request.kind != RequestKind::Store)
    return false;
  if (request.pieces > 1)
    return true;
  for (size_t i = 1; i < accesses.size(); ++i) // two values for one byte: the lane says which one stays
    if (accesses[i].address - accesses[i - 1].address < request.bytes)
      return true;
  return false;
}

/// What EXEC becomes by the instructions that mutations unmask.
uint64_t lanesAfter(const Wave &wave, const Instruction &instruction) {
  if (instruction.mnemonic == "s_and_saveexec_b64")
    return wave.exec() & readUniform64(wave, instruction.operands[1]);
  if (instruction.mnemonic == "s_and_b64" && instruction.operands[0].index == execRegister)
    return readUniform64(wave, instruction.operands[1]) & readUniform64(wave, instruction.operands[2]);
  return wave.exec();
}

} // namespace

void AccessTrace::add(const Wave &wave, uint64_t value) {
  mix(waves[wave.number], value);
}

/// What steers the schedule counts too.
void AccessTrace::beforeInstruction(Wave &wave, const Instruction &instruction) {
  if (instruction.mnemonic == "s_waitcnt" || instruction.mnemonic == "s_barrier" || instruction.mnemonic == "s_endpgm")
    add(wave, instruction.pc);
  if (wave.exec() & ~lanesAfter(wave, instruction))
    masked.insert(instruction.pc);
}

void AccessTrace::issued(Wave &wave, MemoryRequest &request) {
  add(wave, request.instruction->pc);
  // Write-backs and invalidations have no place; what comes of moves between lanes shows elsewhere.
  if (request.bytes == 0 || request.kind == RequestKind::Other)
    return;
  if (request.isScalar()) {
    add(wave, request.address[0]);
    for (unsigned word = 0; word < request.words && request.writesMemory(); ++word)
      add(wave, request.scalarData[word]);
    return;
  }
  std::vector<LaneAccess> accesses = accessesOf(request);
  if (countsLanes(request, accesses))
    add(wave, request.lanes);
  if (request.kind == RequestKind::Atomic)
    for (unsigned word = 0; word < request.words; ++word)
      for (uint64_t rest = request.lanes; rest; rest &= rest - 1)
        add(wave, request.data[word][std::countr_zero(rest)]);
  for (const LaneAccess &access : accesses) {
    add(wave, access.address);
    add(wave, access.other);
  }
}

void AccessTrace::waveEnds(Wave &wave) {
  Digest digest = waves[wave.number];
  mix(digest, wave.number);
  for (unsigned i = 0; i < 2; ++i)
    total.words[i] += digest.words[i];
  waves.erase(wave.number);
}

} // namespace heddle::simulator
