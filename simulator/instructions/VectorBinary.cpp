// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vector instructions of two sources. Source: AMD Instinct MI300 (CDNA3) and CDNA4 Instruction Set Architecture, VOP2.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/VectorFrame.h"

namespace heddle::simulator {

void addVectorBinary(InstructionTable &table) {
  table.add(laneRow<[](float a, float b) { return a + b; }>("v_add_f32"));
  table.add(laneRow<[](float a, float b) { return a - b; }>("v_sub_f32"));
  table.add(laneRow<[](float a, float b) { return a * b; }>("v_mul_f32"));
  table.add(laneRow<[](double a, double b) { return a + b; }>("v_add_f64"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return a + b; }>("v_add_u32"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return a - b; }>("v_sub_u32"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return a & b; }>("v_and_b32"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return a | b; }>("v_or_b32"));
  table.add(laneRow<[](uint32_t a, uint32_t b) { return a ^ b; }>("v_xor_b32"));
  table.add(laneRow<[](uint32_t amount, uint32_t value) { return value << (amount & 31); }>("v_lshlrev_b32"));
  table.add(laneRow<[](uint32_t amount, uint32_t value) { return value >> (amount & 31); }>("v_lshrrev_b32"));
  table.add(laneRow<[](uint32_t amount, int32_t value) { return value >> (amount & 31); }>("v_ashrrev_i32"));
  table.add(laneRow<[](uint32_t value) { return value; }>("v_mov_b32"));
}

} // namespace heddle::simulator
