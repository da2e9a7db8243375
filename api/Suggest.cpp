// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "api/Suggest.h"
#include <algorithm>
#include <numeric>

namespace heddle {
namespace {

/// Levenshtein's distance, by rows.
size_t editDistance(const std::string &from, const std::string &to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      size_t replaced = diagonal + (from[i] != to[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

} // namespace

std::string closestName(const std::string &given, const std::vector<std::string> &known) {
  std::string best;
  size_t bestDistance = given.size() <= 3 ? 2 : 3;
  for (const std::string &name : known)
    if (size_t distance = editDistance(given, name); distance < bestDistance) {
      bestDistance = distance;
      best = name;
    }
  return best;
}

} // namespace heddle
