// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/instructions/Families.h"
#include "simulator/instructions/InstructionTable.h"

namespace heddle::simulator {

const InstructionTable &allInstructions() {
  static const InstructionTable table = [] {
    InstructionTable table;
    addVectorBinary(table);
    return table;
  }();
  return table;
}

} // namespace heddle::simulator
