// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-to-all by packets: part p goes to rank p. No barrier; for small data.
#include "collectives/Algorithm.h"

namespace heddle {

static void write(ProtocolWriter &w, const Collective &collective) {
  w.eachTile([&] {
    for (int k = 1; k < collective.ranks; ++k)
      w.send(Rank::own(k), {0, Rank::own()}, w.input(Rank::own(k)));
    TileHandle own = w.input(Rank::own());
    std::vector<TileHandle> received; // all of them before one is put out: they are waited for together
    for (int rank = 0; rank < collective.ranks; ++rank)
      received.push_back(w.receive(Rank::fixed(rank), {0, Rank::fixed(rank)}, own));
    for (int rank = 0; rank < collective.ranks; ++rank)
      w.output(Rank::fixed(rank), received[size_t(rank)]);
  });
}

const Algorithm exchangePackets = {"exchange_packets",
                                   "sends part p to rank p as packets with flags; no barrier",
                                   {CollectiveKind::AllToAll},
                                   /*slices=*/false,
                                   [](int) { return 0; },
                                   [](int ranks) { return ranks; },
                                   /*barriers=*/0,
                                   write};

} // namespace heddle
