// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small wrongs that can be done to machine code, one instruction at a time, in its own bytes: what checks must notice.
// Encodings: AMD Instinct MI300 (CDNA3) Instruction Set Architecture, "Microcode Formats".
#pragma once
#include "simulator/decode/Decoder.h"
#include "simulator/instructions/WaitCounts.h"
#include "simulator/memory/MemoryRequest.h"
#include <span>
#include <string>
#include <vector>

namespace heddle::simulator {

enum class MutationKind : uint8_t {
  WaitRemoved,
  VectorCountWeakened,
  LocalCountWeakened,
  WaitFieldDropped,
  BarrierRemoved,
  WriteBackRemoved,
  InvalidateRemoved,
  ScopeNarrowed,
  MaskRemoved,
  LdsBaseMoved,
  OffsetMoved,
  WaitLate,
  WriteBackEarly,
  InvalidateLate,
  LoadsSwapped,
  PageCached, ///< of the launch, not of an instruction
};
inline constexpr unsigned mutationKindCount = 16;

struct MutationKindInfo {
  MutationKind kind;
  const char *name; ///< `wait-removed`
  const char *what; ///< what is done to which instructions
};
/// In the order of the enumeration.
std::span<const MutationKindInfo, mutationKindCount> allMutationKinds();
inline const MutationKindInfo &infoOf(MutationKind kind) {
  return allMutationKinds()[unsigned(kind)];
}

struct Mutation {
  MutationKind kind;
  std::string bytes;                                 ///< in place of the instruction's, as many
  std::string before, after;                         ///< as LLVM prints them
  WaitCounts demanded, left;                         ///< of a wait: what it demanded, and what is left of that
  Scope scope = Scope::Wave, narrowed = Scope::Wave; ///< of what has a scope that is another, or gone with it
};

class MutationMaker {
public:
  explicit MutationMaker(const std::string &chip) : decoder(chip) {}

  /// All that can be done to the instruction at offset `at` of the code; `sizeBytes` gets its size. What is made is
  /// decoded again and held against what was meant: Error{Internal} when they differ.
  std::vector<Mutation> of(std::span<const uint8_t> code, size_t at, uint32_t &sizeBytes);

private:
  struct Patch;
  void addWaits(const Instruction &instruction, std::vector<Patch> &patches) const;
  void addScopes(const Instruction &instruction, std::vector<Patch> &patches) const;
  void addLdsBase(const Instruction &instruction, bool isSccFree, std::vector<Patch> &patches) const;
  void addMasks(const Instruction &instruction, bool isSccFree, std::vector<Patch> &patches) const;
  void addOffsets(const Instruction &instruction, std::vector<Patch> &patches) const;
  void addMoves(std::span<const uint8_t> code, std::vector<Mutation> &mutations);
  bool isSccDead(std::span<const uint8_t> code, size_t at);

  Decoder decoder;
};

} // namespace heddle::simulator
