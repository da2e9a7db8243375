// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix instructions of both chips. Sources: AMD Instinct MI300 (CDNA3) and CDNA4 Instruction Set Architecture,
// VOP3P-MAI.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/MatrixMultiply.h"

namespace heddle::simulator {
namespace {

using enum MatrixElement;

template <MatrixInstruction matrix>
void execute(Wave &wave, const Instruction &instruction) {
  multiplyMatrices(wave, instruction, matrix);
}

constexpr DataType resultType(MatrixElement element) {
  return element == F64 ? DataType::F64 : element == I8 ? DataType::I32 : DataType::F32;
}

template <MatrixInstruction matrix>
void add(InstructionTable &table, const char *name, ChipSet chips = ChipSet::Both) {
  DataType result = resultType(matrix.a);
  bool sparse = matrix.kind == MatrixKind::Sparse;
  table.add(
      {.mnemonic = name,
       .execute = execute<matrix>,
       .modified = execute<matrix>,
       .types = {result, DataType::B32, DataType::B32, sparse ? DataType::B32 : result, DataType::F32, DataType::F32},
       .implicit = uint16_t(ignoresExec | (sparse ? readsDestination : 0) | (matrix.a == I8 ? 0 : approximates)),
       .chips = chips});
}

template <MatrixShape shape, MatrixElement element>
constexpr MatrixInstruction dense{shape, element, element};

void addSingle(InstructionTable &table) {
  add<dense<{32, 32, 1, 2}, F32>>(table, "v_mfma_f32_32x32x1_2b_f32");
  add<dense<{16, 16, 1, 4}, F32>>(table, "v_mfma_f32_16x16x1_4b_f32");
  add<dense<{4, 4, 1, 16}, F32>>(table, "v_mfma_f32_4x4x1_16b_f32");
  add<dense<{32, 32, 2}, F32>>(table, "v_mfma_f32_32x32x2_f32");
  add<dense<{16, 16, 4}, F32>>(table, "v_mfma_f32_16x16x4_f32");
  add<dense<{16, 16, 8}, Xf32>>(table, "v_mfma_f32_16x16x8_xf32", ChipSet::Gfx942);
  add<dense<{32, 32, 4}, Xf32>>(table, "v_mfma_f32_32x32x4_xf32", ChipSet::Gfx942);
  add<dense<{16, 16, 4}, F64>>(table, "v_mfma_f64_16x16x4_f64");
  add<dense<{4, 4, 4, 4}, F64>>(table, "v_mfma_f64_4x4x4_4b_f64");
}

void addHalf(InstructionTable &table) {
  add<dense<{32, 32, 4, 2}, F16>>(table, "v_mfma_f32_32x32x4_2b_f16");
  add<dense<{16, 16, 4, 4}, F16>>(table, "v_mfma_f32_16x16x4_4b_f16");
  add<dense<{4, 4, 4, 16}, F16>>(table, "v_mfma_f32_4x4x4_16b_f16");
  add<dense<{32, 32, 8}, F16>>(table, "v_mfma_f32_32x32x8_f16");
  add<dense<{16, 16, 16}, F16>>(table, "v_mfma_f32_16x16x16_f16");
  add<dense<{16, 16, 32}, F16>>(table, "v_mfma_f32_16x16x32_f16", ChipSet::Gfx950);
  add<dense<{32, 32, 16}, F16>>(table, "v_mfma_f32_32x32x16_f16", ChipSet::Gfx950);
  add<dense<{32, 32, 4, 2}, BF16>>(table, "v_mfma_f32_32x32x4_2b_bf16");
  add<dense<{16, 16, 4, 4}, BF16>>(table, "v_mfma_f32_16x16x4_4b_bf16");
  add<dense<{4, 4, 4, 16}, BF16>>(table, "v_mfma_f32_4x4x4_16b_bf16");
  add<dense<{32, 32, 8}, BF16>>(table, "v_mfma_f32_32x32x8_bf16");
  add<dense<{16, 16, 16}, BF16>>(table, "v_mfma_f32_16x16x16_bf16");
  add<dense<{16, 16, 32}, BF16>>(table, "v_mfma_f32_16x16x32_bf16", ChipSet::Gfx950);
  add<dense<{32, 32, 16}, BF16>>(table, "v_mfma_f32_32x32x16_bf16", ChipSet::Gfx950);
}

void addBytes(InstructionTable &table) {
  add<dense<{32, 32, 4, 2}, I8>>(table, "v_mfma_i32_32x32x4_2b_i8");
  add<dense<{16, 16, 4, 4}, I8>>(table, "v_mfma_i32_16x16x4_4b_i8");
  add<dense<{4, 4, 4, 16}, I8>>(table, "v_mfma_i32_4x4x4_16b_i8");
  add<dense<{32, 32, 16}, I8>>(table, "v_mfma_i32_32x32x16_i8");
  add<dense<{16, 16, 32}, I8>>(table, "v_mfma_i32_16x16x32_i8");
  add<dense<{16, 16, 64}, I8>>(table, "v_mfma_i32_16x16x64_i8", ChipSet::Gfx950);
  add<dense<{32, 32, 32}, I8>>(table, "v_mfma_i32_32x32x32_i8", ChipSet::Gfx950);
}

constexpr MatrixElement ofChip(MatrixElement ocp, ChipSet chip) {
  return chip == ChipSet::Gfx950 ? ocp : ocp == Fp8 ? Fp8Fnuz : Bf8Fnuz;
}

/// The four pairs of 8-bit floats, fp8 and bf8; `names` in the order of the calls.
template <ChipSet chip, MatrixShape shape, MatrixKind kind>
void addPairs(InstructionTable &table, std::array<const char *, 4> names) {
  constexpr MatrixElement fp = ofChip(Fp8, chip), bf = ofChip(Bf8, chip);
  add<MatrixInstruction{shape, fp, fp, kind}>(table, names[0], chip);
  add<MatrixInstruction{shape, fp, bf, kind}>(table, names[1], chip);
  add<MatrixInstruction{shape, bf, fp, kind}>(table, names[2], chip);
  add<MatrixInstruction{shape, bf, bf, kind}>(table, names[3], chip);
}

template <ChipSet chip>
void addSmallFloats(InstructionTable &table) {
  addPairs<chip, MatrixShape{16, 16, 32}, MatrixKind::Dense>(
      table, {"v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_f32_16x16x32_fp8_bf8", "v_mfma_f32_16x16x32_bf8_fp8",
              "v_mfma_f32_16x16x32_bf8_bf8"});
  addPairs<chip, MatrixShape{32, 32, 16}, MatrixKind::Dense>(
      table, {"v_mfma_f32_32x32x16_fp8_fp8", "v_mfma_f32_32x32x16_fp8_bf8", "v_mfma_f32_32x32x16_bf8_fp8",
              "v_mfma_f32_32x32x16_bf8_bf8"});
  addPairs<chip, MatrixShape{16, 16, 64}, MatrixKind::Sparse>(
      table, {"v_smfmac_f32_16x16x64_fp8_fp8", "v_smfmac_f32_16x16x64_fp8_bf8", "v_smfmac_f32_16x16x64_bf8_fp8",
              "v_smfmac_f32_16x16x64_bf8_bf8"});
  addPairs<chip, MatrixShape{32, 32, 32}, MatrixKind::Sparse>(
      table, {"v_smfmac_f32_32x32x32_fp8_fp8", "v_smfmac_f32_32x32x32_fp8_bf8", "v_smfmac_f32_32x32x32_bf8_fp8",
              "v_smfmac_f32_32x32x32_bf8_bf8"});
}

template <MatrixShape shape, MatrixElement element>
constexpr MatrixInstruction sparse{shape, element, element, MatrixKind::Sparse};

void addSparse(InstructionTable &table) {
  add<sparse<{16, 16, 32}, F16>>(table, "v_smfmac_f32_16x16x32_f16");
  add<sparse<{32, 32, 16}, F16>>(table, "v_smfmac_f32_32x32x16_f16");
  add<sparse<{16, 16, 32}, BF16>>(table, "v_smfmac_f32_16x16x32_bf16");
  add<sparse<{32, 32, 16}, BF16>>(table, "v_smfmac_f32_32x32x16_bf16");
  add<sparse<{16, 16, 64}, I8>>(table, "v_smfmac_i32_16x16x64_i8");
  add<sparse<{32, 32, 32}, I8>>(table, "v_smfmac_i32_32x32x32_i8");
  add<sparse<{16, 16, 64}, F16>>(table, "v_smfmac_f32_16x16x64_f16", ChipSet::Gfx950);
  add<sparse<{32, 32, 32}, F16>>(table, "v_smfmac_f32_32x32x32_f16", ChipSet::Gfx950);
  add<sparse<{16, 16, 64}, BF16>>(table, "v_smfmac_f32_16x16x64_bf16", ChipSet::Gfx950);
  add<sparse<{32, 32, 32}, BF16>>(table, "v_smfmac_f32_32x32x32_bf16", ChipSet::Gfx950);
  add<sparse<{16, 16, 128}, I8>>(table, "v_smfmac_i32_16x16x128_i8", ChipSet::Gfx950);
  add<sparse<{32, 32, 64}, I8>>(table, "v_smfmac_i32_32x32x64_i8", ChipSet::Gfx950);
  addPairs<ChipSet::Gfx950, MatrixShape{16, 16, 128}, MatrixKind::Sparse>(
      table, {"v_smfmac_f32_16x16x128_fp8_fp8", "v_smfmac_f32_16x16x128_fp8_bf8", "v_smfmac_f32_16x16x128_bf8_fp8",
              "v_smfmac_f32_16x16x128_bf8_bf8"});
  addPairs<ChipSet::Gfx950, MatrixShape{32, 32, 64}, MatrixKind::Sparse>(
      table, {"v_smfmac_f32_32x32x64_fp8_fp8", "v_smfmac_f32_32x32x64_fp8_bf8", "v_smfmac_f32_32x32x64_bf8_fp8",
              "v_smfmac_f32_32x32x64_bf8_bf8"});
}

void addFormats(InstructionTable &table) {
  constexpr MatrixShape wide{16, 16, 128}, square{32, 32, 64};
  add<MatrixInstruction{wide, Fp8, Fp8, MatrixKind::Formats}>(table, "v_mfma_f32_16x16x128_f8f6f4", ChipSet::Gfx950);
  add<MatrixInstruction{square, Fp8, Fp8, MatrixKind::Formats}>(table, "v_mfma_f32_32x32x64_f8f6f4", ChipSet::Gfx950);
  add<MatrixInstruction{wide, Fp8, Fp8, MatrixKind::Scaled}>(table, "v_mfma_scale_f32_16x16x128_f8f6f4",
                                                             ChipSet::Gfx950);
  add<MatrixInstruction{square, Fp8, Fp8, MatrixKind::Scaled}>(table, "v_mfma_scale_f32_32x32x64_f8f6f4",
                                                               ChipSet::Gfx950);
}

} // namespace

void addMatrixInstructions(InstructionTable &table) {
  addSingle(table);
  addHalf(table);
  addBytes(table);
  addSmallFloats<ChipSet::Gfx942>(table);
  addSmallFloats<ChipSet::Gfx950>(table);
  addSparse(table);
  addFormats(table);
}

} // namespace heddle::simulator
