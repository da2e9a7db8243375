// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An instruction as the machine executes it: decoded once, when it is first reached.
#pragma once
#include "simulator/state/Operand.h"
#include <string>

namespace heddle::simulator {

struct Wave;
struct Instruction;
struct InstructionRow;

/// Executes an instruction for a whole wave. Wave::pc already points after it; branches overwrite it.
using Execute = void (*)(Wave &wave, const Instruction &instruction);

/// Data-parallel primitive: where each lane reads its first source.
struct Dpp {
  enum class Control : uint8_t {
    None,
    QuadPerm, ///< `value`: four fields of two bits
    RowShl,   ///< `value`: 1..15, so for the next two
    RowShr,
    RowRor,
    WaveShl,
    WaveRol,
    WaveShr,
    WaveRor,
    RowMirror,
    RowHalfMirror,
    RowBcast,    ///< `value`: 15 or 31
    RowNewbcast, ///< `value`: the lane of each row
  };
  Control control = Control::None;
  uint8_t value = 0, rowMask = 0xf, bankMask = 0xf;
  bool boundControl = false; ///< lanes without a source read 0; else they keep their old value
};

/// Sub-dword addressing: which bytes of sources and destination count.
struct Sdwa {
  enum class Select : uint8_t { Byte0, Byte1, Byte2, Byte3, Word0, Word1, Dword };
  enum class Unused : uint8_t { Pad, SignExtend, Preserve };
  bool present = false;
  Select destination = Select::Dword, source0 = Select::Dword, source1 = Select::Dword;
  Unused unused = Unused::Pad;
};

/// Everything that the text says after the operands. Fields that an instruction lacks keep their defaults.
struct Modifiers {
  bool clamp = false;
  uint8_t outputModifier = 0;                              ///< 1: mul:2, 2: mul:4, 3: div:2
  uint8_t opSel = 0, opSelHi = 0xff, negLo = 0, negHi = 0; ///< bit k for the k-th element of the list
  bool hasOpSelHi = false;
  uint8_t cbsz = 0, abid = 0, blgp = 0;
  uint8_t bitop3 = 0;
  Dpp dpp;
  Sdwa sdwa;
  // memory
  int32_t offset = 0;
  uint8_t offset0 = 0, offset1 = 0;
  bool offen = false, idxen = false, sc0 = false, sc1 = false, nt = false, lds = false, gds = false;
};

inline constexpr unsigned maximumOperands = 7;

struct Instruction {
  Execute execute = nullptr;
  uint32_t sizeBytes = 0;
  uint16_t immediate = 0; ///< the low 16 bits of the first dword: the immediate of SOPP and SOPK
  uint8_t operandCount = 0;
  Operand operands[maximumOperands]; ///< in the order of the text: destinations first
  Modifiers modifiers;
  uint64_t pc = 0;                     ///< address of the first byte
  uint64_t encoding = 0;               ///< the first two dwords
  const InstructionRow *row = nullptr; ///< null for what no table knows
  std::string mnemonic;                ///< without _e32, _e64, _dpp, _sdwa
  std::string text;                    ///< for reports
};

/// Neither computes on vector registers nor accesses memory for lanes.
inline bool isScalar(const Instruction &instruction) {
  return instruction.mnemonic.starts_with("s_");
}

/// A load, store or atomic operation of scalar registers, or what the scalar cache is told; not the clocks.
inline bool isScalarMemory(std::string_view mnemonic) {
  for (std::string_view prefix : {"s_load_", "s_store_", "s_atomic_", "s_buffer_", "s_dcache_"})
    if (mnemonic.starts_with(prefix))
      return true;
  return false;
}

} // namespace heddle::simulator
