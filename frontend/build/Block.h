// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// blockKernel(): kernels that say themselves which thread of the block holds what, as in Gluon. The program is TTGIR,
// for AMD's gfx942 or gfx950. docs/builder.md is its guide.
#pragma once
#include "frontend/build/Buffer.h"
#include "frontend/build/Build.h"

namespace heddle::build {

/// As kernel(), with layouts: the chip and the number of warps are the program's.
template <size_t count, class F>
Program blockKernel(std::string_view name, const BlockOptions &block, const Argument (&arguments)[count], F body,
                    Position where = Position::current()) {
  using Types = typename detail::Parameters<F>::type;
  static_assert(std::tuple_size_v<Types> == count,
                "blockKernel: give one argument name for each parameter of the function");
  return detail::buildKernel(name, {arguments, &block}, body, static_cast<Types *>(nullptr), where);
}

//===-- Matmuls --------------------------------------------------------------------------------------------------===//

/// a * b + c by matrix instructions: c is in an MfmaLayout, a and b in DotOperandLayout 0 and 1 of it.
template <class A, int64_t... a, class B, int64_t... b, class C, int64_t... c>
Tile<C, c...> mfma(const Tile<A, a...> &left, const Tile<B, b...> &right, const Tile<C, c...> &accumulator,
                   Position where = Position::current()) {
  return dot(left, right, accumulator, Precision::IEEE, where);
}

/// Formats of elements of matmuls with scales; two elements of E2M1 are in an i8, the first in the low bits.
enum class ScaledFormat { E4M3, E5M2, E2M1 };

/// a * scaleA * b * scaleB + c: 32 elements along K have one scale, an E8M0 in an i8. `scaleA` is [M, K / 32], `scaleB`
/// [N, K / 32]; a scale may be Absent().
template <class A, int64_t... a, class SA, class B, int64_t... b, class SB, int64_t... c>
Tile<f32, c...> mfmaScaled(const Tile<A, a...> &left, const SA &scaleA, ScaledFormat formatA,
                           const Tile<B, b...> &right, const SB &scaleB, ScaledFormat formatB,
                           const Tile<f32, c...> &accumulator, Position where = Position::current()) {
  static_assert(sizeof...(a) == 2 && sizeof...(b) == 2 && sizeof...(c) == 2,
                "mfmaScaled: the operands have two dimensions each");
  auto scaleOf = [](const auto &scale) -> detail::Handle {
    using S = std::remove_cvref_t<decltype(scale)>;
    if constexpr (std::is_same_v<S, Absent>) {
      return {};
    } else {
      static_assert(std::is_same_v<detail::ElementOf<S>, i8> || std::is_same_v<detail::ElementOf<S>, u8>,
                    "mfmaScaled: a scale is an E8M0 in an i8");
      return scale.handle();
    }
  };
  auto nameOf = [](ScaledFormat format) {
    return format == ScaledFormat::E4M3 ? "e4m3" : format == ScaledFormat::E5M2 ? "e5m2" : "e2m1";
  };
  return Tile<f32, c...>(detail::emitScaledDot({left.handle(), scaleOf(scaleA), nameOf(formatA)},
                                               {right.handle(), scaleOf(scaleB), nameOf(formatB)}, accumulator.handle(),
                                               where));
}

//===-- Schedules ------------------------------------------------------------------------------------------------===//

/// The compiler's instruction scheduler moves only instructions of these kinds over it: Triton's words with | between
/// them ("valu|ds_read", docs/ttgir.md), or the number of the mask. It orders no memory. A fault: a word that names no
/// kind. Other chips than AMD's refuse it when the kernel is compiled.
inline void scheduleBarrier(const char *kinds = "none", Position where = Position::current()) {
  detail::emitScheduleBarrier(kinds, where);
}
/// From here on the hardware issues this wave's instructions with this priority, 0 to 3, over those of other waves; 0
/// at first. A fault: another number. Other chips than AMD's refuse it when the kernel is compiled.
inline void setPriority(int priority, Position where = Position::current()) {
  detail::emitSetPriority(priority, where);
}
/// The end of a stage of a warp pipeline, whose waves have this priority, 0 to 3; stands after the stage's operations.
/// Two groups of four warps execute the stages one stage apart; docs/warp-pipeline.md has the rules.
inline void stageBorder(const char *label, int priority, Position where = Position::current()) {
  detail::emitStageBorder(label, priority, where);
}

/// The number of this thread's warp in the block.
inline Scalar<i32> warpId(Position where = Position::current()) {
  return Scalar<i32>(detail::emitWarpId(where));
}

} // namespace heddle::build
