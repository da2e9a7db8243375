// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expert weights with one scale for each column: the right operand of a rowwise-scaled grouped FP8 matmul. Each column
// is contiguous, so it is a row of kernels/fp8_rows.
#include "kernels/Kernels.h"
#include "kernels/Quantise.h"
#include "kernels/fp8_rows/Rows.h"

namespace heddle::kernels {
namespace {

Plan plan(const Call &call) {
  int64_t E = call.extent("E"), K = call.extent("K"), N = call.extent("N");
  const ArrayType &x = call.input("x");
  Plan plan;
  plan.results = {{"q", {call.type("dtype"), {E, N, K}}}, {"scales", {ElementType::F32, {E, N}}}};
  if (E * N > 0)
    plan.steps.push_back(rowsStep(call, "fp8_colwise_3d", {x.type, E, N, K, x.stride(0), x.stride(2), x.stride(1)}));
  return plan;
}

void reference(const Call &call, HostArrays &arrays) {
  Quantise how(call);
  const HostArray &x = arrays.at("x");
  HostArray &q = arrays.at("q"), &scales = arrays.at("scales");
  for (int64_t e = 0; e < call.extent("E"); ++e)
    for (int64_t n = 0; n < call.extent("N"); ++n)
      scales.set({e, n}, quantiseLine(
                             call.extent("K"), how, [&](int64_t k) { return x.get({e, k, n}); },
                             [&](int64_t k, double value) { q.set({e, n, k}, value); }));
}

} // namespace

const LibraryKernel fp8Colwise3d = {
    .name = "fp8_colwise_3d",
    .sentence = "quantises expert weights to FP8 with one scale for each column",
    .contract = "scales[e, n] = MAX / max(amax over k of |x[e, k, n]|, 1e-12); q[e, n, k] = x[e, k, n] * scales[e, n]",
    .inputs =
        {{"x", {"E", "K", "N"}, numberTypes, "the weights, of any strides; contiguous along K is fast", {0, 2, 1}}},
    .results = {{"q", "[E, N, K]", "values, which seen as [E, K, N] are contiguous along K, as a matmul wants them"},
                {"scales", "[E, N]", "forward scales, f32"}},
    .options = quantiseOptions(),
    .tiles = rowsTiles(),
    .forms = {{"q", "option dtype", {{"E"}, {"N"}, {"K"}}}, {"scales", "f32", {{"E"}, {"N"}}}},
    .plan = plan,
    .reference = reference,
    .tuning = {.example = {{"E", 2}, {"K", 256}, {"N", 256}}},
};

} // namespace heddle::kernels
