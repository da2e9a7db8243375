// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of a row as sm_90 has it, in the interpreter of its threads: what its shuffles and shared memory fold is
// what the plain evaluator folds.
#include "collectives/Plan.h"
#include "frontend/hlo/Parser.h"
#include "program/Kernels.h"
#include "tests/executors/Executor.h"
#include "tests/program/RunModule.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::program;
using heddle::program::testing::Inputs;
using heddle::program::testing::Results;

namespace {

const char *text = R"(HloModule rows
sum { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }
ENTRY main { x = bf16[3,600] parameter(0)
 r = bf16[3,600] parameter(1)
 w = bf16[600] parameter(2)
 s = bf16[3,600] add(x, r)
 f = f32[3,600] convert(s)
 q = f32[3,600] multiply(f, f)
 z = f32[] constant(0.5)
 n = f32[3] reduce(q, z), dimensions={1}, to_apply=sum
 k = f32[3] rsqrt(n)
 ks = f32[3,600] broadcast(k), dimensions={0}
 a = f32[3,600] multiply(f, ks)
 v = f32[600] convert(w)
 vs = f32[3,600] broadcast(v), dimensions={1}
 o = f32[3,600] multiply(a, vs)
 ROOT y = (f32[3,600], bf16[3,600], f32[3]) tuple(o, s, n) })";

Inputs inputsOf(const hlo::Module &module) {
  Inputs inputs(1);
  for (size_t i = 0; i < module.entryComputation().parameters.size(); ++i) {
    inputs[0].push_back(hlo::reference::zeros(module.entryComputation().parameter(i).shape));
    for (int64_t at = 0; at < inputs[0].back().shape.elementCount(); ++at)
      hlo::reference::storeNumber(hlo::DType::BF16, double((at * 37 + int64_t(i) * 11) % 129 - 64) / 32,
                                  inputs[0].back().at(at));
  }
  return inputs;
}

TEST(RowKernel, OnTheThreadsOfAGpu) {
  hlo::Module module = hlo::parseModule(text, "rows.hlo");
  std::unique_ptr<Graph> graph = flatten(module);
  Partition parts = partition(*graph);
  ASSERT_EQ(parts.steps.size(), 1u);
  const Step &step = parts.steps.front();
  EXPECT_EQ(step.columns, 600);
  EXPECT_EQ(step.kept.size(), 3u); // nothing reads the squares
  StepKernel kernel = makeKernel(*graph, parts, step, sm90Chip);
  EXPECT_EQ(kernel.blocks, 3);

  Inputs inputs = inputsOf(module);
  std::vector<heddle::reference::Argument> arguments;
  for (NodeId id : kernel.inputs) {
    const hlo::reference::Value &value = inputs[0][size_t((*graph)[id].instruction.parameterNumber)];
    arguments.push_back(heddle::reference::Argument::buffer({value.bytes.begin(), value.bytes.end()}));
  }
  for (NodeId id : kernel.outputs) {
    const hlo::Shape &shape = (*graph)[id].shape;
    arguments.push_back(heddle::reference::Argument::buffer(
        std::vector<uint8_t>(size_t(shape.elementCount() * hlo::elementSizeBytes(shape.type)), 0xA5)));
  }
  for (int i = 0; i < 2; ++i)
    arguments.push_back(heddle::reference::Argument::scalar(0));
  executors::ThreadsOptions options;
  options.warps = rowWarps(rowTileElements(600));
  executors::makeThreadsExecutor(options)->run(kernel.text, {int32_t(kernel.blocks), 1, 1}, arguments);

  Results expected = heddle::program::testing::runReference(module, inputs);
  for (size_t i = 0; i < kernel.outputs.size(); ++i) {
    const auto place = std::find(graph->results.begin(), graph->results.end(), kernel.outputs[i]);
    const ArrayBytes &wanted = expected[0][size_t(place - graph->results.begin())];
    const std::vector<uint8_t> &seen = arguments[kernel.inputs.size() + i].bytes;
    hlo::DType type = wanted.shape.type;
    auto size = size_t(hlo::elementSizeBytes(type));
    for (size_t at = 0; at < seen.size(); at += size) {
      double x = hlo::reference::loadNumber(type, seen.data() + at);
      double y = hlo::reference::loadNumber(type, reinterpret_cast<const uint8_t *>(wanted.bytes.data()) + at);
      ASSERT_NEAR(x, y, 1e-5 * std::max(1.0, std::abs(y))) << "output " << i << ", element " << at / size;
    }
  }
}

} // namespace
