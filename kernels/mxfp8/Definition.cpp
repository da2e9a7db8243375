// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MXFP8 of the OCP microscaling specification: 32 elements share a scale that is a power of two, stored as its biased
// exponent (e8m0). Along a row the values keep their place; along a column they are transposed, so that blocks are
// contiguous again.
#include "kernels/Kernels.h"
#include "kernels/Quantise.h"
#include "support/Error.h"
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

template <int64_t bm, int64_t bk>
void quantiseTile(const StepWriter &writer, const TypedArguments &values, const Call &call) {
  Quantise how(call);
  bool along = call.is("dim", "0"), roundsUp = call.is("mode", "rceil");
  auto M = values.scalar<i32>("M"), K = values.scalar<i32>("K");
  auto i = programId(1), j = programId(0);
  auto m = i * int(bm) + range<bm>();
  auto k = j * int(bk) + range<bk>();
  auto numbers = loadNumbers<bm, bk>(
      values.pointer("x"),
      [&](auto pointer) {
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
  auto exponent = exponentOf(max(reshape<bm / shared, shared, bk>(bits), axis<1>()), how, roundsUp); // [blocks, k]
  auto block = i * int(bm / shared) + range<bm / shared>();
  auto blocks = M / int(shared);
  store(scales + row(cast<i64>(k) * cast<i64>(blocks)) + column(block), cast<u8>(exponent),
        row(k < K) && column(block < blocks));
  auto scale = reshape<bm, bk>(broadcast<bm / shared, shared, bk>(expandDims<1>(reciprocalOf(exponent))));
  storeQuantised(values.pointer("q"), numbers * scale, how, [&](auto pointer, auto converted) {
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
      choose(BlocksOfK(), bk, [&]<int64_t k>() { quantiseTile<m, k>(writer, values, call); });
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

void referenceQuantise(const Call &call, HostArrays &arrays) {
  Quantise how(call);
  const HostArray &x = arrays.at("x");
  bool along = call.is("dim", "0"), roundsUp = call.is("mode", "rceil");
  int64_t lines = call.extent(along ? "M" : "K"), length = call.extent(along ? "K" : "M");
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t block = 0; block < length / shared; ++block) {
      auto at = [&](int64_t i) {
        return along ? x.get({line, block * shared + i}) : x.get({block * shared + i, line});
      };
      double amax = 0;
      for (int64_t i = 0; i < shared; ++i)
        amax = amaxWith(amax, at(i), true);
      int64_t exponent = referenceExponent(amax, how, roundsUp);
      arrays.at("scales").set({line, block}, double(exponent));
      for (int64_t i = 0; i < shared; ++i) {
        double value = exponent == notANumber ? NAN : std::ldexp(at(i), int(127 - exponent));
        arrays.at("q").set({line, block * shared + i},
                           std::isnan(value) ? value : std::min(std::max(value, -how.most), how.most));
      }
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
  auto bits = select(exponent == 0, 0x400000, exponent << 23); // 2^(exponent - 127)
  auto scale = bitcast<f32>(select(exponent == notANumber, 0x7fc00000, bits));
  auto wide = reshape<bm, bk>(broadcast<bm, bk / shared, shared>(expandDims<2>(scale)));
  auto at = column(cast<i64>(m) * cast<i64>(K)) + row(cast<i64>(k));
  withType<f8E4M3FN, f8E5M2>(values.pointer("q").type, [&]<class Q>() {
    auto numbers = cast<f32>(load(values.pointer("q").as<Q>() + at, inside)) * wide;
    withNumber(values.pointer("x").type,
               [&]<class E>() { store(values.pointer("x").as<E>() + at, cast<E>(numbers), inside); });
  });
}

Plan planDequantise(const Call &call) {
  int64_t M = call.extent("M"), K = call.extent("K"), blocks = call.extent("K/32");
  if (blocks * shared != K)
    throw inputError(fmt::format("kernel `{}`: K = {}, and `scales` has {} columns: there is one for {} elements",
                                 call.kernel, K, blocks, shared));
  for (const char *name : {"q", "scales"})
    requireDense(call, name);
  ElementType type = call.type("dtype");
  Plan plan;
  plan.results = {{"x", {type, {M, K}}}};
  if (M * K == 0)
    return plan;
  int64_t bm = call.tile("block_m", 32), bk = call.tile("block_k", 256);
  StepWriter writer("mxfp8_dequantise");
  writer.buffer("q", call.input("q").type);
  writer.buffer("scales", ElementType::UI8);
  writer.buffer("x", type);
  writer.count("M", M);
  writer.count("K", K);
  plan.steps.push_back(
      writer.finish({blocksFor(K, bk), blocksFor(M, bm), 1}, call.tile("warps", 4), [&](const TypedArguments &values) {
        choose(BlocksOfM(), bm,
               [&]<int64_t m>() { choose(BlocksOfK(), bk, [&]<int64_t k>() { dequantiseTile<m, k>(values); }); });
      }));
  return plan;
}

void referenceDequantise(const Call &call, HostArrays &arrays) {
  for (int64_t m = 0; m < call.extent("M"); ++m)
    for (int64_t k = 0; k < call.extent("K"); ++k) {
      int exponent = int(arrays.at("scales").get({m, k / shared}));
      double value = std::ldexp(arrays.at("q").get({m, k}), exponent - 127);
      arrays.at("x").set({m, k}, exponent == notANumber ? NAN : double(float(value)));
    }
}

std::vector<Option> quantiseChoices() {
  std::vector<Option> all = formats();
  all.push_back({"dim", {"0", "1"}, "0", "0: blocks along K; 1: blocks along M, and transposed results"});
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
    .options = quantiseChoices(),
    .tiles = tiles,
    .forms = {{"q", "option dtype", {{"M"}, {"K"}}, "dim", {"0"}},
              {"q", "option dtype", {{"K"}, {"M"}}, "dim", {"1"}},
              {"scales", "ui8", {{"M"}, {"K", 1, shared}}, "dim", {"0"}},
              {"scales", "ui8", {{"K"}, {"M", 1, shared}}, "dim", {"1"}}},
    .plan = planQuantise,
    .reference = referenceQuantise,
    .tuning = {.counts = {"M"}, .example = {{"M", 256}, {"K", 256}}},
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
    .plan = planDequantise,
    .reference = referenceDequantise,
    .tuning = {.counts = {"M"}, .example = {{"M", 256}, {"K", 256}, {"K/32", 8}}},
};

} // namespace heddle::kernels
