// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/instructions/Families.h"
#include "simulator/instructions/InstructionTable.h"

namespace heddle::simulator {

const InstructionTable &allInstructions() {
  static const InstructionTable all = [] {
    InstructionTable table;
    addBufferMemory(table);
    addControl(table);
    addGlobalMemory(table);
    addLocalMemory(table);
    addScalarBinary(table);
    addScalarCompare(table);
    addScalarMemory(table);
    addScalarUnary(table);
    addVectorBinary(table);
    return table;
  }();
  return all;
}

} // namespace heddle::simulator
