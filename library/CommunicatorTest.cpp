// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface's collectives between real processes: results, streams and captures, errors of one rank on all, and
// what a caller can do wrong.
#include "library/RankTestSupport.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

using namespace heddle;
using heddle::testing::Rank, heddle::testing::TestProcesses, heddle::testing::TestRank;

namespace {

constexpr int64_t count = 1000; ///< elements of a part

/// Element i of part p of rank r's input: small integers, whose sums are exact.
float inputOf(int rank, int part, int64_t i) {
  return float((rank + 1) * (i % 50) + 7 * part);
}

float sumOf(int ranks, int part, int64_t i) {
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank)
    sum += inputOf(rank, part, i);
  return sum;
}

float outputOf(int kind, int rank, int ranks, int part, int64_t i) {
  switch (kind) {
  case HEDDLE_ALL_REDUCE:
    return sumOf(ranks, 0, i);
  case HEDDLE_ALL_GATHER:
    return inputOf(part, 0, i);
  case HEDDLE_REDUCE_SCATTER:
    return sumOf(ranks, rank, i);
  case HEDDLE_ALL_TO_ALL:
    return inputOf(part, rank, i);
  default:
    return inputOf(ranks - 1, 0, i);
  }
}

/// Elements that are wrong after a call.
size_t runKind(const Rank &rank, int kind, int shift) {
  int ranks = rank.self.size, own = rank.self.rank;
  bool many = kind == HEDDLE_REDUCE_SCATTER || kind == HEDDLE_ALL_TO_ALL;
  bool gives = kind == HEDDLE_ALL_GATHER || kind == HEDDLE_ALL_TO_ALL;
  std::vector<float> input(size_t(count * (many ? ranks : 1) + shift)),
      output(size_t(count * (gives ? ranks : 1) + shift), -1);
  for (size_t i = size_t(shift); i < input.size(); ++i)
    input[i] = inputOf(own, int((int64_t(i) - shift) / count), (int64_t(i) - shift) % count);
  auto request = rank.request(kind, count);
  bool isBroadcast = kind == HEDDLE_BROADCAST;
  request.root = isBroadcast ? ranks - 1 : 0;
  const float *from = isBroadcast && own != ranks - 1 ? nullptr : input.data() + shift;
  rank.launch(rank.prepare(request), from, output.data() + shift);
  rank.synchronize();
  size_t wrong = 0;
  for (size_t i = size_t(shift); i < output.size(); ++i)
    wrong += output[i] != outputOf(kind, own, ranks, int((int64_t(i) - shift) / count), (int64_t(i) - shift) % count);
  return wrong;
}

TEST(Communicators, EveryKindOnAddressesOfAnyAlignment) {
  for (int size : {1, 2, 3}) {
    TestProcesses processes(size, [](const TestRank &self) {
      Rank rank(self);
      for (int kind :
           {HEDDLE_ALL_REDUCE, HEDDLE_ALL_GATHER, HEDDLE_REDUCE_SCATTER, HEDDLE_ALL_TO_ALL, HEDDLE_BROADCAST})
        for (int shift : {0, 1})
          if (size_t wrong = runKind(rank, kind, shift))
            self.say(std::to_string(wrong) + " wrong of kind " + std::to_string(kind));
      self.say("done");
    });
    for (int rank = 0; rank < size; ++rank)
      EXPECT_EQ(processes.finish(rank), "done\n");
  }
}

TEST(Communicators, AreDescribed) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    heddle_text text = nullptr;
    rank.check(heddle_communicator_describe(rank.communicator, &text));
    auto json = nlohmann::json::parse(textOf(text));
    heddle_release(text);
    self.say(json["device"].get<std::string>() + " of " + json["members"][1]["device"].get<std::string>() + ", " +
             json["sharing"].get<std::string>());
    heddle_collective_plan plan = {sizeof plan, nullptr, 0, 0, 0};
    auto small = rank.request(HEDDLE_ALL_REDUCE, 16), large = rank.request(HEDDLE_ALL_REDUCE, 1 << 20);
    rank.check(heddle_communicator_plan(rank.communicator, &small, &plan));
    self.say(std::string(plan.algorithm) + (plan.packets ? " of packets" : "") + (plan.memory_bytes > 0 ? "" : "?"));
    rank.check(heddle_communicator_plan(rank.communicator, &large, &plan));
    self.say(std::string(plan.algorithm) + (plan.packets ? " of packets" : ""));
    auto none = rank.request(HEDDLE_ALL_REDUCE, 0);
    rank.launch(rank.prepare(none), nullptr, nullptr); // nothing to do
  });
  EXPECT_EQ(processes.finish(1), "host:1 of host:1, memory file\none_shot_packets of packets\none_shot_pull\n");
  EXPECT_EQ(processes.finish(0), "host:0 of host:1, memory file\none_shot_packets of packets\none_shot_pull\n");
}

// Launches on two streams and on the communicator's own keep the order of the calls; replays of a graph beside them.
TEST(Communicators, StreamsAndGraphsOfTheCaller) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    Handle<heddle_stream> streams[2];
    for (auto &each : streams)
      rank.check(heddle_stream_create(rank.device, &each.value));
    auto sum = rank.prepare(rank.request(HEDDLE_ALL_REDUCE, count));
    auto inGraph = rank.prepare(rank.request(HEDDLE_ALL_REDUCE, count, true));
    std::vector<float> a(size_t(count), 1), b = a, c = a, d = a;
    int32_t capturing = 7;
    rank.check(heddle_capture_begin(streams[0]));
    rank.check(heddle_stream_is_capturing(streams[0], &capturing));
    rank.launch(inGraph, c.data(), c.data(), streams[0]);
    rank.launch(inGraph, c.data(), d.data(), streams[0]);
    Handle<heddle_graph> graph;
    rank.check(heddle_capture_end(streams[0], &graph.value));
    self.say("capturing " + std::to_string(capturing));
    for (int i = 0; i < 3; ++i) { // 1 to 64 of two ranks
      rank.launch(sum, a.data(), b.data(), streams[1]);
      rank.launch(sum, b.data(), a.data(), i == 1 ? nullptr : streams[0]);
    }
    rank.check(heddle_graph_launch(streams[1], graph));
    rank.check(heddle_graph_launch(streams[1], graph));
    rank.synchronize();
    rank.check(heddle_stream_synchronize(streams[1]));
    self.say(std::to_string(int(a[999])) + " " + std::to_string(int(c[0])) + " " + std::to_string(int(d[0])));
    rank.sayError(heddle_collective_launch(inGraph, streams[0], uint64_t(a.data()), uint64_t(a.data())));
    rank.check(heddle_capture_begin(streams[0]));
    rank.sayError(heddle_collective_launch(sum, streams[0], uint64_t(a.data()), uint64_t(a.data())));
  });
  for (int rank : {0, 1})
    EXPECT_EQ(processes.finish(rank), "capturing 1\n64 4 8\n"
                                      "2: the stream is not being captured, and the collective was prepared for "
                                      "streams that are\n"
                                      "2: the stream is being captured, and the collective was prepared for streams "
                                      "that are not\n");
}

// Graphs of a communicator share its memory for captures: launched at once on two streams, they run in order.
TEST(Communicators, GraphsThatAreLaunchedAtOnce) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    constexpr int graphs = 2, launches = 8, rounds = 25;
    Handle<heddle_stream> streams[graphs];
    Handle<heddle_graph> captured[graphs];
    auto sum = rank.prepare(rank.request(HEDDLE_ALL_REDUCE, count, true));
    std::vector<std::vector<float>> in, out;
    for (int i = 0; i < graphs * launches; ++i) {
      in.emplace_back(size_t(count), float((self.rank + 1) * (i + 1)));
      out.emplace_back(size_t(count), -1);
    }
    for (int g = 0; g < graphs; ++g) {
      rank.check(heddle_stream_create(rank.device, &streams[g].value));
      rank.check(heddle_capture_begin(streams[g]));
      for (int i = g * launches; i < (g + 1) * launches; ++i)
        rank.launch(sum, in[size_t(i)].data(), out[size_t(i)].data(), streams[g]);
      rank.check(heddle_capture_end(streams[g], &captured[g].value));
    }
    size_t wrong = 0;
    for (int round = 0; round < rounds; ++round) {
      for (int g = 0; g < graphs; ++g)
        rank.check(heddle_graph_launch(streams[g], captured[g]));
      for (auto &each : streams)
        rank.check(heddle_stream_synchronize(each));
      for (size_t i = 0; i < out.size(); ++i) {
        wrong += size_t(std::count_if(out[i].begin(), out[i].end(), [=](float x) { return x != 3 * float(i + 1); }));
        std::fill(out[i].begin(), out[i].end(), -1.0f);
      }
    }
    rank.synchronize();
    self.say(std::to_string(wrong) + " wrong");
  });
  for (int rank : {0, 1})
    EXPECT_EQ(processes.finish(rank), "0 wrong\n");
}

/// f32[8,64] over two ranks: the sum with the residual, and its rows normalised.
std::string normModule(const std::string &result) {
  return R"(HloModule norm
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY main {
  partial = f32[8,64] parameter(0)
  residual = f32[8,64] parameter(1)
  total = f32[8,64] all-reduce(partial), replica_groups={}, to_apply=add
  sum = f32[8,64] add(total, residual)
  square = f32[8,64] multiply(sum, sum)
  zero = f32[] constant(0)
  squares = f32[8] reduce(square, zero), dimensions={1}, to_apply=add
  scale = f32[8] rsqrt(squares)
  scales = f32[8,64] broadcast(scale), dimensions={0}
  normal = f32[8,64] multiply(sum, scales)
)" + result +
         "}\n";
}

TEST(Communicators, CodeIsFusedIntoAModulesCollective) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    std::string text = normModule("ROOT both = (f32[8,64], f32[8,64]) tuple(normal, sum)\n");
    Handle<heddle_collective> norm;
    rank.check(
        heddle_communicator_prepare_module(rank.communicator, text.data(), text.size(), "norm.hlo", 0, &norm.value));
    heddle_text described = nullptr;
    rank.check(heddle_collective_describe(norm, &described));
    auto json = nlohmann::json::parse(textOf(described));
    heddle_release(described);
    self.say(json["arrays"][3]["name"].get<std::string>() + " of " + json["arrays"][3]["bytes"].dump());
    alignas(64) static float partial[512], residual[512], normal[512], sum[512];
    for (int i = 0; i < 512; ++i)
      partial[i] = float(self.rank + 1), residual[i] = 1; // the sum is 4, a row's length 32
    auto at = [](float *array) { return reinterpret_cast<uint64_t>(array); };
    std::vector<uint64_t> addresses = {at(partial), at(residual), at(normal), at(sum)};
    rank.check(heddle_collective_launch_arrays(norm, nullptr, addresses.data(), 4));
    rank.synchronize();
    self.say(std::to_string(sum[511]) + " " + std::to_string(normal[17]));
    addresses[2] += 4;
    rank.sayError(heddle_collective_launch_arrays(norm, nullptr, addresses.data(), 4));
    rank.sayError(heddle_collective_launch_arrays(norm, nullptr, addresses.data(), 3));
    rank.sayError(heddle_collective_launch(norm, nullptr, addresses[0], addresses[1]));
    auto refuse = [&](std::string other) {
      heddle_collective place = nullptr;
      rank.sayError(
          heddle_communicator_prepare_module(rank.communicator, other.data(), other.size(), "m.hlo", 0, &place));
    };
    refuse(normModule("again = f32[8,64] all-reduce(normal), replica_groups={}, to_apply=add\n  ROOT r = f32[8,64] "
                      "negate(again)\n"));
    refuse("HloModule m, replica_count=3\n" + text.substr(text.find("add {")));
    refuse("HloModule nothing");
  });
  for (int rank : {0, 1})
    EXPECT_TRUE(processes.finish(rank).starts_with("sum of 2048\n4.000000 0.125000\n2: `normal` is 0x")) << rank;
  std::string said = processes.text(0);
  EXPECT_CONTAINS(said, "`total` takes 4 arrays, and 3 addresses were given");
  EXPECT_CONTAINS(said, "`total` is of a module, and takes 4 arrays");
  EXPECT_CONTAINS(said, "m.hlo: the module takes 2 launches, and one of a collective is wanted");
  EXPECT_CONTAINS(said, "m.hlo: a module of 3 ranks for a group of 2");
}

TEST(Communicators, AKilledRankIsNamed) {
  TestProcesses processes(3, [](const TestRank &self) {
    Rank rank(self);
    std::vector<float> a(size_t(count), 1);
    auto sum = rank.sumOnce(a);
    self.say("once");
    if (self.rank == 1)
      ::pause();
    // Its death may be known already: then nothing of this rank waits for it.
    heddle_status refused = heddle_collective_launch(sum, nullptr, uint64_t(a.data()), uint64_t(a.data()));
    rank.sayError(refused ? refused : heddle_communicator_synchronize(rank.communicator));
    rank.sayError(refused ? refused : heddle_communicator_check(rank.communicator));
    rank.sayError(heddle_collective_launch(sum, nullptr, uint64_t(a.data()), uint64_t(a.data())));
  });
  processes.waitFor(1, "once");
  processes.signal(1, SIGKILL);
  std::string gone = "3: rank 1 (host:1, pid " + std::to_string(processes.pid(1)) + ") is gone";
  for (int rank : {0, 2}) {
    std::string said = processes.finish(rank);
    for (int call = 0; call < 3; ++call, said.erase(0, said.find(gone) + 1))
      EXPECT_CONTAINS(said, gone);
  }
}

// One that has left is an error for a rank that needs it, and for no other.
TEST(Communicators, ARankThatIsGoneMattersWhenItIsWaitedFor) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    std::vector<float> a(size_t(count), 1);
    auto sum = rank.sumOnce(a);
    if (self.rank == 1)
      ::_exit(0);
    try { // until its end is noticed
      for (;;)
        rank.bootstrap->allGather("", 20);
    } catch (const Error &) {
    }
    for (int turn = 0; turn < 1000 && heddle_communicator_check_group(rank.communicator) == HEDDLE_OK; ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    rank.sayError(heddle_communicator_check_group(rank.communicator));
    rank.sayError(heddle_communicator_check(rank.communicator));
    heddle_status status = HEDDLE_OK;
    for (int i = 0; i < 2 && status == HEDDLE_OK; ++i) { // the second, if its death was not yet known at the first
      status = heddle_collective_launch(sum, nullptr, uint64_t(a.data()), uint64_t(a.data()));
      status = status ? status : heddle_communicator_synchronize(rank.communicator);
    }
    rank.sayError(status);
  });
  std::string said = processes.finish(0);
  EXPECT_EQ(said.rfind("3: rank 1 (host:1, pid ", 0), 0u) << said;
  EXPECT_CONTAINS(said, "\n0: no error\n3: rank 1 (host:1, pid ");
}

// Who leaves ends nothing but what waits for it, and is missed by its number of launches.
TEST(Communicators, ARankThatLeavesIsAnErrorForThoseThatWait) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    std::vector<float> a(size_t(count), 1);
    auto sum = rank.sumOnce(a);
    if (self.rank == 1) {
      rank.check(heddle_communicator_leave(rank.communicator));
      rank.check(heddle_communicator_leave(rank.communicator));
      rank.sayError(heddle_collective_launch(sum, nullptr, uint64_t(a.data()), uint64_t(a.data())));
      ::_exit(0);
    }
    // The launch is refused where it is known by then that the other has left.
    heddle_status status = heddle_collective_launch(sum, nullptr, uint64_t(a.data()), uint64_t(a.data()));
    rank.sayError(status ? status : heddle_communicator_synchronize(rank.communicator));
    rank.sayError(heddle_communicator_check_group(rank.communicator));
  });
  EXPECT_CONTAINS(processes.finish(1), "3: "); // it has left, or the other has ended the group since
  std::string said = processes.finish(0);
  EXPECT_CONTAINS(said, "3: rank 1 (host:1, pid ");
  EXPECT_CONTAINS(said, "has left the group after 1 launches\n");
}

// What one rank ends for a reason of its own, all hear of, whether they wait or not.
TEST(Communicators, AnAbortIsAnErrorOfAll) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    if (self.rank == 1)
      rank.check(heddle_communicator_abort(rank.communicator, "no more"));
    for (int turn = 0; self.rank == 0 && turn < 1000; ++turn) {
      if (heddle_status status = heddle_communicator_check(rank.communicator)) {
        rank.sayError(status);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  processes.finish(1);
  EXPECT_CONTAINS(processes.finish(0), "ended the group: no more");
}

TEST(Communicators, RanksThatDifferAreToldOnAll) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    heddle_collective place = nullptr;
    auto request = rank.request(HEDDLE_ALL_REDUCE, 100 + self.rank);
    rank.sayError(heddle_communicator_prepare(rank.communicator, &request, &place));
    auto sum = rank.prepare(rank.request(HEDDLE_ALL_REDUCE, 100)); // it goes on
    rank.bootstrap->allGather("", 20);                             // both have it, before one aborts
    rank.sayError(heddle_communicator_abort(rank.communicator, self.rank ? "enough" : "enough too"));
    std::vector<float> a(100);
    heddle_status status = heddle_collective_launch(sum, nullptr, uint64_t(a.data()), uint64_t(a.data()));
    self.say(std::to_string(status));
  });
  for (int rank : {0, 1}) {
    std::string said = processes.finish(rank);
    EXPECT_CONTAINS(said, "2: rank 1 (host:1, pid ");
    EXPECT_CONTAINS(said, "prepares something else than rank 0 (host:0");
    EXPECT_CONTAINS(said, "\n0: no error\n3\n");
  }
}

/// Memory of the communicator's own, in a window.
struct WindowMemory {
  WindowMemory(const Rank &rank, uint64_t bytes) {
    uint64_t size = 0;
    rank.check(heddle_communicator_allocate(rank.communicator, bytes, "x", &buffer.value));
    rank.check(heddle_buffer_get(buffer, &address, &size));
    rank.check(heddle_window_register(rank.communicator, address, bytes, "x", &window.value));
  }
  float *floats() const { return reinterpret_cast<float *>(address); }
  Handle<heddle_buffer> buffer;
  Handle<heddle_window> window;
  uint64_t address = 0;
};

TEST(Communicators, OperandsInWindowsGoDirect) {
  constexpr int64_t many = 1 << 16;
  for (int size : {2, 3}) {
    TestProcesses processes(size, [](const TestRank &self) {
      Rank rank(self);
      WindowMemory memory(rank, 2 * many * sizeof(float) + 4096);
      float *input = memory.floats() + 3 * self.rank, *output = input + many + 16;
      auto request = rank.request(HEDDLE_ALL_REDUCE, many);
      request.input_window = request.output_window = memory.window;
      heddle_collective_plan plan = {sizeof plan, nullptr, 0, 0, 0};
      rank.check(heddle_communicator_plan(rank.communicator, &request, &plan));
      self.say(plan.algorithm);
      auto sum = rank.prepare(request);
      for (int64_t i = 0; i < many; ++i)
        input[i] = inputOf(self.rank, 0, i);
      rank.launch(sum, input, output);
      rank.launch(sum, output, output); // in place
      rank.synchronize();
      size_t wrong = 0;
      for (int64_t i = 0; i < many; ++i)
        wrong += output[i] != float(self.size) * sumOf(self.size, 0, i);
      self.say(std::to_string(wrong) + " wrong");
      rank.check(heddle_window_deregister(memory.window));
      rank.sayError(heddle_window_deregister(memory.window));
      heddle_collective none = nullptr;
      rank.sayError(heddle_communicator_prepare(rank.communicator, &request, &none));
      rank.sayError(heddle_collective_launch(sum, nullptr, memory.address, memory.address));
    });
    for (int rank = 0; rank < size; ++rank) {
      std::string text = processes.finish(rank);
      // The launch ends the group, also for a rank that prepares still.
      EXPECT_TRUE(text.starts_with("two_shot_direct\n0 wrong\n2: window `x` was deregistered before\n")) << text;
      EXPECT_TRUE(std::regex_search(text, std::regex("\n[23]: .*was deregistered\n2: .*was deregistered\n"))) << text;
    }
  }
}

TEST(Communicators, WindowsOfOneRankAreRefusedOnAll) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    std::vector<float> ordinary(100);
    heddle_window none = nullptr;
    rank.sayError(heddle_window_register(rank.communicator, uint64_t(ordinary.data()), 400, nullptr, &none));
    WindowMemory memory(rank, 400);
    auto request = rank.request(HEDDLE_ALL_REDUCE, 100);
    if (self.rank == 1)
      request.input_window = request.output_window = memory.window;
    heddle_collective place = nullptr;
    rank.sayError(heddle_communicator_prepare(rank.communicator, &request, &place));
    request.input_window = memory.window, request.output_window = nullptr; // not collective: refused before
    rank.sayError(heddle_communicator_prepare(rank.communicator, &request, &place));
    auto sum = rank.sumOnce(ordinary); // it goes on
  });
  for (int rank : {0, 1}) {
    std::string text = processes.finish(rank);
    EXPECT_CONTAINS(text, "share: address 0x");
    EXPECT_CONTAINS(text, "2: rank 1 (host:1, pid ");
    EXPECT_CONTAINS(text, ") prepares something else than rank 0 (host:0, pid ");
    EXPECT_CONTAINS(text, "2: `request->output_window` is null, and a window is wanted\n");
  }
}

TEST(Communicators, ConnectByAnAddress) {
  std::string name = "unix:@heddle-library-test-" + std::to_string(::getpid());
  TestProcesses processes(2, [=](const TestRank &self) {
    Handle<heddle_device> device;
    heddle_device_open(("host:" + std::to_string(self.rank)).c_str(), &device.value);
    Handle<heddle_communicator> communicator;
    heddle_status status = heddle_communicator_connect(device, name.c_str(), self.rank, 2, "a secret of the test",
                                                       nullptr, &communicator.value);
    self.say(status ? heddle_error_text() : "connected");
  });
  for (int rank : {0, 1})
    EXPECT_EQ(processes.finish(rank), "connected\n");
}

TEST(Communicators, WhatACallerCanDoWrong) {
  TestProcesses processes(1, [](const TestRank &self) {
    Rank rank(self);
    heddle_communicator place = nullptr;
    heddle_collective collective = nullptr;
    auto none = [](const void *, void *, size_t, double, void *) -> int32_t { return 17; };
    rank.sayError(heddle_communicator_create(rank.device, 0, 2, none, nullptr, nullptr, &place));
    rank.sayError(heddle_communicator_create(rank.device, 2, 2, none, nullptr, nullptr, &place));
    rank.sayError(heddle_communicator_create(rank.device, 0, 1, nullptr, nullptr, nullptr, &place));
    rank.sayError(heddle_communicator_create(rank.device, 0, 1, none, nullptr, nullptr, nullptr));
    rank.sayError(heddle_communicator_connect(rank.device, nullptr, 0, 1, nullptr, nullptr, &place));
    rank.sayError(heddle_communicator_connect(rank.device, "udp:x", 0, 2, nullptr, nullptr, &place));
    auto refused = [&](auto change) {
      heddle_communicator_options options = Rank::optionsOf(1);
      change(options);
      rank.sayError(heddle_communicator_create(rank.device, 0, 1, none, nullptr, &options, &place));
    };
    refused([](auto &options) { options.deadline_seconds = -1; });
    refused([](auto &options) { options.hosts = -1; });
    refused([](auto &options) { options.reserved_hosts = 1; });
    refused([](auto &options) { options.transport = "smoke"; });
    refused([](auto &options) { options.host_model = "1,2,3"; });
    auto with = [&](auto change) {
      auto request = rank.request(HEDDLE_ALL_REDUCE, 64);
      change(request);
      rank.sayError(heddle_communicator_prepare(rank.communicator, &request, &collective));
    };
    with([](auto &request) { request.struct_size = 8; });
    with([](auto &request) { request.type = nullptr; });
    with([](auto &request) { request.type = "f33"; });
    with([](auto &request) { request.kind = 9; });
    with([](auto &request) { request.reduction = HEDDLE_OR; });
    with([](auto &request) { request.reduction = 6; });
    with([](auto &request) { request.root = 1; });
    with([](auto &request) { request.count = -1; });
    with([](auto &request) { request.captured = 2; });
    with([](auto &request) { request.algorithm = "two_shot_pul"; });
    auto sum = rank.prepare(rank.request(HEDDLE_ALL_REDUCE, 64));
    float value[65] = {};
    rank.sayError(heddle_collective_launch(sum, nullptr, 0, uint64_t(value)));
    rank.sayError(heddle_collective_launch(sum, nullptr, uint64_t(value), uint64_t(value) + 1));
    Handle<heddle_device> other;
    Handle<heddle_stream> stream;
    heddle_device_open("host:3", &other.value);
    heddle_stream_create(other, &stream.value);
    rank.sayError(heddle_collective_launch(sum, stream, uint64_t(value), uint64_t(value)));
    rank.sayError(heddle_communicator_follow(rank.communicator, stream));
    rank.sayError(heddle_communicator_mark(rank.communicator, stream));
    rank.launch(sum, value, value); // none of it has failed the group
    rank.synchronize();
  });
  std::vector<std::string> wanted = {
      "3: the program's `all_gather` of 8 bytes for rank 0 returned 17",
      "2: rank 2 of 2 processes",
      "2: `all_gather` is null, and a function is wanted",
      "2: `communicator` is null",
      "2: `address` is null",
      "2: address `udp:x`",
      "2: `options->deadline_seconds` is -1, and must be from 0 to 1000000",
      "2: `options->hosts` is -1, and must be from 0 to 1024",
      "2: `options->reserved_hosts` is 1, and must be 0",
      "2: there is no transport `smoke` between hosts",
      "2: `1,2,3` is no model of hosts",
      "2: `request->struct_size` is 8",
      "2: `request->type` is null",
      "2: unknown element type `f33`",
      "2: `request->kind` is 9, and must be from 0 to 4",
      "2: or of f32 elements",
      "2: `request->reduction` is 6, and must be from 0 to 5",
      "2: `request->root` is 1, and must be 0: only a broadcast has a root",
      "2: all-reduce of 1 times -1 elements",
      "2: `request->captured` is 2, and must be 0 or 1",
      "2: ",
      "2: `input` is 0x0, and the address of 256 bytes of f32 at a multiple of 4 is wanted",
      "2: `output` is 0x",
      "2: `stream` is of host:3, and the communicator of host:0",
      "2: `stream` is of host:3, and the communicator of host:0",
      "2: `stream` is of host:3, and the communicator of host:0"};
  std::istringstream said(processes.finish(0));
  std::string line;
  for (const std::string &each : wanted) {
    std::getline(said, line);
    EXPECT_EQ(line.substr(0, each.size()), each);
  }
  EXPECT_FALSE(std::getline(said, line)) << line;
}

} // namespace
