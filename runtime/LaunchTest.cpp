// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Grids and arguments that a launch refuses.
#include "runtime/Launch.h"
#include "support/TestError.h"
#include <cmath>

using namespace heddle;

namespace {

Launch goodLaunch() {
  Package package;
  package.kernel = "k";
  package.arguments = {{"x", "f32", true, 16}, {"n", "i32", false, 8}, {"flag", "i1", false, 1}};
  Launch launch;
  launch.kernel = {std::make_shared<Module>(package)};
  launch.grid = {4, 2, 1};
  launch.arguments = {DeviceAddress(uint64_t(0x1000)), ScalarBits{16}, ScalarBits{1}};
  return launch;
}

template <typename Change>
std::string messageAfter(Change change) {
  Launch launch = goodLaunch();
  change(launch);
  Error error = errorOf([&] { checkLaunch(launch); });
  EXPECT_EQ(error.kind, ErrorClass::Input);
  return messageOf([&] { checkLaunch(launch); });
}

TEST(Launch, GoodOnesPass) {
  Launch launch = goodLaunch();
  checkLaunch(launch);
  EXPECT_EQ(argumentSlots(launch), (std::vector<uint64_t>{0x1000, 16, 1}));
  launch.grid = {2147483647, 1, 1};
  checkLaunch(launch);
  launch.arguments[1] = ScalarBits{0xfffffff8}; // -8
  checkLaunch(launch);
}

TEST(Launch, Grids) {
  EXPECT_EQ(messageAfter([](Launch &l) { l.grid = {0, 1, 1}; }),
            "kernel `k`: grid 0 x 1 x 1: each dimension must be from 1 to 2147483647");
  EXPECT_CONTAINS(messageAfter([](Launch &l) { l.grid = {1, -5, 1}; }), "grid 1 x -5 x 1");
  EXPECT_CONTAINS(messageAfter([](Launch &l) { l.grid = {1, 1, 2147483648}; }), "grid 1 x 1 x 2147483648");
  EXPECT_CONTAINS(messageAfter([](Launch &l) { l.grid = {65536, 32768, 1}; }),
                  "has more than 2147483647 program instances");
  EXPECT_CONTAINS(messageAfter([](Launch &l) { l.grid = {2147483647, 2147483647, 2147483647}; }), "has more than");
}

TEST(Launch, TimeLimits) {
  EXPECT_EQ(messageAfter([](Launch &l) { l.timeoutSeconds = -1; }),
            "kernel `k`: a time limit of -1 s: it must be above 0 and at most 1000000");
  EXPECT_CONTAINS(messageAfter([](Launch &l) { l.timeoutSeconds = 1e6 + 1; }), "a time limit of 1000001 s");
  EXPECT_CONTAINS(messageAfter([](Launch &l) { l.timeoutSeconds = std::nan(""); }), "a time limit of nan s");
  Launch launch = goodLaunch();
  for (double good : {0.0, 0.001, 1e6}) {
    launch.timeoutSeconds = good;
    checkLaunch(launch);
  }
}

TEST(Launch, ArgumentCounts) {
  EXPECT_EQ(messageAfter([](Launch &l) { l.arguments.pop_back(); }),
            "kernel `k` takes 3 arguments and got 2: missing `flag`\nits arguments are `x`, `n`, `flag`");
  EXPECT_CONTAINS(messageAfter([](Launch &l) { l.arguments.clear(); }), "got 0: missing `x`, `n`, `flag`");
  EXPECT_CONTAINS(messageAfter([](Launch &l) { l.arguments.push_back(ScalarBits{0}); }), "got 4: the last 1 are extra");
}

TEST(Launch, ArgumentKinds) {
  EXPECT_EQ(messageAfter([](Launch &l) { l.arguments[0] = ScalarBits{0}; }),
            "kernel `k`: argument `x` is a pointer to f32, and a scalar was given");
  EXPECT_EQ(messageAfter([](Launch &l) { l.arguments[1] = DeviceAddress(uint64_t(64)); }),
            "kernel `k`: argument `n` is a scalar of type i32, and a buffer was given");
  EXPECT_CONTAINS(messageAfter([](Launch &l) { l.arguments[1] = ScalarBits{1ull << 32}; }),
                  "bits 0x100000000 are wider than i32");
  EXPECT_CONTAINS(messageAfter([](Launch &l) { l.arguments[2] = ScalarBits{2}; }), "bits 0x2 are wider than i1");
}

TEST(Launch, Divisibility) {
  EXPECT_CONTAINS(messageAfter([](Launch &l) { l.arguments[0] = DeviceAddress(uint64_t(0x1008)); }),
                  "argument `x`: address 0x1008 is not a multiple of 16 bytes");
  EXPECT_CONTAINS(messageAfter([](Launch &l) { l.arguments[1] = ScalarBits{0xffffffff}; }),
                  "argument `n`: -1 is not a multiple of 8");
}

TEST(Launch, NoKernelIsOurFault) {
  EXPECT_EQ(errorOf([] { checkLaunch(Launch()); }).kind, ErrorClass::Internal);
}

} // namespace
