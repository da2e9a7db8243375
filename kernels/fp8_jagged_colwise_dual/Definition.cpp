// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fp8_jagged_colwise of two matrices whose rows are in the same groups, in one launch: both operands of the gradient of
// expert weights.
#include "kernels/Kernels.h"
#include "kernels/SharedParts.h"
#include "kernels/fp8_jagged_colwise/Columns.h"
#include <algorithm>

using namespace heddle::build;

namespace heddle::kernels {
namespace {

const char *const numbers[] = {"1", "2"}; // of the matrices

Plan plan(const Call &call) {
  int64_t K = call.extent("K"), G = call.extent("G");
  requireGroups(call, "K", K);
  Quantise how(call);
  int64_t sharedK = call.tile("shared_k", usualSharedK(call)), sharedN = call.tile("shared_n", 64);
  bool cooperative = isCooperative(call, blocksFor(K, sharedK)); // if one group has everything
  int64_t bn = cooperative ? sharedN : call.tile("block_n", 32), bk = call.tile("block_k", 128);
  Plan plan;
  StepWriter writer("fp8_jagged_colwise_dual");
  writer.buffer("offs", call.input("offs").type, int(elementSizeBytes(call.input("offs").type)));
  writer.count("K", K);
  int64_t blocks = 0, words = 0;
  for (std::string suffix : numbers) {
    const ArrayType &x = call.input("x" + suffix);
    int64_t lines = call.extent("N" + suffix);
    plan.results.push_back({"q" + suffix, {how.type, {lines, K}}});
    plan.results.push_back({"scales" + suffix, {ElementType::F32, {G, lines}}});
    writer.buffer("x" + suffix, x.type);
    writer.buffer("q" + suffix, how.type);
    writer.buffer("scales" + suffix, ElementType::F32);
    writer.count("lines" + suffix, lines);
    writer.stride("x_line" + suffix, x.stride(1));
    writer.stride("x_k" + suffix, x.stride(0));
    blocks += blocksFor(lines, bn);
    words += sharedWords(G, lines, bn);
  }
  if (blocks * G == 0)
    return plan;
  // The first matrix's blocks, then the second's: all do the same work, however wide the two are.
  auto ofEach = [](const TypedArguments &values, int64_t n, const Scalar<i32> &block, auto body) {
    auto ofFirst = ceilDivide(values.scalar<i32>("lines1"), int(n));
    when(block < ofFirst, [&] { body("1", block); }, [&] { body("2", block - ofFirst); });
  };
  if (cooperative) {
    planParts(call, blocks, words, sharedK, writer, plan, [&](const TypedArguments &values, auto number, auto block) {
      choose(SharedBlocksOfGroupedRows(), sharedK, [&]<int64_t k>() {
        choose(SharedBlocksOfColumns(), sharedN, [&]<int64_t n>() {
          auto G = values.scalar<i32>("G"), N = values.scalar<i32>("lines1");
          ofEach(values, n, block, [&](const std::string &suffix, const Scalar<i32> &block) {
            auto words = values.pointer("amax").as<i32>();
            if (suffix == "2")
              words = words + cast<i64>(G) * cast<i64>(N + ceilDivide(N, int(n)));
            ColumnsOfGroups<k, n> body{writer, values, how, block, suffix};
            SharedParts(body, words, number).quantise();
          });
        });
      });
    });
    int64_t held =
        std::max(wordsOf(call.input("x1").type, sharedK * sharedN), wordsOf(call.input("x2").type, sharedK * sharedN));
    plan.steps.back().heldWords = held;
    return plan;
  }
  plan.steps.push_back(writer.finish({blocks, G, 1}, call.tile("warps", 4), [&](const TypedArguments &values) {
    choose(BlocksOfGroupedRows(), bk, [&]<int64_t k>() {
      choose(BlocksOfColumns(), bn, [&]<int64_t n>() {
        ofEach(values, n, programId(0), [&](const std::string &suffix, const Scalar<i32> &block) {
          ColumnsOfGroups<k, n> body{writer, values, how, block, suffix};
          auto g = programId(1);
          whenAligned(readGroup(values, g, body.K, call.is("check", "true")),
                      [&](const Group &group) { body.quantise(g, group); });
        });
      });
    });
  }));
  return plan;
}

} // namespace

const LibraryKernel fp8JaggedColwiseDual = {
    .name = "fp8_jagged_colwise_dual",
    .sentence =
        "quantises groups of rows of two matrices to FP8, transposed, with one scale for each column of each group",
    .contract =
        "q1, scales1 are of x1, q2, scales2 of x2, in one launch: scales[g, n] = MAX / max(amax of |x[k, n]| over the "
        "k "
        "of group g, 1e-12); q[n, k] = x[k, n] * scales[group of k, n]; group g has the rows from offs[g - 1], or "
        "0, up to offs[g]",
    .inputs = {{"x1", {"K", "N1"}, numberTypes, "the first matrix, of any strides; contiguous along N1 or K is fast"},
               {"x2", {"K", "N2"}, numberTypes, "the second, also of another type"},
               offsetsParameter()},
    .results = {{"q1", "[N1, K]", "values; seen as [K, N1] they are contiguous along K, as a matmul wants them"},
                {"scales1", "[G, N1]", "forward scales, f32; of an empty group MAX / 1e-12"},
                {"q2", "[N2, K]", "values of the second"},
                {"scales2", "[G, N2]", "forward scales of the second"}},
    .options = columnsOptions(),
    .tiles = columnsTiles(),
    .forms = {{"q1", "option dtype", {{"N1"}, {"K"}}},
              {"scales1", "f32", {{"G"}, {"N1"}}},
              {"q2", "option dtype", {{"N2"}, {"K"}}},
              {"scales2", "f32", {{"G"}, {"N2"}}}},
    .plan = plan,
    .reference =
        [](const Call &call, HostArrays &arrays) {
          for (const char *suffix : numbers)
            jaggedReference(call, arrays, false, suffix);
        },
    .contents = makeOffsetsOfK,
    .checkContents = checkOffsetsOfK,
    .tuning = {.variants = columnsVariants(),
               .counts = {"K"},
               .example = {{"K", 256}, {"N1", 256}, {"N2", 256}, {"G", 4}}},
};

} // namespace heddle::kernels
