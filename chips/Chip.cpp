// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of chips and the search by name.
#include "chips/Chip.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace heddle {
namespace {

/// Levenshtein's edit distance.
size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

} // namespace

const std::vector<const Chip *> &allChips() {
  static const std::vector<const Chip *> chips = {&gfx942Chip, &gfx950Chip, &hostChip, &sm90Chip};
  return chips;
}

const Chip &lookupChip(const std::string &name) {
  std::string known;
  const Chip *closest = nullptr;
  size_t least = 3; // a name three edits away is another name
  for (const Chip *chip : allChips()) {
    if (chip->name == name)
      return *chip;
    known += (known.empty() ? "" : ", ") + chip->name;
    size_t distance = name.size() > 64 ? least : editDistance(name, chip->name);
    if (distance < least) {
      least = distance;
      closest = chip;
    }
  }
  std::vector<std::string> notes;
  if (closest)
    notes.push_back(fmt::format("did you mean '{}'", closest->name));
  notes.push_back("the known targets are " + known);
  throw inputError(fmt::format("unknown target '{}'", name), notes);
}

const char *vendorName(Vendor vendor) {
  return vendor == Vendor::Amd ? "amd" : vendor == Vendor::Nvidia ? "nvidia" : "host";
}

} // namespace heddle
