// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Broadcast: the root stages its input; after one barrier all read it. All ranks take part in the barrier, so that the
// root cannot run two rounds ahead of a reader.
#include "collectives/Algorithm.h"

namespace heddle {

static void write(ProtocolWriter &w, const Collective &collective) {
  std::vector<int> onlyRoot(size_t(collective.ranks), -1);
  onlyRoot[size_t(collective.root)] = collective.root;
  w.eachTile([&] { w.store(Rank::by(onlyRoot), {}, w.input(Rank::fixed(0))); });
  w.barrier();
  w.eachTile([&] { w.output(Rank::fixed(0), w.load(Rank::fixed(collective.root), {})); });
}

const Algorithm broadcastPull = {"broadcast_pull",
                                 "the root stages its input; after one barrier all read it",
                                 {CollectiveKind::Broadcast},
                                 /*slices=*/false,
                                 [](int) { return 1; },
                                 [](int) { return 0; },
                                 /*barriers=*/1,
                                 write};

} // namespace heddle
