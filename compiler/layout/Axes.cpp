// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each operation on the axes of a tile as a change of the bases of its layout.
#include "compiler/layout/Axes.h"
#include "compiler/layout/Fit.h"
#include "support/Error.h"
#include <algorithm>
#include <bit>
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

//===-- What reductions and scans leave --------------------------------------------------------------------------===//

std::vector<int> bitsAlong(const LinearLayout &layout, Dim in, int axis) {
  std::vector<int> bits;
  for (int bit = 0; bit < layout.inputBits(in); ++bit)
    if (layout.basis(in, bit, tileDim(axis)))
      bits.push_back(bit);
  std::sort(bits.begin(), bits.end(),
            [&](int x, int y) { return layout.basis(in, x, tileDim(axis)) < layout.basis(in, y, tileDim(axis)); });
  return bits;
}

/// The coordinates that a bit adds, without those along `axis`.
static std::vector<int64_t> besides(const LinearLayout &layout, Dim in, int bit, int axis) {
  std::vector<int64_t> at;
  for (int each = 0; each < int(layout.outputs().size()); ++each)
    at.push_back(each == axis ? 0 : layout.basis(in, bit, tileDim(each)));
  return at;
}

/// What registers add off the axis, as bits of a number that counts these elements in the order of their coordinates:
/// each has a leading bit that no other one has.
static std::vector<std::vector<int64_t>> countRegisters(const LinearLayout &layout, int axis) {
  std::vector<std::vector<int64_t>> rows; // ascending
  auto add = [](std::vector<int64_t> &to, const std::vector<int64_t> &other) {
    for (size_t i = 0; i < to.size(); ++i)
      to[i] ^= other[i];
  };
  auto leads = [](const std::vector<int64_t> &row, const std::vector<int64_t> &in) { // whether row's leading bit is set
    size_t first = 0;
    while (row[first] == 0)
      ++first;
    return (in[first] & int64_t(std::bit_floor(uint64_t(row[first])))) != 0;
  };
  for (int bit = 0; bit < layout.inputBits(Dim::Register); ++bit) {
    std::vector<int64_t> row = besides(layout, Dim::Register, bit, axis);
    for (const std::vector<int64_t> &other : rows)
      if (leads(other, row))
        add(row, other);
    if (std::all_of(row.begin(), row.end(), [](int64_t part) { return part == 0; }))
      continue;
    for (std::vector<int64_t> &other : rows)
      if (leads(row, other))
        add(other, row);
    rows.push_back(row);
    std::sort(rows.begin(), rows.end());
  }
  return rows;
}

/// Of the same tile with `size` elements along the axis.
static std::vector<LinearLayout::Output> withAxis(const LinearLayout &layout, int axis, int64_t size) {
  std::vector<LinearLayout::Output> outputs = layout.outputs();
  outputs[size_t(axis)].size = size;
  return outputs;
}

static LinearLayout leavePlaces(const LinearLayout &layout, int axis, int sharing, bool countsLanes) {
  LinearLayout::Input registers{Dim::Register, countRegisters(layout, axis)}, lanes{Dim::Lane, {}},
      warps{Dim::Warp, {}};
  for (int bit = 0; bit < layout.inputBits(Dim::Lane); ++bit)
    lanes.bases.push_back(besides(layout, Dim::Lane, bit, axis));
  for (int bit = 0; bit < layout.inputBits(Dim::Warp); ++bit)
    warps.bases.push_back(besides(layout, Dim::Warp, bit, axis));
  int64_t next = 1;
  for (int bit = 0; bit < layout.inputBits(Dim::Lane) && sharing > 0; ++bit)
    if (layout.basis(Dim::Lane, bit, tileDim(axis))) {
      lanes.bases[size_t(bit)] = registers.bases.back();
      registers.bases.pop_back();
      --sharing;
    }
  if (countsLanes)
    for (int bit : bitsAlong(layout, Dim::Lane, axis))
      lanes.bases[size_t(bit)][size_t(axis)] = std::exchange(next, 2 * next);
  for (int bit : bitsAlong(layout, Dim::Warp, axis))
    warps.bases[size_t(bit)][size_t(axis)] = std::exchange(next, 2 * next);
  return LinearLayout({registers, lanes, warps}, withAxis(layout, axis, next));
}

LinearLayout leaveWarps(const LinearLayout &layout, int axis, int sharing) {
  return leavePlaces(layout, axis, sharing, /*countsLanes=*/false);
}

LinearLayout leaveThreads(const LinearLayout &layout, int axis) {
  return leavePlaces(layout, axis, 0, /*countsLanes=*/true);
}

LinearLayout holdAlong(const LinearLayout &layout, int axis, int64_t size) {
  std::vector<LinearLayout::Input> inputs = layout.inputs();
  for (LinearLayout::Input &input : inputs) {
    for (std::vector<int64_t> &basis : input.bases)
      basis[size_t(axis)] = 0;
    std::vector<int64_t> zero(layout.outputs().size(), 0);
    if (input.dim != Dim::Register)
      continue;
    std::erase(input.bases, zero);
    for (int64_t step = size / 2; step > 0; step /= 2) {
      std::vector<int64_t> basis = zero;
      basis[size_t(axis)] = step;
      input.bases.insert(input.bases.begin(), basis);
    }
  }
  return LinearLayout(std::move(inputs), withAxis(layout, axis, size));
}

//===-- How places move ------------------------------------------------------------------------------------------===//

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
