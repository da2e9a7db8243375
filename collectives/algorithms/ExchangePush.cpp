// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-to-all by pushing: part p is stored into the staging memory of rank p, the next rank first; after one barrier
// each rank reads its own memory only.
#include "collectives/Algorithm.h"

namespace heddle {

static void write(ProtocolWriter &w, const Collective &collective) {
  w.eachTile([&] {
    for (int k = 1; k <= collective.ranks; ++k)
      w.store(Rank::own(k), {0, Rank::own()}, w.input(Rank::own(k)));
  });
  w.barrier();
  w.eachTile([&] {
    for (int rank = 0; rank < collective.ranks; ++rank)
      w.output(Rank::fixed(rank), w.load(Rank::own(), {0, Rank::fixed(rank)}));
  });
}

const Algorithm exchangePush = {"exchange_push",
                                "stores part p into the memory of rank p, one barrier",
                                {CollectiveKind::AllToAll},
                                /*slices=*/false,
                                [](int ranks) { return ranks; },
                                [](int) { return 0; },
                                /*barriers=*/1,
                                write};

} // namespace heddle
