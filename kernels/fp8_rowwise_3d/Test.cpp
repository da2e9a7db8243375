// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All methods for the largest magnitude give the same bits, and atomics on AMD are relaxed.
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
TEST(Fp8Rowwise3d, all_methods) {
  for (const char *method : {"atomic", "reduction", "cooperative"})
    expectReference(small(method));
  TestCall call = small("atomic");
  call.options["nan"] = "ignore";
  call.options["pow2"] = "true";
  call.extents["N"] = 77;
  expectReference(call);
}

// Strips of two parts, of 16 and 32 bits, where NaN counts and where it does not.
TEST(Fp8Rowwise3d, parts_of_strips) {
  TestCall call = small("cooperative");
  call.options["shared_n"] = "128";
  call.options["shared_k"] = "16";
  for (ElementType type : {ElementType::BF16, ElementType::F16, ElementType::F32})
    for (const char *nan : {"ignore", "propagate"}) {
      call.type = type;
      call.options["nan"] = nan;
      expectReference(call);
    }
}

// More parts than compute units would wait for blocks that have not begun.
TEST(Fp8Rowwise3d, too_many_parts) {
  CallRequest request;
  request.chip = &sm90Chip;
  request.inputs =
      arraysOfShape(lookupKernel("fp8_rowwise_3d"), {{"E", 1}, {"K", 64}, {"N", 128 * 133}}, ElementType::BF16);
  request.options = {{"method", "cooperative"}, {"shared_n", "128"}};
  EXPECT_CONTAINS(refusal("fp8_rowwise_3d", request),
                  "133 blocks would wait for each other, and sm_90 has 132 compute units");
  request.options["method"] = "auto";
  EXPECT_EQ(planCall(lookupKernel("fp8_rowwise_3d"), checkCall(lookupKernel("fp8_rowwise_3d"), request)).steps.size(),
            3u);
}

TEST(Fp8Rowwise3d, rows_that_are_contiguous_already) {
  TestCall call = small("atomic");
  call.arrange = [](auto &arrays) { arrays.at("x").strides = {}; };
  expectReference(call);
}

/// The assembly of the steps that hold atomics.
static std::string assemblyOf(const std::string &name, const std::map<std::string, int64_t> &extents,
                              const std::map<std::string, std::string> &options, const char *target) {
  const LibraryKernel &kernel = lookupKernel(name);
  CallRequest request;
  request.chip = &lookupChip(target);
  request.inputs = arraysOfShape(kernel, extents, ElementType::F16);
  request.options = options;
  CompileOptions compileOptions;
  compileOptions.target = target;
  compileOptions.stopAfter = "asm";
  std::string text;
  for (const Step &step : planCall(kernel, checkCall(kernel, request)).steps) {
    compileOptions.warps = step.warps;
    if (step.text.find("tt.atomic_rmw") != std::string::npos)
      text += compile(step.text, step.name, compileOptions).text;
  }
  return text;
}

// Relaxed atomics order nothing: no cache operation, no wait for memory after one, and no result that is waited for.
TEST(Fp8Rowwise3d, relaxed_atomics_on_amd) {
  for (const char *target : {"gfx942", "gfx950"})
    for (const std::string &text :
         {assemblyOf("fp8_rowwise_3d", {{"E", 2}, {"K", 256}, {"N", 256}}, {}, target),
          assemblyOf("amax", {{"M", 4}, {"N", 4096}}, {}, target),
          assemblyOf("int4_matmul", {{"M", 16}, {"inner", 64}, {"K/2", 32}, {"N", 64}, {"K/G", 1}},
                     {{"splits", "2"}, {"sum", "atomic"}}, target)}) {
      size_t atomic = text.find("_atomic_"), end = text.find("s_endpgm");
      while (atomic != std::string::npos && text.rfind('\n', atomic) + 2 < text.size() &&
             text[text.rfind('\n', atomic) + 1] != '\t') // a label or a directive names the kernel
        atomic = text.find("_atomic_", atomic + 1);
      ASSERT_LT(atomic, end) << text;
      for (const char *operation : {"buffer_wbl2", "buffer_inv", "sc0", "sc1"})
        EXPECT_EQ(text.substr(0, end).find(operation), std::string::npos) << target << ": " << operation;
      EXPECT_EQ(text.substr(atomic, end - atomic).find("vmcnt"), std::string::npos)
          << text.substr(atomic, end - atomic);
    }
}
