// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thread code of operations that combine elements along an axis by a region.
#pragma once
#include "compiler/lowering/simt/SharedCode.h"

namespace heddle::simt {

class CombineCode : public SharedCode {
public:
  using SharedCode::SharedCode;

protected:
  using Place = llvm::SmallVector<int64_t, 4>; ///< what a register adds to the coordinates off an axis
  static Place placeOff(int skippedAxis, const LinearLayout &layout, int64_t reg);
  Values fold(mlir::Region &region, llvm::SmallVector<Values> parts); ///< combines all parts, adjacent ones first
};

} // namespace heddle::simt
