// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collective permute: every rank stages its input; after one barrier each reads its source. All ranks synchronise, also
// those that neither send nor receive: without that a source could be two rounds ahead of its reader.
#include "collectives/Algorithm.h"

namespace heddle {

static void write(ProtocolWriter &w, const Collective &collective) {
  w.eachTile([&] { w.store(Rank::own(), {}, w.input(Rank::fixed(0))); });
  w.barrier();
  w.eachTile([&] { w.output(Rank::fixed(0), w.load(Rank::by(collective.sources), {})); });
}

const Algorithm permutePull = {"permute_pull",
                               "stages the input, one barrier, reads the source",
                               {CollectiveKind::Permute},
                               /*slices=*/false,
                               [](int) { return 1; },
                               [](int) { return 0; },
                               /*barriers=*/1,
                               write};

} // namespace heddle
