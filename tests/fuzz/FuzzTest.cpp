// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fuzzer itself: programs are reproducible, and executors with planted faults are found out.
#include "mlir/IR/MLIRContext.h"
#include "support/Error.h"
#include "tests/fuzz/Generator.h"
#include "tests/fuzz/Reduce.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace heddle::fuzz;
using heddle::reference::Argument;
using heddle::reference::Grid;

static FuzzProgram programOf(uint64_t seed, const GeneratorOptions &options = {}) {
  static mlir::MLIRContext context = [] {
    mlir::DialectRegistry registry;
    heddle::reference::registerDialects(registry);
    return mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
  }();
  context.loadAllAvailableDialects();
  return Generator(context, seed, options).generate();
}

namespace {
/// A reference evaluator that misreads one word of the program.
class MisreadingExecutor : public Executor {
public:
  MisreadingExecutor(std::string word, std::string as) : word(std::move(word)), as(std::move(as)) {}
  std::string name() const override { return "misreads " + word; }
  void run(const std::string &text, const Grid &grid, std::vector<Argument> &arguments) override {
    std::string changed = text;
    for (size_t at = changed.find(word); at != std::string::npos; at = changed.find(word, at + as.size()))
      changed.replace(at, word.size(), as);
    makeReferenceExecutor()->run(changed, grid, arguments);
  }

private:
  std::string word, as;
};

/// Fails where a word occurs, at another address each time.
class FaultingExecutor : public Executor {
public:
  explicit FaultingExecutor(std::string word) : word(std::move(word)) {}
  std::string name() const override { return "faults"; }
  void run(const std::string &text, const Grid &grid, std::vector<Argument> &arguments) override {
    static const char *const addresses[] = {"0x7000", "0xdec5", "0x7fab"};
    if (text.find(word) != std::string::npos)
      throw heddle::internalError(std::string("writes 4 bytes at ") + addresses[count++ % 3]);
    makeReferenceExecutor()->run(text, grid, arguments);
  }

private:
  std::string word;
  int count = 0;
};

/// A reference evaluator whose result has one bit wrong.
class BitFlippingExecutor : public Executor {
public:
  explicit BitFlippingExecutor(size_t argument) : argument(argument) {}
  std::string name() const override { return "flips a bit"; }
  void run(const std::string &text, const Grid &grid, std::vector<Argument> &arguments) override {
    makeReferenceExecutor()->run(text, grid, arguments);
    arguments[argument].bytes.back() ^= 0x40;
  }

private:
  size_t argument;
};
} // namespace

TEST(Fuzz, a_seed_gives_one_program) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    FuzzProgram first = programOf(seed), second = programOf(seed);
    EXPECT_EQ(first.text, second.text);
    ASSERT_EQ(first.arguments.size(), second.arguments.size());
    for (size_t i = 0; i < first.arguments.size(); ++i)
      EXPECT_EQ(first.arguments[i].bytes, second.arguments[i].bytes);
  }
  EXPECT_NE(programOf(1).text, programOf(2).text);
}

TEST(Fuzz, families_can_be_left_out) {
  GeneratorOptions options;
  options.without = {"reduce", "arg_reduce", "cat"};
  for (uint64_t seed = 0; seed < 100; ++seed)
    EXPECT_EQ(programOf(seed, options).text.find("tt.reduce"), std::string::npos) << seed;
}

// Each must come up often enough to be tested by the 150 programs of ./dev test, or nearly.
TEST(Fuzz, rare_operations_are_generated) {
  std::string all;
  for (uint64_t seed = 0; seed < 400; ++seed)
    all += programOf(seed).text;
  for (const char *text : {"tt.descriptor_reduce add", "tt.descriptor_reduce max", "xui32>", "tt.descriptor_gather",
                           "tt.descriptor_scatter", "tensor<1x16xi32>>, tensor<8xi16>", "tt.int_to_ptr",
                           "tt.ptr_to_int", "tensor<16x!tt.ptr<!tt.ptr<", "tt.print", "tt.assert", "lhs_k_pack = false",
                           "rhs_k_pack = false", "tensor<16x4xf8E4M3FN> *", "tensor<16x2xi8> *",
                           "tt.atomic_load acquire", "tt.atomic_store release", "tt.atomic_poll acquire"})
    EXPECT_NE(all.find(text), std::string::npos) << text;
}

class PlantedBug : public testing::TestWithParam<std::pair<const char *, const char *>> {};

TEST_P(PlantedBug, is_found) {
  MisreadingExecutor executor(GetParam().first, GetParam().second);
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    FuzzProgram program = programOf(seed);
    if (program.text.find(GetParam().first) != std::string::npos && checkProgram(program, executor))
      return;
  }
  FAIL() << GetParam().first << " read as " << GetParam().second << " was never noticed";
}

INSTANTIATE_TEST_SUITE_P(
    Words, PlantedBug,
    testing::Values(std::pair("arith.shrsi", "arith.shrui"), std::pair("arith.divsi", "arith.divui"),
                    std::pair("arith.maxsi", "arith.maxui"), std::pair("arith.extsi", "arith.extui"),
                    std::pair("arith.addf", "arith.subf"), std::pair("arith.maxnumf", "arith.maximumf"),
                    std::pair("arith.minimumf", "arith.minnumf"), std::pair("arith.cmpf ult", "arith.cmpf olt"),
                    std::pair("propagateNan = all", "propagateNan = none"),
                    std::pair("rounding = rtne", "rounding = rtz"), std::pair("reverse = true", "reverse = false"),
                    std::pair("array<i32: 1, 0, 2>", "array<i32: 0, 1, 2>"), std::pair("math.exp2", "math.exp"),
                    std::pair("math.floor", "math.ceil"), std::pair("atomic_rmw umax", "atomic_rmw max"),
                    std::pair("arith.cmpi slt", "arith.cmpi sle"),
                    std::pair("descriptor_reduce max", "descriptor_reduce min"), std::pair("xui32>>", "xi32>>")),
    [](const auto &info) {
      std::string name = std::string(info.param.first) + "_as_" + info.param.second;
      for (char &c : name)
        c = isalnum(c) ? c : '_';
      return name;
    });

TEST(Fuzz, a_wrong_bit_is_found_in_every_output) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    FuzzProgram program = programOf(seed);
    for (const OutputRule &rule : program.outputs) {
      if (rule.tolerance > 0 || rule.elementType[0] != 'i')
        continue;
      BitFlippingExecutor executor(rule.argument);
      auto difference = checkProgram(program, executor);
      ASSERT_TRUE(difference) << seed;
      EXPECT_NE(difference->message.find("argument " + std::to_string(rule.argument) + " "), std::string::npos);
    }
  }
}

TEST(Fuzz, tolerances_and_zeros) {
  auto argument = [](float value) {
    Argument result = Argument::buffer(std::vector<uint8_t>(4));
    std::memcpy(result.bytes.data(), &value, 4);
    return std::vector<Argument>{result};
  };
  auto differ = [&](float a, float b, double tolerance, bool looseZero) {
    FuzzProgram program;
    program.outputs = {{0, "f32", tolerance, looseZero}};
    return compareOutputs(program, argument(a), argument(b)).has_value();
  };
  EXPECT_TRUE(differ(1, 1.0000001f, 0, false));
  EXPECT_FALSE(differ(1, 1.0000001f, 1e-6, false));
  EXPECT_TRUE(differ(1, 1.001f, 1e-6, false));
  EXPECT_TRUE(differ(0.0f, -0.0f, 0, false));
  EXPECT_FALSE(differ(0.0f, -0.0f, 0, true));
  EXPECT_FALSE(differ(NAN, -NAN, 0, false));
  EXPECT_TRUE(differ(NAN, 1, 1e30, false));
  EXPECT_TRUE(differ(INFINITY, 1, 1e30, false));
  EXPECT_FALSE(differ(INFINITY, INFINITY, 1e-6, false));
}

TEST(Fuzz, a_failing_program_shrinks_around_its_fault) {
  MisreadingExecutor executor("arith.muli", "arith.addi");
  FuzzProgram program = programOf(1);
  auto difference = checkProgram(program, executor);
  ASSERT_TRUE(difference);
  FuzzProgram smaller = reduceProgram(program, executor, *difference);
  EXPECT_TRUE(checkProgram(smaller, executor));
  EXPECT_LT(smaller.text.size(), program.text.size() / 2);
  EXPECT_NE(smaller.text.find("arith.muli"), std::string::npos);
}

TEST(Fuzz, so_does_one_whose_fault_has_an_address) {
  FaultingExecutor executor("arith.muli");
  FuzzProgram program = programOf(1);
  auto difference = checkProgram(program, executor);
  ASSERT_TRUE(difference);
  FuzzProgram smaller = reduceProgram(program, executor, *difference);
  EXPECT_LT(smaller.text.size(), program.text.size() / 2);
  EXPECT_NE(smaller.text.find("arith.muli"), std::string::npos);
}

TEST(Fuzz, an_executor_that_fails_is_a_difference) {
  MisreadingExecutor executor("tt.return", "tt.nonsense");
  auto difference = checkProgram(programOf(0), executor);
  ASSERT_TRUE(difference);
  EXPECT_NE(difference->message.find("misreads tt.return failed"), std::string::npos);
}

// The second choice of the reference must stay within every tolerance, and must not be the first one again.
TEST(Fuzz, tolerances_are_needed_and_suffice) {
  int different = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    FuzzProgram program = programOf(seed);
    std::unique_ptr<Executor> contrary = makeSimplifiedExecutor();
    auto difference = checkProgram(program, *contrary);
    EXPECT_FALSE(difference) << "seed " << seed << ": " << difference->message;
    std::vector<Argument> first = program.arguments, second = program.arguments;
    makeReferenceExecutor()->run(program.text, program.grid, first);
    contrary->run(program.text, program.grid, second);
    for (OutputRule &rule : program.outputs)
      rule.tolerance = 0;
    different += compareOutputs(program, first, second).has_value();
  }
  EXPECT_GT(different, 5);
  EXPECT_LT(different, 100); // most programs are compared bit by bit
}
