// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the command line cannot show of compile(): several threads, a crash and what comes after it, modules in memory.
#include "compiler/pipeline/Compile.h"
#include "chips/Chip.h"
#include "compiler/dialects/triton/Triton.h"
#include "compiler/pipeline/Compilation.h"
#include "compiler/pipeline/CompileModule.h"
#include "compiler/pipeline/Phases.h"
#include "compiler/pipeline/Registry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "support/File.h"
#include "support/TestError.h"
#include "support/TestPaths.h"
#include <cstdlib>
#include <set>
#include <thread>

using namespace heddle;

namespace {

std::string corpus(const std::string &name) {
  return readFile(sourcePath("tests/corpus/" + name + ".ttir"));
}

CompileOptions portable() {
  CompileOptions options;
  options.processor = "x86-64-v3";
  return options;
}

TEST(CompileTest, ThreadsCompileSideBySide) {
  const std::vector<std::string> names = {"vector_add.sm_90", "row_softmax.sm_90", "transpose_f16.sm_90"};
  std::vector<std::string> alone, together(names.size() * 3);
  for (const std::string &name : names)
    alone.push_back(compile(corpus(name), name, portable()).package.serialize());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < together.size(); ++i)
    threads.emplace_back([&, i] {
      const std::string &name = names[i % names.size()];
      together[i] = compile(corpus(name), name, portable()).package.serialize();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < together.size(); ++i)
    EXPECT_EQ(together[i], alone[i % names.size()]) << names[i % names.size()];
}

TEST(CompileTest, CompilesAfterACrash) {
  setenv("HEDDLE_REPRODUCER_DIR", buildPath("").c_str(), 1);
  std::string text = corpus("vector_add.sm_90");
  CompileOptions crashing = portable();
  crashing.llvmPasses = "trigger-crash-module";
  for (int i = 0; i < 3; ++i) {
    Error error = errorOf([&] { compile(text, "add", crashing); });
    EXPECT_EQ(error.kind, ErrorClass::Internal);
    EXPECT_CONTAINS(error.notes.back(), "heddle-reproducer-");
    EXPECT_FALSE(compile(text, "add", portable()).package.binary.empty());
  }
}

TEST(CompileTest, ModuleInMemoryGivesTheSameCode) {
  std::string text = corpus("row_softmax.sm_90");
  mlir::DialectRegistry registry;
  registerInputDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  Package fromModule = compileModule(*module, "softmax", portable()).package;
  Package fromText = compile(text, "softmax", portable()).package;
  EXPECT_EQ(fromModule.binary, fromText.binary);
  EXPECT_EQ(fromModule.arguments.size(), fromText.arguments.size());
  // The module is still what it was.
  EXPECT_EQ(compileModule(*module, "softmax", portable()).package.binary, fromText.binary);
}

TEST(CompileTest, StoppingGivesTextAndNoPackage) {
  CompileOptions options = portable();
  options.stopAfter = "tile-to-host";
  CompileResult result = compile(corpus("vector_add.sm_90"), "add", options);
  EXPECT_CONTAINS(result.text, "llvm.func @");
  EXPECT_TRUE(result.package.binary.empty());
  EXPECT_EQ(result.times.back().phase, "tile-to-host");
}

/// What the package of `chip` says when it takes thread code, and the last text before machine code when it does not.
void expectThreadCode(const Chip &chip, const std::string &kernel, const std::string &lastPhase) {
  CompileOptions options;
  options.target = chip.name;
  options.keepTextOf = lastPhase;
  CompileResult machine = compile(corpus(kernel), "add", options);
  Chip taking = chip;
  taking.takesThreadCode = true;
  options.chip = &taking;
  options.keepTextOf = "";
  Package package = compile(corpus(kernel), "add", options).package;
  EXPECT_EQ(package.binaryKind, "llvm-ir");
  EXPECT_EQ(package.binary, machine.text);
  EXPECT_NE(package.binary, machine.package.binary);
  EXPECT_EQ(package.entry, machine.package.entry);
  EXPECT_EQ(package.sharedBytes, machine.package.sharedBytes);
  EXPECT_EQ(package.abiVersion, machine.package.abiVersion);
}

/// The names of the phases after which the level ends, one after the other.
std::string borders(const std::string &target, bool isTtgir) {
  std::string names;
  const Chip &chip = lookupChip(target);
  for (const Phase &phase : phasesOf(chip))
    if (phase.level != Level::Binary && isForText(phase, isTtgir) && endsLevel(chip, phase, isTtgir))
      names += std::string(phase.name) + " ";
  return names;
}

TEST(CompileTest, EachLevelEndsWithThePhaseThatLeavesIt) {
  EXPECT_EQ(borders("host", false), "peer-to-calls loops-to-branches implement-calls optimise ");
  EXPECT_EQ(borders("sm_90", false), "peer-to-calls count-slots loops-to-branches implement-calls predicate-accesses ");
  EXPECT_EQ(borders("gfx950", false), "peer-to-calls count-slots loops-to-branches implement-calls use-buffers ");
  EXPECT_EQ(borders("gfx950", true), "simplify-ttgir count-slots loops-to-branches implement-calls use-buffers ");
}

TEST(CompileTest, PackagesOfAChipThatTakesThreadCodeHoldIt) {
  expectThreadCode(sm90Chip, "row_softmax.sm_90", "predicate-accesses");
  expectThreadCode(gfx942Chip, "row_softmax.gfx942", "use-buffers");
}

TEST(CompileTest, PhasesAreNamedOnce) {
  std::set<std::string> names;
  for (const PhaseDescription &phase : describePhases()) {
    EXPECT_TRUE(names.insert(phase.name).second) << phase.name;
    EXPECT_FALSE(phase.sentence.empty()) << phase.name;
  }
}

TEST(CompileTest, DamagedTextIsAlwaysAnInputError) {
  std::string text = corpus("matmul_f16.sm_90");
  for (size_t length = 0; length < text.size() / 2; length += 97) {
    Error error = errorOf([&] { compile(text.substr(0, length), "cut", portable()); });
    EXPECT_EQ(error.kind, ErrorClass::Input) << length << ": " << error.what();
  }
}

} // namespace
