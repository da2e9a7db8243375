// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The registers of one wavefront, and the helpers by which instruction families read and write them.
#pragma once
#include "simulator/state/Instruction.h"
#include <cstring>
#include <vector>

namespace heddle::simulator {

inline constexpr unsigned waveLanes = 64;
inline constexpr uint64_t allLanes = ~uint64_t(0);

/// The bit of MODE under which vector operands are indexed by M0 (s_set_gpr_idx_on).
inline constexpr uint32_t indexedMode = 1u << 27;

/// VSKIP, the bit of MODE under which all but scalar instructions are skipped (s_setvskip).
inline constexpr uint32_t skipMode = 1u << 28;

class MemoryPort;
struct ComputeUnit;
struct PendingRequests;
struct WaveChecks;
struct Workgroup;

/// What a wave does over and over without anything changing: the loads of a loop that waits for another wave.
struct Polls {
  struct Site {
    uint64_t first = 0;                 ///< address of the lowest lane; several sites may have the same
    uint64_t addresses = 0, values = 0; ///< as hashes, from the second load on: loops may be unrolled, so that
                                        ///< instructions say nothing
  };
  Site sites[8];
  unsigned next = 0;
  unsigned repeated = 0; ///< loads in a row that brought what they had brought before
  bool readsClock = false;
  bool mayPrefetch = false;        ///< the last repeated one has no scope: it may be of no interest
  uint64_t address = 0, value = 0; ///< of the last repeated one
};

struct alignas(64) Wave {
  enum class State : uint8_t { Running, AtBarrier, Sleeping, Ended };

  uint32_t v[512][waveLanes]; ///< vector registers, then accumulation registers; rows are touched only when used
  alignas(8) uint32_t s[128]; ///< scalar registers with VCC, M0 and EXEC at their encoded places
  bool scc = false;
  State state = State::Running;
  uint32_t mode = 0;
  uint64_t pc = 0;
  Workgroup *workgroup = nullptr;
  MemoryPort *memory = nullptr;
  ComputeUnit *unit = nullptr;          ///< where it runs; null when memory is accessed directly
  PendingRequests *pending = nullptr;   ///< of the memory port
  WaveChecks *checks = nullptr;         ///< what the checks know of it; null when there are none
  const Instruction *current = nullptr; ///< the one that executes, for reports
  uint32_t indexInGroup = 0;
  uint64_t executed = 0;   ///< instructions
  uint32_t number = 0;     ///< no other wave of the machine has it
  uint32_t nextSerial = 0; ///< of memory requests
  bool yields = false;     ///< ends its slice: it waits for others
  Polls polls;
  std::vector<uint8_t> scratch; ///< private memory: `scratchBytes` for each lane, one lane after the other
  uint64_t scratchBytes = 0;
  uint64_t givenScalars = 0; ///< of the first 64 scalar registers, those that the launch sets

  uint64_t scalar64(unsigned index) const {
    uint64_t value;
    std::memcpy(&value, s + index, 8);
    return value;
  }
  void setScalar64(unsigned index, uint64_t value) { std::memcpy(s + index, &value, 8); }
  uint64_t exec() const { return scalar64(execRegister); }
  uint64_t vcc() const { return scalar64(vccRegister); }
  void setExec(uint64_t lanes) { setScalar64(execRegister, lanes); }
  void setVcc(uint64_t lanes) { setScalar64(vccRegister, lanes); }
};

// ---- Uniform operands ----

inline uint32_t readSpecial(const Wave &wave, unsigned index) {
  return index == sccRegister     ? wave.scc
         : index == vcczRegister  ? wave.vcc() == 0
         : index == execzRegister ? wave.exec() == 0
                                  : 0;
}

/// A scalar register or a constant.
inline uint32_t readUniform32(const Wave &wave, const Operand &operand) {
  if (operand.kind == Operand::Kind::Constant)
    return uint32_t(operand.constant);
  return operand.index < 128 ? wave.s[operand.index] : readSpecial(wave, operand.index);
}

inline uint64_t readUniform64(const Wave &wave, const Operand &operand) {
  if (operand.kind == Operand::Kind::Constant)
    return operand.constant;
  return operand.index < 127 ? wave.scalar64(operand.index) : readSpecial(wave, operand.index);
}

inline void writeUniform32(Wave &wave, const Operand &operand, uint32_t value) {
  wave.s[operand.index & 127] = value;
}
inline void writeUniform64(Wave &wave, const Operand &operand, uint64_t value) {
  wave.setScalar64(operand.index & 127, value);
}

// ---- Rows: a 32-bit register of all lanes ----

using Row = uint32_t[waveLanes];

/// Word `word` of the operand in all lanes: the register itself, or `storage` filled with the uniform value. No
/// modifiers are applied.
inline const uint32_t *readRow(const Wave &wave, const Operand &operand, unsigned word, Row &storage) {
  if (operand.kind == Operand::Kind::Vector)
    return wave.v[operand.index + word];
  uint32_t value;
  if (operand.kind == Operand::Kind::Constant)
    value = word < 2 ? uint32_t(operand.constant >> (32 * word)) : 0;
  else
    value = operand.index + word < 128 ? wave.s[operand.index + word] : readSpecial(wave, operand.index);
  for (uint32_t &lane : storage)
    lane = value;
  return storage;
}

/// Replaces the lanes of a register that `lanes` names, and leaves the others.
inline void writeRow(uint32_t *destination, const uint32_t *values, uint64_t lanes) {
  if (lanes == allLanes) {
    std::memcpy(destination, values, sizeof(Row));
    return;
  }
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    destination[lane] = lanes >> lane & 1 ? values[lane] : destination[lane];
}

/// Word `word` of a vector destination, in the lanes of EXEC.
inline void writeRow(Wave &wave, const Operand &destination, unsigned word, const uint32_t *values) {
  writeRow(wave.v[destination.index + word], values, wave.exec());
}

} // namespace heddle::simulator
