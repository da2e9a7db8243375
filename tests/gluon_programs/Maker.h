// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a random program step by step, and computes what it does. A step of each family is in a file of its own.
#pragma once
#include "tests/gluon_programs/Program.h"
#include "tests/gluon_programs/Writer.h"
#include <deque>

namespace heddle::gluon_programs {

/// A memory object; contents of one that is no ring are slot 0.
struct Memory {
  std::string name;
  Element element;
  Shape shape;       ///< of a slot
  int64_t slots = 0; ///< 0: no ring
  SharedLayout layout;
  std::vector<std::vector<int64_t>> contents = {};
  std::vector<std::vector<bool>> written = {};
  bool isAlive = true;
};

/// A slot, or what a view shows of it.
struct View {
  std::string name;
  size_t memory = 0, slot = 0;
  Shape shape, whole; ///< `whole`: of what it is cut from
  SharedLayout layout;
  bool isMutable = true, isPart = false;
  std::vector<int64_t> at = {}; ///< element of the slot, for each of the view
};

/// Offsets in a buffer, a number for each element of a tile.
struct Offsets {
  std::string name, layout;
  Shape shape;
  std::vector<int64_t> at = {};
  int64_t contiguity = 1; ///< elements that lie side by side at a multiple of as many
};

struct Mask {
  std::string name; ///< empty: none
  std::vector<int64_t> values = {};
  bool allows(size_t i) const { return name.empty() || values[i]; }
};

/// What a warp pipeline has that it must not have.
enum class Defect {
  None,
  OneStage,
  WaitInStage,
  BarrierInStage,
  LoopInStage,
  TwoBarriers,
  ReduceInStage,
  ConvertInStage
};

class Maker {
public:
  explicit Maker(uint64_t seed);

  GluonProgram make(const std::vector<int> &steps);

private:
  /// Of the step that is made.
  Random random{0};

  void makeStep();
  void finish();

  //===-- Tiles (Tiles.cpp) --------------------------------------------------------------------------------------===//
  Shape randomShape(bool isMatrix = false);
  std::string randomLayout(const Shape &shape);
  std::string accessLayout(const Shape &shape, const Element &element);
  std::vector<int64_t> randomValues(const Element &element, int64_t count);
  Offsets makeOffsets(const Shape &shape, const std::string &layout, bool isDense = false);
  Mask makeMask(const Shape &shape, const std::string &layout, int kinds = 6);
  std::string indexTile(const Shape &shape, const std::string &layout, size_t axis);
  std::string pointerTiles(const std::string &pointer, const Element &element, const Offsets &offsets);
  std::string cachePolicy(bool isClause);
  Tile load(const Shape &shape, const Element &element, const std::string &layout);
  void store(Tile &tile);
  Tile &take(size_t index);
  size_t tileOf(const Shape &shape, const Element &element);
  Tile converted(const Tile &tile, const std::string &layout);
  void keep(Tile tile) { tiles.push_back(std::move(tile)); }
  Tile made(const std::string &expression, const Element &element, const Shape &shape, const std::string &layout,
            std::vector<int64_t> values);
  void loadStep();
  void combineStep();
  void castStep();
  void convertStep();
  void transposeStep();
  void reduceStep();
  void atomicStep();

  //===-- Shared memory (SharedMemory.cpp) -----------------------------------------------------------------------===//
  std::string memoryType(const Shape &shape, const Element &element, const SharedLayout &layout, bool isMutable = true,
                         const Shape &whole = {}, bool isShort = false);
  std::string typeOf(const View &view, bool isShort = false);
  size_t allocate(const Shape &shape, const Element &element, int64_t slots, const SharedLayout &layout,
                  const Tile *initial = nullptr);
  bool hasRoom(const Shape &shape, const Element &element, int64_t slots, const SharedLayout &layout) const;
  std::optional<size_t> someMemory(bool mayBeInFlight = true);
  struct Slot {
    size_t memory, slot;
  };
  std::optional<Slot> settledSlot();
  View slotOf(size_t memory, size_t slot, bool mayBeUnknown = true);
  View slotAt(size_t memory, size_t slot, const std::string &number);
  View partOf(const View &view);
  View transposedOf(const View &view);
  View reshapedOf(const View &view);
  View randomView(const View &slot);
  bool isWritten(const View &view) const;
  Tile localLoad(const View &view, const std::string &layout);
  void localStore(const Tile &tile, const View &view);
  void write(const View &view, const std::vector<int64_t> &values);
  std::string readLayout(const Shape &shape, const Element &element, std::optional<bool> operand = std::nullopt);
  Tile repackedLoad(const View &view);
  void allocateStep();
  void localStoreStep();
  void localLoadStep();
  void repackedLoadStep();
  void branchStep();
  Tile indicesOf(const Shape &shape, const std::string &layout, size_t axis, bool isPermutation);
  void indexedStep();
  void partsStep();
  void releaseStep();

  //===-- Copies (Copies.cpp) ------------------------------------------------------------------------------------===//
  struct CopyOptions {
    bool isDense = false, mayMask = true, mayKeep = true;
    std::string layout = "";
  };
  bool isInFlight(size_t memory, size_t slot) const;
  bool isInFlight(size_t memory) const;
  void copyTo(const View &view, const CopyOptions &options);
  /// Its token.
  std::string writeCopy(const std::string &pointer, const Element &element, const Offsets &offsets, const View &view,
                        const Mask &mask, const std::string &other, bool isBuffer);
  void commit();
  void wait(size_t pending);
  void copyStep();
  void waitStep();

  //===-- Loops and matmuls (Loops.cpp, Matmuls.cpp) -------------------------------------------------------------===//
  friend class RingLoop;
  Tile operand(const Shape &shape, const Element &element, const std::string &layout);
  void matmulStep();
  void plainMatmulStep();
  /// Whether there is room for one.
  bool makeLoop(bool leavesMore = false);

  //===-- Warp pipelines (Pipelines.cpp, PipelineRings.cpp, PipelineFaults.cpp)
  //-------------------------------------------------------------------------===//
  friend class PipelineWriter;
  /// Whether there is room for one. `isLegal`: its stages may be executed one stage apart.
  bool makePipeline(Defect defect, bool isLegal);
  void makePipelines();
  void pipelineFault(int kind);

  //===-- Faults (Faults.cpp) ------------------------------------------------------------------------------------===//
  void faultStep();
  void sharedFault(int kind);
  void sharedLayoutFault(int kind);
  void hazardFault(int kind);
  void layoutFault(int kind);
  void accessFault(int kind);
  void copyWarning(int kind);
  void refuse(const std::string &rule, const std::string &fault);

  uint64_t seed;
  std::string chip;
  int warps;
  bool hasFault, hasStraightPipeline = false;
  int pipelineStep; ///< which step is a warp pipeline; -1: none
  int pipelines = 0;
  Writer text;
  std::vector<Element> elements; ///< that this program has
  std::vector<Tile> tiles;
  std::vector<Memory> memories;
  std::vector<std::pair<size_t, size_t>> open;               ///< copies that are in no group yet: memory, slot
  std::deque<std::vector<std::pair<size_t, size_t>>> groups; ///< in flight, the oldest first
  size_t committed = 0;
  std::vector<std::string> openTokens; ///< of copies that are in no group yet
  std::string groupToken, waitToken;   ///< of the last group and wait; empty: none
  Expectation expectation;
};

} // namespace heddle::gluon_programs
