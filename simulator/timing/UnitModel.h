// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One compute unit, cycle by cycle: which wave issues when, for how long its units are busy, and what a SIMD waits for
// when it issues nothing. It gets the instructions that waves have executed, with what their addresses say, and runs as
// far as it knows the next instruction of every wave. docs/timing.md.
#pragma once
#include "simulator/timing/MemoryLevels.h"
#include "simulator/timing/TimedInstruction.h"
#include <array>
#include <deque>

namespace heddle::simulator {

class TraceEvents;

/// What a cycle of a SIMD is spent on.
enum class Bound : uint8_t {
  Matrix,     ///< the matrix unit is busy
  Vector,     ///< the vector unit is
  OtherIssue, ///< it issues something else, or branches
  Result,     ///< a wave waits for a result of a matrix or vector instruction
  Lds,        ///< a wave waits for LDS
  Latency,    ///< a wave waits for memory
  Bandwidth,  ///< the same, and the path to memory has a queue
  Barrier,    ///< a wave waits for others
  OtherWait,  ///< s_sleep
  Idle,       ///< it has no wave
};
inline constexpr unsigned boundCount = 10;
const char *nameOf(Bound bound); ///< `matrix units`, `memory latency`, ...

/// An executed instruction, with what only its execution says.
struct TimedOperation {
  uint32_t instruction = 0; ///< index
  bool isTaken = false;     ///< a branch
  bool goesToLds = false;   ///< a load
  uint16_t ldsCycles = 0;
  uint16_t bytes = 0; ///< of vector memory
  uint8_t lines = 0, fromL2 = 0, fromLastLevel = 0, fromMemory = 0;
};

/// What became of an instruction.
struct InstructionTime {
  uint64_t executed = 0;
  std::array<uint64_t, boundCount> waits{}; ///< cycles in which a SIMD waited for it to issue
  uint64_t waited() const;
};

struct UnitTimes {
  uint64_t cycles = 0;
  std::array<uint64_t, boundCount> bounds{}; ///< of all SIMDs: their sum is `cycles` times the SIMDs
  uint64_t matrixBusy = 0, vectorBusy = 0;   ///< of all SIMDs
  uint64_t matrixOperations = 0;
  uint64_t ldsBusy = 0;
  uint64_t executed = 0;
  std::vector<InstructionTime> instructions; ///< by index
};

class UnitModel {
public:
  /// `planned` workgroups will begin, `resident` of them at once. `instructions` may grow. `trace` may be null.
  UnitModel(const TimingModel &model, unsigned simds, unsigned resident, unsigned planned,
            const std::deque<TimedInstruction> &instructions, TraceEvents *trace);
  ~UnitModel();

  size_t beginGroup(unsigned waves); ///< returns its index
  void push(size_t group, unsigned wave, const TimedOperation &operation);
  void endWave(size_t group, unsigned wave);           ///< nothing more of it comes
  void advance();                                      ///< as far as the next instruction of each wave is known
  const UnitTimes &finish();                           ///< no more groups and instructions come
  uint64_t waiting(size_t group, unsigned wave) const; ///< operations of the wave that are kept

private:
  struct Flight {
    uint64_t end;
    Bound bound;
  };
  struct WaveModel;
  struct GroupModel;
  struct Simd {
    std::vector<WaveModel *> waves; ///< the oldest first
    uint64_t matrixFree = 0, vectorFree = 0;
    uint64_t accounted = 0; ///< up to where its cycles are spent
  };
  /// Until when a unit that all waves of the compute unit share has work.
  struct Shared {
    uint64_t lds = 0, address = 0, path = 0, data = 0;
  };

  const TimedInstruction &instructionOf(const TimedOperation &operation) const {
    return instructions[operation.instruction];
  }
  bool admit();
  void place(GroupModel &group);
  bool settle();
  void endModel(WaveModel &wave);
  void openBarrierIfComplete(GroupModel &group);
  void prepareHead(WaveModel &wave);
  void awaitRegisters(WaveModel &wave, const TimedInstruction &instruction);
  void awaitCounts(WaveModel &wave, const TimedInstruction &instruction);
  Flight unitFree(const Simd &simd, const TimedInstruction &instruction) const;
  bool issueTurn(Simd &simd, uint64_t &next);
  void issue(Simd &simd, WaveModel &wave);
  void writeRegisters(WaveModel &wave, const TimedInstruction &instruction);
  void issueMatrix(Simd &simd, WaveModel &wave, const TimedInstruction &instruction);
  void issueLds(WaveModel &wave, const TimedOperation &operation);
  void issueMemory(WaveModel &wave, const TimedInstruction &instruction, const TimedOperation &operation);
  void issueScalarMemory(WaveModel &wave, const TimedOperation &operation);
  unsigned latencyOf(const TimedOperation &operation) const;
  void spend(Simd &simd, uint64_t until, Bound bound, uint64_t matrixFree, uint64_t vectorFree,
             InstructionTime *waiting);

  const TimingModel &model;
  const std::deque<TimedInstruction> &instructions;
  TraceEvents *trace;
  unsigned mostResident, planned;
  uint64_t now = 0;
  std::vector<Simd> simds;
  size_t firstSimd = 0; ///< of the next turn: after the one that last used what they share
  Shared shared;
  std::vector<std::unique_ptr<GroupModel>> groups;
  std::vector<GroupModel *> residents;
  size_t nextGroup = 0;
  uint64_t lastEnd = 0; ///< of what is in flight
  UnitTimes result;
};

} // namespace heddle::simulator
