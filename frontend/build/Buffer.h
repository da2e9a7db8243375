// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffer instructions: a pointer of the block plus a tile of offsets of 32 bits, in elements. What the mask forbids
// reads `other`, or 0, and writes nothing. Offsets give the layout of the tile.
#pragma once
#include "frontend/build/Shared.h"

namespace heddle::build {
namespace detail {

/// Checks the operands; masks and others are broadcast to the shape of the offsets.
template <class T, class I, int64_t... sizes, class M, class O = Absent>
BufferPart bufferPart(const Pointer<T> &pointer, const Tile<I, sizes...> &offsets, const M &mask, Position where,
                      const O &other = {}) {
  using P = PointerTile<T, sizes...>;
  static_assert(std::is_same_v<I, i32> || std::is_same_v<I, u32>, "the offsets of a buffer are i32, in elements");
  static_assert(sizeof...(sizes) > 0, "the offsets of a buffer are a tile");
  static_assert(!std::is_same_v<T, i1>, "a buffer has elements of whole bytes");
  static_assert(std::is_same_v<O, Absent> || !std::is_same_v<M, Absent>,
                "`other` is for elements that a mask leaves out");
  BufferPart part{pointer.handle(), offsets.handle(), maskFor<P>(mask, where)};
  if constexpr (!std::is_same_v<O, Absent>)
    part.other = valueFor<P>(other, where);
  return part;
}

} // namespace detail

template <class T, class I, int64_t... sizes, class M = Absent, class O = Absent>
Tile<T, sizes...> bufferLoad(const Pointer<T> &pointer, const Tile<I, sizes...> &offsets, const M &mask = {},
                             const O &other = {}, Cache cache = Cache::Default, Position where = Position::current()) {
  return Tile<T, sizes...>(
      detail::emitBufferLoad(detail::bufferPart(pointer, offsets, mask, where, other), cache, where));
}

template <class T, class I, int64_t... sizes, class V, class M = Absent>
void bufferStore(const Pointer<T> &pointer, const Tile<I, sizes...> &offsets, const V &value, const M &mask = {},
                 Cache cache = Cache::Default, Position where = Position::current()) {
  detail::Handle stored = detail::valueFor<PointerTile<T, sizes...>>(value, where);
  detail::emitBufferStore(detail::bufferPart(pointer, offsets, mask, where), stored, cache, where);
}

/// Begins to copy a tile to a memory object; asyncCommit() and asyncWait() order what reads it.
template <class E, int64_t... to, class T, class I, int64_t... sizes, class M = Absent, class O = Absent>
void bufferLoadToShared(const Shared<E, to...> &memory, const Pointer<T> &pointer, const Tile<I, sizes...> &offsets,
                        const M &mask = {}, const O &other = {}, Cache cache = Cache::Default,
                        Position where = Position::current()) {
  static_assert(std::is_same_v<E, T>,
                "bufferLoadToShared: the pointer points to other elements than the memory object's");
  static_assert(std::is_same_v<detail::Shape<to...>, detail::Shape<sizes...>>,
                "bufferLoadToShared: the offsets do not have the shape of the memory object");
  detail::emitBufferCopy(memory.handle(), detail::bufferPart(pointer, offsets, mask, where, other), cache, where);
}

//===-- Atomics --------------------------------------------------------------------------------------------------===//

// Each reads, combines and writes an element as one step and returns the old values.
#define HEDDLE_BUFFER_ATOMIC(name, condition, message, kind)                                                           \
  template <class T, class I, int64_t... sizes, class V, class M = Absent>                                             \
  Tile<T, sizes...> name(const Pointer<T> &pointer, const Tile<I, sizes...> &offsets, const V &value,                  \
                         const M &mask = {}, Order order = Order::AcquireRelease, Scope scope = Scope::Device,         \
                         Position where = Position::current()) {                                                       \
    static_assert(condition, #name message);                                                                           \
    detail::Handle given = detail::valueFor<PointerTile<T, sizes...>>(value, where);                                   \
    return Tile<T, sizes...>(detail::emitBufferAtomic(kind, detail::bufferPart(pointer, offsets, mask, where), given,  \
                                                      order, scope, where));                                           \
  }
HEDDLE_BUFFER_ATOMIC(bufferAtomicAdd, detail::hasArithmetic<T>, " works on integers and on floats from f16 on",
                     detail::isFloat<T> ? detail::Atomic::FloatAdd : detail::Atomic::Add)
HEDDLE_BUFFER_ATOMIC(bufferAtomicMax, detail::isInteger<T>, " works on integers",
                     detail::isUnsignedInteger<T> ? detail::Atomic::UnsignedMax : detail::Atomic::Max)
HEDDLE_BUFFER_ATOMIC(bufferAtomicMin, detail::isInteger<T>, " works on integers",
                     detail::isUnsignedInteger<T> ? detail::Atomic::UnsignedMin : detail::Atomic::Min)
HEDDLE_BUFFER_ATOMIC(bufferAtomicAnd, detail::isInteger<T>, " works on integers", detail::Atomic::And)
HEDDLE_BUFFER_ATOMIC(bufferAtomicOr, detail::isInteger<T>, " works on integers", detail::Atomic::Or)
HEDDLE_BUFFER_ATOMIC(bufferAtomicXor, detail::isInteger<T>, " works on integers", detail::Atomic::Xor)
HEDDLE_BUFFER_ATOMIC(bufferAtomicExchange, detail::hasArithmetic<T>, " works on integers and on floats from f16 on",
                     detail::Atomic::Exchange)
#undef HEDDLE_BUFFER_ATOMIC

/// Writes `desired` where memory holds the bits of `expected`; returns what it held.
template <class T, class I, int64_t... sizes, class Expected, class Desired>
Tile<T, sizes...> bufferAtomicCompareAndSwap(const Pointer<T> &pointer, const Tile<I, sizes...> &offsets,
                                             const Expected &expected, const Desired &desired,
                                             Order order = Order::AcquireRelease, Scope scope = Scope::Device,
                                             Position where = Position::current()) {
  using P = PointerTile<T, sizes...>;
  static_assert(detail::bitsOf(T::type) >= 16, "bufferAtomicCompareAndSwap works on 16, 32 and 64 bits");
  return Tile<T, sizes...>(detail::emitBufferCompareAndSwap(detail::bufferPart(pointer, offsets, Absent(), where),
                                                            detail::valueFor<P>(expected, where),
                                                            detail::valueFor<P>(desired, where), order, scope, where));
}

} // namespace heddle::build
