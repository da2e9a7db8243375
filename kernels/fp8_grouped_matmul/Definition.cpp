// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matmuls of FP8 operands with a scale for each row of the left and each column of the right one, in groups: each group
// of rows with weights of its own (forward, and the gradient of the activations), or each group of the summed axis with
// a result of its own (the gradient of the weights). The right operand is given transposed, as quantisation leaves it.
#include "kernels/Jagged.h"
#include "kernels/Kernels.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

using namespace heddle::build;

namespace heddle::kernels {
namespace {

using BlocksOfM = Choices<16, 64, 128>;
using BlocksOfN = Choices<64, 128, 256>;
using BlocksOfK = Choices<64, 128>;

struct Tiles {
  int64_t m, n, k, warps;
  int stages;
};

/// `rows` are those of a group, on average. Large tiles are for warp-group MMA; elsewhere small ones take less time.
Tiles tilesOf(const Call &call, int64_t rows) {
  bool isLarge = call.chip->warpGroupMatmuls && call.is("sums", "fast") && rows > 64 && call.extent("N") >= 256;
  int64_t m = call.tile("block_m", rows <= 16 ? 16 : rows <= 64 ? 64 : 128);
  int64_t n = call.tile("block_n", isLarge ? 256 : 128), k = call.tile("block_k", isLarge ? 128 : 64);
  return {m, n, k, call.tile("warps", m >= 128 ? 8 : 4), int(call.tile("stages", 3))};
}

struct Body {
  const StepWriter &writer;
  const TypedArguments &values;
  const Call &call;
  Tiles tiles;

  Scalar<i32> M = values.scalar<i32>("M"), N = values.scalar<i32>("N"), K = values.scalar<i32>("K"),
              G = values.scalar<i32>("G");

  bool checks() const { return call.is("check", "true"); }

  /// Scales by which a sum is multiplied: those of `where` among `name`, 1 where they are masked.
  template <class P, class Mask>
  auto scales(const P &where, const Mask &mask) const {
    auto loaded = load(where, mask, 1);
    using Scales = decltype(loaded);
    return call.is("scales", "forward") ? Scales(preciseDivide(full<f32>(1), loaded)) : loaded;
  }

  /// The sums over k from `first` up to `end` of rows `m` below `endOfM` of the left operand and `n` of the right one,
  /// which begins at `rightFrom` elements.
  template <class E, int64_t bm, int64_t bn, int64_t bk>
  Tile<f32, bm, bn> sums(const Tile<i32, bm> &m, const Scalar<i32> &endOfM, const Tile<i32, bn> &n,
                         const std::optional<Scalar<i64>> &rightFrom, const Group &along) const {
    auto left = advance(values.pointer("left").as<E>(), column(m), writer.strideOf(values, "left_row"));
    auto base = values.pointer("right").as<E>();
    if (rightFrom)
      base = base + *rightFrom;
    auto right = advance(base, column(n), writer.strideOf(values, "right_row"));
    return forRange(along.first, along.end, int(bk), zeros<f32, bm, bn>(),
                    [&](Scalar<i32> first, auto sums) {
                      auto k = first + range<bk>();
                      auto a = load(advance(left, row(k), writer.strideOf(values, "left_k")),
                                    column(m < endOfM) && row(k < along.end), 0);
                      auto b = load(advance(right, row(k), writer.strideOf(values, "right_k")),
                                    column(n < N) && row(k < along.end), 0);
                      ImpreciseSums imprecise{call.is("sums", "fast") ? 1 << 30 : 0};
                      return dot(a, trans(b), sums, Precision::IEEE, imprecise);
                    },
                    {.stages = tiles.stages});
  }

  /// The scaled sums, to rows `m` of a result that begins at `to` elements.
  template <int64_t bm, int64_t bn>
  void store(const Tile<f32, bm, bn> &scaled, const Tile<i32, bm> &m, const Scalar<i32> &endOfM, const Tile<i32, bn> &n,
             const Scalar<i64> &to) const {
    withType<bf16, f16, f32>(values.pointer("c").type, [&]<class C>() {
      build::store(values.pointer("c").as<C>() + to + column(cast<i64>(m) * cast<i64>(N)) + row(n), cast<C>(scaled),
                   column(m < endOfM) && row(n < N));
    });
  }

  template <class F>
  void withElements(F function) const {
    withType<f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ>(values.pointer("left").type, function);
  }

  /// Groups of rows. A block finds its tile of rows among those of all groups; the rows after the last group are zeros.
  template <int64_t bm, int64_t bn, int64_t bk>
  void rows() const {
    auto across = ceilDivide(N, int(bn));
    auto tile = programId(0) / across;
    auto n = (programId(0) - tile * across) * int(bn) + range<bn>();
    auto zero = full<i32>(0);
    auto [passed, rest, group, first, end] =
        forRange(0, G, groupsAtOnce, carry(zero, zero, zero, zero, zero),
                 [&](Scalar<i32> chunk, auto passed, auto rest, auto group, auto first, auto end) {
                   auto g = chunk + range<groupsAtOnce>();
                   auto [begins, ends] = readGroups(values, g, G, M, checks());
                   auto count = ceilDivide(ends - begins, int(bm));
                   auto tileEnds = passed + cumulativeSum(count, axis<0>());
                   auto tileStarts = tileEnds - count;
                   auto isIn = tile >= tileStarts && tile < tileEnds;
                   auto one = [&](const Groups &value) { return sum(select(isIn, value, 0)); }; // of one group at most
                   return carry(passed + sum(count), maximum(rest, max(ends)), group + one(g),
                                first + one(begins + (tile - tileStarts) * int(bm)), end + one(ends));
                 });
    when(
        tile < passed,
        [&] {
          auto m = first + range<bm>();
          withElements([&]<class E>() {
            auto from = cast<i64>(group) * values.scalar<i64>("right_g");
            auto sums = this->sums<E, bm, bn, bk>(m, end, n, from, Group{full<i32>(0), K});
            auto left = scales(values.pointer("left_scales").as<f32>() + m, m < end);
            auto right = scales(values.pointer("right_scales").as<f32>() + cast<i64>(group) * cast<i64>(N) + n, n < N);
            store(sums * column(left) * row(right), m, end, n, full<i64>(0));
          });
        },
        [&] {
          auto m = rest + (tile - passed) * int(bm) + range<bm>();
          store(zeros<f32, bm, bn>(), m, M, n, full<i64>(0));
        });
  }

  /// Groups along K: each has a result of its own.
  template <int64_t bm, int64_t bn, int64_t bk>
  void depth() const {
    auto m = programId(1) * int(bm) + range<bm>();
    auto n = programId(0) * int(bn) + range<bn>();
    auto g = programId(2);
    whenAligned(readGroup(values, g, K, checks()), [&](const Group &group) {
      withElements([&]<class E>() {
        auto sums = this->sums<E, bm, bn, bk>(m, M, n, std::nullopt, group);
        auto left = scales(values.pointer("left_scales").as<f32>() + cast<i64>(g) * cast<i64>(M) + m, m < M);
        auto right = scales(values.pointer("right_scales").as<f32>() + cast<i64>(g) * cast<i64>(N) + n, n < N);
        // Scales of a group without elements may be anything.
        auto scaled = select(group.first < group.end, sums * column(left) * row(right), 0);
        store(scaled, m, M, n, cast<i64>(g) * cast<i64>(M) * cast<i64>(N));
      });
    });
  }
};

void check(const Call &call) {
  ElementType left = call.input("left").type, right = call.input("right").type;
  if (left != right)
    throw inputError(fmt::format("kernel `{}`: `left` has elements of {}, and `right` of {}: they must be the same",
                                 call.kernel, elementTypeName(left), elementTypeName(right)));
  for (const char *name : {"offs", "left_scales", "right_scales"})
    requireDense(call, name);
}

/// What both kernels have; `ofRight`: the dimension of the right operand's rows.
StepWriter writerOf(const Call &call, size_t ofRight) {
  const ArrayType &left = call.input("left"), &right = call.input("right"), &offs = call.input("offs");
  StepWriter writer(call.kernel);
  writer.buffer("left", left.type);
  writer.buffer("right", right.type);
  writer.buffer("left_scales", ElementType::F32);
  writer.buffer("right_scales", ElementType::F32);
  writer.buffer("offs", offs.type, int(elementSizeBytes(offs.type)));
  writer.buffer("c", call.type("dtype"));
  for (const char *extent : {"M", "N", "K", "G"})
    writer.count(extent, call.extent(extent));
  writer.stride("left_row", left.stride(0));
  writer.stride("left_k", left.stride(1));
  writer.stride("right_row", right.stride(ofRight));
  writer.stride("right_k", right.stride(ofRight + 1));
  return writer;
}

Step finish(StepWriter &writer, const Call &call, const Tiles &tiles, std::array<int64_t, 3> grid, bool ofRows) {
  return writer.finish(grid, tiles.warps, [&](const TypedArguments &values) {
    choose(BlocksOfM(), tiles.m, [&]<int64_t m>() {
      choose(BlocksOfN(), tiles.n, [&]<int64_t n>() {
        choose(BlocksOfK(), tiles.k, [&]<int64_t k>() {
          Body body{writer, values, call, tiles};
          ofRows ? body.rows<m, n, k>() : body.depth<m, n, k>();
        });
      });
    });
  });
}

Plan planRows(const Call &call) {
  check(call);
  int64_t M = call.extent("M"), N = call.extent("N"), K = call.extent("K"), G = call.extent("G");
  Plan plan;
  plan.results = {{"c", {call.type("dtype"), {M, N}}}};
  plan.operations = 2 * M * N * K;
  if (M * N == 0)
    return plan;
  Tiles tiles = tilesOf(call, M / std::max<int64_t>(G, 1));
  StepWriter writer = writerOf(call, 1);
  writer.wide("right_g", call.input("right").stride(0));
  // Whole tiles, and one that is not of each group and of the rows after the last one.
  int64_t blocks = (M / tiles.m + std::min(G + 1, M)) * blocksFor(N, tiles.n);
  plan.steps = {finish(writer, call, tiles, {blocks, 1, 1}, true)};
  return plan;
}

Plan planDepth(const Call &call) {
  check(call);
  int64_t M = call.extent("M"), N = call.extent("N"), K = call.extent("K"), G = call.extent("G");
  Plan plan;
  plan.results = {{"c", {call.type("dtype"), {G, M, N}}}};
  plan.operations = 2 * M * N * K;
  if (G * M * N == 0)
    return plan;
  Tiles tiles = tilesOf(call, M);
  StepWriter writer = writerOf(call, 0);
  plan.steps = {finish(writer, call, tiles, {blocksFor(N, tiles.n), blocksFor(M, tiles.m), G}, false)};
  return plan;
}

/// The factor that a stored scale stands for.
double factorOf(const Call &call, double scale) {
  return call.is("scales", "forward") ? double(float(1 / scale)) : scale;
}

void referenceRows(const Call &call, HostArrays &arrays) {
  const HostArray &left = arrays.at("left"), &right = arrays.at("right");
  std::vector<int64_t> ends = offsetsOf(arrays, call.extent("M"), true);
  for (int64_t g = 0, m = 0; g < call.extent("G"); ++g)
    for (; m < ends[size_t(g)]; ++m)
      for (int64_t n = 0; n < call.extent("N"); ++n) {
        double sum = 0;
        for (int64_t k = 0; k < call.extent("K"); ++k)
          sum += left.get({m, k}) * right.get({g, n, k});
        arrays.at("c").set({m, n}, sum * factorOf(call, arrays.at("left_scales").get({m})) *
                                       factorOf(call, arrays.at("right_scales").get({g, n})));
      }
}

void referenceDepth(const Call &call, HostArrays &arrays) {
  const HostArray &left = arrays.at("left"), &right = arrays.at("right");
  std::vector<int64_t> ends = offsetsOf(arrays, call.extent("K"), true);
  for (int64_t g = 0, first = 0; g < call.extent("G"); first = ends[size_t(g++)])
    for (int64_t m = 0; m < call.extent("M") && first < ends[size_t(g)]; ++m)
      for (int64_t n = 0; n < call.extent("N"); ++n) {
        double sum = 0;
        for (int64_t k = first; k < ends[size_t(g)]; ++k)
          sum += left.get({m, k}) * right.get({n, k});
        arrays.at("c").set({g, m, n}, sum * factorOf(call, arrays.at("left_scales").get({g, m})) *
                                          factorOf(call, arrays.at("right_scales").get({g, n})));
      }
}

const std::vector<ElementType> fp8Types = {ElementType::F8E4M3FN, ElementType::F8E4M3FNUZ, ElementType::F8E5M2,
                                           ElementType::F8E5M2FNUZ};
const std::vector<Option> options = {
    {"dtype", {"bf16", "f16", "f32"}, "bf16", "of the result"},
    {"scales",
     {"reciprocal", "forward"},
     "reciprocal",
     "reciprocal: sums are multiplied by them; forward: divided, as the library's quantisation stores them"},
    {"sums",
     {"f32", "fast"},
     "f32",
     "fast: in as many bits as matrix instructions have, which on sm_90 are fewer than those of f32"},
    {"check", {"true", "false"}, "false", "a launch fails where offs decreases or passes the end"}};
const std::vector<TileParameter> tileParameters = {
    {"block_m", BlocksOfM::list(), "rows of a block of the result"},
    {"block_n", BlocksOfN::list(), "columns of a block of the result"},
    {"block_k", BlocksOfK::list(), "of the sum, in an iteration"},
    {"warps", {4, 8}, "warps of a block"},
    {"stages", {2, 3, 4}, "iterations whose tiles are in shared memory"}};
const char *const endsInside = ": ascending, the last one at most the extent of the axis; a group may be empty";

} // namespace

const LibraryKernel fp8GroupedMatmul2d3d = {
    .name = "fp8_grouped_matmul_2d_3d",
    .sentence = "multiplies groups of FP8 rows, each with weights of its own",
    .contract =
        "c[m, n] = left_scales[m] * right_scales[g, n] * sum over k of left[m, k] * right[g, n, k], where "
        "group g has the "
        "rows from offs[g - 1], or 0, up to offs[g]; 0 in rows after the last group. Sums are f32, or as `sums` says",
    .inputs = {{"left", {"M", "K"}, fp8Types, "activations, of any strides; contiguous along K is fast"},
               {"right", {"G", "N", "K"}, fp8Types, "weights, transposed, of the type of left and of any strides"},
               {"left_scales", {"M"}, {ElementType::F32}, "one for each row, dense"},
               {"right_scales", {"G", "N"}, {ElementType::F32}, "one for each column of each group, dense"},
               {"offs",
                {"G"},
                {ElementType::I32, ElementType::I64},
                std::string("where each group ends, dense") + endsInside}},
    .results = {{"c", "[M, N]", "rows of all groups"}},
    .options = options,
    .tiles = tileParameters,
    .forms = {{"c", "option dtype", {{"M"}, {"N"}}}},
    .plan = planRows,
    .reference = referenceRows,
    .contents = makeOffsetsOfM,
    .checkContents = [](const Call &call, const HostArrays &arrays) { offsetsOf(arrays, call.extent("M"), true); },
    .tolerance = 0.01,
    .tuning = {.counts = {"M"}, .example = {{"M", 256}, {"N", 128}, {"K", 256}, {"G", 4}}},
};

const LibraryKernel fp8GroupedMatmul2d2d = {
    .name = "fp8_grouped_matmul_2d_2d",
    .sentence = "multiplies FP8 matrices whose summed axis is in groups, each with a result of its own",
    .contract = "c[g, m, n] = left_scales[g, m] * right_scales[g, n] * sum over the k of group g of left[m, k] * "
                "right[n, k], where "
                "group g has those from offs[g - 1], or 0, up to offs[g]; 0 for an empty group. Sums are f32, or as "
                "`sums` says",
    .inputs = {{"left", {"M", "K"}, fp8Types, "of any strides; contiguous along K is fast"},
               {"right", {"N", "K"}, fp8Types, "transposed, of the type of left and of any strides"},
               {"left_scales", {"G", "M"}, {ElementType::F32}, "one for each row and group, dense"},
               {"right_scales", {"G", "N"}, {ElementType::F32}, "one for each column and group, dense"},
               {"offs",
                {"G"},
                {ElementType::I32, ElementType::I64},
                std::string("where each group ends, dense") + endsInside}},
    .results = {{"c", "[G, M, N]", "the result of each group"}},
    .options = options,
    .tiles = tileParameters,
    .forms = {{"c", "option dtype", {{"G"}, {"M"}, {"N"}}}},
    .plan = planDepth,
    .reference = referenceDepth,
    .contents = makeOffsetsOfK,
    .checkContents = [](const Call &call, const HostArrays &arrays) { offsetsOf(arrays, call.extent("K"), true); },
    .tolerance = 0.01,
    .tuning = {.counts = {"K"}, .example = {{"M", 128}, {"N", 128}, {"K", 256}, {"G", 4}}},
};

} // namespace heddle::kernels
