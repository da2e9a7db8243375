// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The language in which an algorithm says what a rank does in one round. An algorithm is written once, against this
// interface, and read four ways: as the code of the kernel (kernel/), as text for people (Plan.h), as what it puts on
// the links between ranks (LinkLoads.h), and as a model whose every interleaving is checked (model/). All ranks run the
// same program; places are relative to the rank.
#pragma once
#include "collectives/Collective.h"
#include <cstdint>
#include <functional>
#include <vector>

namespace heddle {

/// Goes up when kernels of before can no longer take part: with what packets, flags and barriers say, the algorithms'
/// steps, and the arguments of kernels. Where data lie is compared by layoutKey.
inline constexpr int protocolVersion = 2;

/// A rank as an algorithm names it.
struct Rank {
  enum class Form { Fixed, Own, Table, Turn };
  Form form = Form::Own;
  int value = 0;          ///< Fixed: the rank; Own: an amount to add, modulo the number of ranks
  std::vector<int> table; ///< Table: by own rank; -1 is none
  static Rank fixed(int rank) { return {Form::Fixed, rank, {}}; }
  static Rank own(int plus = 0) { return {Form::Own, plus, {}}; }
  static Rank by(std::vector<int> table) { return {Form::Table, 0, std::move(table)}; }
  static Rank turn() { return {Form::Turn, 0, {}}; } ///< within eachRank, of a reader with one code for all ranks
  /// The rank that rank `me` of `ranks` means, or -1.
  int of(int me, int ranks) const {
    return form == Form::Fixed ? value : form == Form::Own ? (me + value) % ranks : table[size_t(me)];
  }
};

/// Slot number base + rank of a rank's staging or inbox. Each holds one round's elements of one part or slice.
struct Slot {
  int base = 0;
  Rank rank = Rank::fixed(0);
};

/// A tile of elements at hand; valid within one body of eachTile.
using TileHandle = int;

/// How data say by themselves that they have come, in words of 64 bits.
enum class PacketForm {
  LL,      ///< half of a word is data, half the round's flag: twice the traffic
  Lamport, ///< a word is data; one that has not come is all ones, which data are kept from being
};

/// Lamport's form: what stands in an inbox until a packet comes. Where floats are folded, data of these bits, NaNs, go
/// as other NaNs. Elsewhere they go as `escapedWord`, and a second inbox then says which of the two was meant: it
/// is waited for where that word comes, and else not touched.
inline constexpr uint64_t missingWord = ~uint64_t(0);
inline constexpr uint64_t escapedWord = 0x8C4E5B21D97A36F0;

/// Staging memory is written and read by plain accesses, which barriers order; the inbox is made of packets, which
/// say themselves when they have come. Both exist twice, for even and odd rounds, so that a round never touches what a
/// slower rank may still be reading of the round before.
class ProtocolWriter {
public:
  virtual ~ProtocolWriter() = default;

  using Body = std::function<void()>;
  /// For each tile of this block's share of the round. Between two barriers a round may have several of these.
  void eachTile(const Body &body) { eachTileOf({body}); }
  /// The same in several stages: stage k of a tile runs beside stage k - 1 of the next tile, so that sends go on while
  /// others wait. Tiles at hand do not outlive their stage.
  void eachTileInStages(const std::vector<Body> &stages) {
    if (hasSeveralTiles())
      return eachTileOf(stages);
    eachTile([&] {
      for (const Body &stage : stages)
        stage();
    });
  }
  /// What the two above are made of. For a reader to which one tile stands for all: in turn.
  virtual void eachTileOf(const std::vector<Body> &stages) {
    for (const Body &stage : stages)
      stage();
  }
  /// Whether a block has several tiles in a round, so that stages have something beside them.
  virtual bool hasSeveralTiles() const { return false; }
  /// `body` for each rank, the own one last. A reader may write one code for all of them.
  virtual void eachRank(int ranks, const std::function<void(const Rank &)> &body) {
    for (int k = 1; k <= ranks; ++k)
      body(Rank::own(k % ranks));
  }
  /// Whether input() computes at length: each is asked for once, and is sent before the next one.
  virtual bool hasCostlyInput() const { return false; }
  /// A barrier of block b of every rank; orders staging memory.
  virtual void barrier() = 0;
  /// Its halves, for one tile: tells every rank, also this one, that the tile is staged; waits until every rank has
  /// told.
  virtual void signal() {}
  virtual void await() {}

  virtual TileHandle input(const Rank &part) = 0; ///< this rank's elements of a part, or of a slice
  virtual void output(const Rank &part, TileHandle tile) = 0;

  virtual void store(const Rank &at, const Slot &slot, TileHandle tile) = 0; ///< into the staging memory of `at`
  /// From the staging memory of `at`; zeros when there is none.
  virtual TileHandle load(const Rank &at, const Slot &slot) = 0;

  virtual void send(const Rank &to, const Slot &slot, TileHandle tile) = 0; ///< packets into the inbox of `to`
  /// Waits for the packets that `from` sent into this rank's `slot`; when `from` is this rank, `own`, which is needed
  /// for fixed ranks only. A slot is received once a round.
  virtual TileHandle receive(const Rank &from, const Slot &slot, TileHandle own = -1) = 0;

  /// Tells the other ranks where this rank's operands lie; they know it after the next barrier, until the one after.
  /// For algorithms that are direct: then a failed barrier leaves eachTile without tiles.
  virtual void publish() = 0;
  virtual TileHandle peerInput(const Rank &of, const Rank &part) = 0; ///< `input` of that rank, where it lies
  virtual void peerOutput(const Rank &of, const Rank &part, TileHandle tile) = 0;

  /// Within eachTile of an even number of ranks: of two that are half the ranks apart, one takes `body` for this tile,
  /// the other one for the next. For direct algorithms: `body` reads and writes operands only.
  virtual void inTurn(const std::function<void()> &body) = 0;

  /// The reduction over ranks 0 to n-1, in this order; rounded to the element type.
  virtual TileHandle fold(const std::function<TileHandle(int rank)> &contribution) = 0;
};

} // namespace heddle
