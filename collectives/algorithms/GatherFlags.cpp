// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-gather by pushing, without a barrier: every rank stores its input into the staging memory of all others, and a
// flag after each tile, by which they read it while the next tiles are in flight. For kernels that compute with the
// gathered data; it is in no table, since by itself it is no faster than one barrier.
#include "collectives/Algorithm.h"

namespace heddle {

// A rank stores for a round when it has had the flags of all others of the round before, which they stored when they
// had read what was staged for the round before that: two buffers are enough.
static void write(ProtocolWriter &w, const Collective &collective) {
  auto push = [&] {
    TileHandle own = w.input(Rank::fixed(0));
    for (int k = 1; k < collective.ranks; ++k)
      w.store(Rank::own(k), {0, Rank::own()}, own);
    w.signal();
    w.output(Rank::own(), own);
  };
  auto take = [&] {
    w.await();
    for (int k = 1; k < collective.ranks; ++k)
      w.output(Rank::own(k), w.load(Rank::own(), {0, Rank::own(k)}));
  };
  w.eachTileInStages({push, take});
}

const Algorithm gatherFlags = {"gather_flags",
                               "stores the input into the memory of every rank, a flag after each tile; no barrier",
                               {CollectiveKind::AllGather},
                               /*slices=*/false,
                               [](int ranks) { return ranks; },
                               [](int) { return 0; },
                               /*barriers=*/0,
                               write,
                               /*direct=*/false,
                               /*oneBuffer=*/false,
                               /*flags=*/true};

} // namespace heddle
