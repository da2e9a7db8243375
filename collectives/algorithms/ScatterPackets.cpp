// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reduce-scatter by packets: part p goes to rank p, which folds what arrives. No barrier; for small data.
#include "collectives/Algorithm.h"

namespace heddle {

static void write(ProtocolWriter &w, const Collective &collective) {
  auto fold = [&] {
    TileHandle own = w.input(Rank::own());
    auto contribution = [&](int rank) { return w.receive(Rank::fixed(rank), {0, Rank::fixed(rank)}, own); };
    w.output(Rank::fixed(0), w.fold(contribution));
  };
  w.eachTileInStages({[&] { sendParts(w, collective.ranks); }, fold});
}

const Algorithm scatterPackets = {"scatter_packets",
                                  "sends part p to rank p as packets, folds what arrives; no barrier",
                                  {CollectiveKind::ReduceScatter},
                                  /*slices=*/false,
                                  [](int) { return 0; },
                                  [](int ranks) { return ranks; },
                                  /*barriers=*/0,
                                  write};

} // namespace heddle
