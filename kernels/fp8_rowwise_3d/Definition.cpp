// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expert weights, transposed, with one scale for each row of the transposed operand: what the backward pass of a
// grouped FP8 matmul multiplies. The amax runs along the axis that is strided in memory.
#include "kernels/Kernels.h"
#include "kernels/SharedStrip.h"
#include "kernels/fp8_rows/Rows.h"

using namespace heddle::build;

namespace heddle::kernels {
namespace {

using BlocksOfK = Choices<16, 32, 64, 128>;
using BlocksOfN = Choices<32, 64, 128>;
using SharedBlocksOfK = Choices<16, 32, 64, 128>; // of method `cooperative`
using SharedBlocksOfN = Choices<128, 256, 512, 1024>;

/// One block's view: a tile is [n, k], the order in which contiguous weights lie in memory.
template <int64_t bn, int64_t bk>
struct Tiles {
  const StepWriter &writer;
  const TypedArguments &values;
  const Quantise &how;

  Scalar<i32> K = values.scalar<i32>("K"), N = values.scalar<i32>("N");
  Stride expertStride = writer.strideOf(values, "x_expert"), kStride = writer.strideOf(values, "x_k"),
         nStride = writer.strideOf(values, "x_n");

  auto nOf(const Scalar<i32> &block) const { return block * int(bn) + range<bn>(); }
  auto kOf(const Scalar<i32> &block) const { return block * int(bk) + range<bk>(); }

  template <class E>
  Tile<E, bn, bk> load(const Scalar<i32> &e, const Tile<i32, bn> &n, const Tile<i32, bk> &k) const {
    auto rows = advance(advance(values.pointer("x").as<E>(), e, expertStride), column(n), nStride);
    return build::load(advance(rows, row(k), kStride), column(n < N) && row(k < K), 0);
  }

  Tile<f32, bn, bk> read(const Scalar<i32> &e, const Tile<i32, bn> &n, const Tile<i32, bk> &k) const {
    auto address = [&](auto pointer) {
      auto rows = advance(advance(pointer, e, expertStride), column(n), nStride);
      return advance(rows, row(k), kStride);
    };
    return loadNumbers<bn, bk>(values.pointer("x"), address, column(n < N) && row(k < K));
  }

  void write(const Scalar<i32> &e, const Tile<i32, bn> &n, const Tile<i32, bk> &k, const Tile<f32, bn, bk> &numbers,
             const Tile<f32, bk> &scale) const {
    storeQuantised(values.pointer("q"), numbers * row(scale), how, [&](auto pointer, auto converted) {
      auto start = (cast<i64>(e) * cast<i64>(K) + cast<i64>(k)) * cast<i64>(N);
      store(pointer + column(start) + row(n), trans(converted), column(k < K) && row(n < N));
    });
  }

  /// Of the scales and the largest magnitudes, [E, K].
  Tile<i64, bk> scaleIndex(const Scalar<i32> &e, const Tile<i32, bk> &k) const {
    return cast<i64>(e) * cast<i64>(K) + cast<i64>(k);
  }
  void storeScale(const Scalar<i32> &e, const Tile<i32, bk> &k, const Tile<f32, bk> &scale,
                  const Scalar<i1> &isFirst) const {
    store(values.pointer("scales").as<f32>() + scaleIndex(e, k), scale, k < K && isFirst);
  }
};

/// A tile by its expert and the numbers of its blocks.
struct Place {
  Scalar<i32> e, k, n;
};

template <int64_t bn, int64_t bk>
void castTile(const Tiles<bn, bk> &tiles, const Place &place, const Tile<i32, bk> &amaxBits) {
  auto k = tiles.kOf(place.k);
  auto n = tiles.nOf(place.n);
  auto scale = scaleOf(amaxBits, tiles.how);
  tiles.storeScale(place.e, k, scale, place.n == 0);
  tiles.write(place.e, n, k, tiles.read(place.e, n, k), scale);
}

/// Method `atomic`, first launch: a block has several tiles of its rows, so that it exchanges maxima among its warps,
/// and with other blocks, once for all of them.
constexpr int tilesOfBlock = 4;
template <int64_t bn, int64_t bk>
void collectAmax(const Tiles<bn, bk> &tiles) {
  auto e = programId(2);
  auto k = tiles.kOf(programId(0));
  auto largest = forRange(0, tilesOfBlock, 1, zeros<i32, bn, bk>(), [&](Scalar<i32> tile, auto largest) {
    auto n = tiles.nOf(programId(1) * tilesOfBlock + tile);
    return maximum(largest, magnitudeBits(tiles.read(e, n, k), tiles.how));
  });
  auto target = tiles.values.pointer("amax").template as<i32>();
  atomicMax(target + tiles.scaleIndex(e, k), max(largest, axis<0>()), k < tiles.K, Order::Relaxed);
}

/// Second launch: in reverse order, so that it begins with what the first one left in the cache.
template <int64_t bn, int64_t bk>
void castTiles(const Tiles<bn, bk> &tiles) {
  Place place{programCount(2) - 1 - programId(2), programCount(0) - 1 - programId(0),
              programCount(1) - 1 - programId(1)};
  auto k = tiles.kOf(place.k);
  auto amax = tiles.values.pointer("amax").template as<i32>() + tiles.scaleIndex(place.e, k);
  castTile(tiles, place, load(amax, k < tiles.K, 0));
}

/// Method `cooperative`: the blocks of a strip keep their tiles in registers, and wait for each other's amax. One that
/// waits for too long finds it by itself, a few rows at a time beside its tile.
template <int64_t bn, int64_t bk>
void shareStrips(const Tiles<bn, bk> &tiles) {
  constexpr int64_t few = 32;
  auto tilesOfStrip = ceilDivide(tiles.N, int(bn)), stripsOfExpert = ceilDivide(tiles.K, int(bk));
  auto number = programId() / tilesOfStrip;
  Place place{number / stripsOfExpert, number % stripsOfExpert, programId() % tilesOfStrip};
  auto n = tiles.nOf(place.n);
  auto k = tiles.kOf(place.k);
  withNumber(tiles.values.pointer("x").type, [&]<class E>() {
    auto held = tiles.template load<E>(place.e, n, k);
    auto words = tiles.values.pointer("amax").template as<i32>();
    auto counters = words + cast<i64>(tiles.values.template scalar<i32>("E")) * cast<i64>(tiles.K);
    SharedStrip<bk> strip{words, tiles.scaleIndex(place.e, k), k < tiles.K, counters + number};
    strip.collect(largestAlong<0>(held, tiles.how));
    auto largest = strip.wait(tilesOfStrip, [&] {
      Tiles<few, bk> parts{tiles.writer, tiles.values, tiles.how};
      auto each =
          forRange(0, ceilDivide(tiles.N, int(few)), 1, zeros<i32, few, bk>(), [&](Scalar<i32> part, auto largest) {
            return maximum(largest, magnitudeBits(parts.read(place.e, parts.nOf(part), k), tiles.how));
          });
      return max(each, axis<0>());
    });
    auto scale = scaleOf(largest, tiles.how);
    tiles.storeScale(place.e, k, scale, place.n == 0);
    tiles.write(place.e, n, k, cast<f32>(held), scale);
  });
}

/// Method `reduction`: a block has all of N for its rows, and reads it twice.
template <int64_t bn, int64_t bk>
void reduceAndCast(const Tiles<bn, bk> &tiles) {
  auto e = programId(1);
  auto k = tiles.kOf(programId(0));
  auto largest = forRange(0, tiles.N, int(bn), zeros<i32, bn, bk>(), [&](Scalar<i32> first, auto largest) {
    return maximum(largest, magnitudeBits(tiles.read(e, first + range<bn>(), k), tiles.how));
  });
  auto scale = scaleOf(max(largest, axis<0>()), tiles.how);
  tiles.storeScale(e, k, scale, full<i1>(true));
  forRange(0, tiles.N, int(bn), [&](Scalar<i32> first) {
    auto n = first + range<bn>();
    tiles.write(e, n, k, tiles.read(e, n, k), scale);
  });
}

enum class Part { Amax, Cast, Reduction, Cooperative };

Step stepOf(const Call &call, Part part, int64_t bn, int64_t bk, int64_t warps) {
  const ArrayType &x = call.input("x");
  int64_t E = call.extent("E"), K = call.extent("K"), N = call.extent("N");
  Quantise how(call);
  StepWriter writer(part == Part::Amax   ? "fp8_rowwise_3d_amax"
                    : part == Part::Cast ? "fp8_rowwise_3d_cast"
                                         : "fp8_rowwise_3d");
  writer.buffer("x", x.type);
  if (part != Part::Amax) {
    writer.buffer("q", how.type);
    writer.buffer("scales", ElementType::F32);
  }
  if (part != Part::Reduction)
    writer.buffer("amax", ElementType::I32);
  writer.count("K", K);
  writer.count("N", N);
  writer.stride("x_expert", x.stride(0));
  writer.stride("x_k", x.stride(1));
  writer.stride("x_n", x.stride(2));
  std::array<int64_t, 3> grid = {blocksFor(K, bk), blocksFor(N, bn), E};
  if (part == Part::Amax)
    grid[1] = blocksFor(grid[1], tilesOfBlock);
  if (part == Part::Reduction)
    grid = {grid[0], E, 1};
  if (part == Part::Cooperative) {
    writer.count("E", E);
    grid = {grid[0] * E * grid[1], 1, 1};
  }
  if (part == Part::Cooperative)
    return writer.finish(grid, warps, [&](const TypedArguments &values) {
      choose(SharedBlocksOfN(), bn, [&]<int64_t n>() {
        choose(SharedBlocksOfK(), bk, [&]<int64_t k>() { shareStrips(Tiles<n, k>{writer, values, how}); });
      });
    });
  return writer.finish(grid, warps, [&](const TypedArguments &values) {
    choose(BlocksOfN(), bn, [&]<int64_t n>() {
      choose(BlocksOfK(), bk, [&]<int64_t k>() {
        Tiles<n, k> tiles{writer, values, how};
        part == Part::Amax ? collectAmax(tiles) : part == Part::Cast ? castTiles(tiles) : reduceAndCast(tiles);
      });
    });
  });
}

bool hasContiguousRows(const Call &call) {
  return call.input("x").stride(2) == 1 && call.input("x").stride(1) != 1;
}

Plan plan(const Call &call) {
  int64_t E = call.extent("E"), K = call.extent("K"), N = call.extent("N");
  const ArrayType &x = call.input("x");
  Plan plan;
  plan.results = {{"q", {call.type("dtype"), {E, K, N}}}, {"scales", {ElementType::F32, {E, K}}}};
  if (E * K == 0)
    return plan;
  if (hasContiguousRows(call)) { // nothing is transposed
    plan.steps.push_back(rowsStep(call, "fp8_rowwise_3d", {x.type, E, K, N, x.stride(0), x.stride(1), x.stride(2)}));
    return plan;
  }
  if (call.is("method", "reduction")) {
    plan.steps = {
        stepOf(call, Part::Reduction, call.tile("block_n", 64), call.tile("block_k", 32), call.tile("warps", 8))};
    return plan;
  }
  int64_t sharedN = call.tile("shared_n", 512);
  plan.steps.push_back(fillStep("amax", 0));
  if (isCooperative(call, blocksFor(N, sharedN))) {
    int64_t sharedK = call.tile("shared_k", 64);
    plan.temporaries = {{"amax", {ElementType::I32, {sharedWords(E, K, sharedK)}}}};
    plan.steps.push_back(stepOf(call, Part::Cooperative, sharedN, sharedK, call.tile("warps", 4)));
    plan.steps.back().heldWords = wordsOf(x.type, sharedN * sharedK);
    return plan;
  }
  plan.temporaries = {{"amax", {ElementType::I32, {E, K}}}};
  int64_t bn = call.tile("block_n", 128), bk = call.tile("block_k", 128), warps = call.tile("warps", 8);
  if (N > 0)
    plan.steps.push_back(stepOf(call, Part::Amax, bn, bk, warps));
  plan.steps.push_back(stepOf(call, Part::Cast, bn, bk, warps));
  plan.steps.back().grid[1] = std::max<int64_t>(plan.steps.back().grid[1], 1); // scales there are without columns also
  return plan;
}

void reference(const Call &call, HostArrays &arrays) {
  Quantise how(call);
  const HostArray &x = arrays.at("x");
  HostArray &q = arrays.at("q"), &scales = arrays.at("scales");
  for (int64_t e = 0; e < call.extent("E"); ++e)
    for (int64_t k = 0; k < call.extent("K"); ++k)
      scales.set({e, k}, quantiseLine(
                             call.extent("N"), how, [&](int64_t n) { return x.get({e, k, n}); },
                             [&](int64_t n, double value) { q.set({e, k, n}, value); }));
}

/// With contiguous rows the method and the sizes of transposed tiles do not matter.
Tuning tuning() {
  auto isTransposed = [](const Call &call) { return !hasContiguousRows(call); };
  return {.variants = {{{}, {"rows", "block", "warps"}, hasContiguousRows},
                       {{{"method", "atomic"}}, {"block_n", "block_k", "warps"}, isTransposed},
                       {{{"method", "reduction"}}, {"block_n", "block_k", "warps"}, isTransposed},
                       {{{"method", "cooperative"}}, {"shared_n", "shared_k", "warps"}, isTransposed}},
          .counts = {},
          .example = {{"E", 2}, {"K", 256}, {"N", 256}}};
}

std::vector<TileParameter> tiles() {
  std::vector<TileParameter> all = rowsTiles(); // of weights whose rows are contiguous
  all.push_back({"block_n", BlocksOfN::list(), "columns of a tile"});
  all.push_back({"block_k", BlocksOfK::list(), "rows of a tile"});
  all.push_back({"shared_n", SharedBlocksOfN::list(), "cooperative: columns of a block"});
  all.push_back({"shared_k", SharedBlocksOfK::list(), "cooperative: rows of a block"});
  return all;
}

std::vector<Option> options() {
  std::vector<Option> all = quantiseOptions();
  all.push_back(methodOption("atomic", "two launches, amax by relaxed atomics"));
  return all;
}

} // namespace

const LibraryKernel fp8Rowwise3d = {
    .name = "fp8_rowwise_3d",
    .sentence = "quantises expert weights to FP8, transposed, with one scale for each row",
    .contract = "scales[e, k] = MAX / max(amax over n of |x[e, k, n]|, 1e-12); q[e, k, n] = x[e, k, n] * scales[e, k]",
    .inputs = {{"x",
                {"E", "K", "N"},
                numberTypes,
                "the weights, of any strides; contiguous along K or N is fast",
                {0, 2, 1}}},
    .results = {{"q", "[E, K, N]", "values; seen as [E, N, K] they are contiguous along N, as a matmul wants them"},
                {"scales", "[E, K]", "forward scales, f32"}},
    .options = options(),
    .tiles = tiles(),
    .forms = {{"q", "option dtype", {{"E"}, {"K"}, {"N"}}}, {"scales", "f32", {{"E"}, {"K"}}}},
    .plan = plan,
    .reference = reference,
    .tuning = tuning(),
};

} // namespace heddle::kernels
