// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What all FP8 quantisation has in common: largest magnitudes, scales, conversion, and the same by plain numbers for
// references. Formulas: docs/kernels.md, "Scales and values".
#pragma once
#include "kernels/LibraryKernel.h"
#include "kernels/StepWriter.h"
#include <limits>

namespace heddle::kernels {

inline const std::vector<ElementType> numberTypes = {ElementType::BF16, ElementType::F16, ElementType::F32};

/// The options `dtype`, `pow2` and `nan`.
std::vector<Option> quantiseOptions();

/// What the caller chose of them.
struct Quantise {
  ElementType type;
  bool powersOfTwo, propagates;
  double most; ///< of the type

  explicit Quantise(const Call &call);
};

/// The largest finite value of an 8-bit format.
double largestOf(ElementType type);

constexpr float smallestAmax = 1e-12f;
constexpr int32_t infinityBits = 0x7f800000;

/// Of f32 numbers, the bits of magnitudes, whose order as integers is theirs; a NaN is above infinity, or left out.
template <int64_t... sizes>
build::Tile<build::i32, sizes...> magnitudeBits(const build::Tile<build::f32, sizes...> &x, bool propagates) {
  using namespace build;
  auto bits = bitcast<i32>(x) & 0x7fffffff;
  return propagates ? bits : select(bits > infinityBits, 0, bits);
}
template <int64_t... sizes>
build::Tile<build::i32, sizes...> magnitudeBits(const build::Tile<build::f32, sizes...> &x, const Quantise &how) {
  return magnitudeBits(x, how.propagates);
}

/// The forward scale of largest magnitudes, which are given as bits.
template <int64_t... sizes>
build::Tile<build::f32, sizes...> scaleOf(const build::Tile<build::i32, sizes...> &amaxBits, const Quantise &how) {
  using namespace build;
  auto bounded = maximum(bitcast<f32>(amaxBits), smallestAmax);
  Tile<f32, sizes...> scale = preciseDivide(full<f32>(how.most), bounded);
  if (how.powersOfTwo)
    scale = bitcast<f32>(bitcast<i32>(scale) & infinityBits); // the exponent alone
  if (!how.propagates)
    return scale;
  return select(amaxBits > infinityBits, full<f32>(std::numeric_limits<double>::quiet_NaN()), scale);
}

/// Calls `store(pointer, values)` with the 8-bit values of `scaled` and a pointer to them.
template <int64_t... sizes, class F>
void storeQuantised(const build::TypedPointer &target, const build::Tile<build::f32, sizes...> &scaled,
                    const Quantise &how, F store) {
  using namespace build;
  // A conversion saturates and keeps NaN; leaving NaN out is what needs bounds.
  auto bounded = how.propagates ? scaled : clamp(scaled, -how.most, how.most);
  withFp8(target.type, [&]<class E>() { store(target.as<E>(), cast<E>(bounded)); });
}

//===-- By plain numbers -----------------------------------------------------------------------------------------===//

/// The larger of an amax so far and |value|, by the policy for NaN.
double amaxWith(double amax, double value, bool propagates);
/// The scale in f64, then f32, by the definition.
float referenceScale(double amax, const Quantise &how);
/// The value to convert, which a store to the format rounds.
double referenceValue(double x, float scale, const Quantise &how);

/// All of it for the `count` elements that share a scale: reads them by `get(i)`, gives values to `set(i, value)`, and
/// returns the scale.
template <class Get, class Set>
float quantiseLine(int64_t count, const Quantise &how, Get get, Set set) {
  double amax = 0;
  for (int64_t i = 0; i < count; ++i)
    amax = amaxWith(amax, get(i), how.propagates);
  float scale = referenceScale(amax, how);
  for (int64_t i = 0; i < count; ++i)
    set(i, referenceValue(get(i), scale, how));
  return scale;
}

} // namespace heddle::kernels
