// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The barriers of sm_90 kernels are needed: without any one of them, the thread interpreter reports a race. Those whose
// absence it does not report are printed; they order global memory, or are one too many.
#include "examples/builder/PlainKernels.h"
#include "tests/numerics/Support.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace heddle::numerics;
using namespace heddle::plain;
using namespace heddle::reference;

namespace {

struct BarrierCase {
  std::string kernel;
  Grid grid;
  std::vector<Argument> arguments;
};

std::vector<BarrierCase> barrierCases() {
  auto f16 = [](int count, int seed) { return floatsAs(formatF16, numbers(count, seed)); };
  auto bf16 = [](int count, int seed) { return floatsAs(formatBF16, numbers(count, seed)); };
  return {
      {"transpose_f16", {1, 1, 1}, {f16(64 * 64, 1), zeros<uint16_t>(64 * 64), scalarI32(64), scalarI32(64)}},
      {"amax_atomic", {1, 1, 1}, {bf16(64 * 64, 2), zeros<float>(64), scalarI32(64), scalarI32(64)}},
      {"rowwise_fp8",
       {1, 1, 1},
       {bf16(16 * 128, 3), zeros<uint8_t>(16 * 128), zeros<float>(16), scalarI32(16), scalarI32(128)}},
      {"attention_causal",
       {1, 1, 1},
       {f16(64 * 64, 4), f16(64 * 64, 5), f16(64 * 64, 6), zeros<uint16_t>(64 * 64), scalarI32(64), scalarF32(0.125f)}},
  };
}

} // namespace

TEST(Barriers, none_can_be_left_out) {
  for (const BarrierCase &each : barrierCases()) {
    std::string text = readCorpus(each.kernel + ".sm_90.ttir");
    unsigned count = 0;
    std::vector<unsigned> silent = heddle::executors::findSilentBarriers(text, each.grid, each.arguments, count);
    fmt::print("{}: {} barriers, of which {} are not missed by shared memory: {}\n", each.kernel, count, silent.size(),
               fmt::join(silent, ", "));
    if (count)
      EXPECT_LT(silent.size(), count) << each.kernel;
  }
}
