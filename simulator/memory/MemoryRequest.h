// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A memory operation between its issue and its completion. Two events lie in between, and the policy of MemoryPort
// decides when each happens: at `sample` memory is read or changed, at `land` registers or LDS get the result. An
// instruction family computes addresses and data at issue and says what the events do; it never touches memory itself.
#pragma once
#include "simulator/state/Wave.h"

namespace heddle::simulator {

struct MemoryRequest;
using MemoryEvent = void (*)(Wave &wave, MemoryRequest &request);

inline constexpr unsigned mostWordsPerLane = 4;
inline constexpr unsigned mostScalarWords = 16;

struct MemoryRequest {
  /// The queues that count it. What is in two of them has landed only when both have let it go.
  enum Queue : uint8_t {
    Vector = 1, ///< vmcnt, in order
    Lds = 2,    ///< lgkmcnt, in order
    Scalar = 4, ///< lgkmcnt, in any order
  };
  MemoryEvent sample = nullptr;
  MemoryEvent land = nullptr; ///< null: nothing changes in the wave
  const Instruction *instruction = nullptr;
  uint8_t queues = 0;
  uint8_t words = 1;                       ///< 32-bit words per lane; of a scalar load in all
  uint16_t destination = 0;                ///< first row, or first scalar register
  uint32_t ldsBase = 0;                    ///< of a load to LDS: where the wave's data go
  uint64_t lanes = 0;                      ///< active at issue
  uint64_t inRange[mostWordsPerLane] = {}; ///< lanes whose word exists; the others read 0 and write nothing
  uint64_t address[waveLanes];             ///< global addresses, or offsets in LDS or in a lane's scratch
  union {
    alignas(64) uint32_t data[mostWordsPerLane][waveLanes]; ///< to store, or what was read
    uint32_t scalarData[mostScalarWords];
  };

  MemoryRequest() {} // the arrays stay uninitialised: a request is filled where it is issued
};

} // namespace heddle::simulator
