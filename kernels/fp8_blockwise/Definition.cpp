// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matrix with one scale for each block of 128 elements of a row (activations), of a column, or of 128 x 128 elements
// (weights), as DeepSeek's models use them. A block is read once.
#include "kernels/Kernels.h"
#include "kernels/Quantise.h"

using namespace heddle::build;

namespace heddle::kernels {
namespace {

constexpr int64_t side = 128;
using Lines = Choices<8, 16, 32, 64>; ///< rows (1x128) or columns (128x1) of a program

enum class Shape { Row, Column, Square };

struct Body {
  const StepWriter &writer;
  const TypedArguments &values;
  const Quantise &how;
  bool reciprocal;

  Scalar<i32> M = values.scalar<i32>("M"), K = values.scalar<i32>("K");

  template <int64_t... sizes, class I, class Mask>
  void storeScale(const Tile<f32, sizes...> &scale, const I &index, const Mask &mask) const {
    auto stored = reciprocal ? Tile<f32, sizes...>(preciseDivide(full<f32>(1), scale)) : scale;
    store(values.pointer("scales").as<f32>() + index, stored, mask);
  }

  template <Shape shape, int64_t bm, int64_t bk>
  void quantise() const {
    auto i = programId(1), j = programId(0);
    auto m = i * int(bm) + range<bm>();
    auto k = j * int(bk) + range<bk>();
    auto inside = column(m < M) && row(k < K);
    auto numbers = loadNumbers<bm, bk>(
        values.pointer("x"),
        [&](auto pointer) {
          return advance(advance(pointer, column(m), writer.strideOf(values, "x_m")), row(k),
                         writer.strideOf(values, "x_k"));
        },
        inside);
    auto bits = magnitudeBits(numbers, how);
    auto blocksOfK = ceilDivide(K, int(side));
    auto write = [&](const Tile<f32, bm, bk> &scaled) {
      storeQuantised(values.pointer("q"), scaled, how, [&](auto pointer, auto converted) {
        store(pointer + column(cast<i64>(m) * cast<i64>(K)) + row(k), converted, inside);
      });
    };
    if constexpr (shape == Shape::Row) {
      auto scale = scaleOf(max(bits, axis<1>()), how);
      storeScale(scale, cast<i64>(m) * cast<i64>(blocksOfK) + cast<i64>(j), m < M);
      write(numbers * column(scale));
    } else if constexpr (shape == Shape::Column) {
      auto scale = scaleOf(max(bits, axis<0>()), how);
      storeScale(scale, cast<i64>(i) * cast<i64>(K) + cast<i64>(k), k < K);
      write(numbers * row(scale));
    } else {
      auto scale = scaleOf(max(bits), how);
      storeScale(scale, cast<i64>(i) * cast<i64>(blocksOfK) + cast<i64>(j), full<i1>(true));
      write(numbers * scale);
    }
  }
};

Plan plan(const Call &call) {
  int64_t M = call.extent("M"), K = call.extent("K");
  const ArrayType &x = call.input("x");
  Quantise how(call);
  bool isRow = call.is("block", "1x128"), isColumn = call.is("block", "128x1");
  int64_t lines = call.tile("lines", isRow ? 32 : 64);
  int64_t bm = isRow ? lines : side, bk = isColumn ? lines : side;
  Plan plan;
  plan.results = {{"q", {how.type, {M, K}}},
                  {"scales", {ElementType::F32, {isRow ? M : blocksFor(M, side), isColumn ? K : blocksFor(K, side)}}}};
  if (M * K == 0)
    return plan;
  StepWriter writer("fp8_blockwise");
  writer.buffer("x", x.type);
  writer.buffer("q", how.type);
  writer.buffer("scales", ElementType::F32);
  writer.count("M", M);
  writer.count("K", K);
  writer.stride("x_m", x.stride(0));
  writer.stride("x_k", x.stride(1));
  plan.steps.push_back(writer.finish({blocksFor(K, bk), blocksFor(M, bm), 1},
                                     call.tile("warps", isRow || isColumn ? 4 : 8), [&](const TypedArguments &values) {
                                       Body body{writer, values, how, call.is("scales", "reciprocal")};
                                       if (!isRow && !isColumn)
                                         return body.quantise<Shape::Square, side, side>();
                                       choose(Lines(), lines, [&]<int64_t n>() {
                                         isRow ? body.quantise<Shape::Row, n, side>()
                                               : body.quantise<Shape::Column, side, n>();
                                       });
                                     }));
  return plan;
}

void reference(const Call &call, HostArrays &arrays) {
  Quantise how(call);
  const HostArray &x = arrays.at("x");
  int64_t M = call.extent("M"), K = call.extent("K");
  int64_t bm = call.is("block", "1x128") ? 1 : side, bk = call.is("block", "128x1") ? 1 : side;
  for (int64_t i = 0; i * bm < M; ++i)
    for (int64_t j = 0; j * bk < K; ++j) {
      int64_t endM = std::min(M, (i + 1) * bm), endK = std::min(K, (j + 1) * bk);
      double amax = 0;
      for (int64_t m = i * bm; m < endM; ++m)
        for (int64_t k = j * bk; k < endK; ++k)
          amax = amaxWith(amax, x.get({m, k}), how.propagates);
      float scale = referenceScale(amax, how);
      arrays.at("scales").set({i, j}, call.is("scales", "reciprocal") ? 1.0f / scale : scale);
      for (int64_t m = i * bm; m < endM; ++m)
        for (int64_t k = j * bk; k < endK; ++k)
          arrays.at("q").set({m, k}, referenceValue(x.get({m, k}), scale, how));
    }
}

std::vector<Option> options() {
  std::vector<Option> all = quantiseOptions();
  all.push_back({"block", {"1x128", "128x1", "128x128"}, "1x128", "elements that share a scale, rows x columns"});
  all.push_back({"scales", {"reciprocal", "forward"}, "reciprocal", "what is stored: 1 / scale, or the scale"});
  return all;
}

} // namespace

const LibraryKernel fp8Blockwise = {
    .name = "fp8_blockwise",
    .sentence = "quantises a matrix to FP8 with one scale for each block of 1x128, 128x1 or 128x128 elements",
    .contract = "scale = MAX / max(amax of the block, 1e-12); q[m, k] = x[m, k] * scale; scales has 1 / scale, each "
                "correctly rounded",
    .inputs = {{"x", {"M", "K"}, numberTypes, "the matrix, of any strides; the last blocks may be smaller"}},
    .results = {{"q", "[M, K]", "values"}, {"scales", "[M / block, K / block], rounded up", "f32"}},
    .options = options(),
    .tiles = {{"lines", Lines::list(), "rows (1x128) or columns (128x1) of a tile"},
              {"warps", {1, 2, 4, 8, 16}, "warps of a block"}},
    .forms = {{"q", "option dtype", {{"M"}, {"K"}}},
              {"scales", "f32", {{"M"}, {"K", 1, side}}, "block", {"1x128"}},
              {"scales", "f32", {{"M", 1, side}, {"K"}}, "block", {"128x1"}},
              {"scales", "f32", {{"M", 1, side}, {"K", 1, side}}, "block", {"128x128"}}},
    .plan = plan,
    .reference = reference,
    .tuning = {.counts = {"M"}, .example = {{"M", 256}, {"K", 256}}},
};

} // namespace heddle::kernels
