// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Time is counted in stages: stage s of iteration k is at k * stages + s for the group ahead, and one later for the
// following group. Accesses of different warps are ordered when they are two stages apart.
#include "tests/gluon_programs/PipelinePlacement.h"
#include <algorithm>
#include <limits>
#include <utility>

namespace heddle::gluon_programs {

using fuzz::Random;

constexpr int64_t never = std::numeric_limits<int64_t>::max() / 2;

/// From filling a slot to reading it.
int64_t PipelinePlacement::distance(const RingPlacement &ring, int64_t readStage) const {
  return ring.ahead * stages + readStage - ring.fillStage;
}

/// Whether the loop's own barrier between its last stage and its first stands before the wait, not after it.
bool PipelinePlacement::isLate(const WaitPlacement &wait) const {
  return !isStraight && wait.stage == 0 && !wait.isAtEnd && barriers.back();
}

/// When the copy of a tile (counted from the first that the pipeline reads) has been waited for: a wait at time t is
/// over for both groups at t + 1. Negative: before the pipeline.
int64_t PipelinePlacement::timeOfWait(const RingPlacement &ring, int64_t tile) const {
  auto groups = int64_t(groupStages.size()), number = tile * groups + int64_t(ring.group);
  if (number < groups * ahead - pendingBefore)
    return -1;
  int64_t first = never;
  for (const WaitPlacement &wait : waits) {
    // In iteration i there are groups * (ahead + i) groups, and those of the stages before.
    auto before = int64_t(
        std::count_if(groupStages.begin(), groupStages.end(), [&](int64_t stage) { return stage < wait.stage; }));
    for (int64_t i = wait.isAtEnd ? 1 : 0; i < tile + 20; ++i)
      if (number < groups * (ahead + i) + before - wait.pending) {
        int64_t time = i * stages + wait.stage + isLate(wait);
        first = std::min(first, isStraight && time == 0 ? -1 : time); // nothing of straight code is before it
        break;
      }
  }
  return first;
}

std::set<std::string> PipelinePlacement::brokenRules() const {
  std::set<std::string> rules;
  for (const RingPlacement &ring : rings)
    for (int64_t readStage : ring.readStages) {
      // The slot is filled again for the tile that is `slots` later.
      int64_t after = distance(ring, readStage), before = ring.slots * stages - after;
      if (before < 2 || after < (ring.isCopied ? 1 : 2))
        rules.insert("W7");
      if (ring.isCopied && before < 1)
        rules.insert("K9");
      // Tiles from before the pipeline, and some that it copies.
      for (int64_t tile = 0; ring.isCopied && tile < ahead + 8; ++tile) {
        int64_t late = timeOfWait(ring, tile) - (tile * stages + readStage - 1);
        if (late == 1 ||
            (late == 2 && std::any_of(waits.begin(), waits.end(), [&](auto &wait) { return isLate(wait); })))
          rules.insert("W7"); // waited for by the warp that reads, but not by the other group
        if (late > 1)
          rules.insert("K9");
      }
    }
  return rules;
}

bool PipelinePlacement::isRightInOrder() const {
  for (const RingPlacement &ring : rings)
    for (int64_t readStage : ring.readStages)
      if (distance(ring, readStage) < 1 || distance(ring, readStage) >= ring.slots * stages)
        return false;
  return !brokenRules().contains("K9");
}

static PipelinePlacement someOf(Random &random) {
  PipelinePlacement all;
  all.stages = random.between(2, 4);
  all.ahead = random.below(5);
  bool hasCopies = false;
  for (int i = random.chance(35) ? 2 : 1; i > 0; --i) {
    RingPlacement ring;
    ring.isCopied = random.chance(60);
    ring.slots = random.between(2, 5);
    ring.ahead = ring.isCopied ? all.ahead : random.between(0, ring.slots);
    ring.fillStage = random.below(all.stages);
    for (int reads = random.chance(25) ? 2 : 1; reads > 0; --reads)
      ring.readStages.push_back(random.below(all.stages));
    hasCopies |= ring.isCopied;
    all.rings.push_back(ring);
  }
  std::vector<RingPlacement *> copied;
  for (RingPlacement &ring : all.rings)
    if (ring.isCopied)
      copied.push_back(&ring);
  std::sort(copied.begin(), copied.end(),
            [](auto *x, auto *y) { return std::pair(x->fillStage, x) < std::pair(y->fillStage, y); });
  for (RingPlacement *ring : copied) {
    if (all.groupStages.empty() || all.groupStages.back() != ring->fillStage || random.chance(50))
      all.groupStages.push_back(ring->fillStage);
    ring->group = all.groupStages.size() - 1;
  }
  auto groups = int64_t(all.groupStages.size());
  for (int64_t i = hasCopies ? random.pick(std::vector<int64_t>{0, 1, 1, 1, 1, 2}) : 0; i > 0; --i) {
    WaitPlacement wait{random.below(all.stages), random.below(groups * all.ahead + 2)};
    wait.isAtEnd = wait.stage == 0 && random.chance(50);
    all.waits.push_back(wait);
  }
  for (int64_t i = 0; i <= all.stages; ++i)
    all.barriers.push_back(random.chance(12));
  if (all.barriers.front()) // one of the two
    all.barriers.back() = false;
  all.pendingBefore = random.below(groups * all.ahead + 1);
  return all;
}

PipelinePlacement randomPlacement(Random &random, bool isStraight, bool isLegal) {
  while (true) {
    PipelinePlacement all = someOf(random);
    all.isStraight = isStraight;
    // Others read a slot long before it is filled, or long after it was filled again.
    bool isSound = std::all_of(all.rings.begin(), all.rings.end(), [&](const RingPlacement &ring) {
      return ring.ahead <= ring.slots &&
             std::all_of(ring.readStages.begin(), ring.readStages.end(), [&](int64_t readStage) {
               int64_t distance = ring.ahead * all.stages + readStage - ring.fillStage;
               return distance >= -1 && distance <= ring.slots * all.stages + 1;
             });
    });
    if (isSound && all.brokenRules().empty() == isLegal)
      return all;
  }
}

} // namespace heddle::gluon_programs
