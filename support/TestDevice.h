// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests run on, by the environment variable HEDDLE_TEST_DEVICE: one source of a test, run on each device.
#pragma once
#include <string>

namespace heddle {

/// HEDDLE_TEST_DEVICE (`host`, `threads`, `cuda:0`, `hip:0`, `sim:gfx942`), or `host`.
std::string testDevice();

/// The runtime's driver for tests of several devices: `cuda`, `hip`, `sim:gfx942`, `threads` (tests/threads_driver/) or
/// `host`.
std::string testDriver();

} // namespace heddle
