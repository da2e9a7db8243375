// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduce in two steps, both of which write over the links and never read: slices are stored into the staging memory
// of their owners, and each owner folds what has come and writes the sum into all outputs where they lie. The form for
// large data where links carry more when they are written.
#include "collectives/Algorithm.h"

namespace heddle {

// The first barrier exchanges where outputs lie, and orders nothing else: it has to come before anything is staged. A
// rank passes the second one when all have read their inputs and staged them, so an output may be the input's memory.
// After the third no rank writes outputs any more, and all have read what was staged.
static void write(ProtocolWriter &w, const Collective &collective) {
  w.publish();
  w.barrier();
  w.eachTile([&] {
    for (int k = 1; k <= collective.ranks; ++k)
      w.store(Rank::own(k), {0, Rank::own()}, w.input(Rank::own(k)));
  });
  w.barrier();
  w.eachTile([&] {
    TileHandle sum = w.fold([&](int rank) { return w.load(Rank::own(), {0, Rank::fixed(rank)}); });
    for (int k = 0; k < collective.ranks; ++k)
      w.peerOutput(Rank::own(k), Rank::own(), sum);
  });
  w.barrier();
}

const Algorithm twoShotPush = {"two_shot_push",
                               "stores slice s into the memory of rank s; each folds its own into all outputs where "
                               "they lie; three barriers",
                               {CollectiveKind::AllReduce},
                               /*slices=*/true,
                               [](int ranks) { return ranks; },
                               [](int) { return 0; },
                               /*barriers=*/3,
                               write,
                               /*direct=*/true,
                               /*oneBuffer=*/true};

} // namespace heddle
