// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matmul whose right operand is 4-bit integers with a scale and a zero point for each group of K (HQQ). Two rows of
// the weights share a byte, the even one in its low half, so each tile is two matmuls: even columns of `a` with low
// halves, odd ones with high halves.
#include "kernels/Kernels.h"
#include "kernels/StepWriter.h"
#include "support/Error.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace heddle::build;

namespace heddle::kernels {
namespace {

using BlocksOfM = Choices<16, 64, 128>;
constexpr int64_t bn = 64, bk = 64, half = bk / 2; ///< a tile of weights has `half` bytes along K
constexpr int sumBlock = 1024;

struct Body {
  const StepWriter &writer;
  const TypedArguments &values;
  bool isSigned;

  Scalar<i32> M = values.scalar<i32>("M"), N = values.scalar<i32>("N"), K = values.scalar<i32>("K");
  Scalar<i32> group = values.scalar<i32>("group");

  /// The low (0) or high (1) halves of bytes [pairs of k, n], as numbers of E: (q - zero) * scale, each rounded to E.
  template <class E>
  Tile<E, half, bn> weights(const Tile<i32, half> &pair, const Tile<i32, bn> &n, int which) const {
    auto inside = column(pair < K / 2) && row(n < N);
    auto at = column(cast<i64>(pair) * cast<i64>(N)) + row(cast<i64>(n));
    std::optional<Tile<i32, half, bn>> q;
    withType<i8, u8>(values.pointer("b").type, [&]<class B>() {
      auto bits = cast<i32>(load(values.pointer("b").as<B>() + at, inside, 0)) << (which ? 24 : 28);
      if (isSigned)
        q = bits >> 28;
      else
        q = bitcast<i32>(bitcast<u32>(bits) >> 28);
    });
    auto g = (pair * 2 + which) / group;
    auto parameter = [&](const char *name) {
      return load(values.pointer(name).as<E>() + (column(cast<i64>(g) * cast<i64>(N)) + row(cast<i64>(n))), inside, 0);
    };
    auto number = cast<E>(cast<f32>(*q));
    return (number - parameter("zeros")) * parameter("scales");
  }

  /// The even and odd columns of `a` [m, k].
  template <class E, int64_t bm>
  auto splitColumns(const Tile<i32, bm> &m, const Scalar<i32> &first) const {
    auto k = first + range<bk>();
    auto a = values.pointer("a").as<E>() + column(cast<i64>(m) * cast<i64>(K)) + row(k);
    return split(reshape<bm, half, 2>(load(a, column(m < M) && row(k < K), 0)));
  }
};

/// The first and one past the last tile of this block's part of `tiles`.
std::pair<Scalar<i32>, Scalar<i32>> partOf(const Scalar<i32> &tiles) {
  auto each = ceilDivide(tiles, programCount(2));
  auto first = programId(2) * each;
  return {first, minimum(first + each, tiles)};
}

/// Where the sums of a block go: to the result, by relaxed atomics, or to its own part of `partial`.
enum class Target { Result, Atomic, Partial };

template <class E, int64_t bm, int64_t columns>
void storeSums(const Body &body, Target target, const Tile<i32, bm> &m, const Tile<i32, columns> &n,
               const Scalar<i32> &width, const Tile<f32, bm, columns> &sums) {
  auto inside = column(m < body.M) && row(n < width);
  auto at = column(cast<i64>(m) * cast<i64>(width)) + row(cast<i64>(n));
  if (target == Target::Partial) {
    auto own = cast<i64>(programId(2)) * cast<i64>(body.M) * cast<i64>(width);
    store(body.values.pointer("partial").as<f32>() + (at + own), sums, inside);
    return;
  }
  auto c = body.values.pointer("c").as<E>() + at;
  if (target == Target::Atomic)
    atomicAdd(c, cast<E>(sums), inside, Order::Relaxed);
  else
    store(c, cast<E>(sums), inside);
}

/// c[m, n] = sum over k of a[m, k] * w[k, n].
template <class E, int64_t bm>
void forward(const Body &body, Target target) {
  auto m = programId(1) * int(bm) + range<bm>();
  auto n = programId(0) * int(bn) + range<bn>();
  auto [first, end] = partOf(ceilDivide(body.K, int(bk)));
  auto sums = forRange(first, end, 1, zeros<f32, bm, bn>(), [&](Scalar<i32> tile, auto sums) {
    auto [even, odd] = body.splitColumns<E, bm>(m, tile * int(bk));
    auto pair = tile * int(half) + range<half>();
    sums = dot(even, body.weights<E>(pair, n, 0), sums);
    return dot(odd, body.weights<E>(pair, n, 1), sums);
  });
  storeSums<E>(body, target, m, n, body.N, sums);
}

/// c[m, k] = sum over n of a[m, n] * w[k, n].
template <class E, int64_t bm>
void transposed(const Body &body, Target target) {
  auto m = programId(1) * int(bm) + range<bm>();
  auto pair = programId(0) * int(half) + range<half>();
  auto [first, end] = partOf(ceilDivide(body.N, int(bn)));
  auto none = zeros<f32, bm, half>();
  auto [even, odd] = forRange(first, end, 1, carry(none, none), [&](Scalar<i32> tile, auto even, auto odd) {
    auto n = tile * int(bn) + range<bn>();
    auto at = body.values.pointer("a").as<E>() + column(cast<i64>(m) * cast<i64>(body.N)) + row(n);
    auto a = load(at, column(m < body.M) && row(n < body.N), 0);
    return carry(dot(a, trans(body.weights<E>(pair, n, 0)), even), dot(a, trans(body.weights<E>(pair, n, 1)), odd));
  });
  auto k = programId(0) * int(bk) + range<bk>();
  storeSums<E>(body, target, m, k, body.K, reshape<bm, bk>(join(even, odd)));
}

Step matmulStep(const Call &call, Target target, int64_t splits, bool isTransposed) {
  int64_t M = call.extent("M"), N = call.extent("N"), K = 2 * call.extent("K/2");
  ElementType type = call.input("a").type;
  int64_t bm = call.tile("block_m", M <= 16 ? 16 : M <= 512 ? 64 : 128);
  StepWriter writer("int4_matmul");
  writer.buffer("a", type);
  writer.buffer("b", call.input("b").type);
  writer.buffer("scales", type);
  writer.buffer("zeros", type);
  if (target == Target::Partial)
    writer.buffer("partial", ElementType::F32);
  else
    writer.buffer("c", type);
  writer.count("M", M);
  writer.count("N", N);
  writer.count("K", K);
  writer.count("group", K / call.extent("K/G"));
  return writer.finish({blocksFor(isTransposed ? K : N, isTransposed ? bk : bn), blocksFor(M, bm), splits},
                       call.tile("warps", 4), [&](const TypedArguments &values) {
                         Body body{writer, values, call.input("b").type == ElementType::I8};
                         withType<f16, bf16>(type, [&]<class E>() {
                           choose(BlocksOfM(), bm, [&]<int64_t m>() {
                             isTransposed ? transposed<E, m>(body, target) : forward<E, m>(body, target);
                           });
                         });
                       });
}

/// The parts in order, in f32, with one rounding.
Step sumStep(ElementType type, int64_t elements, int64_t splits) {
  StepWriter writer("int4_matmul_sum");
  writer.buffer("partial", ElementType::F32);
  writer.buffer("c", type);
  writer.wide("count", elements);
  writer.count("parts", splits);
  return writer.finish({blocksFor(elements, sumBlock), 1, 1}, 4, [&](const TypedArguments &values) {
    auto count = values.scalar<i64>("count");
    auto i = cast<i64>(programId()) * sumBlock + cast<i64>(range<sumBlock>());
    auto sums = forRange(0, values.scalar<i32>("parts"), 1, zeros<f32, sumBlock>(), [&](Scalar<i32> part, auto sums) {
      return sums + load(values.pointer("partial").as<f32>() + (i + cast<i64>(part) * count), i < count, 0);
    });
    withType<f16, bf16>(type, [&]<class E>() { store(values.pointer("c").as<E>() + i, cast<E>(sums), i < count); });
  });
}

/// So many parts of the sum that the blocks fill the chip twice, each of some tiles.
int64_t chooseSplits(const Call &call, int64_t blocks, int64_t tiles) {
  int64_t splits = 1;
  while (splits < 16 && blocks * splits < 2 * call.chip->computeUnits && tiles >= 8 * splits)
    splits *= 2;
  return splits;
}

void check(const Call &call, bool isTransposed) {
  int64_t K = 2 * call.extent("K/2"), groups = call.extent("K/G"), N = call.extent("N");
  for (const char *name : {"scales", "zeros"})
    if (call.input(name).type != call.input("a").type)
      throw inputError(fmt::format("kernel `{}`: `a` has elements of {}, and `{}` of {}: they must be the same",
                                   call.kernel, elementTypeName(call.input("a").type), name,
                                   elementTypeName(call.input(name).type)));
  for (const auto &input : call.inputs)
    requireDense(call, input.first);
  if (groups == 0 || K % groups)
    throw inputError(
        fmt::format("kernel `{}`: K = {} is no multiple of the {} rows of `scales`", call.kernel, K, groups),
        {"there is one row for each group, and all groups have one size"});
  if (int64_t inner = isTransposed ? N : K; call.extent("inner") != inner)
    throw inputError(fmt::format("kernel `{}`: `a` has {} columns, and {} = {}", call.kernel, call.extent("inner"),
                                 isTransposed ? "N" : "K", inner),
                     {"transposed=true multiplies with the transposed weights, and sums over N"});
}

Plan plan(const Call &call) {
  bool isTransposed = call.is("transposed", "true");
  check(call, isTransposed);
  int64_t M = call.extent("M"), N = call.extent("N"), K = 2 * call.extent("K/2");
  int64_t width = isTransposed ? K : N, inner = isTransposed ? N : K;
  ElementType type = call.input("a").type;
  Plan plan;
  plan.results = {{"c", {type, {M, width}}}};
  plan.operations = 2 * M * N * K;
  if (M * width == 0)
    return plan;
  int64_t splits = std::stoll(call.options.at("splits"));
  int64_t blocks = blocksFor(width, isTransposed ? bk : bn) * blocksFor(M, M <= 16 ? 16 : M <= 512 ? 64 : 128);
  if (splits == 0)
    splits = chooseSplits(call, blocks, blocksFor(inner, isTransposed ? bn : bk));
  if (splits < 1 || splits > 64)
    throw inputError(fmt::format("kernel `{}`: `splits` is {}, and must be from 1 to 64, or 0 for the library's choice",
                                 call.kernel, splits));
  if (splits == 1) {
    plan.steps = {matmulStep(call, Target::Result, 1, isTransposed)};
  } else if (call.is("sum", "atomic")) {
    plan.steps = {fillStep("c", 0), matmulStep(call, Target::Atomic, splits, isTransposed)};
  } else {
    plan.temporaries = {{"partial", {ElementType::F32, {splits, M, width}}}};
    plan.steps = {matmulStep(call, Target::Partial, splits, isTransposed), sumStep(type, M * width, splits)};
  }
  return plan;
}

void reference(const Call &call, HostArrays &arrays) {
  int64_t M = call.extent("M"), N = call.extent("N"), K = 2 * call.extent("K/2"), group = K / call.extent("K/G");
  bool isTransposed = call.is("transposed", "true"), isSigned = call.input("b").type == ElementType::I8;
  ElementType type = call.input("a").type;
  auto rounded = [&](double value) {
    char bytes[8];
    storeDouble(type, value, bytes);
    return loadDouble(type, bytes);
  };
  std::vector<double> w(size_t(K * N)); // row-major
  for (int64_t k = 0; k < K; ++k)
    for (int64_t n = 0; n < N; ++n) {
      int byte = int(arrays.at("b").get({k / 2, n})) & 255, q = k % 2 ? byte >> 4 : byte & 15;
      q = isSigned && q > 7 ? q - 16 : q;
      double shifted = rounded(q - arrays.at("zeros").get({k / group, n}));
      w[size_t(k * N + n)] = rounded(shifted * arrays.at("scales").get({k / group, n}));
    }
  int64_t width = isTransposed ? K : N, inner = isTransposed ? N : K;
  for (int64_t m = 0; m < M; ++m)
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < inner; ++i)
        sum += arrays.at("a").get({m, i}) * w[size_t(isTransposed ? j * N + i : i * N + j)];
      arrays.at("c").set({m, j}, sum);
    }
}

/// Each number of parts adds in another order. Relaxed adds give other bits at each run, and are not chosen.
Tuning tuning() {
  Tuning tuning{
      .variants = {}, .counts = {"M"}, .example = {{"M", 64}, {"inner", 256}, {"K/2", 128}, {"N", 256}, {"K/G", 4}}};
  for (const char *splits : {"1", "2", "4", "8", "16"})
    tuning.variants.push_back({{{"splits", splits}}, {"block_m", "warps"}});
  return tuning;
}

} // namespace

const LibraryKernel int4Matmul = {
    .name = "int4_matmul",
    .sentence = "multiplies a matrix with 4-bit weights that have a scale and a zero point for each group",
    .contract =
        "w[k, n] = (q[k, n] - zeros[k / G, n]) * scales[k / G, n], each step rounded to the type of a; c = a w, or "
        "a w^T, summed in f32; q[k, n] is the low half of b[k / 2, n] for even k, else the high half",
    .inputs =
        {{"a", {"M", "inner"}, {ElementType::F16, ElementType::BF16}, "dense; inner is K, transposed N"},
         {"b", {"K/2", "N"}, {ElementType::UI8, ElementType::I8}, "two weights in a byte, dense; i8: signed ones"},
         {"scales", {"K/G", "N"}, {ElementType::F16, ElementType::BF16}, "of the type of a, dense"},
         {"zeros", {"K/G", "N"}, {ElementType::F16, ElementType::BF16}, "of the type of a, dense"}},
    .results = {{"c", "[M, N], transposed [M, K]", "of the type of a"}},
    .options =
        {{"transposed", {"true", "false"}, "false", "multiply with the transposed weights, and sum over N"},
         {"splits", {}, "0", "parts of the sum that blocks of their own compute, 1 to 64; 0: the library's choice"},
         {"sum",
          {"reduction", "atomic"},
          "reduction",
          "of the parts: reduction: in f32, in order, by one more launch; atomic: relaxed adds to c in its type, in "
          "any order"}},
    .tiles = {{"block_m", BlocksOfM::list(), "rows of a tile"}, {"warps", {4, 8}, "warps of a block"}},
    .plan = plan,
    .reference = reference,
    .tolerance = 0.01,
    .tuning = tuning(),
};

} // namespace heddle::kernels
