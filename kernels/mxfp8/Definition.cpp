// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MXFP8 of the OCP microscaling specification: 32 elements share a scale that is a power of two, stored as its biased
// exponent (e8m0). Along a row the values keep their place; along a column they are transposed, so that blocks are
// contiguous again.
#include "kernels/Kernels.h"
#include "kernels/Quantise.h"
#include "support/Error.h"
#include <array>
#include <cmath>
#include <fmt/format.h>

using namespace heddle::build;

namespace heddle::kernels {
namespace {

constexpr int64_t shared = 32; ///< elements of a scale
constexpr int32_t notANumber = 255;
using BlocksOfM = Choices<32, 64, 128>;
using BlocksOfK = Choices<32, 64, 128, 256>;

/// The stored exponent of blocks whose largest magnitudes are given as bits.
template <int64_t... sizes>
Tile<i32, sizes...> exponentOf(const Tile<i32, sizes...> &amaxBits, const Quantise &how, bool roundsUp) {
  auto isFinite = amaxBits < infinityBits;
  if (!roundsUp) {
    int exponentOfMost = how.type == ElementType::F8E4M3FN ? 8 : 15;
    return select(isFinite, maximum((amaxBits >> 23) - exponentOfMost, 0), notANumber);
  }
  auto quotient = bitcast<i32>(Tile<f32, sizes...>(preciseDivide(bitcast<f32>(amaxBits), full<f32>(how.most))));
  // Up to the next power of two; below the smallest normal number the halves are 2^-127, whose exponent is 0.
  auto up = (quotient >> 23) + select((quotient & 0x7fffff) != 0, full<i32, sizes...>(1), 0);
  return select(isFinite, select(quotient <= 0x400000, 0, up), notANumber);
}

/// 2^(127 - exponent), NaN for 255.
template <int64_t... sizes>
Tile<f32, sizes...> reciprocalOf(const Tile<i32, sizes...> &exponent) {
  auto bits = select(exponent == 254, 0x400000, (254 - exponent) << 23);
  return bitcast<f32>(select(exponent == notANumber, 0x7fc00000, bits));
}

/// 2^(exponent - 127), NaN for 255.
template <int64_t... sizes>
Tile<f32, sizes...> powerOf(const Tile<i32, sizes...> &exponent) {
  auto bits = select(exponent == 0, 0x400000, exponent << 23);
  return bitcast<f32>(select(exponent == notANumber, 0x7fc00000, bits));
}

/// A pointer moved to the matrix of an expert, of which each has `size` elements.
template <class P>
P matrixOf(const P &pointer, const std::optional<Scalar<i32>> &expert, const Scalar<i64> &size) {
  return pointer + cast<i64>(*expert) * size;
}

/// Of the matrix `expert`, where there are several: then along columns.
template <int64_t bm, int64_t bk>
void quantiseTile(const StepWriter &writer, const TypedArguments &values, const Call &call, bool along,
                  const std::optional<Scalar<i32>> &expert = std::nullopt) {
  Quantise how(call);
  bool roundsUp = call.is("mode", "rceil"), square = expert && call.is("block", "32x32");
  auto M = values.scalar<i32>("M"), K = values.scalar<i32>("K");
  auto i = programId(1), j = programId(0);
  auto m = i * int(bm) + range<bm>();
  auto k = j * int(bk) + range<bk>();
  auto numbers = loadNumbers<bm, bk>(
      values.pointer("x"),
      [&](auto pointer) {
        if (expert)
          pointer = matrixOf(pointer, expert, values.scalar<i64>("x_e"));
        return advance(advance(pointer, column(m), writer.strideOf(values, "x_m")), row(k),
                       writer.strideOf(values, "x_k"));
      },
      column(m < M) && row(k < K));
  auto bits = bitcast<i32>(numbers) & 0x7fffffff;
  auto scales = values.pointer("scales").as<u8>();
  if (along) {
    auto exponent = exponentOf(max(reshape<bm, bk / shared, shared>(bits), axis<2>()), how, roundsUp);
    auto block = j * int(bk / shared) + range<bk / shared>();
    auto blocks = K / int(shared);
    store(scales + column(cast<i64>(m) * cast<i64>(blocks)) + row(block), cast<u8>(exponent),
          column(m < M) && row(block < blocks));
    auto scale = reshape<bm, bk>(broadcast<bm, bk / shared, shared>(expandDims<2>(reciprocalOf(exponent))));
    storeQuantised(values.pointer("q"), numbers * scale, how, [&](auto pointer, auto converted) {
      store(pointer + column(cast<i64>(m) * cast<i64>(K)) + row(k), converted, column(m < M) && row(k < K));
    });
    return;
  }
  std::optional<Tile<f32, bm, bk>> scale;
  if (square) {
    auto block = i * int(bm / shared) + range<bm / shared>();
    auto blocks = M / int(shared);
    auto wide = j * int(bk / shared) + range<bk / shared>();
    auto count = K / int(shared);
    auto largest = max(max(reshape<bm / shared, shared, bk / shared, shared>(bits), axis<3>()), axis<1>());
    auto exponent = exponentOf(largest, how, roundsUp); // [blocks along M, blocks along K]
    auto own = matrixOf(scales, expert, cast<i64>(count) * cast<i64>(blocks));
    store(own + row(cast<i64>(wide) * cast<i64>(blocks)) + column(block), cast<u8>(exponent),
          row(wide < count) && column(block < blocks));
    scale = reshape<bm, bk>(
        broadcast<bm / shared, shared, bk / shared, shared>(expandDims<1>(expandDims<2>(reciprocalOf(exponent)))));
  } else {
    auto exponent = exponentOf(max(reshape<bm / shared, shared, bk>(bits), axis<1>()), how, roundsUp); // [blocks, k]
    auto block = i * int(bm / shared) + range<bm / shared>();
    auto blocks = M / int(shared);
    if (expert)
      scales = matrixOf(scales, expert, cast<i64>(K) * cast<i64>(blocks));
    store(scales + row(cast<i64>(k) * cast<i64>(blocks)) + column(block), cast<u8>(exponent),
          row(k < K) && column(block < blocks));
    scale = reshape<bm, bk>(broadcast<bm / shared, shared, bk>(expandDims<1>(reciprocalOf(exponent))));
  }
  storeQuantised(values.pointer("q"), numbers * *scale, how, [&](auto pointer, auto converted) {
    if (expert)
      pointer = matrixOf(pointer, expert, cast<i64>(K) * cast<i64>(M));
    store(pointer + column(cast<i64>(k) * cast<i64>(M)) + row(m), trans(converted), column(k < K) && row(m < M));
  });
}

void requireMultiple(const Call &call, const std::string &axis) {
  if (call.extent(axis) % shared)
    throw inputError(fmt::format("kernel `{}`: {} = {}, and must be a multiple of {}, the elements of a scale",
                                 call.kernel, axis, call.extent(axis), shared),
                     {"pad the array with zeros"});
}

std::vector<Option> formats() {
  return {{"dtype", {"f8E4M3FN", "f8E5M2"}, "f8E4M3FN", "format of the values"}};
}

Plan planQuantise(const Call &call) {
  int64_t M = call.extent("M"), K = call.extent("K");
  const ArrayType &x = call.input("x");
  ElementType type = call.type("dtype");
  bool along = call.is("dim", "0");
  requireMultiple(call, along ? "K" : "M");
  Plan plan;
  if (along)
    plan.results = {{"q", {type, {M, K}}}, {"scales", {ElementType::UI8, {M, K / shared}}}};
  else
    plan.results = {{"q", {type, {K, M}}}, {"scales", {ElementType::UI8, {K, M / shared}}}};
  if (M * K == 0)
    return plan;
  int64_t bm = call.tile("block_m", 32), bk = call.tile("block_k", along ? 256 : 64);
  int64_t warps = call.tile("warps", along ? 4 : call.chip->threadsPerWarp == 64 ? 1 : 2);
  StepWriter writer("mxfp8_quantise");
  writer.buffer("x", x.type);
  writer.buffer("q", type);
  writer.buffer("scales", ElementType::UI8);
  writer.count("M", M);
  writer.count("K", K);
  writer.stride("x_m", x.stride(0));
  writer.stride("x_k", x.stride(1));
  plan.steps.push_back(writer.finish({blocksFor(K, bk), blocksFor(M, bm), 1}, warps, [&](const TypedArguments &values) {
    choose(BlocksOfM(), bm, [&]<int64_t m>() {
      choose(BlocksOfK(), bk, [&]<int64_t k>() { quantiseTile<m, k>(writer, values, call, along); });
    });
  }));
  return plan;
}

Plan planQuantise3d(const Call &call) {
  int64_t E = call.extent("E"), M = call.extent("M"), K = call.extent("K");
  const ArrayType &x = call.input("x");
  ElementType type = call.type("dtype");
  bool square = call.is("block", "32x32");
  requireMultiple(call, "M");
  if (square)
    requireMultiple(call, "K");
  Plan plan;
  plan.results = {{"q", {type, {E, K, M}}}, {"scales", {ElementType::UI8, {E, square ? K / shared : K, M / shared}}}};
  if (E * M * K == 0)
    return plan;
  int64_t bm = call.tile("block_m", 32), bk = call.tile("block_k", 64);
  StepWriter writer("mxfp8_quantise_3d");
  writer.buffer("x", x.type);
  writer.buffer("q", type);
  writer.buffer("scales", ElementType::UI8);
  writer.count("M", M);
  writer.count("K", K);
  writer.wide("x_e", x.stride(0));
  writer.stride("x_m", x.stride(1));
  writer.stride("x_k", x.stride(2));
  plan.steps.push_back(writer.finish(
      {blocksFor(K, bk), blocksFor(M, bm), E}, call.tile("warps", call.chip->threadsPerWarp == 64 ? 1 : 2),
      [&](const TypedArguments &values) {
        choose(BlocksOfM(), bm, [&]<int64_t m>() {
          choose(BlocksOfK(), bk, [&]<int64_t k>() { quantiseTile<m, k>(writer, values, call, false, programId(2)); });
        });
      }));
  return plan;
}

/// The exponent by f64, where every f32 is exact.
int64_t referenceExponent(double amax, const Quantise &how, bool roundsUp) {
  if (!std::isfinite(amax))
    return notANumber;
  if (amax == 0)
    return 0;
  int exponent = 0;
  double fraction = std::frexp(roundsUp ? double(float(amax / how.most)) : amax, &exponent); // in [0.5, 1)
  if (roundsUp)
    exponent = fraction == 0 ? -127 : fraction == 0.5 ? exponent - 1 : exponent;
  else
    exponent = exponent - 1 - (how.type == ElementType::F8E4M3FN ? 8 : 15);
  return std::max(exponent + 127, 0);
}

/// Quantises a block, the numbers `at(i)`, to `put(i, value)`. Returns its stored exponent.
template <class At, class Put>
int64_t referenceBlock(const Call &call, int64_t count, At at, Put put) {
  Quantise how(call);
  double amax = 0;
  for (int64_t i = 0; i < count; ++i)
    amax = amaxWith(amax, at(i), true);
  int64_t exponent = referenceExponent(amax, how, call.is("mode", "rceil"));
  for (int64_t i = 0; i < count; ++i) {
    double value = exponent == notANumber ? NAN : std::ldexp(at(i), int(127 - exponent));
    put(i, std::isnan(value) ? value : std::min(std::max(value, -how.most), how.most));
  }
  return exponent;
}

void referenceQuantise(const Call &call, HostArrays &arrays) {
  const HostArray &x = arrays.at("x");
  HostArray &q = arrays.at("q");
  bool along = call.is("dim", "0");
  int64_t lines = call.extent(along ? "M" : "K"), length = call.extent(along ? "K" : "M");
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t block = 0; block < length / shared; ++block) {
      auto at = [&](int64_t i) {
        return along ? x.get({line, block * shared + i}) : x.get({block * shared + i, line});
      };
      auto put = [&](int64_t i, double value) { q.set({line, block * shared + i}, value); };
      arrays.at("scales").set({line, block}, double(referenceBlock(call, shared, at, put)));
    }
}

void referenceQuantise3d(const Call &call, HostArrays &arrays) {
  const HostArray &x = arrays.at("x");
  HostArray &q = arrays.at("q");
  const int64_t width = call.is("block", "32x32") ? shared : 1; // columns of a block
  for (int64_t e = 0; e < call.extent("E"); ++e)
    for (int64_t column = 0; column < call.extent("K") / width; ++column)
      for (int64_t block = 0; block < call.extent("M") / shared; ++block) {
        auto m = [&](int64_t i) { return block * shared + i % shared; };
        auto k = [&](int64_t i) { return column * width + i / shared; };
        auto at = [&](int64_t i) { return x.get({e, m(i), k(i)}); };
        auto put = [&](int64_t i, double value) { q.set({e, k(i), m(i)}, value); };
        arrays.at("scales").set({e, column, block}, double(referenceBlock(call, shared * width, at, put)));
      }
}

template <int64_t bm, int64_t bk>
void dequantiseTile(const TypedArguments &values) {
  auto M = values.scalar<i32>("M"), K = values.scalar<i32>("K");
  auto m = programId(1) * int(bm) + range<bm>();
  auto k = programId(0) * int(bk) + range<bk>();
  auto inside = column(m < M) && row(k < K);
  auto block = programId(0) * int(bk / shared) + range<bk / shared>();
  auto blocks = K / int(shared);
  auto exponent =
      cast<i32>(load(values.pointer("scales").as<u8>() + column(cast<i64>(m) * cast<i64>(blocks)) + row(block),
                     column(m < M) && row(block < blocks), 0));
  auto wide = reshape<bm, bk>(broadcast<bm, bk / shared, shared>(expandDims<2>(powerOf(exponent))));
  auto at = column(cast<i64>(m) * cast<i64>(K)) + row(cast<i64>(k));
  withType<f8E4M3FN, f8E5M2>(values.pointer("q").type, [&]<class Q>() {
    auto numbers = cast<f32>(load(values.pointer("q").as<Q>() + at, inside)) * wide;
    withNumber(values.pointer("x").type,
               [&]<class E>() { store(values.pointer("x").as<E>() + at, cast<E>(numbers), inside); });
  });
}

/// A tile is [k, m], as the values lie; the numbers are transposed.
template <int64_t bm, int64_t bk>
void dequantiseTile3d(const TypedArguments &values) {
  auto M = values.scalar<i32>("M"), K = values.scalar<i32>("K");
  auto m = programId(0) * int(bm) + range<bm>();
  auto k = programId(1) * int(bk) + range<bk>();
  auto matrix = cast<i64>(programId(2)) * cast<i64>(K);
  auto inside = column(k < K) && row(m < M);
  auto block = programId(0) * int(bm / shared) + range<bm / shared>();
  auto blocks = M / int(shared);
  auto lines = column(cast<i64>(k) + matrix);
  auto exponent = cast<i32>(load(values.pointer("scales").as<u8>() + lines * cast<i64>(blocks) + row(block),
                                 column(k < K) && row(block < blocks), 0));
  auto wide = reshape<bk, bm>(broadcast<bk, bm / shared, shared>(expandDims<2>(powerOf(exponent))));
  withType<f8E4M3FN, f8E5M2>(values.pointer("q").type, [&]<class Q>() {
    auto numbers = cast<f32>(load(values.pointer("q").as<Q>() + lines * cast<i64>(M) + row(m), inside)) * wide;
    withNumber(values.pointer("x").type, [&]<class T>() {
      auto target = values.pointer("x").as<T>() + matrix * cast<i64>(M);
      store(target + column(cast<i64>(m) * cast<i64>(K)) + row(k), trans(cast<T>(numbers)),
            column(m < M) && row(k < K));
    });
  });
}

/// Of a matrix, with scales along K; or of experts, with scales along M and transposed.
template <bool ofExperts>
Plan planDequantise(const Call &call) {
  const std::string axis = ofExperts ? "M" : "K";
  int64_t E = ofExperts ? call.extent("E") : 1, M = call.extent("M"), K = call.extent("K");
  int64_t length = call.extent(axis), blocks = call.extent(axis + "/32");
  if (blocks * shared != length)
    throw inputError(fmt::format("kernel `{}`: {} = {}, and `scales` has {} columns: there is one for {} elements",
                                 call.kernel, axis, length, blocks, shared));
  for (const char *name : {"q", "scales"})
    requireDense(call, name);
  ElementType type = call.type("dtype");
  Plan plan;
  plan.results = {{"x", {type, ofExperts ? std::vector{E, M, K} : std::vector{M, K}}}};
  if (E * M * K == 0)
    return plan;
  int64_t bm = call.tile("block_m", ofExperts ? 64 : 32), bk = call.tile("block_k", ofExperts ? 64 : 256);
  StepWriter writer(call.kernel);
  writer.buffer("q", call.input("q").type);
  writer.buffer("scales", ElementType::UI8);
  writer.buffer("x", type);
  writer.count("M", M);
  writer.count("K", K);
  std::array<int64_t, 3> grid = {blocksFor(K, bk), blocksFor(M, bm), E};
  if (ofExperts)
    std::swap(grid[0], grid[1]); // values lie along M
  plan.steps.push_back(writer.finish(grid, call.tile("warps", 4), [&](const TypedArguments &values) {
    choose(BlocksOfM(), bm, [&]<int64_t m>() {
      choose(BlocksOfK(), bk,
             [&]<int64_t k>() { ofExperts ? dequantiseTile3d<m, k>(values) : dequantiseTile<m, k>(values); });
    });
  }));
  return plan;
}

double referenceNumber(double value, double scale) {
  return scale == notANumber ? NAN : double(float(std::ldexp(value, int(scale) - 127)));
}

void referenceDequantise(const Call &call, HostArrays &arrays) {
  const HostArray &q = arrays.at("q"), &scales = arrays.at("scales");
  for (int64_t m = 0; m < call.extent("M"); ++m)
    for (int64_t k = 0; k < call.extent("K"); ++k)
      arrays.at("x").set({m, k}, referenceNumber(q.get({m, k}), scales.get({m, k / shared})));
}

void referenceDequantise3d(const Call &call, HostArrays &arrays) {
  const HostArray &q = arrays.at("q"), &scales = arrays.at("scales");
  for (int64_t e = 0; e < call.extent("E"); ++e)
    for (int64_t m = 0; m < call.extent("M"); ++m)
      for (int64_t k = 0; k < call.extent("K"); ++k)
        arrays.at("x").set({e, m, k}, referenceNumber(q.get({e, k, m}), scales.get({e, k, m / shared})));
}

std::vector<Option> quantiseChoices(const Option &blocks) {
  std::vector<Option> all = formats();
  all.push_back(blocks);
  all.push_back({"mode",
                 {"floor", "rceil"},
                 "floor",
                 "floor: 2^(floor(log2 amax) - log2 of the format's largest power); rceil: 2^ceil(log2(amax / MAX))"});
  all.push_back({"pow2", {"true"}, "true", "scales are powers of two"});
  all.push_back({"nan", {"propagate"}, "propagate", "NaN or infinity makes its scale 255, and its block NaN"});
  return all;
}

const std::vector<TileParameter> tiles = {{"block_m", BlocksOfM::list(), "rows of a tile"},
                                          {"block_k", BlocksOfK::list(), "columns of a tile"},
                                          {"warps", {1, 2, 4, 8, 16}, "warps of a block"}};

} // namespace

const LibraryKernel mxfp8Quantise = {
    .name = "mxfp8_quantise",
    .sentence = "quantises a matrix to MXFP8 along rows or, transposed, along columns",
    .contract = "scales = biased exponents of powers of two, one for 32 elements; q = x / 2^(scale - 127), saturated",
    .inputs = {{"x", {"M", "K"}, numberTypes, "the matrix, of any strides"}},
    .results = {{"q", "[M, K], of dim 1 [K, M]", "values"},
                {"scales", "[M, K / 32], of dim 1 [K, M / 32]", "e8m0: bytes"}},
    .options =
        quantiseChoices({"dim", {"0", "1"}, "0", "0: blocks along K; 1: blocks along M, and transposed results"}),
    .tiles = tiles,
    .forms = {{"q", "option dtype", {{"M"}, {"K"}}, "dim", {"0"}},
              {"q", "option dtype", {{"K"}, {"M"}}, "dim", {"1"}},
              {"scales", "ui8", {{"M"}, {"K", 1, shared}}, "dim", {"0"}},
              {"scales", "ui8", {{"K"}, {"M", 1, shared}}, "dim", {"1"}}},
    .plan = planQuantise,
    .reference = referenceQuantise,
    .tuning = {.counts = {"M"}, .example = {{"M", 256}, {"K", 256}}},
};

const LibraryKernel mxfp8Quantise3d = {
    .name = "mxfp8_quantise_3d",
    .sentence = "quantises expert weights to MXFP8 along columns, transposed",
    .contract = "scales = biased exponents of powers of two, one for 32 elements along M, or for 32x32; q[e, k, m] = "
                "x[e, m, k] / 2^(scale - 127), saturated",
    .inputs = {{"x", {"E", "M", "K"}, numberTypes, "the weights, of any strides"}},
    .results = {{"q", "[E, K, M]", "values; seen as [E, M, K] each matrix is column-major"},
                {"scales", "[E, K, M / 32], of 32x32 [E, K / 32, M / 32]", "e8m0: bytes"}},
    .options = quantiseChoices({"block", {"32x1", "32x32"}, "32x1", "elements of a scale along M and K"}),
    .tiles = tiles,
    .forms = {{"q", "option dtype", {{"E"}, {"K"}, {"M"}}},
              {"scales", "ui8", {{"E"}, {"K"}, {"M", 1, shared}}, "block", {"32x1"}},
              {"scales", "ui8", {{"E"}, {"K", 1, shared}, {"M", 1, shared}}, "block", {"32x32"}}},
    .plan = planQuantise3d,
    .reference = referenceQuantise3d,
    .tuning = {.variants = {}, .counts = {}, .example = {{"E", 2}, {"M", 128}, {"K", 128}}},
};

const LibraryKernel mxfp8Dequantise3d = {
    .name = "mxfp8_dequantise_3d",
    .sentence = "makes numbers of MXFP8 weights of experts that lie along columns",
    .contract = "x[e, m, k] = q[e, k, m] * 2^(scales[e, k, m / 32] - 127), rounded once; NaN where the scale is 255",
    .inputs = {{"q", {"E", "K", "M"}, {ElementType::F8E4M3FN, ElementType::F8E5M2}, "values, dense"},
               {"scales", {"E", "K", "M/32"}, {ElementType::UI8}, "e8m0: bytes, dense"}},
    .results = {{"x", "[E, M, K]", "numbers, transposed"}},
    .options = {{"dtype", {"bf16", "f16", "f32"}, "bf16", "of the result"}},
    .tiles = tiles,
    .forms = {{"x", "option dtype", {{"E"}, {"M"}, {"K"}}}},
    .plan = planDequantise<true>,
    .reference = referenceDequantise3d,
    .tuning = {.variants = {}, .counts = {}, .example = {{"E", 2}, {"M", 128}, {"K", 128}, {"M/32", 4}}},
};

const LibraryKernel mxfp8Dequantise = {
    .name = "mxfp8_dequantise",
    .sentence = "makes numbers of MXFP8 along rows",
    .contract = "x[m, k] = q[m, k] * 2^(scales[m, k / 32] - 127), rounded once; NaN where the scale is 255",
    .inputs = {{"q", {"M", "K"}, {ElementType::F8E4M3FN, ElementType::F8E5M2}, "values, dense"},
               {"scales", {"M", "K/32"}, {ElementType::UI8}, "e8m0: bytes, dense"}},
    .results = {{"x", "[M, K]", "numbers"}},
    .options = {{"dtype", {"bf16", "f16", "f32"}, "bf16", "of the result"}},
    .tiles = tiles,
    .forms = {{"x", "option dtype", {{"M"}, {"K"}}}},
    .plan = planDequantise<false>,
    .reference = referenceDequantise,
    .tuning = {.counts = {"M"}, .example = {{"M", 256}, {"K", 256}, {"K/32", 8}}},
};

} // namespace heddle::kernels
