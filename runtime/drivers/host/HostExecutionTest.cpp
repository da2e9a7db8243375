// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What comes of a launch: every instance once, and the errors of assertions, bounds and time limits.
#include "runtime/drivers/host/HostExecution.h"
#include "runtime/Print.h"
#include "runtime/drivers/host/HostTestSupport.h"
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

using namespace heddle;

namespace {

void countVisits(const HostProgram *program, const uint64_t *arguments) {
  const int32_t *grid = program->launch->grid;
  int64_t linear = program->id[0] + int64_t(grid[0]) * (program->id[1] + int64_t(grid[1]) * program->id[2]);
  __atomic_fetch_add(pointer<int32_t>(arguments[0]) + linear, 1, __ATOMIC_RELAXED);
}

TEST(HostExecution, EveryInstanceRunsOnce) {
  auto device = openDevice("host");
  auto stream = device->createStream();
  for (std::array<int64_t, 3> grid :
       {std::array<int64_t, 3>{1, 1, 1}, {1000, 1, 1}, {7, 11, 13}, {1, 1, 300}, {3, 100000, 1}}) {
    Buffer visits = device->allocate(uint64_t(grid[0] * grid[1] * grid[2] * 4));
    stream->fill(visits, 0);
    stream->launch(testLaunch(testPackage({pointerArgument("x")}), countVisits, grid, {visits}));
    for (int32_t count : readBack<int32_t>(*stream, visits))
      ASSERT_EQ(count, 1);
  }
}

void writeScratch(const HostProgram *program, const uint64_t *arguments) {
  auto *scratch = static_cast<volatile int32_t *>(program->scratch);
  for (int i = 0; i < 250; ++i)
    scratch[i] = program->id[0] + i;
  bool same = reinterpret_cast<uint64_t>(scratch) % 64 == 0;
  for (int i = 0; i < 250; ++i)
    same &= scratch[i] == program->id[0] + i;
  pointer<int32_t>(arguments[0])[program->id[0]] = same;
}

TEST(HostExecution, ScratchIsAlignedAndPrivate) {
  auto device = openDevice("host");
  auto stream = device->createStream();
  Buffer good = device->allocate(200 * 4);
  Package package = testPackage({pointerArgument("x")});
  package.scratchBytes = 1000;
  for (bool cooperative : {false, true}) {
    stream->fill(good, 0);
    Launch launch = testLaunch(package, writeScratch, {200, 1, 1}, {good});
    launch.cooperative = cooperative;
    stream->launch(launch);
    for (int32_t value : readBack<int32_t>(*stream, good))
      ASSERT_EQ(value, 1);
  }
  package.scratchBytes = uint64_t(1) << 60;
  Error error = errorOf([&] { runTest(testLaunch(package, writeScratch, {200, 1, 1}, {good})); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "an instance needs 1152921504606846976 bytes of scratch");
}

void assertAtSeven(const HostProgram *program, const uint64_t *) {
  if (program->id[1] == 7)
    program->launch->assertFailed(program, 0, 33);
}

TEST(HostExecution, AssertionNamesPlaceInstanceAndElement) {
  Package package = testPackage();
  package.sites = {{"tt.assert", "kernels.py", 12, 3, "x must be small", {}, false}};
  Launch launch = testLaunch(package, assertAtSeven, {1, 9, 1});
  for (bool cooperative : {false, true}) {
    launch.cooperative = cooperative;
    EXPECT_EQ(errorOf([&] { runTest(launch); }).kind, ErrorClass::Input);
    EXPECT_EQ(messageOf([&] { runTest(launch); }),
              "kernels.py:12:3: assertion failed: x must be small\nin program instance (0, 7, 0), element 33");
  }
}

TEST(HostExecution, SitesOutsideThePackageDoNotHurt) {
  EXPECT_EQ(messageOf([&] { runTest(testLaunch(testPackage(), assertAtSeven, {1, 9, 1})); }),
            "kernel `k`: assertion failed: \nin program instance (0, 7, 0), element 33");
}

/// Reads element arguments[1] of the buffer arguments[0], with the check that a checked package has.
void checkedRead(const HostProgram *program, const uint64_t *arguments) {
  int64_t index = int32_t(arguments[1]);
  program->launch->checkAccess(program, 0, arguments[0] + uint64_t(index * 4), 4, 5);
  (void)*reinterpret_cast<volatile int32_t *>(arguments[0] + uint64_t(index * 4));
}

std::string boundsMessage(const Buffer &buffer, int32_t index, const char *operation = "tt.load") {
  Package package = testPackage({pointerArgument("x"), scalarArgument("i")});
  package.checked = true;
  package.sites = {{operation, "kernels.py", 12, 3, "", {}, false}};
  return messageOf(
      [&] { runTest(testLaunch(package, checkedRead, {1, 1, 1}, {buffer, ScalarBits{uint32_t(index)}})); });
}

TEST(HostExecution, BoundsNameBufferAndIndex) {
  auto device = openDevice("host");
  Buffer buffer = device->allocate(4000, "weights");
  std::string message = boundsMessage(buffer, 1000);
  EXPECT_CONTAINS(message, "kernels.py:12:3: tt.load reads 4 bytes outside buffer \"x\": index 1000 of 1000 elements");
  EXPECT_CONTAINS(message, "in program instance (0, 0, 0), element 5");
  EXPECT_CONTAINS(message, "is 0 bytes past the end of buffer `weights` of 4000 bytes");
  EXPECT_CONTAINS(boundsMessage(buffer, -1), "outside buffer \"x\": index -1 of 1000 elements");
  EXPECT_CONTAINS(boundsMessage(buffer, 1003, "tt.store"),
                  "tt.store writes 4 bytes outside buffer \"x\": index 1003 of");
  EXPECT_CONTAINS(boundsMessage(buffer, 1003, "tt.atomic_rmw"), "tt.atomic_rmw updates 4 bytes outside");
}

TEST(HostExecution, AccessInsideIsAllowed) {
  auto device = openDevice("host");
  Buffer buffer = device->allocate(4000);
  Package package = testPackage({pointerArgument("x"), scalarArgument("i")});
  for (uint32_t index : {0u, 999u})
    runTest(testLaunch(package, checkedRead, {1, 1, 1}, {buffer, ScalarBits{index}}));
}

TEST(HostExecution, ABufferFreedWhileQueuedIsStillKnown) {
  auto device = openDevice("host");
  auto stream = device->createStream();
  Package package = testPackage({pointerArgument("x"), scalarArgument("i")});
  std::promise<void> go;
  stream->hostFunction([&] { go.get_future().wait(); });
  {
    Buffer buffer = device->allocate(4000);
    stream->launch(testLaunch(package, checkedRead, {1, 1, 1}, {buffer, ScalarBits{999}}));
  }
  go.set_value();
  stream->synchronize();
}

/// Spins as scf.while does in compiled code: polls abort, and leaves by stopped.
void spin(const HostProgram *program, const uint64_t *) {
  while (!__atomic_load_n(program->launch->abort, __ATOMIC_RELAXED)) {
  }
  program->launch->stopped(program, 0);
}

TEST(HostExecution, SpinningKernelIsStopped) {
  Package package = testPackage();
  package.sites = {{"scf.while", "spin.py", 2, 1, "", {}, false}};
  Launch launch = testLaunch(package, spin, {2000, 1, 1}); // more than any pool has threads
  launch.timeoutSeconds = 1;
  EXPECT_EQ(errorOf([&] { runTest(launch); }).kind, ErrorClass::Input);
  std::string message = messageOf([&] { runTest(launch); });
  EXPECT_CONTAINS(message, "kernel `k` did not finish within 1 s: 0 of 2000 program instances finished");
  EXPECT_CONTAINS(message, "still running: program instances (");
  EXPECT_CONTAINS(message, "launch cooperatively if instances wait for each other");
  EXPECT_CONTAINS(message, "it was waiting at spin.py:2:1: scf.while");
  launch.grid = {64, 1, 1};
  launch.cooperative = true;
  message = messageOf([&] { runTest(launch); });
  EXPECT_CONTAINS(message, "(0, 0, 0), (1, 0, 0)");
  EXPECT_CONTAINS(message, "and 56 more");
  EXPECT_EQ(message.find("launch cooperatively"), std::string::npos);
}

std::atomic<bool> letGo{false};

void neverPolls(const HostProgram *, const uint64_t *arguments) {
  while (!letGo)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  __atomic_store_n(pointer<int32_t>(arguments[0]), 1, __ATOMIC_RELAXED); // into memory that was freed meanwhile
}

TEST(HostExecution, KernelThatNeverPollsIsAbandoned) {
  letGo = false;
  auto device = openDevice("host");
  auto stream = device->createStream();
  for (bool cooperative : {false, true}) {
    Buffer buffer = device->allocate(4);
    Launch launch = testLaunch(testPackage({pointerArgument("x")}), neverPolls, {2, 1, 1}, {buffer});
    launch.timeoutSeconds = 1;
    launch.cooperative = cooperative;
    stream->launch(launch);
    Error error = errorOf([&] { stream->synchronize(); });
    EXPECT_EQ(error.kind, ErrorClass::Environment);
    EXPECT_CONTAINS(error.what(), "kernel `k` did not finish within 1 s");
    EXPECT_CONTAINS(error.notes.back(), "it did not leave within 4 s of being asked to");
  }
  // The pool works on, although every one of its threads was lost.
  Buffer visits = device->allocate(100 * 4);
  stream->fill(visits, 0);
  stream->launch(testLaunch(testPackage({pointerArgument("x")}), countVisits, {100, 1, 1}, {visits}));
  EXPECT_EQ(readBack<int32_t>(*stream, visits), std::vector<int32_t>(100, 1));
  letGo = true;
}

void printItsId(const HostProgram *program, const uint64_t *) {
  int32_t values[2] = {program->id[0], -1};
  program->launch->print(program, 0, 0, values);
}

struct SinkScope {
  std::vector<std::string> lines;
  PrintSink before = setPrintSink([this](const std::string &line) { lines.push_back(line); });
  ~SinkScope() { setPrintSink(before); }
};

TEST(HostExecution, PrintsAreCollectedAndBounded) {
  Package package = testPackage();
  package.sites = {{"tt.print", "", 0, 0, " x: ", {{"i32", {2}, true}}, false}};
  SinkScope sink;
  runTest(testLaunch(package, printItsId, {1, 1, 1}));
  EXPECT_EQ(sink.lines, (std::vector<std::string>{"pid (0, 0, 0) idx (0) x: 0", "pid (0, 0, 0) idx (1) x: -1"}));
  sink.lines.clear();
  runTest(testLaunch(package, printItsId, {3000, 1, 1}));
  ASSERT_EQ(int64_t(sink.lines.size()), printLineLimit + 1);
  EXPECT_EQ(sink.lines.back(), "kernel `k`: 1904 more lines of print were dropped");
}

void printsWhatCannotBeRead(const HostProgram *program, const uint64_t *) {
  static const int8_t values[5000] = {};
  program->launch->print(program, 0, 0, values);
  program->launch->print(program, 0, 0, reinterpret_cast<const void *>(64));
}

TEST(HostExecution, LinesBeyondTheLimitAreNotFormatted) {
  Package package = testPackage();
  package.sites = {{"tt.print", "", 0, 0, " x: ", {{"i8", {5000}, true}}, false}};
  SinkScope sink;
  runTest(testLaunch(package, printsWhatCannotBeRead, {1, 1, 1}));
  ASSERT_EQ(int64_t(sink.lines.size()), printLineLimit + 1);
  EXPECT_EQ(sink.lines.back(), "kernel `k`: 5904 more lines of print were dropped");
}

TEST(HostExecution, ThrowingSinkDoesNotHurt) {
  Package package = testPackage();
  package.sites = {{"tt.print", "", 0, 0, " x: ", {{"i32", {2}, true}}, false}};
  PrintSink before = setPrintSink([](const std::string &) { throw std::runtime_error("sink"); });
  runTest(testLaunch(package, printItsId, {10, 1, 1}));
  setPrintSink(before);
}

} // namespace
