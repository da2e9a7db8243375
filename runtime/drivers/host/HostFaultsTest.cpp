// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Crashing kernels become errors; crashes of other code stay crashes.
#include "runtime/drivers/host/HostFaults.h"
#include "runtime/drivers/host/HostTestSupport.h"
#include <csignal>

using namespace heddle;

namespace {

// Sanitizers would report the planted faults themselves.
#define NO_SANITIZE __attribute__((no_sanitize("address", "undefined", "thread")))

NO_SANITIZE void writeTo(const HostProgram *, const uint64_t *arguments) {
  *pointer<volatile int32_t>(arguments[0]) = 1;
}

std::string crashMessage(uint64_t address, bool checked = false) {
  Package package = testPackage({pointerArgument("x")});
  package.checked = checked;
  return messageOf([&] { runTest(testLaunch(package, writeTo, {4, 1, 1}, {DeviceAddress(address)})); });
}

TEST(HostFaults, WildWritesAreReported) {
  auto device = openDevice("host");
  Buffer buffer = device->allocate(4096, "x");
  std::string message = crashMessage(0);
  EXPECT_CONTAINS(message, "kernel `k` crashed: segmentation fault at address 0x0 (");
  EXPECT_CONTAINS(message, "before buffer `x` of 4096 bytes");
  EXPECT_CONTAINS(message, "in program instance (");
  EXPECT_CONTAINS(message, "compile with bounds checks (--check) to find the line");
  EXPECT_EQ(crashMessage(8, /*checked=*/true).find("--check"), std::string::npos);
}

TEST(HostFaults, RunningPastABufferIsReported) {
  auto device = openDevice("host");
  for (uint64_t size : {0, 1, 64, 100, 4096, 1 << 20}) {
    Buffer buffer = device->allocate(size, "y");
    EXPECT_CONTAINS(crashMessage(buffer.address() + (size + 63) / 64 * 64 + (size == 0 ? 64 : 0)),
                    "past the end of buffer `y` of " + std::to_string(size) + " bytes");
    EXPECT_CONTAINS(crashMessage(buffer.address() / 4096 * 4096 - 4), "before buffer `y`");
  }
}

TEST(HostFaults, NonCanonicalAddressIsNotTold) {
  EXPECT_CONTAINS(crashMessage(0x8000000000000000), "kernel `k` crashed: segmentation fault\nin program instance (");
}

NO_SANITIZE void raiseAndWrite(const HostProgram *, const uint64_t *) {
  ::raise(SIGSEGV);
  *pointer<volatile int32_t>(8) = 1;
}

TEST(HostFaults, RaisedAgainByAHandlerInFront) {
  EXPECT_CONTAINS(messageOf([&] { runTest(testLaunch(testPackage(), raiseAndWrite, {1, 1, 1})); }),
                  "kernel `k` crashed: segmentation fault at address 0x8 (");
}

TEST(HostFaults, CooperativeAndRepeated) {
  for (int i = 0; i < 20; ++i) {
    Launch launch = testLaunch(testPackage({pointerArgument("x")}), writeTo, {4, 1, 1}, {DeviceAddress(16)});
    launch.cooperative = i % 2;
    EXPECT_EQ(errorOf([&] { runTest(launch); }).kind, ErrorClass::Input);
  }
}

NO_SANITIZE void divide(const HostProgram *, const uint64_t *arguments) {
  volatile int32_t one = 1, zero = 0;
  *pointer<int32_t>(arguments[0]) = one / zero;
}

TEST(HostFaults, DivisionByZero) {
#ifdef __x86_64__
  auto device = openDevice("host");
  Buffer buffer = device->allocate(4);
  Launch launch = testLaunch(testPackage({pointerArgument("x")}), divide, {1, 1, 1}, {buffer});
  EXPECT_CONTAINS(messageOf([&] { runTest(launch); }), "kernel `k` crashed: integer division by zero");
#endif
}

NO_SANITIZE int overflowStack(int depth) {
  volatile char frame[4096];
  frame[0] = char(depth);
  return depth < 0 ? 0 : overflowStack(depth + 1) + frame[0];
}

NO_SANITIZE void recurse(const HostProgram *, const uint64_t *) {
  overflowStack(0);
}

TEST(HostFaults, StackOverflow) {
  Launch launch = testLaunch(testPackage(), recurse, {1, 1, 1});
  for (bool cooperative : {false, true}) {
    launch.cooperative = cooperative;
    EXPECT_CONTAINS(messageOf([&] { runTest(launch); }), "kernel `k` crashed: segmentation fault");
  }
}

NO_SANITIZE void crashOutsideAKernel() {
  HostFaultScope scope;
  *pointer<volatile int32_t>(8) = 1;
}

TEST(HostFaults, OtherCrashesStayCrashes) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(crashOutsideAKernel(), "");
}

std::jmp_buf ownHandlerJump;
NO_SANITIZE void jumpBack(int) {
  _longjmp(ownHandlerJump, 1);
}
NO_SANITIZE void crash() {
  *pointer<volatile int32_t>(8) = 1;
}

TEST(HostFaults, HandlersOfOthersAreCalledAndComeBack) {
  struct sigaction own = {}, before, after;
  own.sa_handler = jumpBack;
  own.sa_flags = SA_NODEFER;
  ::sigaction(SIGSEGV, &own, &before);
  auto scope = std::make_unique<HostFaultScope>();
  if (_setjmp(ownHandlerJump) == 0) {
    crash();
    ADD_FAILURE() << "the handler was not called";
  }
  // A handler that chained onto ours and puts it back later must not make ours its own successor.
  struct sigaction ours;
  ::sigaction(SIGSEGV, &own, &ours);
  scope.reset();
  ::sigaction(SIGSEGV, &ours, nullptr);
  scope = std::make_unique<HostFaultScope>();
  if (_setjmp(ownHandlerJump) == 0) {
    crash();
    ADD_FAILURE() << "the handler was not called";
  }
  scope.reset();
  ::sigaction(SIGSEGV, &before, &after);
  EXPECT_EQ(after.sa_handler, jumpBack);
}

} // namespace
