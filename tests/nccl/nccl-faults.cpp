// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What goes wrong in programs of NCCL's users, with the drop-in before NCCL: communicators that a thread aborts while
// another is in a call, arguments that are wrong on one rank, ranks that end or never come. Each rank is a process on
// host devices, or on the fake libcuda (--device cuda). Prints what each rank's calls gave.
#include "tests/nccl/ProgramSupport.h"
#include <atomic>
#include <random>
#include <thread>

using namespace heddle::ncclprogram;

namespace {

constexpr size_t small = 40, large = 60000; ///< elements of calls that are Heddle's, and NCCL's

void pause(int milliseconds) {
  ::usleep(useconds_t(milliseconds) * 1000);
}

void say(const char *what, Result done) {
  std::printf("rank %d: %s: %d: %s\n", rank, what, done, done ? ncclGetLastError(nullptr) : "");
  std::fflush(stdout);
}

Comm makeComm(const UniqueId &id) {
  Comm comm = nullptr;
  REQUIRE(ncclCommInitRank(&comm, ranks, id, rank));
  return comm;
}

/// An all-reduce of ones.
Result reduceOnes(Comm comm, size_t count) {
  std::vector<float> values(count, 1);
  Result done = ncclAllReduce(values.data(), values.data(), count, type::f32, reduction::sum, comm, nullptr);
  for (float value : values)
    failures += !done && value != float(ranks);
  return done;
}

/// Rank 0 waits for rank 1 in a call, which another thread of its own ends.
int abortBesideCall(const UniqueId &id, size_t count) {
  Comm comm = makeComm(id);
  REQUIRE(reduceOnes(comm, 10));
  if (rank > 0) {
    pause(500);
    REQUIRE(ncclCommAbort(comm));
    return failures;
  }
  std::thread caller([&] { say("call", reduceOnes(comm, count)); });
  pause(100);
  say("abort", ncclCommAbort(comm));
  caller.join();
  return failures;
}

/// Both ranks abort at some time while threads make calls of all kinds: no call may use a handle afterwards.
int abortBesideMany(const UniqueId &id) {
  Comm world = makeComm(id);
  std::mt19937 random(unsigned(rank) + 1);
  for (int round = 0; round < 12; ++round) {
    Comm comm = nullptr;
    REQUIRE(ncclCommSplit(world, 0, rank, &comm, nullptr));
    std::atomic<Result> last = result::success;
    std::thread caller([&] {
      for (int call = 0; !last; ++call) {
        if (call % 3 == 2)
          (void)ncclGroupStart();
        last = reduceOnes(comm, call % 4 ? small : large);
        if (call % 3 == 2) {
          std::vector<float> values(10);
          (void)ncclAllReduce(values.data(), values.data(), 10, type::f32, reduction::sum, comm, nullptr);
          Result end = ncclGroupEnd();
          last = last ? last.load() : end;
          failures = 0; // the results are there at the end of the group
        }
      }
    });
    ::usleep(random() % 30000);
    REQUIRE(ncclCommAbort(comm));
    caller.join();
  }
  say("rounds", result::success);
  return 0;
}

/// A communicator that is made without blocking is aborted while its ranks tell each other what they are.
int abortBesideOffer(const UniqueId &id) {
  Comm comm = nullptr;
  Config config{sizeof config, 0xcafebeef, 22809, 0};
  (void)ncclCommInitRankConfig(&comm, ranks, id, rank, &config);
  pause(rank == 0 ? 100 : 0);
  say("abort", ncclCommAbort(comm));
  return 0;
}

/// Rank 1's own mistake, before anything was sent.
int wrongArgument(const UniqueId &id) {
  Comm comm = makeComm(id);
  REQUIRE(reduceOnes(comm, small));
  meet(ranks); // the end of the group is the end of what others still compute, too
  std::vector<float> values(small);
  say("call", ncclAllReduce(values.data(), rank == 1 ? nullptr : values.data(), small, type::f32, reduction::sum, comm,
                            nullptr));
  Result state = result::success;
  for (int turn = 0; turn < 500 && !state; ++turn, pause(10))
    REQUIRE(ncclCommGetAsyncError(comm, &state));
  say("state", state);
  REQUIRE(ncclCommAbort(comm));
  return 0;
}

/// Without ncclCommDestroy: `waits`: the others make one more call than rank 1, of `count` elements.
int leaveEarly(const UniqueId &id, size_t count, bool isLate) {
  Comm comm = makeComm(id);
  for (int call = 0; call < 3; ++call)
    REQUIRE(reduceOnes(comm, small));
  if (rank == 1) {
    pause(isLate ? 200 : 0);
    std::exit(0);
  }
  pause(isLate ? 0 : 200);
  Result state = result::success;
  REQUIRE(ncclCommGetAsyncError(comm, &state));
  say("state before", state);
  say("call", reduceOnes(comm, count));
  std::fflush(stdout);
  meet(ranks - 1); // what follows is the death of a rank
  std::_Exit(0);
}

/// All end one after the other, and look at the state meanwhile. A forked child that ends is no rank.
int leaveInTurn(const UniqueId &id) {
  Comm comm = makeComm(id);
  for (int call = 0; call < 3; ++call)
    REQUIRE(reduceOnes(comm, small));
  pid_t child = ::fork();
  if (child == 0)
    std::exit(0);
  ::waitpid(child, nullptr, 0);
  REQUIRE(reduceOnes(comm, small));
  REQUIRE(reduceOnes(comm, large));
  for (int turn = 0; turn < 20 * rank; ++turn, pause(10)) {
    Result state = result::success;
    REQUIRE(ncclCommGetAsyncError(comm, &state));
    require(state, "asynchronous error");
  }
  say("done", result::success);
  std::exit(failures != 0);
}

/// The others never come, as ranks without the drop-in.
int silence(const UniqueId &id) {
  void *context = nullptr;
  cuda("cuInit", 0u);
  cuda("cuDevicePrimaryCtxRetain", &context, rank);
  cuda("cuCtxSetCurrent", context);
  Comm comm = nullptr;
  say("init", ncclCommInitRank(&comm, ranks, id, rank));
  std::fflush(stdout);
  std::_Exit(0);
}

int runRank(const UniqueId &id, const std::string &scenario) {
  if (scenario == "abort-heddle")
    return abortBesideCall(id, small);
  if (scenario == "abort-nccl")
    return abortBesideCall(id, large);
  if (scenario == "abort-many")
    return abortBesideMany(id);
  if (scenario == "abort-offer")
    return abortBesideOffer(id);
  if (scenario == "argument")
    return wrongArgument(id);
  if (scenario == "leave-before-heddle" || scenario == "leave-before-nccl")
    return leaveEarly(id, scenario == "leave-before-nccl" ? large : small, false);
  if (scenario == "leave-meanwhile")
    return leaveEarly(id, small, true);
  if (scenario == "leave-in-turn")
    return leaveInTurn(id);
  if (scenario == "silence")
    return silence(id);
  std::fprintf(stderr, "nccl-faults: error: there is no scenario `%s`\n", scenario.c_str());
  return 2;
}

} // namespace

int main(int count, char **words) {
  std::string scenario = count > 1 ? words[1] : "";
  for (int i = 2; i + 1 < count; i += 2) {
    std::string word = words[i], value = words[i + 1];
    if (word == "--ranks" && std::atoi(value.c_str()) > 0)
      ranks = std::atoi(value.c_str());
    else if (word == "--device" && (value == "host" || value == "cuda"))
      isHost = value == "host";
    else {
      std::fprintf(stderr, "nccl-faults: error: what is `%s %s`?\n", word.c_str(), value.c_str());
      return 2;
    }
  }
  return startRanks("", [&](const UniqueId &id) { return runRank(id, scenario); });
}
