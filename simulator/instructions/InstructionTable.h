// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the simulator knows of every instruction, by mnemonic. A family file in this folder is a list of rows.
//
// To add an instruction:
//   1. Find its family file, or make one and list its function in Families.cpp.
//   2. Add a row. For the arithmetic of one lane, `laneRow<function>("v_name")` (VectorFrame.h) makes it from a
//   captureless
//      lambda whose parameter types say how the operands are read; anything else is an Execute function of its own.
//   3. Say in `types` how each operand of the text is read (it decides what a literal means), in `destinations` how
//   many
//      of them, from the left, are written, and in `implicit` what the text does not show.
//   4. Test it beside the family (ISA document named in the family file's head).
#pragma once
#include "simulator/state/Wave.h"
#include <array>
#include <deque>
#include <string_view>
#include <unordered_map>

namespace heddle::simulator {

/// What an instruction touches beside the operands in its text.
enum Implicit : uint16_t {
  readsVcc = 1,
  writesVcc = 2,
  readsScc = 4,
  writesScc = 8,
  writesExec = 16,
  readsM0 = 32,
  readsDestination = 64, ///< the old value of its destination
  ignoresExec = 128,     ///< a vector instruction that does not look at EXEC
  acceptsAnything = 256, ///< operands and modifiers are read from the encoding, not from the text
  keepsHighHalf = 512,   ///< a 16-bit result leaves the other half of its register; else it becomes 0
  readsExec = 1024,      ///< of scalar instructions: vector ones do so unless they ignore it
  writesM0 = 2048,
  placesByte = 4096,  ///< a byte of the destination changes, which op_sel names
  selectsByte = 8192, ///< of the first source, a byte that op_sel names is read
  /// The result errs within what the manual allows, which does not say its bits.
  approximates = 1 << 15,
};

/// Where an instruction exists, or means what its row says.
enum class ChipSet : uint8_t { Gfx942 = 1, Gfx950 = 2, Both = 3 };

using OperandTypes = std::array<DataType, maximumOperands>;

struct InstructionRow {
  std::string_view mnemonic; ///< as printed, without _e32, _e64, _dpp, _sdwa
  Execute execute = nullptr;
  Execute modified =
      nullptr; ///< instead of `execute` when an operand modifier, clamp, omod, op_sel, DPP or SDWA stands there
  OperandTypes types = {}; ///< of the text's operands in order
  uint8_t destinations = 1;
  uint16_t implicit = 0;
  ChipSet chips = ChipSet::Both;
};

class InstructionTable {
public:
  /// Keeps the rows of one chip.
  explicit InstructionTable(ChipSet chip) : chip(chip) {}
  /// A mnemonic that is there already is Error{Internal}.
  void add(const InstructionRow &row);
  /// Keeps a mnemonic that is put together.
  std::string_view keep(std::string mnemonic) { return kept.emplace_back(std::move(mnemonic)); }
  const InstructionRow *find(std::string_view mnemonic) const;
  size_t size() const { return rows.size(); }
  auto begin() const { return rows.begin(); }
  auto end() const { return rows.end(); }

private:
  ChipSet chip;
  std::unordered_map<std::string_view, InstructionRow> rows;
  std::deque<std::string> kept;
};

/// Every instruction of every family that the chip has.
const InstructionTable &instructionsOf(ChipSet chip);

/// Whether anything in the text asks for InstructionRow::modified.
bool hasLaneModifiers(const Instruction &instruction);

/// Types for rows whose operands are all alike.
constexpr OperandTypes allOf(DataType type) {
  OperandTypes types;
  types.fill(type);
  return types;
}

} // namespace heddle::simulator
