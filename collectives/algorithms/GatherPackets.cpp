// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-gather by packets: every rank sends its input to all others. No barrier; for small data.
#include "collectives/Algorithm.h"

namespace heddle {

static void write(ProtocolWriter &w, const Collective &collective) {
  w.eachTile([&] {
    TileHandle own = w.input(Rank::fixed(0));
    for (int k = 1; k < collective.ranks; ++k)
      w.send(Rank::own(k), {0, Rank::own()}, own);
    std::vector<TileHandle> received; // all of them before one is put out: they are waited for together
    for (int rank = 0; rank < collective.ranks; ++rank)
      received.push_back(w.receive(Rank::fixed(rank), {0, Rank::fixed(rank)}, own));
    for (int rank = 0; rank < collective.ranks; ++rank)
      w.output(Rank::fixed(rank), received[size_t(rank)]);
  });
}

const Algorithm gatherPackets = {"gather_packets",
                                 "sends the input to every rank as packets with flags; no barrier",
                                 {CollectiveKind::AllGather},
                                 /*slices=*/false,
                                 [](int) { return 0; },
                                 [](int ranks) { return ranks; },
                                 /*barriers=*/0,
                                 write};

} // namespace heddle
