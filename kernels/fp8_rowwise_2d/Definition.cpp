// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matrix with one scale for each row: the left operand of a rowwise-scaled FP8 matmul.
#include "kernels/Kernels.h"
#include "kernels/Quantise.h"
#include "kernels/fp8_rows/Rows.h"

namespace heddle::kernels {
namespace {

Plan plan(const Call &call) {
  int64_t M = call.extent("M"), K = call.extent("K");
  const ArrayType &x = call.input("x");
  Plan plan;
  plan.results = {{"q", {call.type("dtype"), {M, K}}}, {"scales", {ElementType::F32, {M}}}};
  if (M > 0)
    plan.steps.push_back(rowsStep(call, "fp8_rowwise_2d", {x.type, 1, M, K, 0, x.stride(0), x.stride(1)}));
  return plan;
}

void reference(const Call &call, HostArrays &arrays) {
  Quantise how(call);
  const HostArray &x = arrays.at("x");
  HostArray &q = arrays.at("q"), &scales = arrays.at("scales");
  for (int64_t m = 0; m < call.extent("M"); ++m)
    scales.set({m}, quantiseLine(
                        call.extent("K"), how, [&](int64_t k) { return x.get({m, k}); },
                        [&](int64_t k, double value) { q.set({m, k}, value); }));
}

} // namespace

const LibraryKernel fp8Rowwise2d = {
    .name = "fp8_rowwise_2d",
    .sentence = "quantises a matrix to FP8 with one scale for each row",
    .contract = "scales[m] = MAX / max(amax over k of |x[m, k]|, 1e-12); q[m, k] = x[m, k] * scales[m]",
    .inputs = {{"x", {"M", "K"}, numberTypes, "the matrix, of any strides; contiguous along K is fast"}},
    .results = {{"q", "[M, K]", "values"}, {"scales", "[M]", "forward scales, f32"}},
    .options = quantiseOptions(),
    .tiles = rowsTiles(),
    .forms = {{"q", "option dtype", {{"M"}, {"K"}}}, {"scales", "f32", {{"M"}}}},
    .plan = plan,
    .reference = reference,
    .tuning = {.counts = {"M"}, .example = {{"M", 256}, {"K", 1024}}},
};

} // namespace heddle::kernels
