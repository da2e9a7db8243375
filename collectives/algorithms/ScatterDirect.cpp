// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reduce-scatter without a copy: each rank folds its own part of all inputs where they lie. The form for large data
// where peers' memory is as good as the own.
#include "collectives/Algorithm.h"

namespace heddle {

// The first barrier says that the inputs are there, the second that they may be overwritten. In place, where the output
// is the input's own part, no barrier is wanted between: part r of every input is read by rank r alone, so no rank
// reads what a rank writes but itself, tile by tile before it writes.
static void write(ProtocolWriter &w, const Collective &) {
  w.publish();
  w.barrier();
  w.eachTile(
      [&] { w.output(Rank::fixed(0), w.fold([&](int rank) { return w.peerInput(Rank::fixed(rank), Rank::own()); })); });
  w.barrier();
}

const Algorithm scatterDirect = {"scatter_direct",
                                 "folds the own part of all inputs where they lie; two barriers",
                                 {CollectiveKind::ReduceScatter},
                                 /*slices=*/false,
                                 [](int) { return 0; },
                                 [](int) { return 0; },
                                 /*barriers=*/2,
                                 write,
                                 /*direct=*/true};

} // namespace heddle
