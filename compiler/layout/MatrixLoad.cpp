// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looks in a layout for the rows of 16 bytes that ldmatrix reads, plain or transposed.
#include "compiler/layout/MatrixLoad.h"
#include <algorithm>
#include <bit>

namespace heddle::layout {

LinearLayout matrixShared(const Shape &shape, int elementBits, const Order &order) {
  int64_t columns = shape[size_t(order[0])], rows = 1;
  for (size_t axis = 1; axis < order.size(); ++axis)
    rows *= shape[size_t(order[axis])];
  bool innermost = order.size() >= 2 && order[0] == int(shape.size()) - 1;
  bool transposed = order.size() >= 2 && order[0] == int(shape.size()) - 2 && order[1] == int(shape.size()) - 1;
  int64_t rowBytes = columns * elementBits / 8;
  // Also what wgmma reads: stripes of rows of at most 128 bytes.
  if ((innermost || transposed) && rows >= 8 && rowBytes >= 32)
    return nvmmaShared(shape, std::min<int64_t>(rowBytes, 128), elementBits, transposed);
  int64_t vec = std::max<int64_t>(1, 128 / elementBits),
          perPhase = std::max<int64_t>(1, 128 / std::max<int64_t>(rowBytes, 1));
  int64_t maxPhase = std::clamp<int64_t>(8 / perPhase, 1, std::max<int64_t>(1, columns / vec));
  return swizzledShared(shape, vec, perPhase, maxPhase, order);
}

using Place = std::pair<Dim, int>; ///< a bit of an input

/// Whether the bits `along` step through the elements of a row, and all others name rows.
static bool splits(const LinearLayout &offsets, const std::vector<Place> &along, int64_t rowElements) {
  for (const LinearLayout::Input &input : offsets.inputs())
    for (int bit = 0; bit < int(input.bases.size()); ++bit) {
      auto found = std::find(along.begin(), along.end(), Place(input.dim, bit));
      int64_t offset = offsets.basis(input.dim, bit, Dim::Offset);
      if (found == along.end() ? offset % rowElements != 0 : offset != int64_t(1) << (found - along.begin()))
        return false;
    }
  return std::all_of(along.begin(), along.end(),
                     [&](const Place &place) { return place.second < offsets.inputBits(place.first); });
}

std::optional<MatrixLoad> findMatrixLoad(const LinearLayout &offsets, int elementBits) {
  if (elementBits < 8 || elementBits > 32 || offsets.inputBits(Dim::Lane) != 5)
    return std::nullopt;
  MatrixLoad load;
  load.wordElements = 32 / elementBits;
  int wordBits = std::countr_zero(uint64_t(load.wordElements));
  int64_t rowElements = 4 * load.wordElements;
  std::vector<Place> plain, transposed = {{Dim::Lane, 2}, {Dim::Lane, 3}, {Dim::Lane, 4}};
  for (int bit = 0; bit < wordBits; ++bit)
    plain.push_back({Dim::Register, bit});
  plain.push_back({Dim::Lane, 0});
  plain.push_back({Dim::Lane, 1});
  std::vector<Place> rowPlaces;
  if (splits(offsets, plain, rowElements)) {
    rowPlaces = {{Dim::Lane, 2}, {Dim::Lane, 3}, {Dim::Lane, 4}};
  } else if (elementBits == 16 && offsets.inputBits(Dim::Register) > 0 && splits(offsets, transposed, rowElements)) {
    load.transposed = true;
    rowPlaces = {{Dim::Register, 0}, {Dim::Lane, 0}, {Dim::Lane, 1}};
  } else {
    return std::nullopt;
  }
  for (int bit = wordBits, found = 0; bit < offsets.inputBits(Dim::Register) && found < 2; ++bit)
    if (offsets.basis(Dim::Register, bit, Dim::Offset) != 0)
      load.matrixBits[found++] = bit;
  if (load.matrixBits[1] < 0)
    return std::nullopt;
  for (int bit : load.matrixBits)
    rowPlaces.push_back({Dim::Register, bit});
  std::vector<LinearLayout::Input> inputs = offsets.inputs();
  for (LinearLayout::Input &input : inputs)
    if (input.dim == Dim::Lane)
      for (size_t bit = 0; bit < 5; ++bit)
        input.bases[bit] = {offsets.basis(rowPlaces[bit].first, rowPlaces[bit].second, Dim::Offset)};
  load.rows = LinearLayout(std::move(inputs), {{Dim::Offset, offsets.outputSize(Dim::Offset)}});
  return load;
}

std::optional<TransposedRead> findTransposedRead(const LinearLayout &offsets, int elementBits) {
  constexpr int matrixBits = 4; // of the lanes of a matrix, and of the elements of its rows
  if (elementBits != 4 && elementBits != 8 && elementBits != 16)
    return std::nullopt;
  int64_t perLane = 64 / elementBits;
  int registerBits = std::countr_zero(uint64_t(perLane));
  if (offsets.inputBits(Dim::Lane) < matrixBits || offsets.inputBits(Dim::Register) < registerBits)
    return std::nullopt;
  for (const LinearLayout::Input &input : offsets.inputs())
    for (int bit = 0; bit < int(input.bases.size()); ++bit) {
      int64_t offset = offsets.basis(input.dim, bit, Dim::Offset);
      bool isAlongRow = input.dim == Dim::Lane && bit < registerBits;
      if (isAlongRow ? offset != int64_t(1) << bit : offset % perLane != 0)
        return std::nullopt;
      if (input.dim == Dim::Register && bit < registerBits && offset == 0)
        return std::nullopt;
    }
  std::vector<LinearLayout::Input> inputs = offsets.inputs();
  for (LinearLayout::Input &input : inputs)
    if (input.dim == Dim::Lane)
      for (int bit = 0; bit < matrixBits; ++bit) {
        int across = bit - (matrixBits - registerBits); // of the rows of the matrix
        input.bases[size_t(bit)] = {across < 0 ? offsets.basis(Dim::Lane, registerBits + bit, Dim::Offset)
                                               : offsets.basis(Dim::Register, across, Dim::Offset)};
      }
  return TransposedRead{registerBits,
                        LinearLayout(std::move(inputs), {{Dim::Offset, offsets.outputSize(Dim::Offset)}})};
}

LinearLayout copiedShared(const Shape &shape, int elementBits, const Order &order, int banks) {
  int64_t columns = shape[size_t(order[0])], rowBytes = columns * elementBits / 8, bankBytes = int64_t(banks) * 4;
  int64_t vec = std::max<int64_t>(1, 128 / elementBits), perPhase = std::max<int64_t>(1, bankBytes / rowBytes);
  int64_t maxPhase = std::min(std::max<int64_t>(1, bankBytes / 16 / perPhase), std::max<int64_t>(1, columns / vec));
  return swizzledShared(shape, vec, perPhase, maxPhase, order);
}

// Rows that lie in different banks as they are need no xor.
LinearLayout copiedSharedTransposed(const LinearLayout &wanted, int elementBits, const Order &order, int banks) {
  constexpr int lanesOfMatrix = 4; // bits
  Shape shape;
  for (const LinearLayout::Output &output : wanted.outputs())
    shape.push_back(output.size);
  LinearLayout plain = swizzledShared(shape, 1, 1, 1, order);
  Dim column = wanted.outputs()[size_t(order[0])].dim, row = wanted.outputs()[size_t(order[1])].dim;
  int64_t columns = plain.outputSize(column), rowBytes = columns * elementBits / 8, bankBytes = int64_t(banks) * 4;
  std::vector<int64_t> rows; // in which 32 lanes differ
  for (int bit = 0; int64_t(1) << bit < 64 / elementBits && bit < wanted.inputBits(Dim::Register); ++bit)
    rows.push_back(wanted.basis(Dim::Register, bit, row));
  if (wanted.inputBits(Dim::Lane) > lanesOfMatrix)
    rows.push_back(wanted.basis(Dim::Lane, lanesOfMatrix, row));
  std::vector<LinearLayout::Input> inputs = plain.inputs();
  int64_t step = 16;
  for (int64_t each : rows)
    if (std::has_single_bit(uint64_t(each)) && each * rowBytes >= bankBytes && step < columns) {
      for (std::vector<int64_t> &basis : inputs[0].bases)
        if (basis[size_t(order[1])] == each)
          basis[size_t(order[0])] ^= step;
      step *= 2;
    }
  return LinearLayout(std::move(inputs), plain.outputs());
}

} // namespace heddle::layout
