// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looks for a swizzled ring that copies can fill and matmuls read, and says why there is none.
#include "compiler/lowering/tile_to_simt/ChooseRing.h"
#include "compiler/layout/Axes.h"
#include "compiler/layout/MatrixLoad.h"
#include "compiler/lowering/simt/DirectCopy.h"
#include "compiler/lowering/simt/GpuTarget.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::Dim;
using layout::LinearLayout;

LinearLayout simt::copyLayout(const LinearLayout &shared, int64_t elements, const PipelineTarget &to) {
  const std::vector<std::vector<int64_t>> &offsets = shared.inputs()[0].bases;
  std::vector<int64_t> none(shared.outputs().size(), 0);
  size_t at = 0;
  auto take = [&](LinearLayout::Input &input, int64_t size) {
    for (int64_t bit = 1; bit < size; bit *= 2, ++at)
      input.bases.push_back(at < offsets.size() ? offsets[at] : none);
  };
  LinearLayout::Input registers{Dim::Register, {}}, lane{Dim::Lane, {}}, warp{Dim::Warp, {}};
  take(registers, elements);
  take(lane, to.target.lanesPerWarp());
  take(warp, to.warps);
  for (; at < offsets.size(); ++at)
    registers.bases.push_back(offsets[at]);
  return LinearLayout({registers, lane, warp}, shared.outputs());
}

/// Whether warps can fill the ring, and matmuls read it; else why not.
static bool isUsable(RingCopy copy, ArrayRef<TileRead> reads, bool transposed, const PipelineTarget &to,
                     std::string &why) {
  SharedType tile = copy.ringType(1);
  LinearLayout addresses = copyLayout(copy.shared, copy.elements, to);
  std::optional<DirectCopy> plan = planDirectCopy(addresses, tile, copy.elements, to.target, why);
  if (!plan || plan->elements != copy.elements || plan->usesOtherLanes) {
    if (why.empty())
      why = "warps cannot fill its rows in shared memory";
    return false;
  }
  auto bits = int(tile.getElementType().getIntOrFloatBitWidth());
  bool isRead = llvm::all_of(reads, [&](const TileRead &read) {
    LinearLayout offsets = tile.offsetsOf(read.wanted);
    if (transposed)
      return layout::findTransposedRead(offsets, bits).has_value();
    return int64_t(bits) << layout::contiguousRegisterBits(offsets, 128 / bits).size() >= 64;
  });
  if (!isRead)
    why = "matmuls read less than 8 contiguous bytes of it at once";
  return isRead;
}

// A copy takes an instruction for its address in shared memory and one for itself, a load and a store to shared memory
// of 16 bytes as many: narrower copies take more.
std::optional<RingCopy> simt::chooseRing(GlobalLoadOp load, const PipelineTarget &to, std::string &why) {
  constexpr int64_t bytes = 16;
  auto tile = cast<RankedTensorType>(load.getType());
  auto bits = int(tile.getElementTypeBitWidth()), banks = to.target.sharedMemoryBanks();
  int64_t contiguous = int64_t(load.getElements()) * bits / 8;
  bool isAll = true;
  SmallVector<TileRead> reads = readsOf(load, isAll);
  SmallVector<int64_t> widths = to.target.directCopyBytes();
  if (!widths.empty() && contiguous < widths.back())
    why = "lanes read " + std::to_string(contiguous) + " contiguous bytes of it, and copies " +
          std::to_string(widths.back()) + " or more";
  else if (!llvm::is_contained(widths, bytes))
    why = widths.empty() ? "the chip has no copies straight to shared memory"
                         : "the chip copies " + std::to_string(widths.front()) +
                               " bytes of a lane at once, which takes more instructions than loads";
  else if (contiguous < bytes)
    why = "lanes read " + std::to_string(contiguous) + " contiguous bytes of it, and copies 16";
  else if (!fillsWithZeros(load))
    why = "`other` is not zero";
  else if (!isAll || reads.empty())
    why = "it has a use other than a matmul";
  if (!why.empty())
    return std::nullopt;
  layout::Shape shape(tile.getShape().begin(), tile.getShape().end());
  layout::Order order = contiguousOrder(load);
  RingCopy copy{load, bytes * 8 / bits, layout::copiedShared(shape, bits, order, banks)};
  if (isUsable(copy, reads, /*transposed=*/false, to, why))
    return copy;
  if (!to.target.readsTransposed(bits) || shape.size() != 2)
    return std::nullopt;
  copy.shared = layout::copiedSharedTransposed(reads.front().wanted, bits, order, banks);
  return isUsable(copy, reads, /*transposed=*/true, to, why) ? std::optional(copy) : std::nullopt;
}
