// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-gather by pushing, without a copy: each rank loads its input once and stores it into the outputs of all ranks
// where they lie, the next rank first. The form for large data where peers' memory is as good as the own.
#include "collectives/Algorithm.h"

namespace heddle {

// The first barrier says that the outputs may be written, the second that they have been. Part r of every output is
// written by rank r alone, and inputs are read by their owners alone: in place, where the input is the output's own
// part, a rank stores there what it has just loaded from there, and no other rank comes near.
static void write(ProtocolWriter &w, const Collective &collective) {
  w.publish();
  w.barrier();
  w.eachTile([&] {
    TileHandle own = w.input(Rank::fixed(0));
    for (int k = 1; k <= collective.ranks; ++k)
      w.peerOutput(Rank::own(k), Rank::own(), own);
  });
  w.barrier();
}

const Algorithm gatherDirectPush = {"gather_direct_push",
                                    "stores the input into all outputs where they lie; two barriers",
                                    {CollectiveKind::AllGather},
                                    /*slices=*/false,
                                    [](int) { return 0; },
                                    [](int) { return 0; },
                                    /*barriers=*/2,
                                    write,
                                    /*direct=*/true};

} // namespace heddle
