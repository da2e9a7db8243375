// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches that wait for each other, many at once, and many in a row.
#include "runtime/drivers/host/HostPool.h"
#include "runtime/drivers/host/HostTestSupport.h"
#include "runtime/drivers/host/HostThreads.h"
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

using namespace heddle;

namespace {

void pause(const HostProgram *program) {
  if (__atomic_load_n(program->launch->abort, __ATOMIC_RELAXED))
    program->launch->stopped(program, 0);
  std::this_thread::yield();
}

/// arguments: arrivals, out. Every instance waits until all have arrived, three times.
void barrier(const HostProgram *program, const uint64_t *arguments) {
  auto *arrivals = pointer<int32_t>(arguments[0]);
  int32_t all = program->launch->grid[0];
  for (int32_t round = 1; round <= 3; ++round) {
    __atomic_fetch_add(arrivals, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(arrivals, __ATOMIC_ACQUIRE) < round * all)
      pause(program);
  }
  pointer<int32_t>(arguments[1])[program->id[0]] = __atomic_load_n(arrivals, __ATOMIC_RELAXED);
}

Launch barrierLaunch(const Buffer &arrivals, const Buffer &out, int64_t instances) {
  Package package = testPackage({pointerArgument("arrivals"), pointerArgument("out")});
  Launch launch = testLaunch(package, barrier, {instances, 1, 1}, {arrivals, out});
  launch.cooperative = true;
  return launch;
}

TEST(HostPool, CooperativeInstancesMeet) {
  auto device = openDevice("host");
  auto stream = device->createStream();
  for (int64_t instances : {64, 300, 2}) { // more than are parked, then fewer
    Buffer arrivals = device->allocate(4), out = device->allocate(uint64_t(instances) * 4);
    for (int repeat = 0; repeat < 3; ++repeat) {
      stream->fill(arrivals, 0);
      stream->launch(barrierLaunch(arrivals, out, instances));
      EXPECT_EQ(readBack<int32_t>(*stream, out), std::vector<int32_t>(size_t(instances), int32_t(3 * instances)));
    }
  }
}

TEST(HostPool, CooperativeLimitNamesBothNumbers) {
  auto device = openDevice("host");
  Buffer buffer = device->allocate(4);
  Error error = errorOf([&] { runTest(barrierLaunch(buffer, buffer, 4097)); });
  EXPECT_EQ(error.kind, ErrorClass::Input);
  EXPECT_CONTAINS(error.what(), "a cooperative launch of 4097 program instances; the host runs at most 4096 at once");
}

/// arguments: flags of both ranks, own rank. Tells the peer and waits for it.
void handshake(const HostProgram *program, const uint64_t *arguments) {
  auto *flags = pointer<int32_t>(arguments[0]);
  auto rank = int32_t(arguments[1]);
  __atomic_store_n(flags + rank, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(flags + 1 - rank, __ATOMIC_ACQUIRE))
    pause(program);
}

TEST(HostPool, TwoDevicesRunAtOnce) {
  auto first = openDevice("host:0"), second = openDevice("host:1");
  auto streams = {first->createStream().release(), second->createStream().release()};
  Buffer flags = first->allocate(8);
  uint64_t zero = 0;
  (*streams.begin())->copyToDevice(flags, &zero);
  (*streams.begin())->synchronize();
  uint64_t rank = 0;
  for (Stream *stream : streams) {
    Package package = testPackage({pointerArgument("flags"), scalarArgument("rank")});
    Launch launch = testLaunch(package, handshake, {1, 1, 1}, {flags, ScalarBits{rank++}});
    launch.cooperative = true;
    stream->launch(launch);
  }
  for (Stream *stream : streams) {
    stream->synchronize();
    delete stream;
  }
}

void addOne(const HostProgram *program, const uint64_t *arguments) {
  pointer<int32_t>(arguments[0])[program->id[0]] += 1;
}

TEST(HostPool, ThousandLaunchesFromFourStreams) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i] {
      auto device = openDevice("host:" + std::to_string(i % 2));
      auto stream = device->createStream();
      Buffer buffer = device->allocate(100 * 4);
      stream->fill(buffer, 0);
      Launch launch = testLaunch(testPackage({pointerArgument("x")}), addOne, {100, 1, 1}, {buffer});
      for (int repeat = 0; repeat < 250; ++repeat) {
        launch.cooperative = repeat % 50 == 0;
        stream->launch(launch);
      }
      EXPECT_EQ(readBack<int32_t>(*stream, buffer), std::vector<int32_t>(100, 250));
    });
  for (std::thread &thread : threads)
    thread.join();
}

std::atomic<bool> hurry{false};

void slow(const HostProgram *, const uint64_t *) {
  if (!hurry)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// A long launch must not keep another stream's short one from its turn: without turns this takes minutes.
TEST(HostPool, StreamsTakeTurns) {
  hurry = false; // as it was left by the test before, when it is repeated
  auto device = openDevice("host");
  auto longStream = device->createStream(), shortStream = device->createStream();
  auto longEnd = device->createEvent();
  longStream->launch(testLaunch(testPackage(), slow, {100000 * HostPool::shared().threadCount(), 1, 1}));
  longStream->record(longEnd);
  shortStream->launch(testLaunch(testPackage(), slow, {1, 1, 1}));
  shortStream->synchronize();
  EXPECT_FALSE(longEnd->query());
  hurry = true;
}

// One instance runs on the stream's own thread: nothing is handed over.
TEST(HostPool, ALaunchOfOneInstanceStaysOnTheStream) {
  static std::thread::id ran;
  auto stream = openDevice("host")->createStream();
  for (bool cooperative : {false, true}) {
    std::thread::id own;
    Launch launch = testLaunch(
        testPackage(), [](const HostProgram *, const uint64_t *) { ran = std::this_thread::get_id(); }, {1, 1, 1});
    launch.cooperative = cooperative;
    stream->launch(launch);
    stream->hostFunction([&] { own = std::this_thread::get_id(); });
    stream->synchronize();
    EXPECT_EQ(ran, own);
  }
}

std::atomic<bool> letGo{false};

void neverPolls(const HostProgram *, const uint64_t *) {
  while (!letGo)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

struct ThreadsLeft {
  explicit ThreadsLeft(int count) { startableHostThreads = count; }
  ~ThreadsLeft() { startableHostThreads = -1; }
};

Launch stuckLaunch(int64_t instances) {
  Launch launch = testLaunch(testPackage(), neverPolls, {instances, 1, 1});
  launch.timeoutSeconds = 0.5;
  return launch;
}

// The stream's thread is lost in a kernel, and another takes over the rest.
TEST(HostPool, AStreamOutlivesItsThread) {
  letGo = false;
  auto device = openDevice("host");
  auto stream = device->createStream();
  auto event = device->createEvent();
  int ran = 0;
  stream->launch(stuckLaunch(1));
  stream->hostFunction([&] { ++ran; });
  stream->record(event);
  event->synchronize();
  Error error = errorOf([&] { stream->synchronize(); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.notes.back(), "it did not leave within 4 s of being asked to: 1 thread still runs it");
  EXPECT_EQ(ran, 0);
  stream->hostFunction([&] { ++ran; });
  stream->synchronize();
  EXPECT_EQ(ran, 1);
  letGo = true;
}

TEST(HostPool, LostThreadsThatCannotBeReplacedAreNamed) {
  letGo = false;
  auto device = openDevice("host");
  auto stream = device->createStream();
  auto event = device->createEvent();
  int threads = HostPool::shared().threadCount();
  stream->launch(stuckLaunch(threads));
  stream->hostFunction([] {});
  stream->record(event); // both would need the thread that is lost
  {
    ThreadsLeft none(0);
    event->synchronize();
    Error error = errorOf([&] { stream->synchronize(); });
    EXPECT_EQ(error.kind, ErrorClass::Environment);
    EXPECT_CONTAINS(error.what(), "kernel `k` did not finish within 0.5 s");
    std::string notes;
    for (const std::string &note : error.notes)
      notes += note + "\n";
    EXPECT_CONTAINS(notes, "a stream of host:0 needs 1 thread more than the ");
    if (threads > 1) {
      std::string lack = "the host device needs " + std::to_string(threads) +
                         " threads besides those of its streams, the system gave 1: Resource temporarily unavailable";
      EXPECT_CONTAINS(notes, lack);
      Error next = errorOf([&] { stream->launch(stuckLaunch(1)); });
      EXPECT_EQ(next.kind, ErrorClass::Environment);
      EXPECT_CONTAINS(next.what(), lack);
      EXPECT_CONTAINS(next.notes.at(0), "set HEDDLE_HOST_THREADS lower");
    }
    Error next = errorOf([&] { stream->hostFunction([] {}); });
    EXPECT_EQ(next.kind, ErrorClass::Environment);
    EXPECT_CONTAINS(next.what(), "a stream of host:0 needs 1 thread more than the ");
    EXPECT_CONTAINS(next.what(), " of this process: Resource temporarily unavailable");
  }
  // With threads to have, everything works again.
  Buffer buffer = device->allocate(100 * 4);
  stream->fill(buffer, 0);
  stream->launch(testLaunch(testPackage({pointerArgument("x")}), addOne, {100, 1, 1}, {buffer}));
  EXPECT_EQ(readBack<int32_t>(*stream, buffer), std::vector<int32_t>(100, 1));
  letGo = true;
}

TEST(HostPool, ACooperativeLaunchWithoutThreadsNamesBothNumbers) {
  auto device = openDevice("host");
  auto stream = device->createStream();
  stream->hostFunction([] {});
  stream->synchronize();
  HostPool::shared().requireThreads();
  Buffer buffer = device->allocate(4);
  ThreadsLeft few(3); // and those that are parked: at most 256
  stream->launch(barrierLaunch(buffer, buffer, 1000));
  Error error = errorOf([&] { stream->synchronize(); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(),
                  "a cooperative launch of 1000 program instances needs as many threads, the system gave ");
  EXPECT_CONTAINS(error.notes.at(0), "launch fewer instances");
}

} // namespace
