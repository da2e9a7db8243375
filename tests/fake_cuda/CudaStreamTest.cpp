// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What GpuStreamTest.cpp does not test for both vendors: times, threads, and what waits for what.
#include "runtime/Driver.h"
#include "runtime/drivers/gpu/GpuStream.h"
#include "tests/fake_cuda/CudaTestSupport.h"
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

using namespace heddle;

namespace {

using CudaStreamTest = WithStream<CudaTest>;

TEST_F(CudaStreamTest, AnEventIsReachedWhenItsWorkHasRun) {
  auto start = device->createEvent(), end = device->createEvent();
  fake.hold = true;
  stream->record(start);
  stream->record(end);
  EXPECT_FALSE(end->query());
  EXPECT_CONTAINS(messageOf([&] { end->millisecondsSince(*start); }), "is not reached yet");
  end->synchronize();
  EXPECT_TRUE(end->query());
  EXPECT_EQ(end->millisecondsSince(*start), 1.0);
}

// On a GPU each of these calls would wait for the kernels that run, which may wait for a launch of this thread.
TEST_F(CudaStreamTest, NothingIsGivenBackWhileWorkIsQueued) {
  auto other = driver.open(1)->createStream();
  auto code = device->loadModule(emptyPackage());
  stream->synchronize();
  fake.hold = true;
  other->hostFunction([] {});
  code.reset();
  device->allocate(64);
  EXPECT_EQ(fake.waits, std::vector<std::string>());
  EXPECT_EQ(fake.liveModules, 1);
  EXPECT_EQ(fake.liveAllocations, 1);
  other->synchronize();
  EXPECT_EQ(fake.waits, std::vector<std::string>());
  EXPECT_EQ(fake.liveModules, 0);
  EXPECT_EQ(fake.liveAllocations, 0);
}

// Another thread starts work after the streams have been asked, before anything is given back.
TEST_F(CudaStreamTest, WorkIsKeptOutWhileSomethingIsGivenBack) {
  Buffer target = device->allocate(64);
  auto gone = std::make_unique<Buffer>(device->allocate(64));
  fake.hold = true;
  std::promise<void> started;
  std::thread working;
  fake.afterQuery = [&] {
    working = std::thread([&] {
      stream->fill(target, 1);
      started.set_value();
    });
    started.get_future().wait_for(std::chrono::milliseconds(200)); // it comes later
  };
  gone.reset();
  working.join();
  EXPECT_EQ(fake.count("cuMemFree_v2"), 1);
  EXPECT_EQ(fake.waits, std::vector<std::string>());
}

TEST_F(CudaStreamTest, GraphsReplayWhatWasCaptured) {
  Buffer buffer = device->allocate(64);
  stream->fill(buffer, 1);
  int ran = 0;
  std::vector<uint8_t> inside(64);
  stream->beginCapture();
  stream->fill(buffer, 2);
  stream->hostFunction([&] { ++ran; });
  stream->copyToHost(inside.data(), buffer);
  stream->launch({.kernel = {device->loadModule(emptyPackage())}});
  auto graph = stream->endCapture();
  EXPECT_EQ(readBack<uint8_t>(*stream, buffer)[0], 1);
  EXPECT_EQ(ran, 0);
  stream->launch(*graph);
  stream->launch(*graph);
  stream->synchronize();
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(inside, std::vector<uint8_t>(64, 2));
  EXPECT_EQ(fake.launches.size(), 2u);
}

TEST_F(CudaStreamTest, CapturesAreToldApart) {
  auto adopted = device->adoptStream(static_cast<GpuStream &>(*stream).raw());
  auto other = device->createStream();
  EXPECT_EQ(adopted->captureId(), 0u);
  stream->beginCapture();
  other->beginCapture();
  EXPECT_NE(adopted->captureId(), 0u);
  EXPECT_EQ(adopted->captureId(), stream->captureId());
  EXPECT_NE(other->captureId(), stream->captureId());
  stream->endCapture();
  other->endCapture();
  EXPECT_EQ(stream->captureId(), 0u);
  fake.failures["cuStreamGetCaptureInfo_v3"] = {1, 1};
  EXPECT_CONTAINS(messageOf([&] { adopted->captureId(); }), "cuStreamGetCaptureInfo_v3");
}

// Graphs wait for each other by one event, of which each has one record, after its last call and in nothing's way.
TEST_F(CudaStreamTest, GraphsAreOrderedByAnEvent) {
  auto event = device->createEvent();
  Buffer buffer = device->allocate(64);
  stream->record(event);
  for (int graph = 0; graph < 2; ++graph) {
    stream->beginCapture();
    stream->waitAcrossGraphs(event);
    stream->recordAcrossGraphs(event);
    for (int call = 0; call < 3; ++call) {
      stream->fill(buffer, 1);
      stream->recordAcrossGraphs(event);
    }
    stream->launch(*stream->endCapture());
  }
  stream->synchronize();
  EXPECT_EQ(fake.externalWaits, 2);
  std::vector<std::vector<void *>> wanted = {{capturedNode(4)}, {capturedNode(4)}};
  EXPECT_EQ(fake.recordNodes, wanted);
  EXPECT_EQ(fake.count("cuGraphAddEventRecordNode"), 2);
}

TEST_F(CudaStreamTest, ARecordThatCannotBeMadeOrMovedIsAnError) {
  auto event = device->createEvent();
  Buffer buffer = device->allocate(64);
  for (const char *symbol : {"cuGraphAddEventRecordNode", "cuGraphAddDependencies_v2"}) {
    stream->beginCapture();
    fake.failures[symbol] = {1, 1};
    EXPECT_CONTAINS(messageOf([&] {
                      stream->recordAcrossGraphs(event);
                      stream->fill(buffer, 1);
                      stream->recordAcrossGraphs(event);
                    }),
                    symbol);
    stream->endCapture();
  }
}

TEST_F(CudaStreamTest, ARecordThatMustStayComesBeforeTheNext) {
  auto event = device->createEvent();
  Buffer buffer = device->allocate(64);
  stream->beginCapture();
  fake.failures["cuGraphRemoveDependencies_v2"] = {1, 1};
  for (int call = 0; call < 3; ++call) {
    stream->fill(buffer, 1);
    stream->recordAcrossGraphs(event);
  }
  stream->endCapture();
  auto firstRecord = reinterpret_cast<void *>(uint64_t(1));
  std::vector<std::vector<void *>> wanted = {{capturedNode(1)}, {firstRecord, capturedNode(5)}};
  EXPECT_EQ(fake.recordNodes, wanted);
}

// CUDA gives a handle again when its stream is destroyed.
TEST_F(CudaStreamTest, StreamsAreToldApartByMoreThanTheirHandles) {
  auto adopt = [&](uint64_t handle) { return device->adoptStream(reinterpret_cast<void *>(handle)); };
  EXPECT_NE(stream->id(), 0u);
  EXPECT_EQ(device->adoptStream(static_cast<GpuStream &>(*stream).raw())->id(), stream->id());
  auto second = device->createStream();
  gpu::Stream handle = static_cast<GpuStream &>(*second).raw();
  uint64_t before = second->id();
  second.reset();
  second = device->createStream();
  EXPECT_EQ(static_cast<GpuStream &>(*second).raw(), handle);
  EXPECT_NE(second->id(), before);
  EXPECT_EQ(adopt(0)->id(), adopt(1)->id()); // null and CU_STREAM_LEGACY
  EXPECT_NE(adopt(0)->id(), 0u);
  EXPECT_EQ(adopt(2)->id(), 0u); // CU_STREAM_PER_THREAD
  fake.failures["cuStreamGetId"] = {1, 900};
  EXPECT_EQ(second->id(), 0u);
  EXPECT_EQ(openDevice("host")->createStream()->id(), 0u);
}

// What a thread is allowed while it lives, and what it had before is put back.
TEST_F(CudaStreamTest, AThreadIsAllowedWhatCapturesOfOthersForbid) {
  {
    auto outer = device->allowInCaptures();
    EXPECT_TRUE(outer);
    auto inner = device->allowInCaptures();
  }
  EXPECT_EQ(fake.count("cuThreadExchangeStreamCaptureMode"), 4);
  fake.failures["cuThreadExchangeStreamCaptureMode"] = {1, 1};
  EXPECT_FALSE(device->allowInCaptures());
  EXPECT_EQ(openDevice("host")->allowInCaptures(), nullptr);
}

TEST_F(CudaStreamTest, ThreadsShareADeviceAndAStream) {
  Kernel kernel{device->loadModule(fillPackage())};
  std::vector<std::thread> threads;
  std::atomic<int> ran = 0;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        auto own = device->createStream();
        Buffer buffer = device->allocate(256);
        stream->hostFunction([&] { ++ran; });
        own->launch({.kernel = kernel, .arguments = {buffer, ScalarBits{t}, ScalarBits{64}}});
        EXPECT_EQ(readBack<uint32_t>(*own, buffer), std::vector<uint32_t>(64, t));
        stream->synchronize();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(ran, 200);
}

} // namespace
