// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/layout/Axes.h"
#include "compiler/layout/Fit.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::layout {

/// Dim0, Dim1, ...
static std::vector<Dim> firstAxes(size_t count) {
  std::vector<Dim> axes;
  for (size_t axis = 0; axis < count; ++axis)
    axes.push_back(tileDim(int(axis)));
  return axes;
}

LinearLayout slice(const LinearLayout &parent, int axis) {
  std::vector<Dim> inputs, outputs;
  for (const LinearLayout::Input &input : parent.inputs())
    inputs.push_back(input.dim);
  int rank = int(parent.outputs().size());
  for (const LinearLayout::Output &output : parent.outputs())
    if (output.dim != tileDim(axis))
      outputs.push_back(output.dim);
  if (int(outputs.size()) != rank - 1)
    throw internalError(fmt::format("layout: slice: no axis {} in a tile of rank {}", axis, rank));
  LinearLayout rest = parent.sublayout(inputs, outputs);
  for (int later = axis + 1; later < rank; ++later)
    rest = rest.renameOutput(tileDim(later), tileDim(later - 1));
  return rest.removeInputBits(Dim::Register, rest.freeBits(Dim::Register));
}

LinearLayout expandAxis(const LinearLayout &layout, int axis) {
  int rank = int(layout.outputs().size());
  LinearLayout expanded = layout;
  for (int later = rank; later-- > axis;)
    expanded = expanded.renameOutput(tileDim(later), tileDim(later + 1));
  std::vector<Dim> order;
  for (int each = 0; each <= rank; ++each)
    order.push_back(tileDim(each));
  return (expanded * LinearLayout::zeros1D(1, Dim::Register, tileDim(axis))).transposeOutputs(order);
}

LinearLayout permuteAxes(const LinearLayout &source, const Order &order) {
  std::vector<LinearLayout::Input> inputs = source.inputs();
  std::vector<LinearLayout::Output> outputs;
  for (size_t axis = 0; axis < order.size(); ++axis)
    outputs.push_back({tileDim(int(axis)), source.outputSize(tileDim(order[axis]))});
  for (LinearLayout::Input &input : inputs)
    for (size_t bit = 0; bit < input.bases.size(); ++bit) {
      std::vector<int64_t> moved;
      for (int axis : order)
        moved.push_back(source.basis(input.dim, int(bit), tileDim(axis)));
      input.bases[bit] = moved;
    }
  return LinearLayout(std::move(inputs), std::move(outputs));
}

LinearLayout flattenAxis(const LinearLayout &layout, int axis) {
  return withoutAxis(layout, tileDim(axis)).removeZeroBases(Dim::Register);
}

Order inverseOrder(const Order &order) {
  Order inverse(order.size());
  for (size_t to = 0; to < order.size(); ++to)
    inverse[size_t(order[to])] = int(to);
  return inverse;
}

LinearLayout reshape(const LinearLayout &source, const Shape &shape) {
  std::vector<Dim> minorFirst = firstAxes(source.outputs().size());
  std::reverse(minorFirst.begin(), minorFirst.end());
  std::vector<LinearLayout::Output> outputs;
  for (size_t axis = shape.size(); axis-- > 0;)
    outputs.push_back({tileDim(int(axis)), shape[axis]});
  return source.transposeOutputs(minorFirst).reshapeOutputs(outputs).transposeOutputs(firstAxes(shape.size()));
}

LinearLayout joinTiles(const LinearLayout &source) {
  size_t rank = source.outputs().size();
  LinearLayout pair = LinearLayout::identity1D(2, Dim::Register, tileDim(int(rank)));
  return (pair * source).transposeOutputs(firstAxes(rank + 1));
}

LinearLayout concatenateTiles(const LinearLayout &source) {
  return source * LinearLayout::identity1D(2, Dim::Register, Dim::Dim0);
}

bool movesOneAxis(const LinearLayout &layout) {
  for (const LinearLayout::Input &input : layout.inputs())
    for (const std::vector<int64_t> &basis : input.bases)
      if (std::count_if(basis.begin(), basis.end(), [](int64_t part) { return part != 0; }) > 1)
        return false;
  return true;
}

bool staysInRegisters(const LinearLayout &layout, int axis) {
  for (Dim in : {Dim::Lane, Dim::Warp})
    for (int bit = 0; bit < layout.inputBits(in); ++bit)
      if (layout.basis(in, bit, tileDim(axis)))
        return false;
  return true;
}

std::vector<int> contiguousRegisterBits(const LinearLayout &offsets, int64_t most) {
  std::vector<int> bits;
  auto movesOnlyOffset = [&](Dim in, int bit) {
    return std::all_of(offsets.outputs().begin(), offsets.outputs().end(), [&](const LinearLayout::Output &out) {
      return out.dim == Dim::Offset || offsets.basis(in, bit, out.dim) == 0;
    });
  };
  for (int64_t step = 1; 2 * step <= most; step *= 2) {
    int found = -1;
    for (Dim in : {Dim::Register, Dim::Lane, Dim::Warp})
      for (int bit = 0; bit < offsets.inputBits(in); ++bit) {
        int64_t offset = offsets.basis(in, bit, Dim::Offset);
        if (in == Dim::Register && offset == step && found < 0 && movesOnlyOffset(in, bit))
          found = bit;
        else if (offset & step)
          return bits;
      }
    if (found < 0)
      return bits;
    bits.push_back(found);
  }
  return bits;
}

bool isScanOrdered(const LinearLayout &layout, int axis) {
  int64_t next = 1;
  for (Dim in : {Dim::Register, Dim::Lane, Dim::Warp}) {
    std::vector<int64_t> along;
    for (int bit = 0; bit < layout.inputBits(in); ++bit) {
      int64_t part = layout.basis(in, bit, tileDim(axis));
      for (const LinearLayout::Output &output : layout.outputs())
        if (part && output.dim != tileDim(axis) && layout.basis(in, bit, output.dim))
          return false;
      if (part)
        along.push_back(part);
    }
    std::sort(along.begin(), along.end());
    for (int64_t part : along) {
      if (part != next)
        return false;
      next *= 2;
    }
  }
  return next == layout.outputSize(tileDim(axis));
}

} // namespace heddle::layout
