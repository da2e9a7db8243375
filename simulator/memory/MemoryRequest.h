// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A memory operation between its issue and its completion. Two events lie in between, and the policy of MemoryPort
// decides when each happens: at `sample` memory is read or changed, at `land` registers or LDS get the result. An
// instruction family computes addresses and data at issue and says what the events do; it never touches memory itself.
#pragma once
#include "simulator/state/Apertures.h"
#include "simulator/state/Wave.h"
#include <algorithm>
#include <bit>

namespace heddle::simulator {

struct MemoryRequest;
using MemoryEvent = void (*)(Wave &wave, MemoryRequest &request);

inline constexpr unsigned mostWordsPerLane = 4;
inline constexpr unsigned mostScalarWords = 16;

/// Where the addresses of a request lead. Flat addresses lead to any of the others, lane by lane.
enum class Space : uint8_t { None, Global, Lds, Scratch, Flat };

enum class RequestKind : uint8_t {
  Load,
  Store,
  Atomic,           ///< reads and writes in one event
  LoadToLds,        ///< reads global memory at `sample`, writes LDS at `land`
  WriteBack,        ///< buffer_wbl2
  Invalidate,       ///< buffer_inv
  ScalarWriteBack,  ///< s_dcache_wb
  ScalarInvalidate, ///< s_dcache_inv
  Other,            ///< clocks, moves between lanes that count in lgkmcnt
};

/// For whom an access is coherent: what sc0 and sc1 say. A read-modify-write is always done where the device is
/// coherent, and with sc1 where everyone is. Source: LLVM's AMDGPU user guide, "Memory Model GFX942".
enum class Scope : uint8_t { Wave, Workgroup, Agent, System };

constexpr Scope scopeOf(const Modifiers &modifiers, RequestKind kind) {
  if (kind == RequestKind::Atomic)
    return modifiers.sc1 ? Scope::System : Scope::Agent;
  return Scope(uint8_t(modifiers.sc0) | uint8_t(modifiers.sc1) << 1);
}

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
  RequestKind kind = RequestKind::Other;
  Space space = Space::None;
  Scope scope = Scope::Wave;
  uint8_t bytes = 0;  ///< of each piece: what a lane accesses at its address; 0 where nothing is accessed
  uint8_t pieces = 1; ///< 2: a lane accesses `bytes` at each of its address + pieceOffset[0] and + pieceOffset[1]
  uint32_t pieceOffset[2] = {0, 0};
  uint32_t serial = 0; ///< no other request of the wave has it
  uint8_t queues = 0;
  uint32_t issueIndex = 0, issueCycle = 0; ///< when it was issued, by the clock of the checks
  bool isRow = false;                      ///< isRowOfLanes(), as far as MemoryPort::issue() found it out
  uint8_t words = 1;                       ///< 32-bit words per lane; of a scalar access in all
  uint16_t destination = 0;                ///< first row, or first scalar register
  uint32_t ldsBase = 0;                    ///< of a load to LDS: where the wave's data go, `words` of each lane
  uint8_t ldsStride = 0;                   ///< bytes from one lane's to the next one's
  uint64_t lanes = 0;                      ///< active at issue; of a scalar access, a bit for each word that exists
  uint64_t inRange[mostWordsPerLane] = {}; ///< lanes whose word exists; the others read 0 and write nothing
  uint64_t address[waveLanes];             ///< global addresses, or offsets in LDS or in a lane's scratch
  union {
    alignas(64) uint32_t data[mostWordsPerLane][waveLanes]; ///< to store, or what was read
    uint32_t scalarData[mostScalarWords];
  };

  /// A scalar access is one of `words` at address[0]; what lanes access is in inRange.
  bool isScalar() const { return queues & Scalar; }
  bool readsMemory() const {
    return kind == RequestKind::Load || kind == RequestKind::LoadToLds || kind == RequestKind::Atomic;
  }
  bool writesMemory() const { return kind == RequestKind::Store || kind == RequestKind::Atomic; }
  /// In registers, when it lands.
  bool hasResult() const { return land && kind != RequestKind::LoadToLds && kind != RequestKind::Store; }
  MemoryRequest() {} // the arrays stay uninitialised: a request is filled where it is issued
};

/// Whether all lanes are active, and each one's address lies `bytes` after that of the lane before.
inline bool isRowOfLanes(const MemoryRequest &request) {
  uint64_t first = request.address[0], differs = 0;
  if (request.lanes != allLanes || !request.bytes || request.isScalar() ||
      request.address[waveLanes - 1] - first != (waveLanes - 1) * request.bytes)
    return false;
  for (unsigned lane = 0; lane < waveLanes; ++lane) // no early end: vector code
    differs |= request.address[lane] - first - lane * request.bytes;
  return !differs;
}

/// action(address, bytes) for each word of global memory, or part of one, that the request accesses.
template <class Action>
void forGlobalWords(const MemoryRequest &request, Action action) {
  if (request.isScalar()) {
    for (uint64_t rest = request.lanes; rest; rest &= rest - 1)
      action(request.address[0] + 4 * uint64_t(std::countr_zero(rest)), 4u);
    return;
  }
  for (unsigned word = 0; word < (request.bytes + 3u) / 4; ++word)
    for (uint64_t rest = request.inRange[word]; rest; rest &= rest - 1) {
      uint64_t address = request.address[std::countr_zero(rest)];
      if (request.space != Space::Flat || !isOnChip(address))
        action(address + 4 * word, std::min<unsigned>(4, request.bytes));
    }
}

} // namespace heddle::simulator
