// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs of programs.h, of one work-item each, against this processor's: unoptimised code keeps everything in
// scratch, optimised code has few of its branches left.
#include "tests/simulator/applications/programs.h"
#include "tests/simulator/applications/Application.h"

namespace heddle::simulator {
namespace {

class Programs : public Application {
protected:
  /// Work-item i's result is `expected(i)`, in the code of each of `compilations`.
  template <typename Expected, typename... Arguments>
  void run(const std::vector<std::string> &compilations, const char *kernel, Expected expected,
           Arguments... arguments) {
    for (const std::string &compilation : compilations) {
      SimulatedObject &programs = load("programs_" + compilation);
      uint64_t out = programs.buffer(std::vector<uint32_t>(512));
      programs.run(kernel, {.groups = {2}, .items = {256}}, out, arguments...);
      std::vector<uint32_t> results = programs.read<uint32_t>(out);
      for (uint32_t i = 0; i < results.size(); ++i)
        ASSERT_EQ(results[i], expected(i)) << compilation << ", seed " << i;
    }
  }
};
EVERYWHERE(Programs);

TEST_P(Programs, OneForAllLanes) {
  for (uint32_t program = 0; program < PROGRAMS_OF_OPENCL; ++program) {
    SCOPED_TRACE(program);
    run({"O0", "O1", "O3", "Oz"}, "run_one", [&](uint32_t i) { return runProgram(program, i); }, program);
  }
}

TEST_P(Programs, OthersBesideEachOther) {
  run({"O0", "O1", "O3", "Oz"}, "run_all", [](uint32_t i) { return runProgram(i % PROGRAMS_OF_OPENCL, i); });
}

TEST_P(Programs, OfHip) {
  for (uint32_t program = 0; program < PROGRAMS; ++program) {
    SCOPED_TRACE(program);
    run({"hip_O0", "hip_O3"}, "", [&](uint32_t i) { return runProgram(program, i); }, program);
  }
}

} // namespace
} // namespace heddle::simulator
