// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-gather by pushing: a tile is loaded once and stored into the staging memory of every rank, the next rank first;
// after one barrier each rank reads its own memory only.
#include "collectives/Algorithm.h"

namespace heddle {

static void write(ProtocolWriter &w, const Collective &collective) {
  w.eachTile([&] {
    TileHandle own = w.input(Rank::fixed(0));
    for (int k = 1; k <= collective.ranks; ++k)
      w.store(Rank::own(k), {0, Rank::own()}, own);
  });
  w.barrier();
  w.eachTile([&] {
    for (int rank = 0; rank < collective.ranks; ++rank)
      w.output(Rank::fixed(rank), w.load(Rank::own(), {0, Rank::fixed(rank)}));
  });
}

const Algorithm gatherPush = {"gather_push",
                              "stores the input into the memory of every rank, one barrier",
                              {CollectiveKind::AllGather},
                              /*slices=*/false,
                              [](int ranks) { return ranks; },
                              [](int) { return 0; },
                              /*barriers=*/1,
                              write};

} // namespace heddle
