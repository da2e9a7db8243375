// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The optimal string alignment distance, over a table; names are short.
#include "support/Suggest.h"
#include <algorithm>

namespace heddle {
namespace {

constexpr size_t longestName = 64; ///< what is longer is no slip of a finger

/// Insertions, deletions, replacements and swaps of adjacent letters between two words.
size_t editDistance(const std::string &from, const std::string &to) {
  std::vector<std::vector<size_t>> table(from.size() + 1, std::vector<size_t>(to.size() + 1));
  for (size_t i = 0; i <= from.size(); ++i)
    for (size_t j = 0; j <= to.size(); ++j) {
      size_t &cell = table[i][j] = std::max(i, j);
      if (!i || !j)
        continue;
      cell = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (from[i - 1] != to[j - 1])});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        cell = std::min(cell, table[i - 2][j - 2] + 1);
    }
  return table[from.size()][to.size()];
}

/// Whether `given` is `name` without some of its letters.
bool leavesOut(const std::string &given, const std::string &name) {
  size_t found = 0;
  for (char letter : name)
    found += found < given.size() && given[found] == letter;
  return found == given.size();
}

} // namespace

std::string closestName(const std::string &given, const std::vector<std::string> &known) {
  if (given.size() > longestName)
    return "";
  std::string best;
  size_t bestDistance = given.size() <= 1 ? 1 : given.size() <= 3 ? 2 : 3;
  for (const std::string &name : known) {
    size_t distance = editDistance(given, name);
    // To leave letters out is likelier than to take others: of `i8` and `ui8`, `u8` is the second.
    bool likelier = !best.empty() && distance == bestDistance && leavesOut(given, name) && !leavesOut(given, best);
    if (distance < bestDistance || likelier) {
      bestDistance = distance;
      best = name;
    }
  }
  return best;
}

} // namespace heddle
