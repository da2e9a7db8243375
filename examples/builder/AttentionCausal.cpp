// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention in one pass: the running maximum, sum and result of each row are carried from one tile of keys to the next.
#include "examples/builder/Kernels.h"
#include "frontend/build/Build.h"
#include <limits>

using namespace heddle::build;

template <int64_t M, int64_t N, int64_t D>
static Program attention() {
  return kernel("attention_causal", {aligned("q"), aligned("k"), aligned("v"), aligned("o"), "T", "scale"},
                [](Pointer<f16> q, Pointer<f16> k, Pointer<f16> v, Pointer<f16> o, Scalar<i32> T, Scalar<f32> scale) {
                  constexpr float infinity = std::numeric_limits<float>::infinity(), log2e = 1.44269504f;
                  auto head = programId(1) * T * D;
                  auto rows = programId(0) * M + range<M>();
                  auto depth = range<D>();
                  auto queryAt = column(rows) * D + row(depth);
                  auto query = load(q + head + queryAt, column(rows) < T, 0);

                  auto step = [&](Scalar<i32> first, auto largest, auto total, auto result) {
                    auto keys = first + range<N>();
                    auto keyAt = column(keys) * D + row(depth);
                    auto key = load(k + head + keyAt, column(keys) < T, 0);
                    auto scores = dot(query, trans(key)) * scale;
                    scores = select(row(keys) < T && column(rows) >= row(keys), scores, -infinity);
                    auto larger = maximum(largest, max(scores, axis<1>()));
                    auto weights = exp2((scores - column(larger)) * log2e);
                    auto fade = exp2((largest - larger) * log2e);
                    auto value = load(v + head + keyAt, column(keys) < T, 0);
                    return carry(larger, total * fade + sum(weights, axis<1>()),
                                 dot(cast<f16>(weights), value, result * column(fade)));
                  };
                  auto start = carry(full<f32, M>(-infinity), zeros<f32, M>(), zeros<f32, M, D>());
                  auto end = minimum(T, (programId(0) + 1) * M);
                  auto [largest, total, result] = forRange(0, end, N, start, step);
                  store(o + head + queryAt, cast<f16>(result / column(total)), column(rows) < T);
                });
}

Program heddle::examples::attentionCausal() {
  return attention<64, 64, 64>();
}
