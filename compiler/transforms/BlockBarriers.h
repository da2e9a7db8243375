// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How block b of a rank waits for block b of all others: heddle-expand-peer's code for block_barrier and
// block_exchange.
#pragma once
#include "compiler/dialects/peer/Peer.h"

namespace heddle::peer {

void expandBarrier(BlockBarrierOp op);
void expandBarrier(BlockExchangeOp op);

} // namespace heddle::peer
