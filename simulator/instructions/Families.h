// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The list of instruction families; each function is defined in the file of its name.
#pragma once

namespace heddle::simulator {

class InstructionTable;

void addVectorBits(InstructionTable &table);
void addVectorCompare(InstructionTable &table);
void addVectorFloat(InstructionTable &table);
void addVectorInteger(InstructionTable &table);

} // namespace heddle::simulator
