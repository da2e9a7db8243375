// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA driver on real GPUs, with PTX written by hand. A program of its own, which needs nothing but the GPU's
// driver; without a GPU every test is skipped. The last test ends the process's use of the device.
#include "binary/CudaAbi.h"
#include "runtime/DeviceTestSupport.h"
#include "runtime/Driver.h"
#include "runtime/drivers/cuda/CubinCache.h"
#include "runtime/drivers/cuda/CudaModule.h"
#include "support/Knobs.h"
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <thread>
#include <unistd.h>

using namespace heddle;

namespace {

constexpr const char *header = ".version 8.0\n.target sm_90\n.address_size 64\n";

// out[i] = x[i] + y[i] for i < n, 256 threads a block.
constexpr const char *vectorAdd = R"(
.visible .entry vector_add(.param .u64 out, .param .u64 x, .param .u64 y, .param .u32 n, .param .u64 record)
{
  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<8>; .reg .f32 %f<4>;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r0, %r1, %r2;
  ld.param.u32 %r4, [n]; setp.ge.u32 %p, %r3, %r4; @%p ret;
  ld.param.u64 %d0, [out]; ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];
  mul.wide.u32 %d3, %r3, 4; add.u64 %d4, %d0, %d3; add.u64 %d5, %d1, %d3; add.u64 %d6, %d2, %d3;
  ld.global.f32 %f0, [%d5]; ld.global.f32 %f1, [%d6]; add.f32 %f2, %f0, %f1; st.global.f32 [%d4], %f2;
  ret;
})";

// out[t] = 1023 - t, through the last 4096 bytes of a block's shared memory.
constexpr const char *reverse = R"(
.extern .shared .align 16 .b8 tile[];
.visible .entry reverse(.param .u64 out, .param .u32 offset, .param .u64 record)
{
  .reg .b32 %r<8>; .reg .b64 %d<4>;
  mov.u32 %r0, %tid.x; ld.param.u32 %r1, [offset]; mov.u32 %r2, tile; add.u32 %r2, %r2, %r1;
  shl.b32 %r3, %r0, 2; add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], %r0;
  bar.sync 0;
  sub.u32 %r5, 1023, %r0; shl.b32 %r5, %r5, 2; add.u32 %r5, %r2, %r5; ld.shared.u32 %r6, [%r5];
  ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r6;
  ret;
})";

// Every block counts itself, waits for all of them, and writes what it saw.
constexpr const char *meet = R"(
.visible .entry meet(.param .u64 out, .param .u64 counter, .param .u64 record)
{
  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [counter]; mov.u32 %r0, %nctaid.x; mov.u32 %r1, %ctaid.x;
  atom.add.acq_rel.gpu.global.u32 %r2, [%d0], 1;
again:
  ld.acquire.gpu.global.u32 %r3, [%d0]; setp.lt.u32 %p, %r3, %r0; @%p bra again;
  ld.param.u64 %d1, [out]; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r3;
  ret;
})";

// Lets the next launch start; then waits until *flag is not 0, for `nanoseconds` at most, and out[0] = *flag.
constexpr const char *await = R"(
.visible .entry await(.param .u64 out, .param .u64 flag, .param .u64 nanoseconds, .param .u64 record)
{
  .reg .pred %p; .reg .b32 %r<3>; .reg .b64 %d<7>;
  ld.param.u64 %d0, [flag]; ld.param.u64 %d1, [out]; ld.param.u64 %d5, [nanoseconds];
  griddepcontrol.wait; griddepcontrol.launch_dependents;
  mov.u64 %d2, %globaltimer; add.u64 %d3, %d2, %d5;
again:
  ld.acquire.sys.global.u32 %r0, [%d0]; setp.ne.u32 %p, %r0, 0; @%p bra done;
  mov.u64 %d4, %globaltimer; setp.lt.u64 %p, %d4, %d3; @%p bra again;
done:
  st.global.u32 [%d1], %r0;
  ret;
})";

// Its arguments, one in each 8 bytes.
constexpr const char *arguments = R"(
.visible .entry arguments(.param .u64 out, .param .u32 a, .param .u32 b, .param .u32 c, .param .u64 d, .param .u64 record)
{
  .reg .b32 %r<4>; .reg .b64 %d<8>;
  ld.param.u64 %d0, [out]; ld.param.u32 %r0, [a]; ld.param.u32 %r1, [b]; ld.param.u32 %r2, [c];
  ld.param.u64 %d1, [d]; ld.param.u64 %d2, [record];
  cvt.u64.u32 %d3, %r0; cvt.u64.u32 %d4, %r1; cvt.u64.u32 %d5, %r2;
  st.global.u64 [%d0], %d3; st.global.u64 [%d0+8], %d4; st.global.u64 [%d0+16], %d5; st.global.u64 [%d0+24], %d1;
  st.global.u64 [%d0+32], %d2;
  ret;
})";

// Waits for the preceding launch and lets the next one start; then, a while later, out[i] = x[255 - i] + 1.
constexpr const char *next = R"(
.visible .entry next(.param .u64 out, .param .u64 x, .param .u64 record)
{
  .reg .b32 %r<5>; .reg .b64 %d<8>;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r0, %r0, 64, %r1; sub.u32 %r2, 255, %r0;
  ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;
  ld.param.u64 %d2, [x]; mul.wide.u32 %d3, %r2, 4; add.u64 %d2, %d2, %d3;
  griddepcontrol.wait; griddepcontrol.launch_dependents;
  nanosleep.u32 3000;
  ld.global.u32 %r3, [%d2]; add.u32 %r3, %r3, 1; st.global.u32 [%d0], %r3;
  ret;
})";

// *flag = 1 while the launch in front may still run.
constexpr const char *speak = R"(
.visible .entry speak(.param .u64 flag, .param .u64 record)
{
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [flag]; st.relaxed.gpu.global.u32 [%d0], 1;
  griddepcontrol.wait;
  ret;
})";

// 64 threads: a box of `from` comes to shared memory, from there as it lies into `out`, and by another map into `to`.
constexpr const char *box = R"(
.visible .entry box(.param .u64 out, .param .u32 x, .param .u32 y,
  .param .u64 from, .param .u32 fromRows, .param .u32 fromColumns, .param .u64 fromPitch, .param .u64 fromStep,
  .param .u64 to, .param .u32 toRows, .param .u32 toColumns, .param .u64 toPitch, .param .u64 toStep,
  .param .u64 record, .param .align 64 .b8 fromMap[128], .param .align 64 .b8 toMap[128])
{
  .reg .pred %p, %q; .reg .b32 %r<10>; .reg .b64 %d<6>;
  .shared .align 1024 .b8 tile[4096]; .shared .align 8 .b64 full;
  mov.u32 %r0, %tid.x; mov.u32 %r1, tile; mov.u32 %r2, full; setp.ne.u32 %p, %r0, 0;
  ld.param.u32 %r3, [x]; ld.param.u32 %r4, [y];
  mov.b64 %d0, fromMap; cvta.param.u64 %d0, %d0; mov.b64 %d1, toMap; cvta.param.u64 %d1, %d1;
  @%p bra begun;
  mbarrier.init.shared.b64 [%r2], 1; fence.proxy.async;
begun:
  bar.sync 0;
  mov.u32 %r9, 0;
  @%p bra await;
  mbarrier.arrive.expect_tx.shared.b64 %d2, [%r2], 4096;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d0, {%r3, %r4}], [%r2];
await:
  add.u32 %r9, %r9, 1; setp.gt.u32 %q, %r9, 100000; @%q ret;
  mbarrier.try_wait.parity.shared.b64 %q, [%r2], 0; @!%q bra await;
  shl.b32 %r5, %r0, 6; add.u32 %r6, %r1, %r5; ld.param.u64 %d3, [out]; cvt.u64.u32 %d4, %r5; add.u64 %d3, %d3, %d4;
  mov.u32 %r7, 0;
more:
  ld.shared.u32 %r8, [%r6]; st.global.u32 [%d3], %r8;
  add.u32 %r6, %r6, 4; add.u64 %d3, %d3, 4; add.u32 %r7, %r7, 1; setp.lt.u32 %q, %r7, 16; @%q bra more;
  @%p ret;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d1, {%r3, %r4}], [%r1];
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
  ret;
})";

constexpr const char *nothing = "\n.visible .entry nothing(.param .u64 record)\n{ ret; }\n";

Package packageOf(const std::string &entry, const char *body, int64_t threads, std::vector<PackageArgument> wanted) {
  Package package;
  package.kernel = package.entry = entry;
  package.target = "sm_90";
  package.binaryKind = "ptx";
  package.abiVersion = cudaAbiVersion;
  package.threads = threads;
  package.arguments = std::move(wanted);
  package.binary = std::string(header) + body;
  return package;
}

Package awaitPackage() {
  return packageOf("await", await, 1,
                   {pointerArgument("out"), pointerArgument("flag"), scalarArgument("nanoseconds", "i64")});
}

constexpr ScalarBits fiveSeconds{5'000'000'000}, fiftyMilliseconds{50'000'000};

Package addPackage() {
  return packageOf(
      "vector_add", vectorAdd, 256,
      {pointerArgument("out", "f32"), pointerArgument("x", "f32"), pointerArgument("y", "f32"), scalarArgument("n")});
}

double milliseconds(const std::function<void()> &action) {
  auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

class CudaHardware : public testing::Test {
protected:
  static void SetUpTestSuite() {
    auto folder = std::filesystem::temp_directory_path() / fmt::format("heddle-cuda-hardware-{}", ::getpid());
    ::setenv("HEDDLE_CACHE_DIR", folder.c_str(), 0);
  }
  void SetUp() override {
    if (cudaDriver().deviceCount() == 0)
      GTEST_SKIP() << cudaDriver().problem();
    device = openDevice("cuda:0");
    stream = device->createStream();
  }
  static int gpuOf(Device &each) { return static_cast<CudaDevice &>(each).context().number; }
  int driverVersion() const { return static_cast<CudaDevice &>(*device).context().api.version(); }
  template <typename T>
  std::vector<T> download(const Buffer &buffer, Stream *from = nullptr) {
    return readBack<T>(from ? *from : *stream, buffer);
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
};

TEST_F(CudaHardware, Describes) {
  fmt::print("{}\n", cudaDriver().description());
  for (int i = 0; i < cudaDriver().deviceCount(); ++i)
    fmt::print("{}: {}\n", openDevice(fmt::format("cuda:{}", i))->name(),
               openDevice(fmt::format("cuda:{}", i))->description());
  EXPECT_GT(device->memoryInfo().freeBytes, 0u);
}

TEST_F(CudaHardware, VectorAddAndTheCache) {
  constexpr uint32_t count = 1000003;
  std::vector<float> x = countUp<float>(count), y(count, 0.5f);
  Buffer out = device->allocate(count * 4, "out"), xs = device->allocate(count * 4, "x"),
         ys = device->allocate(count * 4, "y");
  stream->copyToDevice(xs, x.data());
  stream->copyToDevice(ys, y.data());
  Kernel kernel;
  double first = milliseconds([&] { kernel = {device->loadModule(addPackage())}; });
  double again = milliseconds([&] { kernel = {device->loadModule(addPackage())}; });
  fmt::print("load: {:.3f} ms, from the cache {:.3f} ms\n", first, again);
  stream->launch(
      {.kernel = kernel, .grid = {(count + 255) / 256, 1, 1}, .arguments = {out, xs, ys, ScalarBits{count}}});
  auto sums = download<float>(out);
  for (uint32_t i = 0; i < count; ++i)
    ASSERT_EQ(sums[i], x[i] + 0.5f) << i;
}

TEST_F(CudaHardware, LargeCopiesOfOrdinaryMemory) {
  constexpr uint64_t count = (uint64_t(100) << 20) / 4 + 3;
  auto values = countUp<uint32_t>(count, 1);
  Buffer buffer = device->allocate(count * 4);
  double up = milliseconds([&] {
    stream->copyToDevice(buffer, values.data());
    stream->synchronize();
  });
  std::vector<uint32_t> back;
  double down = milliseconds([&] { back = download<uint32_t>(buffer); });
  fmt::print("100 MiB of ordinary memory: to the device {:.1f} ms, back {:.1f} ms\n", up, down);
  EXPECT_EQ(back, values);
}

TEST_F(CudaHardware, SharedMemoryOfAWholeBlock) {
  Package package = packageOf("reverse", reverse, 1024, {pointerArgument("out"), scalarArgument("offset")});
  package.sharedBytes = 227 * 1024;
  Buffer out = device->allocate(4096);
  stream->launch({.kernel = {device->loadModule(package)}, .arguments = {out, ScalarBits{package.sharedBytes - 4096}}});
  auto values = download<uint32_t>(out);
  for (uint32_t i = 0; i < 1024; ++i)
    ASSERT_EQ(values[i], 1023 - i);
  package.sharedBytes += 1;
  EXPECT_CONTAINS(messageOf([&] { device->loadModule(package); }),
                  "needs 232449 bytes of shared memory in a block, cuda:0 has 232448");
}

TEST_F(CudaHardware, ArgumentsArrive) {
  Kernel kernel{device->loadModule(
      packageOf("arguments", arguments, 1,
                {pointerArgument("out", "i64"), scalarArgument("a", "i1"), scalarArgument("b", "f16"),
                 scalarArgument("c", "f32"), scalarArgument("d", "f64")}))};
  Buffer out = device->allocate(40);
  stream->launch(
      {.kernel = kernel,
       .arguments = {out, ScalarBits{1}, ScalarBits{0x3c00}, ScalarBits{0x3f800000}, ScalarBits{0x3ff0000000000001}}});
  EXPECT_EQ(download<uint64_t>(out), (std::vector<uint64_t>{1, 0x3c00, 0x3f800000, 0x3ff0000000000001, 0}));
  Package wrong = packageOf("arguments", arguments, 1, {pointerArgument("out", "i64"), scalarArgument("a", "i64")});
  EXPECT_EQ(errorOf([&] { device->loadModule(wrong); }).kind, ErrorClass::Input);
}

TEST_F(CudaHardware, CooperativeBlocksLiveAtOnce) {
  Kernel kernel{device->loadModule(packageOf("meet", meet, 1, {pointerArgument("out"), pointerArgument("counter")}))};
  int64_t blocks = static_cast<CudaModule &>(*kernel.module).residentBlocks();
  fmt::print("{} blocks of one thread at once\n", blocks);
  Buffer out = device->allocate(uint64_t(blocks) * 4), counter = device->allocate(4);
  stream->fill(counter, 0);
  stream->launch({.kernel = kernel, .grid = {blocks, 1, 1}, .arguments = {out, counter}, .cooperative = true});
  EXPECT_EQ(download<uint32_t>(out), std::vector<uint32_t>(size_t(blocks), uint32_t(blocks)));
  Launch larger{.kernel = kernel, .grid = {blocks + 1, 1, 1}, .arguments = {out, counter}, .cooperative = true};
  EXPECT_CONTAINS(messageOf([&] { stream->launch(larger); }),
                  fmt::format("a cooperative launch of {} blocks; cuda:0 runs at most {} at once", blocks + 1, blocks));
}

// Eagerly and in a graph, with copies and events between some of them.
TEST_F(CudaHardware, DependentLaunchesSeeWhatTheOneInFrontWrote) {
  Package package = packageOf("next", next, 64, {pointerArgument("out"), pointerArgument("x")});
  package.dependentLaunch = true;
  Kernel kernel{device->loadModule(package)};
  Buffer a = device->allocate(1024), b = device->allocate(1024), c = device->allocate(1024);
  auto event = device->createEvent();
  auto steps = [&] {
    for (int i = 0; i < 20; ++i) {
      stream->launch({.kernel = kernel, .grid = {4, 1, 1}, .arguments = {b, a}});
      stream->launch({.kernel = kernel, .grid = {4, 1, 1}, .arguments = {a, b}});
      if (i % 5 == 3)
        stream->copy(c.address(), a.address(), 1024), stream->copy(a.address(), c.address(), 1024);
      if (i % 7 == 4)
        stream->record(event);
    }
  };
  stream->fill(a, 0);
  steps();
  EXPECT_EQ(download<uint32_t>(a), std::vector<uint32_t>(256, 40u));
  stream->beginCapture();
  steps();
  auto graph = stream->endCapture();
  for (int replay = 0; replay < 3; ++replay)
    stream->launch(*graph);
  EXPECT_EQ(download<uint32_t>(a), std::vector<uint32_t>(256, 160u));
}

// What the first one sees is written by the launch after it, or never.
TEST_F(CudaHardware, DependentLaunchesStartWhileTheOneInFrontRuns) {
  Package first = awaitPackage();
  Package second = packageOf("speak", speak, 32, {pointerArgument("flag")});
  first.dependentLaunch = second.dependentLaunch = true;
  Buffer out = device->allocate(4), flag = device->allocate(4);
  auto seen = [&](bool inAGraph) {
    Kernel front{device->loadModule(first)}, behind{device->loadModule(second)};
    stream->fill(flag, 0);
    stream->synchronize();
    if (inAGraph)
      stream->beginCapture();
    stream->launch({.kernel = front, .arguments = {out, flag, fiftyMilliseconds}});
    stream->launch({.kernel = behind, .arguments = {flag}});
    std::unique_ptr<Graph> graph = inAGraph ? stream->endCapture() : nullptr;
    if (graph)
      stream->launch(*graph);
    return download<uint32_t>(out).at(0);
  };
  bool may = driverVersion() >= 12030;
  for (bool inAGraph : {false, true}) {
    EXPECT_EQ(seen(inAGraph), may ? 1u : 0u) << "in a graph: " << inAGraph;
    ::setenv("HEDDLE_CUDA_DEPENDENT_LAUNCH", "off", 1);
    EXPECT_EQ(seen(inAGraph), 0u) << "in a graph: " << inAGraph;
    ::unsetenv("HEDDLE_CUDA_DEPENDENT_LAUNCH");
  }
}

TEST_F(CudaHardware, CodeForHopperAlone) {
  Package package = packageOf("nothing", nothing, 128, {});
  package.binary = std::string(".version 8.0\n.target sm_90a\n.address_size 64\n") +
                   ".visible .entry nothing(.param .u64 record)\n{ wgmma.fence.sync.aligned; ret; }\n";
  stream->launch({.kernel = {device->loadModule(package)}});
  stream->synchronize();
  bool kept = CubinCache(cacheDirectory(), fmt::format("sm_90-{}", driverVersion())).find(package.binary).has_value();
  fmt::print("code for sm_90a is {}\n", kept ? "kept on disk" : "compiled by the loader, and not kept");
}

/// Where the byte `at` of a box lies that begins at a multiple of 1024 of shared memory. Source: PTX ISA, "Swizzling
/// modes".
uint32_t swizzled(uint32_t at, uint32_t swizzle) {
  return at ^ (swizzle ? at >> 3 & (swizzle - 16) : 0);
}

TEST_F(CudaHardware, TensorMapsMoveBoxes) {
  std::vector<PackageArgument> wanted = {pointerArgument("out", "f16"), scalarArgument("x"), scalarArgument("y")};
  for (const char *name : {"from", "to"})
    for (const auto &argument : {pointerArgument(name, "f16"), scalarArgument("rows"), scalarArgument("columns"),
                                 scalarArgument("pitch", "i64"), scalarArgument("step", "i64")})
      wanted.push_back(argument);
  constexpr uint32_t rows = 100, columns = 72, pitch = 80;
  Buffer out = device->allocate(4096), from = device->allocate(rows * pitch * 2),
         to = device->allocate(rows * pitch * 2);
  std::vector<uint16_t> values = countUp<uint16_t>(rows * pitch, 1);
  stream->copyToDevice(from, values.data());
  for (uint32_t swizzle : {0u, 32u, 64u, 128u})
    for (auto [x, y] : {std::pair(0, 0), {8, 16}, {64, 90}, {-3, -5}}) {
      int64_t width = swizzle ? swizzle / 2 : 64, height = std::min<int64_t>(2048 / width, 256);
      Package package = packageOf("box", box, 64, wanted);
      package.abiVersion = cudaTensorMapAbiVersion;
      package.tensorMaps = {{3, "f16", {height, width}, swizzle}, {8, "f16", {height, width}, swizzle}};
      stream->fill(out, 0xff);
      stream->fill(to, 0);
      ScalarBits size[2] = {{rows}, {columns}}, stride[2] = {{pitch}, {1}};
      stream->launch({.kernel = {device->loadModule(package)},
                      .arguments = {out, ScalarBits{uint32_t(x)}, ScalarBits{uint32_t(y)}, from, size[0], size[1],
                                    stride[0], stride[1], to, size[0], size[1], stride[0], stride[1]}});
      auto tile = download<uint16_t>(out), copy = download<uint16_t>(to);
      std::vector<uint16_t> expected(copy.size());
      for (uint32_t i = 0; i < 2048; ++i) {
        int64_t row = y + i / width, column = x + i % width;
        bool isInside = row >= 0 && row < rows && column >= 0 && column < columns;
        size_t at = isInside ? size_t(row * pitch + column) : 0;
        if (isInside)
          expected[at] = values[at];
        ASSERT_EQ(tile[swizzled(2 * i, swizzle) / 2], isInside ? values[at] : 0)
            << "swizzle " << swizzle << ", box at " << x << " " << y << ", element " << i;
      }
      EXPECT_EQ(copy, expected) << "swizzle " << swizzle << ", box at " << x << " " << y;
    }
}

TEST_F(CudaHardware, GraphsAndTheirSpeed) {
  constexpr uint32_t count = 1024;
  Buffer sum = device->allocate(count * 4), step = device->allocate(count * 4);
  std::vector<float> ones(count, 1.0f), inside(count);
  Kernel add{device->loadModule(addPackage())}, none{device->loadModule(packageOf("nothing", nothing, 32, {}))};
  stream->copyToDevice(step, ones.data());
  stream->fill(sum, 0);
  int calls = 0;
  stream->beginCapture();
  stream->launch({.kernel = add, .grid = {4, 1, 1}, .arguments = {sum, sum, step, ScalarBits{count}}});
  stream->hostFunction([&] { ++calls; });
  stream->copyToHost(inside.data(), sum);
  auto graph = stream->endCapture();
  EXPECT_EQ(download<float>(sum)[7], 0.0f);
  for (int i = 0; i < 5; ++i)
    stream->launch(*graph);
  stream->synchronize();
  EXPECT_EQ(inside, std::vector<float>(count, 5.0f));
  EXPECT_EQ(calls, 5);

  auto begin = device->createEvent(), end = device->createEvent();
  auto timed = [&](const char *what, int times, const std::function<void()> &enqueue) {
    enqueue();
    stream->synchronize();
    stream->record(begin);
    double host = milliseconds(enqueue);
    stream->record(end);
    stream->synchronize();
    fmt::print("{}: {:.2f} us each, {:.2f} us of the host\n", what, 1000 * end->millisecondsSince(*begin) / times,
               1000 * host / times);
  };
  timed("an empty kernel", 1000, [&] {
    for (int i = 0; i < 1000; ++i)
      stream->launch({.kernel = none});
  });
  stream->beginCapture();
  for (int i = 0; i < 1000; ++i)
    stream->launch({.kernel = none});
  auto many = stream->endCapture();
  timed("an empty kernel in a graph of 1000", 1000, [&] { stream->launch(*many); });
}

/// A kernel that no cache has.
Package freshPackage() {
  static int number = 0;
  Package package = addPackage();
  package.binary += fmt::format("\n.visible .global .u64 fresh_{}_{};\n", ::getpid(), ++number);
  return package;
}

/// What other threads of a program may do while a kernel of this one waits for their launch, or for a later one of it.
void allocateAndLetGo(Device &device, const Kernel &add) {
  for (int shift : {8, 20, 26, 30})
    device.allocate(uint64_t(1) << shift);
  auto stream = device.createStream();
  Buffer buffer = device.allocate(1024 * 4);
  stream->fill(buffer, 0);
  stream->beginCapture();
  stream->launch({.kernel = add, .grid = {4, 1, 1}, .arguments = {buffer, buffer, buffer, ScalarBits{1024}}});
  auto graph = stream->endCapture();
  stream->launch(*graph);
  EXPECT_EQ(readBack<float>(*stream, buffer), std::vector<float>(1024, 0.0f));
}

TEST_F(CudaHardware, NothingWaitsForAKernelThatWaits) {
  std::vector<std::shared_ptr<Device>> all; // which then reach each other's memory
  std::vector<Kernel> adds;
  for (int i = 0; i < cudaDriver().deviceCount(); ++i) {
    all.push_back(openDevice(fmt::format("cuda:{}", i)));
    adds.push_back({all.back()->loadModule(freshPackage())});
  }
  Kernel kernel{device->loadModule(awaitPackage())};
  Buffer out = device->allocate(4), flag = device->allocate(4);
  std::vector<uint32_t> big(2 << 20);
  Buffer bigBuffer = device->allocate(big.size() * 4);
  auto other = device->createStream();
  auto code = device->loadModule(freshPackage());
  stream->fill(flag, 0);
  stream->synchronize();
  uint32_t seen = 0;
  double waited = milliseconds([&] {
    stream->launch({.kernel = kernel, .arguments = {out, flag, fiveSeconds}});
    stream->copyToHost(&seen, out);
    stream->copyToDevice(bigBuffer, big.data());
    code.reset();
    for (size_t i = 0; i < all.size(); ++i) {
      allocateAndLetGo(*all[i], adds[i]);
      if (gpuOf(*all[i]) != gpuOf(*device))
        all[i]->loadModule(freshPackage());
    }
    auto event = device->createEvent();
    stream->record(event);
    EXPECT_FALSE(event->query());
    uint32_t value = 42;
    other->copyToDevice(flag, &value);
    other->synchronize();
    stream->synchronize();
  });
  EXPECT_EQ(seen, 42u); // 0: the kernel gave up after five seconds
  fmt::print("a kernel that waits for a copy: {:.2f} ms in all\n", waited);
}

// Loading waits for what runs on the device, and must not keep out what that waits for.
TEST_F(CudaHardware, OneThreadLoadsWhileAnotherHasMoreToLaunch) {
  Kernel kernel{device->loadModule(awaitPackage())};
  Buffer out = device->allocate(4), flag = device->allocate(4);
  auto other = device->createStream();
  for (int time = 0; time < 10; ++time) {
    stream->fill(flag, 0);
    stream->synchronize();
    uint32_t seen = 0, value = 42;
    stream->launch({.kernel = kernel, .arguments = {out, flag, fiveSeconds}});
    std::shared_ptr<Module> loaded;
    std::thread loading([&] { loaded = device->loadModule(freshPackage()); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // it has probably begun
    stream->copyToHost(&seen, out);
    other->copyToDevice(flag, &value);
    stream->synchronize();
    loading.join();
    EXPECT_EQ(seen, 42u); // 0: the kernel gave up after five seconds
    EXPECT_NE(loaded, nullptr);
  }
}

TEST_F(CudaHardware, DevicesReachEachOther) {
  if (cudaDriver().deviceCount() < 2)
    GTEST_SKIP() << "one GPU";
  auto second = openDevice("cuda:1");
  constexpr uint32_t count = 1 << 20;
  auto values = countUp<float>(count);
  Buffer here = device->allocate(count * 4, "here"), there = second->allocate(count * 4, "there"),
         sum = second->allocate(count * 4, "sum");
  stream->copyToDevice(here, values.data());
  stream->copy(there.address(), here.address(), count * 4);
  auto event = device->createEvent();
  stream->record(event);
  auto far = second->createStream();
  far->wait(event);
  if (cudaDriver().canAccessPeer(1, 0)) // reads the first device's memory, writes its own
    far->launch({.kernel = {second->loadModule(addPackage())},
                 .grid = {count / 256, 1, 1},
                 .arguments = {sum, here, there, ScalarBits{count}}});
  else
    far->copy(sum.address(), there.address(), count * 4);
  auto sums = download<float>(sum, far.get());
  float factor = cudaDriver().canAccessPeer(1, 0) ? 2.0f : 1.0f;
  for (uint32_t i = 0; i < count; ++i)
    ASSERT_EQ(sums[i], factor * values[i]);

  stream->beginCapture();
  stream->copy(there.address(), here.address(), count * 4);
  auto graph = stream->endCapture();
  second->createStream()->fill(there, 0);
  stream->launch(*graph);
  EXPECT_EQ(download<float>(there), values);
}

TEST_F(CudaHardware, ErrorsOfTheCompilerHaveItsMessages) {
  Package package =
      packageOf("nothing", "\n.visible .entry nothing(.param .u64 record)\n{ nonsense.u32; ret; }\n", 1, {});
  std::string message = messageOf([&] { device->loadModule(package); });
  fmt::print("{}\n", message);
  EXPECT_CONTAINS(message, "kernel `nothing`: cuLinkAddData_v2: CUDA_ERROR_INVALID_PTX (218)");
  EXPECT_CONTAINS(message, "line 6");
  package.binary = ".version 99.0\n.target sm_90\n.address_size 64\n";
  fmt::print("{}\n", messageOf([&] { device->loadModule(package); }));
  package = packageOf("other", nothing, 1, {});
  EXPECT_CONTAINS(messageOf([&] { device->loadModule(package); }), "its binary has no entry `other`");
}

TEST_F(CudaHardware, MemoryRunsOut) {
  uint64_t all = device->memoryInfo().totalBytes;
  std::string message = messageOf([&] { device->allocate(all + (1 << 30), "big"); });
  EXPECT_CONTAINS(message, fmt::format("out of memory: buffer `big` asks for {} bytes, ", all + (1 << 30)));
  EXPECT_CONTAINS(message, fmt::format("the device has {} bytes in all", all));
  {
    Buffer most = device->allocate(device->memoryInfo().freeBytes / 8 * 7, "most");
    stream->fill(most.address(), 1, 4096);
  } // not freed yet: the stream may be busy
  Buffer again = device->allocate(device->memoryInfo().totalBytes / 8 * 6, "again");
}

TEST_F(CudaHardware, LastAFaultOfAKernelIsReported) {
  Buffer small = device->allocate(4);
  stream->launch({.kernel = {device->loadModule(addPackage())},
                  .arguments = {DeviceAddress{0x10}, DeviceAddress{0x10}, DeviceAddress{0x10}, ScalarBits{256}}});
  Error error = errorOf([&] { stream->synchronize(); });
  fmt::print("{}\n", error.what());
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "cuda:0: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  EXPECT_CONTAINS(error.notes.at(1), "start the program again");
  EXPECT_EQ(errorOf([&] { device->allocate(4); }).kind, ErrorClass::Environment);
}

} // namespace
