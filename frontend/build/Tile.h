// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tile: its element type and shape are template parameters, so shapes and types are checked where the kernel is
// compiled. Operators broadcast scalars, C++ literals and dimensions of 1; ranks and element types must agree.
#pragma once
#include "frontend/build/Element.h"
#include "frontend/build/Emission.h"

namespace heddle::build {

template <class E, int64_t... sizes>
class Tile;

/// A value of one element, and an address.
template <class E>
using Scalar = Tile<E>;
template <class E>
using Pointer = Tile<PointerTo<E>>;
template <class E, int64_t... sizes>
using PointerTile = Tile<PointerTo<E>, sizes...>;

/// Names a dimension: `sum(x, axis<1>())`.
template <int number>
struct axis {};

namespace detail {

template <int64_t... sizes>
struct Shape {};

template <class T>
struct TileTraits {
  static constexpr bool isTile = false;
};
template <class E, int64_t... sizes>
struct TileTraits<Tile<E, sizes...>> {
  static constexpr bool isTile = true;
  using Element = E;
  using SizeList = Shape<sizes...>;
};

template <class T>
inline constexpr bool isTile = TileTraits<std::remove_cvref_t<T>>::isTile;
template <class T>
concept AnyTile = isTile<T>;
template <class T>
concept Literal = std::is_arithmetic_v<std::remove_cvref_t<T>>;
template <class T>
concept Operand = AnyTile<T> || Literal<T>;
template <class T>
using ElementOf = typename TileTraits<std::remove_cvref_t<T>>::Element;
template <class T>
using ShapeOf = typename TileTraits<std::remove_cvref_t<T>>::SizeList;

template <class T>
inline constexpr bool isPointerTile = false;
template <AnyTile T>
inline constexpr bool isPointerTile<T> = isPointer<ElementOf<T>>;

template <class E, class S>
struct TileOfShape;
template <class E, int64_t... sizes>
struct TileOfShape<E, Shape<sizes...>> {
  using type = Tile<E, sizes...>;
};
template <class E, class S>
using TileOf = typename TileOfShape<E, S>::type;

/// The shape to which two shapes broadcast; the left one when they do not.
template <class L, class R>
struct Broadcast {
  static constexpr bool sameRank = false, agrees = false;
  using type = L;
};
template <int64_t... l, int64_t... r>
  requires(sizeof...(l) == sizeof...(r))
struct Broadcast<Shape<l...>, Shape<r...>> {
  static constexpr bool sameRank = true, agrees = ((l == r || l == 1 || r == 1) && ...);
  using type = Shape<(l > r ? l : r)...>;
};
template <int64_t... r>
  requires(sizeof...(r) > 0)
struct Broadcast<Shape<>, Shape<r...>> {
  static constexpr bool sameRank = true, agrees = true;
  using type = Shape<r...>;
};
template <int64_t... l>
  requires(sizeof...(l) > 0)
struct Broadcast<Shape<l...>, Shape<>> {
  static constexpr bool sameRank = true, agrees = true;
  using type = Shape<l...>;
};

/// Whether a value of shape `From` can stand where `To` is wanted.
template <class From, class To>
inline constexpr bool fits = Broadcast<From, To>::agrees && std::is_same_v<typename Broadcast<From, To>::type, To>;

template <class L, class R>
struct JointShape {
  static_assert(
      Broadcast<L, R>::sameRank,
      "the operands have different ranks: give the smaller one its dimensions with row(), column() or expandDims()");
  static_assert(!Broadcast<L, R>::sameRank || Broadcast<L, R>::agrees,
                "the shapes of the operands do not agree: only dimensions of 1 are repeated");
  using type = typename Broadcast<L, R>::type;
};

/// Element and shape of an elementwise result of tiles and literals.
template <class L, class R>
struct Joint : Joint<L, TileTraits<R>> {};
template <class L, class R>
  requires(isTile<L> && isTile<R>)
struct Joint<L, R> {
  static_assert(std::is_same_v<ElementOf<L>, ElementOf<R>>,
                "the operands have different element types: convert one of them with cast<T>()");
  using type = TileOf<ElementOf<L>, typename JointShape<ShapeOf<L>, ShapeOf<R>>::type>;
};
template <class L, class R>
  requires(isTile<L> && Literal<R>)
struct Joint<L, R> {
  using type = L;
};
template <class L, class R>
  requires(Literal<L> && isTile<R>)
struct Joint<L, R> {
  using type = R;
};
template <class L, class R>
using JointTile = typename Joint<std::remove_cvref_t<L>, std::remove_cvref_t<R>>::type;

/// A parameter that knows the line of the call; operators take no default arguments, conversions do.
template <class T>
struct Located {
  Located(const T &value, Position where = Position::current()) : value(value), where(where) {}
  const T &value;
  Position where;
};
template <class T>
struct LocatedTarget {
  LocatedTarget(T &value, Position where = Position::current()) : value(value), where(where) {}
  T &value;
  Position where;
};

/// `x` in the type `Target`: a literal becomes a constant, a tile or scalar is broadcast.
template <class Target, class X>
Handle as(const X &x, Position where) {
  if constexpr (Literal<X>) {
    using E = ElementOf<Target>;
    static_assert(!isPointer<E>, "a literal is no pointer: use pointerAt<T>(address)");
    if constexpr (isPointer<E>) {
      return {};
    } else if constexpr (isFloating(E::type)) {
      return emitFloat(Target::type(), double(x), where);
    } else {
      static_assert(!std::is_floating_point_v<X>,
                    "a floating-point literal meets an integer tile: convert the tile with cast<f32>()");
      return emitInteger(Target::type(), int64_t(x), std::is_unsigned_v<X>, where);
    }
  } else if constexpr (std::is_same_v<X, Target>) {
    return x.handle();
  } else {
    return emitBroadcast(x.handle(), Target::type(), where);
  }
}

template <Binary kind, class L, class R>
auto binary(const L &l, const R &r, Position where) {
  if constexpr (isPointerTile<L>) {
    static_assert(kind == Binary::Add, "of pointers only `pointer + offset` is known");
    if constexpr (Literal<R>) {
      static_assert(std::is_integral_v<R>, "the offset of a pointer is an integer");
      using Offset = TileOf<i64, ShapeOf<L>>;
      return L(emitAddPointer(l.handle(), as<Offset>(r, where), where));
    } else {
      static_assert(isInteger<ElementOf<R>>, "the offset of a pointer is an integer, counted in elements");
      using S = typename JointShape<ShapeOf<L>, ShapeOf<R>>::type;
      using Result = TileOf<ElementOf<L>, S>;
      return Result(emitAddPointer(as<Result>(l, where), as<TileOf<ElementOf<R>, S>>(r, where), where));
    }
  } else {
    using Result = JointTile<L, R>;
    using E = ElementOf<Result>;
    constexpr bool logic = kind == Binary::And || kind == Binary::Or || kind == Binary::Xor;
    constexpr bool shift = kind == Binary::ShiftLeft || kind == Binary::ShiftRight;
    if constexpr (logic) {
      static_assert(isInteger<E> || isBool<E>, "`&`, `|` and `^` work on integers and i1");
    } else if constexpr (shift) {
      static_assert(isInteger<E>, "shifts work on integers");
    } else {
      static_assert(!isPointer<E>, "write an address as `pointer + offset`");
      static_assert(!isBool<E>, "i1 has no arithmetic: convert it with cast<i32>(), or use `&` and `|`");
      static_assert(isPointer<E> || isBool<E> || hasArithmetic<E>,
                    "fp8 has no arithmetic: convert it with cast<f32>() first");
    }
    return Result(emitBinary(kind, as<Result>(l, where), as<Result>(r, where), E::type, where));
  }
}

template <Comparison kind, class L, class R>
auto compare(const L &l, const R &r, Position where) {
  using Common = JointTile<L, R>;
  using E = ElementOf<Common>;
  static_assert(!isPointer<E>, "pointers are compared by address(pointer)");
  static_assert(isPointer<E> || isBool<E> || hasArithmetic<E>,
                "fp8 is not compared: convert it with cast<f32>() first");
  using Result = TileOf<i1, ShapeOf<Common>>;
  return Result(emitComparison(kind, as<Common>(l, where), as<Common>(r, where), E::type, where));
}

template <class L, class R>
void requireBool() {
  if constexpr (isTile<L>)
    static_assert(isBool<ElementOf<L>>, "`&&`, `||` and `!` work on i1: compare first");
  if constexpr (isTile<R>)
    static_assert(isBool<ElementOf<R>>, "`&&`, `||` and `!` work on i1: compare first");
}

constexpr bool allPowersOfTwo(std::initializer_list<int64_t> sizes) {
  for (int64_t size : sizes)
    if (size < 1 || (size & (size - 1)) != 0)
      return false;
  return true;
}

} // namespace detail

/// A value of the kernel: a tile of `E` of these sizes, a scalar when there are none. Copies name the same value;
/// assignment makes a C++ variable name another one and emits nothing.
template <class E, int64_t... sizes>
class Tile {
  static_assert(detail::allPowersOfTwo({sizes...}), "every dimension of a tile is a power of two");
  static_assert((int64_t(1) * ... * sizes) <= (int64_t(1) << 20), "a tile has at most 2^20 elements");

public:
  using Element = E;
  static constexpr int rank = sizeof...(sizes);
  static constexpr int64_t elementCount = (int64_t(1) * ... * sizes);

  explicit Tile(detail::Handle handle) : value(handle) {}

  detail::Handle handle() const { return value; }
  static constexpr detail::TileType type() {
    return {E::type, detail::isPointer<E>, sizeList, unsigned(sizeof...(sizes))};
  }
  static constexpr int64_t size(int axis) { return sizeList[axis]; }

#define HEDDLE_BINARY(symbol, function, kind)                                                                          \
  template <class R>                                                                                                   \
    requires detail::Operand<R>                                                                                        \
  friend auto operator symbol(detail::Located<Tile> left, const R &right) {                                            \
    return detail::function<detail::kind>(left.value, right, left.where);                                              \
  }                                                                                                                    \
  template <class L>                                                                                                   \
    requires detail::Literal<L>                                                                                        \
  friend auto operator symbol(const L &left, detail::Located<Tile> right) {                                            \
    return detail::function<detail::kind>(left, right.value, right.where);                                             \
  }
#define HEDDLE_ARITHMETIC(symbol, kind)                                                                                \
  HEDDLE_BINARY(symbol, binary, Binary::kind)                                                                          \
  template <class R>                                                                                                   \
    requires detail::Operand<R>                                                                                        \
  friend Tile &operator symbol## = (detail::LocatedTarget<Tile> left, const R &right) {                                \
    auto result = detail::binary<detail::Binary::kind>(left.value, right, left.where);                                 \
    static_assert(std::is_same_v<decltype(result), Tile>,                                                              \
                  "the result of an assignment has another shape than its left side");                                 \
    return left.value = result;                                                                                        \
  }
  HEDDLE_ARITHMETIC(+, Add)
  HEDDLE_ARITHMETIC(-, Subtract)
  HEDDLE_ARITHMETIC(*, Multiply)
  HEDDLE_ARITHMETIC(/, Divide)
  HEDDLE_ARITHMETIC(%, Remainder)
  HEDDLE_ARITHMETIC(&, And)
  HEDDLE_ARITHMETIC(|, Or)
  HEDDLE_ARITHMETIC(^, Xor)
  HEDDLE_ARITHMETIC(<<, ShiftLeft)
  HEDDLE_ARITHMETIC(>>, ShiftRight)
  HEDDLE_BINARY(==, compare, Comparison::Equal)
  HEDDLE_BINARY(!=, compare, Comparison::NotEqual)
  HEDDLE_BINARY(<, compare, Comparison::Less)
  HEDDLE_BINARY(<=, compare, Comparison::LessEqual)
  HEDDLE_BINARY(>, compare, Comparison::Greater)
  HEDDLE_BINARY(>=, compare, Comparison::GreaterEqual)
#undef HEDDLE_ARITHMETIC
#undef HEDDLE_BINARY

  // Both sides are evaluated: these are `&` and `|` of i1 with the precedence that conditions want.
  template <class R>
    requires detail::AnyTile<R>
  friend auto operator&&(detail::Located<Tile> left, const R &right) {
    detail::requireBool<Tile, R>();
    return detail::binary<detail::Binary::And>(left.value, right, left.where);
  }
  template <class R>
    requires detail::AnyTile<R>
  friend auto operator||(detail::Located<Tile> left, const R &right) {
    detail::requireBool<Tile, R>();
    return detail::binary<detail::Binary::Or>(left.value, right, left.where);
  }
  friend Tile operator!(detail::Located<Tile> x) {
    detail::requireBool<Tile, Tile>();
    return detail::binary<detail::Binary::Xor>(x.value, true, x.where);
  }
  friend Tile operator~(detail::Located<Tile> x) {
    static_assert(detail::isInteger<E>, "`~` works on integers; for i1 write `!`");
    return detail::binary<detail::Binary::Xor>(x.value, -1, x.where);
  }
  friend Tile operator-(detail::Located<Tile> x) {
    static_assert(detail::hasArithmetic<E>, "`-` works on integers and on floats from f16 on");
    return Tile(detail::emitUnary(detail::Unary::Negate, x.value.handle(), E::type, x.where));
  }

private:
  static constexpr int64_t sizeList[sizeof...(sizes) + 1] = {sizes...};
  detail::Handle value;
};

//===-- Values from nothing --------------------------------------------------------------------------------------===//

/// `value` everywhere; `full<i32>(5)` is a scalar.
template <class E, int64_t... sizes, class X>
  requires detail::Operand<X>
Tile<E, sizes...> full(const X &value, Position where = Position::current()) {
  if constexpr (detail::isTile<X>) {
    static_assert(std::is_same_v<detail::ElementOf<X>, E>, "full: the value has another element type");
    static_assert(X::rank == 0, "full: the value is a scalar");
  }
  return Tile<E, sizes...>(detail::as<Tile<E, sizes...>>(value, where));
}

template <class E, int64_t... sizes>
Tile<E, sizes...> zeros(Position where = Position::current()) {
  return full<E, sizes...>(0, where);
}

/// 0, 1, ..., size - 1.
template <int32_t size>
Tile<i32, size> range(Position where = Position::current()) {
  return Tile<i32, size>(detail::emitRange(0, size, where));
}

/// start, start + 1, ..., end - 1.
template <int32_t start, int32_t end>
Tile<i32, end - start> range(Position where = Position::current()) {
  static_assert(start < end, "range: the start is below the end");
  return Tile<i32, end - start>(detail::emitRange(start, end, where));
}

/// Index of this program instance along an axis of the grid, 0 to 2, and how many there are.
inline Scalar<i32> programId(int axis = 0, Position where = Position::current()) {
  return Scalar<i32>(detail::emitProgramId(axis, where));
}
inline Scalar<i32> programCount(int axis = 0, Position where = Position::current()) {
  return Scalar<i32>(detail::emitProgramCount(axis, where));
}

} // namespace heddle::build
