// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several values as one: what loops carry, conditionals yield and combining functions return.
#pragma once
#include "frontend/build/Tile.h"
#include <tuple>

namespace heddle::build {

/// Several values that travel together: through a loop, out of a conditional, into a reduction.
template <class... T>
std::tuple<T...> carry(const T &...values) {
  static_assert((detail::isTile<T> && ...), "carry takes values of the kernel; a literal becomes one by full<T>(x)");
  return {values...};
}

namespace detail {

template <class T>
struct Bundle {
  static constexpr bool valid = isTile<T>;
  static constexpr size_t count = 1;
  static void append(Handles &handles, const T &value) { handles.push_back(value.handle()); }
  static T make(const Handles &handles, size_t first) { return T(handles[first]); }
  template <class F, class... Front>
  static decltype(auto) call(F &body, const Handles &handles, size_t first, const Front &...front) {
    return body(front..., T(handles[first]));
  }
};
template <>
struct Bundle<void> {
  static constexpr bool valid = true;
  static constexpr size_t count = 0;
};
template <class... T>
struct Bundle<std::tuple<T...>> {
  static constexpr bool valid = (isTile<T> && ...);
  static constexpr size_t count = sizeof...(T);
  static void append(Handles &handles, const std::tuple<T...> &values) {
    std::apply([&](const T &...value) { (handles.push_back(value.handle()), ...); }, values);
  }
  static std::tuple<T...> make(const Handles &handles, size_t first) {
    return makeAt(handles, first, std::index_sequence_for<T...>());
  }
  template <class F, class... Front>
  static decltype(auto) call(F &body, const Handles &handles, size_t first, const Front &...front) {
    return callAt(body, handles, first, std::index_sequence_for<T...>(), front...);
  }

private:
  template <size_t... number>
  static std::tuple<T...> makeAt(const Handles &handles, size_t first, std::index_sequence<number...>) {
    return {T(handles[first + number])...};
  }
  template <class F, size_t... number, class... Front>
  static decltype(auto) callAt(F &body, const Handles &handles, size_t first, std::index_sequence<number...>,
                               const Front &...front) {
    return body(front..., T(handles[first + number])...);
  }
};

template <class T>
concept AnyBundle = !std::is_void_v<T> && Bundle<std::remove_cvref_t<T>>::valid;

template <class T>
Handles handlesOf(const T &values) {
  Handles handles;
  Bundle<T>::append(handles, values);
  return handles;
}

} // namespace detail
} // namespace heddle::build
