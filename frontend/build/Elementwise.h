// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of single elements: mathematics, selection, conversion.
#pragma once
#include "frontend/build/Tile.h"

namespace heddle::build {

#define HEDDLE_UNARY(name, kind)                                                                                       \
  template <class E, int64_t... sizes>                                                                                 \
  Tile<E, sizes...> name(const Tile<E, sizes...> &x, Position where = Position::current()) {                           \
    static_assert(std::is_same_v<E, f32> || std::is_same_v<E, f64>, #name " works on f32 and f64: use cast<f32>()");   \
    return Tile<E, sizes...>(detail::emitUnary(detail::Unary::kind, x.handle(), E::type, where));                      \
  }
HEDDLE_UNARY(exp, Exp)
HEDDLE_UNARY(exp2, Exp2)
HEDDLE_UNARY(log, Log)
HEDDLE_UNARY(log2, Log2)
HEDDLE_UNARY(sqrt, Sqrt)
HEDDLE_UNARY(preciseSqrt, PreciseSqrt) ///< correctly rounded also on GPUs
HEDDLE_UNARY(rsqrt, ReciprocalSqrt)
HEDDLE_UNARY(erf, Erf)
HEDDLE_UNARY(sin, Sin)
HEDDLE_UNARY(cos, Cos)
HEDDLE_UNARY(floor, Floor)
HEDDLE_UNARY(ceil, Ceil)
#undef HEDDLE_UNARY

template <class E, int64_t... sizes>
Tile<E, sizes...> abs(const Tile<E, sizes...> &x, Position where = Position::current()) {
  static_assert(detail::hasArithmetic<E>, "abs works on integers and on floats from f16 on");
  if constexpr (detail::isUnsignedInteger<E>)
    return x;
  else
    return Tile<E, sizes...>(detail::emitUnary(detail::Unary::Absolute, x.handle(), E::type, where));
}

/// The larger element. Of -0 and +0 either may come; of a NaN and a number see NaN.
template <class L, class R>
  requires(detail::Operand<L> && detail::Operand<R> && (detail::AnyTile<L> || detail::AnyTile<R>))
auto maximum(const L &x, const R &y, NaN nan = NaN::Ignored, Position where = Position::current()) {
  using detail::Binary;
  return nan == NaN::Ignored ? detail::binary<Binary::Maximum>(x, y, where)
                             : detail::binary<Binary::MaximumOrNaN>(x, y, where);
}
template <class L, class R>
  requires(detail::Operand<L> && detail::Operand<R> && (detail::AnyTile<L> || detail::AnyTile<R>))
auto minimum(const L &x, const R &y, NaN nan = NaN::Ignored, Position where = Position::current()) {
  using detail::Binary;
  return nan == NaN::Ignored ? detail::binary<Binary::Minimum>(x, y, where)
                             : detail::binary<Binary::MinimumOrNaN>(x, y, where);
}

/// min(max(x, lower), upper) of floats; with NaN::Ignored a NaN becomes `lower`.
template <class E, int64_t... sizes, class Lower, class Upper>
Tile<E, sizes...> clamp(const Tile<E, sizes...> &x, const Lower &lower, const Upper &upper, NaN nan = NaN::Ignored,
                        Position where = Position::current()) {
  using T = Tile<E, sizes...>;
  static_assert(detail::isFloat<E> && detail::hasArithmetic<E>, "clamp works on floats from f16 on");
  static_assert(std::is_same_v<detail::JointTile<T, Lower>, T> && std::is_same_v<detail::JointTile<T, Upper>, T>,
                "clamp: the bounds have the shape of x, or are scalars");
  return T(detail::emitClamp(x.handle(), detail::as<T>(lower, where), detail::as<T>(upper, where), nan, where));
}

/// x * y + z with one rounding.
template <class E, int64_t... sizes>
Tile<E, sizes...> fusedMultiplyAdd(const Tile<E, sizes...> &x, const Tile<E, sizes...> &y, const Tile<E, sizes...> &z,
                                   Position where = Position::current()) {
  static_assert(detail::isFloat<E> && detail::hasArithmetic<E>, "fusedMultiplyAdd works on floats from f16 on");
  return Tile<E, sizes...>(detail::emitFusedMultiplyAdd(x.handle(), y.handle(), z.handle(), where));
}

/// A quotient that is correctly rounded also on GPUs; f32.
template <class L, class R>
auto preciseDivide(const L &x, const R &y, Position where = Position::current()) {
  static_assert(std::is_same_v<detail::ElementOf<detail::JointTile<L, R>>, f32>, "preciseDivide works on f32");
  return detail::binary<detail::Binary::PreciseDivide>(x, y, where);
}

/// The high half of the product of unsigned 32- or 64-bit integers.
template <class L, class R>
auto multiplyHigh(const L &x, const R &y, Position where = Position::current()) {
  using E = detail::ElementOf<detail::JointTile<L, R>>;
  static_assert(std::is_same_v<E, u32> || std::is_same_v<E, u64>, "multiplyHigh works on u32 and u64");
  return detail::binary<detail::Binary::MultiplyHigh>(x, y, where);
}

/// The quotient of non-negative integers, rounded up.
template <class L, class R>
auto ceilDivide(const L &x, const R &y, Position where = Position::current()) {
  using detail::Binary;
  static_assert(detail::isInteger<detail::ElementOf<detail::JointTile<L, R>>>, "ceilDivide works on integers");
  auto above = detail::binary<Binary::Add>(x, y, where);
  return detail::binary<Binary::Divide>(detail::binary<Binary::Subtract>(above, 1, where), y, where);
}

/// `x` where the condition holds, else `y`. Both are evaluated.
template <class C, class L, class R>
  requires(detail::AnyTile<L> || detail::AnyTile<R>)
auto select(const C &condition, const L &x, const R &y, Position where = Position::current()) {
  static_assert(detail::isBool<detail::ElementOf<C>>, "select: the condition is i1: compare first");
  using Values = detail::JointTile<L, R>;
  using S = typename detail::JointShape<detail::ShapeOf<C>, detail::ShapeOf<Values>>::type;
  using Result = detail::TileOf<detail::ElementOf<Values>, S>;
  detail::Handle chosen = condition.handle();
  if constexpr (C::rank > 0)
    chosen = detail::as<detail::TileOf<i1, S>>(condition, where);
  return Result(detail::emitSelect(chosen, detail::as<Result>(x, where), detail::as<Result>(y, where), where));
}

//===-- Conversions ----------------------------------------------------------------------------------------------===//

/// The value in another type. Floats are rounded to nearest even, integers cut off; floats are truncated toward zero
/// to integers; to i1 it is `x != 0`; fp8 saturates as the target does.
template <class To, class E, int64_t... sizes>
Tile<To, sizes...> cast(const Tile<E, sizes...> &x, Position where = Position::current()) {
  static_assert(!detail::isPointer<E> && !detail::isPointer<To>,
                "pointers are converted with pointerCast<T>() or address()");
  return Tile<To, sizes...>(detail::emitCast(x.handle(), E::type, To::type, where));
}

/// The same bits read as another type of the same width.
template <class To, class E, int64_t... sizes>
Tile<To, sizes...> bitcast(const Tile<E, sizes...> &x, Position where = Position::current()) {
  static_assert(detail::isNumber<E> && detail::isNumber<To>,
                "pointers are converted with pointerCast<T>() or address()");
  static_assert(detail::bitsOf(E::type) == detail::bitsOf(To::type), "bitcast: the two types have different widths");
  return Tile<To, sizes...>(detail::emitBitcast(x.handle(), Tile<To, sizes...>::type(), where));
}

/// The same address with another pointee.
template <class To, class T, int64_t... sizes>
PointerTile<To, sizes...> pointerCast(const PointerTile<T, sizes...> &pointer, Position where = Position::current()) {
  return PointerTile<To, sizes...>(detail::emitBitcast(pointer.handle(), PointerTile<To, sizes...>::type(), where));
}

/// The address of a pointer, and the pointer of an address, as it stands in a buffer of addresses.
template <class T, int64_t... sizes>
Tile<i64, sizes...> address(const PointerTile<T, sizes...> &pointer, Position where = Position::current()) {
  return Tile<i64, sizes...>(detail::emitPointerToInteger(pointer.handle(), where));
}
template <class T, int64_t... sizes>
PointerTile<T, sizes...> pointerAt(const Tile<i64, sizes...> &address, Position where = Position::current()) {
  return PointerTile<T, sizes...>(
      detail::emitIntegerToPointer(address.handle(), PointerTile<T, sizes...>::type(), where));
}

} // namespace heddle::build
