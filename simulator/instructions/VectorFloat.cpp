// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floating-point arithmetic of one value a lane. Sources: AMD Instinct MI300 (CDNA3) and CDNA4 Instruction Set
// Architecture, VOP1, VOP2, VOP3.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/VectorFrame.h"
#include "simulator/numbers/Division.h"
#include "simulator/numbers/Transcendentals.h"
#include "simulator/numbers/TrigonometricTable.h"

namespace heddle::simulator {
namespace {

using half = _Float16;

template <typename T>
constexpr auto add = [](T a, T b) { return T(a + b); };
template <typename T>
constexpr auto subtract = [](T a, T b) { return T(a - b); };
template <typename T>
constexpr auto subtractReversed = [](T a, T b) { return T(b - a); };
template <typename T>
constexpr auto multiply = [](T a, T b) { return T(a * b); };
template <typename T>
constexpr auto fused = [](T a, T b, T c) { return fusedMultiplyAdd<T>(a, b, c); };
template <typename T> // rounds twice
constexpr auto multiplyThenAdd = [](T a, T b, T c) { return T(T(a * b) + c); };
template <typename T>
constexpr auto minimum = [](T a, T b) { return minimumNumber(a, b); };
template <typename T>
constexpr auto maximum = [](T a, T b) { return maximumNumber(a, b); };
template <typename T>
constexpr auto minimum3 = [](T a, T b, T c) { return minimumNumber(minimumNumber(a, b), c); };
template <typename T>
constexpr auto maximum3 = [](T a, T b, T c) { return maximumNumber(maximumNumber(a, b), c); };
template <typename T>
constexpr auto median3 = [](T a, T b, T c) { return medianNumber(a, b, c); };
template <typename T>
constexpr auto round = [](T a) { return nearestEven(a); };
template <typename T>
constexpr auto floor = [](T a) { return floorOf(a); };
template <typename T>
constexpr auto ceiling = [](T a) { return ceilingOf(a); };
template <typename T>
constexpr auto truncate = [](T a) { return truncated(a); };
template <typename T>
constexpr auto fract = [](T a) { return fraction(a); };
template <typename T, typename Exponent>
constexpr auto loadExponent = [](T a, Exponent b) { return scaleByPower(a, b); };
template <typename T, typename Exponent>
constexpr auto exponentOf = [](T a) { return Exponent(fractionExponent(a)); };
template <typename T>
constexpr auto mantissaOf = [](T a) { return fractionMantissa(a); };

template <typename T>
constexpr auto scaleForDivision = [](T operand, T denominator, T numerator) {
  Scaled<T> scaled = divisionScale(operand, denominator, numerator);
  return WithMask<T>{scaled.value, scaled.flag};
};
template <typename T>
constexpr auto fusedForDivision = [](T a, T b, T c, bool scaled) { return divisionFusedStep(a, b, c, scaled); };
template <typename T>
constexpr auto fixDivision =
    [](T quotient, T denominator, T numerator) { return divisionFixup(quotient, denominator, numerator); };

template <typename T>
constexpr auto invert = [](T a) { return reciprocal(a); };
template <typename T>
constexpr auto root = [](T a) { return squareRoot(a); };
template <typename T>
constexpr auto invertedRoot = [](T a) { return reciprocalSquareRoot(a); };
template <typename T>
constexpr auto exponential = [](T a) { return exponential2(a); };
template <typename T>
constexpr auto logarithm = [](T a) { return logarithm2(a); };
template <typename T>
constexpr auto sine = [](T a) { return waveOfTurns<T, false>(a); };
template <typename T>
constexpr auto cosine = [](T a) { return waveOfTurns<T, true>(a); };

/// The axis on which a vector is longest, z before y before x: the face of a cube it points to.
enum class Axis { X, Y, Z };
Axis longestAxis(float x, float y, float z) {
  float a = absolute(x), b = absolute(y), c = absolute(z);
  return c >= a && c >= b ? Axis::Z : b >= a ? Axis::Y : Axis::X;
}
constexpr auto cubeFace = [](float x, float y, float z) {
  Axis axis = longestAxis(x, y, z);
  float major = axis == Axis::Z ? z : axis == Axis::Y ? y : x;
  return 2.0f * float(int(axis)) + (major < 0 ? 1.0f : 0.0f);
};
constexpr auto cubeAcross = [](float x, float y, float z) {
  Axis axis = longestAxis(x, y, z);
  return axis == Axis::Z ? (z < 0 ? -x : x) : axis == Axis::Y ? x : x < 0 ? z : -z;
};
constexpr auto cubeDown = [](float x, float y, float z) {
  return longestAxis(x, y, z) == Axis::Y ? (y < 0 ? -z : z) : -y;
};
constexpr auto cubeMajor = [](float x, float y, float z) {
  Axis axis = longestAxis(x, y, z);
  return 2.0f * (axis == Axis::Z ? z : axis == Axis::Y ? y : x);
};

void addCubes(InstructionTable &table) {
  table.add(laneRow<cubeFace>("v_cubeid_f32"));
  table.add(laneRow<cubeAcross>("v_cubesc_f32"));
  table.add(laneRow<cubeDown>("v_cubetc_f32"));
  table.add(laneRow<cubeMajor>("v_cubema_f32"));
}

void addArithmetic(InstructionTable &table) {
  table.add(laneRow<add<half>>("v_add_f16"));
  table.add(laneRow<add<float>>("v_add_f32"));
  table.add(laneRow<add<double>>("v_add_f64"));
  table.add(laneRow<subtract<half>>("v_sub_f16"));
  table.add(laneRow<subtract<float>>("v_sub_f32"));
  table.add(laneRow<subtractReversed<half>>("v_subrev_f16"));
  table.add(laneRow<subtractReversed<float>>("v_subrev_f32"));
  table.add(laneRow<multiply<half>>("v_mul_f16"));
  table.add(laneRow<multiply<float>>("v_mul_f32"));
  table.add(laneRow<multiply<double>>("v_mul_f64"));
  table.add(laneRow<[](float a, float b) { return isZero(a) || isZero(b) ? 0.0f : a * b; }>("v_mul_legacy_f32"));
  table.add(laneRow<fused<half>>("v_fma_f16", keepsHighHalf));
  table.add(laneRow<fused<half>>("v_fma_legacy_f16"));
  table.add(laneRow<fused<float>>("v_fma_f32"));
  table.add(laneRow<fused<double>>("v_fma_f64"));
  table.add(accumulatingRow<fused<float>>("v_fmac_f32"));
  table.add(accumulatingRow<fused<double>>("v_fmac_f64"));
  table.add(laneRow<fused<float>>("v_fmamk_f32"));
  table.add(laneRow<fused<float>>("v_fmaak_f32"));
  table.add(laneRow<multiplyThenAdd<half>>("v_mad_f16", keepsHighHalf));
  table.add(laneRow<multiplyThenAdd<half>>("v_mad_legacy_f16"));
  table.add(accumulatingRow<multiplyThenAdd<half>>("v_mac_f16"));
  table.add(laneRow<multiplyThenAdd<half>>("v_madmk_f16"));
  table.add(laneRow<multiplyThenAdd<half>>("v_madak_f16"));
}

void addExtremes(InstructionTable &table) {
  table.add(laneRow<minimum<half>>("v_min_f16"));
  table.add(laneRow<minimum<float>>("v_min_f32"));
  table.add(laneRow<minimum<double>>("v_min_f64"));
  table.add(laneRow<maximum<half>>("v_max_f16"));
  table.add(laneRow<maximum<float>>("v_max_f32"));
  table.add(laneRow<maximum<double>>("v_max_f64"));
  table.add(laneRow<minimum3<half>>("v_min3_f16", keepsHighHalf));
  table.add(laneRow<minimum3<float>>("v_min3_f32"));
  table.add(laneRow<maximum3<half>>("v_max3_f16", keepsHighHalf));
  table.add(laneRow<maximum3<float>>("v_max3_f32"));
  table.add(laneRow<median3<half>>("v_med3_f16", keepsHighHalf));
  table.add(laneRow<median3<float>>("v_med3_f32"));
  auto only950 = [&table](InstructionRow row) {
    row.chips = ChipSet::Gfx950;
    table.add(row);
  };
  only950(laneRow<[](float a, float b, float c) { return extreme<float, false>(extreme<float, false>(a, b), c); }>(
      "v_minimum3_f32"));
  only950(laneRow<[](float a, float b, float c) { return extreme<float, true>(extreme<float, true>(a, b), c); }>(
      "v_maximum3_f32"));
}

void addParts(InstructionTable &table) {
  table.add(laneRow<round<half>>("v_rndne_f16"));
  table.add(laneRow<round<float>>("v_rndne_f32"));
  table.add(laneRow<round<double>>("v_rndne_f64"));
  table.add(laneRow<floor<half>>("v_floor_f16"));
  table.add(laneRow<floor<float>>("v_floor_f32"));
  table.add(laneRow<floor<double>>("v_floor_f64"));
  table.add(laneRow<ceiling<half>>("v_ceil_f16"));
  table.add(laneRow<ceiling<float>>("v_ceil_f32"));
  table.add(laneRow<ceiling<double>>("v_ceil_f64"));
  table.add(laneRow<truncate<half>>("v_trunc_f16"));
  table.add(laneRow<truncate<float>>("v_trunc_f32"));
  table.add(laneRow<truncate<double>>("v_trunc_f64"));
  table.add(laneRow<fract<half>>("v_fract_f16"));
  table.add(laneRow<fract<float>>("v_fract_f32"));
  table.add(laneRow<fract<double>>("v_fract_f64"));
  table.add(laneRow<loadExponent<half, int16_t>>("v_ldexp_f16"));
  table.add(laneRow<loadExponent<float, int32_t>>("v_ldexp_f32"));
  table.add(laneRow<loadExponent<double, int32_t>>("v_ldexp_f64"));
  table.add(laneRow<exponentOf<half, int16_t>>("v_frexp_exp_i16_f16"));
  table.add(laneRow<exponentOf<float, int32_t>>("v_frexp_exp_i32_f32"));
  table.add(laneRow<exponentOf<double, int32_t>>("v_frexp_exp_i32_f64"));
  table.add(laneRow<mantissaOf<half>>("v_frexp_mant_f16"));
  table.add(laneRow<mantissaOf<float>>("v_frexp_mant_f32"));
  table.add(laneRow<mantissaOf<double>>("v_frexp_mant_f64"));
}

void addDivision(InstructionTable &table) {
  table.add(laneRow<scaleForDivision<float>>("v_div_scale_f32"));
  table.add(laneRow<scaleForDivision<double>>("v_div_scale_f64"));
  table.add(laneRow<fusedForDivision<float>>("v_div_fmas_f32", readsVcc));
  table.add(laneRow<fusedForDivision<double>>("v_div_fmas_f64", readsVcc));
  table.add(laneRow<fixDivision<half>>("v_div_fixup_f16", keepsHighHalf));
  table.add(laneRow<fixDivision<half>>("v_div_fixup_legacy_f16"));
  table.add(laneRow<fixDivision<float>>("v_div_fixup_f32"));
  table.add(laneRow<fixDivision<double>>("v_div_fixup_f64"));
}

void addApproximations(InstructionTable &table) {
  table.add(laneRow<invert<half>>("v_rcp_f16", approximates));
  table.add(laneRow<invert<float>>("v_rcp_f32", approximates));
  table.add(laneRow<invert<float>>("v_rcp_iflag_f32", approximates));
  table.add(laneRow<invert<double>>("v_rcp_f64", approximates));
  table.add(laneRow<root<half>>("v_sqrt_f16", approximates));
  table.add(laneRow<root<float>>("v_sqrt_f32", approximates));
  table.add(laneRow<root<double>>("v_sqrt_f64", approximates));
  table.add(laneRow<invertedRoot<half>>("v_rsq_f16", approximates));
  table.add(laneRow<invertedRoot<float>>("v_rsq_f32", approximates));
  table.add(laneRow<invertedRoot<double>>("v_rsq_f64", approximates));
  table.add(laneRow<exponential<half>>("v_exp_f16", approximates));
  table.add(laneRow<exponential<float>>("v_exp_f32", approximates));
  table.add(laneRow<exponential<float>>("v_exp_legacy_f32", approximates));
  table.add(laneRow<logarithm<half>>("v_log_f16", approximates));
  table.add(laneRow<logarithm<float>>("v_log_f32", approximates));
  table.add(laneRow<logarithm<float>>("v_log_legacy_f32", approximates));
  table.add(laneRow<sine<half>>("v_sin_f16", approximates));
  table.add(laneRow<sine<float>>("v_sin_f32", approximates));
  table.add(laneRow<cosine<half>>("v_cos_f16", approximates));
  table.add(laneRow<cosine<float>>("v_cos_f32", approximates));
  table.add(laneRow<[](double a, uint32_t b) { return trigonometricSegment(a, b); }>("v_trig_preop_f64"));
}

} // namespace

void addVectorFloat(InstructionTable &table) {
  addArithmetic(table);
  addExtremes(table);
  addParts(table);
  addDivision(table);
  addApproximations(table);
  addCubes(table);
}

} // namespace heddle::simulator
