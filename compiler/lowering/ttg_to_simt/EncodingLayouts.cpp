// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One function for each encoding; an encoding that gives threads no complete tile is refused with the gap.
#include "compiler/lowering/ttg_to_simt/EncodingLayouts.h"
#include "compiler/layout/Axes.h"
#include "compiler/layout/Fit.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::Dim;
using layout::LinearLayout;
namespace ttg = heddle::triton::gpu;

static layout::Shape shapeOf(ArrayRef<int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

static layout::Order orderOf(ArrayRef<int64_t> order) {
  return {order.begin(), order.end()};
}

static LinearLayout::Input inputOf(Dim dim, ArrayRef<int64_t> bases, int64_t rank) {
  LinearLayout::Input input{dim, {}};
  for (size_t first = 0; rank && first < bases.size(); first += size_t(rank))
    input.bases.emplace_back(bases.begin() + first, bases.begin() + first + size_t(rank));
  return input;
}

/// As many as the bases reach along each axis.
static std::vector<LinearLayout::Output> outputsOf(ArrayRef<LinearLayout::Input> inputs, int64_t rank) {
  std::vector<LinearLayout::Output> outputs;
  for (int axis = 0; axis < rank; ++axis) {
    int64_t size = 1;
    for (const LinearLayout::Input &input : inputs)
      for (const std::vector<int64_t> &basis : input.bases)
        size = std::max(size, int64_t(llvm::NextPowerOf2(uint64_t(basis[size_t(axis)]))));
    outputs.push_back({layout::tileDim(axis), size});
  }
  return outputs;
}

// Each bit moves along one axis by a power of two (rule G10): a layout that covers less lacks some of them.
static std::string describeGap(const LinearLayout &layout) {
  const std::vector<LinearLayout::Output> &axes = layout.outputs();
  for (size_t axis = 0; axis < axes.size(); ++axis)
    for (int64_t step = 1; step < axes[axis].size; step *= 2) {
      auto moves = [&](const std::vector<int64_t> &basis) { return basis[axis] == step; };
      if (llvm::none_of(layout.inputs(), [&](const LinearLayout::Input &in) { return llvm::any_of(in.bases, moves); }))
        return ("no bit moves along axis " + llvm::Twine(axis) + " by " + llvm::Twine(step) + ", but one does by " +
                llvm::Twine(axes[axis].size / 2) + ", so no thread has the elements between")
            .str();
    }
  return "some elements belong to no thread";
}

// A product element by element reads all of K in each thread.
static LinearLayout plainOperand(ttg::BlockedAttr parent, ArrayRef<int64_t> shape, int64_t opIdx) {
  size_t rank = shape.size(), k = opIdx == 0 ? rank - 1 : rank - 2;
  layout::Order order = orderOf(parent.getOrder());
  layout::Shape sizes = shapeOf(parent.getSizePerThread());
  sizes[k] = shape[k];
  auto threads = [&](Dim dim, ArrayRef<int64_t> counts) {
    return layout::withoutAxis(layout::alongAxes(dim, shapeOf(counts), order), layout::tileDim(int(k)));
  };
  LinearLayout tile = layout::alongAxes(Dim::Register, sizes, order) * threads(Dim::Lane, parent.getThreadsPerWarp());
  return layout::fitTile(layout::withWarps(tile, threads(Dim::Warp, parent.getWarpsPerCTA())), shapeOf(shape));
}

static FailureOr<LinearLayout> unchecked(Attribute encoding, ArrayRef<int64_t> shape, EmitError emitError) {
  using Result = FailureOr<LinearLayout>;
  auto mfma = dyn_cast<ttg::AmdMfmaAttr>(encoding);
  auto operand = dyn_cast<ttg::DotOperandAttr>(encoding);
  if (operand && !mfma)
    mfma = dyn_cast<ttg::AmdMfmaAttr>(operand.getParent());
  return llvm::TypeSwitch<Attribute, Result>(encoding)
      .Case([&](ttg::BlockedAttr blocked) -> Result {
        return layout::blocked(shapeOf(shape), shapeOf(blocked.getSizePerThread()),
                               shapeOf(blocked.getThreadsPerWarp()), shapeOf(blocked.getWarpsPerCTA()),
                               orderOf(blocked.getOrder()));
      })
      .Case([&](ttg::SliceAttr slice) -> Result {
        SmallVector<int64_t> expanded(shape);
        expanded.insert(expanded.begin() + slice.getDim(), 1);
        Result parent = unchecked(slice.getParent(), expanded, emitError);
        return failed(parent) ? parent : Result(layout::slice(*parent, int(slice.getDim())));
      })
      .Case([&](ttg::AmdMfmaAttr) -> Result {
        ArrayRef<int64_t> size = mfma.getInstrShape();
        return layout::mfmaAccumulator(shapeOf(shape), shapeOf(mfma.getWarpsPerCTA()), size[0], size[1],
                                       mfma.getIsTransposed(), int(mfma.getElementBitWidth()),
                                       shapeOf(mfma.getTilesPerWarp()));
      })
      .Case([&](ttg::NvidiaMmaAttr mma) -> Result {
        if (mma.getVersionMajor() == 2)
          return layout::mmaAccumulator(shapeOf(shape), shapeOf(mma.getWarpsPerCTA()));
        return layout::wgmmaAccumulator(shapeOf(shape), shapeOf(mma.getWarpsPerCTA()), mma.getInstrShape()[1]);
      })
      .Case([&](ttg::DotOperandAttr) -> Result {
        if (auto mma = dyn_cast<ttg::NvidiaMmaAttr>(operand.getParent())) {
          layout::Shape warps = shapeOf(mma.getWarpsPerCTA());
          if (mma.getVersionMajor() == 2)
            return layout::mmaOperand(shapeOf(shape), warps, int(operand.getOpIdx()), operand.getKWidth());
          if (operand.getOpIdx() == 1)
            return emitError() << "the right operand of `wgmma` in registers: it is in shared memory";
          return layout::wgmmaOperand(shapeOf(shape), warps, operand.getKWidth());
        }
        if (!mfma)
          return plainOperand(cast<ttg::BlockedAttr>(operand.getParent()), shape, operand.getOpIdx());
        ArrayRef<int64_t> size = mfma.getInstrShape();
        return layout::mfmaOperand(shapeOf(shape), shapeOf(mfma.getWarpsPerCTA()), int(operand.getOpIdx()),
                                   operand.getKWidth(), size[0], size[1], shapeOf(mfma.getTilesPerWarp()));
      })
      .Case([&](ttg::LinearAttr linear) -> Result {
        int64_t rank = linear.getRank();
        std::vector<LinearLayout::Input> inputs = {inputOf(Dim::Register, linear.getRegisterBases(), rank),
                                                   inputOf(Dim::Lane, linear.getLane(), rank),
                                                   inputOf(Dim::Warp, linear.getWarp(), rank)};
        LinearLayout layout(inputs, outputsOf(inputs, rank));
        // Rule K5: each element has a place.
        if (!layout.isSurjective())
          return emitError() << "the layout " << encoding << " does not cover what it reaches: " << describeGap(layout);
        return layout::fitTile(layout, shapeOf(shape));
      })
      .Default([&](Attribute) -> Result { return emitError() << "the layout " << encoding << " is not compiled"; });
}

FailureOr<LinearLayout> simt::tileLayout(Attribute encoding, ArrayRef<int64_t> shape, BlockThreads threads,
                                         EmitError emitError) {
  if (std::optional<int64_t> rank = ttg::rankOf(encoding); rank && *rank != int64_t(shape.size()))
    return emitError() << "a layout of " << *rank << " axes for a tile of " << shape.size();
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size < 1 || !llvm::isPowerOf2_64(uint64_t(size)) || size > triton::maxTileElements / elements)
      return emitError() << "a tile whose sizes are not powers of two, or of more than " << triton::maxTileElements
                         << " elements";
    elements *= size;
  }
  FailureOr<LinearLayout> layout = unchecked(encoding, shape, emitError);
  if (failed(layout))
    return failure();
  int64_t lanes = layout->inputSize(Dim::Lane), warps = layout->inputSize(Dim::Warp);
  // Rule K4: a tile's layout has the module's warps and threads.
  if (lanes != threads.lanes || warps != threads.warps)
    return emitError() << "the layout " << encoding << " is of " << warps << " warps of " << lanes
                       << " threads, the module of " << threads.warps << " of " << threads.lanes;
  return layout;
}

//===-- Shared memory --------------------------------------------------------------------------------------------===//

static FailureOr<LinearLayout> fromBases(ArrayRef<int64_t> bases, ArrayRef<int64_t> shape, EmitError emitError) {
  auto rank = int64_t(shape.size());
  LinearLayout::Input offsets = inputOf(Dim::Offset, bases, rank);
  std::vector<LinearLayout::Output> outputs;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    outputs.push_back({layout::tileDim(int(axis)), size});
    for (const std::vector<int64_t> &basis : offsets.bases)
      if (basis[axis] < 0 || basis[axis] >= size)
        return emitError() << "an offset adds " << basis[axis] << " to axis " << axis << ", which has " << size;
  }
  LinearLayout layout({offsets}, outputs);
  // Rule K3: each element of shared memory has one offset, and each offset one element.
  if (!layout.isInvertible())
    return emitError() << "the offsets of a layout of shared memory are not the elements, one to one";
  return layout;
}

/// Without a swizzle it is row-major: core matrices of 8 rows of 16 bytes are no layout of Triton's.
static LinearLayout nvmmaLayout(ttg::NvmmaSharedAttr nvmma, ArrayRef<int64_t> shape) {
  layout::Order order = layout::rowMajor(shape.size());
  if (nvmma.getTransposed())
    std::reverse(order.begin(), order.end());
  if (!nvmma.getSwizzlingByteWidth())
    return layout::swizzledShared(shapeOf(shape), 1, 1, 1, order);
  if (!nvmma.getTransposed() || shape.size() == 2)
    return layout::nvmmaShared(shapeOf(shape), nvmma.getSwizzlingByteWidth(), int(nvmma.getElementBitWidth()),
                               nvmma.getTransposed());
  layout::Shape reversed(shape.rbegin(), shape.rend()); // the outermost axis is the contiguous one
  std::vector<int> axes(order.begin(), order.end());
  return layout::permuteAxes(
      layout::nvmmaShared(reversed, nvmma.getSwizzlingByteWidth(), int(nvmma.getElementBitWidth()), false), axes);
}

FailureOr<SharedType> simt::memoryType(ttg::MemDescType type, EmitError emitError) {
  auto rank = size_t(*ttg::rankOf(type.getEncoding()));
  ArrayRef<int64_t> tile = type.getShape().take_back(rank), whole = type.getAllocShape().take_back(rank);
  int64_t stages = type.getShape().size() > rank ? type.getShape().front() : 1;
  SmallVector<int64_t> intervals, paddings;
  FailureOr<LinearLayout> layout = LinearLayout();
  if (auto swizzled = dyn_cast<ttg::SwizzledSharedAttr>(type.getEncoding())) {
    layout = layout::swizzledShared(shapeOf(whole), swizzled.getVec(), swizzled.getPerPhase(), swizzled.getMaxPhase(),
                                    orderOf(swizzled.getOrder()));
  } else if (auto rotating = dyn_cast<ttg::RotatingSharedAttr>(type.getEncoding())) {
    layout = layout::rotatingShared(shapeOf(whole), rotating.getVec(), rotating.getPerPhase(), rotating.getMaxPhase(),
                                    orderOf(rotating.getOrder()));
  } else if (auto padded = dyn_cast<ttg::PaddedSharedAttr>(type.getEncoding())) {
    intervals.assign(padded.getIntervals().begin(), padded.getIntervals().end());
    paddings.assign(padded.getPaddings().begin(), padded.getPaddings().end());
    layout = padded.getOffset().empty() ? layout::swizzledShared(shapeOf(whole), 1, 1, 1, orderOf(padded.getOrder()))
                                        : fromBases(padded.getOffset(), whole, emitError);
  } else if (auto nvmma = dyn_cast<ttg::NvmmaSharedAttr>(type.getEncoding())) {
    layout = nvmmaLayout(nvmma, whole);
  } else {
    layout = fromBases(cast<ttg::SharedLinearAttr>(type.getEncoding()).getOffset(), whole, emitError);
  }
  if (failed(layout))
    return failure();
  return SharedType::getChecked(emitError, type.getContext(), stages, tile, type.getElementType(), *layout,
                                ArrayRef<int64_t>(intervals), ArrayRef<int64_t>(paddings));
}
