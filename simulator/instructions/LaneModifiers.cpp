// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sources: CDNA 3 manual, chapters "Vector ALU operations" (VOP3 modifiers, SDWA, DPP) and "Wave state" (MODE).
#include "simulator/instructions/LaneModifiers.h"
#include "simulator/instructions/InstructionTable.h"
#include "simulator/numbers/Float.h"
#include <array>
#include <cfenv>
#include <immintrin.h>

namespace heddle::simulator {

//===-- Masks ----------------------------------------------------------------------------------------------------===//

const Row laneNumbers = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                         22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
                         44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

void expandMask(uint64_t lanes, Row &row) {
  for (unsigned half = 0; half < 2; ++half) {
    auto part = uint32_t(lanes >> (32 * half));
    for (unsigned lane = 0; lane < 32; ++lane)
      row[32 * half + lane] = part >> lane & 1;
  }
}

uint64_t collectMask(const Row &row) {
  uint64_t lanes = 0;
  for (unsigned lane = 0; lane < waveLanes; lane += 8) {
    __m256i part = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(row + lane));
    auto bits = uint32_t(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(part, 31))));
    lanes |= uint64_t(bits) << lane;
  }
  return lanes;
}

void writeCompared(Wave &wave, const Instruction &instruction, uint64_t lanes) {
  lanes &= wave.exec();
  writeUniform64(wave, instruction.operands[0], lanes);
  if (instruction.row->implicit & writesExec)
    wave.setExec(lanes);
}

//===-- Sources --------------------------------------------------------------------------------------------------===//

int dppSourceLane(const Dpp &dpp, unsigned lane) {
  unsigned row = lane & ~15u, place = lane & 15;
  switch (dpp.control) {
  case Dpp::Control::None:
    return int(lane);
  case Dpp::Control::QuadPerm:
    return int((lane & ~3u) + (dpp.value >> (2 * (lane & 3)) & 3));
  case Dpp::Control::RowShl:
    return place + dpp.value < 16 ? int(lane + dpp.value) : -1;
  case Dpp::Control::RowShr:
    return place >= dpp.value ? int(lane - dpp.value) : -1;
  case Dpp::Control::RowRor:
    return int(row + ((place - dpp.value) & 15));
  case Dpp::Control::WaveShl:
    return lane < 63 ? int(lane + 1) : -1;
  case Dpp::Control::WaveRol:
    return int((lane + 1) & 63);
  case Dpp::Control::WaveShr:
    return int(lane) - 1;
  case Dpp::Control::WaveRor:
    return int((lane - 1) & 63);
  case Dpp::Control::RowMirror:
    return int(row + 15 - place);
  case Dpp::Control::RowHalfMirror:
    return int((lane & ~7u) + 7 - (lane & 7));
  case Dpp::Control::RowBcast: // 15: the last lane of the row before; 31: lane 31, for the upper half
    if (dpp.value == 15)
      return lane >= 16 ? int(row - 1) : -1;
    return lane >= 32 ? 31 : -1;
  case Dpp::Control::RowNewbcast:
    return int(row + dpp.value);
  }
  return -1;
}

namespace {

bool usesDpp(const Instruction &instruction) {
  return instruction.modifiers.dpp.control != Dpp::Control::None;
}

/// Where each lane reads under one control of DPP.
struct DppMove {
  std::array<uint8_t, waveLanes> source; ///< 0 where there is none
  uint64_t hasSource = 0;
};

const DppMove &dppMove(const Dpp &dpp) {
  constexpr unsigned controls = unsigned(Dpp::Control::RowNewbcast) + 1;
  static const std::vector<DppMove> moves = [] {
    std::vector<DppMove> moves(controls * 256);
    for (unsigned index = 0; index < moves.size(); ++index)
      for (unsigned lane = 0; lane < waveLanes; ++lane) {
        int source = dppSourceLane({.control = Dpp::Control(index / 256), .value = uint8_t(index % 256)}, lane);
        moves[index].source[lane] = uint8_t(source < 0 ? 0 : source % waveLanes);
        moves[index].hasSource |= uint64_t(source >= 0) << lane;
      }
    return moves;
  }();
  return moves[unsigned(dpp.control) * 256 + dpp.value];
}

/// Lanes whose source lane is there and active.
uint64_t validLanes(const DppMove &move, uint64_t active) {
  if (active == allLanes)
    return move.hasSource;
  uint64_t lanes = 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    lanes |= (active >> move.source[lane] & 1) << lane;
  return lanes & move.hasSource;
}

} // namespace

uint64_t dppLanes(const Dpp &dpp, uint64_t active) {
  uint64_t lanes = dpp.boundControl ? allLanes : validLanes(dppMove(dpp), active);
  for (unsigned group = 0; group < 16; ++group) // of four lanes: a bank of a row
    if (!(dpp.rowMask >> (group / 4) & 1) || !(dpp.bankMask >> (group % 4) & 1))
      lanes &= ~(uint64_t(0xF) << (4 * group));
  return lanes;
}

namespace {

void moveByDpp(const Dpp &dpp, uint64_t active, const uint32_t *&from, Row &storage) {
  const DppMove &move = dppMove(dpp);
  Row moved, valid;
  expandMask(validLanes(move, active), valid);
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    moved[lane] = valid[lane] ? from[move.source[lane]] : 0;
  std::memcpy(storage, moved, sizeof moved);
  from = storage;
}

/// Shift and width in bits of a selection.
struct Part {
  unsigned shift, bits;
};
Part partOf(Sdwa::Select select) {
  auto number = unsigned(select);
  if (select <= Sdwa::Select::Byte3)
    return {8 * number, 8};
  return select == Sdwa::Select::Dword ? Part{0, 32} : Part{16 * (number - 4), 16};
}

void selectPart(Part part, bool isSigned, const uint32_t *&from, Row &storage) {
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    uint32_t left = from[lane] << (32 - part.shift - part.bits);
    storage[lane] = isSigned ? uint32_t(int32_t(left) >> (32 - part.bits)) : left >> (32 - part.bits);
  }
  from = storage;
}

uint32_t signBit(DataType type) {
  return type == DataType::F16 || type == DataType::BF16 || type == DataType::B16 ? 0x8000u : 0x80000000u;
}

bool isHalfWide(DataType type) {
  return type == DataType::F16 || type == DataType::BF16 || type == DataType::B16 || type == DataType::I16;
}

} // namespace

void applySourceModifiers(Wave &wave, const Instruction &instruction, unsigned position, unsigned number, DataType type,
                          Source &source, Rows &storage) {
  const Modifiers &modifiers = instruction.modifiers;
  if (number == 0 && usesDpp(instruction)) {
    moveByDpp(modifiers.dpp, wave.exec(), source.low, storage.low);
    if (source.high)
      moveByDpp(modifiers.dpp, wave.exec(), source.high, storage.high);
  }
  const Operand &operand = instruction.operands[position];
  if (modifiers.sdwa.present && number < 2)
    selectPart(partOf(number ? modifiers.sdwa.source1 : modifiers.sdwa.source0), operand.signExtend, source.low,
               storage.low);
  if (isHalfWide(type) && modifiers.opSel >> number & 1)
    selectPart({16, 16}, false, source.low, storage.low);
  if (!operand.negate && !operand.absolute)
    return;
  // The sign is in the last word.
  const uint32_t *&signs = wordsOf(type) == 2 ? source.high : source.low;
  Row &changed = wordsOf(type) == 2 ? storage.high : storage.low;
  uint32_t sign = signBit(type), cleared = operand.absolute ? sign : 0, flipped = operand.negate ? sign : 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    changed[lane] = (signs[lane] & ~cleared) ^ flipped;
  signs = changed;
}

//===-- Results --------------------------------------------------------------------------------------------------===//

namespace {

/// A function of one lane's value, applied to rows of bits.
template <typename T, typename Function>
void changeLanes(const uint32_t *low, const uint32_t *high, Rows &to, Function function) {
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    uint64_t bits = sizeof(T) == 8 ? uint64_t(high[lane]) << 32 | low[lane] : low[lane];
    uint64_t changed = bitsOf<T>(function(fromBits<T>(bits)));
    to.low[lane] = uint32_t(changed);
    if (sizeof(T) == 8)
      to.high[lane] = uint32_t(changed >> 32);
  }
}

template <typename Function>
void changeFloats(DataType type, const uint32_t *low, const uint32_t *high, Rows &to, Function function) {
  if (type == DataType::F16)
    changeLanes<_Float16>(low, high, to, function);
  else if (type == DataType::F32)
    changeLanes<float>(low, high, to, function);
  else if (type == DataType::F64)
    changeLanes<double>(low, high, to, function);
}

/// The result at its place of the destination register.
void placeResult(const Sdwa &sdwa, const uint32_t *old, Row &values) {
  Part part = partOf(sdwa.destination);
  uint32_t field = part.bits == 32 ? ~0u : ((1u << part.bits) - 1) << part.shift;
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    uint32_t placed = values[lane] << part.shift & field, rest = 0;
    if (sdwa.unused == Sdwa::Unused::Preserve)
      rest = old[lane] & ~field;
    else if (sdwa.unused == Sdwa::Unused::SignExtend && placed >> (part.shift + part.bits - 1) & 1)
      rest = part.shift + part.bits == 32 ? 0 : ~0u << (part.shift + part.bits);
    values[lane] = placed | rest;
  }
}

void placeInHigherHalf(const uint32_t *old, Row &values) {
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    values[lane] = values[lane] << 16 | (old[lane] & 0xFFFF);
}

} // namespace

void keepHighHalves(const uint32_t *old, uint32_t *values) {
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    values[lane] = (values[lane] & 0xFFFF) | (old[lane] & 0xFFFF0000u);
}

void selectByte(const Modifiers &modifiers, Source &source, Rows &storage) {
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    storage.low[lane] = source.low[lane] >> (8 * (modifiers.opSel & 3));
  source.low = storage.low;
}

void placeByte(const Modifiers &modifiers, const uint32_t *old, uint32_t *values) {
  unsigned shift = 8 * (modifiers.opSel >> 2 & 3);
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    values[lane] = (old[lane] & ~(0xFFu << shift)) | (values[lane] & 0xFF) << shift;
}

void applyOutputModifiers(uint32_t mode, const Modifiers &modifiers, DataType type, Rows &result) {
  if (!isFloat(type) || !(modifiers.clamp || modifiers.outputModifier))
    return;
  changeFloats(type, result.low, result.high, result, [&](auto value) {
    using T = decltype(value);
    static constexpr float factors[] = {1, 2, 4, 0.5f};
    T scaled = modifiers.outputModifier ? T(value * T(factors[modifiers.outputModifier])) : value;
    if (!modifiers.clamp)
      return scaled;
    if (isNan(scaled))
      return mode & dx10Clamp ? T(0) : scaled;
    return scaled > T(0) ? (scaled < T(1) ? scaled : T(1)) : T(0);
  });
}

uint64_t applyResultModifiers(Wave &wave, const Instruction &instruction, DataType type, Rows &result) {
  const Modifiers &modifiers = instruction.modifiers;
  const uint32_t *old = wave.v[instruction.operands[0].index];
  applyOutputModifiers(wave.mode, modifiers, type, result);
  unsigned sources = instruction.operandCount - instruction.row->destinations;
  if (modifiers.sdwa.present)
    placeResult(modifiers.sdwa, old, result.low);
  else if (isHalfWide(type) && modifiers.opSel >> sources & 1)
    placeInHigherHalf(old, result.low);
  else if (isHalfWide(type) && instruction.row->implicit & keepsHighHalf)
    keepHighHalves(old, result.low);
  return usesDpp(instruction) ? wave.exec() & dppLanes(modifiers.dpp, wave.exec()) : wave.exec();
}

//===-- MODE -----------------------------------------------------------------------------------------------------===//

/// Whether any lane of f32 is denormal, with `flush`, or a NaN, with `quiet`: most rows have neither.
static bool mayChange(const uint32_t *lanes, bool flush, bool quiet) {
  constexpr uint32_t firstNormal = 0x00800000, infinity = 0x7F800000;
  uint32_t denormal = 0, nan = 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    uint32_t magnitude = lanes[lane] & 0x7FFFFFFF;
    denormal |= magnitude != 0 && magnitude < firstNormal;
    nan |= magnitude > infinity;
  }
  return (flush && denormal) || (quiet && nan);
}

void applySourceMode(uint32_t mode, DataType type, Source &source, Rows &storage) {
  bool flush = !(mode & (type == DataType::F32 ? 0x10 : 0x40)), quiet = !(mode & ieeeMode);
  if ((!flush && !quiet) || (type == DataType::F32 && !mayChange(source.low, flush, quiet)))
    return;
  changeFloats(type, source.low, source.high, storage, [=](auto value) {
    auto changed = flush ? flushDenormal(value) : value;
    return quiet && isNan(changed) ? quieted(changed) : changed;
  });
  source = {storage.low, storage.high};
}

void applyResultMode(uint32_t mode, DataType type, Rows &result) {
  bool flush = !(mode & (type == DataType::F32 ? 0x20 : 0x80));
  if (flush && (type != DataType::F32 || mayChange(result.low, true, false)))
    changeFloats(type, result.low, result.high, result, [](auto value) { return flushDenormal(value); });
}

void HostRounding::set(uint32_t field) {
  static constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  std::fesetround(modes[field]);
  changed = true;
}

void HostRounding::reset() {
  std::fesetround(FE_TONEAREST);
}

} // namespace heddle::simulator
