// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a collective will do on a chip: the algorithm, the cut of the work and the memory of the protocol. A plan is a
// pure function of its arguments, so that all ranks come to the same one without talking.
#pragma once
#include "chips/Chip.h"
#include "collectives/Algorithm.h"
#include <cstdint>
#include <optional>
#include <string>

namespace heddle {

/// Empty or 0: the plan chooses.
struct PlanOptions {
  std::string algorithm;
  int blocks = 0;            ///< program instances per rank, 1 to maxCollectiveBlocks
  int64_t tileElements = 0;  ///< a power of two
  int64_t tilesPerRound = 0; ///< of each block
  int warps = 0;             ///< GPUs: of a block, a power of two up to 32
  bool direct = false;       ///< operands are plain buffers: the plan may choose algorithms that are direct
  bool windows = false;      ///< of direct algorithms: the operands of other ranks are in windows (Window.h)
  int64_t rowElements = 0;   ///< each tile is one row of so many elements; it overrides the four numbers above
  std::optional<PacketForm> packets = {}; ///< refused when the algorithm or the cut has no such packets
  int computeUnits = 0; ///< GPUs: of each device (Device.h), where all blocks have to run at once; 0: any number
  const Algorithm *own = nullptr; ///< an algorithm that is in no table, instead; it outlives the plan
  /// Rows that the kernel computes at length, as tiles of a matmul: as many blocks as run at once, of `warps` warps,
  /// and one round, where memory allows if the algorithm has no flags.
  bool costlyRows = false;
};

const char *packetFormName(PacketForm form); ///< `ll`, `lamport`
/// Throws Error{Input} naming the forms.
PacketForm parsePacketForm(const std::string &name);

/// The tile of a row on any target, and the warps that take it on a GPU: the same in every kernel, so that a sum over a
/// row has the same bits in all of them.
int64_t rowTileElements(int64_t rowElements);
int rowWarps(int64_t tileElements);

/// Whether a collective of so many ranks had better compute what is made of its rows. A row is one block then, which
/// has all that goes over the links: measured on two and four H200 (docs/performance.md).
bool takesRowsWell(const Chip &chip, int ranks);

/// The most program instances of one collective on a rank; counters and signals have room for as many.
inline constexpr int maxCollectiveBlocks = 128;
/// The same of a kernel with a matmul, which wants all compute units.
inline constexpr int maxMatmulBlocks = 160;
/// A block of an algorithm with flags stages fewer tiles in a launch.
inline constexpr int64_t mostStagedTiles = int64_t(1) << 20;
/// The longest row that can be a tile, and the largest tile of a matmul.
inline constexpr int64_t largestRow = 1 << 14, largestMatmulTile = 1 << 15;

/// Slices of direct algorithms, and of all algorithms on GPUs, are multiples of this, so that all of them begin aligned
/// in an aligned buffer.
inline constexpr int64_t directSliceBytes = 64;

/// Where things lie in a rank's part of the symmetric memory, in bytes. What ranks poll, flags and packets, is in the
/// arena, which no cache keeps; staged data, which barriers order, have ordinary memory of their own.
struct ArenaLayout {
  int64_t counters = 0; ///< one u64 per block: the epoch of its last round; all ones when it has missed a peer
  int64_t tickets = 0;  ///< of algorithms with flags: u64 [parity], the number of the next piece of a matmul
  int64_t signals = 0;  ///< u64 [block][rank]: what the block barrier writes, or flags of tiles
  int64_t operands = 0; ///< of direct algorithms: packets [block][rank][4] with the addresses of its input and output
  int64_t stagingSlot = 0;   ///< size of a slot
  int64_t stagingParity = 0; ///< from one parity's slots to the other's; 0 when both have the same
  int64_t stagingBytes = 0;  ///< of the staging memory, [parity][slot][element of the round]; 0: there is none
  int64_t inbox = 0;         ///< [parity][slot][packet of the round], 8 bytes each; PacketForm::Lamport: ones at first
  int64_t escapes = 0;       ///< a second inbox of the same form, for plans that have escapes
  int64_t inboxSlot = 0;     ///< size of a slot
  int64_t inboxParity = 0;   ///< size of all slots of one parity
  int64_t sizeBytes = 0;     ///< of the arena
};

/// The elements of a part (of a slice, for an algorithm with slices) are cut into tiles; round q gives tile
/// (q * tilesPerRound + t) * blocks + b to block b. A round has `epochs` epochs.
struct Plan {
  Collective collective;
  const Algorithm *algorithm = nullptr;
  int blocks = 1;
  int64_t tileElements = 1;
  int64_t tilesPerRound = 1;
  int64_t rowElements = 0;      ///< above 0: each tile holds one row, and slices are whole rows
  std::string target = "host";  ///< the chip's name: what the kernel is compiled for
  const Chip *chip = &hostChip; ///< which has to live as long as the plan
  int warps = 1;                ///< GPUs: of a block
  int computeUnits = 0;         ///< GPUs: of a device, as PlanOptions says, or of the chip's product
  /// Of algorithms with flags: the last ones of the blocks, which move data while the others compute. 0: all do both.
  int transferBlocks = 0;
  int64_t rounds = 0;                  ///< 0 when there is nothing to do: nothing is launched then
  int64_t sliceElements = 0;           ///< elements that tiles cut: of a part, or of a slice
  int epochs = 1;                      ///< per round
  bool streams = false;                ///< outputs go past the caches; a hint
  bool windows = false;                ///< direct: addresses that peers tell are translated (CollectiveGroups)
  PacketForm packets = PacketForm::LL; ///< of an algorithm with an inbox; Lamport: there is one round
  ArenaLayout arena;

  bool isGpu() const { return chip->vendor != Vendor::Host; }
  bool hasPackets() const { return algorithm->inboxSlots(collective.ranks) > 0; }
  /// Packets of Lamport's form whose data may have any bits (Protocol.h, escapedWord).
  bool hasEscapes() const;
  int64_t inboxBytes() const { return (hasEscapes() ? 4 : 2) * arena.inboxParity; }
  bool slicesAreChunks() const { return algorithm->slices && (algorithm->direct || isGpu()); }
  /// Elements of the array from one tile to the next; in slots it is always tileElements.
  int64_t tileStride() const { return rowElements ? rowElements : tileElements; }
  int64_t roundElements() const { return blocks * tilesPerRound * tileStride(); }
  int computeBlocks() const { return blocks - transferBlocks; }
  /// Of a part or slice.
  int64_t tileCount() const { return (sliceElements + tileStride() - 1) / tileStride(); }
  int64_t costlyTiles() const { return tileCount() * collective.inputParts(); } ///< that are computed at length
  /// Whether a part is one run of elements, so that no index needs a division.
  bool partsAreRuns() const {
    return collective.outer == 1 || (collective.inputParts() == 1 && collective.outputParts() == 1);
  }
};

/// Throws Error{Input} for a collective that checkCollective refuses and for options out of range.
Plan makePlan(const Collective &collective, const Chip &chip, const PlanOptions &options = {});

/// The same with fewer blocks than there are compute units, less `reservedUnits`, on GPUs: beside kernels of others
/// that take all of a unit's registers and wait for ranks, as NCCL's do. Where both come in other orders on other
/// ranks, one without room would be waited for without an end. `options.computeUnits` is above 0.
Plan makePlanBeside(int reservedUnits, const Collective &collective, const Chip &chip, const PlanOptions &options);

/// Tiles that each block has in the first round: a round of a direct algorithm has room for more than there are.
int64_t tilesOfRound(const Plan &plan);

/// The plan for people: sizes, memory, and the algorithm's steps as rank 0 takes them.
std::string describe(const Plan &plan);

/// One line that is equal exactly for equal plans: what ranks compare before they launch.
std::string planKey(const Plan &plan);
/// The same for plans that one kernel and one arena serve: sizes are arguments of the kernel, the cut into tiles is
/// not.
std::string kernelKey(const Plan &plan);
/// Where the plan's kernel expects the protocol's memory: a kernel that was compiled beforehand is for one layout.
std::string layoutKey(const Plan &plan);

} // namespace heddle
