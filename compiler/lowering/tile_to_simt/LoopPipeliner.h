// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loop whose loads are to be prefetched: what can be, with how much shared memory, and the rewritten loop. There is
// one for chips whose threads copy each for itself (PipelineByThreads.cpp), and one for chips where a warp copies by
// one instruction or a thread keeps the next tile in registers (PipelineByWarps.cpp).
#pragma once
#include "compiler/lowering/tile_to_simt/LoopSlice.h"
#include "compiler/lowering/tile_to_simt/PipelineLoops.h"
#include <memory>
#include <string>
#include <vector>

namespace heddle::simt {

class LoopPipeliner {
public:
  LoopPipeliner(mlir::scf::ForOp loop, int64_t stages) : loop(loop), stages(stages), b(loop.getLoc(), loop) {}
  virtual ~LoopPipeliner();

  /// Whether there is something to prefetch.
  bool find();
  /// Whether the loop says its number of stages itself.
  bool isAsked() { return loop->hasAttr("tt.num_stages"); }
  /// Bytes of the rings, of which there are at most so many; 0 where that is not enough for two stages.
  int64_t ringBytes(int64_t mostBytes) const;
  /// With rings of at most so many bytes.
  virtual void rewrite(int64_t mostBytes) = 0;
  /// Says of each load that a matmul reads, by a remark at its place, how it is prefetched or why it is not.
  void tellDecisions() const;

protected:
  /// Notes a load as one to prefetch, or says why it is none.
  virtual bool take(GlobalLoadOp load, std::string &why) = 0;
  /// Of the rings, for one iteration.
  virtual int64_t stageBytes() const = 0;
  void decide(GlobalLoadOp load, const llvm::Twine &what) { decisions.emplace_back(load.getLoc(), what.str()); }
  /// How many stages there are, and that more were wanted: `2 stages`.
  std::string describeStages(int64_t wanted) const;
  /// What a tile takes in a ring.
  static int64_t tileBytes(mlir::Type tile);
  /// Whether what the mask forbids is zero, as copies write it.
  static bool fillsWithZeros(GlobalLoadOp load);
  /// The axes of a loaded tile, the one along which it is contiguous first.
  static layout::Order orderOf(GlobalLoadOp load);
  mlir::Value i32(int64_t value);

  mlir::scf::ForOp loop;
  int64_t stages; ///< wanted
  mlir::ImplicitLocOpBuilder b;

private:
  std::vector<std::pair<mlir::Location, std::string>> decisions;
};

/// Why a load is not prefetched, where its address or mask cannot be computed early.
inline constexpr const char *takesMoreThanScalars =
    "its address or mask takes more than arithmetic on the loop's counter and carried scalars";

std::unique_ptr<LoopPipeliner> pipelineByThreads(mlir::scf::ForOp loop, const PipelineTarget &to);
std::unique_ptr<LoopPipeliner> pipelineByWarps(mlir::scf::ForOp loop, const PipelineTarget &to);

} // namespace heddle::simt
