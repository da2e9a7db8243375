// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program of NCCL's users, linked with libnccl.so.2 and nothing of Heddle: it starts a process for each rank, makes
// communicators, and checks every collective's result, alone, in groups, in CUDA graphs, on parts of the ranks, and
// when a rank dies. --last sets a variable of the environment for the last rank alone. The drop-in is put before it by
// LD_PRELOAD. Memory is that of GPUs (--device cuda) or of the host, for a fake NCCL (--device host). Prints a line for
// each check; exits with 1 when one fails.
#include "tests/nccl/ProgramSupport.h"

using namespace heddle::ncclprogram;

namespace {

void runCollectives(const Group &g, size_t count) {
  auto all = size_t(g.ranks) * count, bytes = count * sizeof(float);
  Memory small(count), large(all);
  auto mine = [&](size_t i) { return valueOf(g.rank, i); };
  small.set(mine, g.stream);
  REQUIRE(ncclAllReduce(small.data(), small.data(), count, type::f32, reduction::sum, g.comm, g.stream));
  report("AllReduce", bytes, small.countWrong([&](size_t i) { return sumOf(g.ranks, i); }, g.stream));
  small.set(mine, g.stream);
  REQUIRE(ncclAllGather(small.data(), large.data(), count, type::f32, g.comm, g.stream));
  report("AllGather", bytes, large.countWrong([&](size_t i) { return valueOf(int(i / count), i % count); }, g.stream));
  large.set(mine, g.stream);
  REQUIRE(ncclReduceScatter(large.data(), small.data(), count, type::f32, reduction::sum, g.comm, g.stream));
  report("ReduceScatter", bytes,
         small.countWrong([&](size_t i) { return sumOf(g.ranks, i + size_t(g.rank) * count); }, g.stream));
  small.set(mine, g.stream);
  REQUIRE(ncclBroadcast(small.data(), small.data(), count, type::f32, g.ranks - 1, g.comm, g.stream));
  report("Broadcast", bytes, small.countWrong([&](size_t i) { return valueOf(g.ranks - 1, i); }, g.stream));
}

void runAllToAll(const Group &g, size_t count) {
  auto all = size_t(g.ranks) * count;
  Memory input(all), output(all);
  input.set([&](size_t i) { return valueOf(g.rank, i); }, g.stream);
  REQUIRE(ncclAlltoAll(input.data(), output.data(), count, type::f32, g.comm, g.stream));
  auto wanted = [&](size_t i) { return valueOf(int(i / count), i % count + size_t(g.rank) * count); };
  report("AlltoAll", count * sizeof(float), output.countWrong(wanted, g.stream));
}

/// Of NCCL's reductions those that are no sum. The products are exact for up to three ranks.
void runReductions(const Group &g, size_t count) {
  constexpr int average = 4, onHost = 1;
  int twice = 0;
  float two = 2;
  REQUIRE(ncclRedOpCreatePreMulSum(&twice, &two, type::f32, onHost, g.comm));
  auto product = [&](size_t i) {
    float value = 1;
    for (int rank = 0; rank < g.ranks; ++rank)
      value *= valueOf(rank, i);
    return value;
  };
  auto run = [&](const char *what, int reduction, const std::function<float(size_t)> &wanted) {
    Memory a(count);
    a.set([&](size_t i) { return valueOf(g.rank, i); }, g.stream);
    REQUIRE(ncclAllReduce(a.data(), a.data(), count, type::f32, reduction, g.comm, g.stream));
    report(what, count * sizeof(float), a.countWrong(wanted, g.stream));
  };
  run("product", reduction::product, product);
  run("minimum", reduction::minimum, [&](size_t i) { return valueOf(0, i); });
  run("maximum", reduction::maximum, [&](size_t i) { return valueOf(g.ranks - 1, i); });
  run("average", average, [&](size_t i) { return sumOf(g.ranks, i) / float(g.ranks); });
  run("PreMulSum", twice, [&](size_t i) { return 2 * sumOf(g.ranks, i); });
}

/// One of a communicator in a group, several, and of two communicators.
void runGroups(const Group &g, const Group &other, size_t count) {
  Memory a(count), b(count), c(count);
  auto run = [&](const char *what, const std::function<void()> &calls, std::vector<Memory *> used) {
    for (Memory *each : used)
      each->set([&](size_t i) { return valueOf(g.rank, i); }, g.stream);
    REQUIRE(ncclGroupStart());
    REQUIRE(ncclGroupStart());
    calls();
    REQUIRE(ncclGroupEnd());
    REQUIRE(ncclGroupEnd());
    size_t wrong = 0;
    for (Memory *each : used)
      wrong += each->countWrong([&](size_t i) { return sumOf(g.ranks, i); }, g.stream);
    report(what, count * sizeof(float), wrong);
  };
  auto sum = [&](const Group &of, const Memory &memory) {
    REQUIRE(ncclAllReduce(memory.data(), memory.data(), count, type::f32, reduction::sum, of.comm, of.stream));
  };
  run("group of one", [&] { sum(g, a); }, {&a});
  run("group of two", [&] { sum(g, a), sum(g, b); }, {&a, &b});
  run("group of two communicators", [&] { sum(g, a), sum(other, b); }, {&a, &b});
  run("empty group", [&] {}, {});
}

void runGraph(const Group &g, size_t count) {
  Memory a(count), b(count);
  a.set([&](size_t i) { return valueOf(g.rank, i); }, g.stream);
  void *graph = nullptr, *executable = nullptr;
  cuda("cuStreamBeginCapture_v2", g.stream, 0);
  REQUIRE(ncclAllReduce(a.data(), b.data(), count, type::f32, reduction::sum, g.comm, g.stream));
  cuda("cuStreamEndCapture", g.stream, &graph);
  cuda("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  for (int replay = 0; replay < 3; ++replay)
    cuda("cuGraphLaunch", executable, g.stream);
  report("graph", count * sizeof(float), b.countWrong([&](size_t i) { return sumOf(g.ranks, i); }, g.stream));
  Stream second = makeStream(); // the next call waits for what came before
  cuda("cuStreamSynchronize", g.stream);
  a.set([&](size_t i) { return valueOf(g.rank, i); }, second);
  REQUIRE(ncclAllReduce(a.data(), b.data(), count, type::f32, reduction::sum, g.comm, second));
  report("second stream", count * sizeof(float), b.countWrong([&](size_t i) { return sumOf(g.ranks, i); }, second));
  cuda("cuGraphExecDestroy", executable);
  cuda("cuGraphDestroy", graph);
}

/// What the fake libcuda is asked for each call that has been prepared.
void runCalls(const Group &g, size_t count) {
  auto *calls = reinterpret_cast<const char *(*)()>(::dlsym(cudaLibrary(), "fakeCudaCalls"));
  require(calls ? 0 : 3, "HEDDLE_CUDA_LIBRARY is no fake");
  Memory a(count), b(count);
  auto counted = [&](const char *what, const std::function<Result()> &make) {
    calls();
    REQUIRE(make());
    std::printf("rank %d: %s:%s\n", g.rank, what, calls());
  };
  auto sum = [&](Stream stream) {
    return ncclAllReduce(a.data(), b.data(), count, type::f32, reduction::sum, g.comm, stream);
  };
  auto broadcast = [&](Stream stream) {
    return ncclBroadcast(a.data(), a.data(), count, type::f32, 0, g.comm, stream);
  };
  Stream second = makeStream();
  REQUIRE(sum(g.stream));
  counted("same stream", [&] { return sum(g.stream); });
  counted("other stream", [&] { return sum(second); });
  counted("NCCL's, same stream", [&] { return broadcast(second); });
  counted("NCCL's, other stream", [&] { return broadcast(g.stream); });
  counted("after NCCL's, same stream", [&] { return sum(g.stream); });
  REQUIRE(sum(second));
  cuda("cuStreamDestroy_v2", second);
  Stream third = makeStream();
  require(third == second ? 0 : 3, "the fake gives the handle again");
  counted("handle used again", [&] { return sum(third); });
  void *graph = nullptr;
  cuda("cuStreamBeginCapture_v2", g.stream, 0);
  REQUIRE(sum(g.stream));
  counted("captured", [&] { return sum(g.stream); });
  cuda("cuStreamEndCapture", g.stream, &graph);
  cuda("cuGraphDestroy", graph);
  counted("after a capture", [&] { return sum(g.stream); });
  counted("after it, same stream", [&] { return sum(g.stream); });
}

void runDeath(const Group &g, size_t count) {
  Memory a(count);
  if (g.rank == 1)
    std::_Exit(0);
  Result done = result::success, state = result::success;
  for (int call = 0; call < 2 && !done; ++call)
    done = ncclAllReduce(a.data(), a.data(), count, type::f32, reduction::sum, g.comm, g.stream);
  for (int turn = 0; turn < 1000 && !done && !state; ++turn) { // as PyTorch's watchdog
    ::usleep(10000);
    REQUIRE(ncclCommGetAsyncError(g.comm, &state));
  }
  std::printf("rank %d: death: call %d, later %d: %s\n", g.rank, done, state, ncclGetLastError(g.comm));
  REQUIRE(ncclCommAbort(g.comm));
  std::fflush(stdout);
  std::_Exit(0);
}

int runRank(const UniqueId &id, const std::string &scenario, size_t count) {
  if (!isHost) {
    void *context = nullptr;
    cuda("cuInit", 0u);
    cuda("cuDevicePrimaryCtxRetain", &context, rank);
    cuda("cuCtxSetCurrent", context);
  }
  int version = 0;
  REQUIRE(ncclGetVersion(&version));
  Group world{nullptr, makeStream(), rank, ranks}, part{nullptr, world.stream, 0, 0};
  if (scenario == "nonblocking") {
    Config config{sizeof config, 0xcafebeef, 22809, 0};
    require(ncclCommInitRankConfig(&world.comm, ranks, id, rank, &config) == result::inProgress ? 0 : 3, "no progress");
    runCollectives(world, count);
  } else {
    REQUIRE(ncclGroupStart()); // as nccl-tests do
    REQUIRE(ncclCommInitRank(&world.comm, ranks, id, rank));
    REQUIRE(ncclGroupEnd());
  }
  if (scenario == "death")
    runDeath(world, count);
  if (scenario == "graph")
    runGraph(world, count);
  if (scenario == "calls")
    runCalls(world, count);
  if (scenario == "basic")
    for (size_t each : {size_t(1), count, size_t(60000)}) {
      runCollectives(world, each);
      if (version >= 22800)
        runAllToAll(world, each);
    }
  if (scenario == "reductions")
    runReductions(world, count);
  if (scenario == "groups") {
    REQUIRE(ncclCommSplit(world.comm, 0, rank, &part.comm, nullptr));
    part.rank = rank, part.ranks = ranks;
    runGroups(world, part, count);
  }
  if (scenario == "split") { // the even and the odd ranks, then all but the last in reverse order
    REQUIRE(ncclCommSplit(world.comm, rank % 2, rank, &part.comm, nullptr));
    REQUIRE(ncclCommUserRank(part.comm, &part.rank));
    REQUIRE(ncclCommCount(part.comm, &part.ranks));
    runCollectives(part, count);
    REQUIRE(ncclCommDestroy(part.comm));
    REQUIRE(ncclCommSplit(world.comm, rank == ranks - 1 ? -1 : 0, ranks - rank, &part.comm, nullptr));
    if (part.comm) {
      REQUIRE(ncclCommUserRank(part.comm, &part.rank));
      REQUIRE(ncclCommCount(part.comm, &part.ranks));
      runCollectives(part, count);
    }
  }
  Result state = result::success;
  REQUIRE(ncclCommGetAsyncError(world.comm, &state));
  require(state, "asynchronous error");
  if (part.comm)
    REQUIRE(ncclCommDestroy(part.comm));
  REQUIRE(ncclCommFinalize(world.comm));
  REQUIRE(ncclCommDestroy(world.comm));
  if (auto *counted = reinterpret_cast<int (*)(const char *)>(::dlsym(RTLD_DEFAULT, "fakeNcclCount")))
    std::printf("rank %d: NCCL's own: %d AllReduce, %d AllGather, %d ReduceScatter, %d AlltoAll, %d Broadcast\n", rank,
                counted("ncclAllReduce"), counted("ncclAllGather"), counted("ncclReduceScatter"),
                counted("ncclAlltoAll"), counted("ncclBroadcast"));
  std::fflush(stdout);
  return failures != 0;
}

int fail(const char *text) {
  std::fprintf(
      stderr,
      "nccl-program: error: %s\nusage: nccl-program basic|reductions|groups|split|graph|calls|death|nonblocking "
      "[--ranks N] [--device host|cuda] [--count N] [--last NAME=VALUE] [--no-check]\n",
      text);
  return 2;
}

} // namespace

int main(int count, char **words) {
  std::string scenario = count > 1 ? words[1] : "";
  std::string ofLast;
  size_t elements = 40;
  for (int i = 2; i < count; ++i) {
    std::string word = words[i], value = i + 1 < count ? words[i + 1] : "";
    if (word == "--no-check") {
      checks = false;
      continue;
    }
    ++i;
    if (word == "--ranks" && std::atoi(value.c_str()) > 0)
      ranks = std::atoi(value.c_str());
    else if (word == "--count" && std::atoi(value.c_str()) > 0)
      elements = size_t(std::atoi(value.c_str()));
    else if (word == "--last" && value.find('=') < value.size())
      ofLast = value;
    else if (word == "--device" && (value == "host" || value == "cuda"))
      isHost = value == "host";
    else
      return fail(("what is `" + word + " " + value + "`?").c_str());
  }
  bool isKnown = false;
  for (const char *name : {"basic", "reductions", "groups", "split", "graph", "calls", "death", "nonblocking"})
    isKnown |= scenario == name;
  if (!isKnown)
    return fail("no scenario");
  return startRanks(ofLast, [&](const UniqueId &id) { return runRank(id, scenario, elements); });
}
