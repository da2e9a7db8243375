// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-gather by pulling: every rank stages its input; after one barrier each reads the others, starting with the next
// one so that no rank is read by all at once (the swizzled tile order).
#include "collectives/Algorithm.h"

namespace heddle {

static void write(ProtocolWriter &w, const Collective &collective) {
  w.eachTile([&] { w.store(Rank::own(), {}, w.input(Rank::fixed(0))); });
  w.barrier();
  w.eachTile([&] {
    for (int k = 0; k < collective.ranks; ++k)
      w.output(Rank::own(k), w.load(Rank::own(k), {}));
  });
}

const Algorithm gatherPull = {"gather_pull",
                              "stages the input, one barrier, reads every rank, the next one first",
                              {CollectiveKind::AllGather},
                              /*slices=*/false,
                              [](int) { return 1; },
                              [](int) { return 0; },
                              /*barriers=*/1,
                              write};

} // namespace heddle
