// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers of a tile that one instruction reads or writes together.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace heddle::simt {

/// The registers that differ from `first` in these bits, in their order.
inline llvm::SmallVector<int64_t> groupOf(int64_t first, llvm::ArrayRef<int> bits) {
  llvm::SmallVector<int64_t> group = {first};
  for (int bit : bits)
    for (size_t i = 0, count = group.size(); i < count; ++i)
      group.push_back(group[i] | int64_t(1) << bit);
  return group;
}

inline int64_t maskOf(llvm::ArrayRef<int> bits) {
  int64_t mask = 0;
  for (int bit : bits)
    mask |= int64_t(1) << bit;
  return mask;
}

} // namespace heddle::simt
