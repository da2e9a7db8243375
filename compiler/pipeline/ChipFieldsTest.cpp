// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chip is data: one that is in no table is compiled for by its fields, and what a field takes away is not in the
// code.
#include "chips/Chip.h"
#include "compiler/pipeline/Compile.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "support/File.h"
#include "support/TestError.h"
#include "support/TestPaths.h"

using namespace heddle;

namespace {

std::string assembly(const Chip &chip, const std::string &kernel) {
  CompileOptions options;
  options.chip = &chip;
  options.stopAfter = "asm";
  return compile(readFile(sourcePath(kernel)), kernel, options).text;
}

void expectLacks(const std::string &code, const std::string &part) {
  EXPECT_EQ(code.find(part), std::string::npos) << part;
}

const std::string matmul = "tests/corpus/matmul_f16.gfx942.ttir", softmax = "tests/corpus/row_softmax.gfx942.ttir";

Chip renamed(const Chip &from) {
  Chip chip = from;
  chip.name = "half-" + from.name;
  chip.computeUnits = from.computeUnits / 2;
  return chip;
}

TEST(ChipFields, AnotherNameAndHalfTheUnitsMakeTheSameCode) {
  for (const Chip *known : {&gfx942Chip, &gfx950Chip, &sm90Chip}) {
    Chip chip = renamed(*known);
    EXPECT_EQ(assembly(chip, matmul), assembly(*known, matmul)) << chip.name;
    CompileOptions options;
    options.chip = &chip;
    Package package = compile(readFile(sourcePath(matmul)), "matmul", options).package;
    EXPECT_EQ(package.target, chip.name);
    EXPECT_EQ(package.processor, known->processor);
  }
}

TEST(ChipFields, MatmulsAreThoseOfTheChip) {
  Chip chip = renamed(gfx950Chip);
  EXPECT_CONTAINS(assembly(chip, matmul), "v_mfma_f32_16x16x32_f16");
  chip.matmuls = gfx942Chip.matmuls;
  EXPECT_CONTAINS(assembly(chip, matmul), "v_mfma_f32_16x16x16_f16");
  expectLacks(assembly(chip, matmul), "v_mfma_f32_16x16x32_f16");
  chip.matmuls.clear();
  expectLacks(assembly(chip, matmul), "v_mfma");
}

TEST(ChipFields, LanesAreExchangedByWhatTheChipHas) {
  Chip chip = renamed(gfx950Chip);
  EXPECT_CONTAINS(assembly(chip, softmax), "v_permlane32_swap");
  chip.laneSwaps = false;
  expectLacks(assembly(chip, softmax), "v_permlane");
}

TEST(ChipFields, NoWarpGroupsNoDependentLaunches) {
  Chip chip = renamed(sm90Chip);
  const std::string kernel = "tests/corpus/matmul_f16.sm_90.ttir";
  std::string code = assembly(chip, kernel);
  EXPECT_CONTAINS(code, "wgmma.mma_async");
  EXPECT_CONTAINS(code, "griddepcontrol.wait");
  chip.warpGroupMatmuls = chip.dependentLaunches = false;
  code = assembly(chip, kernel);
  expectLacks(code, "wgmma");
  expectLacks(code, "griddepcontrol");
  EXPECT_CONTAINS(code, "mma.sync");
}

TEST(ChipFields, NoCopiesIntoSharedMemory) {
  Chip chip = renamed(sm90Chip);
  const std::string kernel = "tests/corpus/attention_causal.sm_90.ttir";
  EXPECT_CONTAINS(assembly(chip, kernel), "cp.async");
  chip.sharedCopies = {};
  expectLacks(assembly(chip, kernel), "cp.async");
}

TEST(ChipFields, SharedMemoryIsAsLargeAsTheChipSays) {
  Chip chip = renamed(gfx942Chip);
  chip.sharedMemoryBytes = 1024;
  EXPECT_CONTAINS(messageOf([&] { assembly(chip, matmul); }), "the chip has 1024");
}

TEST(ChipFields, BlocksAreAsLargeAsTheChipSays) {
  Chip chip = renamed(gfx942Chip);
  chip.threadsPerBlock = 128;
  EXPECT_EQ(messageOf([&] { assembly(chip, matmul); }),
            "a block of half-gfx942 cannot have 4 warps\nthe number is a power of two from 1 to 2");
}

/// The compiler makes operations of ROCDL by the names in the chips' tables.
TEST(MatrixInstructions, EachIsAnOperationOfRocdl) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::ROCDL::ROCDLDialect>();
  for (const Chip *chip : {&gfx942Chip, &gfx950Chip}) {
    EXPECT_FALSE(chip->matmuls.empty());
    for (const WarpMatmul &row : chip->matmuls) {
      std::vector<std::string> formats = {""};
      if (row.operand == MatrixOperand::Fp8)
        formats = {".fp8.fp8", ".fp8.bf8", ".bf8.fp8", ".bf8.bf8"};
      for (const std::string &format : formats) {
        std::string name = std::string("rocdl.mfma.") + row.name + format;
        EXPECT_TRUE(mlir::RegisteredOperationName::lookup(name, &context)) << chip->name << ": " << name;
      }
    }
  }
}

/// Without it a driver may give 32 registers to a large kernel (docs/sm_90.md).
TEST(Ptx, EveryKernelSaysHowManyBlocksFit) {
  CompileOptions options;
  options.target = "sm_90";
  options.stopAfter = "asm";
  auto fitting = [&](const std::string &name, int warps) {
    options.warps = warps;
    std::string code = compile(readFile(sourcePath("tests/corpus/" + name + ".sm_90.ttir")), name, options).text;
    EXPECT_CONTAINS(code, ".reqntid " + std::to_string(32 * warps));
    expectLacks(code, ".maxnreg");
    std::string line = ".minnctapersm ";
    size_t at = code.find(line);
    return at == std::string::npos ? 0 : std::stoi(code.substr(at + line.size()));
  };
  // 48 registers for each of the block's threads, whatever it needs.
  EXPECT_EQ(fitting("spin_lock_sum", 1), 32); // as many blocks as there can be
  EXPECT_EQ(fitting("vector_add", 4), 10);
  EXPECT_EQ(fitting("vector_add", 32), 1);
  // What ptxas 12.8 needs to keep all in registers: 72, 40, 160, 96.
  EXPECT_EQ(fitting("transpose_f16", 4), 6);
  EXPECT_EQ(fitting("transpose_f16", 8), 5);
  EXPECT_EQ(fitting("attention_causal", 4), 3);
  EXPECT_EQ(fitting("attention_causal", 8), 2);
  // A multiprocessor has shared memory for two of its blocks, of 104 KiB each.
  options.stages = 6;
  EXPECT_EQ(fitting("attention_causal", 4), 2);
}

} // namespace
