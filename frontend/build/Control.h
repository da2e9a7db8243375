// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops and conditionals of the kernel. The bodies run once, while the kernel is built; what changes from round to
// round is carried: it goes in as a parameter and comes out as the body's result.
#pragma once
#include "frontend/build/Carry.h"

namespace heddle::build {
namespace detail {

template <class T, class... Rest>
struct IndexElement {
  using type = ElementOf<T>;
};
template <Literal T, class... Rest>
struct IndexElement<T, Rest...> : IndexElement<Rest...> {};
template <Literal T>
struct IndexElement<T> {
  using type = i32;
};

template <class Low, class High, class Step>
struct LoopIndex {
  using Element = typename IndexElement<Low, High, Step>::type;
  using type = Scalar<Element>;
  template <class T>
  static constexpr bool agrees = Literal<T> || std::is_same_v<T, type>;
  static_assert(std::is_same_v<Element, i32> || std::is_same_v<Element, i64>, "forRange: the bounds are i32 or i64");
  static_assert(agrees<Low> && agrees<High> && agrees<Step>,
                "forRange: the bounds and the step are scalars of one type: use cast<T>()");
};

/// Calls the function with no or all carried values and returns what it yields.
template <class F>
Body bodyOf(F &function) {
  return [&function](const Handles &) -> Handles {
    using Returned = decltype(function());
    static_assert(Bundle<Returned>::valid, "return nothing, a value of the kernel, or carry(...) of several");
    if constexpr (std::is_void_v<Returned>) {
      function();
      return {};
    } else {
      return handlesOf(function());
    }
  };
}

} // namespace detail

/// For k = low, low + step, ... below high: `body(k)`. Bounds and step are i32 or i64 scalars or literals; the step is
/// positive.
template <class Low, class High, class Step, class F>
  requires(!detail::AnyBundle<F>)
void forRange(const Low &low, const High &high, const Step &step, F body, LoopOptions options = {},
              Position where = Position::current()) {
  using Index = typename detail::LoopIndex<Low, High, Step>::type;
  static_assert(std::is_void_v<decltype(body(std::declval<Index>()))>,
                "forRange: the body returns a value, but the loop carries none");
  detail::emitFor(
      {detail::as<Index>(low, where), detail::as<Index>(high, where), detail::as<Index>(step, where)}, {}, options,
      [&](const detail::Handles &arguments) -> detail::Handles {
        body(Index(arguments[0]));
        return {};
      },
      where);
}

/// The same with carried values: `body(k, values...)` returns the values of the next round; the result are those after
/// the last. `carried` is one value or carry(...) of several.
template <class Low, class High, class Step, class Carried, class F>
  requires detail::AnyBundle<Carried>
Carried forRange(const Low &low, const High &high, const Step &step, const Carried &carried, F body,
                 LoopOptions options = {}, Position where = Position::current()) {
  using Index = typename detail::LoopIndex<Low, High, Step>::type;
  auto results = detail::emitFor(
      {detail::as<Index>(low, where), detail::as<Index>(high, where), detail::as<Index>(step, where)},
      detail::handlesOf(carried), options,
      [&](const detail::Handles &arguments) {
        auto next = detail::Bundle<Carried>::call(body, arguments, 1, Index(arguments[0]));
        static_assert(std::is_same_v<decltype(next), Carried>,
                      "forRange: the body returns values of other types than the loop carries");
        return detail::handlesOf(next);
      },
      where);
  return detail::Bundle<Carried>::make(results, 0);
}

/// Runs `then` when the condition holds.
template <class Then>
void when(const Scalar<i1> &condition, Then then, Position where = Position::current()) {
  static_assert(std::is_void_v<decltype(then())>, "when: a value needs an `otherwise`");
  detail::emitIf(condition.handle(), detail::bodyOf(then), nullptr, where);
}

/// Runs one of the two; the result is what it returns: nothing, a value, or carry(...) of several.
template <class Then, class Otherwise>
  requires std::invocable<Otherwise>
auto when(const Scalar<i1> &condition, Then then, Otherwise otherwise, Position where = Position::current()) {
  using Result = decltype(then());
  static_assert(std::is_same_v<Result, decltype(otherwise())>, "when: both branches return the same types");
  auto results = detail::emitIf(condition.handle(), detail::bodyOf(then), detail::bodyOf(otherwise), where);
  if constexpr (!std::is_void_v<Result>)
    return detail::Bundle<Result>::make(results, 0);
}

/// While `condition(values...)` holds: values = `body(values...)`. The result are the values for which it fails.
template <class Carried, class Condition, class F>
  requires detail::AnyBundle<Carried>
Carried whileLoop(const Carried &carried, Condition condition, F body, Position where = Position::current()) {
  auto results = detail::emitWhile(
      detail::handlesOf(carried),
      [&](const detail::Handles &arguments) {
        auto holds = detail::Bundle<Carried>::call(condition, arguments, 0);
        static_assert(std::is_same_v<decltype(holds), Scalar<i1>>, "whileLoop: the condition returns a Scalar<i1>");
        return detail::handlesOf(holds);
      },
      [&](const detail::Handles &arguments) {
        auto next = detail::Bundle<Carried>::call(body, arguments, 0);
        static_assert(std::is_same_v<decltype(next), Carried>,
                      "whileLoop: the body returns values of other types than the loop carries");
        return detail::handlesOf(next);
      },
      where);
  return detail::Bundle<Carried>::make(results, 0);
}

/// Evaluates the condition until it fails: `spinWhile([&] { return atomicCompareAndSwap(lock, 0, 1) == 1; })`.
template <class Condition>
void spinWhile(Condition condition, Position where = Position::current()) {
  static_assert(std::is_same_v<decltype(condition()), Scalar<i1>>, "spinWhile: the condition returns a Scalar<i1>");
  detail::emitWhile({}, detail::bodyOf(condition), [](const detail::Handles &) { return detail::Handles(); }, where);
}

} // namespace heddle::build
