// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tries the widths of the chip's instructions, the widest first, against the rules C1 to C5.
#include "compiler/lowering/simt/DirectCopy.h"
#include "compiler/layout/Axes.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include <fmt/format.h>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::Dim;
using layout::LinearLayout;

//===-- Plans ----------------------------------------------------------------------------------------------------===//

/// The lanes' part of `offsets` and what the others add to it, in places of `elements`; nothing where lanes do not fill
/// such a span.
static std::optional<DirectCopy> planByWarps(const LinearLayout &offsets, int64_t elements, int64_t lanes) {
  int64_t span = elements * lanes;
  LinearLayout::Input laneBits{Dim::Lane, {}};
  for (int bit = 0; bit < offsets.inputBits(Dim::Lane); ++bit) {
    int64_t offset = offsets.basis(Dim::Lane, bit, Dim::Offset);
    if (offset >= span || offset % elements)
      return std::nullopt;
    laneBits.bases.push_back({offset / elements});
  }
  LinearLayout written({laneBits}, {{Dim::Offset, lanes}});
  if (int64_t(1) << laneBits.bases.size() != lanes || !written.isInvertible())
    return std::nullopt;
  LinearLayout laneAt = written.pseudoinvert();
  auto sourceOf = [&](int64_t place) { return laneAt.apply({{Dim::Offset, place}})[0]; };
  DirectCopy copy;
  copy.elements = elements;
  std::vector<LinearLayout::Input> first, source;
  for (Dim in : {Dim::Register, Dim::Lane, Dim::Warp}) {
    LinearLayout::Input high{in, {}}, low{in, {}};
    for (int bit = 0; bit < offsets.inputBits(in); ++bit) {
      int64_t offset = offsets.basis(in, bit, Dim::Offset);
      bool isWithin = in == Dim::Register && offset < elements; // moved by the same instruction
      high.bases.push_back({offset / span * span});
      low.bases.push_back({in == Dim::Lane ? sourceOf(int64_t(1) << bit)
                           : isWithin      ? 0
                                           : sourceOf(offset % span / elements)});
      copy.usesOtherLanes |= low.bases.back()[0] != (in == Dim::Lane ? int64_t(1) << bit : 0);
    }
    source.push_back(low);
    if (in != Dim::Lane)
      first.push_back(high);
  }
  copy.first = LinearLayout(first, {{Dim::Offset, offsets.outputSize(Dim::Offset)}});
  copy.source = LinearLayout(source, {{Dim::Lane, lanes}});
  return copy;
}

namespace {

struct Width {
  int64_t bytes;      ///< that an instruction moves for each lane
  int64_t elements;   ///< contiguous elements of a lane in global memory
  int64_t contiguous; ///< of them in its lowest registers and in shared memory
  int64_t lanes;
};

} // namespace

static std::optional<DirectCopy> planOfWidth(const LinearLayout &offsets, SharedType memory, Width width,
                                             std::string &reason) {
  int64_t element = memory.getElementBytes(), count = width.bytes / element;
  if (count < 1 || count > width.contiguous) {
    reason =
        fmt::format("rule C1: a lane has {} contiguous bytes of global memory, {} of them contiguous in shared memory",
                    width.elements * element, width.contiguous * element);
    return std::nullopt;
  }
  auto least = llvm::min_element(memory.getIntervals());
  if (memory.isPadded() && *least < count * width.lanes) {
    reason = fmt::format("rule C2: a warp writes {} contiguous elements, and there is padding after each {}",
                         count * width.lanes, *least);
    return std::nullopt;
  }
  std::optional<DirectCopy> plan = planByWarps(offsets, count, width.lanes);
  if (!plan)
    reason = fmt::format("rule C3: the {} lanes of a warp do not write {} contiguous bytes", width.lanes,
                         width.lanes * width.bytes);
  return plan;
}

std::optional<DirectCopy> simt::planDirectCopy(const LinearLayout &addresses, SharedType memory, int64_t elements,
                                               const GpuTarget &target, std::string &why) {
  LinearLayout offsets = memory.offsetsOf(addresses);
  int64_t lanes = target.lanesPerWarp();
  std::vector<int> bits = layout::contiguousRegisterBits(offsets, elements);
  int64_t contiguous = 1; // the lowest registers
  for (size_t bit = 0; bit < bits.size() && bits[bit] == int(bit); ++bit)
    contiguous *= 2;
  why = "the chip has no copies straight to shared memory";
  std::string reasons;
  for (int64_t width : target.directCopyBytes()) {
    std::string reason;
    std::optional<DirectCopy> plan = planOfWidth(offsets, memory, {width, elements, contiguous, lanes}, reason);
    if (plan)
      return plan;
    reasons += fmt::format("{}by {} bytes for each lane, {}", reasons.empty() ? "" : "; ", width, reason);
    why = reasons;
  }
  return std::nullopt;
}

std::string simt::ruleOfParts(int64_t span) {
  return fmt::format("rule C4: it copies to a part of a memory object that does not begin at a multiple of {} "
                     "elements, which a warp writes",
                     span);
}

bool simt::beginsAtSpan(Value memory, int64_t span) {
  for (Operation *op = memory.getDefiningOp(); isa_and_nonnull<IndexOp, SubsliceOp, ViewOp>(op);
       op = memory.getDefiningOp()) {
    if (auto part = dyn_cast<SubsliceOp>(op); part && part.elementOffset() % span)
      return false;
    memory = op->getOperand(0);
    // Elements of another size are counted otherwise.
    auto from = cast<SharedType>(memory.getType()), to = cast<SharedType>(op->getResult(0).getType());
    span = span * to.getElementBytes() / from.getElementBytes();
    if (span == 0 || (isa<IndexOp>(op) && from.getTileElements() % span))
      return false;
  }
  return true;
}

//===-- Waits ----------------------------------------------------------------------------------------------------===//

int64_t simt::instructionsOfCopy(Operation *op, BlockShape block) {
  auto count = [&](Type tile, int64_t elements) -> int64_t {
    const LinearLayout &layout = layoutOf(tile);
    if (block.copies(layout))
      return 0;
    return (layout.inputSize(Dim::Register) >> llvm::popcount(layout.freeBits(Dim::Register))) / elements;
  };
  if (auto copy = dyn_cast<AsyncCopyOp>(op))
    return copy.getMask() && copy.getKeeps() ? 0 : count(copy.getPointers().getType(), int64_t(copy.getElements()));
  auto copy = cast<AsyncBufferCopyOp>(op);
  return count(copy.getOffsets().getType(), int64_t(copy.getElements()));
}
