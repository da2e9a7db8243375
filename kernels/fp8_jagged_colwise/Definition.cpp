// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matrix whose rows are in groups (tokens of an expert), with one scale for each column of each group, transposed:
// the right operand of a grouped FP8 matmul that sums over the grouped axis.
#include "kernels/Kernels.h"
#include "kernels/SharedParts.h"
#include "kernels/fp8_jagged_colwise/Columns.h"

using namespace heddle::build;

namespace heddle::kernels {
namespace {

Plan plan(const Call &call) {
  Plan plan;
  StepWriter writer("fp8_jagged_colwise");
  planJagged(call, "N", writer, plan);
  int64_t lines = call.extent("N"), G = call.extent("G");
  if (lines * G == 0)
    return plan;
  Quantise how(call);
  bool checks = call.is("check", "true");
  int64_t sharedK = call.tile("shared_k", usualSharedK(call)), sharedN = call.tile("shared_n", 64);
  if (isCooperative(call, blocksFor(call.extent("K"), sharedK))) { // if one group has everything
    int64_t blocks = blocksFor(lines, sharedN), words = sharedWords(G, lines, sharedN);
    planParts(call, blocks, words, sharedK, writer, plan, [&](const TypedArguments &values, auto number, auto block) {
      choose(SharedBlocksOfGroupedRows(), sharedK, [&]<int64_t k>() {
        choose(SharedBlocksOfColumns(), sharedN, [&]<int64_t n>() {
          ColumnsOfGroups<k, n> body{writer, values, how, block};
          SharedParts(body, values.pointer("amax").as<i32>(), number).quantise();
        });
      });
    });
    plan.steps.back().heldWords = wordsOf(call.input("x").type, sharedK * sharedN);
    return plan;
  }
  int64_t bk = call.tile("block_k", 128), bn = call.tile("block_n", 32);
  plan.steps.push_back(
      writer.finish({blocksFor(lines, bn), G, 1}, call.tile("warps", 4), [&](const TypedArguments &values) {
        choose(BlocksOfGroupedRows(), bk, [&]<int64_t k>() {
          choose(BlocksOfColumns(), bn, [&]<int64_t n>() {
            ColumnsOfGroups<k, n> body{writer, values, how, programId(0)};
            auto g = programId(1);
            whenAligned(readGroup(values, g, body.K, checks), [&](const Group &group) { body.quantise(g, group); });
          });
        });
      }));
  return plan;
}

} // namespace

const LibraryKernel fp8JaggedColwise = {
    .name = "fp8_jagged_colwise",
    .sentence = "quantises groups of rows to FP8, transposed, with one scale for each column of each group",
    .contract = "scales[g, n] = MAX / max(amax of |x[k, n]| over the k of group g, 1e-12); q[n, k] = x[k, n] * "
                "scales[group of k, n]; group g has the rows from offs[g - 1], or 0, up to offs[g]",
    .inputs = {{"x", {"K", "N"}, numberTypes, "the matrix, of any strides; contiguous along N or K is fast"},
               offsetsParameter()},
    .results = {{"q", "[N, K]", "values; seen as [K, N] they are contiguous along K, as a matmul wants them"},
                {"scales", "[G, N]", "forward scales, f32; of an empty group MAX / 1e-12"}},
    .options = columnsOptions(),
    .tiles = columnsTiles(),
    .forms = {{"q", "option dtype", {{"N"}, {"K"}}}, {"scales", "f32", {{"G"}, {"N"}}}},
    .plan = plan,
    .reference = [](const Call &call, HostArrays &arrays) { jaggedReference(call, arrays, false); },
    .contents = makeOffsetsOfK,
    .checkContents = checkOffsetsOfK,
    .tuning = {.variants = columnsVariants(), .counts = {"K"}, .example = {{"K", 256}, {"N", 256}, {"G", 4}}},
};

} // namespace heddle::kernels
