// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels, and ends of collectives' kernels, that compute nodes a row at a time (program/Rows.h says which).
#pragma once
#include "program/Expression.h"
#include "program/Kernels.h"
#include "program/Rows.h"

namespace heddle::program {

/// The kernel of a step of rows without a collective.
StepKernel makeRowKernel(const Graph &graph, const Partition &partition, const Step &step, const Chip &chip,
                         KernelCache *cache);

/// The row that begins at element `first` (i64); `index` are its elements' places, and those of others up to the size
/// of the tile. Where `mayBeAbsent`, a row after the last one is none, and stands for the last one.
Row makeRow(tile::TileWriter &w, Expression &expression, const RowShape &shape, mlir::Value first, mlir::Value index,
            bool mayBeAbsent);

/// Reads what the step's nodes want of a row, but for what they make of each other and of `operand` (-1: none).
void preloadRow(const Graph &graph, Expression &expression, const Step &step, mlir::Value mask, NodeId operand);

/// Computes the step's nodes for the row that is bound and stores what is kept; `outputs` are the pointers of those, in
/// their order. `mask` (may be null) are the elements that exist, `exists` (i1, may be null) whether the row does.
void writeRow(tile::TileWriter &w, const Graph &graph, Expression &expression, const Step &step, const Row &row,
              mlir::ValueRange outputs, mlir::Value mask, mlir::Value exists);

} // namespace heddle::program
