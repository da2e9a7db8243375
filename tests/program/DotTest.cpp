// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dots in tiles: batch dimensions, several free and contracted dimensions in any order, sizes that tiles do not divide,
// and all element types, bit by bit as the plain evaluator has them.
#include "chips/Chip.h"
#include "frontend/hlo/Parser.h"
#include "program/Program.h"
#include "tests/multi_device/TestDevices.h"
#include "tests/program/RunModule.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <random>

using namespace heddle;
using namespace heddle::program::testing;
using hlo::DType;
namespace reference = heddle::hlo::reference;
using Dimensions = std::vector<int64_t>;

namespace {

struct Dot {
  Dimensions lhs, rhs;
  Dimensions lhsBatch, rhsBatch, lhsContracting, rhsContracting;
  DType type = DType::F32, result = DType::F32;
};

/// The shape of the result: batch dimensions, then the free ones of both sides.
Dimensions resultOf(const Dot &d) {
  Dimensions result;
  for (int64_t i : d.lhsBatch)
    result.push_back(d.lhs[size_t(i)]);
  auto add = [&](const Dimensions &sizes, const Dimensions &batch, const Dimensions &contracting) {
    for (int64_t i = 0; i < std::ssize(sizes); ++i)
      if (!std::ranges::count(batch, i) && !std::ranges::count(contracting, i))
        result.push_back(sizes[size_t(i)]);
  };
  add(d.lhs, d.lhsBatch, d.lhsContracting);
  add(d.rhs, d.rhsBatch, d.rhsContracting);
  return result;
}

std::string textOf(const Dot &d) {
  std::string type(hlo::dtypeName(d.type)), result(hlo::dtypeName(d.result));
  return fmt::format("HloModule m\nENTRY e {{\n x = {}[{}] parameter(0)\n y = {}[{}] parameter(1)\n ROOT r = {}[{}] "
                     "dot(x, y), lhs_batch_dims={{{}}}, rhs_batch_dims={{{}}}, lhs_contracting_dims={{{}}}, "
                     "rhs_contracting_dims={{{}}}\n}}\n",
                     type, fmt::join(d.lhs, ","), type, fmt::join(d.rhs, ","), result, fmt::join(resultOf(d), ","),
                     fmt::join(d.lhsBatch, ","), fmt::join(d.rhsBatch, ","), fmt::join(d.lhsContracting, ","),
                     fmt::join(d.rhsContracting, ","));
}

/// Of floats sums are exact, of integers all bits differ.
double elementOf(DType type, std::mt19937_64 &random) {
  if (hlo::isFloating(type))
    return double(int64_t(random() % 5) - 2);
  int64_t span = int64_t(1) << std::min<int64_t>(hlo::bitWidth(type), 20);
  return double(int64_t(random() % uint64_t(span)) - (hlo::isSignedInteger(type) ? span / 2 : 0));
}

bool isTiled(const std::string &text, const std::string &chip) {
  for (const program::StepDescription &step :
       program::Program(hlo::parseModule(text, "dot.hlo"), lookupChip(chip), {}).describe())
    if (step.text.find("tt.dot") != std::string::npos)
      return true;
  return false;
}

void expectRight(const std::string &text) {
  hlo::Module module = hlo::parseModule(text, "dot.hlo");
  std::mt19937_64 random(5);
  Inputs inputs(1);
  for (size_t i = 0; i < module.entryComputation().parameters.size(); ++i) {
    inputs[0].push_back(reference::zeros(module.entryComputation().parameter(i).shape));
    reference::Value &value = inputs[0].back();
    for (int64_t at = 0; at < value.shape.elementCount(); ++at)
      reference::storeNumber(value.shape.type, elementOf(value.shape.type, random), value.at(at));
  }
  Results seen = runOnDevices(module, inputs), expected = runReference(module, inputs);
  for (size_t i = 0; i < expected[0].size(); ++i)
    EXPECT_TRUE(seen[0][i].bytes == expected[0][i].bytes) << "result " << i;
}

void check(const Dot &d, bool tiled = true) {
  std::string text = textOf(d);
  SCOPED_TRACE(text);
  EXPECT_EQ(isTiled(text, "host"), tiled);
  expectRight(text);
}

TEST(Dot, BatchDimensionsAnywhere) {
  check({{3, 40, 33}, {3, 33, 50}, {0}, {0}, {2}, {1}});
  check({{3, 33, 40}, {3, 50, 33}, {0}, {0}, {1}, {2}}); // both transposed
  check({{40, 3, 33}, {50, 3, 33}, {1}, {1}, {2}, {2}}); // [position][head][feature]
  check({{3, 40, 33}, {33, 50, 3}, {0}, {2}, {2}, {0}});
  check({{2, 3, 32, 64}, {2, 3, 64, 32}, {0, 1}, {0, 1}, {3}, {2}});
  check({{2, 20, 3, 16}, {2, 24, 3, 16}, {0, 2}, {0, 2}, {3}, {3}}); // batch dimensions that lie apart
  check({{2, 3, 20, 16}, {3, 24, 2, 16}, {1, 0}, {0, 2}, {3}, {3}});
}

TEST(Dot, SeveralFreeAndContractedDimensions) {
  check({{5, 7, 40}, {40, 9}, {}, {}, {2}, {0}});
  check({{40, 3, 20}, {3, 17, 5}, {}, {}, {1}, {0}}); // free dimensions around the contracted one
  check({{17, 3, 20}, {5, 20, 4}, {}, {}, {2}, {1}}); // columns that lie apart in the right operand
  check({{20, 3, 16}, {3, 16, 24}, {}, {}, {1, 2}, {0, 1}});
  check({{3, 20, 16}, {3, 16, 24}, {}, {}, {0, 2}, {0, 1}}); // contracted dimensions that lie apart
  check({{3, 20, 16}, {16, 24, 3}, {}, {}, {2, 0}, {0, 2}});
  check({{4, 3, 20, 5, 8}, {8, 4, 3, 9, 2}, {0}, {1}, {1, 4}, {2, 0}});
}

TEST(Dot, FewRowsColumnsOrTerms) {
  check({{4, 1, 64}, {4, 70, 64}, {0}, {0}, {2}, {2}});
  check({{4, 70, 64}, {4, 64}, {0}, {0}, {2}, {1}});
  check({{4, 3, 64}, {4, 64, 33}, {0}, {0}, {2}, {1}});
  check({{4, 40, 2}, {4, 2, 57}, {0}, {0}, {2}, {1}});
  check({{6, 8, 8}, {6, 8, 8}, {0}, {0}, {2}, {1}});
  check({{1, 4200}, {4200, 1}, {}, {}, {1}, {0}});
  check({{6, 4, 4}, {6, 4, 4}, {0}, {0}, {2}, {1}}, false);
  check({{2, 0, 8}, {2, 8, 8}, {0}, {0}, {2}, {1}}, false);
  check({{2, 9, 0}, {2, 0, 8}, {0}, {0}, {2}, {1}}, false);
}

TEST(Dot, Types) {
  auto typed = [](DType type, DType result) { return Dot{{2, 40, 66}, {2, 66, 34}, {0}, {0}, {2}, {1}, type, result}; };
  for (auto [type, result] : std::vector<std::pair<DType, DType>>{{DType::S8, DType::S32},
                                                                  {DType::S8, DType::S8},
                                                                  {DType::U8, DType::U32},
                                                                  {DType::U8, DType::S32},
                                                                  {DType::S16, DType::S32},
                                                                  {DType::U16, DType::U32},
                                                                  {DType::U32, DType::U32},
                                                                  {DType::S32, DType::S32},
                                                                  {DType::F16, DType::F16},
                                                                  {DType::BF16, DType::BF16},
                                                                  {DType::BF16, DType::F32},
                                                                  {DType::F32, DType::F32},
                                                                  {DType::F64, DType::F64},
                                                                  {DType::F8E4M3FN, DType::F32},
                                                                  {DType::F8E5M2, DType::BF16},
                                                                  {DType::F8E4M3FNUZ, DType::F32}})
    check(typed(type, result));
  check(typed(DType::S64, DType::S64), false);
  check(typed(DType::S4, DType::S32), false);
  check({{40, 66}, {66, 34}, {}, {}, {1}, {0}, DType::S8, DType::S32});
  check({{66, 40}, {34, 66}, {}, {}, {0}, {1}, DType::S8, DType::S32});
}

/// `launches`: those of the module whose instructions these are.
void checkModule(const std::string &instructions, size_t launches) {
  std::string text = "HloModule m\nENTRY e {\n" + instructions + "}\n";
  SCOPED_TRACE(text);
  EXPECT_TRUE(isTiled(text, "host"));
  EXPECT_EQ(program::Program(hlo::parseModule(text, "dot.hlo"), lookupChip("host"), {}).describe().size(), launches);
  expectRight(text);
}

TEST(Dot, ReadsOperandsThroughWhatMovesThem) {
  const std::string batched = ", lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, "
                              "rhs_contracting_dims={3}\n";
  // [batch][position][head][feature], of which heads come first for the dot
  checkModule(" x = f32[2,20,3,16] parameter(0)\n y = f32[2,24,3,16] parameter(1)\n a = f32[2,3,20,16] transpose(x), "
              "dimensions={0,2,1,3}\n b = f32[2,3,24,16] transpose(y), dimensions={0,2,1,3}\n ROOT r = f32[2,3,20,24] "
              "dot(a, b)" +
                  batched,
              1);
  // Rows of one projection: features are split into heads, and some are left out.
  checkModule(" x = f32[2,20,96] parameter(0)\n s = f32[2,20,48] slice(x), slice={[0:2],[0:20],[48:96]}\n h = "
              "f32[2,20,3,16] reshape(s)\n a = f32[2,3,20,16] transpose(h), dimensions={0,2,1,3}\n o = f32[2,20,48] "
              "slice(x), slice={[0:2],[0:20],[0:48]}\n k = f32[2,20,3,16] reshape(o)\n b = f32[2,3,20,16] "
              "transpose(k), dimensions={0,2,1,3}\n ROOT r = f32[2,3,20,20] dot(a, b)" +
                  batched,
              1);
  // A head of keys for three of queries.
  checkModule(" x = f32[2,3,20,16] parameter(0)\n y = f32[2,24,16] parameter(1)\n b = f32[2,3,24,16] broadcast(y), "
              "dimensions={0,2,3}\n ROOT r = f32[2,3,20,24] dot(x, b)" +
                  batched,
              1);
  // Every second row, and dimensions of one element.
  checkModule(" x = f32[41,1,16] parameter(0)\n y = f32[16,24] parameter(1)\n s = f32[20,1,16] slice(x), "
              "slice={[1:40:2],[0:1],[0:16]}\n a = f32[1,20,16,1] reshape(s)\n ROOT r = f32[1,20,1,24] dot(a, y), "
              "lhs_contracting_dims={2}, rhs_contracting_dims={0}\n",
              1);
  // Neither rows nor columns of what is moved are contiguous: it is made an array.
  checkModule(" x = f32[16,20,5] parameter(0)\n y = f32[5,16,24] parameter(1)\n a = f32[5,20,16] transpose(x), "
              "dimensions={2,1,0}\n ROOT r = f32[5,20,24] dot(a, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
              "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n",
              2);
  // A reshape that mixes the dimensions of a transpose.
  checkModule(" x = f32[20,16,5] parameter(0)\n y = f32[5,16,24] parameter(1)\n t = f32[5,16,20] transpose(x), "
              "dimensions={2,1,0}\n a = f32[5,20,16] reshape(t)\n ROOT r = f32[5,20,24] dot(a, y), lhs_batch_dims={0}, "
              "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}\n",
              2);
  // What is moved is made by other code; the other operand is a result of the module, and is read as such.
  checkModule(" x = f32[2,20,3,16] parameter(0)\n y = f32[2,24,3,16] parameter(1)\n n = f32[2,20,3,16] negate(x)\n a "
              "= f32[2,3,20,16] transpose(n), dimensions={0,2,1,3}\n b = f32[2,3,24,16] transpose(y), "
              "dimensions={0,2,1,3}\n d = f32[2,3,20,24] dot(a, b)" +
                  batched + " ROOT r = (f32[2,3,20,24], f32[2,3,24,16]) tuple(d, b)\n",
              3);
}

// One row with all others: elements of an operand that would be made for the dot are read once.
TEST(Dot, MakesNoArrayThatIsHardlyRead) {
  std::string text = "HloModule m\nENTRY e {\n x = f32[4,1,64] parameter(0)\n y = bf16[4,70,64] parameter(1)\n c = "
                     "f32[4,70,64] convert(y)\n ROOT r = f32[4,1,70] dot(x, c), lhs_batch_dims={0}, "
                     "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}\n}\n";
  EXPECT_FALSE(isTiled(text, "host"));
  expectRight(text);
}

// A row of an array that a loop carries is updated in place; the dot reads the array in another order before and after.
TEST(Dot, OfAnArrayThatIsUpdatedInPlace) {
  expectRight(R"(HloModule m
condition {
 s = (s32[], f32[24,3,16], f32[3,1,16]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 n = s32[] constant(5)
 ROOT r = pred[] compare(i, n), direction=LT
}
body {
 s = (s32[], f32[24,3,16], f32[3,1,16]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 a = f32[24,3,16] get-tuple-element(s), index=1
 q = f32[3,1,16] get-tuple-element(s), index=2
 one = s32[] constant(1)
 zero = s32[] constant(0)
 next = s32[] add(i, one)
 t = f32[3,24,16] transpose(a), dimensions={1,0,2}
 p = f32[3,1,24] dot(q, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
 g = f32[3,1,24] sign(p)
 h = f32[1,3,16] reshape(q)
 k = f32[1,3,16] negate(h)
 b = f32[24,3,16] dynamic-update-slice(a, k, i, zero, zero)
 u = f32[3,24,16] transpose(b), dimensions={1,0,2}
 o = f32[3,1,16] dot(g, u), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
 w = f32[3,1,16] sign(o)
 ROOT r = (s32[], f32[24,3,16], f32[3,1,16]) tuple(next, b, w)
}
ENTRY e {
 i = s32[] constant(0)
 a = f32[24,3,16] parameter(0)
 q = f32[3,1,16] parameter(1)
 s = (s32[], f32[24,3,16], f32[3,1,16]) tuple(i, a, q)
 w = (s32[], f32[24,3,16], f32[3,1,16]) while(s), condition=condition, body=body
 x = f32[24,3,16] get-tuple-element(w), index=1
 y = f32[3,1,16] get-tuple-element(w), index=2
 ROOT r = (f32[24,3,16], f32[3,1,16]) tuple(x, y)
}
)");
}

/// Right, in so many launches.
void checkLaunches(const std::string &body, size_t launches) {
  std::string text = "HloModule m\nENTRY e {\n" + body + "}\n";
  SCOPED_TRACE(text);
  EXPECT_EQ(program::Program(hlo::parseModule(text, "dot.hlo"), lookupChip("host"), {}).describe().size(), launches);
  expectRight(text);
}

TEST(Dot, ElementwiseCodeOfItsTiles) {
  std::string xy = " x = f32[70,40] parameter(0)\n w = f32[40,90] parameter(1)\n y = f32[70,90] dot(x, w), "
                   "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  std::string bias = " b = f32[90] parameter(2)\n c = f32[70,90] broadcast(b), dimensions={1}\n s = f32[70,90] add(y, "
                     "c)\n zero = f32[] constant(0)\n zeros = f32[70,90] broadcast(zero), dimensions={}\n";
  checkLaunches(xy + bias + " ROOT r = f32[70,90] maximum(s, zeros)\n", 1);
  // Its own result too, and two others.
  checkLaunches(xy + bias +
                    " m = f32[70,90] maximum(s, zeros)\n n = bf16[70,90] convert(s)\n ROOT r = (f32[70,90], "
                    "f32[70,90], bf16[70,90]) tuple(y, m, n)\n",
                1);
  // One of those is read by another. What reads no element of the dot has a kernel of its own.
  checkLaunches(xy + bias +
                    " m = f32[70,90] multiply(s, y)\n n = f32[70,90] negate(s)\n ROOT r = (f32[70,90], "
                    "f32[70,90], f32[70,90]) tuple(s, m, n)\n",
                2);
  // As an activation is, by what its gradient needs.
  checkLaunches(
      xy + " s = f32[70,90] sign(y)\n e = f32[70,90] multiply(y, s)\n g = f32[70,90] subtract(e, s)\n ROOT r = "
           "(f32[70,90], f32[70,90], f32[70,90]) tuple(s, e, g)\n",
      2);
  // Operands of the dot are read there as well, and arrays of another shape with as many elements.
  checkLaunches(" x = f32[48,48] parameter(0)\n z = f32[2304] parameter(1)\n y = f32[48,48] dot(x, x), "
                "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n a = f32[48,48] add(x, y)\n f = f32[2304] "
                "reshape(a)\n ROOT r = f32[2304] multiply(f, z)\n",
                1);
  // Of each matmul of a batch, whose parts lie apart in the array that is added.
  checkLaunches(" x = bf16[3,40,32] parameter(0)\n w = bf16[3,32,50] parameter(1)\n b = bf16[3,50] parameter(2)\n y = "
                "bf16[3,40,50] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
                "rhs_contracting_dims={1}\n c = bf16[3,40,50] broadcast(b), dimensions={0,2}\n ROOT r = "
                "bf16[3,40,50] subtract(y, c)\n",
                1);
}

// Where elements of the result are read elsewhere than in their own place, or with what comes later.
TEST(Dot, CodeThatIsNotOfItsTiles) {
  std::string xy = " x = f32[48,48] parameter(0)\n w = f32[48,48] parameter(1)\n y = f32[48,48] dot(x, w), "
                   "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  checkLaunches(xy + " t = f32[48,48] transpose(y), dimensions={1,0}\n ROOT r = f32[48,48] add(y, t)\n", 2);
  checkLaunches(xy + " v = f32[16,48] slice(y), slice={[16:32], [0:48]}\n ROOT r = f32[16,48] negate(v)\n", 2);
  // What another part of the kernel stores is read elsewhere.
  checkLaunches(xy +
                    " e = f32[48,48] negate(y)\n t = f32[48,48] transpose(e), dimensions={1,0}\n u = f32[48,48] add(y, "
                    "t)\n ROOT r = (f32[48,48], f32[48,48]) tuple(e, u)\n",
                2);
  // The gate of a layer: part of the second dot, not of the first.
  checkLaunches(xy + " z = f32[48,48] dot(w, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n g = f32[48,48] "
                     "multiply(y, z)\n n = f32[48,48] negate(y)\n ROOT r = (f32[48,48], f32[48,48]) tuple(g, n)\n",
                2);
}

TEST(Dot, RandomDimensions) {
  std::mt19937_64 random(3);
  auto below = [&](size_t n) { return int64_t(random() % n); };
  for (int number = 0; number < (heddle::testing::isLong() ? 300 : 12); ++number) {
    Dot d;
    Dimensions lhs, rhs; // names of dimensions: negative ones are free
    int64_t names = 1 + below(3), batches = below(3);
    for (int64_t name = 0; name < names + batches; ++name) {
      lhs.insert(lhs.begin() + below(lhs.size() + 1), name);
      rhs.insert(rhs.begin() + below(rhs.size() + 1), name);
    }
    for (Dimensions *side : {&lhs, &rhs})
      for (int64_t i = below(3); i > 0; --i)
        side->insert(side->begin() + below(side->size() + 1), -1);
    Dimensions sizes;
    for (int64_t name = 0; name < names + batches; ++name)
      sizes.push_back(name < names ? 1 + below(20) : 1 + below(4));
    for (int64_t name : lhs)
      d.lhs.push_back(name < 0 ? 1 + below(20) : sizes[size_t(name)]);
    for (int64_t name : rhs)
      d.rhs.push_back(name < 0 ? 1 + below(20) : sizes[size_t(name)]);
    for (int64_t name = 0; name < names + batches; ++name) {
      (name < names ? d.lhsContracting : d.lhsBatch).push_back(std::ranges::find(lhs, name) - lhs.begin());
      (name < names ? d.rhsContracting : d.rhsBatch).push_back(std::ranges::find(rhs, name) - rhs.begin());
    }
    DType types[] = {DType::F32, DType::BF16, DType::S8, DType::U8};
    d.type = types[below(4)], d.result = hlo::isFloating(d.type) ? DType::F32 : DType::S32;
    SCOPED_TRACE(number);
    check(d, isTiled(textOf(d), "host"));
  }
}

// The instructions that a target has for the type; on the host and without one, loops in tiles.
TEST(Dot, CompilesForEveryTarget) {
  for (const char *chip : {"sm_90", "gfx942", "gfx950"}) {
    SCOPED_TRACE(chip);
    for (auto [type, result] : {std::pair(DType::S8, DType::S32), std::pair(DType::U8, DType::S32),
                                std::pair(DType::F8E5M2, DType::F32), std::pair(DType::BF16, DType::BF16)}) {
      EXPECT_TRUE(isTiled(textOf({{5, 70, 96}, {5, 96, 130}, {0}, {0}, {2}, {1}, type, result}), chip));
      EXPECT_TRUE(isTiled(textOf({{5, 4, 64}, {5, 64, 50}, {0}, {0}, {2}, {1}, type, result}), chip));
    }
    EXPECT_TRUE(isTiled(textOf({{5, 70, 32}, {5, 32, 66}, {0}, {0}, {2}, {1}, DType::F64, DType::F64}), chip));
  }
}

// A batched matmul has a kernel of its own, also where a collective reads its result.
TEST(Dot, IsNotPartOfACollective) {
  program::ProgramOptions options;
  options.matmuls = program::MatmulFusion::Fused;
  hlo::Module module = hlo::parseModule(
      "HloModule m, replica_count=2\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) "
      "}\nENTRY e {\n x = f32[2,32,32] parameter(0)\n y = f32[2,32,32] parameter(1)\n d = f32[2,32,32] dot(x, y), "
      "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}\n ROOT r = "
      "f32[2,32,32] all-reduce(d), to_apply=sum\n}\n",
      "dot.hlo");
  std::vector<program::StepDescription> steps = program::Program(module, lookupChip("host"), options).describe();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].kind, "kernel");
  EXPECT_NE(steps[0].text.find("tt.dot"), std::string::npos);
  EXPECT_EQ(steps[1].kind, "all-reduce");
}

} // namespace
