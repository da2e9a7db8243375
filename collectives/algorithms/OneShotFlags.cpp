// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduce in one step by flags: every rank puts its tiles into its own staging memory, a flag after each, and folds
// those of all ranks as their flags come. For tiles that are computed at length, while others are in flight.
#include "collectives/Algorithm.h"

namespace heddle {

// A rank stages for a round when it has had the flags of all others of the round before, which they stored when they
// had read what was staged for the round before that: two buffers are enough.
static void write(ProtocolWriter &w, const Collective &) {
  auto stage = [&] {
    w.store(Rank::own(), {0}, w.input(Rank::fixed(0)));
    w.signal();
  };
  auto sum = [&] {
    w.await();
    w.output(Rank::fixed(0), w.fold([&](int rank) { return w.load(Rank::fixed(rank), {0}); }));
  };
  w.eachTileInStages({stage, sum});
}

const Algorithm oneShotFlags = {"one_shot_flags",
                                "stages each tile with a flag, folds those of every rank; no barrier",
                                {CollectiveKind::AllReduce},
                                /*slices=*/false,
                                [](int) { return 1; },
                                [](int) { return 0; },
                                /*barriers=*/0,
                                write,
                                /*direct=*/false,
                                /*oneBuffer=*/false,
                                /*flags=*/true};

} // namespace heddle
