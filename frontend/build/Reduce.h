// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions, scans and matrix products.
#pragma once
#include "frontend/build/Carry.h"
#include "frontend/build/Shape.h"

namespace heddle::build {
namespace detail {

template <class T>
struct Combined; // scalars of a bundle, and the bundle with one dimension reduced
template <class E, int64_t... sizes>
struct Combined<Tile<E, sizes...>> {
  using First = Tile<E, sizes...>;
  using Scalars = Scalar<E>;
  template <int number>
  using Reduced = TileOf<E, ReducedShape<number, First>>;
  static constexpr bool sameShape = sizeof...(sizes) > 0;
};
template <class E, int64_t... sizes, class... Others>
struct Combined<std::tuple<Tile<E, sizes...>, Others...>> {
  using First = Tile<E, sizes...>;
  using Scalars = std::tuple<Scalar<E>, Scalar<ElementOf<Others>>...>;
  template <int number>
  using Reduced =
      std::tuple<TileOf<E, ReducedShape<number, First>>, TileOf<ElementOf<Others>, ReducedShape<number, First>>...>;
  static constexpr bool sameShape = sizeof...(sizes) > 0 && (std::is_same_v<ShapeOf<Others>, Shape<sizes...>> && ...);
};

template <class T>
std::tuple<T> asTuple(const T &value);
template <class... T>
std::tuple<T...> asTuple(const std::tuple<T...> &values);

/// The combining function as a region: its arguments are all left scalars, then all right ones.
template <class T, class F>
Body combineBody(F &combine) {
  using Side = decltype(asTuple(std::declval<typename Combined<T>::Scalars>()));
  using Pair = Bundle<decltype(std::tuple_cat(std::declval<Side>(), std::declval<Side>()))>;
  return [&combine](const Handles &arguments) {
    auto result = Pair::call(combine, arguments, 0);
    static_assert(std::is_same_v<decltype(result), typename Combined<T>::Scalars>,
                  "the combining function returns one scalar for each input, of the input's element type");
    return handlesOf(result);
  };
}

} // namespace detail

/// Combines the elements along an axis: `combine(left..., right...)` takes scalars, is associative and commutative,
/// and returns the combined scalars (by carry() when `x` is a carry() of several tiles). The axis disappears.
template <class T, int number, class F>
  requires detail::AnyBundle<T>
auto reduce(const T &x, axis<number>, F combine, Position where = Position::current()) {
  using Traits = detail::Combined<T>;
  static_assert(Traits::sameShape, "reduce: the inputs are tiles of one shape");
  static_assert(number >= 0 && number < Traits::First::rank, "reduce: the axis is between 0 and the rank");
  using Result = typename Traits::template Reduced<number>;
  auto results = detail::emitReduce(detail::handlesOf(x), number, detail::combineBody<T>(combine), where);
  return detail::Bundle<Result>::make(results, 0);
}

/// Inclusive prefixes along an axis, from the end when `reverse`; `combine` is associative.
template <class T, int number, class F>
  requires detail::AnyBundle<T>
T scan(const T &x, axis<number>, F combine, bool reverse = false, Position where = Position::current()) {
  using Traits = detail::Combined<T>;
  static_assert(Traits::sameShape, "scan: the inputs are tiles of one shape");
  static_assert(number >= 0 && number < Traits::First::rank, "scan: the axis is between 0 and the rank");
  auto results = detail::emitScan(detail::handlesOf(x), number, reverse, detail::combineBody<T>(combine), where);
  return detail::Bundle<T>::make(results, 0);
}

// The element type stays: sums of small integers wrap, and f16 adds in f16. Convert with cast<T>() before.
#define HEDDLE_REDUCTION(name, kind)                                                                                   \
  template <class E, int64_t... sizes, int number>                                                                     \
  auto name(const Tile<E, sizes...> &x, axis<number> along, Position where = Position::current()) {                    \
    return reduce(                                                                                                     \
        x, along, [&](Scalar<E> a, Scalar<E> b) { return detail::binary<detail::Binary::kind>(a, b, where); }, where); \
  }                                                                                                                    \
  template <class E, int64_t... sizes>                                                                                 \
  Scalar<E> name(const Tile<E, sizes...> &x, Position where = Position::current()) {                                   \
    if constexpr (sizeof...(sizes) == 1) {                                                                             \
      return name(x, axis<0>(), where);                                                                                \
    } else {                                                                                                           \
      using Line = Tile<E, (int64_t(1) * ... * sizes)>;                                                                \
      return name(Line(detail::emitReshape(x.handle(), Line::type(), true, where)), axis<0>(), where);                 \
    }                                                                                                                  \
  }
/// Along an axis, or over all elements. max and min ignore NaN as maximum() and minimum() do.
HEDDLE_REDUCTION(sum, Add)
HEDDLE_REDUCTION(max, Maximum)
HEDDLE_REDUCTION(min, Minimum)
HEDDLE_REDUCTION(reduceXor, Xor)
HEDDLE_REDUCTION(reduceAnd, And)
HEDDLE_REDUCTION(reduceOr, Or)
#undef HEDDLE_REDUCTION

#define HEDDLE_SCAN(name, kind)                                                                                        \
  template <class E, int64_t... sizes, int number>                                                                     \
  Tile<E, sizes...> name(const Tile<E, sizes...> &x, axis<number> along, bool reverse = false,                         \
                         Position where = Position::current()) {                                                       \
    return scan(                                                                                                       \
        x, along, [&](Scalar<E> a, Scalar<E> b) { return detail::binary<detail::Binary::kind>(a, b, where); },         \
        reverse, where);                                                                                               \
  }
HEDDLE_SCAN(cumulativeSum, Add)
HEDDLE_SCAN(cumulativeProduct, Multiply)
#undef HEDDLE_SCAN

namespace detail {

template <Comparison better, class E, int64_t... sizes, int number>
auto extremeWithIndex(const Tile<E, sizes...> &x, axis<number> along, Position where) {
  using T = Tile<E, sizes...>;
  static_assert(T::rank > 0 && number >= 0 && number < T::rank, "the axis is between 0 and the rank");
  static_assert(hasArithmetic<E>, "works on integers and on floats from f16 on");
  constexpr int64_t count = T::size(number);
  Handle line = emitRange(0, count, where);
  for (int dimension = 0; dimension < T::rank; ++dimension)
    if (dimension != number)
      line = emitExpandDims(line, dimension, where);
  using Index = Tile<i32, sizes...>;
  Index index(emitBroadcast(line, Index::type(), where));
  auto combine = [&](Scalar<E> a, Scalar<i32> i, Scalar<E> b, Scalar<i32> j) {
    auto first =
        binary<Binary::And>(compare<Comparison::Equal>(a, b, where), compare<Comparison::Less>(i, j, where), where);
    auto keep = binary<Binary::Or>(compare<better>(a, b, where), first, where);
    return carry(select(keep, a, b, where), select(keep, i, j, where));
  };
  return reduce(carry(x, index), along, combine, where);
}

} // namespace detail

/// The largest (smallest) element along an axis and its index; the first one of equals. NaN elements are unspecified.
template <class E, int64_t... sizes, int number>
auto maxWithIndex(const Tile<E, sizes...> &x, axis<number> along, Position where = Position::current()) {
  return detail::extremeWithIndex<detail::Comparison::Greater>(x, along, where);
}
template <class E, int64_t... sizes, int number>
auto minWithIndex(const Tile<E, sizes...> &x, axis<number> along, Position where = Position::current()) {
  return detail::extremeWithIndex<detail::Comparison::Less>(x, along, where);
}
template <class E, int64_t... sizes, int number>
auto argmax(const Tile<E, sizes...> &x, axis<number> along, Position where = Position::current()) {
  return std::get<1>(maxWithIndex(x, along, where));
}
template <class E, int64_t... sizes, int number>
auto argmin(const Tile<E, sizes...> &x, axis<number> along, Position where = Position::current()) {
  return std::get<1>(minWithIndex(x, along, where));
}

//===-- Matrix products ------------------------------------------------------------------------------------------===//

namespace detail {

template <class A, class B>
struct DotShape {
  static constexpr bool ranksAgree = false, batchesAgree = true, innerAgree = true;
  using type = A;
};
template <int64_t m, int64_t k, int64_t k2, int64_t n>
struct DotShape<Shape<m, k>, Shape<k2, n>> {
  static constexpr bool ranksAgree = true, batchesAgree = true, innerAgree = k == k2;
  using type = Shape<m, n>;
};
template <int64_t b, int64_t m, int64_t k, int64_t b2, int64_t k2, int64_t n>
struct DotShape<Shape<b, m, k>, Shape<b2, k2, n>> {
  static constexpr bool ranksAgree = true, batchesAgree = b == b2, innerAgree = k == k2;
  using type = Shape<b, m, n>;
};

template <class A, class B, class C>
inline constexpr bool dotElements = (std::is_same_v<A, i8> && std::is_same_v<B, i8> && std::is_same_v<C, i32>) ||
                                    (std::is_same_v<A, f64> && std::is_same_v<B, f64> && std::is_same_v<C, f64>) ||
                                    (isFloat<A> && isFloat<B> && !std::is_same_v<A, f64> && std::is_same_v<C, f32>) ||
                                    (std::is_same_v<A, f16> && std::is_same_v<B, f16> && std::is_same_v<C, f16>);

template <class A>
using DotAccumulator = std::conditional_t<isFloat<A>, std::conditional_t<std::is_same_v<A, f64>, f64, f32>, i32>;

} // namespace detail

/// a * b + accumulator, for [M, K] and [K, N], or with a batch dimension first. Accumulates in the accumulator's type:
/// f32 for floats up to f32 (or f16 for f16), f64 for f64, i32 for i8.
template <class A, int64_t... a, class B, int64_t... b, class C, int64_t... c>
Tile<C, c...> dot(const Tile<A, a...> &left, const Tile<B, b...> &right, const Tile<C, c...> &accumulator,
                  Precision precision, ImpreciseSums sums, Position where = Position::current()) {
  using Product = detail::DotShape<detail::Shape<a...>, detail::Shape<b...>>;
  static_assert(Product::ranksAgree, "dot: the operands have two dimensions each, or three with a batch first");
  static_assert(Product::batchesAgree, "dot: the batch of the operands differs");
  static_assert(Product::innerAgree, "dot: K of the operands differs: [M, K] x [K, N]");
  static_assert(!Product::ranksAgree || std::is_same_v<typename Product::type, detail::Shape<c...>>,
                "dot: the accumulator is not [M, N]");
  static_assert(std::is_same_v<A, B> || (detail::isFp8(A::type) && detail::isFp8(B::type)),
                "dot: the operands have different element types: convert one of them with cast<T>()");
  static_assert(
      !std::is_same_v<A, B> || detail::dotElements<A, B, C>,
      "dot: this accumulator does not go with these operands: floats accumulate in f32, f64 in f64, i8 in i32");
  return Tile<C, c...>(
      detail::emitDot(left.handle(), right.handle(), accumulator.handle(), precision, sums.most, where));
}

template <class A, int64_t... a, class B, int64_t... b, class C, int64_t... c>
Tile<C, c...> dot(const Tile<A, a...> &left, const Tile<B, b...> &right, const Tile<C, c...> &accumulator,
                  Precision precision = Precision::IEEE, Position where = Position::current()) {
  return dot(left, right, accumulator, precision, ImpreciseSums{0}, where);
}

/// a * b.
template <class A, int64_t... a, class B, int64_t... b>
auto dot(const Tile<A, a...> &left, const Tile<B, b...> &right, Precision precision = Precision::IEEE,
         Position where = Position::current()) {
  using Product = detail::DotShape<detail::Shape<a...>, detail::Shape<b...>>;
  using C = detail::TileOf<detail::DotAccumulator<A>, typename Product::type>;
  return dot(left, right, C(detail::as<C>(0, where)), precision, where);
}

} // namespace heddle::build
