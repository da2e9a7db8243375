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

using BlocksOfM = Choices<8, 16, 64, 128, 256>;
using BlocksOfN = Choices<16, 32, 64, 128>;
using Parts = Choices<1, 4, 8, 16>;             ///< of K that a block's warps take at once
constexpr int64_t depth = 64, half = depth / 2; ///< of the sum, in an iteration; bytes of weights that it takes
constexpr int64_t mostRowsInParts = 64;         ///< of a block that takes several tiles of the sum at once; and columns
constexpr int sumBlock = 1024;

/// How the groups of scales lie to the tiles of an iteration.
enum class Groups { Any, OneInATile };

struct Body {
  const StepWriter &writer;
  const TypedArguments &values;
  bool isSigned;
  Groups groups;
  int stages; ///< of the loop over K
  /// Whether tiles of K and N have no elements beyond, so that nothing needs a mask.
  bool hasWholeK, hasWholeN;

  static constexpr int bitsOf1024 = 0x6400, bitsOf64 = 0x5400; ///< in f16

  Scalar<i32> M = values.scalar<i32>("M"), N = values.scalar<i32>("N"), K = values.scalar<i32>("K");
  Scalar<i32> group = values.scalar<i32>("group");

  /// A low (0) or high (1) half of bytes as a number of E, by its bits: 2^p + q has q in its lowest bits. f16 has
  /// digits enough for the high half where it lies in a byte: 64 + q has q in bits 4 to 7.
  template <class E, int64_t... sizes>
  Tile<E, sizes...> number(const Tile<u8, sizes...> &bytes, int which) const {
    int toSigned = isSigned ? 8 : 0; // q ^ 8 is q + 8 modulo 16
    if constexpr (std::is_same_v<E, f16>) {
      auto wide = cast<u16>(bytes);
      if (which)
        return bitcast<E>(((wide & 0xf0) ^ toSigned * 16) | bitsOf64) - (64.0 + toSigned);
      return bitcast<E>(((wide & 0x0f) ^ toSigned) | bitsOf1024) - (1024.0 + toSigned);
    } else {
      constexpr int bitsOf128 = 0x4300;
      auto wide = cast<u16>(which ? bytes >> 4 : bytes & 15);
      return bitcast<E>((wide ^ toSigned) | bitsOf128) - (128.0 + toSigned);
    }
  }

  // Tiles of weights have two dimensions, [pairs of rows, columns], or a batch before them. `pair` and `n`, the pairs
  // and columns, have dimensions of 1 for the others.

  template <int64_t... sizes>
  static Tile<i1, sizes...> isBelow(const Tile<i32, sizes...> &x, const Scalar<i32> &end, bool always) {
    if (always)
      return full<i1, sizes...>(true);
    return x < end;
  }
  template <class T>
  auto isInK(const T &k) const {
    return isBelow(k, K, hasWholeK);
  }
  template <class Columns>
  auto isInN(const Columns &n) const {
    return isBelow(n, N, hasWholeN);
  }
  template <class Pairs, class Columns>
  auto isInside(const Pairs &pair, const Columns &n) const {
    return isInK(pair * 2) && isInN(n);
  }

  /// Rows beyond the last are not stored: they may be anything, as the last.
  template <int64_t bm>
  Tile<i32, bm> rowsToLoad(const Tile<i32, bm> &m) const {
    return minimum(m, M - 1);
  }

  template <class Pairs, class Columns>
  auto bytes(const Pairs &pair, const Columns &n) const {
    auto inside = isInside(pair, n);
    auto at = cast<i64>(pair) * cast<i64>(N) + cast<i64>(n);
    std::optional<decltype(cast<u8>(inside))> made;
    withType<i8, u8>(values.pointer("b").type,
                     [&]<class B>() { made = bitcast<u8>(load(values.pointer("b").as<B>() + at, inside, 0)); });
    return *made;
  }

  /// The places of these groups and columns in `scales` and `zeros`, and what is there.
  template <class Group, class Columns>
  auto placeOf(const Group &group, const Columns &n) const {
    return cast<i64>(group) * cast<i64>(N) + cast<i64>(n);
  }
  template <class E, class Place, class Inside>
  auto parameter(const char *name, const Place &at, const Inside &inside) const {
    return load(values.pointer(name).as<E>() + at, inside, 0);
  }

  /// (q - zero) * scale, each rounded to E, of the low or high halves; `ofGroup`: of the tile or tiles where each has
  /// one.
  template <class E, class Bytes, class Pairs, class Columns, class Group>
  auto weights(const Bytes &q, const Pairs &pair, const Columns &n, const Group &ofGroup, int which) const {
    auto of = [&](const auto &group, const auto &inside) {
      auto at = placeOf(group, n);
      return (number<E>(q, which) - parameter<E>("zeros", at, inside)) * parameter<E>("scales", at, inside);
    };
    if (groups == Groups::OneInATile)
      return of(ofGroup, isInK(ofGroup * group) && isInN(n));
    return of((pair * 2 + which) / group, isInside(pair, n));
  }

  /// Both halves, side by side in a last dimension.
  template <class E, class Bytes, class Pairs, class Columns, class Group>
  auto allWeights(const Bytes &q, const Pairs &pair, const Columns &n, const Group &ofGroup) const {
    if constexpr (std::is_same_v<E, f16>)
      if (groups == Groups::OneInATile) {
        auto inside = isInK(ofGroup * group) && isInN(n);
        auto at = placeOf(ofGroup, n);
        auto of = [&](const char *name) { return expandDims<Bytes::rank>(parameter<E>(name, at, inside)); };
        return (halves(q) - of("zeros")) * of("scales");
      }
    return join(weights<E>(q, pair, n, ofGroup, 0), weights<E>(q, pair, n, ofGroup, 1));
  }

  /// Both halves of bytes as numbers of f16, each where it lies in its byte.
  template <int64_t... sizes>
  Tile<f16, sizes..., 2> halves(const Tile<u8, sizes...> &bytes) const {
    constexpr int axis = sizeof...(sizes);
    auto isHigh = lastOf<axis>(range<2>()) == 1;
    auto bits = [&](int low, int high) { return cast<u16>(select(isHigh, full<i32>(high), full<i32>(low))); };
    int toSigned = isSigned ? 8 : 0;
    auto wide = broadcast<sizes..., 2>(expandDims<axis>(cast<u16>(bytes)));
    auto sums = ((wide & bits(0x0f, 0xf0)) ^ bits(toSigned, toSigned * 16)) | bits(bitsOf1024, bitsOf64);
    return bitcast<f16>(sums) - cast<f16>(select(isHigh, full<f32>(64.0 + toSigned), full<f32>(1024.0 + toSigned)));
  }

  /// A row with so many dimensions of 1 before its own.
  template <int dimensions, class T>
  static auto lastOf(const T &x) {
    if constexpr (dimensions == 0)
      return x;
    else
      return lastOf<dimensions - 1>(expandDims<0>(x));
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
        auto pair = column(tile * int(half) + range<half>());
        auto at = body.values.pointer("a").as<E>() + column(cast<i64>(body.rowsToLoad(m)) * cast<i64>(body.K)) + row(k);
        auto a = load(at, broadcast<bm, depth>(row(body.isInK(k))), 0);
        auto q = body.bytes(pair, row(n));
        auto ofTile = full<i32, 1, 1>(ofGroup);
        auto w = reshape<bn, depth>(trans<1, 0, 2>(body.allWeights<E>(q, pair, row(n), ofTile)));
        auto isLast = place + 1 == tilesOfGroup;
        return carry(dot(w, trans(a), sums), select(isLast, ofGroup + 1, ofGroup), select(isLast, 0, place + 1));
      },
      {.stages = body.stages});
  storeSums<E>(body, target, m, n, body.N, sums);
}

/// The same with few rows: the warps of a block take a tile of K each, `parts` at once, and add their sums at the end.
/// So the weights of few columns keep a multiprocessor busy, and nothing is left to add to sums of other blocks.
template <class E, int64_t bn, int64_t bm, int64_t parts>
void forwardInParts(const Body &body, Target target) {
  auto m = programId(1) * int(bm) + range<bm>();
  auto n = programId(0) * int(bn) + range<bn>();
  auto n3 = expandDims<0>(row(n));
  auto m3 = expandDims<0>(column(m));
  auto [first, end] = partOf(ceilDivide(body.K, int(parts * depth)));
  auto sums = forRange(first, end, 1, zeros<f32, parts, bn, bm>(),
                       [&](Scalar<i32> step, auto sums) {
                         auto tile = column(step * int(parts) + range<parts>());
                         auto k = expandDims<1>(tile * int(depth) + row(range<depth>()));
                         auto pair = expandDims<2>(tile * int(half) + row(range<half>()));
                         auto at =
                             body.values.pointer("a").as<E>() + (cast<i64>(m3) * cast<i64>(body.K) + cast<i64>(k));
                         auto a = load(at, m3 < body.M && body.isInK(k), 0); // of few rows, those that there are
                         auto q = body.bytes(pair, n3);
                         auto w = body.allWeights<E>(q, pair, n3, expandDims<2>(tile * int(depth) / body.group));
                         return dot(reshape<parts, bn, depth>(trans<0, 2, 1, 3>(w)), trans<0, 2, 1>(a), sums);
                       },
                       {.stages = body.stages});
  storeSums<E>(body, target, m, n, body.N, sum(sums, axis<0>()));
}

/// c[m, k] = sum over n of a[m, n] * w[k, n]: even and odd k apart.
template <class E, int64_t pairs, int64_t bm>
void transposed(const Body &body, Target target) {
  auto m = programId(1) * int(bm) + range<bm>();
  auto pair = programId(0) * int(pairs) + range<pairs>();
  auto [first, end] = partOf(ceilDivide(body.N, int(depth)));
  auto none = zeros<f32, pairs, bm>();
  // With one group in a tile its rows of weights are in one: here the tile's rows are the result's columns.
  auto group = full<i32, 1, 1>(programId(0) * int(2 * pairs) / body.group);
  auto [even, odd] =
      forRange(first, end, 1, carry(none, none),
               [&](Scalar<i32> tile, auto even, auto odd) {
                 auto n = tile * int(depth) + range<depth>();
                 auto rows = column(cast<i64>(body.rowsToLoad(m)) * cast<i64>(body.N));
                 auto at = body.values.pointer("a").as<E>() + rows + row(n);
                 auto a = trans(load(at, broadcast<bm, depth>(row(body.isInN(n))), 0));
                 auto q = body.bytes(column(pair), row(n));
                 auto half = [&](int which) { return body.weights<E>(q, column(pair), row(n), group, which); };
                 return carry(dot(half(0), a, even), dot(half(1), a, odd));
               },
               {.stages = body.stages});
  auto k = programId(0) * int(2 * pairs) + range<2 * pairs>();
  auto sums = reshape<2 * pairs, bm>(trans<0, 2, 1>(join(even, odd)));
  storeSums<E>(body, target, m, k, body.K, sums);
}

struct Blocks {
  int64_t m, n;  ///< of the result
  int64_t parts; ///< tiles of K at once
};

Blocks blocksOf(const Call &call, bool isTransposed) {
  int64_t M = call.extent("M");
  int64_t m = call.tile("block_m", M <= 8 ? 8 : M <= 16 ? 16 : M <= 512 ? 64 : isTransposed ? 128 : 256);
  // More than one only where nothing that the call says is against it, and where a block has several warps.
  bool mayHaveParts =
      !isTransposed && call.chip->vendor != Vendor::Host && std::max(m, call.tile("block_n", 0)) <= mostRowsInParts;
  int64_t parts = isTransposed ? 1 : call.tile("parts", !mayHaveParts || M > 16 ? 1 : M > 8 ? 8 : 16);
  int64_t n = call.tile("block_n", parts > 1 ? 32 : 128);
  if (parts > 1 && std::max(m, n) > mostRowsInParts)
    throw inputError(fmt::format("kernel `{}`: `parts` is {} with blocks of {} x {}", call.kernel, parts, m, n),
                     {fmt::format("`block_m` and `block_n` are at most {} then", mostRowsInParts)});
  return {m, n, parts};
}

Step matmulStep(const Call &call, Target target, int64_t splits, bool isTransposed) {
  int64_t M = call.extent("M"), N = call.extent("N"), K = 2 * call.extent("K/2"), group = K / call.extent("K/G");
  ElementType type = call.input("a").type;
  auto [bm, bn, parts] = blocksOf(call, isTransposed);
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
  int64_t alongK = isTransposed ? 2 * bn : parts * depth, alongN = isTransposed ? depth : bn;
  int stages = int(call.tile("stages", bm >= 128 ? 5 : bm >= 64 ? 4 : 3));
  return writer.finish(
      {blocks, blocksFor(M, bm), splits}, call.tile("warps", bm >= 128 ? 8 : 4), [&](const TypedArguments &values) {
        Body body{writer,          values,         call.input("b").type == ElementType::I8, groups, stages,
                  K % alongK == 0, N % alongN == 0};
        withType<f16, bf16>(type, [&]<class E>() {
          choose(BlocksOfM(), bm, [&]<int64_t m>() {
            choose(BlocksOfN(), bn, [&]<int64_t n>() {
              if (isTransposed)
                transposed<E, n, m>(body, target);
              else
                choose(Parts(), parts, [&]<int64_t parts>() {
                  if constexpr (parts > 1 && m <= mostRowsInParts && n <= mostRowsInParts)
                    forwardInParts<E, n, m, parts>(body, target);
                  else
                    forward<E, n, m>(body, target);
                });
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
  auto [bm, bn, parts] = blocksOf(call, isTransposed);
  if (splits == 0)
    splits = chooseSplits(call, bm >= 128 ? 1 : 2, blocksFor(width, isTransposed ? 2 * bn : bn) * blocksFor(M, bm),
                          blocksFor(inner, parts * depth));
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
  auto hasFewRows = [](const Call &call) { return call.extent("M") <= mostRowsInParts; };
  tuning.variants.push_back({{{"splits", "1"}}, {"parts", "block_n", "warps"}, hasFewRows});
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
              {"parts", Parts::list(), "tiles of the sum that a block's warps take at once; transposed 1"},
              {"warps", {4, 8, 16}, "warps of a block"},
              {"stages", {2, 3, 4, 5, 6}, "iterations whose tiles are in shared memory"}},
    .forms = {{"c", "input a", {{"M"}, {"N"}}, "transposed", {"false"}},
              {"c", "input a", {{"M"}, {"K/2", 2}}, "transposed", {"true"}}},
    .plan = plan,
    .reference = reference,
    .tolerance = 0.01,
    .tuning = tuning(),
};

} // namespace heddle::kernels
