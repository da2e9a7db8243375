// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loop whose loads are to be prefetched: what can be, with how much shared memory, and the rewritten loop. There is
// one for chips whose threads copy each for itself (PipelineByThreads.cpp), and one for chips where a warp copies by
// one instruction or a thread keeps the next tile in registers (PipelineByWarps.cpp).
#pragma once
#include "compiler/layout/Encodings.h"
#include "compiler/lowering/tile_to_simt/LoopSlice.h"
#include "compiler/lowering/tile_to_simt/PipelineLoops.h"
#include <memory>
#include <string>
#include <vector>

namespace heddle::simt {

/// A load whose tiles are copied to a ring in shared memory.
struct RingCopy {
  GlobalLoadOp load;
  int64_t elements; ///< that a thread, or a lane of a warp, copies at once
  layout::LinearLayout shared;
  AllocOp ring = {};
  /// Its matmul goes on in the next iteration: the ring has a tile more than there are stages, where there is room.
  bool isReadLate = false;
  int group = 0; ///< of copies by producer warps, which land, and whose tiles are free again, together

  SharedType ringType(int64_t stages) {
    auto tile = mlir::cast<mlir::RankedTensorType>(load.getType());
    return SharedType::get(load.getContext(), stages, tile.getShape(), tile.getElementType(), shared);
  }
};

class ProducerWarps;

inline constexpr int simdsOfUnit = 4; ///< AMD's

class LoopPipeliner {
public:
  /// `usual`: the number of stages where neither the loop nor an option gives one. `mostIndexWords`: see LoopSlice.
  LoopPipeliner(mlir::scf::ForOp loop, const PipelineTarget &to, int64_t usual, int64_t mostIndexWords = 0);
  virtual ~LoopPipeliner();

  /// Whether there is something to prefetch.
  virtual bool find();
  /// Whether two blocks find registers for the loop.
  bool leavesRegistersForTwo() const;
  /// Whether a second block on the compute unit is worth more than rings that have no room beside it: not where two
  /// warps of a block share a SIMD, and tiles are copied, so that one of them has work while the other waits.
  bool mayShareUnit() const { return leavesRegistersForTwo() && (copies.empty() || to.warps <= simdsOfUnit); }
  /// Whether the loop says its number of stages itself.
  bool isAsked();
  /// Whether it has no matmuls and says its number of stages itself, where loops carry tiles in registers.
  bool isAskedForRows();
  /// Bytes of the rings, of which there are at most so many; 0 where that is not enough for two stages.
  int64_t ringBytes(int64_t mostBytes) const { return sizeRings(mostBytes).bytes; }
  mlir::scf::ForOp getLoop() const { return loop; }
  /// The rings that producer warps would fill, each with its group; empty where the loop is to have none. Loops with
  /// the same rings can have the same producer warps, which start before `first`.
  virtual llvm::SmallVector<std::pair<mlir::Type, int>> ringsForProducer(int64_t mostBytes, mlir::scf::ForOp first) {
    return {};
  }
  /// Whether a block whose rings have at most so many bytes has a multiprocessor to itself.
  bool isAlone(int64_t mostBytes) const;
  /// With rings of at most so many bytes, which `producer` fills, if there is one.
  virtual void rewrite(int64_t mostBytes, ProducerWarps *producer) = 0;
  /// Says of each load that a matmul reads, by a remark at its place, how it is prefetched or why it is not.
  void tellDecisions() const;

protected:
  /// Notes a load as one to prefetch, or says why it is none.
  virtual bool take(GlobalLoadOp load, std::string &why) = 0;
  struct RingSizes {
    int64_t bytes = 0; ///< of all rings
    int64_t stages = 0;
    bool hasMore = false; ///< a tile more where it is read late
    int64_t slots = 0;    ///< of rings that stores fill
  };
  RingSizes sizeRings(int64_t mostBytes) const;
  /// Of a tile in a ring, with what aligns the next one.
  static int64_t bytesOf(SharedType tile);
  /// Before the place where code is being added.
  void allocateRings();
  void decide(GlobalLoadOp load, const llvm::Twine &what) { decisions.emplace_back(load.getLoc(), what.str()); }
  /// How many stages there are, and that more were wanted: `2 stages`.
  /// `late`: how many of the tiles of a ring are for what is read later than in its iteration.
  std::string describeStages(int64_t wanted, int64_t late = 0) const;
  mlir::Value i32(int64_t value);

  mlir::scf::ForOp loop;
  const PipelineTarget &to;
  int64_t stages; ///< wanted
  mlir::ImplicitLocOpBuilder b;
  llvm::SmallVector<RingCopy> copies;
  LoopSlice slice;         ///< of the copies
  int64_t storedBytes = 0; ///< of one tile in each ring that is filled by way of registers
  bool hasMore = false;    ///< rings that are read late have a tile more
  bool isMoreWorthAStage = false;
  bool isMoreWorthAFourthStage = false; ///< but not a block on the multiprocessor
  int64_t tilesOf(const RingCopy &copy) const { return stages + (hasMore && copy.isReadLate ? 1 : 0); }

private:
  RingSizes sizeCopies(int64_t mostBytes) const;

  std::vector<std::pair<mlir::Location, std::string>> decisions;
};

/// Registers of 32 bits that a thread has of such a value.
int64_t wordsOf(mlir::Type type);
/// Those of the tiles that the loop carries, accumulators most of all; and of what its largest matmul reads and adds
/// to.
int64_t carriedWords(mlir::scf::ForOp loop);
int64_t matmulWords(mlir::scf::ForOp loop);
/// Whether what the mask forbids is zero, as copies write it.
bool fillsWithZeros(GlobalLoadOp load);
/// The axes of a loaded tile, the one along which it is contiguous first.
layout::Order contiguousOrder(GlobalLoadOp load);
/// Why a load is not prefetched, where its address or mask cannot be computed early.
inline constexpr const char *takesMoreThanScalars =
    "its address or mask takes more than arithmetic on the loop's counter and carried scalars";

std::unique_ptr<LoopPipeliner> pipelineByThreads(mlir::scf::ForOp loop, const PipelineTarget &to);
std::unique_ptr<LoopPipeliner> pipelineByWarps(mlir::scf::ForOp loop, const PipelineTarget &to);

} // namespace heddle::simt
