// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels print and where they fail, from the record on the fake device to the sink and to the stream's error.
#include "runtime/Graph.h"
#include "runtime/Launch.h"
#include "runtime/Print.h"
#include "runtime/drivers/gpu/GpuStream.h"
#include "tests/fake_cuda/CudaTestSupport.h"

using namespace heddle;

namespace {

using Lines = std::vector<std::string>;

class CudaReport : public WithStream<CudaTest> {
protected:
  CudaReport() {
    before = setPrintSink([this](const std::string &line) { lines.push_back(line); });
    Package package = cudaPackage(
        "say", ".version 8.0\n.target sm_90\n.visible .entry say(.param .u32 n, .param .u64 record)\n{ ret; }\n",
        {{"n", "i32", false, 1}});
    package.sites = {{"tt.print", "k.py", 3, 5, " n: ", {{"i32", {}, true}}, false},
                     {"tt.assert", "k.py", 4, 7, "small", {}, false}};
    kernel.module = device->loadModule(package);
  }
  ~CudaReport() override { setPrintSink(std::move(before)); }

  void say(uint64_t number) {
    stream->launch({.kernel = kernel, .grid = {2, 1, 1}, .arguments = {ScalarBits{number}}});
  }
  static Lines linesOf(const std::string &number) {
    return {"pid (0, 0, 0) idx () n: " + number, "pid (1, 0, 0) idx () n: " + number};
  }

  Kernel kernel;
  Lines lines;
  PrintSink before;
};

TEST_F(CudaReport, EachLaunchPrintsWhatItSaid) {
  say(5);
  stream->synchronize();
  EXPECT_EQ(lines, linesOf("5"));
  lines.clear();
  say(6); // the record is used again, from nothing
  stream->synchronize();
  EXPECT_EQ(lines, linesOf("6"));
  EXPECT_EQ(fake.liveAllocations, 1);
}

TEST_F(CudaReport, AFailedAssertionIsAnErrorOfTheStream) {
  say(10);
  say(3);
  Error error = errorOf([&] { stream->synchronize(); });
  EXPECT_EQ(error.kind, ErrorClass::Input);
  EXPECT_EQ(std::string(error.what()), "k.py:4:7: assertion failed: small");
  EXPECT_EQ(error.notes, std::vector<std::string>{"in program instance (1, 0, 0), element 7"});
  EXPECT_EQ(lines, linesOf("10")) << "what stands behind an error is not printed";
  lines.clear();
  say(4);
  stream->synchronize();
  EXPECT_EQ(lines, linesOf("4"));
}

TEST_F(CudaReport, GraphsReportAtEachLaunch) {
  stream->beginCapture();
  say(7);
  auto good = stream->endCapture();
  stream->beginCapture();
  say(11);
  auto bad = stream->endCapture();
  EXPECT_EQ(lines, Lines());
  auto other = device->createStream();
  other->launch(*good);
  other->launch(*good);
  other->synchronize();
  EXPECT_EQ(lines.size(), 4u);
  other->launch(*bad);
  EXPECT_CONTAINS(messageOf([&] { other->synchronize(); }), "assertion failed: small");
  other->launch(*bad);
  EXPECT_CONTAINS(messageOf([&] { other->synchronize(); }), "assertion failed: small");
}

// Their owner waits for them without asking for errors.
TEST_F(CudaReport, AdoptedStreamsThrowAtTheNextLaunch) {
  auto adopted = device->adoptStream(static_cast<GpuStream &>(*stream).raw());
  Kernel silent{device->loadModule(emptyPackage())};
  auto tell = [&](uint64_t number) {
    adopted->launch({.kernel = kernel, .grid = {2, 1, 1}, .arguments = {ScalarBits{number}}});
  };
  tell(11);
  stream->synchronize();
  EXPECT_CONTAINS(messageOf([&] { adopted->launch({.kernel = silent}); }), "assertion failed: small");
  adopted->launch({.kernel = silent});
  stream->beginCapture();
  EXPECT_CONTAINS(messageOf([&] { tell(5); }), "another library captures its stream");
  adopted->launch({.kernel = silent});
  stream->endCapture();
  lines.clear();
  tell(5);
  adopted->synchronize();
  EXPECT_EQ(lines, linesOf("5"));
}

TEST_F(CudaReport, KernelsThatSayNothingGetNoRecord) {
  Kernel silent{device->loadModule(emptyPackage())};
  stream->launch({.kernel = silent});
  stream->synchronize();
  EXPECT_EQ(fake.launches.at(0).parameters, std::vector<std::string>{std::string(8, '\0')});
  EXPECT_EQ(fake.liveAllocations, 0);
  EXPECT_EQ(fake.count("cuLaunchHostFunc"), 0);
}

TEST_F(CudaReport, NoRoomForTheRecordIsSaid) {
  fake.memoryBytes = 1000;
  EXPECT_CONTAINS(messageOf([&] { say(1); }), "buffer `launch record` asks for");
  fake.memoryBytes = 1 << 30;
  say(1);
  stream->synchronize();
  EXPECT_EQ(lines, linesOf("1"));
}

} // namespace
