// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-gather by packets: every rank sends its input to all others. No barrier; for small data.
#include "collectives/Algorithm.h"

namespace heddle {

// Where a block has several tiles, it sends the next one before it waits for this one, and loads each twice.
static void write(ProtocolWriter &w, const Collective &collective) {
  auto send = [&](TileHandle own) {
    for (int k = 1; k < collective.ranks; ++k)
      w.send(Rank::own(k), {0, Rank::own()}, own);
  };
  auto take = [&](TileHandle own) {
    putOutReceived(w, collective.ranks);
    w.output(Rank::own(), own);
  };
  if (w.hasSeveralTiles())
    return w.eachTileInStages({[&] { send(w.input(Rank::fixed(0))); }, [&] { take(w.input(Rank::fixed(0))); }});
  w.eachTile([&] {
    TileHandle own = w.input(Rank::fixed(0));
    send(own);
    take(own);
  });
}

const Algorithm gatherPackets = {"gather_packets",
                                 "sends the input to every rank as packets; no barrier",
                                 {CollectiveKind::AllGather},
                                 /*slices=*/false,
                                 [](int) { return 0; },
                                 [](int ranks) { return ranks; },
                                 /*barriers=*/0,
                                 write};

} // namespace heddle
