// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layouts of matmuls by matrix instructions with scales: what expand-dot-scaled left.
#include "compiler/lowering/tile_to_simt/LayoutAssigner.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::LinearLayout;

/// Results are those of 32 x 32 where every warp of a block gets some, or where K is too short for the other one; null
/// where neither divides the tiles.
static MatrixAttr instructionOf(DotScaledOp dot) {
  ArrayRef<int64_t> results = cast<RankedTensorType>(dot.getType()).getShape().take_back(2);
  int64_t k = cast<RankedTensorType>(dot.getA().getType()).getShape().back();
  if (dot.getAElemType() == ScaleDotElemType::E2M1)
    k *= 2;
  auto divides = [&](int64_t size, int64_t depth) {
    return results[0] % size == 0 && results[1] % size == 0 && k % depth == 0;
  };
  bool isLarge = results[0] * results[1] >= 128 * 64;
  if (divides(32, 64) && (isLarge || !divides(16, 128)))
    return MatrixAttr::get(dot.getContext(), 32, 32, 64, true, Type());
  return divides(16, 128) ? MatrixAttr::get(dot.getContext(), 16, 16, 128, true, Type()) : MatrixAttr();
}

LogicalResult LayoutAssigner::checkScaledDots() {
  WalkResult result = function.walk([&](DotScaledOp dot) {
    std::string why;
    MatrixAttr wanted = instructionOf(dot);
    if (wanted && target.scaledInstruction(wanted, why))
      return WalkResult::advance();
    dot.emitOpError() << "has no layouts: "
                      << (wanted ? why : std::string("no matrix instruction with scales divides its tiles"))
                      << "; run expand-dot-scaled first";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

MatrixInstruction LayoutAssigner::scaledInstruction(DotScaledOp dot) {
  std::string why;
  return *target.scaledInstruction(instructionOf(dot), why);
}

LinearLayout LayoutAssigner::scaleLayout(DotScaledOp dot, int operand) {
  Value scale = operand == 0 ? dot.getAScale() : dot.getBScale();
  MatrixInstruction instruction = scaledInstruction(dot);
  return layout::mfmaScale(shapeOf(scale), warpsOf(dot, instruction), operand, instruction.m);
}

// A lane loads the scales that it gives: there is nothing to exchange.
std::optional<LinearLayout> LayoutAssigner::layoutOfLoadedScales(LoadOp load) {
  if (!load.getResult().hasOneUse())
    return std::nullopt;
  auto dot = dyn_cast<DotScaledOp>(*load.getResult().user_begin());
  for (int operand : {0, 1})
    if (dot && load.getResult() == (operand == 0 ? dot.getAScale() : dot.getBScale()))
      return scaleLayout(dot, operand);
  return std::nullopt;
}

LinearLayout LayoutAssigner::dotLayout(DotScaledOp dot) {
  MatrixInstruction instruction = scaledInstruction(dot);
  resultLayouts.push_back(target.accumulatorLayout(instruction, shapeOf(dot.getD()), warpsOf(dot, instruction)));
  return resultLayouts.back();
}

void LayoutAssigner::rewriteScaledDot(DotScaledOp dot) {
  MatrixInstruction instruction = scaledInstruction(dot);
  layout::Shape split = warpsOf(dot, instruction);
  setOperand(dot.getCMutable(), *own(dot.getD()));
  setOperand(dot.getAMutable(), target.operandLayout(instruction, shapeOf(dot.getA()), split, 0));
  setOperand(dot.getBMutable(), target.operandLayout(instruction, shapeOf(dot.getB()), split, 1));
  if (dot.getAScale())
    setOperand(dot.getAScaleMutable()[0], scaleLayout(dot, 0));
  if (dot.getBScale())
    setOperand(dot.getBScaleMutable()[0], scaleLayout(dot, 1));
}

void LayoutAssigner::replaceScaledDot(DotScaledOp dot) {
  OpBuilder b(dot);
  auto made = ScaledDotOp::create(b, dot.getLoc(), dot.getType(), dot.getA(), dot.getB(), dot.getC(), dot.getAScale(),
                                  dot.getBScale(), dot.getAElemType(), dot.getBElemType(), instructionOf(dot));
  dot.getD().replaceAllUsesWith(made.getD());
  dot.erase();
}
