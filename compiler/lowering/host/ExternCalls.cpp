// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that carry operations between devices (compiler/lowering/peer): one for each element, in the order of the
// elements, where the operation stands. They are implemented when everything else is in the LLVM dialect.
#include "compiler/lowering/host/HostEmitter.h"

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

Value HostEmitter::callExtern(StringRef symbol, Type result, ValueRange operands) {
  auto module = entry->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
  if (!function) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(entry);
    auto type = LLVM::LLVMFunctionType::get(result, llvm::to_vector(operands.getTypes()));
    function = LLVM::LLVMFuncOp::create(b, loc, symbol, type);
  }
  return LLVM::CallOp::create(b, loc, function, operands).getResult();
}

Value HostEmitter::callElement(ExternElementwiseOp op, Values operands) {
  for (auto [operand, source] : llvm::zip(operands, op.getSrcs()))
    if (isa<PointerType>(elementTypeOf(source.getType())))
      operand = toPointer(operand);
  return callExtern(op.getSymbol(), registerType(elementTypeOf(op.getType())), operands);
}

// The operands of one element; the access of an atomic, by its first operand and a mask at the end, is checked as
// others.
HostEmitter::Values HostEmitter::externOperands(ExternElementwiseOp op, const TileIndex &index) {
  ValueRange sources = op.getSrcs();
  if (!sources.empty() && isa<PointerType>(elementTypeOf(sources.front().getType()))) {
    bool masked = elementTypeOf(sources.back().getType()).isInteger(1);
    (void)accessAt(op, sources.front(), masked ? sources.back() : Value(), index);
  }
  Values operands;
  for (Value source : sources)
    operands.push_back(toLanes(evaluate(source, index)));
  return operands;
}

void HostEmitter::emitExternCall(ExternElementwiseOp op) {
  auto tile = dyn_cast<RankedTensorType>(op.getType());
  if (!tile) {
    scalars[op.getResult()] = callElement(op, externOperands(op, {}));
    return;
  }
  TileBuffer *results = op.getResult().use_empty() ? nullptr : allocateFor(op->getResults())[0];
  LaneMap single = chooseLanes(tile.getShape(), int(tile.getRank()) - 1, /*maxWidth=*/1);
  iterate(tile.getShape(), single, [&](TileIndex index) {
    Value result = callElement(op, externOperands(op, index));
    if (results)
      writeBuffer(*results, index, LaneValue::uniform(result));
  });
}
