// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the notes of the warning for a copy that goes through registers.
#include "compiler/lowering/ttg_to_simt/CopyAdvice.h"
#include "compiler/layout/Encodings.h"
#include "compiler/lowering/simt/DirectCopy.h"
#include <fmt/ranges.h>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

/// A blocked layout of which each warp writes contiguous bytes of `to`, `elements` for each lane; empty when there is
/// none along that axis.
static std::string layoutFor(ArrayRef<int64_t> tile, SharedType to, int axis, int64_t elements, BlockThreads threads,
                             const GpuTarget &target) {
  layout::Shape shape(tile.begin(), tile.end()), perThread(shape.size(), 1);
  if (elements < 1 || elements > shape[size_t(axis)])
    return "";
  perThread[size_t(axis)] = elements;
  layout::Order order = {axis};
  for (int other = int(shape.size()); other-- > 0;)
    if (other != axis)
      order.push_back(other);
  layout::ThreadSplit split = layout::splitThreads(shape, perThread, order, threads.lanes, threads.warps);
  layout::LinearLayout layout = layout::blocked(shape, perThread, split.lanes, split.warps, order);
  std::string why;
  std::optional<DirectCopy> plan = planDirectCopy(layout, to, elements, target, why);
  if (!plan || plan->elements != elements)
    return "";
  return fmt::format("#ttg.blocked<{{sizePerThread = [{}], threadsPerWarp = [{}], warpsPerCTA = [{}], order = [{}]}}>",
                     fmt::join(perThread, ", "), fmt::join(split.lanes, ", "), fmt::join(split.warps, ", "),
                     fmt::join(order, ", "));
}

void simt::adviseOnCopy(InFlightDiagnostic &warning, RankedTensorType tile, SharedType to, AccessWidth allowed,
                        int64_t contiguous, BlockThreads threads, const GpuTarget &target) {
  if (contiguous > allowed.elements)
    warning.attachNote() << "the addresses of " << contiguous
                         << " elements are contiguous, but the mask is known to be "
                         << "the same for " << allowed.elements
                         << ": say by which power of two the bound that it compares with can be divided "
                            "(`tt.divisibility`, `multiple_of`)";
  SmallVector<int64_t> widths = target.directCopyBytes();
  if (!widths.empty() && contiguous * to.getElementBytes() < widths.back())
    warning.attachNote() << "the addresses are known to be contiguous and aligned for " << contiguous
                         << (contiguous == 1 ? " element" : " elements") << ", and a copy takes " << widths.back()
                         << " bytes or more: say by which power of two pointers and strides can be divided "
                            "(`tt.divisibility`, `multiple_of`)";
  for (int64_t bytes : widths) {
    int64_t elements = bytes / to.getElementBytes();
    if (elements > contiguous)
      continue;
    std::string layout = layoutFor(tile.getShape(), to, int(allowed.axis), elements, threads, target);
    if (layout.empty())
      continue;
    warning.attachNote() << "a layout that would do, by " << bytes << " bytes for each lane: " << layout;
    return;
  }
}
