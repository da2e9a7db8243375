// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Broadcast in two steps: the root gives each rank a slice; after one barrier all read every slice from the rank that
// has it. Where each pair of ranks has a link of its own all of them carry data, 2/n of what those of the root would
// alone.
#include "collectives/Algorithm.h"

namespace heddle {

// A slot is read between its round's barrier and the next one, and is written again after that.
static void write(ProtocolWriter &w, const Collective &collective) {
  w.eachTile([&] {
    std::vector<TileHandle> slices; // all are loaded before the first is stored: stores may be to the same memory
    for (int slice = 0; slice < collective.ranks; ++slice)
      slices.push_back(w.input(Rank::fixed(slice)));
    for (int slice = 0; slice < collective.ranks; ++slice) {
      std::vector<int> ofRoot(size_t(collective.ranks), -1);
      ofRoot[size_t(collective.root)] = slice;
      w.store(Rank::by(ofRoot), {}, slices[size_t(slice)]);
    }
  });
  w.barrier();
  w.eachTile([&] {
    for (int k = 0; k < collective.ranks; ++k)
      w.output(Rank::own(k), w.load(Rank::own(k), {}));
  });
}

const Algorithm broadcastScatter = {"broadcast_scatter",
                                    "the root gives each rank a slice; after one barrier all read every slice",
                                    {CollectiveKind::Broadcast},
                                    /*slices=*/true,
                                    [](int) { return 1; },
                                    [](int) { return 0; },
                                    /*barriers=*/1,
                                    write};

} // namespace heddle
