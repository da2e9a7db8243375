// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matrix with one scale for all: amax, then a cast that writes the values in one or both orders.
#include "kernels/Kernels.h"
#include "kernels/amax/Amax.h"

using namespace heddle::build;

namespace heddle::kernels {
namespace {

using Blocks = Choices<32, 64, 128>;

template <int64_t bm, int64_t bn>
void castTile(const TypedArguments &values, const Quantise &how, bool straight, bool transposed) {
  auto M = values.scalar<i32>("M"), N = values.scalar<i32>("N");
  auto i = programCount(0) - 1 - programId(0), j = programCount(1) - 1 - programId(1); // what was read last comes first
  auto m = i * int(bm) + range<bm>();
  auto n = j * int(bn) + range<bn>();
  auto inside = column(m < M) && row(n < N);
  auto scale = scaleOf(load(values.pointer("amax").as<i32>()), how);
  store(values.pointer("scale").as<f32>(), scale, i == 0 && j == 0);
  auto numbers = loadNumbers<bm, bn>(
      values.pointer("x"), [&](auto pointer) { return pointer + column(cast<i64>(m) * cast<i64>(N)) + row(n); },
      inside);
  auto scaled = numbers * scale;
  if (straight)
    storeQuantised(values.pointer("q"), scaled, how, [&](auto pointer, auto converted) {
      store(pointer + column(cast<i64>(m) * cast<i64>(N)) + row(n), converted, inside);
    });
  if (transposed)
    storeQuantised(values.pointer("q_t"), scaled, how, [&](auto pointer, auto converted) {
      store(pointer + column(cast<i64>(n) * cast<i64>(M)) + row(m), trans(converted), column(n < N) && row(m < M));
    });
}

Plan plan(const Call &call) {
  int64_t M = call.extent("M"), N = call.extent("N");
  Quantise how(call);
  bool straight = !call.is("layout", "transposed"), transposed = !call.is("layout", "row");
  Plan plan;
  if (straight)
    plan.results.push_back({"q", {how.type, {M, N}}});
  if (transposed)
    plan.results.push_back({"q_t", {how.type, {N, M}}});
  plan.results.push_back({"scale", {ElementType::F32, {1}}});
  plan.temporaries = {{"amax", {ElementType::I32, {1}}}};
  planAmax(call, "amax", ElementType::I32, how.propagates, plan);
  int64_t bm = call.tile("block_m", 64), bn = call.tile("block_n", 128);
  StepWriter writer("fp8_tensorwise_cast");
  writer.buffer("x", call.input("x").type);
  if (straight)
    writer.buffer("q", how.type);
  if (transposed)
    writer.buffer("q_t", how.type);
  writer.buffer("scale", ElementType::F32, 4);
  writer.buffer("amax", ElementType::I32, 4);
  writer.count("M", M);
  writer.count("N", N);
  // An empty matrix has a scale also.
  std::array<int64_t, 3> grid = {std::max<int64_t>(1, blocksFor(M, bm)), std::max<int64_t>(1, blocksFor(N, bn)), 1};
  plan.steps.push_back(writer.finish(grid, call.tile("warps", 8), [&](const TypedArguments &values) {
    choose(Blocks(), bm, [&]<int64_t m>() {
      choose(Blocks(), bn, [&]<int64_t n>() { castTile<m, n>(values, how, straight, transposed); });
    });
  }));
  return plan;
}

void reference(const Call &call, HostArrays &arrays) {
  Quantise how(call);
  const HostArray &x = arrays.at("x");
  int64_t M = call.extent("M"), N = call.extent("N");
  double amax = 0;
  for (int64_t m = 0; m < M; ++m)
    for (int64_t n = 0; n < N; ++n)
      amax = amaxWith(amax, x.get({m, n}), how.propagates);
  float scale = referenceScale(amax, how);
  arrays.at("scale").set({0}, scale);
  for (int64_t m = 0; m < M; ++m)
    for (int64_t n = 0; n < N; ++n) {
      double value = referenceValue(x.get({m, n}), scale, how);
      if (auto q = arrays.find("q"); q != arrays.end())
        q->second.set({m, n}, value);
      if (auto q = arrays.find("q_t"); q != arrays.end())
        q->second.set({n, m}, value);
    }
}

std::vector<Option> options() {
  std::vector<Option> all = quantiseOptions();
  all.push_back(amaxMethod());
  all.push_back({"layout", {"row", "transposed", "both"}, "row", "which of q and q_t are written"});
  return all;
}

std::vector<TileParameter> tiles() {
  std::vector<TileParameter> all = amaxTiles();
  all.push_back({"block_m", Blocks::list(), "rows of a tile of the cast"});
  all.push_back({"block_n", Blocks::list(), "columns of a tile of the cast"});
  return all;
}

Tuning tuning() {
  return {.variants = amaxVariants({"block", "warps", "block_m", "block_n"}),
          .counts = {"M"},
          .example = {{"M", 256}, {"N", 256}}};
}

} // namespace

const LibraryKernel fp8Tensorwise = {
    .name = "fp8_tensorwise",
    .sentence = "quantises a matrix to FP8 with one scale",
    .contract = "scale = MAX / max(amax of |x[m, n]|, 1e-12); q[m, n] = q_t[n, m] = x[m, n] * scale",
    .inputs = {{"x", {"M", "N"}, numberTypes, "the matrix, dense"}},
    .results = {{"q", "[M, N]", "values"},
                {"q_t", "[N, M]", "values, transposed"},
                {"scale", "[1]", "forward scale, f32"}},
    .options = options(),
    .tiles = tiles(),
    .forms = {{"q", "option dtype", {{"M"}, {"N"}}, "layout", {"row", "both"}},
              {"q_t", "option dtype", {{"N"}, {"M"}}, "layout", {"transposed", "both"}},
              {"scale", "f32", {{}}}},
    .plan = plan,
    .reference = reference,
    .tuning = tuning(),
};

} // namespace heddle::kernels
