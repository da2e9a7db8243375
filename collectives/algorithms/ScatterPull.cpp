// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reduce-scatter by pulling: every rank stages all parts; after one barrier rank r reads and folds part r of all.
#include "collectives/Algorithm.h"

namespace heddle {

static void write(ProtocolWriter &w, const Collective &collective) {
  w.eachTile([&] {
    for (int part = 0; part < collective.ranks; ++part)
      w.store(Rank::own(), {0, Rank::fixed(part)}, w.input(Rank::fixed(part)));
  });
  w.barrier();
  w.eachTile(
      [&] { w.output(Rank::fixed(0), w.fold([&](int rank) { return w.load(Rank::fixed(rank), {0, Rank::own()}); })); });
}

const Algorithm scatterPull = {"scatter_pull",
                               "stages every part, one barrier, reads and folds the own part of all ranks",
                               {CollectiveKind::ReduceScatter},
                               /*slices=*/false,
                               [](int ranks) { return ranks; },
                               [](int) { return 0; },
                               /*barriers=*/1,
                               write};

} // namespace heddle
