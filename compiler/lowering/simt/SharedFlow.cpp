// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One check decides everything: whether a set of meetings orders all accesses that must be ordered. Meetings are left
// out one by one while the check holds. With fewer meetings it holds for less, so that each of those that stay is
// needed.
#include "compiler/lowering/simt/SharedFlow.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

using namespace heddle::simt;

//===-- The flow -------------------------------------------------------------------------------------------------===//

unsigned SharedFlow::add(Step step) {
  step.before.append(ends.begin(), ends.end());
  auto number = unsigned(steps.size());
  steps.push_back(std::move(step));
  ends = {number};
  return number;
}

void SharedFlow::access(unsigned buffer, uint8_t kinds) {
  if (ends.size() == 1 && !steps.empty()) {
    Step &last = steps[ends.front()];
    if (last.kind == Step::Use && last.number == buffer && last.phase == phase) {
      last.kinds |= kinds;
      return;
    }
  }
  Step step;
  step.kind = Step::Use;
  step.kinds = kinds;
  step.number = buffer;
  step.phase = phase;
  add(std::move(step));
}

void SharedFlow::proposeMeeting(unsigned depth) {
  ++phase;
  Step step;
  step.kind = Step::Proposed;
  step.number = unsigned(proposed.size());
  step.depth = depth;
  proposed.push_back(add(std::move(step)));
}

void SharedFlow::fixedMeeting() {
  ++phase;
  Step step;
  step.kind = Step::Fixed;
  add(std::move(step));
}

void SharedFlow::join(const Ends &other) {
  for (unsigned end : other)
    if (!llvm::is_contained(ends, end))
      ends.push_back(end);
}

unsigned SharedFlow::place() {
  return add({});
}

void SharedFlow::link(const Ends &from, unsigned to) {
  steps[to].before.append(from.begin(), from.end());
}

//===-- Which meetings -------------------------------------------------------------------------------------------===//

Meeting SharedFlow::between(const Step &first, const Step &second) const {
  uint8_t both = first.kinds | second.kinds;
  bool harmless = both == Read || both == Update;
  // Within a phase a buffer's accesses are for different bytes. The same phase an iteration later comes after that
  // iteration's other phases, which had to meet it.
  if (harmless || (first.number == second.number && first.phase == second.phase))
    return Meeting::None;
  const SharedBuffer &a = buffers[first.number], &b = buffers[second.number];
  bool within = oneWarp || (first.number == second.number && a.perWarp);
  bool overlap = a.start < b.start + b.bytes && b.start < a.start + a.bytes;
  return !overlap ? Meeting::None : within ? Meeting::Warp : Meeting::Block;
}

// Forward: the accesses since which no thread of another warp, or no other lane, can be sure to have gone on.
bool SharedFlow::isOrdered(const std::vector<Meeting> &meetings) const {
  struct Pending {
    llvm::BitVector lanes; ///< since which the warp has not met
    llvm::BitVector warps; ///< since which the block has not met
  };
  auto count = unsigned(steps.size());
  std::vector<Pending> after(count, {llvm::BitVector(count), llvm::BitVector(count)});
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned number = 0; number < count; ++number) {
      const Step &step = steps[number];
      Pending now{llvm::BitVector(count), llvm::BitVector(count)};
      for (unsigned before : step.before) {
        now.lanes |= after[before].lanes;
        now.warps |= after[before].warps;
      }
      if (step.kind == Step::Use) {
        for (unsigned other : now.warps.set_bits()) {
          Meeting need = between(steps[other], step);
          if (need == Meeting::Block || (need == Meeting::Warp && now.lanes[other]))
            return false;
        }
        now.lanes.set(number);
        now.warps.set(number);
      } else if (step.kind != Step::Place) {
        Meeting meeting = step.kind == Step::Fixed ? Meeting::Block : meetings[step.number];
        if (meeting != Meeting::None)
          now.lanes.reset();
        if (meeting == Meeting::Block)
          now.warps.reset();
      }
      if (now.lanes != after[number].lanes || now.warps != after[number].warps) {
        after[number] = std::move(now);
        changed = true;
      }
    }
  }
  return true;
}

std::vector<Meeting> SharedFlow::chooseMeetings() const {
  std::vector<Meeting> meetings(proposed.size(), Meeting::Block);
  std::vector<unsigned> order(proposed.size());
  std::iota(order.begin(), order.end(), 0u);
  // Those of inner loops first: they cost most.
  llvm::sort(order, [&](unsigned x, unsigned y) {
    return std::pair(steps[proposed[y]].depth, x) < std::pair(steps[proposed[x]].depth, y);
  });
  for (Meeting wanted : {Meeting::None, Meeting::Warp})
    for (unsigned number : order) {
      Meeting was = meetings[number];
      if (was != Meeting::Block)
        continue;
      meetings[number] = wanted;
      if (!isOrdered(meetings))
        meetings[number] = was;
    }
  return meetings;
}

//===-- Where buffers lie ----------------------------------------------------------------------------------------===//

// The buffers that may be in use when another one's turn comes, as if every proposed meeting between two accesses of
// one buffer were kept: a buffer that threads meet at is done with what came before it.
std::vector<llvm::SmallVector<unsigned, 4>> SharedFlow::findNeighbours() const {
  auto count = unsigned(buffers.size());
  std::vector<llvm::BitVector> after(steps.size(), llvm::BitVector(count));
  std::vector<llvm::BitVector> neighbours(count, llvm::BitVector(count));
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [number, step] : llvm::enumerate(steps)) {
      llvm::BitVector now(count);
      for (unsigned before : step.before)
        now |= after[before];
      if (step.kind == Step::Use) {
        neighbours[step.number] |= now;
        bool writesOnly = step.kinds == Write;
        if (!buffers[step.number].perWarp && !writesOnly)
          now.reset();
        now.set(step.number);
      } else if (step.kind == Step::Fixed) {
        now.reset();
      }
      if (now != after[number]) {
        after[number] = std::move(now);
        changed = true;
      }
    }
  }
  std::vector<llvm::SmallVector<unsigned, 4>> result(count);
  for (unsigned one = 0; one < count; ++one)
    for (unsigned other : neighbours[one].set_bits())
      if (other != one) {
        result[one].push_back(other);
        result[other].push_back(one);
      }
  return result;
}

int64_t SharedFlow::placeBuffers(int64_t limit) {
  auto neighbours = findNeighbours();
  std::vector<unsigned> order(buffers.size());
  std::iota(order.begin(), order.end(), 0u);
  llvm::sort(order,
             [&](unsigned x, unsigned y) { return std::pair(buffers[y].bytes, x) < std::pair(buffers[x].bytes, y); });
  std::vector<bool> placed(buffers.size());
  int64_t end = 0;
  for (unsigned number : order) {
    SharedBuffer &buffer = buffers[number];
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (unsigned other : neighbours[number])
      if (placed[other])
        taken.push_back({buffers[other].start, buffers[other].start + buffers[other].bytes});
    std::sort(taken.begin(), taken.end());
    buffer.start = buffer.first;
    for (auto [from, to] : taken)
      if (from < buffer.start + buffer.bytes && buffer.start < to)
        buffer.start = (to + 15) / 16 * 16;
    if (buffer.start + buffer.bytes > limit)
      buffer.start = buffer.first; // over something: a meeting more
    placed[number] = true;
    end = std::max(end, buffer.start + buffer.bytes);
  }
  return end;
}
