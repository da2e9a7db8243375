// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inlines a combining region for the registers of a thread, and finds where an element lies off the axis.
#include "compiler/lowering/simt/CombineCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

// Adjacent ones first, so that chains are short.
ThreadCode::Values CombineCode::fold(Region &region, SmallVector<Values> parts) {
  while (parts.size() > 1) {
    SmallVector<Values> next;
    for (size_t i = 0; i + 1 < parts.size(); i += 2) {
      Values arguments = parts[i];
      llvm::append_range(arguments, parts[i + 1]);
      next.push_back(runRegion(region, arguments));
    }
    if (parts.size() % 2)
      next.push_back(parts.back());
    parts = std::move(next);
  }
  return parts.front();
}

CombineCode::Place CombineCode::placeOff(int skippedAxis, const LinearLayout &layout, int64_t reg) {
  Place place;
  for (int axis = 0; axis < int(layout.outputs().size()); ++axis)
    if (axis != skippedAxis)
      place.push_back(registerPart(layout, reg, tileDim(axis)));
  return place;
}
