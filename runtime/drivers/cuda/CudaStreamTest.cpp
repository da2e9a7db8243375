// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order, copies, events, host functions, graphs and errors of streams, on the fake.
#include "runtime/drivers/cuda/CudaTestSupport.h"
#include "runtime/drivers/gpu/GpuStream.h"
#include <atomic>
#include <chrono>
#include <future>
#include <numeric>
#include <thread>

using namespace heddle;

namespace {

class CudaStreamTest : public CudaTest {
protected:
  std::shared_ptr<Device> device = driver.open(0);
  std::unique_ptr<Stream> stream = device->createStream();
};

TEST_F(CudaStreamTest, CopiesRoundTrip) {
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

TEST_F(CudaStreamTest, LargeCopiesGoInPieces) {
  uint64_t count = 3 * GpuStaging::sizeBytes / 4 + 5;
  Buffer buffer = device->allocate(count * 4);
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  stream->copyToDevice(buffer, values.data());
  EXPECT_EQ(readBack<int32_t>(*stream, buffer), values);
  EXPECT_EQ(fake.count("cuMemcpyHtoDAsync_v2"), 4);
}

TEST_F(CudaStreamTest, CopiesOfOrdinaryMemoryReturnAtOnce) {
  Buffer buffer = device->allocate(64);
  std::vector<uint8_t> back(64, 1);
  fake.hold = true;
  stream->fill(buffer, 9);
  stream->copyToHost(back.data(), buffer);
  EXPECT_EQ(back[0], 1);
  stream->synchronize();
  EXPECT_EQ(back, std::vector<uint8_t>(64, 9));
}

TEST_F(CudaStreamTest, PinnedMemoryIsCopiedDirectly) {
  Buffer buffer = device->allocate(64);
  GpuStaging pinned(static_cast<CudaDevice &>(*device).context());
  int64_t before = fake.count("cuLaunchHostFunc");
  stream->copyToDevice(buffer, pinned.memory());
  stream->copyToHost(pinned.memory(), buffer);
  stream->synchronize();
  EXPECT_EQ(fake.count("cuLaunchHostFunc"), before);
}

TEST_F(CudaStreamTest, RangesAreCheckedAtTheCall) {
  Buffer buffer = device->allocate(100, "x");
  char host[200] = {};
  Error error = errorOf([&] { stream->copyToDevice(buffer.address(), host, 101); });
  EXPECT_EQ(error.kind, ErrorClass::Input);
  EXPECT_CONTAINS(error.what(), "copy to the device: 101 bytes from byte 0 on do not fit buffer `x` of 100 bytes");
  EXPECT_CONTAINS(messageOf([&] { stream->copyToHost(host, buffer.address() + 112, 4); }),
                  "12 bytes past the end of buffer `x` of 100 bytes");
  EXPECT_CONTAINS(messageOf([&] { stream->fill(buffer.address() + 90, 0, 20); }),
                  "20 bytes from byte 90 on do not fit");
  EXPECT_CONTAINS(messageOf([&] { stream->copy(0, buffer.address(), 4); }),
                  "copy, destination: address 0x0 lies in no live buffer");
  stream->copyToHost(host, buffer.address() + 100, 0);
  stream->synchronize();
}

TEST_F(CudaStreamTest, PeersAreCopiedDirectly) {
  auto other = driver.open(1);
  Buffer from = device->allocate(64), to = other->allocate(64);
  stream->fill(from, 3);
  stream->copy(to.address(), from.address(), 64);
  EXPECT_EQ(readBack<uint8_t>(*stream, to), std::vector<uint8_t>(64, 3));
  EXPECT_EQ(fake.count("cuMemcpyPeerAsync"), 0);
}

TEST_F(CudaStreamTest, Events) {
  auto start = device->createEvent(), end = device->createEvent();
  EXPECT_TRUE(start->query());
  EXPECT_CONTAINS(messageOf([&] { end->millisecondsSince(*start); }), "the start event was not recorded");
  fake.hold = true;
  stream->record(start);
  stream->record(end);
  EXPECT_FALSE(end->query());
  EXPECT_CONTAINS(messageOf([&] { end->millisecondsSince(*start); }), "is not reached yet");
  end->synchronize();
  EXPECT_TRUE(end->query());
  EXPECT_EQ(end->millisecondsSince(*start), 1.0);
  auto other = driver.open(1);
  auto elsewhere = other->createStream();
  elsewhere->wait(end);
  EXPECT_CONTAINS(messageOf([&] { elsewhere->record(end); }),
                  "an event of cuda:0 cannot be recorded in a stream of cuda:1");
  auto otherEvent = other->createEvent();
  elsewhere->record(otherEvent);
  elsewhere->synchronize();
  EXPECT_CONTAINS(messageOf([&] { otherEvent->millisecondsSince(*start); }),
                  "the start event is of cuda:0, the end event of cuda:1");
  EXPECT_CONTAINS(messageOf([&] { stream->wait(nullptr); }), "there is no event");
  EXPECT_CONTAINS(messageOf([&] { stream->wait(openDevice("host")->createEvent()); }),
                  "the event belongs to a device of another driver");
}

TEST_F(CudaStreamTest, HostFunctionsAndTheirErrors) {
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

TEST_F(CudaStreamTest, HostFunctionsCannotUseTheDevice) {
  Stream *self = stream.get();
  stream->hostFunction([self] { self->synchronize(); });
  EXPECT_CONTAINS(messageOf([&] { stream->synchronize(); }), "a host function waits for its own stream");
  stream->hostFunction([this] { device->allocate(64); });
  EXPECT_CONTAINS(messageOf([&] { stream->synchronize(); }),
                  "cuda:0: a host function of a stream uses the device, which CUDA does not allow");
}

TEST_F(CudaStreamTest, HostFunctionsMayLetGoOfAnything) {
  auto buffer = std::make_shared<Buffer>(device->allocate(64));
  auto event = device->createEvent();
  Kernel kernel{device->loadModule(emptyPackage())};
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

TEST_F(CudaStreamTest, AQueuedKernelKeepsItsCode) {
  fake.hold = true;
  stream->launch({.kernel = {device->loadModule(emptyPackage())}});
  EXPECT_EQ(fake.liveModules, 1);
  stream->synchronize();
  EXPECT_EQ(fake.liveModules, 0);
}

TEST_F(CudaStreamTest, AFaultOfAKernelIsThrownAndStays) {
  stream->launch({.kernel = {device->loadModule(emptyPackage("illegal"))}});
  Error error = errorOf([&] { stream->synchronize(); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "cuda:0: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  EXPECT_CONTAINS(error.notes.at(1), "start the program again");
  EXPECT_EQ(errorOf([&] { device->allocate(4); }).kind, ErrorClass::Environment);
  fake.lost = 0; // or nothing could be given back
}

TEST_F(CudaStreamTest, EveryFailingCallIsNamed) {
  Buffer buffer = device->allocate(64), other = device->allocate(64);
  auto event = device->createEvent();
  Kernel kernel{device->loadModule(emptyPackage())};
  std::vector<char> host(64);
  const std::vector<std::pair<const char *, std::function<void()>>> cases = {
      {"cuMemcpyHtoDAsync_v2", [&] { stream->copyToDevice(buffer, host.data()); }},
      {"cuMemcpyDtoHAsync_v2", [&] { stream->copyToHost(host.data(), buffer); }},
      {"cuMemcpyDtoDAsync_v2", [&] { stream->copy(buffer.address(), other.address(), 64); }},
      {"cuMemsetD8Async", [&] { stream->fill(buffer, 0); }},
      {"cuEventRecord", [&] { stream->record(event); }},
      {"cuStreamWaitEvent",
       [&] {
         stream->record(event);
         stream->wait(event);
       }},
      {"cuLaunchHostFunc", [&] { stream->hostFunction([] {}); }},
      {"cuLaunchKernel", [&] { stream->launch({.kernel = kernel}); }},
      {"cuLaunchCooperativeKernel",
       [&] { stream->launch({.kernel = kernel, .grid = {8, 1, 1}, .cooperative = true}); }},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor", [&] { stream->launch({.kernel = kernel, .cooperative = true}); }},
      {"cuStreamBeginCapture_v2", [&] { stream->beginCapture(); }},
      {"cuMemAlloc_v2", [&] { device->allocate(4); }},
      {"cuMemGetInfo_v2", [&] { device->memoryInfo(); }},
      {"cuStreamCreateWithPriority", [&] { device->createStream(); }},
      {"cuEventCreate", [&] { device->createEvent(); }},
      {"cuLinkCreate_v2", [&] { device->loadModule(fillPackage()); }},
      {"cuLinkComplete", [&] { device->loadModule(fillPackage()); }},
      {"cuModuleLoadDataEx", [&] { device->loadModule(fillPackage()); }},
      {"cuModuleGetFunction", [&] { device->loadModule(fillPackage()); }},
      {"cuFuncGetAttribute", [&] { device->loadModule(fillPackage()); }},
      {"cuFuncLoad", [&] { device->loadModule(fillPackage()); }},
      {"cuCtxGetLimit", [&] { device->loadModule(fillPackage()); }},
      {"cuStreamSynchronize", [&] { stream->synchronize(); }},
  };
  for (const auto &[symbol, action] : cases) {
    fake.failures = {{symbol, {1, 1}}};
    Error error = errorOf(action);
    EXPECT_EQ(error.kind, ErrorClass::Environment) << symbol;
    EXPECT_CONTAINS(error.what(), std::string(symbol) + ": CUDA_ERROR_INVALID_VALUE (1)");
    EXPECT_CONTAINS(error.what(), "cuda:0");
  }
  fake.failures.clear();
  stream->synchronize();
}

TEST_F(CudaStreamTest, PinningThatFailsIsNamed) {
  std::vector<std::unique_ptr<Stream>> streams;
  fake.failures = {{"cuMemHostAlloc", {1, 2}}};
  std::string message = messageOf([&] {
    for (int i = 0; i < GpuStagingPool::slabPieces; ++i)
      streams.push_back(device->createStream());
  });
  EXPECT_CONTAINS(message, "cuda:0: cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)");
  EXPECT_EQ(streams.size(), size_t(GpuStagingPool::slabPieces - 1));
}

TEST_F(CudaStreamTest, PinnedMemoryIsKeptForTheNextStream) {
  for (int i = 0; i < 3 * GpuStagingPool::slabPieces; ++i)
    device->createStream();
  EXPECT_EQ(fake.count("cuMemHostAlloc"), 1);
  EXPECT_EQ(fake.count("cuMemFreeHost"), 0);
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

TEST_F(CudaStreamTest, AQueuedGraphMayBeLetGo) {
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

TEST_F(CudaStreamTest, ErrorsInsideAGraphComeFromTheStreamThatRanIt) {
  stream->beginCapture();
  stream->hostFunction([] { throw std::runtime_error("inside"); });
  auto graph = stream->endCapture();
  auto other = device->createStream();
  other->launch(*graph);
  EXPECT_THROW(other->synchronize(), std::runtime_error);
  stream->synchronize();
}

TEST_F(CudaStreamTest, MisusedCaptures) {
  EXPECT_CONTAINS(messageOf([&] { stream->endCapture(); }), "the stream is not being captured");
  stream->beginCapture();
  EXPECT_CONTAINS(messageOf([&] { stream->beginCapture(); }), "is being captured already");
  EXPECT_CONTAINS(messageOf([&] { stream->synchronize(); }), "a stream that is being captured cannot be waited for");
  auto graph = stream->endCapture();
  stream->beginCapture();
  EXPECT_CONTAINS(messageOf([&] { stream->launch(*graph); }), "a graph cannot be launched into a capture");
  fake.failures["cuStreamEndCapture"] = {1, 901};
  Error error = errorOf([&] { stream->endCapture(); });
  EXPECT_CONTAINS(error.what(), "cuStreamEndCapture: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)");
  stream->beginCapture();
  fake.failures["cuGraphInstantiateWithFlags"] = {1, 1};
  EXPECT_CONTAINS(messageOf([&] { stream->endCapture(); }), "cuGraphInstantiateWithFlags");
  stream->beginCapture(); // and is left open
}

TEST_F(CudaStreamTest, EventsInsideAndOutsideOfACapture) {
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
  EXPECT_EQ(fake.count("cuStreamWaitEvent"), 1);
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

TEST_F(CudaStreamTest, BuffersMayGoDuringACapture) {
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
