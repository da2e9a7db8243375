// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What several rooms would otherwise write each for itself.
#include "compiler/dialects/triton/TritonBuilders.h"
#include "compiler/dialects/triton/Triton.h"

using namespace mlir;
using namespace heddle::triton;

Value heddle::triton::createAny(ImplicitLocOpBuilder &b, Value bits) {
  auto type = dyn_cast<RankedTensorType>(bits.getType());
  if (!type)
    return bits;
  if (type.getRank() != 1)
    bits =
        ReshapeOp::create(b, RankedTensorType::get({type.getNumElements()}, type.getElementType()), bits, true, false);
  Type bit = b.getI1Type();
  auto reduce = ReduceOp::create(b, TypeRange{bit}, ValueRange{bits}, 0);
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&reduce.getCombineOp(), {}, {bit, bit}, {b.getLoc(), b.getLoc()});
  Value either = arith::OrIOp::create(b, block->getArgument(0), block->getArgument(1));
  ReduceReturnOp::create(b, ValueRange{either});
  return reduce.getResult()[0];
}
