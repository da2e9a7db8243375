// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-to-all by packets: part p goes to rank p. No barrier; for small data.
#include "collectives/Algorithm.h"

namespace heddle {

// Where a block has several tiles, it sends the next one before it waits for this one. Input and output may be one
// array: all parts of a tile are read before one is replaced.
static void write(ProtocolWriter &w, const Collective &collective) {
  auto send = [&] {
    std::vector<TileHandle> parts; // all of them are asked for before one is sent
    for (int k = 1; k < collective.ranks; ++k)
      parts.push_back(w.input(Rank::own(k)));
    for (int k = 1; k < collective.ranks; ++k)
      w.send(Rank::own(k), {0, Rank::own()}, parts[size_t(k - 1)]);
  };
  auto take = [&] {
    TileHandle own = w.input(Rank::own());
    std::vector<TileHandle> received; // all of them before one is put out: they are waited for together
    for (int k = 1; k < collective.ranks; ++k)
      received.push_back(w.receive(Rank::own(k), {0, Rank::own(k)}));
    for (int k = 1; k < collective.ranks; ++k)
      w.output(Rank::own(k), received[size_t(k - 1)]);
    w.output(Rank::own(), own);
  };
  w.eachTileInStages({send, take});
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
