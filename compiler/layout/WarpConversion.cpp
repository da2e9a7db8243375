// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the swaps of register and lane bits, and the shuffles, that make one layout of the other.
#include "compiler/layout/WarpConversion.h"

using namespace heddle::layout;

static bool isIdentity(const LinearLayout &from, Dim dim) {
  for (int bit = 0; bit < from.inputBits(dim); ++bit)
    if (from.basis(dim, bit, dim) != int64_t(1) << bit)
      return false;
  return true;
}

/// The number of the only bit that is set in `number`; -1 when it is another number of bits.
static int onlyBit(int64_t number) {
  if (number <= 0 || (number & (number - 1)))
    return -1;
  int bit = 0;
  while (number >> (bit + 1))
    ++bit;
  return bit;
}

/// `from` after a swap: its register bit and its lane bit are swapped in each image.
static LinearLayout swapped(const LinearLayout &from, WarpConversion::Swap swap) {
  size_t registers = 0, lanes = 0;
  for (size_t k = 0; k < from.outputs().size(); ++k) {
    if (from.outputs()[k].dim == Dim::Register)
      registers = k;
    if (from.outputs()[k].dim == Dim::Lane)
      lanes = k;
  }
  std::vector<LinearLayout::Input> inputs = from.inputs();
  for (LinearLayout::Input &input : inputs)
    for (std::vector<int64_t> &image : input.bases) {
      int64_t differ = ((image[registers] >> swap.registerBit) ^ (image[lanes] >> swap.laneBit)) & 1;
      image[registers] ^= differ << swap.registerBit;
      image[lanes] ^= differ << swap.laneBit;
    }
  return LinearLayout(inputs, from.outputs());
}

/// Swaps after which each lane of the result has the elements of the same lane, in some register. A lane bit whose
/// image is a register bit takes one; that may give another lane bit such an image.
static bool findSwaps(WarpConversion &conversion, uint64_t swappable) {
  LinearLayout &from = conversion.from;
  int lanes = from.inputBits(Dim::Lane);
  for (bool found = true; found;) {
    found = false;
    for (int lane = 0; lane < lanes && !found; ++lane) {
      int reg = onlyBit(from.basis(Dim::Lane, lane, Dim::Register));
      found = (swappable >> lane & 1) && reg >= 0 && from.basis(Dim::Lane, lane, Dim::Lane) == 0 &&
              from.outputSize(Dim::Lane) > int64_t(1) << lane && conversion.swaps.size() < size_t(lanes);
      if (!found)
        continue;
      conversion.swaps.push_back({reg, lane});
      from = swapped(from, conversion.swaps.back());
    }
  }
  return from.sublayoutIsZero({Dim::Lane}, {Dim::Register}) && from.sublayoutIsZero({Dim::Register}, {Dim::Lane}) &&
         isIdentity(from, Dim::Lane);
}

std::optional<WarpConversion> heddle::layout::convertInWarp(const LinearLayout &source, const LinearLayout &result,
                                                            uint64_t swappable) {
  WarpConversion conversion;
  LinearLayout &from = conversion.from = result.invertAndCompose(source);
  if (!from.sublayoutIsZero({Dim::Register, Dim::Lane}, {Dim::Warp}) ||
      !from.sublayoutIsZero({Dim::Warp}, {Dim::Register, Dim::Lane}) || !isIdentity(from, Dim::Warp))
    return std::nullopt;
  if (!from.sublayoutIsZero({Dim::Lane}, {Dim::Register}))
    return findSwaps(conversion, swappable) ? std::optional(conversion) : std::nullopt;
  conversion.shuffles = !from.sublayoutIsZero({Dim::Register}, {Dim::Lane}) || !isIdentity(from, Dim::Lane);
  return conversion;
}
