// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The largest magnitude of an array: by atomics in one launch, or by a partial result of each block and a second
// launch.
#include "kernels/Kernels.h"
#include "kernels/amax/Amax.h"
#include "support/BufferSpec.h"
#include "support/Error.h"
#include <cmath>
#include <fmt/format.h>

using namespace heddle::build;

namespace heddle::kernels {
namespace {

using Blocks = Choices<1024, 4096, 8192, 16384>;

/// A block's elements: masked ones are 0, which is no magnitude above another.
template <int64_t block>
Scalar<i32> blockAmax(const TypedArguments &values, bool propagates) {
  auto first = cast<i64>(programId()) * int(block);
  auto i = first + cast<i64>(range<block>());
  auto numbers = loadNumbers<block>(
      values.pointer("x"), [&](auto pointer) { return (pointer + first) + range<block>(); },
      i < values.scalar<i64>("count"));
  return max(magnitudeBits(numbers, propagates));
}

Step collectStep(const Call &call, const std::string &target, ElementType targetType, bool propagates, bool atomic) {
  const ArrayType &x = call.input("x");
  int64_t block = call.tile("block", 8192);
  StepWriter writer(atomic ? "amax_atomic" : "amax_partial");
  writer.buffer("x", x.type);
  writer.buffer(target, targetType, 4);
  writer.wide("count", x.elements());
  return writer.finish({blocksFor(x.elements(), block), 1, 1}, call.tile("warps", 8),
                       [&](const TypedArguments &values) {
                         choose(Blocks(), block, [&]<int64_t b>() {
                           auto bits = blockAmax<b>(values, propagates);
                           withType<i32, f32>(targetType, [&]<class E>() {
                             auto words = pointerCast<i32>(values.pointer(target).as<E>());
                             if (atomic)
                               atomicMax(words, bits, Order::Relaxed);
                             else
                               store(words + programId(), bits);
                           });
                         });
                       });
}

Step reduceStep(const std::string &target, ElementType targetType, int64_t partials) {
  StepWriter writer("amax_reduce");
  writer.buffer("partial", ElementType::I32);
  writer.buffer(target, targetType, 4);
  writer.count("count", partials);
  return writer.finish({1, 1, 1}, 8, [&](const TypedArguments &values) {
    constexpr int block = 2048;
    auto count = values.scalar<i32>("count");
    auto largest = forRange(0, count, block, zeros<i32, block>(), [&](Scalar<i32> first, auto largest) {
      auto i = first + range<block>();
      return maximum(largest, load(values.pointer("partial").as<i32>() + i, i < count, 0));
    });
    withType<i32, f32>(targetType,
                       [&]<class E>() { store(pointerCast<i32>(values.pointer(target).as<E>()), max(largest)); });
  });
}

Plan plan(const Call &call) {
  Plan plan;
  plan.results = {{"amax", {ElementType::F32, {1}}}};
  planAmax(call, "amax", ElementType::F32, call.is("nan", "propagate"), plan);
  return plan;
}

void reference(const Call &call, HostArrays &arrays) {
  const HostArray &x = arrays.at("x");
  double amax = 0;
  for (int64_t m = 0; m < call.extent("M"); ++m)
    for (int64_t n = 0; n < call.extent("N"); ++n)
      amax = amaxWith(amax, x.get({m, n}), call.is("nan", "propagate"));
  arrays.at("amax").set({0}, amax);
}

Tuning tuning() {
  return {.variants = amaxVariants({"block", "warps"}), .counts = {"M"}, .example = {{"M", 64}, {"N", 4096}}};
}

} // namespace

Option amaxMethod() {
  return {
      "method",
      {"atomic", "reduction"},
      "atomic",
      "how amax is found: atomic: relaxed atomics on one word; reduction: a value for each block, and one more launch"};
}

std::vector<TuningVariant> amaxVariants(const std::vector<std::string> &tiles) {
  return {{{{"method", "atomic"}}, tiles}, {{{"method", "reduction"}}, tiles}};
}

std::vector<TileParameter> amaxTiles() {
  return {{"block", Blocks::list(), "elements of a block while amax is found"},
          {"warps", {4, 8, 16}, "warps of a block"}};
}

void planAmax(const Call &call, const std::string &target, ElementType targetType, bool propagates, Plan &plan) {
  requireDense(call, "x");
  int64_t elements = call.input("x").elements();
  bool atomic = call.is("method", "atomic") || elements == 0;
  if (atomic)
    plan.steps.push_back(fillStep(target, 0));
  if (elements == 0)
    return;
  if (atomic) {
    plan.steps.push_back(collectStep(call, target, targetType, propagates, true));
    return;
  }
  int64_t partials = blocksFor(elements, call.tile("block", 8192));
  plan.temporaries.push_back({"partial", {ElementType::I32, {partials}}});
  plan.steps.push_back(collectStep(call, "partial", ElementType::I32, propagates, false));
  plan.steps.push_back(reduceStep(target, targetType, partials));
}

const LibraryKernel amaxKernel = {
    .name = "amax",
    .sentence = "finds the largest magnitude of an array",
    .contract = "amax = max |x[m, n]|, f32; 0 of an empty array",
    .inputs = {{"x", {"M", "N"}, numberTypes, "the array, dense; of another rank seen as [1, all]"}},
    .results = {{"amax", "[1]", "f32"}},
    .options =
        {amaxMethod(),
         {"nan", {"propagate", "ignore"}, "propagate", "propagate: a NaN makes amax NaN; ignore: leaves it out"}},
    .tiles = amaxTiles(),
    .forms = {{"amax", "f32", {{}}}},
    .plan = plan,
    .reference = reference,
    .tuning = tuning(),
};

} // namespace heddle::kernels
