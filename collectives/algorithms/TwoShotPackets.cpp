// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduce in two steps by packets: each rank sends slice s to rank s, which folds and sends the sum to all. Two legs
// and no barrier, with 4 (n-1)/n times the data on the wire.
#include "collectives/Algorithm.h"

namespace heddle {

// Slots 0 to n-1 hold slices that came for folding, slots n to 2n-1 sums, each by its sender.
static void write(ProtocolWriter &w, const Collective &collective) {
  int ranks = collective.ranks;
  w.eachTile([&] {
    for (int k = 1; k < ranks; ++k)
      w.send(Rank::own(k), {0, Rank::own()}, w.input(Rank::own(k)));
    TileHandle own = w.input(Rank::own());
    TileHandle sum = w.fold([&](int rank) { return w.receive(rank, {0, Rank::fixed(rank)}, own); });
    for (int k = 1; k < ranks; ++k)
      w.send(Rank::own(k), {ranks, Rank::own()}, sum);
    std::vector<TileHandle> sums;
    for (int rank = 0; rank < ranks; ++rank)
      sums.push_back(w.receive(rank, {ranks, Rank::fixed(rank)}, sum));
    for (int rank = 0; rank < ranks; ++rank)
      w.output(Rank::fixed(rank), sums[size_t(rank)]);
  });
}

const Algorithm twoShotPackets = {
    "two_shot_packets",
    "sends slice s to rank s as packets; each rank folds its slice and sends the sum to all",
    {CollectiveKind::AllReduce},
    /*slices=*/true,
    [](int) { return 0; },
    [](int ranks) { return 2 * ranks; },
    /*barriers=*/0,
    write};

} // namespace heddle
