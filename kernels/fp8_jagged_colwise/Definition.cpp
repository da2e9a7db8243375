// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matrix whose rows are in groups (tokens of an expert), with one scale for each column of each group, transposed:
// the right operand of a grouped FP8 matmul that sums over the grouped axis.
#include "kernels/Jagged.h"
#include "kernels/Kernels.h"

using namespace heddle::build;

namespace heddle::kernels {
namespace {

using BlocksOfN = Choices<16, 32, 64, 128>;
using BlocksOfK = Choices<32, 64, 128>;

/// A tile is [k, n].
template <int64_t bk, int64_t bn>
struct Body {
  const StepWriter &writer;
  const TypedArguments &values;
  const Quantise &how;

  Scalar<i32> K = values.scalar<i32>("K"), N = values.scalar<i32>("lines"), g = programId(1);
  Tile<i32, bn> n = programId(0) * int(bn) + range<bn>();

  Tile<f32, bk, bn> read(const Tile<i32, bk> &k, const Group &group) const {
    auto address = [&](auto pointer) {
      return advance(advance(pointer, column(k), writer.strideOf(values, "x_k")), row(n),
                     writer.strideOf(values, "x_line"));
    };
    return loadNumbers<bk, bn>(values.pointer("x"), address, column(k < group.end) && row(n < N));
  }
  void write(const Tile<i32, bk> &k, const Group &group, const Tile<f32, bk, bn> &numbers,
             const Tile<f32, bn> &scale) const {
    storeQuantised(values.pointer("q"), numbers * row(scale), how, [&](auto pointer, auto converted) {
      store(pointer + column(cast<i64>(n) * cast<i64>(K)) + row(k), trans(converted),
            column(n < N) && row(k < group.end));
    });
  }

  /// The second read of a group finds the caches filled by the first.
  void quantise(const Group &group) const {
    auto largest =
        forRange(group.first, group.end, int(bk), zeros<i32, bk, bn>(), [&](Scalar<i32> first, auto largest) {
          return maximum(largest, magnitudeBits(read(first + range<bk>(), group), how));
        });
    auto scale = scaleOf(max(largest, axis<0>()), how);
    auto at = cast<i64>(g) * cast<i64>(N) + cast<i64>(n);
    store(values.pointer("scales").template as<f32>() + at, scale, n < N);
    forRange(group.first, group.end, int(bk), [&](Scalar<i32> first) {
      auto k = first + range<bk>();
      write(k, group, read(k, group), scale);
    });
  }
};

Plan plan(const Call &call) {
  Plan plan;
  StepWriter writer("fp8_jagged_colwise");
  planJagged(call, "N", writer, plan);
  int64_t lines = call.extent("N"), G = call.extent("G");
  if (lines * G == 0)
    return plan;
  Quantise how(call);
  int64_t bk = call.tile("block_k", 128), bn = call.tile("block_n", 32);
  plan.steps.push_back(
      writer.finish({blocksFor(lines, bn), G, 1}, call.tile("warps", 4), [&](const TypedArguments &values) {
        choose(BlocksOfK(), bk, [&]<int64_t k>() {
          choose(BlocksOfN(), bn, [&]<int64_t n>() {
            Body<k, n> body{writer, values, how};
            whenAligned(readGroup(values, body.g, body.K, call.is("check", "true")),
                        [&](const Group &group) { body.quantise(group); });
          });
        });
      }));
  return plan;
}

} // namespace

const LibraryKernel fp8JaggedColwise = {
    .name = "fp8_jagged_colwise",
    .sentence = "quantises groups of rows to FP8, transposed, with one scale for each column of each group",
    .contract = "scales[g, n] = MAX / max(amax of |x[k, n]| over the k of group g, 1e-12); q[n, k] = x[k, n] * "
                "scales[group of k, n]; group g has the rows from offs[g - 1], or 0, up to offs[g]",
    .inputs = {{"x", {"K", "N"}, numberTypes, "the matrix, of any strides; contiguous along N or K is fast"},
               offsetsParameter()},
    .results = {{"q", "[N, K]", "values; seen as [K, N] they are contiguous along K, as a matmul wants them"},
                {"scales", "[G, N]", "forward scales, f32; of an empty group MAX / 1e-12"}},
    .options = jaggedOptions(),
    .tiles = {{"block_n", BlocksOfN::list(), "columns of a tile"},
              {"block_k", BlocksOfK::list(), "rows of a tile"},
              {"warps", {1, 2, 4, 8, 16}, "warps of a block"}},
    .forms = {{"q", "option dtype", {{"N"}, {"K"}}}, {"scales", "f32", {{"G"}, {"N"}}}},
    .plan = plan,
    .reference = [](const Call &call, HostArrays &arrays) { jaggedReference(call, arrays, false); },
    .contents = makeOffsetsOfK,
    .checkContents = checkOffsetsOfK,
    .tuning = {.counts = {"K"}, .example = {{"K", 256}, {"N", 256}, {"G", 4}}},
};

} // namespace heddle::kernels
