// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matmuls with scales by the target's matrix instructions. Each lane gives the scales of its rows; four registers of a
// tile of scales make a word, of which an instruction names a byte.
#include "compiler/lowering/simt/RegisterMap.h"
#include "compiler/lowering/simt/ThreadCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {

/// What a thread gives of one operand, word by word, each made once.
class ScaledSide {
public:
  struct Tile {
    RankedTensorType type;
    ArrayRef<Value> registers; ///< none: there are no scales
  };
  ScaledSide(ImplicitLocOpBuilder &b, const MatrixInstruction &instruction, ScaleDotElemType format, bool isA,
             Tile tile, Tile scale)
      : b(b), format(format), isA(isA), rank(int(tile.type.getRank())), tile(tile), scale(scale),
        map(layoutOf(tile.type), rank), blocksPerStep(instruction.k / scaledBlock),
        bytesPerStep(size_t(instruction.kPerLane / (format == ScaleDotElemType::E2M1 ? 2 : 1))) {
    along = map.along(isA ? rank - 1 : rank - 2);
    if (scale.type)
      scaleMap.emplace(layoutOf(scale.type), rank);
  }

  int64_t steps() const { return int64_t(along.size() / bytesPerStep); }

  /// For the instruction number `step` along K.
  ScaledOperand get(int64_t batch, int64_t outer, int64_t step) {
    ScaledOperand operand{.words = {}, .format = format, .scales = {}};
    auto &words = known[{batch, outer, step}];
    ArrayRef<int64_t> bytes = ArrayRef(along).slice(size_t(step) * bytesPerStep, bytesPerStep);
    for (size_t first = 0; words.size() < bytesPerStep / 4; first += 4) {
      SmallVector<Value> parts;
      for (int64_t k : bytes.slice(first, 4))
        parts.push_back(tile.registers[map(isA ? at(batch, outer, k) : at(batch, k, outer))]);
      words.push_back(packRegister(b, parts));
    }
    operand.words = words;
    int64_t reg = scaleMap ? int64_t((*scaleMap)(at(batch, outer, step * blocksPerStep))) : 0;
    operand.scales = scaleWord(reg / 4);
    operand.scale = reg % 4;
    return operand;
  }

private:
  SmallVector<int64_t, 3> at(int64_t batch, int64_t row, int64_t column) const {
    return rank == 3 ? SmallVector<int64_t, 3>{batch, row, column} : SmallVector<int64_t, 3>{row, column};
  }

  // The last scale fills a word that a tile of fewer leaves open: of a constant LLVM makes no other constant then.
  Value scaleWord(int64_t number) {
    Value &word = scaleWords[number];
    if (word)
      return word;
    if (!scaleMap) // 1, biased by 127
      return word = arith::ConstantIntOp::create(b, 0x7f7f7f7f, 32);
    SmallVector<Value> bytes;
    for (size_t i = 0; i < 4; ++i)
      bytes.push_back(scale.registers[std::min(size_t(number) * 4 + i, scale.registers.size() - 1)]);
    return word = packRegister(b, bytes);
  }

  ImplicitLocOpBuilder &b;
  ScaleDotElemType format;
  bool isA;
  int rank;
  Tile tile, scale;
  RegisterMap map;
  std::optional<RegisterMap> scaleMap;
  int64_t blocksPerStep;
  size_t bytesPerStep;
  SmallVector<int64_t> along; ///< what registers add along K
  std::map<std::tuple<int64_t, int64_t, int64_t>, SmallVector<Value>> known;
  std::map<int64_t, Value> scaleWords;
};

} // namespace

std::optional<MatrixInstruction> GpuTarget::scaledInstruction(MatrixAttr, std::string &why) const {
  why = "the chip has no matrix instruction with scales";
  return std::nullopt;
}

namespace {
class ScaledMatmuls : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(ScaledDotOp op);
};
} // namespace

void ScaledMatmuls::lower(ScaledDotOp op) {
  if (refuseIfDivergent())
    return;
  std::string why;
  std::optional<MatrixInstruction> instruction = target.scaledInstruction(op.getInstruction(), why);
  if (!instruction)
    return refuse(why + ": multiply the elements by their scales before a plain matmul");
  auto tileOf = [&](Value value) {
    return value ? ScaledSide::Tile{cast<RankedTensorType>(value.getType()), of(value)} : ScaledSide::Tile{};
  };
  ScaledSide a(b, *instruction, op.getAFormat(), true, tileOf(op.getA()), tileOf(op.getAScale()));
  ScaledSide bb(b, *instruction, op.getBFormat(), false, tileOf(op.getB()), tileOf(op.getBScale()));
  auto type = cast<RankedTensorType>(op.getType());
  int rank = int(type.getRank());
  RegisterMap results(layoutOf(type), rank);
  Values accumulators = of(op.getC());
  SmallVector<int64_t> batches = rank == 3 ? results.along(0) : SmallVector<int64_t>{0};
  for (int64_t step = 0; step < a.steps(); ++step)
    for (int64_t batch : batches)
      for (int64_t row : results.along(rank - 2))
        for (int64_t column : results.along(rank - 1)) {
          if (row % instruction->m || column % instruction->n)
            continue;
          SmallVector<size_t> registers;
          Values c;
          for (auto [rows, columns] : instruction->results) {
            SmallVector<int64_t, 3> at{row + rows, column + columns};
            if (rank == 3)
              at.insert(at.begin(), batch);
            registers.push_back(results(at));
            c.push_back(accumulators[registers.back()]);
          }
          Values products =
              target.multiplyScaled(b, *instruction, a.get(batch, row, step), bb.get(batch, column, step), c);
          for (auto [reg, value] : llvm::zip(registers, products))
            accumulators[reg] = value;
        }
  made[op.getD()] = accumulators;
}

void simt::addScaledMatmuls(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<ScaledMatmuls, ScaledDotOp>(patterns, state);
}
