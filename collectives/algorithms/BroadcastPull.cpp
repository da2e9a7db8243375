// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Broadcast: rank 0 stages its input; after one meeting all read it. All ranks meet, so that rank 0 cannot run two
// rounds ahead of a reader.
#include "collectives/Algorithm.h"

namespace heddle {

static void write(ProtocolWriter &w, const Collective &collective) {
  std::vector<int> onlyFirst(size_t(collective.ranks), -1);
  onlyFirst[0] = 0;
  w.eachTile([&] { w.store(Rank::by(onlyFirst), {}, w.input(Rank::fixed(0))); });
  w.barrier();
  w.eachTile([&] { w.output(Rank::fixed(0), w.load(Rank::fixed(0), {})); });
}

const Algorithm broadcastPull = {"broadcast_pull",
                                 "rank 0 stages its input; after one barrier all read it",
                                 {CollectiveKind::Broadcast},
                                 /*slices=*/false,
                                 [](int) { return 1; },
                                 [](int) { return 0; },
                                 /*barriers=*/1,
                                 write};

} // namespace heddle
