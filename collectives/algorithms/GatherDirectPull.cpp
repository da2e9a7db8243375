// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-gather by pulling, without a copy: each rank reads the inputs of all others where they lie, the next rank first,
// and puts its own one beside them when no rank reads it any more.
#include "collectives/Algorithm.h"

namespace heddle {

// The first barrier says that the inputs are there, the second that they may be overwritten. The own part comes after
// it: in place, where it is the input, a store would meet the loads of the peers, if only with equal bytes.
static void write(ProtocolWriter &w, const Collective &collective) {
  w.publish();
  w.barrier();
  w.eachTile([&] {
    std::vector<TileHandle> others; // all of them before one is put out: the loads wait together
    for (int k = 1; k < collective.ranks; ++k)
      others.push_back(w.peerInput(Rank::own(k), Rank::fixed(0)));
    for (int k = 1; k < collective.ranks; ++k)
      w.output(Rank::own(k), others[size_t(k - 1)]);
  });
  w.barrier();
  w.eachTile([&] { w.output(Rank::own(), w.input(Rank::fixed(0))); });
}

const Algorithm gatherDirectPull = {"gather_direct_pull",
                                    "reads all other inputs where they lie; two barriers",
                                    {CollectiveKind::AllGather},
                                    /*slices=*/false,
                                    [](int) { return 0; },
                                    [](int) { return 0; },
                                    /*barriers=*/2,
                                    write,
                                    /*direct=*/true};

} // namespace heddle
