// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matmul in the kernel of a collective: the same bits as the two kernels give, and what the plain evaluator makes of
// the module; and the reasons for which the two stay apart.
#include "chips/Chip.h"
#include "frontend/hlo/Parser.h"
#include "program/Executable.h"
#include "program/RankCollective.h"
#include "support/Error.h"
#include "tests/multi_device/TestDevices.h"
#include "tests/program/RunModule.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace heddle;
using namespace heddle::program;
using namespace heddle::program::testing;
namespace reference = heddle::hlo::reference;

namespace {

struct Case {
  std::string kind; ///< `all-reduce`, `reduce-scatter`, `all-gather`
  int ranks;
  int64_t rows, depth, columns; ///< of the whole matmul
  std::string type, result;
  bool lhsIsTransposed = false, rhsIsTransposed = false;
  std::string name() const {
    return fmt::format("{} of {} ranks: {}x{}x{} {} to {}{}{}", kind, ranks, rows, depth, columns, type, result,
                       lhsIsTransposed ? ", lhs transposed" : "", rhsIsTransposed ? ", rhs transposed" : "");
  }
};

std::string moduleOf(const Case &c, const std::string &after = "") {
  bool gathers = c.kind == "all-gather";
  std::string lhs = c.lhsIsTransposed ? fmt::format("{}[{},{}]", c.type, c.depth, c.rows)
                                      : fmt::format("{}[{},{}]", c.type, gathers ? c.rows / c.ranks : c.rows, c.depth);
  std::string rhs = c.rhsIsTransposed ? fmt::format("{}[{},{}]", c.type, c.columns, c.depth)
                                      : fmt::format("{}[{},{}]", c.type, c.depth, c.columns);
  std::string whole = fmt::format("{}[{},{}]", c.result, c.rows, c.columns);
  std::string text =
      fmt::format("HloModule matmul, replica_count={}\nsum {{ a = {}[] parameter(0)\n b = {}[] "
                  "parameter(1)\n ROOT c = {}[] add(a, b) }}\nENTRY main {{\n x = {} parameter(0)\n w = {} "
                  "parameter(1)\n",
                  c.ranks, c.result, c.result, c.result, lhs, rhs);
  if (gathers)
    text += fmt::format(" rows = {}[{},{}] all-gather(x), dimensions={{0}}\n", c.type, c.rows, c.depth);
  text += fmt::format(" y = {} dot({}, w), lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}\n", whole,
                      gathers ? "rows" : "x", c.lhsIsTransposed ? 0 : 1, c.rhsIsTransposed ? 1 : 0);
  if (c.kind == "all-reduce")
    text += fmt::format(" r = {} all-reduce(y), to_apply=sum\n", whole);
  if (c.kind == "reduce-scatter")
    text += fmt::format(" r = {}[{},{}] reduce-scatter(y), dimensions={{0}}, to_apply=sum\n", c.result,
                        c.rows / c.ranks, c.columns);
  std::string shape =
      c.kind == "reduce-scatter" ? fmt::format("{}[{},{}]", c.result, c.rows / c.ranks, c.columns) : whole;
  return text + (after.empty() ? fmt::format(" ROOT z = {} negate({})\n", shape, gathers ? "y" : "r") : after) + "}\n";
}

Inputs inputsOf(const hlo::Module &module, uint64_t seed) {
  std::mt19937_64 random(seed);
  Inputs inputs(size_t(module.deviceCount()));
  for (auto &device : inputs)
    for (size_t i = 0; i < module.entryComputation().parameters.size(); ++i) {
      device.push_back(reference::zeros(module.entryComputation().parameter(i).shape));
      for (int64_t at = 0; at < device.back().shape.elementCount(); ++at)
        reference::storeNumber(device.back().shape.type, double(int64_t(random() % 257) - 128) / 128,
                               device.back().at(at));
    }
  return inputs;
}

/// Runs twice: what the first run left must not matter. `launches`: expected of one run; 0: not looked at.
Results runWith(const hlo::Module &module, const Inputs &inputs, MatmulFusion matmuls, size_t launches) {
  ProgramOptions options;
  options.matmuls = matmuls;
  Results arrays(inputs.size());
  for (size_t device = 0; device < inputs.size(); ++device)
    for (const reference::Value &input : inputs[device])
      arrays[device].push_back({input.shape, std::string(input.bytes.begin(), input.bytes.end())});
  Program program(module, heddle::testing::openFirstDevices(module.deviceCount()), options);
  if (launches)
    EXPECT_EQ(program.describe().size(), launches);
  program.run(arrays);
  return program.run(arrays);
}

/// `launches` with the matmul fused; 0: not looked at.
void expectRight(const std::string &text, size_t launches, uint64_t seed = 1) {
  hlo::Module module = hlo::parseModule(text, "matmul.hlo");
  if (!heddle::testing::hasDevices(module.deviceCount()))
    return;
  Inputs inputs = inputsOf(module, seed);
  Results one = runWith(module, inputs, MatmulFusion::Fused, launches);
  Results two = runWith(module, inputs, MatmulFusion::Apart, launches ? launches + 1 : 0);
  Results expected = runReference(module, inputs);
  for (size_t device = 0; device < expected.size(); ++device)
    for (size_t i = 0; i < expected[device].size(); ++i) {
      EXPECT_EQ(one[device][i].bytes, two[device][i].bytes) << "device " << device << ", result " << i;
      hlo::DType type = expected[device][i].shape.type;
      double tolerance = type == hlo::DType::BF16 ? 0x1p-6 : type == hlo::DType::F16 ? 0x1p-9 : 1e-5;
      for (int64_t at = 0; at < expected[device][i].shape.elementCount(); ++at) {
        auto number = [&](const Results &results) {
          size_t byte = size_t(at * hlo::elementSizeBytes(type));
          return reference::loadNumber(type, reinterpret_cast<const uint8_t *>(results[device][i].bytes.data() + byte));
        };
        double x = number(one), y = number(expected);
        // What cancels in a sum over ranks leaves the errors of its terms.
        ASSERT_NEAR(x, y, tolerance * std::max(4.0, std::abs(y))) << "device " << device << " at " << at;
      }
    }
}

TEST(Matmul, InTheKernelOfItsCollective) {
  for (const Case &c :
       {Case{"all-reduce", 2, 64, 32, 64, "f32", "f32"}, Case{"all-reduce", 4, 70, 40, 90, "bf16", "bf16"},
        Case{"reduce-scatter", 2, 96, 33, 48, "f16", "f16"}, Case{"reduce-scatter", 4, 160, 48, 33, "bf16", "f32"},
        Case{"all-gather", 2, 128, 48, 64, "bf16", "bf16"}, Case{"all-gather", 3, 201, 40, 70, "f16", "f32"},
        Case{"all-gather", 1, 64, 32, 32, "f32", "f32"}, Case{"all-reduce", 1, 64, 32, 32, "f32", "f32"}}) {
    SCOPED_TRACE(c.name());
    expectRight(moduleOf(c), 1);
  }
}

TEST(Matmul, EightRanksAndTransposedOperands) {
  for (const Case &c : {Case{"all-reduce", 8, 40, 64, 100, "f16", "f16", true, false},
                        Case{"reduce-scatter", 8, 128, 32, 40, "bf16", "bf16", false, true},
                        Case{"all-gather", 8, 136, 32, 33, "f32", "f32", false, true}}) {
    // Threads are interpreted: the short form has the protocol that only these kernels have.
    if (!heddle::testing::isLong() && heddle::testing::driverName() == "threads" && c.kind != "all-gather")
      continue;
    SCOPED_TRACE(c.name());
    expectRight(moduleOf(c), 0);
  }
}

// Of the last own piece a block has fewer tiles to send than of the others, and each tile is whole: no mask keeps it
// from storing what is beyond its rows.
TEST(Matmul, RowsOfAnUnevenNumberOfTiles) {
  expectRight(moduleOf({"all-gather", 2, 64, 384, 64, "f32", "f32"}), 1);
}

// On GPUs of enough compute units: 12 tiles or more, which some of the blocks compute and others move.
TEST(Matmul, BlocksThatOnlyMoveData) {
  for (const Case &c :
       {Case{"all-reduce", 2, 192, 32, 256, "bf16", "bf16"}, Case{"reduce-scatter", 2, 384, 32, 256, "f16", "f16"},
        Case{"reduce-scatter", 3, 576, 32, 128, "bf16", "bf16"}, Case{"all-gather", 2, 512, 32, 128, "bf16", "bf16"}}) {
    SCOPED_TRACE(c.name());
    ProgramOptions options;
    options.matmuls = MatmulFusion::Fused;
    Program program(hlo::parseModule(moduleOf(c), "matmul.hlo"), lookupChip("sm_90"), options);
    EXPECT_NE(program.describe()[0].plan.find("of which move data"), std::string::npos) << program.describe()[0].plan;
    expectRight(moduleOf(c), 1);
  }
}

TEST(Matmul, ElementwiseCodeAfterTheAllReduce) {
  Case c{"all-reduce", 2, 70, 32, 50, "bf16", "bf16"};
  expectRight(moduleOf(c, " d = bf16[70,50] parameter(2)\n s = bf16[70,50] add(r, d)\n ROOT z = bf16[70,50] tanh(s)\n"),
              1);
}

// Its own buffer is read later, another one is part of the kernel.
TEST(Matmul, ElementwiseCodeAfterTheGatheredMatmul) {
  Case c{"all-gather", 2, 140, 32, 50, "bf16", "bf16"};
  expectRight(moduleOf(c, " d = bf16[50] parameter(2)\n e = bf16[140,50] broadcast(d), dimensions={1}\n s = "
                          "bf16[140,50] add(y, e)\n t = bf16[50,140] transpose(y), dimensions={1,0}\n n = "
                          "bf16[50,140] negate(t)\n ROOT z = (bf16[140,50], bf16[50,140]) tuple(s, n)\n"),
              2);
}

TEST(Matmul, RandomShapes) {
  std::mt19937_64 random(7);
  auto between = [&](int64_t least, int64_t most) { return least + int64_t(random() % uint64_t(most - least + 1)); };
  const char *kinds[] = {"all-reduce", "reduce-scatter", "all-gather"}, *types[] = {"f32", "f16", "bf16"};
  for (int number = 0; number < (heddle::testing::isLong() ? 60 : 3); ++number) {
    Case c;
    c.kind = kinds[number % 3];
    c.ranks = int(between(2, 8));
    c.type = types[between(0, 2)];
    c.result = between(0, 2) ? c.type : "f32";
    c.rows = c.kind == "all-reduce" ? between(16, 200) : c.ranks * between(16 / c.ranks + 1, 60);
    c.depth = between(16, 100), c.columns = between(16, 150);
    c.lhsIsTransposed = c.kind != "all-gather" && between(0, 3) == 0;
    c.rhsIsTransposed = between(0, 3) == 0;
    SCOPED_TRACE(c.name());
    expectRight(moduleOf(c), 0, uint64_t(number));
  }
}

std::string reasonOf(const std::string &text, const Chip &chip, MatmulFusion matmuls = MatmulFusion::Auto) {
  ProgramOptions options;
  options.matmuls = matmuls;
  for (const StepDescription &step : Program(hlo::parseModule(text, "matmul.hlo"), chip, options).describe())
    if (size_t at = step.plan.find("matmul          "); at != std::string::npos)
      return step.plan.substr(at + 16, step.plan.find('\n', at) - at - 16);
  return "";
}

TEST(Matmul, WhatStaysApartHasAReason) {
  Case small{"all-reduce", 2, 64, 32, 64, "bf16", "bf16"};
  EXPECT_EQ(reasonOf(moduleOf(small), lookupChip("sm_90")),
            "has a kernel of its own: 1 tiles of 64x64 are too few: 132 blocks on each of 2 ranks want one each");
  EXPECT_EQ(reasonOf(moduleOf(small), lookupChip("sm_90"), MatmulFusion::Fused), "1 tiles of 64x64, K in steps of 64");
  EXPECT_EQ(reasonOf(moduleOf(small), lookupChip("gfx942")),
            "has a kernel of its own: the kernel of both has at most 160 blocks, and the device 304 compute units");
  EXPECT_EQ(reasonOf(moduleOf(small), lookupChip("host"), MatmulFusion::Apart),
            "has a kernel of its own: it was asked for");
  Case large{"all-reduce", 2, 4096, 512, 8192, "bf16", "bf16"};
  EXPECT_EQ(reasonOf(moduleOf(large), lookupChip("sm_90")), "1024 tiles of 128x256, K in steps of 64");
  Case read{"all-reduce", 2, 64, 32, 64, "f32", "f32"};
  EXPECT_EQ(reasonOf(moduleOf(read, " ROOT z = f32[64,64] add(r, y)\n"), lookupChip("host")),
            "has a kernel of its own: its result is read elsewhere too");
  Case flat{"reduce-scatter", 8, 16, 512, 262144, "bf16", "bf16"};
  EXPECT_EQ(reasonOf(moduleOf(flat), lookupChip("sm_90")),
            "has a kernel of its own: it moves 536870912 bytes; a kernel of both has room for 268435456");
  flat.columns = 131072;
  EXPECT_EQ(reasonOf(moduleOf(flat), lookupChip("sm_90")),
            "has a kernel of its own: parts of 2 rows would fill 4096 tiles of 128x256, and the whole 512 of 128x256");
  Case huge{"all-gather", 2, 1 << 20, 256, 64, "bf16", "bf16"};
  EXPECT_EQ(reasonOf(moduleOf(huge), lookupChip("host")),
            "has a kernel of its own: it moves 536870912 bytes; a kernel of "
            "both has room for 268435456");
}

// Rank 1 never launches: the waits of rank 0 end at the deadline and name it.
TEST(Matmul, ARankThatIsMissingIsNamed) {
  for (const char *kind : {"all-gather", "all-reduce"}) {
    Case c{kind, 2, 64, 32, 64, "f32", "f32"};
    ProgramOptions options;
    options.matmuls = MatmulFusion::Fused, options.deadlineSeconds = 0.03;
    std::vector<std::shared_ptr<Device>> devices = heddle::testing::openFirstDevices(2);
    Executable executable(hlo::parseModule(moduleOf(c), "matmul.hlo"), devices[0]->chip(), devices, options);
    const CompiledStep &step = executable.entry->steps[0];
    const GroupCall &call = step.calls[0];
    std::vector<LaunchArgument> arguments;
    for (const std::vector<NodeId> &ids : {call.kernel->kernel.inputs, call.kernel->kernel.outputs})
      for (NodeId id : ids)
        arguments.push_back(DeviceAddress(executable.entry->buffers[0].at(id).address()));
    arguments.push_back(ScalarBits{0});
    arguments.push_back(ScalarBits{0});
    call.communicator->launch(*call.operation, 0, arguments);
    try {
      call.communicator->synchronize();
      FAIL() << "nothing was missed";
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorClass::Environment);
      EXPECT_NE(std::string(error.what()).find("launch 1: rank 0"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("s for rank 1"), std::string::npos) << error.what();
    }
  }
}

TEST(Matmul, OfRanksThatAreProcesses) {
  Case sum{"all-reduce", 2, 64, 32, 64, "f32", "f32"}, gather{"all-gather", 2, 64, 32, 64, "f32", "f32"};
  RankCollective made = compileRankCollective(moduleOf(sum), "matmul.hlo", 2, lookupChip("host"), 0);
  EXPECT_STREQ(made.plan.algorithm->name, "one_shot_flags");
  EXPECT_EQ(made.arguments, (std::vector<int>{0, 1, 2, RankCollective::Replica, RankCollective::Partition}));
  std::string text = moduleOf(gather);
  text.replace(text.find(" ROOT z"), text.find("negate(y)") + 9 - text.find(" ROOT z"), "");
  text.replace(text.find(" y = "), 1, " ROOT ");
  made = compileRankCollective(text, "matmul.hlo", 2, lookupChip("host"), 0);
  EXPECT_STREQ(made.plan.algorithm->name, "gather_flags");
  EXPECT_EQ(made.arguments, (std::vector<int>{0, 1, 2, RankCollective::Replica, RankCollective::Partition}));
}

TEST(Matmul, OfProcessesTooLargeForOneKernel) {
  Case sum{"all-reduce", 2, 8192, 32, 8192, "f32", "f32"};
  EXPECT_STREQ(compileRankCollective(moduleOf(sum), "matmul.hlo", 2, lookupChip("host"), 0).plan.algorithm->name,
               "one_shot_flags");
  sum.rows += 16;
  try {
    compileRankCollective(moduleOf(sum), "matmul.hlo", 2, lookupChip("host"), 0);
    FAIL() << "it was made";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorClass::Input);
    EXPECT_EQ(error.notes.back(), "a matmul has a kernel of its own: it moves 270532608 bytes; a kernel of both has "
                                  "room for 268435456");
  }
}

TEST(Matmul, NamesOfChoices) {
  EXPECT_EQ(parseMatmulFusion("fused"), MatmulFusion::Fused);
  EXPECT_THROW(parseMatmulFusion("together"), Error);
}

} // namespace
