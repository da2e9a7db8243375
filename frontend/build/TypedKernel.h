// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels whose element types are values, for libraries of kernels: the arguments are a list made at run time, and one
// recorded body loads and stores through pointers of any of several types.
#pragma once
#include "frontend/build/Build.h"
#include "support/Error.h"

namespace heddle::build {

/// An argument whose type is a value: a pointer to `type`, or a scalar.
struct TypedArgument {
  Argument argument;
  ElementType type;
  bool isPointer = true;
};

/// A pointer whose element type is a value. Offsets count elements.
class TypedPointer {
public:
  TypedPointer(ElementType type, detail::Handle handle) : type(type), handle(handle) {}
  const ElementType type;

  /// As a pointer to E; Error{Input} when it points to something else.
  template <class E>
  Pointer<E> as() const {
    if (E::type != type)
      throw inputError(std::string("a pointer to ") + elementTypeName(type) + " is used as one to " +
                       elementTypeName(E::type));
    return Pointer<E>(handle);
  }

private:
  detail::Handle handle;
};

/// The arguments inside the body of a kernel, by name. Each throws Error{Input} for a name that there is not.
class TypedArguments {
public:
  TypedArguments(std::span<const TypedArgument> arguments, std::vector<detail::Handle> handles)
      : arguments(arguments), handles(std::move(handles)) {}

  TypedPointer pointer(std::string_view name) const {
    size_t i = find(name, true);
    return {arguments[i].type, handles[i]};
  }
  template <class E>
  Scalar<E> scalar(std::string_view name) const {
    size_t i = find(name, false);
    if (arguments[i].type != E::type)
      throw inputError("argument `" + std::string(name) + "` is " + elementTypeName(arguments[i].type) + ", not " +
                       elementTypeName(E::type));
    return Scalar<E>(handles[i]);
  }

private:
  size_t find(std::string_view name, bool isPointer) const {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].argument.name == name && arguments[i].isPointer == isPointer)
        return i;
    throw inputError("the kernel has no " + std::string(isPointer ? "pointer" : "scalar") + " `" + std::string(name) +
                     "`");
  }

  std::span<const TypedArgument> arguments;
  std::vector<detail::Handle> handles;
};

/// kernel() with arguments whose types are values.
Program typedKernel(std::string_view name, std::span<const TypedArgument> arguments,
                    const std::function<void(const TypedArguments &)> &body, Position where = Position::current());

/// Calls `function.operator()<E>()` with the type of `type`, which is one of E...; Error{Input} for another.
template <class... E, class F>
void withType(ElementType type, F function) {
  bool found = false;
  ((type == E::type ? (function.template operator()<E>(), found = true) : false), ...);
  if (!found)
    throw inputError(std::string("no element of this kernel has the type ") + elementTypeName(type));
}

} // namespace heddle::build
