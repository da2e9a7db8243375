// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of PoisonStep that vector and matrix instructions take.
#include "simulator/checks/PoisonStep.h"
#include "simulator/instructions/LaneModifiers.h"
#include "simulator/instructions/MatrixMultiply.h"

namespace heddle::simulator {

void PoisonStep::vector() {
  Source sources[mostRuleSources];
  unsigned count = 0;
  uint64_t any = 0;
  auto add = [&](unsigned position) {
    Source source = vectorSource(position, count);
    any |= source.lanes;
    if (count < mostRuleSources)
      sources[count] = source;
    ++count;
  };
  for (unsigned i = plan.destinations; i < instruction.operandCount; ++i)
    if (int(i) != plan.mask)
      add(i);
  if (instruction.row->implicit & readsDestination)
    add(0);
  uint64_t mask = maskSource();
  any |= mask;
  uint64_t lanes = writtenLanes();
  PoisonRow low, high;
  if (!(any & lanes))
    writeResult(low, high);
  else if (plan.rule && count <= mostRuleSources) {
    if (plan.mask >= 0)
      sources[2].low = PoisonRow::ofLanes(mask);
    applyRule(sources, count, any & lanes, low, high);
    writeResult(low, high);
  } else
    writeResult(PoisonRow::ofLanes(any), PoisonRow::ofLanes(any));
  if (plan.destinations > 1)
    writeScalar(instruction.operands[1], any & wave.exec());
}

/// The poison of one lane of a source, bit by bit where it is known so.
uint64_t PoisonStep::exactBits(unsigned position, const Source &source, unsigned lane) const {
  const Operand &operand = instruction.operands[position];
  uint64_t bytes = source.low.bitsOf(lane) | uint64_t(source.high.bitsOf(lane)) << 32;
  if (!bytes || hasLaneModifiers(instruction) || isHalfWide(instruction.row->types[position]))
    return bytes;
  if (operand.isVector())
    return registers.bitsOf(operand.index, lane) |
           (operand.words > 1 ? uint64_t(registers.bitsOf(operand.index + 1, lane)) << 32 : 0);
  if (operand.index + operand.words > 128)
    return bytes;
  return operand.words > 1 ? registers.scalar64(operand.index) : registers.scalars[operand.index];
}

/// Lane by lane, for those that read any poison.
void PoisonStep::applyRule(const Source (&sources)[mostRuleSources], unsigned count, uint64_t lanes, PoisonRow &low,
                           PoisonRow &high) {
  Rows storage[mostRuleSources];
  heddle::simulator::Source values[mostRuleSources];
  for (unsigned k = 0; k < count; ++k) {
    unsigned position = plan.destinations + k;
    const Operand &operand = instruction.operands[position];
    values[k].low = readRow(wave, operand, 0, storage[k].low);
    if (wordsOf(instruction.row->types[position]) == 2)
      values[k].high = readRow(wave, operand, 1, storage[k].high);
    applySourceModifiers(wave, instruction, position, k, instruction.row->types[position], values[k], storage[k]);
  }
  uint64_t chosen = 0;
  if (plan.mask >= 0)
    chosen = plan.mask < instruction.operandCount ? readUniform64(wave, instruction.operands[plan.mask]) : wave.vcc();
  for (uint64_t rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    PoisonBits bits[mostRuleSources];
    for (unsigned k = 0; k < count; ++k) {
      bits[k] = {exactBits(plan.destinations + k, sources[k], lane), values[k].low[lane]};
      if (values[k].high)
        bits[k].value |= uint64_t(values[k].high[lane]) << 32;
    }
    if (plan.mask >= 0)
      bits[2] = {sources[2].low.bitsOf(lane), chosen >> lane & 1};
    uint64_t result = plan.rule(bits);
    low.addBits(lane, uint32_t(result));
    high.addBits(lane, uint32_t(result >> 32));
    for (unsigned word = 0; word < 2; ++word)
      if (auto part = uint32_t(result >> (32 * word)); part != (word ? high : low).bitsOf(lane))
        partial.push_back({uint8_t(word), uint8_t(lane), part});
  }
}

void PoisonStep::compare() {
  uint64_t any = 0;
  for (unsigned i = 1; i < instruction.operandCount; ++i)
    any |= vectorSource(i, i - 1).lanes;
  any &= wave.exec();
  if (instruction.row->implicit & writesExec && any) {
    sink(PoisonSink::Exec);
    any = 0;
  }
  writeScalar(instruction.operands[0], any);
}

/// The two halves of each result from the halves of the sources that op_sel and op_sel_hi name.
void PoisonStep::packed() {
  const Modifiers &modifiers = instruction.modifiers;
  bool words = instruction.row->types[0] == DataType::F32;
  uint64_t parts[2] = {0, 0};
  auto add = [&](unsigned position, unsigned number) {
    const Operand &operand = instruction.operands[position];
    for (unsigned part = 0; part < 2; ++part) {
      bool higher = (part ? modifiers.opSelHi : modifiers.opSel) >> number & 1;
      unsigned word = words && higher && operand.words > 1;
      PoisonRow row = rowOf(operand, word);
      uint64_t lanes = words ? row.lanes() : row.half(higher).lanes();
      parts[part] |= lanes;
      if (lanes & wave.exec())
        noteOrigin(operand, word);
    }
  };
  for (unsigned i = 1; i < instruction.operandCount; ++i)
    add(i, i - 1);
  if (instruction.row->implicit & readsDestination)
    add(0, instruction.operandCount - 1);
  unsigned row = instruction.operands[0].index;
  if (words) {
    writeRow(row, PoisonRow::ofLanes(parts[0]), wave.exec());
    writeRow(row + 1, PoisonRow::ofLanes(parts[1]), wave.exec());
  } else
    writeRow(row, {{parts[0], parts[0], parts[1], parts[1]}}, wave.exec());
}

void PoisonStep::mixed() {
  const Modifiers &modifiers = instruction.modifiers;
  uint64_t any = 0;
  for (unsigned number = 0; number < 3; ++number) {
    PoisonRow row = rowOf(instruction.operands[number + 1], 0);
    bool isHalfSource = modifiers.hasOpSelHi && modifiers.opSelHi >> number & 1;
    uint64_t lanes = isHalfSource ? row.half(modifiers.opSel >> number & 1).lanes() : row.lanes();
    if (lanes & wave.exec())
      noteOrigin(instruction.operands[number + 1], 0);
    any |= lanes;
  }
  unsigned row = instruction.operands[0].index;
  PoisonRow result = PoisonRow::ofLanes(any), old = registers.rows[row];
  if (instruction.mnemonic == "v_fma_mixlo_f16")
    result = {{any, any, old.bytes[2], old.bytes[3]}};
  else if (instruction.mnemonic == "v_fma_mixhi_f16")
    result = {{old.bytes[0], old.bytes[1], any, any}};
  if (!any)
    origin = registers.rowOrigins[row];
  writeRow(row, result, wave.exec());
}

void PoisonStep::packedMove() {
  PoisonRow words[2];
  for (unsigned part = 0; part < 2; ++part) {
    const Operand &operand = instruction.operands[part + 1];
    unsigned word = instruction.modifiers.opSel >> part & 1 && operand.words > 1;
    words[part] = rowOf(operand, word);
    if (words[part].lanes())
      noteOrigin(operand, word);
  }
  for (unsigned part = 0; part < 2; ++part)
    writeRow(instruction.operands[0].index + part, words[part], wave.exec());
}

/// The whole result when anything of the factors is poison, or the byte that counts of a scale; else where the addend
/// is.
void PoisonStep::matrix() {
  bool isSparse = instruction.row->implicit & readsDestination;
  const Operand &destination = instruction.operands[0], &addend = instruction.operands[isSparse ? 0 : 3];
  constexpr unsigned firstScale = 4;
  bool spoils = false;
  for (unsigned i = 1; i < instruction.operandCount; ++i) {
    const Operand &operand = instruction.operands[i];
    if (!isSparse && i == 3)
      continue;
    for (unsigned word = 0; word < operand.words; ++word) {
      PoisonRow row = rowOf(operand, word);
      if (i < firstScale ? row.lanes() : row.bytes[scaleByte(instruction.modifiers, i - firstScale)]) {
        noteOrigin(operand, word);
        spoils = true;
      }
    }
  }
  unsigned step = instruction.row->types[0] == DataType::F64 ? 2 : 1;
  for (unsigned word = 0; word < destination.words; word += step) {
    uint64_t lanes = spoils ? allLanes : 0;
    for (unsigned part = 0; part < step && addend.isVector(); ++part)
      if (uint64_t poison = rowOf(addend, word + part).lanes()) {
        lanes |= poison;
        noteOrigin(addend, word + part);
      }
    for (unsigned part = 0; part < step; ++part)
      writeRow(destination.index + word + part, PoisonRow::ofLanes(lanes), allLanes);
  }
}

void PoisonStep::swap() {
  unsigned first = instruction.operands[0].index, second = instruction.operands[1].index;
  PoisonRow a = registers.rows[first], b = registers.rows[second], newA = b, newB = a;
  if (instruction.mnemonic != "v_swap_b32") {
    unsigned width = instruction.mnemonic == "v_permlane32_swap_b32" ? 32 : 16;
    uint64_t upper = width == 32 ? 0xFFFFFFFF00000000 : 0xFFFF0000FFFF0000;
    for (unsigned byte = 0; byte < 4; ++byte) {
      newA.bytes[byte] = (a.bytes[byte] & ~upper) | (b.bytes[byte] << width & upper);
      newB.bytes[byte] = (b.bytes[byte] & upper) | (a.bytes[byte] >> width & ~upper);
    }
  }
  PoisonOrigin fromA = registers.rowOrigins[first], fromB = registers.rowOrigins[second];
  origin = b.lanes() ? fromB : fromA;
  writeRow(first, newA, wave.exec());
  origin = a.lanes() ? fromA : fromB;
  writeRow(second, newB, wave.exec());
}

void PoisonStep::readLane() {
  const Operand &operand = instruction.operands[1];
  bool isFirst = instruction.operandCount < 3;
  uint64_t chosen = isFirst ? 0 : scalarBits(instruction.operands[2]) % waveLanes;
  unsigned lane = isFirst ? (wave.exec() ? unsigned(std::countr_zero(wave.exec())) : 0)
                          : readUniform32(wave, instruction.operands[2]) % waveLanes;
  uint32_t bits = chosen ? ~0u : operand.isVector() ? registers.bitsOf(operand.index, lane) : 0;
  if (bits)
    noteOrigin(operand, 0);
  writeScalar(instruction.operands[0], bits);
}

void PoisonStep::writeLane() {
  uint64_t bits = scalarBits(instruction.operands[1]);
  unsigned lane = readUniform32(wave, instruction.operands[2]) % waveLanes;
  if (scalarBits(instruction.operands[2]) % waveLanes)
    bits = ~0u;
  writeRow(instruction.operands[0].index, PoisonRow::ofBits(uint32_t(bits)), uint64_t(1) << lane);
  registers.notePartial(instruction.operands[0].index, lane, uint32_t(bits));
}

} // namespace heddle::simulator
