// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/TestCalls.h"
#include <cmath>

using namespace heddle;
using namespace heddle::kernels;

static void plantSpecials(HostArrays &inputs) {
  HostArray &x = inputs.at("x");
  for (int64_t n = 0; n < x.type.shape[2]; ++n)
    x.set({1, 2, n}, 0);
  x.set({0, 1, 3}, std::nan(""));
  x.set({1, 0, 5}, INFINITY);
}

static TestCall small(const char *method) {
  return {.kernel = "fp8_rowwise_3d",
          .extents = {{"E", 2}, {"K", 40}, {"N", 136}},
          .options = {{"method", method}, {"block_n", "64"}, {"block_k", "32"}},
          .change = plantSpecials};
}

// Triton writes wrong bytes where 1-byte transposed stores stand beside extrema that keep NaN.
TEST(Fp8Rowwise3d, both_methods) {
  for (const char *method : {"atomic", "reduction"})
    expectReference(small(method));
  TestCall call = small("atomic");
  call.options["nan"] = "ignore";
  call.options["pow2"] = "true";
  call.extents["N"] = 77;
  expectReference(call);
}

TEST(Fp8Rowwise3d, rows_that_are_contiguous_already) {
  TestCall call = small("atomic");
  call.arrange = [](auto &arrays) { arrays.at("x").strides = {}; };
  expectReference(call);
}

// Relaxed atomics order nothing: no wait and no cache operation around them.
TEST(Fp8Rowwise3d, relaxed_atomics_on_amd) {
  const LibraryKernel &kernel = lookupKernel("fp8_rowwise_3d");
  for (const char *target : {"gfx942", "gfx950"}) {
    CallRequest request;
    request.chip = &lookupChip(target);
    request.inputs = arraysOfShape(kernel, {{"E", 2}, {"K", 256}, {"N", 256}}, ElementType::BF16);
    Plan plan = planCall(kernel, checkCall(kernel, request));
    ASSERT_EQ(plan.steps.size(), 3u);
    CompileOptions options;
    options.target = target;
    options.stopAfter = "asm";
    options.warps = plan.steps[1].warps;
    std::string text = compile(plan.steps[1].text, "amax", options).text;
    size_t atomic = text.find("_atomic_umax"), end = text.find("s_endpgm");
    if (atomic == std::string::npos)
      atomic = text.find("_atomic_smax");
    ASSERT_NE(atomic, std::string::npos) << text;
    for (const char *operation : {"buffer_wbl2", "buffer_inv", "buffer_gl", "sc0", "sc1"})
      EXPECT_EQ(text.find(operation), std::string::npos) << target << ": " << operation;
    EXPECT_EQ(text.substr(atomic, end - atomic).find("s_waitcnt"), std::string::npos) << text.substr(atomic);
  }
}
