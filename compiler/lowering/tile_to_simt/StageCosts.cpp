// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The formulas of docs/warp-pipeline.md on the operations of a stage.
#include "compiler/lowering/tile_to_simt/StageCosts.h"
#include "compiler/lowering/simt/WarpPipelines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

static constexpr int groups = 2;
static constexpr int64_t lanes = 64;

static int64_t bitsOf(Type tile) {
  Type element = cast<RankedTensorType>(tile).getElementType();
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
}

/// Bytes that the warps of a group have of it in registers, also where several have the same.
static double bytesInRegisters(Type tile) {
  return double(registersOf(tile)) * double(bitsOf(tile)) / 8 * lanes * warpsOfGroup;
}

/// A SIMD's rate grows as elements become narrower; that of f32 and f64 is an eighth of f16's, or less.
static double matrixCycles(int64_t bits, Type a, Type c, const TimingModel &model) {
  ArrayRef<int64_t> left = cast<RankedTensorType>(a).getShape();
  double products = double(cast<RankedTensorType>(c).getNumElements()) * double(left.back());
  double rate = model.matrixOperationsPerCycle;
  rate = bits > 16 ? rate / 8 : bits == 16 ? rate : rate * 16 / double(bits);
  return 2 * products / rate / (groups * warpsOfGroup);
}

int64_t simt::convertedElements(MatrixDotOp dot) {
  bool isConverted = dot.getInstruction() && dot.getInstruction()->getAs();
  return isConverted ? registersOf(dot.getA().getType()) + registersOf(dot.getB().getType()) : 0;
}

StageWork simt::workOf(Operation *op, const TimingModel &model) {
  auto vector = [&](double registers, int passes = 1) -> StageWork {
    return {0, registers * passes * model.issueCycles, 0};
  };
  auto result = [&] { return double(registersOf(op->getResult(0).getType())); };
  bool isTile = op->getNumResults() && isa<RankedTensorType>(op->getResult(0).getType());
  return llvm::TypeSwitch<Operation *, StageWork>(op)
      .Case([&](ScaledDotOp dot) -> StageWork {
        return {matrixCycles(bitsOf(dot.getA().getType()), dot.getA().getType(), dot.getType(), model)};
      })
      .Case([&](MatrixDotOp dot) -> StageWork {
        if (!dot.getInstruction())
          return vector(double(registersOf(dot.getType())) * double(dot.getA().getType().getShape().back()));
        StageWork work = vector(double(convertedElements(dot)));
        Type as = dot.getInstruction()->getAs();
        int64_t bits = as ? int64_t(as.getIntOrFloatBitWidth()) : bitsOf(dot.getA().getType());
        work.matrix = matrixCycles(bits, dot.getA().getType(), dot.getType(), model);
        return work;
      })
      .Case([&](LoadSharedOp load) -> StageWork {
        return {0, 0, bytesInRegisters(load.getType()) / model.ldsReadBytesPerCycle};
      })
      .Case([&](StoreSharedOp store) -> StageWork {
        return {0, 0, 0, bytesInRegisters(store.getTile().getType()) / model.ldsWriteBytesPerCycle};
      })
      .Case([&](GlobalLoadOp load) -> StageWork {
        return {0, 0, 0, 0, isTile ? bytesInRegisters(load.getType()) / model.unitBytesPerCycle : 0};
      })
      .Case([&](AsyncCopyOp copy) -> StageWork {
        double elements = double(cast<RankedTensorType>(copy.getPointers().getType()).getNumElements());
        double bytes = elements * double(copy.getRing().getType().getElementBytes()) / groups;
        double path = bytes / model.unitBytesPerCycle;
        return {0, 0, 0, bytes / model.ldsWriteBytesPerCycle, path, path};
      })
      .Case([&](TileReduceOp reduce) -> StageWork {
        constexpr int stepsOfLanes = 6, instructionsOfStep = 3;
        double sources = double(registersOf(reduce.getOperand(0).getType()));
        return vector(sources / 2 + stepsOfLanes * instructionsOfStep * result());
      })
      .Case<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::SqrtOp, math::RsqrtOp, arith::DivFOp>(
          [&](auto) { return isTile ? vector(result(), model.transcendentalPasses) : StageWork(); })
      .Case<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::TruncFOp>(
          [&](auto) { return isTile ? vector(result() / 2) : StageWork(); }) // of two registers at once
      .Default([&](Operation *) {
        bool isCode = isTile && isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
                      !op->hasTrait<OpTrait::ConstantLike>();
        return isCode ? vector(result()) : StageWork();
      });
}

// In each phase one group is in a stage and the other in the one before, and a unit that both take is shared. What a
// stage reads from LDS is for a later one. A barrier, and what the first instructions after it wait for, take as long
// as some LDS accesses; the matrix units have work meanwhile, if they are what the phase waits for, and if that is a
// group's reads, their latency is on top. Of ways to cut that take as long otherwise, the one with less to do one after
// the other is the better one.
double simt::cyclesApart(ArrayRef<StageWork> stages, Arrival arrival) {
  constexpr double perPhase = 60, perMatrixPhase = 30, ofAlone = 1.0 / 32;
  const double perMovingPhase = stages.size() == 2 ? 150 : 60; // all copies and all reads are in one stage of two
  double cycles = 0, untilWait = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    const StageWork &ahead = stages[i], &behind = stages[(i + stages.size() - 1) % stages.size()];
    double multiplying = std::max(ahead.multiplying(behind), behind.multiplying(ahead));
    double moving = std::max(ahead.moving(), behind.moving());
    double phase = std::max((ahead + behind).longest(), multiplying);
    phase += phase <= ahead.matrix + behind.matrix ? perMatrixPhase : perPhase;
    phase = std::max(phase, moving + perMovingPhase) + std::max(multiplying, moving) * ofAlone;
    cycles += phase;
    if (i < arrival.stage)
      untilWait += phase;
  }
  // What a group waits for its own loads gives the other one's, which began a stage later, the same time.
  return cycles + (arrival.isOfGroup ? 1 : groups) * std::max(0.0, arrival.cycles - untilWait);
}

/// Of the unit that works longest, of LDS if that is another one, and of the rest, in parts.
static double cyclesBeside(ArrayRef<StageWork> steps, double ofMemory, double ofOthers) {
  StageWork all;
  for (const StageWork &step : steps)
    all = all + step;
  double longest = std::max({all.matrix, all.vector, all.shared()});
  double others = all.matrix + all.vector + all.shared() - longest;
  double memory = all.shared() < longest ? all.shared() : 0;
  return groups * (longest + ofMemory * memory + ofOthers * (others - memory));
}

// The barrier keeps warps together, so that reads of LDS find little else to be beside. Vector code is beside a matmul
// where the loop has another one (emit/MatmulOrder.h). The parts are those of loops that the simulator has timed
// (docs/warp-pipeline.md).
double simt::cyclesTogether(ArrayRef<StageWork> steps) {
  constexpr double ofMemory = 0.75, ofOthers = 0.3;
  bool isChain = llvm::count_if(steps, [](const StageWork &step) { return step.matrix > 0; }) > 1;
  return cyclesBeside(steps, ofMemory, isChain ? ofOthers : 1);
}

// The unit that works longest always has work, but for a part of what the others take.
double simt::cyclesFree(ArrayRef<StageWork> steps) {
  constexpr double ofMemory = 0.5, ofOthers = 0.2;
  return cyclesBeside(steps, ofMemory, ofOthers);
}
