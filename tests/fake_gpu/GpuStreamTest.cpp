// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order, copies, events, host functions, captures, launches and errors of streams, on the fake.
#include "runtime/drivers/gpu/GpuStream.h"
#include "tests/fake_gpu/GpuTestSupport.h"

using namespace heddle;

namespace {

using GpuStreamTest = WithStream<GpuTest>;

TEST_F(GpuStreamTest, CopiesRoundTrip) {
  expectCopiesRoundTrip(*device, *device);
}

TEST_F(GpuStreamTest, LargeCopiesGoInPieces) {
  uint64_t count = 3 * GpuStaging::sizeBytes / 4 + 5;
  Buffer buffer = device->allocate(count * 4);
  auto values = countUp<int32_t>(count);
  stream->copyToDevice(buffer, values.data());
  EXPECT_EQ(readBack<int32_t>(*stream, buffer), values);
  EXPECT_EQ(fake.count(vendor.copyToDevice), 4);
}

TEST_F(GpuStreamTest, CopiesOfOrdinaryMemoryReturnAtOnce) {
  Buffer buffer = device->allocate(64);
  std::vector<uint8_t> back(64, 1);
  fake.hold = true;
  stream->fill(buffer, 9);
  stream->copyToHost(back.data(), buffer);
  EXPECT_EQ(back[0], 1);
  stream->synchronize();
  EXPECT_EQ(back, std::vector<uint8_t>(64, 9));
}

TEST_F(GpuStreamTest, PinnedMemoryIsCopiedDirectly) {
  Buffer buffer = device->allocate(64);
  GpuStaging pinned(static_cast<GpuDevice &>(*device).context());
  stream->copyToDevice(buffer, pinned.memory());
  stream->copyToHost(pinned.memory(), buffer);
  stream->synchronize();
  EXPECT_EQ(fake.count(vendor.launchHostFunction), 0);
}

TEST_F(GpuStreamTest, StreamsAndMemoryOfOthersAreUsedAndLeft) {
  auto handle = static_cast<GpuStream &>(*stream).raw();
  int created = fake.count(vendor.streamCreate);
  Buffer own = device->allocate(64);
  {
    auto adopted = device->adoptStream(handle);
    Buffer part = device->adopt(own.address() + 32, 32, "part");
    adopted->fill(part, 7);
    adopted->synchronize();
  }
  EXPECT_EQ(fake.count(vendor.streamCreate), created);
  stream->fill(own.address(), 1, 32); // both are still there
  std::vector<uint8_t> wanted(64, 1);
  std::fill(wanted.begin() + 32, wanted.end(), 7);
  EXPECT_EQ(readBack<uint8_t>(*stream, own), wanted);
}

TEST_F(GpuStreamTest, RangesAreCheckedAtTheCall) {
  expectRangesAreChecked(*device);
}

TEST_F(GpuStreamTest, PeersAreCopiedDirectly) {
  auto other = driver.open(1);
  Buffer from = device->allocate(64), to = other->allocate(64);
  stream->fill(from, 3);
  stream->copy(to.address(), from.address(), 64);
  EXPECT_EQ(readBack<uint8_t>(*stream, to), std::vector<uint8_t>(64, 3));
  EXPECT_EQ(fake.count(vendor.copyBetween), 0);
}

TEST_F(GpuStreamTest, Events) {
  auto start = device->createEvent(), end = device->createEvent();
  EXPECT_TRUE(start->query());
  EXPECT_CONTAINS(messageOf([&] { end->millisecondsSince(*start); }), "the start event was not recorded");
  Buffer buffer = device->allocate(4096);
  fake.hold = true;
  stream->record(start);
  stream->launch({.kernel = {device->loadModule(vendor.kernel)}, .arguments = {buffer}});
  stream->record(end);
  end->synchronize();
  EXPECT_TRUE(end->query());
  EXPECT_GT(end->millisecondsSince(*start), 0.0);
  auto other = driver.open(1);
  auto elsewhere = other->createStream();
  elsewhere->wait(end);
  EXPECT_CONTAINS(messageOf([&] { elsewhere->record(end); }),
                  fmt::format("an event of {0}:0 cannot be recorded in a stream of {0}:1", vendor.name));
  auto otherEvent = other->createEvent();
  elsewhere->record(otherEvent);
  elsewhere->synchronize();
  EXPECT_CONTAINS(messageOf([&] { otherEvent->millisecondsSince(*start); }),
                  fmt::format("the start event is of {0}:0, the end event of {0}:1", vendor.name));
  EXPECT_CONTAINS(messageOf([&] { stream->wait(nullptr); }), "there is no event");
  EXPECT_CONTAINS(messageOf([&] { stream->wait(openDevice("host")->createEvent()); }),
                  "the event belongs to a device of another driver");
}

TEST_F(GpuStreamTest, HostFunctionsAndTheirErrors) {
  int ran = 0;
  stream->hostFunction([&] { ++ran; });
  stream->hostFunction([] { throw std::runtime_error("mine"); });
  stream->hostFunction([&] { ++ran; });
  EXPECT_THROW(stream->synchronize(), std::runtime_error);
  EXPECT_EQ(ran, 1);
  stream->hostFunction([&] { ++ran; });
  stream->synchronize();
  EXPECT_EQ(ran, 2);
}

TEST_F(GpuStreamTest, HostFunctionsCannotUseTheDevice) {
  Stream *self = stream.get();
  stream->hostFunction([self] { self->synchronize(); });
  EXPECT_CONTAINS(messageOf([&] { stream->synchronize(); }), "a host function waits for its own stream");
  stream->hostFunction([this] { device->allocate(64); });
  EXPECT_CONTAINS(messageOf([&] { stream->synchronize(); }),
                  fmt::format("{}:0: a host function of a stream uses the device, which {} does not allow", vendor.name,
                              vendor.title));
}

TEST_F(GpuStreamTest, HostFunctionsMayLetGoOfAnything) {
  auto buffer = std::make_shared<Buffer>(device->allocate(64));
  auto event = device->createEvent();
  Kernel kernel{device->loadModule(vendor.kernel)};
  fake.hold = true;
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

TEST_F(GpuStreamTest, AQueuedKernelKeepsItsCode) {
  Buffer out = device->allocate(1024);
  fake.hold = true;
  stream->launch({.kernel = {device->loadModule(vendor.kernel)}, .arguments = {out}});
  EXPECT_EQ(fake.liveModules, 1);
  stream->synchronize();
  EXPECT_EQ(fake.liveModules, 0);
  EXPECT_EQ(fake.waits, std::vector<std::string>());
}

TEST_F(GpuStreamTest, AKernelRunsWhereItWasLoaded) {
  Buffer out = device->allocate(1024);
  Kernel elsewhere{driver.open(1)->loadModule(vendor.kernel)};
  EXPECT_CONTAINS(
      messageOf([&] { stream->launch({.kernel = elsewhere, .arguments = {out}}); }),
      fmt::format("kernel `{0}` was loaded on {1}:1, the stream is of {1}:0", vendor.kernel.kernel, vendor.name));
}

TEST_F(GpuStreamTest, CooperativeLaunchesMustFit) {
  Kernel kernel{device->loadModule(vendor.kernel)};
  Buffer out = device->allocate(1 << 20);
  auto launch = [&](int64_t x, int64_t y = 1) {
    stream->launch({.kernel = kernel, .grid = {x, y, 1}, .arguments = {out}, .cooperative = true});
  };
  launch(1);
  EXPECT_EQ(fake.count(vendor.launchKernel), 1) << "two of these fit";
  launch(vendor.residentBlocks);
  EXPECT_EQ(fake.count(vendor.launchCooperative), 1);
  Error error = errorOf([&] { launch((vendor.residentBlocks + 1) / 3, 3); });
  EXPECT_EQ(error.kind, ErrorClass::Input);
  EXPECT_EQ(std::string(error.what()),
            fmt::format("kernel `{}`: a cooperative launch of {} blocks; {}:0 runs at most {} at once",
                        vendor.kernel.kernel, vendor.residentBlocks + 1, vendor.name, vendor.residentBlocks));
  EXPECT_EQ(error.notes, std::vector<std::string>{vendor.residentText});
  EXPECT_EQ(fake.count(vendor.maxActiveBlocks), 1) << "of one kernel it is always the same";
}

TEST_F(GpuStreamTest, AFaultOfAKernelIsThrownAndStays) {
  stream->launch({.kernel = {device->loadModule(vendor.faultyKernel)}});
  Error error = errorOf([&] { stream->synchronize(); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), fmt::format("{}:0: {}: {}", vendor.name, vendor.streamSynchronize, vendor.fault));
  EXPECT_CONTAINS(error.notes.at(1), "start the program again");
  EXPECT_EQ(errorOf([&] { device->allocate(4); }).kind, ErrorClass::Environment);
  fake.lost = 0; // or nothing could be given back
}

TEST_F(GpuStreamTest, EveryFailingCallIsNamed) {
  Buffer buffer = device->allocate(1 << 20), other = device->allocate(64);
  auto event = device->createEvent();
  Kernel kernel{device->loadModule(vendor.kernel)};
  std::vector<char> host(64);
  auto launch = [&](int64_t blocks, bool cooperative) {
    stream->launch({.kernel = kernel, .grid = {blocks, 1, 1}, .arguments = {buffer}, .cooperative = cooperative});
  };
  const std::vector<std::pair<const char *, std::function<void()>>> cases = {
      {vendor.currentDevice, [&] { stream->fill(buffer, 0); }},
      {vendor.copyToDevice, [&] { stream->copyToDevice(other, host.data()); }},
      {vendor.copyToHost, [&] { stream->copyToHost(host.data(), other); }},
      {vendor.copyOnDevice, [&] { stream->copy(buffer.address(), other.address(), 64); }},
      {vendor.fillBytes, [&] { stream->fill(buffer, 0); }},
      {vendor.eventRecord, [&] { stream->record(event); }},
      {vendor.streamWaitEvent,
       [&] {
         stream->record(event);
         stream->wait(event);
       }},
      {vendor.launchHostFunction, [&] { stream->hostFunction([] {}); }},
      {vendor.launchKernel, [&] { launch(1, false); }},
      {vendor.maxActiveBlocks, [&] { launch(1, true); }}, // before it is known
      {vendor.launchCooperative, [&] { launch(vendor.residentBlocks, true); }},
      {vendor.streamBeginCapture, [&] { stream->beginCapture(); }},
      {vendor.memoryAllocate, [&] { device->allocate(4); }},
      {vendor.memoryGetInfo, [&] { device->memoryInfo(); }},
      {vendor.streamCreate, [&] { device->createStream(); }},
      {vendor.eventCreate, [&] { device->createEvent(); }},
      {vendor.streamSynchronize, [&] { stream->synchronize(); }},
  };
  for (const auto &[symbol, action] : cases) {
    expectFailureNamed(symbol, action);
    stream->synchronize(); // or the last case would leave host calls that nothing may free
  }
  for (const char *symbol : vendor.loadingCalls)
    expectFailureNamed(symbol, [&] { device->loadModule(vendor.anotherKernel); });
}

TEST_F(GpuStreamTest, PinningThatFailsIsNamed) {
  std::vector<std::unique_ptr<Stream>> streams;
  fake.failures = {{vendor.hostAllocate, {1, 2}}};
  std::string message = messageOf([&] {
    for (int i = 0; i < GpuStagingPool::slabPieces; ++i)
      streams.push_back(device->createStream());
  });
  EXPECT_CONTAINS(message, fmt::format("{}:0: {}: {}", vendor.name, vendor.hostAllocate, vendor.outOfMemory));
  EXPECT_EQ(streams.size(), size_t(GpuStagingPool::slabPieces - 1));
}

TEST_F(GpuStreamTest, PinnedMemoryIsKeptForTheNextStream) {
  for (int i = 0; i < 3 * GpuStagingPool::slabPieces; ++i)
    device->createStream();
  EXPECT_EQ(fake.count(vendor.hostAllocate), 1);
  EXPECT_EQ(fake.count(vendor.hostFree), 0);
}

TEST_F(GpuStreamTest, NothingIsGivenBackWhileWorkIsQueued) {
  auto other = driver.open(1)->createStream();
  Buffer kept = device->allocate(64);
  fake.hold = true;
  stream->fill(kept, 1);
  {
    Buffer let = device->allocate(64);
  }
  EXPECT_EQ(fake.count(vendor.memoryFree), 0);
  EXPECT_EQ(fake.waits, std::vector<std::string>());
  stream->synchronize();
  EXPECT_EQ(fake.count(vendor.memoryFree), 1);
}

TEST_F(GpuStreamTest, AQueuedGraphMayBeLetGo) {
  int ran = 0;
  stream->beginCapture();
  stream->hostFunction([&] { ++ran; });
  auto graph = stream->endCapture();
  fake.hold = true;
  stream->launch(*graph);
  graph.reset();
  stream->synchronize();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(fake.liveGraphs, 0);
}

TEST_F(GpuStreamTest, ErrorsInsideAGraphComeFromTheStreamThatRanIt) {
  stream->beginCapture();
  stream->hostFunction([] { throw std::runtime_error("inside"); });
  auto graph = stream->endCapture();
  auto other = device->createStream();
  other->launch(*graph);
  EXPECT_THROW(other->synchronize(), std::runtime_error);
  stream->synchronize();
}

TEST_F(GpuStreamTest, MisusedCaptures) {
  expectMisusedCapturesAreRefused(*stream);
  fake.failures[vendor.streamEndCapture] = {1, 901};
  EXPECT_CONTAINS(messageOf([&] { stream->endCapture(); }),
                  fmt::format("{}: {}", vendor.streamEndCapture, vendor.captureInvalidated));
  stream->beginCapture();
  fake.failures[vendor.graphInstantiate] = {1, 1};
  EXPECT_CONTAINS(messageOf([&] { stream->endCapture(); }), vendor.graphInstantiate);
  stream->beginCapture(); // and is left open
}

TEST_F(GpuStreamTest, EventsInsideAndOutsideOfACapture) {
  auto inside = device->createEvent(), outside = device->createEvent(), never = device->createEvent();
  auto other = device->createStream();
  stream->record(outside);
  stream->beginCapture();
  stream->record(inside);
  stream->wait(inside);
  stream->wait(never);
  EXPECT_CONTAINS(messageOf([&] { stream->wait(outside); }), "cannot wait for an event that was recorded outside");
  EXPECT_CONTAINS(messageOf([&] { other->wait(inside); }), "only that capture can wait for it");
  auto graph = stream->endCapture();
  EXPECT_CONTAINS(messageOf([&] { inside->millisecondsSince(*outside); }), "the end event was not recorded");
  EXPECT_EQ(fake.count(vendor.streamWaitEvent), 1);
}

TEST_F(GpuStreamTest, BuffersMayGoDuringACapture) {
  Buffer kept = device->allocate(64);
  stream->beginCapture();
  stream->fill(kept, 1);
  {
    Buffer other = device->allocate(64);
  }
  auto graph = stream->endCapture();
  stream->launch(*graph);
  stream->synchronize();
  EXPECT_EQ(fake.liveAllocations, 1);
}

} // namespace
