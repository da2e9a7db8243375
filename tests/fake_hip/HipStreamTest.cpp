// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order, copies, events, host functions, graphs and errors of streams.
#include "runtime/Event.h"
#include "runtime/Graph.h"
#include "runtime/drivers/gpu/GpuStream.h"
#include "tests/fake_hip/HipTestSupport.h"
#include <numeric>

using namespace heddle;

namespace {

class HipStreamTest : public HipTest {
protected:
  std::shared_ptr<Device> device = driver.open(0);
  std::unique_ptr<Stream> stream = device->createStream();
};

TEST_F(HipStreamTest, CopiesRoundTrip) {
  Buffer a = device->allocate(4000, "a"), b = device->allocate(4000, "b");
  std::vector<int32_t> values(1000);
  std::iota(values.begin(), values.end(), 0);
  stream->copyToDevice(a, values.data());
  stream->fill(b, 0xff);
  stream->copy(b.address(), a.address() + 40, 400);
  auto back = readBack<int32_t>(*stream, b);
  EXPECT_EQ(back[0], 10);
  EXPECT_EQ(back[99], 109);
  EXPECT_EQ(back[100], -1);
}

TEST_F(HipStreamTest, LargeCopiesGoInPieces) {
  uint64_t count = 3 * GpuStaging::sizeBytes / 4 + 5;
  Buffer buffer = device->allocate(count * 4);
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  stream->copyToDevice(buffer, values.data());
  EXPECT_EQ(readBack<int32_t>(*stream, buffer), values);
  EXPECT_EQ(fake.count("hipMemcpyHtoDAsync"), 4);
}

TEST_F(HipStreamTest, CallsReturnAtOnce) {
  Buffer buffer = device->allocate(64);
  std::vector<uint8_t> back(64, 1);
  stream->fill(buffer, 9);
  stream->copyToHost(back.data(), buffer);
  EXPECT_EQ(back[0], 1);
  stream->synchronize();
  EXPECT_EQ(back, std::vector<uint8_t>(64, 9));
}

TEST_F(HipStreamTest, PinnedMemoryIsCopiedDirectly) {
  Buffer buffer = device->allocate(64);
  GpuStaging pinned(static_cast<HipDevice &>(*device).context());
  stream->copyToDevice(buffer, pinned.memory());
  stream->copyToHost(pinned.memory(), buffer);
  stream->synchronize();
  EXPECT_EQ(fake.count("hipLaunchHostFunc"), 0);
}

TEST_F(HipStreamTest, PeersAreCopiedDirectly) {
  auto other = driver.open(1);
  Buffer from = device->allocate(64), to = other->allocate(64);
  stream->fill(from, 3);
  stream->copy(to.address(), from.address(), 64);
  EXPECT_EQ(readBack<uint8_t>(*stream, to), std::vector<uint8_t>(64, 3));
  EXPECT_EQ(fake.count("hipMemcpyPeerAsync"), 0);
}

TEST_F(HipStreamTest, AKernelUsesThePeersMemory) {
  auto other = driver.open(1);
  Buffer x = device->allocate(1024), y = other->allocate(1024), out = other->allocate(1024);
  stream->fill(x, 0);
  stream->fill(y, 0);
  stream->fill(out, 1);
  stream->launch(
      {.kernel = {device->loadModule(hipPackage("vector_add", 256))}, .arguments = {x, y, out, ScalarBits{256}}});
  EXPECT_EQ(readBack<float>(*stream, out), std::vector<float>(256, 0));
}

TEST_F(HipStreamTest, Events) {
  auto start = device->createEvent(), end = device->createEvent();
  EXPECT_TRUE(start->query());
  EXPECT_CONTAINS(messageOf([&] { end->millisecondsSince(*start); }), "the start event was not recorded");
  Buffer buffer = device->allocate(4096);
  stream->record(start);
  stream->launch({.kernel = {device->loadModule(hipPackage("early_end"))}, .arguments = {buffer}});
  stream->record(end);
  end->synchronize();
  EXPECT_TRUE(end->query());
  EXPECT_GT(end->millisecondsSince(*start), 0.0) << "ten nanoseconds an instruction";
  auto other = driver.open(1);
  auto elsewhere = other->createStream();
  elsewhere->wait(end);
  EXPECT_CONTAINS(messageOf([&] { elsewhere->record(end); }),
                  "an event of hip:0 cannot be recorded in a stream of hip:1");
  EXPECT_CONTAINS(messageOf([&] { stream->wait(openDevice("host")->createEvent()); }),
                  "the event belongs to a device of another driver");
}

TEST_F(HipStreamTest, AStreamWaitsForAnother) {
  auto other = driver.open(1)->createStream();
  Buffer buffer = device->allocate(64);
  auto event = device->createEvent();
  stream->fill(buffer, 1);
  stream->record(event);
  other->wait(event);
  other->fill(buffer, 2);
  EXPECT_EQ(readBack<uint8_t>(*other, buffer), std::vector<uint8_t>(64, 2));
  stream->synchronize();
}

TEST_F(HipStreamTest, AskingAgainAndAgainEnds) {
  Buffer buffer = device->allocate(64);
  auto event = device->createEvent();
  stream->fill(buffer, 1);
  stream->record(event);
  int asked = 0;
  while (!event->query() && asked < 1000)
    ++asked;
  EXPECT_LT(asked, 1000);
}

TEST_F(HipStreamTest, HostFunctionsAndTheirErrors) {
  int ran = 0;
  stream->hostFunction([&] { ++ran; });
  stream->hostFunction([] { throw std::runtime_error("mine"); });
  stream->hostFunction([&] { ++ran; });
  EXPECT_THROW(stream->synchronize(), std::runtime_error);
  EXPECT_EQ(ran, 1);
  stream->hostFunction([this] { device->allocate(64); });
  EXPECT_CONTAINS(messageOf([&] { stream->synchronize(); }),
                  "hip:0: a host function of a stream uses the device, which HIP does not allow");
}

TEST_F(HipStreamTest, HostFunctionsMayLetGoOfAnything) {
  auto buffer = std::make_shared<Buffer>(device->allocate(64));
  auto event = device->createEvent();
  Kernel kernel{device->loadModule(hipPackage("early_end"))};
  stream->hostFunction([&] {
    buffer.reset();
    event.reset();
    kernel.module.reset();
    EXPECT_EQ(fake.liveEvents, 1);
  });
  stream->synchronize();
  EXPECT_EQ(fake.liveAllocations, 0);
  EXPECT_EQ(fake.liveEvents, 0);
  EXPECT_EQ(fake.liveModules, 0);
}

TEST_F(HipStreamTest, GraphsAreLaunchedAgain) {
  Buffer x = device->allocate(1024), y = device->allocate(1024);
  Kernel kernel{device->loadModule(hipPackage("vector_add", 256))};
  std::vector<float> ones(256, 1);
  stream->copyToDevice(x, ones.data());
  stream->fill(y, 0);
  stream->synchronize();
  stream->beginCapture();
  EXPECT_CONTAINS(messageOf([&] { stream->synchronize(); }), "a stream that is being captured cannot be waited for");
  stream->launch({.kernel = kernel, .arguments = {x, y, y, ScalarBits{256}}});
  auto graph = stream->endCapture();
  EXPECT_EQ(readBack<float>(*stream, y), std::vector<float>(256, 0));
  for (int i = 0; i < 3; ++i)
    stream->launch(*graph);
  EXPECT_EQ(readBack<float>(*stream, y), std::vector<float>(256, 3));
  EXPECT_EQ(fake.count("hipGraphLaunch"), 3);
}

TEST_F(HipStreamTest, AFaultOfAKernelIsThrownAndStays) {
  stream->launch({.kernel = {device->loadModule(hipPackage("traps"))}});
  Error error = errorOf([&] { stream->synchronize(); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "hip:0: hipStreamSynchronize: hipErrorLaunchFailure (719)");
  EXPECT_CONTAINS(error.notes.at(1), "start the program again");
  EXPECT_EQ(errorOf([&] { device->allocate(4); }).kind, ErrorClass::Environment);
  fake.lost = 0; // or nothing could be given back
}

TEST_F(HipStreamTest, EveryFailingCallIsNamed) {
  Buffer buffer = device->allocate(64), other = device->allocate(64);
  auto event = device->createEvent();
  std::vector<char> host(64);
  const std::vector<std::pair<const char *, std::function<void()>>> cases = {
      {"hipGetDevice", [&] { stream->fill(buffer, 0); }},
      {"hipMemcpyHtoDAsync", [&] { stream->copyToDevice(buffer, host.data()); }},
      {"hipMemcpyDtoHAsync", [&] { stream->copyToHost(host.data(), buffer); }},
      {"hipMemcpyDtoDAsync", [&] { stream->copy(buffer.address(), other.address(), 64); }},
      {"hipMemsetD8Async", [&] { stream->fill(buffer, 0); }},
      {"hipEventRecord", [&] { stream->record(event); }},
      {"hipStreamWaitEvent",
       [&] {
         stream->record(event);
         stream->wait(event);
       }},
      {"hipLaunchHostFunc", [&] { stream->hostFunction([] {}); }},
      {"hipStreamBeginCapture", [&] { stream->beginCapture(); }},
      {"hipMalloc", [&] { device->allocate(4); }},
      {"hipMemGetInfo", [&] { device->memoryInfo(); }},
      {"hipStreamCreateWithPriority", [&] { device->createStream(); }},
      {"hipEventCreateWithFlags", [&] { device->createEvent(); }},
      {"hipStreamSynchronize", [&] { stream->synchronize(); }},
  };
  for (const auto &[symbol, action] : cases) {
    fake.failures = {{symbol, {1, 1}}};
    Error error = errorOf(action);
    EXPECT_EQ(error.kind, ErrorClass::Environment) << symbol;
    EXPECT_CONTAINS(error.what(), std::string(symbol) + ": hipErrorInvalidValue (1)");
    EXPECT_CONTAINS(error.what(), "hip:0");
    fake.failures.clear();
    stream->synchronize(); // or the last case would leave host calls that nobody may free
  }
}

TEST_F(HipStreamTest, NothingIsGivenBackWhileWorkIsQueued) {
  auto other = driver.open(1)->createStream();
  Buffer kept = device->allocate(64);
  stream->fill(kept, 1);
  {
    Buffer let = device->allocate(64);
  }
  EXPECT_EQ(fake.count("hipFree"), 0);
  EXPECT_EQ(fake.waits, std::vector<std::string>());
  stream->synchronize();
  EXPECT_EQ(fake.count("hipFree"), 1);
}

} // namespace
