// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `peer` dialect: how a tile program talks to the same program on other devices (docs/peer.md).
#pragma once
#include "binary/PeerAbi.h"
#include "compiler/dialects/triton/Triton.h"

#include "compiler/dialects/peer/PeerDialect.h.inc"
#include "compiler/dialects/peer/PeerEnums.h.inc"

namespace heddle::peer {

/// Of a function: between two barriers of its block it stores no element twice, so that stores need no order among
/// them. Kernels of collectives have it.
inline constexpr llvm::StringLiteral writesOnceAttribute = "peer.writes_once";

/// `!tt.ptr<i64>`: a group, or slots of 64 bits.
triton::PointerType i64PointerType(mlir::MLIRContext *context);
/// The integer type of `bits` bits in the shape of `like`, a scalar or a tile.
mlir::Type integerTypeOf(mlir::Type like, unsigned bits);

} // namespace heddle::peer

#define GET_OP_CLASSES
#include "compiler/dialects/peer/PeerOps.h.inc"
