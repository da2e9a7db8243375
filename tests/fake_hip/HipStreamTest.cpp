// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What GpuStreamTest.cpp does not test for both vendors: what kernels compute with peers and in graphs, and who waits.
#include "runtime/Event.h"
#include "runtime/Graph.h"
#include "tests/fake_hip/HipTestSupport.h"

using namespace heddle;

namespace {

using HipStreamTest = WithStream<HipTest>;

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

} // namespace
