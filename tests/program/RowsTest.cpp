// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Row reductions and what is made of them: fused into a collective's kernel, by each algorithm, and as a kernel of
// their own they give the same bits, and what the plain evaluator makes of the module.
#include "collectives/Algorithm.h"
#include "frontend/hlo/Parser.h"
#include "tests/multi_device/TestDevices.h"
#include "tests/program/RunModule.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::program;
using namespace heddle::program::testing;
namespace reference = heddle::hlo::reference;

namespace {

/// `body` with R reductions of f32 by name: sum, largest, ....
std::string moduleOf(const std::string &body, int replicas, const std::string &type = "f32") {
  std::string text = "HloModule rows, replica_count=" + std::to_string(replicas) + "\n";
  for (auto [name, operation] : {std::pair("sum", "add"),
                                 {"largest", "maximum"},
                                 {"least", "minimum"},
                                 {"product", "multiply"},
                                 {"all", "and"},
                                 {"some", "or"}}) {
    bool isBits = std::string(operation) == "and" || std::string(operation) == "or";
    if (isBits && type[0] != 's' && type[0] != 'u')
      continue;
    text += std::string(name) + " { a = " + type + "[] parameter(0)\n b = " + type +
            "[] parameter(1)\n ROOT c = " + type + "[] " + operation + "(a, b) }\n";
  }
  return text + "ENTRY main {\n" + body + "}\n";
}

Inputs inputsOf(const hlo::Module &module) {
  Inputs inputs(size_t(module.deviceCount()));
  uint64_t state = 88172645463325252;
  for (auto &device : inputs)
    for (size_t i = 0; i < module.entryComputation().parameters.size(); ++i) {
      device.push_back(reference::zeros(module.entryComputation().parameter(i).shape));
      const hlo::Shape &shape = device.back().shape;
      for (int64_t at = 0; at < shape.elementCount(); ++at) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        double number = double(int64_t(state % 2001) - 1000) / (hlo::isFloating(shape.type) ? 512 : 50);
        reference::storeNumber(shape.type, std::trunc(number * 256) / 256, device.back().at(at));
      }
    }
  return inputs;
}

size_t launchesOf(const hlo::Module &module, const ProgramOptions &options) {
  return Program(module, heddle::testing::openFirstDevices(module.deviceCount()), options).describe().size();
}

void expectNear(const Results &seen, const Results &expected, double tolerance) {
  for (size_t device = 0; device < expected.size(); ++device)
    for (size_t i = 0; i < expected[device].size(); ++i) {
      const ArrayBytes &one = seen[device][i], &other = expected[device][i];
      hlo::DType type = other.shape.type;
      ASSERT_EQ(one.bytes.size(), other.bytes.size());
      for (int64_t at = 0; at < other.shape.elementCount(); ++at) {
        size_t byte = size_t(at * hlo::elementSizeBytes(type));
        double x = reference::loadNumber(type, reinterpret_cast<const uint8_t *>(one.bytes.data() + byte));
        double y = reference::loadNumber(type, reinterpret_cast<const uint8_t *>(other.bytes.data() + byte));
        ASSERT_NEAR(x, y, tolerance * std::max(1.0, std::abs(y)))
            << "device " << device << ", result " << i << " at " << at;
      }
    }
}

/// `launches` of the fused module, `separate` of the other.
void check(const std::string &text, size_t launches, size_t separate, double tolerance = 2e-5) {
  SCOPED_TRACE(text);
  hlo::Module module = hlo::parseModule(text, "rows.hlo");
  if (!heddle::testing::hasDevices(module.deviceCount()))
    GTEST_SKIP() << "there are too few devices";
  ProgramOptions plain;
  plain.partition.fuseCollectives = false;
  ProgramOptions whole; // also where two kernels are faster
  whole.partition.takesRows = [](const hlo::Instruction &) { return true; };
  EXPECT_EQ(launchesOf(module, whole), launches);
  EXPECT_EQ(launchesOf(module, plain), separate);
  Inputs inputs = inputsOf(module);
  Results expected = runReference(module, inputs), apart = runOnDevices(module, inputs, plain);
  expectNear(apart, expected, tolerance);
  auto expectSameBits = [&](const ProgramOptions &options) {
    Results seen = runOnDevices(module, inputs, options);
    for (size_t device = 0; device < seen.size(); ++device)
      for (size_t i = 0; i < seen[device].size(); ++i)
        EXPECT_EQ(seen[device][i].bytes, apart[device][i].bytes) << "device " << device << ", result " << i;
  };
  expectSameBits(whole);
  for (const char *algorithm : {"", "one_shot_packets", "two_shot_packets", "two_shot_pull", "scatter_packets"}) {
    bool scatters = text.find("reduce-scatter(") != std::string::npos;
    if (*algorithm && scatters != std::string(algorithm).starts_with("scatter"))
      continue;
    SCOPED_TRACE(algorithm);
    ProgramOptions options;
    options.algorithm = algorithm;
    expectSameBits(options);
  }
}

std::string rmsNorm(const std::string &shape, const std::string &rows, const std::string &columns, bool keepsSum) {
  return " x = " + shape + " parameter(0)\n r = " + shape + " parameter(1)\n w = " + columns +
         " parameter(2)\n t = " + shape + " all-reduce(x), to_apply=sum\n s = " + shape + " add(t, r)\n q = " + shape +
         " multiply(s, s)\n z = f32[] constant(0)\n n = " + rows +
         " reduce(q, z), dimensions={1}, to_apply=sum\n e = " + "f32[] constant(0.01)\n es = " + rows +
         " broadcast(e), dimensions={}\n m = " + rows + " add(n, es)\n k = " + rows + " rsqrt(m)\n ks = " + shape +
         " broadcast(k), dimensions={0}\n a = " + shape + " multiply(s, ks)\n ws = " + shape +
         " broadcast(w), dimensions={1}\n o = " + shape + " multiply(a, ws)\n" +
         (keepsSum ? " ROOT y = (" + shape + ", " + shape + ") tuple(o, s)\n" : " ROOT y = " + shape + " add(o, x)\n");
}

// The last rank's slice of rows is shorter, or there is none for it; tiles are longer than rows.
TEST(Rows, AllReduceAndNorm) {
  check(moduleOf(rmsNorm("f32[5,40]", "f32[5]", "f32[40]", true), 3), 1, 2);
  check(moduleOf(rmsNorm("f32[2,32]", "f32[2]", "f32[32]", false), 4), 1, 2);
  check(moduleOf(rmsNorm("f32[1,200]", "f32[1]", "f32[200]", true), 2), 1, 2);
}

// Rows of several words for each thread of a GPU, whose packets have no flags; the last words of a tile hold no
// element.
TEST(Rows, LongEnoughForPacketsWithoutFlags) {
  check(moduleOf(rmsNorm("f32[3,1000]", "f32[3]", "f32[1000]", true), 2), 1, 2);
}

// Two reductions, rows of two dimensions, and 16-bit elements.
TEST(Rows, Softmax) {
  check(moduleOf(R"( x = f32[2,3,4,16] parameter(0)
 t = f32[2,3,4,16] all-reduce(x), to_apply=sum
 l = f32[] constant(-inf)
 m = f32[2,3] reduce(t, l), dimensions={3,2}, to_apply=largest
 ms = f32[2,3,4,16] broadcast(m), dimensions={0,1}
 d = f32[2,3,4,16] subtract(t, ms)
 e = f32[2,3,4,16] exponential(d)
 z = f32[] constant(0)
 s = f32[2,3] reduce(e, z), dimensions={2,3}, to_apply=sum
 ss = f32[2,3,4,16] broadcast(s), dimensions={0,1}
 p = f32[2,3,4,16] divide(e, ss)
 h = bf16[2,3,4,16] convert(p)
 f = bf16[6,64] reshape(h)
 ROOT y = (bf16[6,64], f32[2,3]) tuple(f, m)
)",
                 2),
        1, 2, 1e-2);
}

TEST(Rows, ReduceScatter) {
  check(moduleOf(R"( x = f32[6,48] parameter(0)
 t = f32[2,48] reduce-scatter(x), dimensions={0}, replica_groups={}, to_apply=sum
 z = f32[] constant(1)
 s = f32[2] reduce(t, z), dimensions={1}, to_apply=sum
 ss = f32[2,48] broadcast(s), dimensions={0}
 ROOT y = f32[2,48] subtract(t, ss)
)",
                 3),
        1, 2);
}

// The reduction of everything is a row too.
TEST(Rows, OneRowWithoutADimension) {
  check(moduleOf(R"( x = f32[100] parameter(0)
 t = f32[100] all-reduce(x), to_apply=sum
 z = f32[] constant(0)
 s = f32[] reduce(t, z), dimensions={0}, to_apply=sum
 ss = f32[100] broadcast(s), dimensions={}
 ROOT y = f32[100] subtract(t, ss)
)",
                 2),
        1, 2);
}

// What fills the tile after a row changes nothing.
TEST(Rows, EveryReduction) {
  for (const char *type : {"s32", "u8", "s64", "f32"}) {
    std::string t = type, results = "t", shapes = t + "[3,37]";
    std::string body = " x = " + t + "[3,37] parameter(0)\n t = " + t +
                       "[3,37] all-reduce(x), to_apply=largest\n z = " + t + "[] constant(3)\n";
    for (const char *reduction : {"sum", "largest", "least", "product", "all", "some"}) {
      std::string r = reduction;
      if (t == "f32" && (r == "all" || r == "some"))
        continue;
      body += " s_" + r + " = " + t + "[3] reduce(t, z), dimensions={1}, to_apply=" + r + "\n";
      results += ", s_" + r, shapes += ", " + t + "[3]";
    }
    size_t apart = 1 + size_t(std::count(results.begin(), results.end(), ','));
    check(moduleOf(body + " ROOT y = (" + shapes + ") tuple(" + results + ")\n", 2, t), 1, apart, 1e-4);
  }
}

// A row is at hand, and nothing else: what reads other rows, or columns, is a kernel of its own.
TEST(Rows, WhatReadsOtherRowsIsNotFused) {
  std::string head = R"( x = f32[64,64] parameter(0)
 t = f32[64,64] all-reduce(x), to_apply=sum
 z = f32[] constant(0)
 s = f32[64] reduce(t, z), dimensions={1}, to_apply=sum
)";
  check(moduleOf(head + " ss = f32[64,64] broadcast(s), dimensions={1}\n ROOT y = f32[64,64] subtract(t, ss)\n", 2), 2,
        3);
  check(moduleOf(head + " v = f32[64] reverse(s), dimensions={0}\n vs = f32[64,64] broadcast(v), dimensions={0}\n"
                        " ROOT y = f32[64,64] subtract(t, vs)\n",
                 2),
        2, 3);
  check(moduleOf(head +
                     " ss = f32[64,64] broadcast(s), dimensions={0}\n u = f32[64,64] transpose(t), dimensions={1,0}\n"
                     " ROOT y = f32[64,64] subtract(u, ss)\n",
                 2),
        2, 2);
}

// Without a collective: what is read in between, or comes too late, stays where it is.
TEST(Rows, KernelsOfTheirOwn) {
  check(moduleOf(R"( x = f32[8,64] parameter(0)
 a = f32[8,64] exponential(x)
 z = f32[] constant(0)
 s = f32[8] reduce(a, z), dimensions={1}, to_apply=sum
 ss = f32[8,64] broadcast(s), dimensions={0}
 p = f32[8,64] divide(a, ss)
 g = f32[8,64] all-reduce(a), to_apply=sum
 ROOT y = (f32[8,64], f32[8,64], f32[8,64]) tuple(a, p, g)
)",
                 2),
        2, 2);
  check(moduleOf(R"( x = f32[8,64] parameter(0)
 a = f32[8,64] exponential(x)
 g = f32[8,64] all-reduce(a), to_apply=largest
 z = f32[] constant(0)
 s = f32[8] reduce(a, z), dimensions={1}, to_apply=sum
 ss = f32[8,64] broadcast(s), dimensions={0}
 p = f32[8,64] multiply(g, ss)
 ROOT y = (f32[8,64], f32[8,64]) tuple(a, p)
)",
                 2),
        3, 3);
}

} // namespace
