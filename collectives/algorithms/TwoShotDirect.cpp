// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduce in two steps without a copy: ranks tell each other where their operands lie, each folds one slice of all
// inputs where they are and writes the sum into all outputs. The form for large data where peers' memory is as good as
// the own.
#include "collectives/Algorithm.h"

namespace heddle {

// Two barriers are enough. Before the first a rank has its input, gives its output away and says where both are; after
// the second no rank will touch them any more. Between the two each element of every operand belongs to one rank, the
// owner of its slice, which reads it from all inputs before it writes it to all outputs: so input and output may be the
// same memory. The addresses need no second copy for the next round: no rank passes the second barrier before all have
// read them.
static void write(ProtocolWriter &w, const Collective &collective) {
  w.publish();
  w.barrier();
  w.eachTile([&] {
    TileHandle sum = w.fold([&](int rank) { return w.peerInput(Rank::fixed(rank), Rank::own()); });
    for (int k = 0; k < collective.ranks; ++k)
      w.peerOutput(Rank::own(k), Rank::own(), sum);
  });
  w.barrier();
}

const Algorithm twoShotDirect = {
    "two_shot_direct",
    "each rank folds one slice of all inputs into all outputs where they lie; two barriers",
    {CollectiveKind::AllReduce},
    /*slices=*/true,
    [](int) { return 0; },
    [](int) { return 0; },
    /*barriers=*/2,
    write,
    /*direct=*/true};

} // namespace heddle
