// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: a kernel whose candidates are right, wrong, endless or no program.
#pragma once
#include "kernels/LibraryKernel.h"
#include "kernels/StepWriter.h"

namespace heddle::autotune {

using namespace kernels;

/// Writes 7 everywhere, in as many launches as `repeats` says; with some values of `fault` it does not.
inline Plan planOfSeven(const Call &call) {
  using namespace build;
  constexpr int block = 64;
  int64_t n = call.extent("N"), fault = call.tile("fault", 0);
  StepWriter writer("seven");
  writer.buffer("out", ElementType::I32);
  writer.buffer("x", ElementType::F32);
  writer.count("N", n);
  Step step = writer.finish({blocksFor(n, block), 1, 1}, 4, [&](const TypedArguments &values) {
    auto i = programId() * block + range<block>();
    auto target = values.pointer("out").as<i32>();
    if (fault == 2) // waits for what never comes
      whileLoop(
          carry(atomicAdd(target, 0, Order::Relaxed)), [](auto seen) { return seen != -1; },
          [&](auto) { return carry(atomicAdd(target, 0, Order::Relaxed)); });
    store(target + i, full<i32, block>(fault == 1 ? 8 : 7), i < values.scalar<i32>("N"));
  });
  if (fault == 3)
    step.text = "no program";
  Plan plan;
  plan.results = {{"out", {ElementType::I32, {n}}}};
  plan.steps.assign(size_t(call.tile("repeats", 40)), step);
  return plan;
}

inline const LibraryKernel seven = {
    .name = "seven",
    .sentence = "writes 7",
    .contract = "out[n] = 7",
    .inputs = {{"x", {"N"}, {ElementType::F32}, "not read"}},
    .results = {{"out", "[N]", "7"}},
    .options = {},
    .tiles = {{"fault", {0, 1, 2, 3}, "of the candidate"}, {"repeats", {1, 40}, "launches"}},
    .forms = {{"out", "i32", {{"N"}}}},
    .plan = planOfSeven,
    .reference = nullptr,
    .tuning = {.variants = {{{}, {"fault", "repeats"}}}, .counts = {}, .example = {{"N", 64}}},
};

} // namespace heddle::autotune
