// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts of tiles and of shared memory, as Gluon has them: values of C++ that kernels of blockKernel() give to tiles
// and memory objects. What they denote is docs/ttgir.md's table of encodings.
#pragma once
#include "frontend/build/Tile.h"
#include <memory>
#include <variant>

namespace heddle::build {

struct BlockedLayout;
struct SliceLayout;
struct MfmaLayout;
struct DotOperandLayout;
struct LinearLayout;

using Numbers = std::vector<int64_t>;

namespace detail {
struct AnyLayout;
template <class T>
concept KindOfLayout =
    std::is_same_v<T, BlockedLayout> || std::is_same_v<T, SliceLayout> || std::is_same_v<T, MfmaLayout> ||
    std::is_same_v<T, DotOperandLayout> || std::is_same_v<T, LinearLayout>;
} // namespace detail

/// Which thread of the block holds which elements of a tile, in which registers.
class Layout {
public:
  template <detail::KindOfLayout T>
  Layout(T layout);

  const detail::AnyLayout &any() const { return *shared; }

private:
  std::shared_ptr<const detail::AnyLayout> shared;
};

/// Elements of a thread, threads of a warp and warps of the block along each axis; `order` has the axes, fastest first.
struct BlockedLayout {
  Numbers sizePerThread, threadsPerWarp, warpsPerBlock, order;
};

/// The layout of a tile without axis `axis` of `parent`'s.
struct SliceLayout {
  int axis;
  Layout parent;
};

/// Results of a matrix instruction M x N x K: version 3 is gfx942's, 4 gfx950's.
struct MfmaLayout {
  int version;
  Numbers instruction; ///< M, N, K
  bool transposed;     ///< a lane's results are contiguous along a row
  Numbers warpsPerBlock;
  Numbers tilesPerWarp = {}; ///< 1 along each axis when empty
  int elementBits = 32;      ///< 64 for f64
};

/// Operand 0 or 1 of a matmul whose results are in `parent`; a lane reads `kWidth` elements along K at once (0 for a
/// BlockedLayout).
struct DotOperandLayout {
  int operand;
  Layout parent;
  int kWidth = 0;
};

/// The coordinates that each bit of the register, lane and warp number adds.
struct LinearLayout {
  std::vector<Numbers> registers, lanes, warps;
};

struct detail::AnyLayout {
  std::variant<BlockedLayout, SliceLayout, MfmaLayout, DotOperandLayout, LinearLayout> kind;
};
template <detail::KindOfLayout T>
Layout::Layout(T layout) : shared(std::make_shared<const detail::AnyLayout>(detail::AnyLayout{std::move(layout)})) {}

//===-- Shared memory --------------------------------------------------------------------------------------------===//

/// Rows whose columns are xor'ed, in groups of `vec` elements, by the row's phase.
struct SwizzledSharedLayout {
  int vec, perPhase, maxPhase;
  Numbers order;
};

/// Padding after each interval: pairs of interval and padding, in elements, counted over all slots of a ring.
struct PaddedSharedLayout {
  std::vector<std::pair<int64_t, int64_t>> padding;
  Numbers shape, order;
};

/// The coordinates that each bit of an offset adds.
struct SharedLinearLayout {
  std::vector<Numbers> offsets;
  int alignment = 16; ///< bytes
};

using SharedLayout = std::variant<SwizzledSharedLayout, PaddedSharedLayout, SharedLinearLayout>;

//===-- Tiles with a layout --------------------------------------------------------------------------------------===//

namespace detail {
/// An open tile takes the layout; another one is converted to it.
Handle emitInLayout(Handle x, const Layout &layout, Position where);
} // namespace detail

/// The same tile in another layout: elements move between threads.
template <class E, int64_t... sizes>
  requires(sizeof...(sizes) > 0)
Tile<E, sizes...> convert(const Tile<E, sizes...> &x, const Layout &layout, Position where = Position::current()) {
  return Tile<E, sizes...>(detail::emitInLayout(x.handle(), layout, where));
}

// range, full and zeros without a layout get that of the tile that they are used with.
template <int32_t size>
Tile<i32, size> range(const Layout &layout, Position where = Position::current()) {
  return Tile<i32, size>(detail::emitInLayout(detail::emitRange(0, size, where), layout, where));
}
template <int32_t start, int32_t end>
Tile<i32, end - start> range(const Layout &layout, Position where = Position::current()) {
  static_assert(start < end, "range: the start is below the end");
  return Tile<i32, end - start>(detail::emitInLayout(detail::emitRange(start, end, where), layout, where));
}
template <class E, int64_t... sizes, class X>
  requires detail::Operand<X>
Tile<E, sizes...> full(const X &value, const Layout &layout, Position where = Position::current()) {
  return Tile<E, sizes...>(detail::emitInLayout(full<E, sizes...>(value, where).handle(), layout, where));
}
template <class E, int64_t... sizes>
Tile<E, sizes...> zeros(const Layout &layout, Position where = Position::current()) {
  return full<E, sizes...>(0, layout, where);
}

} // namespace heddle::build
