// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order, asynchrony, events and kept errors.
#include "runtime/drivers/host/HostStream.h"
#include "runtime/drivers/host/HostTestSupport.h"
#include <array>
#include <atomic>
#include <future>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace heddle;

namespace {

void addOne(const HostProgram *program, const uint64_t *arguments) {
  pointer<int32_t>(arguments[0])[program->id[0]] += 1;
}

void failAssert(const HostProgram *program, const uint64_t *) {
  program->launch->assertFailed(program, 0, 0);
}

TEST(HostStream, CopiesRoundTrip) {
  auto device = openDevice("host:0");
  expectCopiesRoundTrip(*device, *device);
}

TEST(HostStream, WorkRunsInOrder) {
  auto device = openDevice("host:0");
  auto stream = device->createStream();
  Buffer buffer = device->allocate(256 * 4);
  stream->fill(buffer, 0);
  Launch launch = testLaunch(testPackage({pointerArgument("x")}), addOne, {256, 1, 1}, {buffer});
  std::vector<int> order;
  for (int i = 0; i < 50; ++i) {
    stream->launch(launch);
    stream->hostFunction([&order, i] { order.push_back(i); });
  }
  for (int32_t value : readBack<int32_t>(*stream, buffer))
    EXPECT_EQ(value, 50);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(order[size_t(i)], i);
}

TEST(HostStream, CallsReturnAtOnce) {
  auto device = openDevice("host:0");
  auto stream = device->createStream();
  auto event = device->createEvent();
  std::promise<void> go;
  stream->hostFunction([&] { go.get_future().wait(); });
  stream->record(event);
  EXPECT_FALSE(event->query());
  go.set_value();
  event->synchronize();
  EXPECT_TRUE(event->query());
}

TEST(HostStream, StreamsWaitForEventsOfOtherDevices) {
  auto first = openDevice("host:0"), second = openDevice("host:1");
  auto producer = first->createStream(), consumer = second->createStream();
  auto event = first->createEvent();
  std::promise<void> go;
  std::atomic<int> value = 0;
  int seen = -1;
  producer->hostFunction([&] {
    go.get_future().wait();
    value = 7;
  });
  producer->record(event);
  consumer->wait(event);
  consumer->hostFunction([&] { seen = value; });
  go.set_value();
  consumer->synchronize();
  EXPECT_EQ(seen, 7);
}

TEST(HostStream, ElapsedTime) {
  auto device = openDevice("host:0");
  auto stream = device->createStream();
  auto start = device->createEvent(), end = device->createEvent();
  EXPECT_TRUE(start->query());
  EXPECT_CONTAINS(messageOf([&] { end->millisecondsSince(*start); }), "the start event was not recorded");
  stream->record(start);
  stream->hostFunction([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  stream->record(end);
  end->synchronize();
  EXPECT_GE(end->millisecondsSince(*start), 19.0);
}

TEST(HostStream, FirstErrorIsKeptAndTheStreamGoesOn) {
  auto device = openDevice("host:0");
  auto stream = device->createStream();
  auto event = device->createEvent();
  Package package = testPackage();
  package.sites = {{"tt.assert", "k.py", 3, 5, "first", {}, false}};
  int ran = 0;
  stream->launch(testLaunch(package, failAssert, {1, 1, 1}));
  package.sites[0].message = "second";
  stream->launch(testLaunch(package, failAssert, {1, 1, 1}));
  stream->hostFunction([&] { ++ran; });
  stream->record(event);
  event->synchronize(); // records go on, or other streams would wait for ever
  EXPECT_CONTAINS(messageOf([&] { stream->synchronize(); }), "k.py:3:5: assertion failed: first");
  EXPECT_EQ(ran, 0);
  stream->hostFunction([&] { ++ran; });
  stream->synchronize();
  EXPECT_EQ(ran, 1);
}

TEST(HostStream, HostFunctionsThrowAtSynchronize) {
  auto stream = openDevice("host:0")->createStream();
  stream->hostFunction([] { throw std::runtime_error("mine"); });
  EXPECT_THROW(stream->synchronize(), std::runtime_error);
  HostStream *self = static_cast<HostStream *>(stream.get());
  stream->hostFunction([self] { self->synchronize(); });
  EXPECT_CONTAINS(messageOf([&] { stream->synchronize(); }), "a host function waits for its own stream");
}

TEST(HostStream, RangesAreCheckedAtTheCall) {
  expectRangesAreChecked(*openDevice("host:0"));
}

TEST(HostStream, DestructionWaitsForTheWork) {
  std::atomic<int> ran = 0;
  {
    auto stream = openDevice("host:0")->createStream();
    for (int i = 0; i < 10; ++i)
      stream->hostFunction([&] { ++ran; });
  }
  EXPECT_EQ(ran, 10);
}

TEST(HostStream, FreedMemoryStaysUntilQueuedWorkHasRun) {
  auto device = openDevice("host:0");
  auto stream = device->createStream();
  std::promise<void> go;
  stream->hostFunction([&] { go.get_future().wait(); });
  {
    Buffer buffer = device->allocate(64 * 4);
    stream->fill(buffer, 0);
    stream->launch(testLaunch(testPackage({pointerArgument("x")}), addOne, {64, 1, 1}, {buffer}));
  }
  go.set_value();
  stream->synchronize();
}

TEST(HostStream, GraphsReplayWhatWasCaptured) {
  auto device = openDevice("host:0");
  auto stream = device->createStream();
  Buffer buffer = device->allocate(64 * 4);
  stream->fill(buffer, 0);
  int ran = 0;
  std::vector<int32_t> inside(64);
  stream->beginCapture();
  stream->launch(testLaunch(testPackage({pointerArgument("x")}), addOne, {64, 1, 1}, {buffer}));
  stream->hostFunction([&] { ++ran; });
  stream->copyToHost(inside.data(), buffer);
  EXPECT_CONTAINS(messageOf([&] { stream->fill(buffer.address() + 1, 0, 256); }), "do not fit");
  auto graph = stream->endCapture();
  stream->synchronize();
  EXPECT_EQ(ran, 0);
  auto other = device->createStream();
  for (int i = 0; i < 3; ++i)
    other->launch(*graph);
  other->synchronize();
  EXPECT_EQ(ran, 3);
  EXPECT_EQ(inside, std::vector<int32_t>(64, 3));
}

TEST(HostStream, MisusedCaptures) {
  expectMisusedCapturesAreRefused(*openDevice("host:0")->createStream());
}

TEST(HostStream, AForkedChildIsToldThatItHasNoThreads) {
  auto device = openDevice("host:0");
  auto stream = device->createStream();
  Buffer buffer = device->allocate(4);
  Launch launch = testLaunch(testPackage({pointerArgument("x")}), addOne, {1, 1, 1}, {buffer});
  stream->launch(launch);
  stream->synchronize();
  std::array<int, 2> ends;
  ASSERT_EQ(::pipe(ends.data()), 0);
  pid_t child = ::fork();
  if (child == 0) {
    std::string message = messageOf([&] { stream->launch(launch); }) + messageOf([&] { stream->synchronize(); });
    stream.reset(); // does not wait
    (void)!::write(ends[1], message.data(), message.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string message(4096, '\0');
  message.resize(size_t(std::max<ssize_t>(0, ::read(ends[0], message.data(), message.size()))));
  ::close(ends[0]);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const std::string wanted =
      "host:0: this process was forked from one whose threads run host kernels, and has none of them";
  EXPECT_EQ(message.find(wanted), 0u) << message;
  EXPECT_NE(message.rfind(wanted), 0u) << message;
  stream->launch(launch); // the parent's go on
  stream->synchronize();
}

TEST(HostStream, MemoryOfOthersIsCopiedAndUsedInPlace) {
  auto device = openDevice("host:0");
  auto stream = device->createStream();
  std::vector<int32_t> values(256, 5);
  auto address = reinterpret_cast<uint64_t>(values.data());
  EXPECT_CONTAINS(messageOf([&] { stream->fill(address, 0, 4); }), "lies in no live buffer");
  {
    Buffer adopted = device->adopt(address, 256 * 4, "values"), part = device->adopt(address + 400, 8, "part");
    EXPECT_TRUE(adopted.isAdopted());
    stream->launch(testLaunch(testPackage({pointerArgument("x")}), addOne, {256, 1, 1}, {adopted}));
    stream->fill(address + 1020, 0, 4);
    stream->synchronize();
    EXPECT_CONTAINS(messageOf([&] { stream->fill(address + 1020, 0, 8); }), "do not fit buffer `values` of 1024 bytes");
  }
  EXPECT_EQ(values[254], 6);
  EXPECT_EQ(values[255], 0);
  EXPECT_CONTAINS(messageOf([&] { stream->fill(address, 0, 4); }), "lies in no live buffer");
  EXPECT_CONTAINS(messageOf([&] { (void)device->adopt(0, 4); }), "no memory has 4 bytes at address 0x0");
  EXPECT_CONTAINS(messageOf([&] { (void)device->adoptStream(nullptr); }), "it has no streams of others");
}

} // namespace
