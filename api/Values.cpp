// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The type of a `.npy` file's elements, and the text of an index.
#include "api/Values.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

ElementType typeOfDtype(const std::string &dtype, const std::string &path) {
  for (ElementType type : allElementTypes())
    if (dtype == numpyDtype(type) && type != ElementType::BF16 && type != ElementType::F8E4M3FN &&
        type != ElementType::F8E5M2 && type != ElementType::F8E4M3FNUZ && type != ElementType::F8E5M2FNUZ)
      return type;
  throw inputError(fmt::format("{}: no element type for dtype `{}`", path, dtype));
}

std::string formatIndex(int64_t element, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0; element /= shape[i])
    index[i] = element % shape[i];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

} // namespace heddle
