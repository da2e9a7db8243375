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
  /// The one operation that the region has for two numbers; null for another region.
  static mlir::Operation *onlyOperation(mlir::Region &region);
  /// Whether the region is a sum, or a product, of which the chip computes two at once.
  bool foldsPairs(mlir::Region &region);
  /// Combines each of two lists, an element of both at once.
  std::pair<Values, Values> foldPairs(mlir::Region &region, llvm::ArrayRef<Values> even, llvm::ArrayRef<Values> odd);
};

} // namespace heddle::simt
