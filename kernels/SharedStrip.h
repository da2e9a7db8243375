// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A strip: lines that several blocks share, each of which has a part of them. The blocks find the largest magnitude of
// each line together, through global memory. The waits are bounded.
#pragma once
#include "kernels/Quantise.h"

namespace heddle::kernels {

/// The largest magnitudes along an axis, as the bits of f32. Of 16-bit numbers the bits themselves are compared.
template <int along, class E, int64_t... sizes>
auto largestAlong(const build::Tile<E, sizes...> &numbers, const Quantise &how) {
  using namespace build;
  if constexpr (std::is_same_v<E, f32>) {
    return max(magnitudeBits(numbers, how), axis<along>());
  } else {
    constexpr int infinity = std::is_same_v<E, f16> ? 0x7c00 : 0x7f80;
    auto bits = bitcast<i16>(numbers) & 0x7fff;
    auto largest = max(how.propagates ? bits : select(bits > infinity, 0, bits), axis<along>());
    return bitcast<i32>(cast<f32>(bitcast<E>(largest)));
  }
}

/// The option `method`: `usual`, which `sentence` describes, reduction, cooperative, or what is the fastest on the
/// chip.
Option methodOption(const std::string &usual, const std::string &sentence);
/// Whether the call is to run so, with so many parts of a strip. Throws Error{Input} where they would wait for blocks
/// that have not begun.
bool isCooperative(const Call &call, int64_t parts);

/// A strip's words: one for each line, where its parts collect the largest magnitude, and one that counts the parts.
/// All begin as zeros.
template <int64_t lines>
struct SharedStrip {
  build::Pointer<build::i32> words;
  build::Tile<build::i64, lines> line; ///< the lines' words
  build::Tile<build::i1, lines> exists;
  build::Pointer<build::i32> counter;

  /// Adds a part, whose largest magnitudes these are.
  void collect(const build::Tile<build::i32, lines> &largest) const {
    using namespace build;
    atomicMax(words + line, largest, exists, Order::Relaxed);
    debugBarrier();
    atomicAdd(counter, 1, Order::AcquireRelease);
  }

  /// The largest magnitudes of so many parts, when all are there. GPUs start blocks in the order of their numbers, so
  /// this is soon; where it is not, what `otherwise()` finds.
  template <class F>
  build::Tile<build::i32, lines> wait(const build::Scalar<build::i32> &parts, F otherwise) const {
    using namespace build;
    constexpr int mostPolls = 1000;
    auto poll = [&] { return atomicAdd(counter, 0, Order::Acquire); };
    auto [polls, seen] = whileLoop(
        carry(full<i32>(0), poll()), [&](auto polls, auto seen) { return seen < parts && polls < mostPolls; },
        [&](auto polls, auto) { return carry(polls + 1, poll()); });
    debugBarrier();
    return when(seen >= parts, [&] { return load(words + line, exists, 0, {.isVolatile = true}); }, otherwise);
  }
};

/// Registers of a block for so many elements as they are in memory.
inline int64_t wordsOf(ElementType type, int64_t elements) {
  return elements * elementSizeBytes(type) / 4;
}

/// Words of so many strips of `lines` lines each, of which a block has `ofBlock`.
inline int64_t sharedWords(int64_t strips, int64_t lines, int64_t ofBlock) {
  return strips * (lines + blocksFor(lines, ofBlock));
}

} // namespace heddle::kernels
