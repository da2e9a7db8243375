// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The element types of tiles as C++ types, so that the compiler of the kernel's author checks them. The unsigned tags
// name the same bits as the signless ones; they choose unsigned division, comparison, extension and conversion.
#pragma once
#include "support/ElementType.h"
#include <concepts>
#include <type_traits>

namespace heddle::build {

// clang-format off
struct f64 { static constexpr ElementType type = ElementType::F64; };
struct f32 { static constexpr ElementType type = ElementType::F32; };
struct f16 { static constexpr ElementType type = ElementType::F16; };
struct bf16 { static constexpr ElementType type = ElementType::BF16; };
struct f8E4M3FN { static constexpr ElementType type = ElementType::F8E4M3FN; };
struct f8E5M2 { static constexpr ElementType type = ElementType::F8E5M2; };
struct f8E4M3FNUZ { static constexpr ElementType type = ElementType::F8E4M3FNUZ; };
struct f8E5M2FNUZ { static constexpr ElementType type = ElementType::F8E5M2FNUZ; };
struct i64 { static constexpr ElementType type = ElementType::I64; };
struct i32 { static constexpr ElementType type = ElementType::I32; };
struct i16 { static constexpr ElementType type = ElementType::I16; };
struct i8 { static constexpr ElementType type = ElementType::I8; };
struct i1 { static constexpr ElementType type = ElementType::I1; };
struct u64 { static constexpr ElementType type = ElementType::UI64; };
struct u32 { static constexpr ElementType type = ElementType::UI32; };
struct u16 { static constexpr ElementType type = ElementType::UI16; };
struct u8 { static constexpr ElementType type = ElementType::UI8; };
// clang-format on

/// The element of a tile of pointers; `Pointer<T>` is the scalar.
template <class T>
struct PointerTo {
  static constexpr ElementType type = T::type; ///< of the pointee
  using Pointee = T;
};

namespace detail {

template <class E>
inline constexpr bool isPointer = false;
template <class T>
inline constexpr bool isPointer<PointerTo<T>> = true;

template <class E>
inline constexpr bool isNumber = !isPointer<E> && requires { E::type; };

constexpr int bitsOf(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::I64:
  case ElementType::UI64:
    return 64;
  case ElementType::F32:
  case ElementType::I32:
  case ElementType::UI32:
    return 32;
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::I16:
  case ElementType::UI16:
    return 16;
  case ElementType::I1:
    return 1;
  default:
    return 8;
  }
}

constexpr bool isFloating(ElementType type) {
  return type <= ElementType::F8E5M2FNUZ;
}
constexpr bool isFp8(ElementType type) {
  return isFloating(type) && bitsOf(type) == 8;
}

template <class E>
inline constexpr bool isFloat = isNumber<E> && isFloating(E::type);
/// Integers with arithmetic: all but i1.
template <class E>
inline constexpr bool isInteger = isNumber<E> && !isFloating(E::type) && E::type != ElementType::I1;
template <class E>
inline constexpr bool hasArithmetic = isInteger<E> || (isFloat<E> && !isFp8(E::type));
template <class E>
inline constexpr bool isBool = std::same_as<E, i1>;
template <class E>
inline constexpr bool isUnsignedInteger = isInteger<E> && E::type >= ElementType::UI64;

} // namespace detail
} // namespace heddle::build
