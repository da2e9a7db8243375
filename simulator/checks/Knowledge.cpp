// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sorted vectors that copies share until one of them changes.
#include "simulator/checks/Knowledge.h"
#include <algorithm>

namespace heddle::simulator {

using Entry = Knowledge::Entry;

uint32_t Knowledge::epochOf(uint32_t id) const {
  if (!entries)
    return 0;
  auto found = std::lower_bound(entries->begin(), entries->end(), id,
                                [](const Entry &entry, uint32_t wanted) { return entry.id < wanted; });
  return found != entries->end() && found->id == id ? found->epoch : 0;
}

/// Whether `a` says all that `b` says.
static bool covers(std::span<const Entry> a, std::span<const Entry> b) {
  auto mine = a.begin();
  for (const Entry &entry : b) {
    while (mine != a.end() && mine->id < entry.id)
      ++mine;
    if (mine == a.end() || mine->id != entry.id || mine->epoch < entry.epoch)
      return false;
  }
  return true;
}

void Knowledge::join(std::span<const Entry> sorted) {
  if (sorted.empty() || (entries && covers(*entries, sorted)))
    return;
  auto joined = std::make_shared<std::vector<Entry>>();
  const std::vector<Entry> none, &mine = entries ? *entries : none;
  joined->reserve(mine.size() + sorted.size());
  auto a = mine.begin();
  auto b = sorted.begin();
  while (a != mine.end() || b != sorted.end())
    if (b == sorted.end() || (a != mine.end() && a->id < b->id))
      joined->push_back(*a++);
    else if (a == mine.end() || b->id < a->id)
      joined->push_back(*b++);
    else {
      joined->push_back({a->id, std::max(a->epoch, b->epoch)});
      ++a, ++b;
    }
  entries = std::move(joined);
}

std::vector<Entry> Knowledge::of(const std::function<bool(uint32_t wave)> &isWanted) const {
  std::vector<Entry> found;
  if (entries)
    for (const Entry &entry : *entries)
      if (entry.id != endedLaunches && isWanted(entry.id / streamCount))
        found.push_back(entry);
  return found;
}

void Knowledge::join(const Knowledge &other) {
  if (!other.entries || other.entries == entries)
    return;
  if (!entries)
    entries = other.entries;
  else
    join(std::span(*other.entries));
}

} // namespace heddle::simulator
