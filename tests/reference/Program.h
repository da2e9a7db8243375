// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One program instance while it runs: the values computed so far, and the tables that say what each operation does.
// Each family of operations is a file that adds its handlers to the one table.
#pragma once
#include "mlir/IR/Operation.h"
#include "tests/reference/Memory.h"
#include "tests/reference/Tile.h"
#include <functional>
#include <map>
#include <unordered_map>

namespace heddle::reference {

class Program;

/// The operands of an operation.
class Inputs {
public:
  std::vector<const Tile *> tiles;
  const Tile &operator[](size_t i) const { return *tiles[i]; }
  size_t size() const { return tiles.size(); }
};

using Results = std::vector<Tile>;
/// What an operation does: its results from its operands. May throw; Program adds the location.
using Handler = std::function<Results(Program &, mlir::Operation *, const Inputs &)>;
using HandlerTable = std::map<llvm::StringRef, Handler>;

void addIntegerHandlers(HandlerTable &table);
void addFloatHandlers(HandlerTable &table);
void addConversionHandlers(HandlerTable &table);
void addShapeHandlers(HandlerTable &table);
void addRegionHandlers(HandlerTable &table);
void addDotHandlers(HandlerTable &table);
void addMemoryHandlers(HandlerTable &table);
void addBlockHandlers(HandlerTable &table);
void addControlHandlers(HandlerTable &table);
const HandlerTable &handlers();

/// Where `location` points in the source, innermost call first: `file:line:column`, or empty.
std::string describeLocation(mlir::Location location);

/// What all instances of a launch share.
struct Launch {
  Memory memory;
  Grid grid;
  Options options;
  int64_t operationsLeft;
};

class Program {
public:
  Program(Launch &launch, Grid id) : launch(launch), id(id) {}

  /// Runs `region` with these block arguments to a terminator that leaves it (not a branch); returns that terminator's
  /// operands and stores the terminator itself in `terminator` when asked.
  Results runRegion(mlir::Region &region, const Results &arguments, mlir::Operation **terminator = nullptr);
  /// Runs a function in a fresh set of values.
  Results callFunction(mlir::Region &body, const Results &arguments);
  Tile undefined(mlir::Type type) const { return filled(type, launch.options.undefinedBits); }
  uint64_t undefinedBits(mlir::Type type) const {
    return truncateBits(launch.options.undefinedBits, elementWidth(type));
  }

  bool contrary() const { return launch.options.contrary; }

  Launch &launch;
  const Grid id;

private:
  void execute(mlir::Operation *op);
  Inputs inputsOf(mlir::Operation *op);
  Results copyOperands(mlir::OperandRange operands);
  void bind(mlir::ValueRange values, Results results);

  std::unordered_map<const void *, Tile> values; ///< keyed by SSA value; references stay valid while it grows
};

/// A tile of `type` whose element i is compute(i), cut to the type's width.
template <typename Compute>
Tile buildTile(mlir::Type type, Compute compute) {
  Tile tile{type, std::vector<uint64_t>(elementCount(type))};
  unsigned width = elementWidth(type);
  for (int64_t i = 0; i < tile.size(); ++i)
    tile.bits[i] = truncateBits(compute(i), width);
  return tile;
}

} // namespace heddle::reference
