// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes a chip's table of all families once.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/InstructionTable.h"

namespace heddle::simulator {

const InstructionTable &instructionsOf(ChipSet chip) {
  auto make = [](ChipSet chip) {
    InstructionTable table(chip);
    addBufferMemory(table);
    addControl(table);
    addGlobalMemory(table);
    addLocalMemory(table);
    addLocalTranspose(table);
    addMatrixInstructions(table);
    addScalarBinary(table);
    addScalarCompare(table);
    addScalarMemory(table);
    addScalarStores(table);
    addScalarUnary(table);
    addVectorBits(table);
    addVectorCompare(table);
    addVectorConvert(table);
    addVectorFloat(table);
    addVectorInteger(table);
    addVectorLanes(table);
    addVectorPacked(table);
    addVectorScaledConvert(table);
    addVectorSums(table);
    return table;
  };
  static const InstructionTable gfx942 = make(ChipSet::Gfx942), gfx950 = make(ChipSet::Gfx950);
  return chip == ChipSet::Gfx942 ? gfx942 : gfx950;
}

} // namespace heddle::simulator
