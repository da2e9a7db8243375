// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The list of instruction families; each function is defined in the file of its name.
#pragma once

namespace heddle::simulator {

class InstructionTable;

void addBufferMemory(InstructionTable &table);
void addControl(InstructionTable &table);
void addGlobalMemory(InstructionTable &table);
void addLocalMemory(InstructionTable &table);
void addLocalTranspose(InstructionTable &table);
void addMatrixInstructions(InstructionTable &table);
void addScalarBinary(InstructionTable &table);
void addScalarCompare(InstructionTable &table);
void addScalarMemory(InstructionTable &table);
void addScalarStores(InstructionTable &table);
void addScalarUnary(InstructionTable &table);
void addVectorBits(InstructionTable &table);
void addVectorCompare(InstructionTable &table);
void addVectorConvert(InstructionTable &table);
void addVectorFloat(InstructionTable &table);
void addVectorInteger(InstructionTable &table);
void addVectorLanes(InstructionTable &table);
void addVectorPacked(InstructionTable &table);
void addVectorScaledConvert(InstructionTable &table);
void addVectorSums(InstructionTable &table);

} // namespace heddle::simulator
