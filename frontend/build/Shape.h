// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that move elements and change shapes.
#pragma once
#include "frontend/build/Elementwise.h"
#include <array>

namespace heddle::build {
namespace detail {

template <int64_t... sizes>
constexpr std::array<int64_t, sizeof...(sizes)> sizesOf(Shape<sizes...>) {
  return {sizes...};
}

/// The shape with dimension `number` taken out, and with a dimension of `size` put in before it.
template <int number, class S, class Numbers>
struct WithoutDimension;
template <int number, int64_t... sizes, int... indices>
struct WithoutDimension<number, Shape<sizes...>, std::integer_sequence<int, indices...>> {
  static constexpr std::array<int64_t, sizeof...(sizes) + 1> all = {sizes...};
  using type = Shape<all[indices < number ? indices : indices + 1]...>;
};
template <int number, class T>
using ReducedShape = typename WithoutDimension<number, ShapeOf<T>, std::make_integer_sequence<int, T::rank - 1>>::type;

template <int number, int64_t size, class S, class Numbers>
struct WithDimension;
template <int number, int64_t size, int64_t... sizes, int... indices>
struct WithDimension<number, size, Shape<sizes...>, std::integer_sequence<int, indices...>> {
  static constexpr std::array<int64_t, sizeof...(sizes) + 1> all = {sizes...};
  using type = Shape<(indices == number ? size : all[indices < number ? indices : indices - 1])...>;
};
template <int number, int64_t size, class T>
using ExpandedShape =
    typename WithDimension<number, size, ShapeOf<T>, std::make_integer_sequence<int, T::rank + 1>>::type;

template <class T, int... order>
using PermutedShape = Shape<sizesOf(ShapeOf<T>())[order]...>;

constexpr bool isPermutation(std::initializer_list<int> order) {
  for (int wanted = 0; wanted < int(order.size()); ++wanted) {
    bool found = false;
    for (int number : order)
      found |= number == wanted;
    if (!found)
      return false;
  }
  return true;
}

} // namespace detail

/// Inserts a dimension of 1 before dimension `axis`.
template <int axis, class E, int64_t... sizes>
auto expandDims(const Tile<E, sizes...> &x, Position where = Position::current()) {
  static_assert(axis >= 0 && axis <= int(sizeof...(sizes)), "expandDims: the axis is between 0 and the rank");
  static_assert(sizeof...(sizes) > 0, "expandDims: a scalar has no dimensions; full<T, 1>(x) gives it one");
  using Result = detail::TileOf<E, detail::ExpandedShape<axis, 1, Tile<E, sizes...>>>;
  return Result(detail::emitExpandDims(x.handle(), axis, where));
}

/// A one-dimensional tile as a column of a matrix, [N, 1], or as its row, [1, N].
template <class E, int64_t size>
Tile<E, size, 1> column(const Tile<E, size> &x, Position where = Position::current()) {
  return expandDims<1>(x, where);
}
template <class E, int64_t size>
Tile<E, 1, size> row(const Tile<E, size> &x, Position where = Position::current()) {
  return expandDims<0>(x, where);
}

/// Repeats a scalar, or a tile along its dimensions of 1.
template <int64_t... to, class E, int64_t... sizes>
Tile<E, to...> broadcast(const Tile<E, sizes...> &x, Position where = Position::current()) {
  static_assert(detail::fits<detail::Shape<sizes...>, detail::Shape<to...>>,
                "broadcast: only dimensions of 1 are repeated, and the rank stays");
  return Tile<E, to...>(detail::as<Tile<E, to...>>(x, where));
}

/// The same elements in row-major order under another shape.
template <int64_t... to, class E, int64_t... sizes>
Tile<E, to...> reshape(const Tile<E, sizes...> &x, Position where = Position::current()) {
  static_assert((int64_t(1) * ... * to) == (int64_t(1) * ... * sizes), "reshape: the number of elements changes");
  return Tile<E, to...>(detail::emitReshape(x.handle(), Tile<E, to...>::type(), false, where));
}

/// Dimension d of the result is dimension order[d] of `x`. Without an order: the transposed matrix.
template <int... order, class E, int64_t... sizes>
auto trans(const Tile<E, sizes...> &x, Position where = Position::current()) {
  using T = Tile<E, sizes...>;
  if constexpr (sizeof...(order) == 0) {
    static_assert(T::rank == 2, "trans: give the order of the dimensions unless there are two");
    return detail::TileOf<E, detail::PermutedShape<T, 1, 0>>(detail::emitTranspose(x.handle(), {1, 0}, where));
  } else {
    static_assert(sizeof...(order) == T::rank && detail::isPermutation({order...}),
                  "trans: the order is a permutation of the dimensions");
    return detail::TileOf<E, detail::PermutedShape<T, order...>>(detail::emitTranspose(x.handle(), {order...}, where));
  }
}

/// Two tiles side by side in a new innermost dimension of 2, and back.
template <class E, int64_t... sizes>
Tile<E, sizes..., 2> join(const Tile<E, sizes...> &x, const Tile<E, sizes...> &y,
                          Position where = Position::current()) {
  static_assert(sizeof...(sizes) > 0, "join: the operands are tiles");
  return Tile<E, sizes..., 2>(detail::emitJoin(x.handle(), y.handle(), where));
}
template <class E, int64_t... sizes>
auto split(const Tile<E, sizes...> &x, Position where = Position::current()) {
  using T = Tile<E, sizes...>;
  static_assert(T::rank >= 2, "split: the tile has at least two dimensions");
  static_assert(T::size(T::rank - 1) == 2, "split: the innermost dimension is 2");
  using Half = detail::TileOf<E, detail::ReducedShape<T::rank - 1, T>>;
  auto [left, right] = detail::emitSplit(x.handle(), where);
  return std::pair(Half(left), Half(right));
}

/// The elements of both, in any order.
template <class E, int64_t size>
Tile<E, 2 * size> concatenate(const Tile<E, size> &x, const Tile<E, size> &y, Position where = Position::current()) {
  return Tile<E, 2 * size>(detail::emitConcatenate(x.handle(), y.handle(), where));
}

/// Along the axis, element i of the result is element indices[i] of `source`.
template <class E, int64_t... sizes, class I, int64_t... indexSizes, int number>
Tile<E, indexSizes...> gather(const Tile<E, sizes...> &source, const Tile<I, indexSizes...> &indices, axis<number>,
                              Position where = Position::current()) {
  using S = Tile<E, sizes...>;
  using D = Tile<I, indexSizes...>;
  static_assert(detail::isInteger<I>, "gather: the indices are integers");
  static_assert(S::rank == D::rank && S::rank > 0, "gather: source and indices have one rank");
  static_assert(number >= 0 && number < S::rank, "gather: the axis is between 0 and the rank");
  static_assert(std::is_same_v<detail::ReducedShape<number, S>, detail::ReducedShape<number, D>>,
                "gather: source and indices agree in every dimension but the axis");
  return Tile<E, indexSizes...>(detail::emitGather(source.handle(), indices.handle(), number, where));
}

/// How often each of 0, ..., bins - 1 occurs; values outside are not allowed.
template <int64_t bins, class E, int64_t size>
Tile<i32, bins> histogram(const Tile<E, size> &x, Position where = Position::current()) {
  static_assert(detail::isInteger<E>, "histogram counts integers");
  return Tile<i32, bins>(detail::emitHistogram(x.handle(), {}, Tile<i32, bins>::type(), where));
}
/// The same for the elements whose mask is true.
template <int64_t bins, class E, int64_t size>
Tile<i32, bins> histogram(const Tile<E, size> &x, const Tile<i1, size> &mask, Position where = Position::current()) {
  static_assert(detail::isInteger<E>, "histogram counts integers");
  return Tile<i32, bins>(detail::emitHistogram(x.handle(), mask.handle(), Tile<i32, bins>::type(), where));
}

} // namespace heddle::build
