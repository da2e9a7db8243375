// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shapes of a random matmul, and its result.
#pragma once
#include "tests/gluon_programs/Layouts.h"

namespace heddle::gluon_programs {

struct MatmulShape {
  Instruction instruction;
  int64_t width = 4; ///< kWidth
  int64_t m = 16, n = 16, k = 16;
};

MatmulShape randomMatmul(Random &random, const std::string &chip);
std::vector<int64_t> multiplied(const MatmulShape &shape, const Element &result, const std::vector<int64_t> &a,
                                const std::vector<int64_t> &b, std::vector<int64_t> sum);
std::string dotText(const Tile &a, const Tile &b, const Tile &sum);

} // namespace heddle::gluon_programs
