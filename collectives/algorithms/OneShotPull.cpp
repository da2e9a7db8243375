// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduce: every rank stages its input, all synchronise, every rank reads and folds everything. One barrier; each
// rank reads (n-1) times the data.
#include "collectives/Algorithm.h"

namespace heddle {

// Two parities make one barrier enough: a rank that is ahead stages into the other half, and cannot come back to this
// one before all ranks have met again, that is, after they have read it.
static void write(ProtocolWriter &w, const Collective &collective) {
  w.eachTile([&] { w.store(Rank::own(), {}, w.input(Rank::fixed(0))); });
  w.barrier();
  w.eachTile([&] { w.output(Rank::fixed(0), w.fold([&](int rank) { return w.load(Rank::fixed(rank), {}); })); });
}

const Algorithm oneShotPull = {"one_shot_pull",
                               "stages the input, one barrier, reads and folds the inputs of all ranks",
                               {CollectiveKind::AllReduce},
                               /*slices=*/false,
                               [](int) { return 1; },
                               [](int) { return 0; },
                               /*barriers=*/1,
                               write};

} // namespace heddle
