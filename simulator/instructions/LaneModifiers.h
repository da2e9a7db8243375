// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an instruction's text and the MODE register do to the sources and the result of a vector instruction, for all
// types alike: negation, DPP, SDWA, op_sel, clamp, omod, denormals, rounding.
#pragma once
#include "simulator/state/Wave.h"

namespace heddle::simulator {

struct alignas(64) Rows {
  Row low, high;
};

/// A source as the lane function reads it.
struct Source {
  const uint32_t *low = nullptr, *high = nullptr;
};

constexpr bool isFloat(DataType type) {
  return type == DataType::F16 || type == DataType::F32 || type == DataType::F64 || type == DataType::BF16;
}

//===-- Masks ----------------------------------------------------------------------------------------------------===//

/// 0, 1, ... 63.
extern const Row laneNumbers;

/// 1 or 0 for each lane.
void expandMask(uint64_t lanes, Row &row);
/// The lanes whose lowest bit is set.
uint64_t collectMask(const Row &row);
/// The result of a compare in the lanes of EXEC; v_cmpx also makes it the new EXEC.
void writeCompared(Wave &wave, const Instruction &instruction, uint64_t lanes);

//===-- Modifiers ------------------------------------------------------------------------------------------------===//

/// Applies `-`, `|...|`, sext, DPP, SDWA and op_sel to source `number`, the operand at `position`; may use `storage`.
void applySourceModifiers(Wave &wave, const Instruction &instruction, unsigned position, unsigned number, DataType type,
                          Source &source, Rows &storage);

/// Applies omod and clamp to a result and puts it where op_sel or SDWA say; returns the lanes to write.
uint64_t applyResultModifiers(Wave &wave, const Instruction &instruction, DataType type, Rows &result);

/// Omod and clamp alone.
void applyOutputModifiers(uint32_t mode, const Modifiers &modifiers, DataType type, Rows &result);

/// The upper halves of `values` become those of `old`.
void keepHighHalves(const uint32_t *old, uint32_t *values);

/// The byte of the source that op_sel names.
void selectByte(const Modifiers &modifiers, Source &source, Rows &storage);
/// The low bytes of `values` go to the byte that op_sel names, among those of `old`.
void placeByte(const Modifiers &modifiers, const uint32_t *old, uint32_t *values);

/// The lane that `lane` reads under DPP, or -1: beyond its row, or nowhere.
int dppSourceLane(const Dpp &dpp, unsigned lane);
/// The lanes that DPP lets write: those of its masks and, without bound_ctrl, those with an active source.
uint64_t dppLanes(const Dpp &dpp, uint64_t active);

//===-- MODE -----------------------------------------------------------------------------------------------------===//

/// The fields of MODE: rounding of f32 and of f16 and f64, denormals likewise (bit 0 inputs, bit 1 results).
enum ModeBits : uint32_t {
  roundSingle = 0x3,
  roundOthers = 0xC,
  keepDenormalsSingle = 0x30,
  keepDenormalsOthers = 0xC0,
  dx10Clamp = 0x100,
  ieeeMode = 0x200,
  saturateSmallFloats = 1 << 23, ///< FP16_OVFL
};
/// What HSA kernels start with: to nearest even, denormals kept, IEEE.
inline constexpr uint32_t usualMode = keepDenormalsSingle | keepDenormalsOthers | dx10Clamp | ieeeMode;

constexpr bool hasUnusualMode(uint32_t mode) {
  constexpr uint32_t looked = roundSingle | roundOthers | keepDenormalsSingle | keepDenormalsOthers | ieeeMode;
  return (mode & looked) != (usualMode & looked);
}

/// Denormal inputs become 0 where MODE says so; without IEEE, signalling NaNs count as quiet ones.
void applySourceMode(uint32_t mode, DataType type, Source &source, Rows &storage);
void applyResultMode(uint32_t mode, DataType type, Rows &result);

/// The host's rounding mode, as MODE has it, until restored.
class HostRounding {
public:
  HostRounding(uint32_t mode, bool others) {
    uint32_t field = others ? (mode & roundOthers) >> 2 : mode & roundSingle;
    if (field) [[unlikely]]
      set(field);
  }
  void restore() {
    if (changed) [[unlikely]]
      reset();
  }

private:
  void set(uint32_t field);
  void reset();
  bool changed = false;
};

} // namespace heddle::simulator
