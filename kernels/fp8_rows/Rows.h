// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One scale for each row of a matrix, or of a stack of matrices. A block keeps its rows in registers, so the input is
// read once; rows too long for that are read twice. Three kernels of the library are this one on different views.
#pragma once
#include "kernels/LibraryKernel.h"

namespace heddle::kernels {

/// Rows are counted through all matrices; strides in elements. The results `q` [count * rows, columns] and `scales`
/// [count * rows] are dense.
struct RowsView {
  ElementType type;
  int64_t count, rows, columns;
  int64_t matrixStride, rowStride, columnStride;
};

/// The tile parameters `rows`, `block` and `warps`.
std::vector<TileParameter> rowsTiles();

/// Reads `x`, writes `q` and `scales`.
Step rowsStep(const Call &call, const std::string &name, const RowsView &view);

} // namespace heddle::kernels
