// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reduce-scatter by flags: every rank puts its tiles of all parts into its own staging memory, a flag after each, and
// folds those of its own part as their flags come. For tiles that are computed at length: storing them into the memory
// of others, which the flags then wait for, was slower (5 % for 8192 x 8192 x 4096 on two H200).
#include "collectives/Algorithm.h"

namespace heddle {

// Two buffers are enough, as in OneShotFlags.cpp.
static void write(ProtocolWriter &w, const Collective &collective) {
  auto stage = [&] {
    w.eachRank(collective.ranks, [&](const Rank &part) { w.store(Rank::own(), {0, part}, w.input(part)); });
    w.signal();
  };
  auto sum = [&] {
    w.await();
    w.output(Rank::fixed(0), w.fold([&](int rank) { return w.load(Rank::fixed(rank), {0, Rank::own()}); }));
  };
  w.eachTileInStages({stage, sum});
}

const Algorithm scatterFlags = {"scatter_flags",
                                "stages each tile of all parts with a flag, folds those of the own part; no barrier",
                                {CollectiveKind::ReduceScatter},
                                /*slices=*/false,
                                [](int ranks) { return ranks; },
                                [](int) { return 0; },
                                /*barriers=*/0,
                                write,
                                /*direct=*/false,
                                /*oneBuffer=*/false,
                                /*flags=*/true};

} // namespace heddle
