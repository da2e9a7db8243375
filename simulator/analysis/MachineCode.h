// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel's instructions as a control-flow graph: what its entry leads to, whatever the values.
#pragma once
#include "simulator/state/Instruction.h"
#include <span>
#include <string>
#include <vector>

namespace heddle::simulator {

/// Instructions first .. end-1 of MachineCode::instructions, entered at the first and left after the last only.
struct CodeBlock {
  uint32_t first = 0, end = 0;
  std::vector<uint32_t> next; ///< indices of blocks
  bool isInLoop = false;      ///< it can be reached from itself
};

struct MachineCode {
  std::vector<Instruction> instructions; ///< by address
  std::vector<CodeBlock> blocks;         ///< by address
  uint32_t entry = 0;                    ///< the block at which the kernel starts
  /// False when it jumps or calls to an address in a register, where nothing is followed, or runs into what is no
  /// instruction.
  bool isComplete = true;

  uint32_t blockOf(uint32_t instruction) const;
};

/// `bytes` lie at `address`; the kernel starts at `entry`. What lies outside of `bytes` is not followed.
MachineCode readMachineCode(const std::string &chip, std::span<const uint8_t> bytes, uint64_t address, uint64_t entry);

/// What instructions do, for counting them.
enum class InstructionClass : uint8_t {
  Vector,
  Matrix,       ///< v_mfma_*, v_smfmac_*
  Scalar,       ///< s_* that are none of the others
  VectorMemory, ///< global, buffer and flat ones
  Lds,          ///< ds_*, which also move between lanes
  ScalarMemory,
  Scratch,
  Branch,
  Wait, ///< s_waitcnt
  Barrier,
};
inline constexpr unsigned instructionClassCount = 10;
const char *nameOf(InstructionClass kind); ///< `vector memory`
InstructionClass classOf(const Instruction &instruction);

} // namespace heddle::simulator
