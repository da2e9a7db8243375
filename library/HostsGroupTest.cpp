// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface's collectives between ranks that play several hosts: bits, streams, what hosts do not have, and what
// every rank hears of one that is killed, leaves, or asks for something else.
#include "library/RankTestSupport.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

using namespace heddle;
using heddle::testing::Rank, heddle::testing::TestProcesses, heddle::testing::TestRank;

namespace {

constexpr int ranks = 4, hosts = 2, perHost = ranks / hosts;
constexpr int64_t count = 1000; ///< elements of a part

heddle_communicator_options optionsOf(const char *transport = "loopback", double deadline = 30) {
  heddle_communicator_options options = Rank::optionsOf(deadline);
  options.hosts = hosts;
  options.transport = transport;
  options.host_model = "10,3000,50,1000"; // measured ones would choose other plans on other days
  return options;
}

/// Element i of part p of rank r's input: of different magnitudes, so that the order of a sum is seen in its bits.
float inputOf(int rank, int part, int64_t i) {
  uint32_t random = uint32_t(rank * 7919 + part * 104729 + int(i) * 31 + 1) * 2654435761u;
  return std::ldexp(float(int(random >> 8)) - 8e6f, int(random % 23) - 11);
}

/// The ranks of each host in order, then the hosts.
float sumOf(int part, int64_t i) {
  float total = 0;
  for (int host = 0; host < hosts; ++host) {
    float sum = inputOf(host * perHost, part, i);
    for (int local = 1; local < perHost; ++local)
      sum += inputOf(host * perHost + local, part, i);
    total = host == 0 ? sum : total + sum;
  }
  return total;
}

float flatSumOf(int part, int64_t i) {
  float sum = inputOf(0, part, i);
  for (int rank = 1; rank < ranks; ++rank)
    sum += inputOf(rank, part, i);
  return sum;
}

float outputOf(int kind, int rank, int part, int64_t i) {
  switch (kind) {
  case HEDDLE_ALL_REDUCE:
    return sumOf(0, i);
  case HEDDLE_ALL_GATHER:
    return inputOf(part, 0, i);
  case HEDDLE_REDUCE_SCATTER:
    return sumOf(rank, i);
  default:
    return inputOf(part, rank, i);
  }
}

constexpr int32_t kinds[] = {HEDDLE_ALL_REDUCE, HEDDLE_ALL_GATHER, HEDDLE_REDUCE_SCATTER, HEDDLE_ALL_TO_ALL};

/// Elements that are wrong after two calls, of which the second comes right after the first.
size_t runKind(const Rank &rank, int kind) {
  bool many = kind == HEDDLE_REDUCE_SCATTER || kind == HEDDLE_ALL_TO_ALL;
  bool gives = kind == HEDDLE_ALL_GATHER || kind == HEDDLE_ALL_TO_ALL;
  std::vector<float> input(size_t(count * (many ? ranks : 1))), output(size_t(count * (gives ? ranks : 1)), -1);
  for (size_t i = 0; i < input.size(); ++i)
    input[i] = inputOf(rank.self.rank, int(int64_t(i) / count), int64_t(i) % count);
  auto collective = rank.prepare(rank.request(kind, count));
  rank.launch(collective, input.data(), output.data());
  rank.launch(collective, input.data(), output.data());
  rank.synchronize();
  size_t wrong = 0;
  for (size_t i = 0; i < output.size(); ++i)
    wrong += output[i] != outputOf(kind, rank.self.rank, int(int64_t(i) / count), int64_t(i) % count);
  return wrong;
}

TEST(HostsOfTheLibrary, EveryKindHasTheBitsOfHostsInOrder) {
  int64_t different = 0;
  for (int64_t i = 0; i < count; ++i)
    different += sumOf(0, i) != flatSumOf(0, i);
  EXPECT_GT(different, count / 10); // else the comparison below could not fail
  TestProcesses processes(ranks, [](const TestRank &self) {
    std::shared_ptr<Bootstrap> bootstrap;
    for (const char *transport : {"loopback", "tcp"}) {
      Rank rank(self, optionsOf(transport), bootstrap);
      bootstrap = rank.bootstrap;
      for (int kind : kinds)
        if (size_t wrong = runKind(rank, kind))
          self.say(std::to_string(wrong) + " wrong of kind " + std::to_string(kind));
      heddle_text text = nullptr;
      rank.check(heddle_communicator_describe(rank.communicator, &text));
      auto json = nlohmann::json::parse(textOf(text));
      heddle_release(text);
      self.say(json["transport"].get<std::string>() + " joins " + json["hosts"].dump() + " hosts of " +
               json["ranksPerHost"].dump() + ", " + json["members"][3]["device"].get<std::string>() + " is the last, " +
               json["hostModel"].get<std::string>());
    }
  });
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(processes.finish(rank), "unix sockets joins 2 hosts of 2, host:3 is the last, 10,3000,50,1000\n"
                                      "TCP joins 2 hosts of 2, host:3 is the last, 10,3000,50,1000\n");
}

// The caller's stream brings the input, and takes the output: nothing else is waited for.
TEST(HostsOfTheLibrary, CallsComeInTheOrderOfTheCallersStreams) {
  TestProcesses processes(ranks, [](const TestRank &self) {
    Rank rank(self, optionsOf());
    auto sum = rank.prepare(rank.request(HEDDLE_ALL_REDUCE, count));
    constexpr uint64_t bytes = count * sizeof(float);
    Handle<heddle_stream> streams[2];
    Handle<heddle_buffer> input, output, later;
    for (auto &stream : streams)
      rank.check(heddle_stream_create(rank.device, &stream.value));
    for (auto *buffer : {&input, &output, &later})
      rank.check(heddle_buffer_create(rank.device, bytes, nullptr, &buffer->value));
    uint64_t from = 0, to = 0, size = 0;
    rank.check(heddle_buffer_get(input, &from, &size));
    rank.check(heddle_buffer_get(output, &to, &size));
    std::vector<float> given(count), seen(count);
    size_t wrong = 0;
    for (int call = 0; call < 20; ++call) {
      for (int64_t i = 0; i < count; ++i)
        given[size_t(i)] = float(call + self.rank) + float(i % 7);
      heddle_stream stream = streams[call % 2], other = streams[(call + 1) % 2];
      rank.check(heddle_copy_to_device(stream, input, 0, given.data(), bytes));
      rank.check(heddle_collective_launch(sum, stream, from, to));
      rank.check(heddle_communicator_follow(rank.communicator, other)); // or it would read too early
      rank.check(heddle_copy(other, later, 0, output, 0, bytes));
      rank.check(heddle_fill(other, input, 0, bytes, 0xFF)); // comes after the call has read it
      rank.check(heddle_copy_to_host(other, seen.data(), later, 0, bytes));
      rank.check(heddle_stream_synchronize(other));
      for (int64_t i = 0; i < count; ++i)
        wrong += seen[size_t(i)] != float(4 * call + 6) + 4 * float(i % 7);
    }
    self.say(std::to_string(wrong) + " wrong");
    rank.check(heddle_capture_begin(streams[0]));
    rank.sayError(heddle_collective_launch(sum, streams[0], from, to));
    heddle_graph graph = nullptr;
    rank.check(heddle_capture_end(streams[0], &graph));
    heddle_release(graph);
    rank.synchronize(); // and the group goes on
    rank.sayError(heddle_communicator_check(rank.communicator));
  });
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(processes.finish(rank), "0 wrong\n2: the stream is being captured, and a collective between hosts is in "
                                      "no graph\n0: no error\n");
}

TEST(HostsOfTheLibrary, RefuseWhatHostsDoNotHave) {
  TestProcesses processes(ranks, [](const TestRank &self) {
    Rank rank(self, optionsOf());
    heddle_collective place = nullptr;
    auto refuse = [&](auto change) {
      auto request = rank.request(HEDDLE_ALL_REDUCE, count);
      change(request);
      rank.sayError(heddle_communicator_prepare(rank.communicator, &request, &place));
    };
    refuse([](auto &request) { request.kind = HEDDLE_BROADCAST; });
    refuse([](auto &request) { request.captured = 1; });
    refuse([](auto &request) { request.algorithm = "one_shot_pull"; });
    heddle_buffer buffer = nullptr;
    heddle_window window = nullptr;
    rank.sayError(heddle_communicator_allocate(rank.communicator, 64, "x", &buffer));
    rank.sayError(heddle_window_register(rank.communicator, 4096, 64, "x", &window));
    rank.sayError(heddle_communicator_prepare_module(rank.communicator, "HloModule m", 11, "m", 0, &place));
    auto request = rank.request(HEDDLE_ALL_REDUCE, 1 << 16);
    heddle_collective_plan plan = {sizeof plan, nullptr, 0, 0, 0};
    for (const char *algorithm : {"hosts_whole", "hosts_shards", "hosts_pieces"}) {
      request.algorithm = algorithm;
      rank.check(heddle_communicator_plan(rank.communicator, &request, &plan));
      self.say(
          std::string(plan.algorithm) + " " +
          (plan.memory_bytes > int64_t(4 * request.count) / perHost && plan.blocks > 0 && !plan.packets ? "+" : "?"));
    }
  });
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(
        processes.finish(rank),
        "2: broadcast is for ranks of one host, and these are on 2\n"
        "2: collectives in graphs are for ranks of one host, and these are on 2 hosts of 2 ranks\n"
        "2: an all-reduce between hosts has no algorithm `one_shot_pull`\n"
        "2: windows are for ranks of one host, and these are on 2 hosts of 2 ranks\n"
        "2: windows are for ranks of one host, and these are on 2 hosts of 2 ranks\n"
        "2: modules, and code that is fused into collectives, are for ranks of one host, and these are on 2 hosts "
        "of 2 ranks\n"
        "hosts_whole +\nhosts_shards +\nhosts_pieces +\n");
}

//===-- Faults ---------------------------------------------------------------------------------------------------===//

/// Sums until a call fails; says how, and what follows.
void sumUntilItFails(const Rank &rank, heddle_collective sum) {
  std::vector<float> values(size_t(count), 1);
  heddle_status status = HEDDLE_OK;
  while (!status) {
    status = heddle_collective_launch(sum, nullptr, uint64_t(values.data()), uint64_t(values.data()));
    status = status ? status : heddle_communicator_synchronize(rank.communicator);
  }
  rank.sayError(status);
  rank.sayError(heddle_communicator_check_group(rank.communicator));
  rank.sayError(heddle_collective_launch(sum, nullptr, uint64_t(values.data()), uint64_t(values.data())));
}

TEST(HostsOfTheLibrary, AKilledRankIsNamedOnEveryHost) {
  for (const char *transport : {"loopback", "tcp"}) {
    TestProcesses processes(ranks, [=](const TestRank &self) {
      Rank rank(self, optionsOf(transport));
      std::vector<float> values(size_t(count), 1);
      auto sum = rank.sumOnce(values);
      self.say("once");
      if (self.rank == 1)
        ::pause();
      sumUntilItFails(rank, sum);
    });
    for (int rank = 0; rank < ranks; ++rank)
      processes.waitFor(rank, "once");
    double killed = heddle::testing::now();
    processes.signal(1, SIGKILL);
    std::string gone = "3: rank 1 (host:1, pid " + std::to_string(processes.pid(1)) + ") is gone";
    for (int rank : {0, 2, 3}) {
      std::string said = processes.finish(rank);
      for (int call = 0; call < 3; ++call, said.erase(0, said.find(gone) + 1))
        EXPECT_CONTAINS(said, gone);
    }
    EXPECT_LT(heddle::testing::now() - killed, 15); // the deadline is 30
  }
}

TEST(HostsOfTheLibrary, AStoppedRankIsNamedAtTheDeadline) {
  TestProcesses processes(ranks, [](const TestRank &self) {
    Rank rank(self, optionsOf("loopback", 1));
    std::vector<float> values(size_t(count), 1);
    auto sum = rank.sumOnce(values);
    self.say("once");
    if (self.rank == 3)
      ::pause();
    sumUntilItFails(rank, sum);
  });
  for (int rank = 0; rank < ranks; ++rank)
    processes.waitFor(rank, "once");
  for (int rank : {0, 1, 2}) {
    std::string said = processes.finish(rank);
    EXPECT_EQ(said.rfind("once\n3: ", 0), 0u) << said;
    EXPECT_CONTAINS(said, "rank 3");
  }
}

// One that has left is an error for those that wait for it, and for no other.
TEST(HostsOfTheLibrary, ARankThatLeavesIsAnErrorForThoseThatWait) {
  TestProcesses processes(ranks, [](const TestRank &self) {
    Rank rank(self, optionsOf());
    std::vector<float> values(size_t(count), 1);
    auto sum = rank.sumOnce(values);
    if (self.rank == 2) {
      rank.check(heddle_communicator_leave(rank.communicator));
      rank.check(heddle_communicator_leave(rank.communicator));
      rank.sayError(heddle_collective_launch(sum, nullptr, uint64_t(values.data()), uint64_t(values.data())));
      self.say("left");
      ::pause();
    }
    for (int turn = 0; turn < 1000 && heddle_communicator_check_group(rank.communicator) == HEDDLE_OK; ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    rank.sayError(heddle_communicator_check(rank.communicator));
    sumUntilItFails(rank, sum);
    self.say("told");
    ::pause(); // or its end might be what others see
  });
  processes.waitFor(2, "left");
  EXPECT_CONTAINS(processes.text(2), "3: this rank has left the group");
  std::string left = "3: rank 2 (host:2, pid " + std::to_string(processes.pid(2)) + ") has left the group\n";
  for (int rank : {0, 1, 3}) {
    processes.waitFor(rank, "told");
    EXPECT_EQ(processes.text(rank), "0: no error\n" + left + left + left + "told\n");
  }
}

TEST(HostsOfTheLibrary, RanksThatDifferAreToldOnAllAndGoOn) {
  TestProcesses processes(ranks, [](const TestRank &self) {
    std::shared_ptr<Bootstrap> bootstrap = self.bootstrap();
    auto failsToJoin = [&](auto change) {
      auto options = optionsOf();
      if (self.rank == 3)
        change(options);
      self.say(errorOf([&] { Rank(self, options, bootstrap); }).what());
    };
    failsToJoin([](auto &options) { options.hosts = 4; });
    failsToJoin([](auto &options) { options.transport = "tcp"; });
    failsToJoin([](auto &options) { options.host_model = "10,3000,50,2000"; });
    Rank rank(self, optionsOf(), bootstrap);
    heddle_collective place = nullptr;
    auto request = rank.request(HEDDLE_ALL_REDUCE, self.rank >= 2 ? 101 : 100);
    rank.sayError(heddle_communicator_prepare(rank.communicator, &request, &place));
    for (size_t i = 0; i < heddle_error_note_count(); ++i)
      self.say(heddle_error_note(i));
    std::vector<float> values(size_t(count), 1);
    rank.sumOnce(values);
    self.say(std::to_string(values[5]));
    rank.bootstrap->allGather("", 20); // all have it, before one aborts
    if (self.rank == 3)
      rank.check(heddle_communicator_abort(rank.communicator, "the disk is full"));
    for (int turn = 0; self.rank != 3 && turn < 1000; ++turn) {
      if (heddle_status status = heddle_communicator_check(rank.communicator)) {
        rank.sayError(status);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  for (int rank = 0; rank < ranks; ++rank) {
    std::string said = processes.finish(rank);
    EXPECT_CONTAINS(said, "rank 3 has 4 ");
    EXPECT_CONTAINS(said, "over `tcp`");
    EXPECT_CONTAINS(said, "the model of hosts of rank 3 is 10,3000,50,2000, that of rank 0 10,3000,50,1000");
    EXPECT_CONTAINS(said, ") prepares something else than rank 0 (host:0");
    EXPECT_CONTAINS(said, "plan of rank 0: all-reduce sum f32, 2 hosts of 2 ranks, ");
    EXPECT_CONTAINS(said, "plan of rank 2: all-reduce sum f32, 2 hosts of 2 ranks, ");
    EXPECT_CONTAINS(said, "\n4.000000\n");
    if (rank != 3)
      EXPECT_CONTAINS(said, "3: rank 3 (host:3, pid " + std::to_string(processes.pid(3)) +
                                ") ended the group: the disk is full\n");
  }
}

} // namespace
