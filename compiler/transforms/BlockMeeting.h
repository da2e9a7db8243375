// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How block b of a rank meets block b of all others: heddle-expand-peer's code for block_barrier and block_exchange.
#pragma once
#include "compiler/dialects/peer/Peer.h"

namespace heddle::peer {

void expandMeeting(BlockBarrierOp op);
void expandMeeting(BlockExchangeOp op);

} // namespace heddle::peer
