// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the elements of a tile of pointers lie among each other.
#pragma once
#include "mlir/IR/Value.h"

namespace heddle::host {

/// Whether two tiles of pointers lie alike: element i of one is as far from element j as in the other, whatever scalars
/// are added, and where both have the same strides. False where that takes long to find out.
bool lieAlike(mlir::Value pointers, mlir::Value others);

} // namespace heddle::host
