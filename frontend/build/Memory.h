// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, stores and atomics through pointers and tiles of pointers, and what is for finding errors.
#pragma once
#include "frontend/build/Shape.h"
#include <string>
#include <vector>

namespace heddle::build {

/// Stands for a mask or other value that is not given.
struct Absent {};

namespace detail {

template <class P, class M>
Handle maskFor(const M &mask, Position where) {
  if constexpr (std::is_same_v<M, Absent>) {
    return {};
  } else {
    using Wanted = TileOf<i1, ShapeOf<P>>;
    if constexpr (isTile<M>) {
      static_assert(isBool<ElementOf<M>>, "the mask is i1: compare first");
      static_assert(fits<ShapeOf<M>, ShapeOf<P>>, "the mask does not have the shape of the pointers");
    } else {
      static_assert(std::is_same_v<M, bool>, "the mask is i1: compare first");
    }
    return as<Wanted>(mask, where);
  }
}

template <class P, class V>
Handle valueFor(const V &value, Position where) {
  using T = typename ElementOf<P>::Pointee;
  if constexpr (isTile<V>) {
    static_assert(std::is_same_v<ElementOf<V>, T>,
                  "the value has another element type than memory: convert it with cast<T>()");
    static_assert(fits<ShapeOf<V>, ShapeOf<P>>, "the value does not have the shape of the pointers");
  }
  return as<TileOf<T, ShapeOf<P>>>(value, where);
}

template <class P>
inline constexpr bool pointsToBool = std::is_same_v<typename ElementOf<P>::Pointee, i1>;

/// In memory an i1 is a byte of 0 or 1.
template <class P>
Handle bytePointer(const P &pointer, Position where) {
  return emitBitcast(pointer.handle(), TileOf<PointerTo<i8>, ShapeOf<P>>::type(), where);
}

template <class P>
concept AnyPointer = isPointerTile<P>;

} // namespace detail

/// Reads the elements whose mask is true; the others are `other`, or undefined without it. Mask and other are broadcast
/// to the shape of the pointers.
template <class P, class M = Absent, class O = Absent>
  requires detail::AnyPointer<P>
auto load(const P &pointer, const M &mask = {}, const O &other = {}, Access access = {},
          Position where = Position::current()) {
  using T = typename detail::ElementOf<P>::Pointee;
  using Result = detail::TileOf<T, detail::ShapeOf<P>>;
  static_assert(std::is_same_v<O, Absent> || !std::is_same_v<M, Absent>,
                "load: `other` is for elements that a mask leaves out");
  detail::Handle otherHandle;
  if constexpr (!std::is_same_v<O, Absent>)
    otherHandle = detail::valueFor<P>(other, where);
  detail::Handle active = detail::maskFor<P>(mask, where);
  if constexpr (detail::pointsToBool<P>) {
    using Bytes = detail::TileOf<i8, detail::ShapeOf<P>>;
    if (otherHandle)
      otherHandle = detail::emitCast(otherHandle, ElementType::I1, ElementType::I8, where);
    Bytes bytes(detail::emitLoad(detail::bytePointer(pointer, where), active, otherHandle, access, where));
    return detail::compare<detail::Comparison::NotEqual>(bytes, 0, where);
  } else {
    return Result(detail::emitLoad(pointer.handle(), active, otherHandle, access, where));
  }
}

/// Writes the elements whose mask is true. Value and mask are broadcast to the shape of the pointers.
template <class P, class V, class M = Absent>
  requires(detail::AnyPointer<P> && detail::Operand<V>)
void store(const P &pointer, const V &value, const M &mask = {}, Access access = {},
           Position where = Position::current()) {
  detail::Handle stored = detail::valueFor<P>(value, where), target = pointer.handle();
  if constexpr (detail::pointsToBool<P>) {
    stored = detail::emitCast(stored, ElementType::I1, ElementType::I8, where);
    target = detail::bytePointer(pointer, where);
  }
  detail::emitStore(target, stored, detail::maskFor<P>(mask, where), access, where);
}

//===-- Atomics --------------------------------------------------------------------------------------------------===//

namespace detail {

template <class P, class V, class M>
auto atomic(Atomic kind, const P &pointer, const V &value, const M &mask, Order order, Scope scope, Position where) {
  using Result = TileOf<typename ElementOf<P>::Pointee, ShapeOf<P>>;
  Handle active;
  if constexpr (std::is_same_v<M, Absent>)
    active = maskFor<P>(true, where);
  else
    active = maskFor<P>(mask, where);
  return Result(emitAtomic(kind, pointer.handle(), valueFor<P>(value, where), active, order, scope, where));
}

/// The order of floats is that of their bits as signed integers where positive, and the reverse of their bits as
/// unsigned integers where negative: two integer atomics under complementary masks.
template <bool isMax, class P, class V, class M>
auto floatExtreme(const P &pointer, const V &value, const M &mask, Order order, Scope scope, Position where) {
  using T = typename ElementOf<P>::Pointee;
  static_assert(std::is_same_v<T, f32> || std::is_same_v<T, f64>, "of floats only f32 and f64 have atomic max and min");
  using Signed = std::conditional_t<std::is_same_v<T, f32>, i32, i64>;
  using Unsigned = std::conditional_t<std::is_same_v<T, f32>, u32, u64>;
  using S = ShapeOf<P>;
  TileOf<T, S> given(valueFor<P>(value, where));
  TileOf<Signed, S> bits = bitcast<Signed>(given, where);
  auto negative = compare<Comparison::NotEqual>(
      binary<Binary::ShiftRight>(bitcast<Unsigned>(given, where), bitsOf(T::type) - 1, where), 0, where);
  auto positive = binary<Binary::Xor>(negative, true, where);
  TileOf<PointerTo<Signed>, S> target = pointerCast<Signed>(pointer, where);
  auto under = [&](const TileOf<i1, S> &sign) {
    if constexpr (std::is_same_v<M, Absent>)
      return sign;
    else
      return TileOf<i1, S>(binary<Binary::And>(sign, TileOf<i1, S>(maskFor<P>(mask, where)), where));
  };
  auto above = atomic(isMax ? Atomic::Max : Atomic::Min, target, bits, under(positive), order, scope, where);
  auto below =
      atomic(isMax ? Atomic::UnsignedMin : Atomic::UnsignedMax, target, bits, under(negative), order, scope, where);
  return bitcast<T>(select(positive, above, below, where), where);
}

template <bool isMax, class P, class V, class M>
auto atomicExtreme(const P &pointer, const V &value, const M &mask, Order order, Scope scope, Position where) {
  using T = typename ElementOf<P>::Pointee;
  if constexpr (isFloat<T>) {
    return floatExtreme<isMax>(pointer, value, mask, order, scope, where);
  } else {
    constexpr Atomic kind = isUnsignedInteger<T> ? (isMax ? Atomic::UnsignedMax : Atomic::UnsignedMin)
                                                 : (isMax ? Atomic::Max : Atomic::Min);
    return atomic(kind, pointer, value, mask, order, scope, where);
  }
}

template <class T>
constexpr void requireIntegerAtomic() {
  static_assert(isInteger<T>, "bitwise atomics work on integers");
}

} // namespace detail

// Each reads, combines and writes as one step and returns the old values; elements whose mask is false are left alone,
// and their results undefined.
#define HEDDLE_ATOMIC(name, ...)                                                                                       \
  template <class P, class V, class M>                                                                                 \
    requires(detail::AnyPointer<P> && (detail::AnyTile<M> || std::same_as<M, Absent>))                                 \
  auto name(const P &pointer, const V &value, const M &mask, Order order = Order::AcquireRelease,                      \
            Scope scope = Scope::Device, Position where = Position::current()) {                                       \
    using T [[maybe_unused]] = typename detail::ElementOf<P>::Pointee;                                                 \
    __VA_ARGS__                                                                                                        \
  }                                                                                                                    \
  template <class P, class V>                                                                                          \
    requires detail::AnyPointer<P>                                                                                     \
  auto name(const P &pointer, const V &value, Order order = Order::AcquireRelease, Scope scope = Scope::Device,        \
            Position where = Position::current()) {                                                                    \
    return name(pointer, value, Absent(), order, scope, where);                                                        \
  }
HEDDLE_ATOMIC(atomicAdd,
              static_assert(detail::hasArithmetic<T>, "atomicAdd works on integers and on floats from f16 on");
              constexpr auto kind = detail::isFloat<T> ? detail::Atomic::FloatAdd : detail::Atomic::Add;
              return detail::atomic(kind, pointer, value, mask, order, scope, where);)
HEDDLE_ATOMIC(atomicMax, return detail::atomicExtreme<true>(pointer, value, mask, order, scope, where);)
HEDDLE_ATOMIC(atomicMin, return detail::atomicExtreme<false>(pointer, value, mask, order, scope, where);)
HEDDLE_ATOMIC(atomicAnd, detail::requireIntegerAtomic<T>();
              return detail::atomic(detail::Atomic::And, pointer, value, mask, order, scope, where);)
HEDDLE_ATOMIC(atomicOr, detail::requireIntegerAtomic<T>();
              return detail::atomic(detail::Atomic::Or, pointer, value, mask, order, scope, where);)
HEDDLE_ATOMIC(atomicXor, detail::requireIntegerAtomic<T>();
              return detail::atomic(detail::Atomic::Xor, pointer, value, mask, order, scope, where);)
HEDDLE_ATOMIC(atomicExchange,
              return detail::atomic(detail::Atomic::Exchange, pointer, value, mask, order, scope, where);)
#undef HEDDLE_ATOMIC

/// Writes `desired` where memory holds the bits of `expected`; returns what it held.
template <class P, class Expected, class Desired>
  requires detail::AnyPointer<P>
auto atomicCompareAndSwap(const P &pointer, const Expected &expected, const Desired &desired,
                          Order order = Order::AcquireRelease, Scope scope = Scope::Device,
                          Position where = Position::current()) {
  using T = typename detail::ElementOf<P>::Pointee;
  static_assert(detail::bitsOf(T::type) >= 16, "atomicCompareAndSwap works on 16, 32 and 64 bits");
  using Result = detail::TileOf<T, detail::ShapeOf<P>>;
  return Result(detail::emitCompareAndSwap(pointer.handle(), detail::valueFor<P>(expected, where),
                                           detail::valueFor<P>(desired, where), order, scope, where));
}

/// All of the program instance has come here before anything of it goes on, and sees what was written.
inline void debugBarrier(Position where = Position::current()) {
  detail::emitBarrier(where);
}

//===-- Finding errors -------------------------------------------------------------------------------------------===//

/// Stops the kernel with the message and this line when the condition is false anywhere.
template <int64_t... sizes>
void assertThat(const Tile<i1, sizes...> &condition, const std::string &message, Position where = Position::current()) {
  detail::emitAssert(condition.handle(), message, where);
}

namespace detail {
struct LocatedText {
  LocatedText(const char *text, Position where = Position::current()) : text(text), where(where) {}
  LocatedText(const std::string &text, Position where = Position::current()) : text(text), where(where) {}
  std::string text;
  Position where;
};
} // namespace detail

/// Prints the elements of the values from the device, each line after the prefix.
template <class... T>
void print(detail::LocatedText prefix, const T &...values) {
  static_assert((detail::isTile<T> && ...), "print: after the prefix come values of the kernel");
  detail::emitPrint(
      prefix.text, {values.handle()...},
      {int32_t(!detail::isUnsignedInteger<detail::ElementOf<T>> && !detail::isBool<detail::ElementOf<T>>)...},
      prefix.where);
}

//===-- Hints ----------------------------------------------------------------------------------------------------===//

/// The compiler may rely on the condition; undefined when it is false.
inline void assume(const Scalar<i1> &condition, Position where = Position::current()) {
  detail::emitAssume(condition.handle(), where);
}

namespace detail {
template <int... values, class T>
const T &hint(const char *name, const T &x, Position where) {
  static_assert(sizeof...(values) == (T::rank ? T::rank : 1),
                "a hint has one value for each dimension, one for a scalar");
  static_assert(((values > 0) && ...), "a hint is positive");
  emitHint(x.handle(), name, {values...}, where);
  return x;
}
} // namespace detail

/// `x`, with a promise that overrides what the compiler finds: along dimension d, the first of each run of consecutive
/// elements is a multiple of values[d] (bytes for pointers).
template <int... values, detail::AnyTile T>
T multipleOf(const T &x, Position where = Position::current()) {
  return detail::hint<values...>("tt.divisibility", x, where);
}
/// The same for runs of values[d] elements that count up by 1, and for runs of equal elements.
template <int... values, detail::AnyTile T>
T contiguous(const T &x, Position where = Position::current()) {
  return detail::hint<values...>("tt.contiguity", x, where);
}
template <int... values, detail::AnyTile T>
T constant(const T &x, Position where = Position::current()) {
  return detail::hint<values...>("tt.constancy", x, where);
}

} // namespace heddle::build
