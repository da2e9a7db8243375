// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations of the tile level become those of this one: accesses, which say how many registers an instruction takes,
// and what exchanges elements among threads.
#pragma once
#include "compiler/dialects/simt/Simt.h"

namespace heddle::simt {

/// Replaces a load, store or atomic access of scalars, or of tiles with layouts, whose addresses are contiguous that
/// far. Others stay what they are. `op` is gone where this returns something.
mlir::Operation *replaceAccess(mlir::Operation *op, AccessWidth width);
/// What there is to take where nothing is known of the addresses: single elements.
AccessWidth singleElements(mlir::Type pointer);

/// Replaces a reduction, scan, histogram, gather or barrier. Others stay what they are; returns whether it did.
bool replaceExchange(mlir::Operation *op);

} // namespace heddle::simt
