// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels share that move rows of a matrix without reading them as numbers.
#pragma once
#include "kernels/LibraryKernel.h"
#include "kernels/StepWriter.h"

namespace heddle::kernels {

/// The elements that may be moved.
inline const std::vector<ElementType> movedTypes = {
    ElementType::BF16,       ElementType::F16,    ElementType::F32,        ElementType::F8E4M3FN,
    ElementType::F8E4M3FNUZ, ElementType::F8E5M2, ElementType::F8E5M2FNUZ, ElementType::UI8};

/// Calls `function.operator()<Bits>()` with the integer of as many bytes as an element of `type` has.
template <class F>
void withBits(ElementType type, F function) {
  using namespace build;
  switch (elementSizeBytes(type)) {
  case 1:
    return function.template operator()<u8>();
  case 2:
    return function.template operator()<u16>();
  default:
    return function.template operator()<u32>();
  }
}

/// A pointer to one of `movedTypes` as one to its bits.
template <class Bits>
build::Pointer<Bits> bitsOf(const build::TypedPointer &pointer) {
  using namespace build;
  std::optional<Pointer<Bits>> made;
  withType<bf16, f16, f32, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, u8>(
      pointer.type, [&]<class E>() { made = pointerCast<Bits>(pointer.as<E>()); });
  return *made;
}

/// An option that is a whole number from `least` to `most`. Throws Error{Input} for another.
int64_t checkedNumber(const Call &call, const std::string &option, int64_t least, int64_t most,
                      const std::string &note);

/// Copies the bytes of an element. Offsets are those of HostArray::offset.
void copyElement(const HostArray &from, int64_t fromOffset, HostArray &to, int64_t toOffset);

/// Advances `seed` and returns a random number of 31 bits, for contents of inputs.
uint64_t nextRandom(uint64_t &seed);

} // namespace heddle::kernels
