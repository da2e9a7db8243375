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

class Expression {
public:
  Expression(tile::TileWriter &writer, const Graph &graph) : w(writer), graph(graph) {}

  /// The node's elements lie row-major behind `pointer`.
  void bindBuffer(NodeId node, mlir::Value pointer) { buffers[node] = pointer; }
  /// At the position with this linear index the node is `tile` (register type); it is not asked for elsewhere.
  void bindTile(NodeId node, mlir::Value linear, mlir::Value tile) { tiles[node] = {linear, tile}; }
  /// What replica-id and partition-id are: i32 scalars.
  void bindDevice(mlir::Value replica, mlir::Value partition) { device = {replica, partition}; }

  /// Positions from an i64 index, which is narrowed when the largest array of the graph allows.
  PositionPtr at(mlir::Value linear, const std::vector<int64_t> &dimensions);

  /// In the register type. Elements whose `mask` (i1, may be null) is false are anything, and touch no memory.
  mlir::Value evaluate(NodeId node, const PositionPtr &position, mlir::Value mask);

  /// Forgets what was computed: what follows is in another block of code.
  void forget() { memo.clear(); }

private:
  mlir::Value compute(NodeId id, const PositionPtr &position, mlir::Value mask);
  mlir::Value constant(const Node &node, const PositionPtr &position);
  mlir::Value iota(const Node &node, const PositionPtr &position);
  mlir::Value bitcastOfWidth(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value elementwiseAt(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value dynamicSlice(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value dynamicUpdate(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value concatenate(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value pad(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value reduce(const Node &node, const PositionPtr &position, mlir::Value mask);
  mlir::Value dot(const Node &node, const PositionPtr &position, mlir::Value mask);
  std::vector<mlir::Value> applyRegion(const hlo::Computation &region, const std::vector<mlir::Value> &arguments);
  PositionPtr movedThrough(const Node &node, const PositionPtr &position);

  mlir::Value linearOf(Position &position);
  const std::vector<mlir::Value> &coordinatesOf(Position &position);
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
  std::map<NodeId, std::pair<mlir::Value, mlir::Value>> tiles;
  std::pair<mlir::Value, mlir::Value> device;
  mlir::Type indexType; ///< i32 where every array around has fewer than 2^31 elements
  struct Known {
    PositionPtr position;
    mlir::Value mask, value;
  };
  std::map<NodeId, std::vector<Known>> memo;
};

/// Whether a constant has one value throughout, which then needs no buffer.
bool isSplat(const Node &constant);

} // namespace heddle::program
