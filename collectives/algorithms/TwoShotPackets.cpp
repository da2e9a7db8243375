// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduce in two steps by packets: each rank sends slice s to rank s, which folds and sends the sum to all. Two legs
// and no barrier; 2 (n-1)/n times the data are sent, as packets.
#include "collectives/Algorithm.h"

namespace heddle {

// Slots 0 to n-1 hold slices that came for folding, slots n to 2n-1 sums, each by its sender. The output may be the
// input's memory: what a sum replaces has been read, since the sum was made of it.
static void write(ProtocolWriter &w, const Collective &collective) {
  int ranks = collective.ranks;
  auto foldOwn = [&] {
    TileHandle own = w.input(Rank::own());
    TileHandle sum = w.fold([&](int rank) { return w.receive(Rank::fixed(rank), {0, Rank::fixed(rank)}, own); });
    for (int k = 1; k < ranks; ++k)
      w.send(Rank::own(k), {ranks, Rank::own()}, sum);
    w.output(Rank::own(), sum);
  };
  w.eachTileInStages({[&] { sendParts(w, ranks); }, foldOwn, [&] { putOutReceived(w, ranks, ranks); }});
}

const Algorithm twoShotPackets = {
    "two_shot_packets",
    "sends slice s to rank s as packets, which folds them and sends the sum to all; no barrier",
    {CollectiveKind::AllReduce},
    /*slices=*/true,
    [](int) { return 0; },
    [](int ranks) { return 2 * ranks; },
    /*barriers=*/0,
    write};

} // namespace heddle
