// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels on simulated devices: results, graphs, kernels of several devices that talk to each other, and what goes
// wrong while they run. Where the policy could matter, each runs under two of them.
#include "runtime/drivers/simulated/SimulatedTestSupport.h"
#include <future>
#include <thread>

using namespace heddle;

namespace {

struct Case {
  std::string chip, policy;
};

class OnChip : public testing::TestWithParam<Case> {
protected:
  std::string device(int ordinal) const { return "sim:" + GetParam().chip + ":" + std::to_string(ordinal); }
  Package package(const std::string &file, const std::string &kernel, int64_t threads = 64) const {
    return simulatedPackage(file, kernel, GetParam().chip, threads);
  }
  Setting policy{"HEDDLE_SIM_POLICY", GetParam().policy};
};

INSTANTIATE_TEST_SUITE_P(Simulated, OnChip,
                         testing::Values(Case{"gfx942", "earliest"}, Case{"gfx942", "reordered"},
                                         Case{"gfx950", "earliest"}, Case{"gfx950", "reordered"}),
                         [](const auto &info) { return info.param.chip + "_" + info.param.policy; });

TEST_P(OnChip, AddsVectors) {
  TestStream one(device(0));
  std::vector<float> x(1000), y(1000);
  for (int i = 0; i < 1000; ++i)
    x[size_t(i)] = float(i), y[size_t(i)] = float(2 * i);
  Buffer xs = one.buffer(x, "x"), ys = one.buffer(y, "y"), out = one.device->allocate(4000, "out");
  one.stream->launch(one.launchOf(package("kernels", "vector_add", 256), {xs, ys, out, ScalarBits{1000}}, 4));
  std::vector<float> sums = one.read<float>(out);
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(sums[size_t(i)], float(3 * i)) << i;
}

TEST_P(OnChip, TakesTheShapeThatAKernelIsCompiledFor) {
  TestStream one(device(0));
  Buffer out = one.buffer(std::vector<uint32_t>(128));
  one.stream->launch(one.launchOf(package("kernels", "of_one_size", 256), {out}));
  EXPECT_EQ(one.read(out), std::vector<uint32_t>(128, 1));
}

/// Two devices whose kernels wait for each other's word.
struct Pair {
  Pair(const std::string &first, const std::string &second, const Package &exchange)
      : streams{TestStream(first), TestStream(second)} {
    std::vector<uint32_t> box(128), flag(1), round(1), input(64);
    for (TestStream &each : streams) {
      for (uint32_t i = 0; i < 64; ++i)
        input[i] = i + uint32_t(1000 * (&each - streams));
      boxes.push_back(each.buffer(box, "box"));
      flags.push_back(each.buffer(flag, "flag", Caching::Uncached));
      rounds.push_back(each.buffer(round, "round"));
      inputs.push_back(each.buffer(input, "input"));
      outputs.push_back(each.device->allocate(256, "output"));
      modules.push_back(each.device->loadModule(exchange));
    }
  }
  Launch launch(size_t self) const {
    size_t peer = 1 - self;
    return {
        .kernel = {modules[self]},
        .arguments = {boxes[self], boxes[peer], flags[self], flags[peer], rounds[self], inputs[self], outputs[self]}};
  }
  void expectSums(uint32_t round) {
    for (size_t self : {size_t(0), size_t(1)}) {
      std::vector<uint32_t> sums = streams[self].read(outputs[self]);
      for (uint32_t i = 0; i < 64; ++i)
        ASSERT_EQ(sums[i], 2 * i + 1000) << "device " << self << ", element " << i;
      EXPECT_EQ(streams[self].read(rounds[self])[0], round);
    }
  }

  TestStream streams[2];
  std::vector<Buffer> boxes, flags, rounds, inputs, outputs;
  std::vector<std::shared_ptr<Module>> modules;
};

TEST_P(OnChip, TwoDevicesTalkToEachOther) {
  Pair pair(device(0), device(1), package("peers", "exchange"));
  for (uint32_t round = 1; round <= 3; ++round) {
    for (size_t self : {size_t(0), size_t(1)})
      pair.streams[self].stream->launch(pair.launch(self));
    pair.expectSums(round);
  }
}

/// As it does when what was to be counted fails on another device.
TEST_P(OnChip, CountingEndsWhileKernelsRun) {
  Pair pair(device(0), device(1), package("peers", "exchange"));
  Driver &driver = pair.streams[0].device->driver();
  {
    TrafficCount count(driver);
    ASSERT_TRUE(count.isOn());
    pair.streams[0].stream->launch(pair.launch(0));
    pair.streams[1].read(pair.inputs[1]); // the first one's kernel waits by now
    EXPECT_CONTAINS(messageOf([&] { driver.countTraffic(true); }), "counting cannot begin while kernels run");
  }
  EXPECT_TRUE(driver.traffic().empty());
  pair.streams[1].stream->launch(pair.launch(1));
  pair.expectSums(1);
  EXPECT_TRUE(driver.traffic().empty());
}

TEST_P(OnChip, EveryScheduleLetsThemMeet) {
  for (const char *schedule : {"run-to-block", "round-robin", "leap-frog", "frozen", "random"})
    for (const char *seed : {"0", "1"}) {
      Setting order("HEDDLE_SIM_SCHEDULE", schedule), which("HEDDLE_SIM_SEED", seed);
      Pair pair(device(0), device(1), package("peers", "exchange"));
      for (size_t self : {size_t(0), size_t(1)})
        pair.streams[self].stream->launch(pair.launch(self));
      pair.expectSums(1);
    }
}

TEST_P(OnChip, GraphsAreReplayed) {
  Pair pair(device(0), device(1), package("peers", "exchange"));
  std::unique_ptr<Graph> graphs[2];
  for (size_t self : {size_t(0), size_t(1)}) {
    Stream &stream = *pair.streams[self].stream;
    stream.beginCapture();
    stream.fill(pair.outputs[self], 0);
    stream.launch(pair.launch(self));
    EXPECT_CONTAINS(messageOf([&] { stream.synchronize(); }), "end the capture first");
    graphs[self] = stream.endCapture();
  }
  for (uint32_t round = 1; round <= 3; ++round) {
    for (size_t self : {size_t(0), size_t(1)})
      pair.streams[self].stream->launch(*graphs[self]);
    pair.expectSums(round);
  }
}

TEST_P(OnChip, DevicesOfSeveralThreadsMeet) {
  Pair pair(device(0), device(1), package("peers", "exchange"));
  auto runRank = [&](size_t self) {
    for (int round = 0; round < 5; ++round) {
      pair.streams[self].stream->launch(pair.launch(self));
      pair.streams[self].stream->synchronize();
    }
  };
  std::thread other(runRank, 1);
  runRank(0);
  other.join();
  pair.expectSums(5);
}

TEST_P(OnChip, AFaultNamesPlaceAndLaunchAndTheStreamWorksAgain) {
  TestStream one(device(0));
  Buffer x = one.buffer(std::vector<float>(100), "x"), big = one.device->allocate(4000, "big");
  Launch launch = one.launchOf(package("kernels", "vector_add", 256), {x, big, big, ScalarBits{1000}}, 4);
  bool ran = false;
  one.stream->launch(launch);
  one.stream->hostFunction([&] { ran = true; });
  Error error = errorOf([&] { one.stream->synchronize(); });
  EXPECT_EQ(error.kind, ErrorClass::WrongResult);
  EXPECT_CONTAINS(error.what(), "kernel `vector_add`: reads 4 bytes at 0x");
  ASSERT_GE(error.notes.size(), 3u);
  EXPECT_CONTAINS(error.notes[0], "global_load_dword");
  EXPECT_CONTAINS(error.notes[0], "workgroup 0,0,0 wave 1 lane 36");
  EXPECT_CONTAINS(error.notes[1], "past the end of `x`, 400 bytes at");
  EXPECT_EQ(error.notes[2], "launched on " + device(0) + ", grid 4 x 1 x 1, 256 work-items each");
  EXPECT_FALSE(ran);
  launch.arguments[3] = ScalarBits{100};
  one.stream->launch(launch);
  one.stream->synchronize();
}

TEST_P(OnChip, WaitingForEverIsToldToAllWhoWait) {
  TestStream streams[] = {TestStream(device(0)), TestStream(device(1)), TestStream(device(2))};
  Buffer flag = streams[0].buffer(std::vector<uint32_t>(1), "flag", Caching::Uncached);
  Buffer heard = streams[0].device->allocate(256);
  Launch done = streams[2].launchOf(package("peers", "spin"), {heard, ScalarBits{10}});
  streams[2].stream->launch(done);
  for (int i : {0, 1}) {
    Launch launch = streams[i].launchOf(package("peers", "listen"), {flag, ScalarBits{uint64_t(7 + i)}, heard});
    launch.timeoutSeconds = 0.1; // in which another thread of this process could still say the word
    streams[i].stream->launch(launch);
  }
  streams[2].stream->synchronize();
  for (int i : {0, 1}) {
    std::string message = messageOf([&] { streams[i].stream->synchronize(); });
    EXPECT_CONTAINS(message, "kernel `listen` ");
    EXPECT_CONTAINS(message, "launched on " + device(i));
  }
  streams[0].stream->launch(streams[0].launchOf(package("peers", "spin"), {heard, ScalarBits{10}}));
  streams[0].stream->synchronize();
}

TEST_P(OnChip, ACopyMayBeTheWord) {
  TestStream one(device(0));
  auto copies = one.device->createStream();
  Buffer flag = one.buffer(std::vector<uint32_t>(1), "flag", Caching::Uncached), heard = one.device->allocate(256);
  one.stream->launch(one.launchOf(package("peers", "listen"), {flag, ScalarBits{9}, heard}));
  uint32_t word = 9;
  copies->copyToDevice(flag, &word);
  EXPECT_EQ(one.read(heard), std::vector<uint32_t>(64, 9));
}

/// The launch that says the word comes while the other one waits, from another thread.
TEST_P(OnChip, WaitsForAnotherThread) {
  TestStream one(device(0));
  auto copies = one.device->createStream();
  Buffer flag = one.buffer(std::vector<uint32_t>(1), "flag", Caching::Uncached), heard = one.device->allocate(256);
  one.stream->launch(one.launchOf(package("peers", "listen"), {flag, ScalarBits{9}, heard}));
  uint32_t word = 9;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    copies->copyToDevice(flag, &word);
  });
  EXPECT_EQ(one.read(heard), std::vector<uint32_t>(64, 9));
  other.join();
}

TEST_P(OnChip, TimePassesWhileAllWait) {
  TestStream one(device(0));
  Buffer flag = one.buffer(std::vector<uint32_t>(1), "flag", Caching::Uncached), heard = one.device->allocate(256);
  auto begin = one.device->createEvent(), end = one.device->createEvent();
  one.stream->record(begin);
  one.stream->launch(one.launchOf(package("peers", "listen_until"), {flag, ScalarBits{9}, heard, ScalarBits{1000000}}));
  one.stream->record(end);
  EXPECT_EQ(one.read(heard), std::vector<uint32_t>(64, 2));
  EXPECT_GE(end->millisecondsSince(*begin), 10); // of the devices' clock: 10 ns a tick
}

TEST_P(OnChip, ATimeLimitEndsALaunch) {
  TestStream one(device(0));
  Buffer out = one.device->allocate(256);
  Launch launch = one.launchOf(package("peers", "spin"), {out, ScalarBits{0xffffffff}});
  launch.timeoutSeconds = 0.05;
  one.stream->launch(launch);
  EXPECT_CONTAINS(messageOf([&] { one.stream->synchronize(); }),
                  "kernel `spin` has not ended within its time limit of 0.05 s");
}

/// Another thread, which could do anything as far as anyone knows.
struct Somebody {
  ~Somebody() { go.set_value(), thread.join(); }
  std::promise<void> go;
  std::thread thread{[&] { go.get_future().wait(); }};
};

/// Two wait for ever; the limit of one says nothing of the other, which hears its word later.
TEST(SimulatedTime, ALimitEndsNoOtherLaunch) {
  TestStream one("sim:gfx942:0"), two("sim:gfx942:1");
  auto copies = one.device->createStream();
  Buffer flags[] = {one.buffer(std::vector<uint32_t>(1), "flag", Caching::Uncached),
                    two.buffer(std::vector<uint32_t>(1), "flag", Caching::Uncached)};
  Buffer heard = two.device->allocate(256);
  Somebody somebody;
  Setting patience("HEDDLE_LAUNCH_TIMEOUT", "0.05"); // of the one without a limit of its own
  Launch patient = two.launchOf(simulatedPackage("peers", "listen"), {flags[1], ScalarBits{9}, heard});
  patient.timeoutSeconds = 1000;
  two.stream->launch(patient);
  one.stream->launch(one.launchOf(simulatedPackage("peers", "listen"), {flags[0], ScalarBits{9}, heard}));
  std::string message = messageOf([&] { one.stream->synchronize(); });
  EXPECT_CONTAINS(message, "kernel `listen` waits for ever");
  EXPECT_CONTAINS(message, "launched on sim:gfx942:0");
  uint32_t word = 9;
  copies->copyToDevice(flags[1], &word);
  EXPECT_EQ(two.read(heard), std::vector<uint32_t>(64, 9));
}

/// While another host thread could act, time passes as it really does, for so long as one waits for others. The end of
/// a launch, and a begin, start that again: `last` does not see its time pass though `first` and `second` used all of
/// it.
TEST(SimulatedTime, PatienceBeginsAnewWithEveryLaunch) {
  TestStream streams[] = {TestStream("sim:gfx942:0"), TestStream("sim:gfx942:1"), TestStream("sim:gfx942:2")};
  TestStream &first = streams[0], &last = streams[1], &second = streams[2];
  Setting patience("HEDDLE_LAUNCH_TIMEOUT", "0.5"); // 50 million ticks
  Buffer flag = first.buffer(std::vector<uint32_t>(1), "flag", Caching::Uncached), heard = first.device->allocate(256);
  Somebody somebody;
  auto launch = [&](TestStream &on, uint64_t ticks) {
    on.stream->launch(
        on.launchOf(simulatedPackage("peers", "listen_until"), {flag, ScalarBits{9}, heard, ScalarBits{ticks}}));
  };
  auto done = last.device->createEvent();
  auto ask = [&] {
    for (int i = 0; i < 40; ++i) // doubled each time, all of its ticks would have passed
      EXPECT_FALSE(done->query());
  };
  launch(last, uint64_t(1) << 29);
  last.stream->record(done);
  launch(first, 60'000'000);
  EXPECT_EQ(first.read(heard), std::vector<uint32_t>(64, 2));
  ask();
  launch(second, uint64_t(1) << 40);
  ask();
  uint32_t word = 9;
  auto copies = first.device->createStream();
  copies->copyToDevice(flag, &word);
  for (TestStream *each : {&last, &second})
    each->stream->synchronize();
  EXPECT_EQ(first.read(heard), std::vector<uint32_t>(64, 1));
}

TEST_P(OnChip, LaunchesThatDoNotFitAreRefusedAtTheCall) {
  TestStream one(device(0)), two(device(1));
  Buffer out = one.device->allocate(256);
  Launch launch = one.launchOf(package("peers", "spin"), {out, ScalarBits{1}}, 1 << 20);
  launch.cooperative = true;
  EXPECT_CONTAINS(messageOf([&] { one.stream->launch(launch); }), "a cooperative launch of 1048576 workgroups; " +
                                                                      device(0) + " runs at most " +
                                                                      (GetParam().chip == "gfx942" ? "9728" : "8192"));
  launch.cooperative = false, launch.grid = {1, 1, 1};
  EXPECT_CONTAINS(messageOf([&] { two.stream->launch(launch); }),
                  "was loaded on " + device(0) + ", and the stream is of " + device(1));
  launch.timeoutSeconds = -1;
  EXPECT_CONTAINS(messageOf([&] { one.stream->launch(launch); }), "a time limit of -1 s");
  launch.timeoutSeconds = 0;
  Setting checks("HEDDLE_SIM_CHECKS", "everything");
  EXPECT_CONTAINS(messageOf([&] { one.stream->launch(launch); }), "HEDDLE_SIM_CHECKS: there is no check `everything`");
}

TEST_P(OnChip, EqualCallsGiveEqualRuns) {
  auto timesOf = [&] {
    Pair pair(device(0), device(1), package("peers", "exchange"));
    auto begin = pair.streams[0].device->createEvent(), end = pair.streams[0].device->createEvent();
    pair.streams[0].stream->record(begin);
    for (int round = 0; round < 3; ++round)
      for (size_t self : {size_t(0), size_t(1)})
        pair.streams[self].stream->launch(pair.launch(self));
    pair.streams[0].stream->record(end);
    pair.streams[0].stream->synchronize();
    pair.streams[1].stream->synchronize();
    return end->millisecondsSince(*begin);
  };
  Setting schedule("HEDDLE_SIM_SCHEDULE", "random"), seed("HEDDLE_SIM_SEED", "5");
  double first = timesOf();
  EXPECT_GT(first, 0);
  EXPECT_EQ(timesOf(), first);
}

} // namespace
