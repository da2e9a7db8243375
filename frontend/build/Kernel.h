// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernel(): from a C++ function over tiles to a program, whose text goes through compile().
#pragma once
#include "frontend/build/Tile.h"
#include <memory>
#include <span>
#include <string_view>
#include <tuple>

namespace heddle::build {

/// The name of an argument, by which `heddle run --arg NAME=VALUE` gives it, and what the compiler may assume of it.
struct Argument {
  Argument(const char *name) : name(name) {}
  Argument(std::string name) : name(std::move(name)) {}

  /// A pointer's address in bytes, or an integer, is a multiple of this. A launch with another value is refused.
  Argument divisibleBy(int value) const {
    Argument copy = *this;
    copy.divisor = value;
    return copy;
  }

  std::string name;
  int divisor = 1;
};

/// A pointer to what an allocation starts with.
inline Argument aligned(const char *name) {
  return Argument(name).divisibleBy(16);
}

/// A finished kernel. Copies share it.
class Program {
public:
  struct Implementation;
  explicit Program(std::shared_ptr<const Implementation> implementation) : implementation(std::move(implementation)) {}

  const std::string &name() const;
  /// The kernel as Triton IR, that of blockKernel() as TTGIR, for compile() or a file. With locations each operation
  /// names its line of C++.
  std::string text(bool withLocations = true) const;

private:
  std::shared_ptr<const Implementation> implementation;
};

namespace detail {

struct KernelOptions {
  std::span<const Argument> arguments;
  const BlockOptions *block = nullptr; ///< null: the compiler chooses layouts
};

/// Between construction and destruction the tile functions of this thread emit into one kernel. Kernels do not nest.
class KernelScope {
public:
  KernelScope(std::string_view name, KernelOptions options, const std::vector<TileType> &types, Position where);
  ~KernelScope();
  KernelScope(const KernelScope &) = delete;

  Handle argument(size_t number) const;
  /// Verifies and simplifies. Throws Error{Input} at the line of C++ that is wrong.
  Program finish();

private:
  std::shared_ptr<Program::Implementation> implementation;
  Position where;
};

template <class F>
struct Parameters : Parameters<decltype(&F::operator())> {};
template <class R, class... T>
struct Parameters<R (*)(T...)> {
  using type = std::tuple<std::remove_cvref_t<T>...>;
};
template <class C, class R, class... T>
struct Parameters<R (C::*)(T...) const> : Parameters<R (*)(T...)> {};
template <class C, class R, class... T>
struct Parameters<R (C::*)(T...)> : Parameters<R (*)(T...)> {};

template <class F, class... T>
Program buildKernel(std::string_view name, KernelOptions options, F &body, std::tuple<T...> *, Position where) {
  static_assert((isTile<T> && ...), "kernel: a parameter is a Scalar<T> or a Pointer<T>");
  if constexpr ((isTile<T> && ...)) {
    static_assert(((T::rank == 0) && ...), "kernel: a parameter is a scalar or a pointer; load() makes tiles");
    KernelScope scope(name, options, {T::type()...}, where);
    [&]<size_t... number>(std::index_sequence<number...>) {
      body(T(scope.argument(number))...);
    }(std::index_sequence_for<T...>());
    return scope.finish();
  }
}

} // namespace detail

/// Runs `body` once, on this thread, and keeps what its operations emit. `arguments` names its parameters in order.
/// Throws Error{Input} for a name that is no identifier or stands twice, and for what shows only in the whole kernel,
/// as a loop's value that is used after the loop.
template <size_t count, class F>
Program kernel(std::string_view name, const Argument (&arguments)[count], F body,
               Position where = Position::current()) {
  using Types = typename detail::Parameters<F>::type;
  static_assert(std::tuple_size_v<Types> == count, "kernel: give one argument name for each parameter of the function");
  return detail::buildKernel(name, {arguments}, body, static_cast<Types *>(nullptr), where);
}

/// The same for names that are made at run time: Error{Input} when their number is wrong.
template <class F>
Program kernel(std::string_view name, std::span<const Argument> arguments, F body,
               Position where = Position::current()) {
  using Types = typename detail::Parameters<F>::type;
  return detail::buildKernel(name, {arguments}, body, static_cast<Types *>(nullptr), where);
}

} // namespace heddle::build
