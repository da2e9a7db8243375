// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Options and tile parameters that the kernels of columns of groups have in common.
#include "kernels/fp8_jagged_colwise/Columns.h"

namespace heddle::kernels {

std::vector<Option> columnsOptions() {
  std::vector<Option> all = jaggedOptions();
  all.push_back(methodOption("reduction", ""));
  return all;
}

std::vector<TileParameter> columnsTiles() {
  return {{"block_n", BlocksOfColumns::list(), "reduction: columns of a tile"},
          {"block_k", BlocksOfGroupedRows::list(), "reduction: rows of a tile"},
          {"shared_n", SharedBlocksOfColumns::list(), "cooperative: columns of a tile"},
          {"shared_k", SharedBlocksOfGroupedRows::list(), "cooperative: rows of a tile"},
          {"warps", {1, 2, 4, 8, 16}, "warps of a block"}};
}

std::vector<TuningVariant> columnsVariants() {
  return {{{{"method", "reduction"}}, {"block_n", "block_k", "warps"}, nullptr},
          {{{"method", "cooperative"}}, {"shared_n", "shared_k", "warps"}, nullptr}};
}

int64_t usualSharedK(const Call &call) {
  return call.extent("K") > 400 * call.extent("G") ? 512 : 256;
}

} // namespace heddle::kernels
