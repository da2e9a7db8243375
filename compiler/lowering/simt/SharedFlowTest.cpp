// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random flows of branches and loops: along every path of at most two turns of each loop the chosen meetings order what
// conflicts, and without any one of them some path has a race.
#include "compiler/lowering/simt/SharedFlow.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <random>

using namespace heddle::simt;

namespace {

/// One step of a path: an access to a buffer, or a meeting.
struct Event {
  int buffer = -1;     ///< of an access
  bool writes = false; ///< of an access
  int proposed = -1;   ///< of a meeting: its number; -1 for a fixed one
};
using Path = std::vector<Event>;

/// Builds a random flow, and all its paths beside it.
class RandomFlow {
public:
  explicit RandomFlow(unsigned seed) : random(seed) {}

  std::vector<Path> build(int depth, int length) {
    std::vector<Path> paths = {{}};
    for (int i = 0; i < length; ++i) {
      int kind = pick(depth ? 10 : 7);
      if (kind < 6) {
        append(paths, {use()});
      } else if (kind < 7) {
        flow.fixedMeeting();
        append(paths, {{Event{}}});
      } else if (kind < 9) {
        SharedFlow::Ends exits;
        unsigned head = flow.place();
        exits = flow.ends;
        ++loops;
        std::vector<Path> body = build(depth - 1, 1 + pick(2)), turns = {{}};
        --loops;
        flow.link(flow.ends, head);
        flow.ends = exits;
        for (const Path &first : body) {
          turns.push_back(first);
          for (const Path &second : body)
            turns.push_back(joined(first, second));
        }
        append(paths, turns);
      } else {
        SharedFlow::Ends before = flow.ends;
        std::vector<Path> sides = build(depth - 1, 1);
        SharedFlow::Ends then = std::exchange(flow.ends, before);
        for (Path &side : build(depth - 1, 1))
          sides.push_back(side);
        flow.join(then);
        append(paths, sides);
      }
    }
    return paths;
  }

  SharedFlow flow;

private:
  int pick(int count) { return int(random() % unsigned(count)); }
  static Path joined(Path first, const Path &second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
  static void append(std::vector<Path> &paths, const std::vector<Path> &next) {
    std::vector<Path> result;
    for (const Path &path : paths)
      for (const Path &rest : next)
        result.push_back(joined(path, rest));
    paths = result;
  }
  Path use() {
    auto buffer = unsigned(flow.buffers.size());
    flow.buffers.push_back({16 * (1 + pick(3)), pick(3) == 0, 0});
    flow.proposeMeeting(loops);
    flow.access(buffer, SharedFlow::Write);
    flow.proposeMeeting(loops);
    flow.access(buffer, SharedFlow::Read);
    int first = meetings;
    meetings += 2;
    return {{-1, false, first}, {int(buffer), true, -1}, {-1, false, first + 1}, {int(buffer), false, -1}};
  }

  std::mt19937 random;
  unsigned loops = 0;
  int meetings = 0;
};

bool overlap(const SharedBuffer &a, const SharedBuffer &b) {
  return a.start < b.start + b.bytes && b.start < a.start + a.bytes;
}

/// Whether two accesses of the path conflict with no meeting between them that is large enough.
bool hasRace(const Path &path, const SharedFlow &flow, const std::vector<Meeting> &meetings) {
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i].buffer < 0)
      continue;
    Meeting met = Meeting::None;
    for (size_t k = i + 1; k < path.size(); ++k) {
      const Event &event = path[k];
      if (event.buffer < 0) {
        met = std::max(met, event.proposed < 0 ? Meeting::Block : meetings[size_t(event.proposed)]);
        continue;
      }
      const SharedBuffer &a = flow.buffers[size_t(path[i].buffer)], &b = flow.buffers[size_t(event.buffer)];
      bool within = flow.oneWarp || (path[i].buffer == event.buffer && a.perWarp);
      bool conflict = (path[i].writes || event.writes) && overlap(a, b);
      if (conflict && met < (within ? Meeting::Warp : Meeting::Block))
        return true;
    }
  }
  return false;
}

} // namespace

TEST(SharedFlow, meetings_are_enough_and_none_is_too_many) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomFlow random(seed);
    random.flow.oneWarp = seed % 8 == 0;
    std::vector<Path> paths = random.build(2, 3);
    if (paths.size() > 2000)
      continue;
    random.flow.placeBuffers(seed % 3 ? 1024 : 64);
    std::vector<Meeting> meetings = random.flow.chooseMeetings();
    auto races = [&](const std::vector<Meeting> &chosen) {
      return llvm::any_of(paths, [&](const Path &path) { return hasRace(path, random.flow, chosen); });
    };
    ASSERT_FALSE(races(meetings));
    for (size_t i = 0; i < meetings.size(); ++i)
      if (meetings[i] != Meeting::None) {
        std::vector<Meeting> fewer = meetings;
        fewer[i] = Meeting(uint8_t(meetings[i]) - 1);
        EXPECT_TRUE(races(fewer)) << "meeting " << i;
      }
  }
}

TEST(SharedFlow, buffers_that_take_turns_lie_apart_as_far_as_there_is_room) {
  for (int64_t limit : {1056, 80, 48}) {
    SharedFlow flow;
    for (unsigned buffer = 0; buffer < 4; ++buffer) {
      flow.buffers.push_back({16, false, /*first=*/32});
      flow.proposeMeeting(0);
      flow.access(buffer, SharedFlow::Write);
      flow.proposeMeeting(0);
      flow.access(buffer, SharedFlow::Read);
    }
    int64_t end = flow.placeBuffers(limit);
    EXPECT_EQ(end, limit == 48 ? 48 : 64); // two places do
    EXPECT_EQ(llvm::count(flow.chooseMeetings(), Meeting::Block), limit == 48 ? 7 : 4);
  }
}
