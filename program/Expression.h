// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graph nodes as tile code: the value of a node at a tile of positions, computed from the buffers and tiles it is made
// of. Movement (broadcast, transpose, slice, concatenate, ...) only changes the positions.
#pragma once
#include "frontend/tile/TileWriter.h"
#include "program/Graph.h"
#include <map>
#include <memory>
#include <set>

namespace heddle::program {

/// Elements of an array of `dimensions`: their row-major index, their coordinates, or both. Index values are tiles or
/// scalars of one integer type; an array without dimensions has one position, the scalar 0.
struct Position {
  std::vector<int64_t> dimensions;
  mlir::Value linear;                                  ///< null until asked for
  std::optional<std::vector<mlir::Value>> coordinates; ///< none until asked for
};
using PositionPtr = std::shared_ptr<Position>;

/// A row of `columns` elements as a tile.
struct Row {
  int64_t columns = 0;
  mlir::Value number;   ///< scalar
  mlir::Value linear;   ///< tile: the elements' index in the array
  mlir::Value inside;   ///< tile of i1: which elements of the tile are in the row; null: all
  mlir::Value position; ///< tile: 0, 1, ..., in the row
};

class Expression {
public:
  Expression(tile::TileWriter &writer, const Graph &graph) : w(writer), graph(graph) {}

  /// The node's elements lie row-major after `pointer`.
  void bindBuffer(NodeId node, mlir::Value pointer) { buffers[node] = pointer; }
  /// At this position the node is `value` (register type, a tile or a scalar); it is not asked for elsewhere.
  void bindValue(NodeId node, const PositionPtr &position, mlir::Value value) { known[node] = {position, value}; }
  /// The code is for one row of all arrays that have as many rows.
  void bindRow(const Row &row) { currentRow = row; }
  /// What replica-id and partition-id are: i32 scalars.
  void bindDevice(mlir::Value replica, mlir::Value partition) { device = {replica, partition}; }

  /// Positions from an i64 index, which is narrowed when the largest array of the graph allows.
  PositionPtr at(mlir::Value linear, const std::vector<int64_t> &dimensions);

  /// The elements of the row in an array whose rows end with its last dimension, and the row's one element in an array
  /// of a number for each row.
  PositionPtr rowElements(const std::vector<int64_t> &dimensions);
  PositionPtr rowNumber(const std::vector<int64_t> &dimensions);
  /// A reduction of rows (rowReductionOf) for the row: a scalar of the register type.
  mlir::Value reduceRow(NodeId node, mlir::Value mask);

  /// Computes now what the code of `node` reads at this position from anything but `later`, which is not there yet;
  /// `node` may be one of them.
  void preload(NodeId node, const PositionPtr &position, mlir::Value mask, const std::set<NodeId> &later);

  /// In the register type. Elements whose `mask` (i1, may be null) is false are anything, and touch no memory.
  mlir::Value evaluate(NodeId node, const PositionPtr &position, mlir::Value mask);

  /// Where in the array that a dynamic-update-slice updates an element of the update goes: a row-major index.
  mlir::Value updatedIndex(NodeId update, const PositionPtr &position);

  /// Forgets what was computed: what follows is in another block of code.
  void forget() { memo.clear(); }

private:
  bool reaches(NodeId id, const std::set<NodeId> &later, std::map<NodeId, bool> &reached) const;
  mlir::Value compute(NodeId id, const PositionPtr &position, mlir::Value mask);
  mlir::Value constant(const Node &node, const PositionPtr &position);
  mlir::Value iota(const Node &node, const PositionPtr &position);
  mlir::Value bitcastOfWidth(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value elementwiseAt(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value dynamicSlice(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value gather(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value dynamicUpdate(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value concatenate(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value pad(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value reduce(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value dot(const Node &node, const PositionPtr &position, mlir::Value mask);
  std::vector<mlir::Value> applyRegion(const hlo::Computation &region, const std::vector<mlir::Value> &arguments);
  PositionPtr movedThrough(const Node &node, const PositionPtr &position);

  mlir::Value linearOf(Position &position);
  const std::vector<mlir::Value> &coordinatesOf(Position &position);
  /// The coordinates first to last - 1 of the element with this index among those dimensions.
  void split(mlir::Value linear, const std::vector<int64_t> &dimensions, size_t first, size_t last,
             std::vector<mlir::Value> &coordinates);
  PositionPtr place(std::vector<int64_t> dimensions, std::vector<mlir::Value> coordinates);
  PositionPtr scalarPlace();
  mlir::Value index(int64_t value, mlir::Value like); ///< of the type of `like`
  mlir::Value both(mlir::Value a, mlir::Value b) { return !a ? b : !b ? a : w.bitAnd(a, b); }
  /// The start indices of a dynamic slice, clamped so that `sizes` fit.
  std::vector<mlir::Value> starts(const Node &node, size_t firstOperand, const std::vector<int64_t> &dimensions,
                                  const std::vector<int64_t> &sizes, mlir::Value like);
  /// Runs `body` for every index of `sizes`, carrying values.
  tile::TileWriter::Values
  overAll(const std::vector<int64_t> &sizes, tile::TileWriter::Values carried, mlir::Value like,
          llvm::function_ref<tile::TileWriter::Values(const std::vector<mlir::Value> &, mlir::ValueRange)> body);

  tile::TileWriter &w;
  const Graph &graph;
  std::map<NodeId, mlir::Value> buffers;
  std::map<NodeId, std::pair<PositionPtr, mlir::Value>> known;
  std::optional<Row> currentRow;
  std::pair<mlir::Value, mlir::Value> device;
  mlir::Type indexType; ///< i32 where every array around has fewer than 2^31 elements
  struct Computed {
    PositionPtr position;
    mlir::Value mask, value;
  };
  std::map<NodeId, std::vector<Computed>> memo;
};

/// Whether a constant has one value throughout, which then needs no buffer.
bool isSplat(const Node &constant);

} // namespace heddle::program
