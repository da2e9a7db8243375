// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduce in two steps: each rank folds one slice of all ranks' staged input and puts the sum in place of its own
// slice; after a second barrier all read the sums. Each rank reads 2 (n-1)/n times the data.
#include "collectives/Algorithm.h"

namespace heddle {

// Between the two barriers the only slot of a rank that anyone reads is the one of the reader, and the only one that is
// written is the own one of the owner.
static void write(ProtocolWriter &w, const Collective &collective) {
  w.eachTile([&] {
    std::vector<TileHandle> slices; // all are loaded before the first is stored: stores may be to the same memory
    for (int slice = 0; slice < collective.ranks; ++slice)
      slices.push_back(w.input(Rank::fixed(slice)));
    for (int slice = 0; slice < collective.ranks; ++slice)
      w.store(Rank::own(), {0, Rank::fixed(slice)}, slices[size_t(slice)]);
  });
  w.barrier();
  w.eachTile([&] {
    TileHandle sum = w.fold([&](int rank) { return w.load(Rank::fixed(rank), {0, Rank::own()}); });
    w.store(Rank::own(), {0, Rank::own()}, sum);
  });
  w.barrier();
  w.eachTile([&] {
    for (int k = 0; k < collective.ranks; ++k)
      w.output(Rank::own(k), w.load(Rank::own(k), {0, Rank::own(k)}));
  });
}

const Algorithm twoShotPull = {"two_shot_pull",
                               "stages the input; each rank folds one slice of all; all read the sums; two barriers",
                               {CollectiveKind::AllReduce},
                               /*slices=*/true,
                               [](int ranks) { return ranks; },
                               [](int) { return 0; },
                               /*barriers=*/2,
                               write};

} // namespace heddle
