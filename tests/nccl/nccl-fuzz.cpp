// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs of NCCL's users: all ranks make the same calls on the same communicators in the same order, but each
// puts them into groups as it likes, as far as NCCL allows: several collectives of one communicator are in one group on
// all ranks or on none. Each rank also chooses for itself how communicators are made, and where arrays lie. Every
// element of every result is compared. `--seed` says which program; processes with host memory.
#include "tests/nccl/ProgramSupport.h"
#include <memory>
#include <random>

using namespace heddle::ncclprogram;

namespace {

using Random = std::mt19937;

/// From 0 to `most`; std::uniform_int_distribution differs between libraries.
int upTo(Random &random, int most) {
  return int(random() % unsigned(most + 1));
}

enum class Kind { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, Exchange }; ///< the last by ncclSend, Recv

struct Op {
  Kind kind;
  size_t count;
  int reduction, root, salt;
};
/// Calls of one communicator that are together on all ranks.
struct Unit {
  size_t comm;
  std::vector<Op> ops;
  bool isExchange() const { return ops.front().kind == Kind::Exchange; }
};

Unit makeUnit(Random &random, size_t comms) {
  constexpr size_t counts[] = {0, 1, 7, 40, 333, 20000};
  Unit unit{size_t(upTo(random, int(comms) - 1)), {}};
  int several = upTo(random, 5) == 0 ? 2 + upTo(random, 1) : 1;
  for (int i = 0; i < several; ++i) {
    int kind = upTo(random, several > 1 ? 4 : 6); // all-reduces more often
    Op op{Kind(kind == 6 ? 0 : kind), counts[upTo(random, 5)], upTo(random, 3), upTo(random, 1), upTo(random, 1000)};
    if (op.kind == Kind::Exchange)
      op.count = 1 + size_t(upTo(random, 300));
    unit.ops.push_back(op);
  }
  return unit;
}

/// Element i of part p of a rank's input: products of eight are exact, too.
float inputOf(const Op &op, int of, int part, size_t i) {
  return float(1 + (size_t(of) * 5 + size_t(part) * 3 + i + size_t(op.salt)) % 3);
}

float reduced(const Op &op, int members, int part, size_t i) {
  float value = inputOf(op, 0, part, i);
  for (int other = 1; other < members; ++other) {
    float next = inputOf(op, other, part, i);
    value = op.reduction == reduction::sum       ? value + next
            : op.reduction == reduction::product ? value * next
            : op.reduction == reduction::maximum ? std::max(value, next)
                                                 : std::min(value, next);
  }
  return value;
}

float outputOf(const Op &op, const Group &g, int part, size_t i) {
  switch (op.kind) {
  case Kind::AllReduce:
    return reduced(op, g.ranks, 0, i);
  case Kind::AllGather:
    return inputOf(op, part, 0, i);
  case Kind::ReduceScatter:
    return reduced(op, g.ranks, g.rank, i);
  case Kind::AllToAll:
    return inputOf(op, part, g.rank, i);
  case Kind::Broadcast:
    return inputOf(op, op.root, 0, i);
  case Kind::Exchange:
    return inputOf(op, (g.rank + g.ranks - 1) % g.ranks, 0, i);
  }
  return 0;
}

/// A communicator that is made without blocking goes on in the background.
void finish(Comm comm, Result done, const char *what) {
  Result state = done;
  while (state == result::inProgress)
    REQUIRE(ncclCommGetAsyncError(comm, &state));
  require(state, what);
}

/// A call with its arrays, until its result can be looked at.
class Running {
public:
  Running(const Op &op, const Group &g, Random &own) : op(op), g(g) {
    bool gives = op.kind == Kind::AllGather || op.kind == Kind::AllToAll;
    bool takes = op.kind == Kind::ReduceScatter || op.kind == Kind::AllToAll;
    outputs = op.count * size_t(gives ? g.ranks : 1);
    size_t inputs = op.count * size_t(takes ? g.ranks : 1), shift = size_t(upTo(own, 1)), end = shift + 1;
    bool isInPlace = op.kind != Kind::AllToAll && op.kind != Kind::Exchange && upTo(own, 1);
    large.assign(std::max(inputs, outputs) + end, -1);
    input = output = large.data() + shift;
    if (!isInPlace) {
      other.assign(outputs + end, -1);
      output = other.data() + shift;
    } else if (op.kind == Kind::AllGather) {
      input += size_t(g.rank) * op.count;
    } else if (op.kind == Kind::ReduceScatter) {
      output += size_t(g.rank) * op.count;
    }
    for (size_t i = 0; i < inputs; ++i)
      input[i] = inputOf(op, g.rank, int(i / op.count), i % op.count);
  }

  void call() const { finish(g.comm, start(), "a call"); }

  void check() const {
    size_t wrong = 0;
    for (size_t i = 0; i < outputs; ++i)
      wrong += output[i] != outputOf(op, g, int(i / op.count), i % op.count);
    failures += int(wrong);
    if (wrong)
      std::printf("rank %d: kind %d of %zu elements, reduction %d: #wrong %zu\n", rank, int(op.kind), op.count,
                  op.reduction, wrong);
  }

private:
  Result start() const {
    switch (op.kind) {
    case Kind::AllReduce:
      return ncclAllReduce(input, output, op.count, type::f32, op.reduction, g.comm, nullptr);
    case Kind::AllGather:
      return ncclAllGather(input, output, op.count, type::f32, g.comm, nullptr);
    case Kind::ReduceScatter:
      return ncclReduceScatter(input, output, op.count, type::f32, op.reduction, g.comm, nullptr);
    case Kind::AllToAll:
      return ncclAlltoAll(input, output, op.count, type::f32, g.comm, nullptr);
    case Kind::Broadcast:
      return ncclBroadcast(input, output, op.count, type::f32, op.root, g.comm, nullptr);
    case Kind::Exchange:
      break;
    }
    REQUIRE(ncclGroupStart());
    REQUIRE(ncclSend(input, op.count, type::f32, (g.rank + 1) % g.ranks, g.comm, nullptr));
    REQUIRE(ncclRecv(output, op.count, type::f32, (g.rank + g.ranks - 1) % g.ranks, g.comm, nullptr));
    return ncclGroupEnd();
  }

  const Op op;
  const Group g;
  size_t outputs;
  std::vector<float> large, other;
  float *input, *output;
};

/// Blocking or not, as this rank likes.
Comm makeWorld(const UniqueId &id, Random &own) {
  Comm comm = nullptr;
  bool isGrouped = upTo(own, 1);
  if (isGrouped)
    REQUIRE(ncclGroupStart());
  Config config{sizeof config, 0xcafebeef, 22809, upTo(own, 1)};
  Result done = ncclCommInitRankConfig(&comm, ranks, id, rank, &config);
  if (isGrouped) {
    require(done == result::inProgress ? 0 : done, "ncclCommInitRankConfig");
    done = ncclGroupEnd();
  }
  finish(comm, done, "ncclCommInitRankConfig");
  return comm;
}

/// The ranks of a communicator up to `last`.
Group splitOff(const Group &g, int last) {
  Group made{nullptr, nullptr, g.rank, last + 1};
  finish(g.comm, ncclCommSplit(g.comm, g.rank > last ? -1 : 0, g.rank, &made.comm, nullptr), "ncclCommSplit");
  if (made.comm)
    finish(made.comm, result::inProgress, "the communicator of the split");
  return made;
}

/// How many of the next units this rank puts into one group: no communicator has collectives in two of them.
size_t groupLength(const std::vector<Unit> &units, size_t at, Random &own) {
  size_t most = upTo(own, 1) ? size_t(1 + upTo(own, 3)) : 1, length = 0;
  bool hasExchange = false;
  std::vector<size_t> used;
  for (; length < most && at + length < units.size(); ++length) {
    const Unit &unit = units[at + length];
    bool isAgain = unit.isExchange() ? hasExchange : std::find(used.begin(), used.end(), unit.comm) != used.end();
    if (isAgain)
      break;
    hasExchange |= unit.isExchange();
    if (!unit.isExchange())
      used.push_back(unit.comm);
  }
  return length;
}

int runRank(const UniqueId &id, unsigned seed, int count) {
  Random shared(seed), own(seed * 31 + unsigned(rank) + 1);
  std::vector<Group> groups = {{makeWorld(id, own), nullptr, rank, ranks}};
  groups.push_back(splitOff(groups[0], ranks - 1));
  if (ranks > 2)
    groups.push_back(splitOff(groups[0], ranks - 2));
  std::vector<Unit> units;
  for (int i = 0; i < count; ++i) {
    Unit unit = makeUnit(shared, groups.size());
    if (groups[unit.comm].comm)
      units.push_back(unit);
  }
  int calls = 0;
  for (size_t at = 0; at < units.size();) {
    size_t length = groupLength(units, at, own);
    bool isGroup = length > 1 || units[at].ops.size() > 1 || upTo(own, 1);
    std::vector<std::unique_ptr<Running>> running;
    for (int depth = 0; isGroup && depth < 2; ++depth)
      REQUIRE(ncclGroupStart());
    for (size_t i = 0; i < length; ++i)
      for (const Op &op : units[at + i].ops) {
        running.push_back(std::make_unique<Running>(op, groups[units[at + i].comm], own));
        running.back()->call();
        ++calls;
      }
    for (int depth = 0; isGroup && depth < 2; ++depth) {
      Result end = ncclGroupEnd();
      for (size_t i = 0; i < length; ++i)
        finish(groups[units[at + i].comm].comm, end, "ncclGroupEnd");
    }
    for (const auto &each : running)
      each->check();
    at += length;
  }
  std::printf("rank %d: %d calls: #wrong %d\n", rank, calls, failures);
  std::fflush(stdout);
  std::exit(failures != 0);
}

} // namespace

int main(int count, char **words) {
  unsigned seed = 1;
  int units = 100;
  for (int i = 1; i + 1 < count; i += 2) {
    std::string word = words[i], value = words[i + 1];
    int number = std::atoi(value.c_str());
    if (word == "--ranks" && number > 1)
      ranks = number;
    else if (word == "--seed")
      seed = unsigned(number);
    else if (word == "--units" && number > 0)
      units = number;
    else {
      std::fprintf(stderr, "nccl-fuzz: error: what is `%s %s`?\n", word.c_str(), value.c_str());
      return 2;
    }
  }
  return startRanks("", [&](const UniqueId &id) { return runRank(id, seed, units); });
}
