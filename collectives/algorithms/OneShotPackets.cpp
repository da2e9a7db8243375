// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduce: every rank sends its input to all others as packets, and folds what arrives. No barrier and one leg: the
// form for small data.
#include "collectives/Algorithm.h"

namespace heddle {

// No barrier: a rank finishes a round only with the packets of every other, so it is at most one round ahead of the
// slowest reader, and writes the other parity.
// Where a block has several tiles, a tile is loaded twice, to be sent and to be folded. Both loads are the same, so a
// thread has sent what its later store, in place, replaces.
static void write(ProtocolWriter &w, const Collective &collective) {
  auto send = [&](TileHandle own) {
    for (int k = 1; k < collective.ranks; ++k)
      w.send(Rank::own(k), {0, Rank::own()}, own);
  };
  auto fold = [&](TileHandle own) {
    auto contribution = [&](int rank) { return w.receive(Rank::fixed(rank), {0, Rank::fixed(rank)}, own); };
    w.output(Rank::fixed(0), w.fold(contribution));
  };
  if (w.hasSeveralTiles())
    return w.eachTileInStages({[&] { send(w.input(Rank::fixed(0))); }, [&] { fold(w.input(Rank::fixed(0))); }});
  w.eachTile([&] {
    TileHandle own = w.input(Rank::fixed(0));
    send(own);
    fold(own);
  });
}

const Algorithm oneShotPackets = {"one_shot_packets",
                                  "sends the input to every rank as packets, folds what arrives; no barrier",
                                  {CollectiveKind::AllReduce},
                                  /*slices=*/false,
                                  [](int) { return 0; },
                                  [](int ranks) { return ranks; },
                                  /*barriers=*/0,
                                  write};

} // namespace heddle
