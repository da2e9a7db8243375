// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Both kinds of assembly pass a thread's elements in the order of its registers. They differ where elements are
// narrower than a register, which only that on packs puts together, and where tiles have different numbers of
// registers.
#include "compiler/lowering/ttg_to_simt/ThreadAssembly.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/dialects/triton/Triton.h"
#include "compiler/layout/LinearLayout.h"

using namespace mlir;
using namespace heddle;
namespace ttg = heddle::triton::gpu;
namespace tt = heddle::triton;

LogicalResult simt::convertThreadAssembly(ttg::InlineAsmOp op) {
  SmallVector<Type> types(op->getResultTypes());
  llvm::append_range(types, op->getOperandTypes());
  if (op->getNumResults() == 0)
    return op->emitOpError() << "has no result: assembly of a thread is compiled that computes tiles from tiles";
  auto first = dyn_cast<RankedTensorType>(types.front());
  for (Type type : types) {
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!first || !tile || tile.getShape() != first.getShape() || layoutOf(tile) != layoutOf(first))
      return op->emitOpError() << "passes " << type << " beside " << types.front()
                               << ": assembly of a thread takes and gives tiles of one shape and layout";
    if (unsigned bits = tt::elementBits(tile.getElementType()); bits != 32 && bits != 64)
      return op->emitOpError() << "passes elements of " << bits
                               << " bits: assembly of a thread takes elements of 32 or 64 bits";
  }
  OpBuilder b(op);
  auto registers = int32_t(layoutOf(first).inputSize(layout::Dim::Register));
  auto made = tt::ElementwiseInlineAsmOp::create(b, op.getLoc(), op->getResultTypes(), op.getAsmString(),
                                                 op.getConstraints(), op.getPure(), registers, op.getArgs());
  op->replaceAllUsesWith(made);
  op->erase();
  return success();
}
