// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-to-all by packets: part p goes to rank p. No barrier; for small data.
#include "collectives/Algorithm.h"

namespace heddle {

// Where a block has several tiles, it sends the next one before it waits for this one. Input and output may be one
// array: all parts of a tile are read before one is replaced.
static void write(ProtocolWriter &w, const Collective &collective) {
  auto take = [&] {
    TileHandle own = w.input(Rank::own());
    putOutReceived(w, collective.ranks);
    w.output(Rank::own(), own);
  };
  w.eachTileInStages({[&] { sendParts(w, collective.ranks); }, take});
}

const Algorithm exchangePackets = {"exchange_packets",
                                   "sends part p to rank p as packets; no barrier",
                                   {CollectiveKind::AllToAll},
                                   /*slices=*/false,
                                   [](int) { return 0; },
                                   [](int ranks) { return ranks; },
                                   /*barriers=*/0,
                                   write};

} // namespace heddle
