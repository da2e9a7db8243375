// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-to-all without a copy: of any two ranks one reads what each has for the other, where it lies, and stores both at
// their destinations. The form for large data where peers' memory is as good as the own.
#include "collectives/Algorithm.h"

namespace heddle {

// Rank a's part b and rank b's part a are swapped. In place, a rank that only pushed, or only pulled, would overwrite
// what its peer has not read yet; one rank that loads both before it stores both needs no barrier between, as no rank
// else touches the two. A rank does so with the half of its peers that come next to it; an even number of ranks leaves
// one peer over, with which it takes turns.
static void write(ProtocolWriter &w, const Collective &collective) {
  int ranks = collective.ranks, half = ranks / 2, peers = (ranks - 1) / 2;
  auto theirs = [&](int k) { return w.peerInput(Rank::own(k), Rank::own()); };
  auto swap = [&](int k, TileHandle mine, TileHandle other) {
    w.output(Rank::own(k), other);
    w.peerOutput(Rank::own(k), Rank::own(), mine);
  };
  w.publish();
  w.barrier();
  w.eachTile([&] {
    std::vector<TileHandle> mine = {w.input(Rank::own())}, others = mine; // all loads before the first store
    for (int k = 1; k <= peers; ++k) {
      others.push_back(theirs(k));
      mine.push_back(w.input(Rank::own(k)));
    }
    w.output(Rank::own(), mine[0]);
    for (int k = 1; k <= peers; ++k)
      swap(k, mine[size_t(k)], others[size_t(k)]);
    if (ranks % 2 == 0)
      w.inTurn([&] {
        TileHandle other = theirs(half);
        swap(half, w.input(Rank::own(half)), other);
      });
  });
  w.barrier();
}

const Algorithm exchangeDirect = {"exchange_direct",
                                  "one of any two ranks swaps their parts where they lie; two barriers",
                                  {CollectiveKind::AllToAll},
                                  /*slices=*/false,
                                  [](int) { return 0; },
                                  [](int) { return 0; },
                                  /*barriers=*/2,
                                  write,
                                  /*direct=*/true};

} // namespace heddle
