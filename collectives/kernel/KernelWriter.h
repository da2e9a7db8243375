// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the kernel of one plan. CollectiveKernel.cpp has its frame: epochs, rounds, tiles, barriers. KernelSteps.cpp
// has what an algorithm's steps become, and where in the ranks' memory they read and write.
#pragma once
#include "collectives/kernel/CollectiveKernel.h"
#include <map>

namespace heddle {

class KernelWriter : public ProtocolWriter {
public:
  KernelWriter(mlir::MLIRContext &context, const Plan &plan, const CollectiveOperands &operands)
      : plan(plan), collective(plan.collective), operands(operands), w(context),
        element(tile::storageType(context, plan.collective.type)) {}

  mlir::OwningOpRef<mlir::ModuleOp> run();

  void eachTileOf(const std::vector<Body> &stages) override;
  bool hasSeveralTiles() const override { return plan.tilesPerRound > 1 || plan.algorithm->flags; }
  void eachRank(int ranks, const std::function<void(const Rank &)> &body) override {
    return plan.algorithm->flags ? body(Rank::turn()) : ProtocolWriter::eachRank(ranks, body);
  }
  void signal() override;
  void await() override;
  bool hasCostlyInput() const override { return operands.hasCostlyInput(); }
  void barrier() override;
  TileHandle input(const Rank &part) override;
  void output(const Rank &part, TileHandle tile) override;
  void store(const Rank &at, const Slot &slot, TileHandle tile) override;
  TileHandle load(const Rank &at, const Slot &slot) override;
  void send(const Rank &to, const Slot &slot, TileHandle tile) override;
  TileHandle receive(const Rank &from, const Slot &slot, TileHandle own) override;
  void publish() override;
  TileHandle peerInput(const Rank &of, const Rank &part) override;
  void peerOutput(const Rank &of, const Rank &part, TileHandle tile) override;
  void inTurn(const std::function<void()> &body) override;
  TileHandle fold(const std::function<TileHandle(int rank)> &contribution) override;

private:
  //===-- CollectiveKernel.cpp: the frame ------------------------------------------------------------------------===//
  void loadPeers();
  bool marksFailure() const; ///< in the counter of a block
  mlir::Value isHealthy(mlir::Value counter);
  /// `before` is the block's counter; both yield the next epoch, and `ok`.
  tile::TileWriter::Values rounds(mlir::Value before);
  tile::TileWriter::Values onlyRound(mlir::Value before); ///< isOneTile()
  /// Lamport's packets, one tile: what follows from the counter is computed where it is needed first, after the tile's
  /// input.
  bool isOneTile() const { return isLamport() && !hasSeveralTiles(); }
  void openRound();
  void followCounter(mlir::Value before);
  void round(mlir::Value number);
  void enterEpoch(mlir::Value first);
  void exchangeOperands(mlir::Value now);                 ///< the barrier after publish(); `now`: its epoch
  void writeTile(mlir::Value number, const Body &body);   ///< of the block's tiles in the round
  void writeTileAt(mlir::Value number, const Body &body); ///< of all tiles in the round
  void writeStage(mlir::Value tile, mlir::Value count, const Body &body);
  void writeForms(const Body &body);
  /// What goes from tile to tile: `ok`; of Lamport's packets `late`, and until when they are waited for.
  tile::TileWriter::Values progress() const;
  void resume(mlir::ValueRange progress);
  bool everyTileIsWhole() const; ///< also in the last round
  /// Of the packets of an epoch, i32: not 0, which is what memory holds before the first one.
  mlir::Value flagOf(mlir::Value epoch) { return w.truncate(w.add(w.modulo(epoch, w.i64(0xFFFFFFFF)), w.i64(1)), 32); }
  /// For people; 0 of what holds no flag yet.
  mlir::Value epochOf(mlir::Value flags) { return w.select(w.equal(flags, w.i64(0)), flags, w.sub(flags, w.i64(1))); }
  mlir::Value divideUp(mlir::Value x, mlir::Value y) { return w.divide(w.add(x, w.sub(y, w.i64(1))), y); }

  //===-- KernelFlags.cpp ----------------------------------------------------------------------------------------===//
  mlir::Value flagOfTiles(mlir::Value tiles); ///< of a block, i64, in this epoch
  void synchroniseThreads();
  mlir::Value isAmongFirst(int64_t count);
  void signalTiles(mlir::Value count);
  void awaitFlags(int64_t size, mlir::Value blocks, mlir::Value ranks, mlir::Value counts, mlir::Value isAwaited);
  void awaitTiles(mlir::Value from, mlir::Value last);
  mlir::Value shareOf(int64_t count, int64_t every, mlir::Value first);
  mlir::Value isTransferBlock();
  mlir::Value takeTicket(mlir::Value counter);
  void eachCostlyTile(const std::vector<Body> &stages);
  void eachPiece(const Body &push);

  //===-- KernelSteps.cpp: places and steps ----------------------------------------------------------------------===//
  /// A rank as an i64 scalar and, for a table, whether there is such a rank; the own rank needs no address of a peer.
  struct Place {
    mlir::Value rank;     ///< i64
    mlir::Value somebody; ///< i1 or null
    bool isOwn = false;
    int ahead = 0; ///< above 0: of the own rank, as `peers` has it
  };
  Place place(const Rank &rank);
  /// Slots in a rank's symmetric memory; both parities of them.
  struct Area {
    mlir::Value memory, group; ///< this rank's memory, and the record of where that of the others is
    int64_t firstByte, parityBytes, slotBytes;
  };
  /// The first byte of a slot of this rank's memory, as the same place in the memory of `at`.
  mlir::Value slotPointer(const Area &area, const Slot &slot, const Place &at, mlir::Type pointee);
  mlir::Value stagingTile(const Place &at, const Slot &slot);
  /// `inbox`: where that begins in an arena.
  llvm::SmallVector<mlir::Value, 2> packetTiles(const Place &at, const Slot &slot, int64_t inbox);
  /// `pointer`, which is a multiple of `bytes`, in a form that shows it.
  mlir::Value aligned(mlir::Value pointer, int64_t bytes);
  /// Operands of a rank for a tile.
  llvm::SmallVector<mlir::Value> forTile(mlir::ValueRange pointers);
  mlir::Value wholeAccesses(mlir::Value elements);
  mlir::Value lowBits(mlir::ValueRange pointers); ///< or of the parts of addresses that are no multiples of accessBytes
  void loadShifts();                              ///< plan.windows: `shifts`
  /// What that rank has told of its operands in this exchange; those of the rank itself.
  llvm::SmallVector<mlir::Value> receiveOperands(int rank, mlir::Value flag);
  llvm::SmallVector<mlir::Value> operandsOf(const Rank &rank); ///< as received
  /// The tile's place in the array [outer][parts][inner]; `mask` is the elements that exist there.
  mlir::Value arrayIndex(const Rank &part, int parts, mlir::Value &mask);
  /// GPUs, packets of rows: the words of adjacent threads are contiguous, so that what goes over the links is
  /// whole; plain tiles are what a thread reads at once. A warp has the same words as elements.
  bool arrangesPackets() const { return isGpu() && plan.rowElements && plan.hasPackets(); }
  /// In a plan of rows: the index of the row's first element in an array of so many parts.
  mlir::Value firstOf(const Rank &part, int parts);
  mlir::Value both(mlir::Value mask, mlir::Value condition) {
    return !condition ? mask : mask ? w.bitAnd(mask, w.like(condition, mask)) : w.splat(condition, plan.tileElements);
  }
  TileHandle keep(mlir::Value tile) {
    tiles.push_back(tile);
    return TileHandle(tiles.size()) - 1;
  }
  int64_t residentBlocks() const;
  bool isGpu() const { return plan.isGpu(); }

  bool isLamport() const { return plan.packets == PacketForm::Lamport; }
  int64_t bytesOfPacket() const { return isLamport() ? 8 : 4; } ///< of its data
  /// What packets of a tile are made of: of Lamport's form one tile of words. Those are never all ones; without escapes
  /// neither is the tile from then on.
  struct Words {
    llvm::SmallVector<mlir::Value, 2> data, sent;
    mlir::Value escaped; ///< with escapes: which of the words sent stand for others (i1)
  };
  const Words &wordsOf(TileHandle tile);
  void sendEscapes(); ///< those of all sends so far
  /// Pointers of packets, as threads take them.
  mlir::Value arranged(mlir::Value tile) {
    return arrangesPackets() ? w.arranged(tile, 1, spanOf(bytesOfPacket())) : tile;
  }
  static constexpr int64_t accessBytes = 16; ///< what one thread of a GPU reads or writes at once
  static int64_t spanOf(int64_t bytes) { return std::max<int64_t>(1, accessBytes / bytes); }
  /// The data of packets, and whether each came; data 0 where `mask` does not hold.
  std::pair<mlir::Value, mlir::Value> take(mlir::Value source, mlir::Value mask);
  /// Packets that have been asked for; what became of them is looked at for all together.
  struct Receipt {
    mlir::Value from;                   ///< i64
    mlir::Value source, place, arrived; ///< tiles: pointers, the same as the wait has them, whether it came (i1)
    mlir::Value mask;                   ///< which are there; null: all
  };
  /// With escapes: a tile whose words have come, and are looked up for all such tiles together when the first is used.
  struct Arrival {
    TileHandle tile;
    mlir::Value from, place, word; ///< i64; tiles: pointers into the second inbox, what came
    mlir::Value isOwn, own;        ///< i1 or null, and the words that it has then
  };
  void readEscapes();
  mlir::Value valueOf(TileHandle tile) {
    if (!tiles[size_t(tile)])
      readEscapes();
    return tiles[size_t(tile)];
  }
  void settle();        ///< reports packets that did not come; of Lamport's takes notice of them
  void settleLamport(); ///< and makes room for the next ones
  void reportLate();    ///< after all tiles of a loop: those of Lamport's that did not come

  /// Fused operands: what is left of outputs, which is done at the end of the tile's code, when all has been loaded.
  struct Ending {
    CollectiveOperands::RestOfOutput rest;
    mlir::Value tile;
  };
  CollectiveOperands::RestOfOutput beginOutput(const Rank &part);
  void endOutputs();

  //===-- State --------------------------------------------------------------------------------------------------===//
  const Plan &plan;
  const Collective &collective;
  const CollectiveOperands &operands;
  tile::TileWriter w;
  mlir::Type element;

  llvm::SmallVector<mlir::Value> extra; ///< the kernel's arguments of `operands`
  /// GPUs, plain operands: whether all that a tile of these addresses begins with is a multiple of accessBytes (i1).
  mlir::Value isAligned;
  bool knowsAligned = false; ///< in the code for tiles where that holds
  mlir::Value group, arena, stagingGroup, staging, tag, deadline, self, block;
  mlir::Value counterBefore;                      ///< i64, Lamport: the block's counter
  bool isRoundOpen = false;                       ///< isOneTile(): in this code
  llvm::SmallVector<mlir::Value> loadedPeers;     ///< `peers`, were all well
  llvm::SmallVector<mlir::Value> peers;           ///< where packets go: the arena of the rank so far ahead of this one
  mlir::Value inner, partElements, sliceElements; ///< i64
  mlir::Value epoch;                              ///< i64, the first epoch of the round
  mlir::Value parity;                             ///< i64, 0 or 1
  mlir::Value flag;                               ///< i32, of the round's packets
  mlir::Value ok;                                 ///< i1: every wait so far succeeded
  mlir::Value roundNumber;                        ///< i64
  int barriers = 0;                               ///< in this round so far
  bool published = false;                         ///< since the last barrier
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> operandsByRank; ///< after an exchange of them
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> shifts; ///< i64, by rank and operand: CollectiveGroups::shift
  mlir::Value tileInBlock;                                  ///< i64: of the tiles of this block in the round
  /// Algorithms with flags: how many tiles the block has staged when it signals (i64; null: eachPiece does it), the
  /// tile that is waited for, and the rank of eachRank.
  mlir::Value stagedTiles, awaitedTile, turnRank;
  mlir::Value tileInRound;        ///< i64: elements before this tile in the slots of the round
  mlir::Value tileStart;          ///< i64: elements before this tile in the part or slice
  bool isWhole = false;           ///< in the code for tiles that exist in every part or slice
  mlir::Value element0;           ///< index of the tile's elements in the slice, i64
  mlir::Value present;            ///< which of them exist; null: all
  mlir::Value lanes;              ///< i64: 0 ... tile - 1
  std::vector<mlir::Value> tiles; ///< null: among `arrivals`
  mlir::Value late; ///< Lamport: a tile of i32, by word: 0, or one more than the rank that it did not come from
  std::map<TileHandle, Words> words; ///< wordsOf, so far
  std::vector<Receipt> receipts;
  std::vector<Arrival> arrivals;
  std::vector<Body> pendingEscapes;       ///< writes of them that are left
  CollectiveOperands::RestOfOutput begun; ///< of the output that follows
  std::vector<Ending> endings;
};

} // namespace heddle
