// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matrix whose columns are in groups, with one scale for each row of each group: an operand of a grouped FP8 matmul
// that sums over the grouped axis, as the gradient of expert weights does.
#include "kernels/Jagged.h"
#include "kernels/Kernels.h"

using namespace heddle::build;

namespace heddle::kernels {
namespace {

using BlocksOfM = Choices<1, 2, 4, 8, 16>;
using BlocksOfK = Choices<64, 256, 512, 1024, 2048>;

template <int64_t bm, int64_t bk>
struct Body {
  const StepWriter &writer;
  const TypedArguments &values;
  const Quantise &how;

  Scalar<i32> M = values.scalar<i32>("lines"), K = values.scalar<i32>("K"), g = programId(1);
  Tile<i32, bm> m = programId(0) * int(bm) + range<bm>();

  Tile<i1, bm, bk> inside(const Tile<i32, bk> &k, const Group &group) const {
    return column(m < M) && row(k < group.end);
  }
  Tile<f32, bm, bk> read(const Tile<i32, bk> &k, const Group &group) const {
    auto address = [&](auto pointer) {
      return advance(advance(pointer, column(m), writer.strideOf(values, "x_line")), row(k),
                     writer.strideOf(values, "x_k"));
    };
    return loadNumbers<bm, bk>(values.pointer("x"), address, inside(k, group));
  }
  Tile<f32, bm> storeScale(const Tile<i32, bm, bk> &largest) const {
    auto scale = scaleOf(max(largest, axis<1>()), how);
    auto at = cast<i64>(g) * cast<i64>(M) + cast<i64>(m);
    store(values.pointer("scales").template as<f32>() + at, scale, m < M);
    return scale;
  }
  void write(const Tile<i32, bk> &k, const Group &group, const Tile<f32, bm, bk> &numbers,
             const Tile<f32, bm> &scale) const {
    storeQuantised(values.pointer("q"), numbers * column(scale), how, [&](auto pointer, auto converted) {
      store(pointer + column(cast<i64>(m) * cast<i64>(K)) + row(k), converted, inside(k, group));
    });
  }

  /// A group of one tile is read once; of a longer one the second read finds the caches filled by the first.
  void quantise(const Group &group) const {
    when(
        group.end - group.first <= int(bk),
        [&] {
          auto k = group.first + range<bk>();
          auto numbers = read(k, group);
          write(k, group, numbers, storeScale(magnitudeBits(numbers, how)));
        },
        [&] {
          auto largest =
              forRange(group.first, group.end, int(bk), zeros<i32, bm, bk>(), [&](Scalar<i32> first, auto largest) {
                return maximum(largest, magnitudeBits(read(first + range<bk>(), group), how));
              });
          auto scale = storeScale(largest);
          forRange(group.first, group.end, int(bk), [&](Scalar<i32> first) {
            auto k = first + range<bk>();
            write(k, group, read(k, group), scale);
          });
        });
  }
};

Plan plan(const Call &call) {
  Plan plan;
  StepWriter writer("fp8_jagged_rowwise");
  planJagged(call, "M", writer, plan);
  int64_t lines = call.extent("M"), G = call.extent("G");
  if (lines * G == 0)
    return plan;
  Quantise how(call);
  int64_t average = call.extent("K") / std::max<int64_t>(call.extent("G"), 1);
  int64_t bk = call.tile("block_k", average > 512 ? 1024 : average > 128 ? 512 : 256);
  int64_t bm = call.tile("block_m", std::min<int64_t>(16, 4096 / bk));
  plan.steps.push_back(
      writer.finish({blocksFor(lines, bm), G, 1}, call.tile("warps", 4), [&](const TypedArguments &values) {
        choose(BlocksOfM(), bm, [&]<int64_t m>() {
          choose(BlocksOfK(), bk, [&]<int64_t k>() {
            Body<m, k> body{writer, values, how};
            whenAligned(readGroup(values, body.g, body.K, call.is("check", "true")),
                        [&](const Group &group) { body.quantise(group); });
          });
        });
      }));
  return plan;
}

} // namespace

const LibraryKernel fp8JaggedRowwise = {
    .name = "fp8_jagged_rowwise",
    .sentence = "quantises groups of columns to FP8 with one scale for each row of each group",
    .contract = "scales[g, m] = MAX / max(amax of |x[m, k]| over the k of group g, 1e-12); q[m, k] = x[m, k] * "
                "scales[group of k, m]; group g has the columns from offs[g - 1], or 0, up to offs[g]",
    .inputs = {{"x", {"M", "K"}, numberTypes, "the matrix, of any strides; contiguous along K is fast"},
               offsetsParameter()},
    .results = {{"q", "[M, K]", "values"}, {"scales", "[G, M]", "forward scales, f32; of an empty group MAX / 1e-12"}},
    .options = jaggedOptions(),
    .tiles = {{"block_m", BlocksOfM::list(), "rows of a tile"},
              {"block_k", BlocksOfK::list(), "columns of a tile"},
              {"warps", {1, 2, 4, 8, 16}, "warps of a block"}},
    .forms = {{"q", "option dtype", {{"M"}, {"K"}}}, {"scales", "f32", {{"G"}, {"M"}}}},
    .plan = plan,
    .reference = [](const Call &call, HostArrays &arrays) { jaggedReference(call, arrays, true); },
    .contents = makeOffsetsOfK,
    .checkContents = checkOffsetsOfK,
    .tuning = {.counts = {"K"}, .example = {{"M", 256}, {"K", 256}, {"G", 4}}},
};

} // namespace heddle::kernels
