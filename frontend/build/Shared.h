// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory objects of shared memory (AMD's LDS) and their views, and copies from global memory straight to them.
#pragma once
#include "frontend/build/BlockEmission.h"
#include "frontend/build/Memory.h"

namespace heddle::build {

/// A memory object, or a view of one. Its elements are shared by the threads of the block; the compiler inserts the
/// barriers that its accesses need.
template <class E, int64_t... sizes>
class Shared {
public:
  using Element = E;
  static constexpr int rank = sizeof...(sizes);

  explicit Shared(detail::Handle handle) : value(handle) {
    static_assert(rank > 0, "a memory object has at least one dimension");
    static_assert(detail::isNumber<E> && detail::bitsOf(E::type) >= 8, "a memory object has elements of whole bytes");
  }

  detail::Handle handle() const { return value; }
  static constexpr detail::TileType type() { return {E::type, false, sizeList, unsigned(rank)}; }

  /// A slot of a ring, whose first dimension counts slots; the index is an i32 or a literal.
  template <class I>
  auto index(const I &number, Position where = Position::current()) const {
    static_assert(rank > 1, "index: a memory object of one dimension has no slots");
    static_assert(std::is_integral_v<I> || std::is_same_v<I, Scalar<i32>>, "index: the number of a slot is an i32");
    return slotOf(detail::ReducedShape<0, Tile<E, sizes...>>(), detail::as<Scalar<i32>>(number, where), where);
  }

  /// A part of the memory object, from these coordinates on, which are multiples of its sizes.
  template <int64_t... part>
  Shared<E, part...> slice(std::array<int32_t, sizeof...(part)> offsets, Position where = Position::current()) const {
    static_assert(sizeof...(part) == rank, "slice: the part has as many dimensions as the memory object");
    return Shared<E, part...>(
        detail::emitSharedSlice(value, Shared<E, part...>::type(), {offsets.begin(), offsets.end()}, where));
  }

  /// The same bytes; dimension d of the result is dimension order[d]. Without an order: the transposed matrix.
  template <int... order>
  auto trans(Position where = Position::current()) const {
    if constexpr (sizeof...(order) == 0) {
      static_assert(rank == 2, "trans: give the order of the dimensions unless there are two");
      if constexpr (rank == 2)
        return trans<1, 0>(where);
    } else {
      static_assert(sizeof...(order) == rank && detail::isPermutation({order...}),
                    "trans: the order is a permutation of the dimensions");
      return viewOf(detail::PermutedShape<Tile<E, sizes...>, order...>(),
                    detail::emitSharedTranspose(value, {order...}, where));
    }
  }

  /// The same bytes with another type, shape and layout; no more bytes than there are.
  template <class To, int64_t... toSizes>
  Shared<To, toSizes...> reinterpret(const SharedLayout &layout, Position where = Position::current()) const {
    return Shared<To, toSizes...>(detail::emitSharedReinterpret(value, Shared<To, toSizes...>::type(), layout, where));
  }

  Tile<E, sizes...> load(const Layout &layout, Position where = Position::current()) const {
    return Tile<E, sizes...>(detail::emitSharedLoad(value, layout, false, where));
  }
  /// Promises that an asyncWait() orders the read after the copies to what is read.
  Tile<E, sizes...> loadRelaxed(const Layout &layout, Position where = Position::current()) const {
    return Tile<E, sizes...>(detail::emitSharedLoad(value, layout, true, where));
  }
  template <detail::AnyTile T>
  void store(const T &tile, Position where = Position::current()) const {
    static_assert(std::is_same_v<T, Tile<E, sizes...>>,
                  "store: the tile has another shape or element type than the memory object");
    detail::emitSharedStore(value, tile.handle(), where);
  }

  /// Elements by an index along one axis, in the layout of the indices; the other coordinates are those of the element.
  template <class I, int64_t... count, int number>
  Tile<E, count...> gather(const Tile<I, count...> &indices, axis<number>, Position where = Position::current()) const {
    requireIndices<I, number, sizeof...(count)>();
    return Tile<E, count...>(detail::emitSharedGather(value, indices.handle(), number, where));
  }
  template <class I, int64_t... count, int number>
  void scatter(const Tile<I, count...> &indices, const Tile<E, count...> &tile, axis<number>,
               Position where = Position::current()) const {
    requireIndices<I, number, sizeof...(count)>();
    detail::emitSharedScatter(value, indices.handle(), tile.handle(), number, where);
  }

  /// The end of the memory object's life; its bytes can be another one's.
  void deallocate(Position where = Position::current()) const { detail::emitDeallocateShared(value, where); }

private:
  template <int64_t... viewSizes>
  static Shared<E, viewSizes...> viewOf(detail::Shape<viewSizes...>, detail::Handle view) {
    return Shared<E, viewSizes...>(view);
  }
  template <class S>
  auto slotOf(S shape, detail::Handle number, Position where) const {
    return viewOf(shape, detail::emitSharedIndex(value, number, where));
  }
  template <class I, int number, int indexRank>
  static constexpr void requireIndices() {
    static_assert(detail::isInteger<I>, "the indices are integers");
    static_assert(indexRank == rank, "the indices have as many dimensions as the memory object");
    static_assert(number >= 0 && number < rank, "the axis is between 0 and the rank of the memory object");
  }

  static constexpr int64_t sizeList[sizeof...(sizes) + 1] = {sizes...};
  detail::Handle value;
};

/// A memory object with nothing in it: `allocateShared<f16, 2, 64, 64>(layout)` is a ring of two slots of 64 x 64, with
/// a layout of two axes.
template <class E, int64_t... sizes>
Shared<E, sizes...> allocateShared(const SharedLayout &layout, Position where = Position::current()) {
  return Shared<E, sizes...>(detail::emitAllocateShared(Shared<E, sizes...>::type(), layout, {}, where));
}
/// A memory object with the elements of a tile.
template <class E, int64_t... sizes>
Shared<E, sizes...> allocateShared(const Tile<E, sizes...> &tile, const SharedLayout &layout,
                                   Position where = Position::current()) {
  return Shared<E, sizes...>(detail::emitAllocateShared(Shared<E, sizes...>::type(), layout, tile.handle(), where));
}

//===-- Copies in flight -----------------------------------------------------------------------------------------===//

/// Begins to copy a tile to a memory object. Elements whose mask is false keep what is there, or become `other`.
template <class E, int64_t... sizes, class P, class M = Absent, class O = Absent>
  requires detail::AnyPointer<P>
void globalLoadToShared(const Shared<E, sizes...> &to, const P &from, const M &mask = {}, const O &other = {},
                        Access access = {}, Position where = Position::current()) {
  static_assert(std::is_same_v<P, PointerTile<E, sizes...>>,
                "globalLoadToShared: the pointers are not those of the memory object's elements");
  static_assert(std::is_same_v<O, Absent> || !std::is_same_v<M, Absent>,
                "globalLoadToShared: `other` is for elements that a mask leaves out");
  detail::Handle filler;
  if constexpr (!std::is_same_v<O, Absent>)
    filler = detail::valueFor<P>(other, where);
  detail::emitGlobalCopy(to.handle(), from.handle(), detail::maskFor<P>(mask, where), filler, access, where);
}

/// Makes a group of the copies since the last group.
inline void asyncCommit(Position where = Position::current()) {
  detail::emitAsyncCommit(where);
}
/// Waits until at most so many groups are in flight.
inline void asyncWait(int groups, Position where = Position::current()) {
  detail::emitAsyncWait(groups, where);
}

} // namespace heddle::build
