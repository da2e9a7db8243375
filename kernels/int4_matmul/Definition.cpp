// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matmul whose right operand is 4-bit integers with a scale and a zero point for each group of K (HQQ). Two rows of
// the weights share a byte, the even one in its low half.
#include "kernels/Kernels.h"
#include "kernels/StepWriter.h"
#include "support/Error.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace heddle::build;

namespace heddle::kernels {
namespace {

using BlocksOfM = Choices<16, 64, 128, 256>;
using BlocksOfN = Choices<64, 128>;
constexpr int64_t depth = 64, half = depth / 2; ///< of the sum, in an iteration; bytes of weights that it takes
constexpr int sumBlock = 1024;

/// How the groups of scales lie to the tiles of an iteration.
enum class Groups { Any, OneInATile };

struct Body {
  const StepWriter &writer;
  const TypedArguments &values;
  bool isSigned;
  Groups groups;
  int stages; ///< of the loop over K

  Scalar<i32> M = values.scalar<i32>("M"), N = values.scalar<i32>("N"), K = values.scalar<i32>("K");
  Scalar<i32> group = values.scalar<i32>("group");

  /// A low (0) or high (1) half of bytes as a number of E, by its bits: 2^p + q has q in its lowest bits.
  template <class E, int64_t... sizes>
  Tile<E, sizes...> number(const Tile<u8, sizes...> &bytes, int which) const {
    constexpr bool isF16 = std::is_same_v<E, f16>;
    auto q = which ? bytes >> 4 : bytes & 15;
    if (isSigned)
      q = q ^ 8; // q + 8 modulo 16
    auto sum = bitcast<E>(cast<u16>(q) | (isF16 ? 0x6400 : 0x4300));
    return sum - ((isF16 ? 1024.0 : 128.0) + (isSigned ? 8 : 0));
  }

  template <int64_t rows, int64_t columns>
  Tile<u8, rows, columns> bytes(const Tile<i32, rows> &pair, const Tile<i32, columns> &n) const {
    auto inside = column(pair < K / 2) && row(n < N);
    auto at = column(cast<i64>(pair) * cast<i64>(N)) + row(cast<i64>(n));
    std::optional<Tile<u8, rows, columns>> made;
    withType<i8, u8>(values.pointer("b").type,
                     [&]<class B>() { made = bitcast<u8>(load(values.pointer("b").as<B>() + at, inside, 0)); });
    return *made;
  }

  /// `scales` or `zeros` of groups.
  template <class E, int64_t rows, int64_t columns>
  Tile<E, rows, columns> parameter(const char *name, const Tile<i32, rows> &ofGroup, const Tile<i32, columns> &n,
                                   const Tile<i1, rows, columns> &inside) const {
    auto at = column(cast<i64>(ofGroup) * cast<i64>(N)) + row(cast<i64>(n));
    return load(values.pointer(name).as<E>() + at, inside, 0);
  }

  /// (q - zero) * scale, each rounded to E, of the low or high halves; `ofGroup`: of the tile where it has one.
  template <class E, int64_t rows, int64_t columns>
  Tile<E, rows, columns> weights(const Tile<u8, rows, columns> &q, const Tile<i32, rows> &pair,
                                 const Tile<i32, columns> &n, const Scalar<i32> &ofGroup, int which) const {
    auto of = [&](const auto &tile, const auto &inside) {
      return (number<E>(q, which) - parameter<E>("zeros", tile, n, inside)) * parameter<E>("scales", tile, n, inside);
    };
    if (groups == Groups::OneInATile)
      return of(ofGroup + range<1>(), row(n < N));
    return of((pair * 2 + which) / group, column(pair < K / 2) && row(n < N));
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

/// `sums`: the transposed tile of the result.
template <class E, int64_t columns, int64_t bm>
void storeSums(const Body &body, Target target, const Tile<i32, bm> &m, const Tile<i32, columns> &n,
               const Scalar<i32> &width, const Tile<f32, columns, bm> &sums) {
  auto inside = column(m < body.M) && row(n < width);
  auto at = column(cast<i64>(m) * cast<i64>(width)) + row(cast<i64>(n));
  if (target == Target::Partial) {
    auto own = cast<i64>(programId(2)) * cast<i64>(body.M) * cast<i64>(width);
    store(body.values.pointer("partial").as<f32>() + (at + own), trans(sums), inside);
    return;
  }
  auto c = body.values.pointer("c").as<E>() + at;
  if (target == Target::Atomic)
    atomicAdd(c, trans(cast<E>(sums)), inside, Order::Relaxed);
  else
    store(c, trans(cast<E>(sums)), inside);
}

// Both products are computed transposed, weights on the left: there the matrix units take an operand from registers,
// and weights become numbers where they are multiplied.

/// c[m, n] = sum over k of a[m, k] * w[k, n].
template <class E, int64_t bn, int64_t bm>
void forward(const Body &body, Target target) {
  auto m = programId(1) * int(bm) + range<bm>();
  auto n = programId(0) * int(bn) + range<bn>();
  auto [first, end] = partOf(ceilDivide(body.K, int(depth)));
  // The group of a tile is counted, since addresses of later iterations take no division.
  auto tilesOfGroup = body.groups == Groups::OneInATile ? body.group / int(depth) : body.group;
  auto group = first / tilesOfGroup;
  auto [sums, lastGroup, lastPlace] = forRange(
      first, end, 1, carry(zeros<f32, bn, bm>(), group, first - group * tilesOfGroup),
      [&](Scalar<i32> tile, auto sums, auto ofGroup, auto place) {
        auto k = tile * int(depth) + range<depth>();
        auto pair = tile * int(half) + range<half>();
        auto at = body.values.pointer("a").as<E>() + column(cast<i64>(m) * cast<i64>(body.K)) + row(k);
        auto a = load(at, column(m < body.M) && row(k < body.K), 0);
        auto q = body.bytes(pair, n);
        auto pairs = join(body.weights<E>(q, pair, n, ofGroup, 0), body.weights<E>(q, pair, n, ofGroup, 1));
        auto w = reshape<bn, depth>(trans<1, 0, 2>(pairs));
        auto isLast = place + 1 == tilesOfGroup;
        return carry(dot(w, trans(a), sums), select(isLast, ofGroup + 1, ofGroup), select(isLast, 0, place + 1));
      },
      {.stages = body.stages});
  storeSums<E>(body, target, m, n, body.N, sums);
}

/// c[m, k] = sum over n of a[m, n] * w[k, n]: even and odd k apart.
template <class E, int64_t pairs, int64_t bm>
void transposed(const Body &body, Target target) {
  auto m = programId(1) * int(bm) + range<bm>();
  auto pair = programId(0) * int(pairs) + range<pairs>();
  auto [first, end] = partOf(ceilDivide(body.N, int(depth)));
  auto none = zeros<f32, pairs, bm>();
  // With one group in a tile its rows of weights are in one: here the tile's rows are the result's columns.
  auto group = programId(0) * int(2 * pairs) / body.group;
  auto [even, odd] =
      forRange(first, end, 1, carry(none, none),
               [&](Scalar<i32> tile, auto even, auto odd) {
                 auto n = tile * int(depth) + range<depth>();
                 auto at = body.values.pointer("a").as<E>() + column(cast<i64>(m) * cast<i64>(body.N)) + row(n);
                 auto a = trans(load(at, column(m < body.M) && row(n < body.N), 0));
                 auto q = body.bytes(pair, n);
                 return carry(dot(body.weights<E>(q, pair, n, group, 0), a, even),
                              dot(body.weights<E>(q, pair, n, group, 1), a, odd));
               },
               {.stages = body.stages});
  auto k = programId(0) * int(2 * pairs) + range<2 * pairs>();
  auto sums = reshape<2 * pairs, bm>(trans<0, 2, 1>(join(even, odd)));
  storeSums<E>(body, target, m, k, body.K, sums);
}

struct Blocks {
  int64_t m, n; ///< of the result
};

Blocks blocksOf(const Call &call, bool isTransposed) {
  int64_t M = call.extent("M");
  int64_t m = call.tile("block_m", M <= 16 ? 16 : M <= 512 ? 64 : isTransposed ? 128 : 256);
  return {m, call.tile("block_n", 128)};
}

Step matmulStep(const Call &call, Target target, int64_t splits, bool isTransposed) {
  int64_t M = call.extent("M"), N = call.extent("N"), K = 2 * call.extent("K/2"), group = K / call.extent("K/G");
  ElementType type = call.input("a").type;
  auto [bm, bn] = blocksOf(call, isTransposed);
  int64_t alongGroups = isTransposed ? 2 * bn : depth;
  Groups groups = group % alongGroups == 0 ? Groups::OneInATile : Groups::Any;
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
  writer.count("group", group);
  int64_t blocks = isTransposed ? blocksFor(K, 2 * bn) : blocksFor(N, bn);
  int stages = int(call.tile("stages", bm >= 128 ? 5 : 4));
  return writer.finish({blocks, blocksFor(M, bm), splits}, call.tile("warps", bm >= 128 ? 8 : 4),
                       [&](const TypedArguments &values) {
                         Body body{writer, values, call.input("b").type == ElementType::I8, groups, stages};
                         withType<f16, bf16>(type, [&]<class E>() {
                           choose(BlocksOfM(), bm, [&]<int64_t m>() {
                             choose(BlocksOfN(), bn, [&]<int64_t n>() {
                               isTransposed ? transposed<E, n, m>(body, target) : forward<E, n, m>(body, target);
                             });
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

/// So many parts of the sum, each of some tiles, that the blocks fill the chip, if not more than once.
int64_t chooseSplits(const Call &call, int64_t residentBlocks, int64_t blocks, int64_t tiles) {
  int64_t splits = 1;
  while (splits < 16 && 2 * blocks * splits <= residentBlocks * call.chip->computeUnits && tiles >= 8 * splits)
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
  auto [bm, bn] = blocksOf(call, isTransposed);
  if (splits == 0)
    splits = chooseSplits(call, bm >= 128 ? 1 : 2, blocksFor(width, isTransposed ? 2 * bn : bn) * blocksFor(M, bm),
                          blocksFor(inner, depth));
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
    .tiles = {{"block_m", BlocksOfM::list(), "rows of a block of the result"},
              {"block_n", BlocksOfN::list(), "columns of a block of the result, transposed half of them"},
              {"warps", {4, 8}, "warps of a block"},
              {"stages", {2, 3, 4, 5, 6}, "iterations whose tiles are in shared memory"}},
    .forms = {{"c", "input a", {{"M"}, {"N"}}, "transposed", {"false"}},
              {"c", "input a", {{"M"}, {"K/2", 2}}, "transposed", {"true"}}},
    .plan = plan,
    .reference = reference,
    .tolerance = 0.01,
    .tuning = tuning(),
};

} // namespace heddle::kernels
