// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What has a body in the builder: reductions, scans, loops, conditionals.
#include "compiler/dialects/ttg/TritonGpu.h"
#include "frontend/build/Emitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace heddle::build::detail {
namespace {

/// Arguments of a combining region: the left elements, then the right ones.
SmallVector<Type> combineTypes(ArrayRef<Value> inputs) {
  SmallVector<Type> types;
  for (int side = 0; side < 2; ++side)
    for (Value input : inputs)
      types.push_back(getElementTypeOrSelf(input.getType()));
  return types;
}

void setHint(Operation *loop, StringRef name, int value) {
  if (value)
    loop->setAttr(name, OpBuilder(loop).getI32IntegerAttr(value));
}

} // namespace

Handles emitReduce(const Handles &inputs, int axis, const Body &combine, Position where) {
  Emitter emit(where);
  SmallVector<Value> operands = emit.values(inputs);
  emit.shareLayout(operands);
  OperationState state(emit.location, triton::ReduceOp::getOperationName());
  state.addOperands(operands);
  state.addAttribute("axis", emit.builder.getI32IntegerAttr(axis));
  for (Value operand : operands) {
    auto tile = cast<RankedTensorType>(operand.getType());
    SmallVector<int64_t> shape(tile.getShape());
    shape.erase(shape.begin() + axis);
    Attribute layout = tile.getEncoding();
    if (emit.hasLayouts && !triton::gpu::isUnresolved(layout))
      layout = triton::gpu::SliceAttr::get(tile.getContext(), axis, layout);
    state.addTypes(shape.empty() ? tile.getElementType()
                                 : Type(RankedTensorType::get(shape, tile.getElementType(), layout)));
  }
  emit.fillRegion(*state.addRegion(), combineTypes(operands), combine, triton::ReduceReturnOp::getOperationName());
  return emit.handles(emit.builder.create(state)->getResults());
}

Handles emitScan(const Handles &inputs, int axis, bool reverse, const Body &combine, Position where) {
  Emitter emit(where);
  SmallVector<Value> operands = emit.values(inputs);
  emit.shareLayout(operands);
  OperationState state(emit.location, triton::ScanOp::getOperationName());
  state.addOperands(operands);
  state.addTypes(ValueRange(operands).getTypes());
  state.addAttribute("axis", emit.builder.getI32IntegerAttr(axis));
  state.addAttribute("reverse", emit.builder.getBoolAttr(reverse));
  emit.fillRegion(*state.addRegion(), combineTypes(operands), combine, triton::ScanReturnOp::getOperationName());
  return emit.handles(emit.builder.create(state)->getResults());
}

Handles emitFor(const Handles &bounds, const Handles &carried, LoopOptions options, const Body &body, Position where) {
  Emitter emit(where);
  SmallVector<Value> operands = emit.values(bounds);
  if (std::optional<int64_t> step = getConstantIntValue(operands[2]); step && *step < 1)
    emit.fail("the step of the loop is " + std::to_string(*step) + ", but steps are positive");
  if (options.stages < 0 || options.unroll < 0)
    emit.fail("a loop cannot have a negative number of stages or copies");
  SmallVector<Value> initial = emit.values(carried);
  OperationState state(emit.location, scf::ForOp::getOperationName());
  SmallVector<Type> arguments{operands[0].getType()};
  llvm::append_range(arguments, ValueRange(initial).getTypes());
  state.addOperands(operands);
  state.addOperands(initial);
  state.addTypes(ValueRange(initial).getTypes());
  auto carries = [&](const Handles &values) { return emit.asCarried(body(values), ValueRange(initial).getTypes()); };
  emit.fillRegion(*state.addRegion(), arguments, carries, scf::YieldOp::getOperationName());
  Operation *loop = emit.builder.create(state);
  setHint(loop, "tt.num_stages", options.stages);
  setHint(loop, "tt.loop_unroll_factor", options.unroll);
  return emit.handles(loop->getResults());
}

Handles emitIf(Handle condition, const Body &then, const Body &otherwise, Position where) {
  Emitter emit(where);
  OperationState state(emit.location, scf::IfOp::getOperationName());
  state.addOperands(emit.value(condition));
  auto yielded = emit.fillRegion(*state.addRegion(), {}, then, scf::YieldOp::getOperationName());
  state.addTypes(ValueRange(yielded).getTypes());
  Region *second = state.addRegion();
  auto yields = [&](const Handles &none) { return emit.asCarried(otherwise(none), ValueRange(yielded).getTypes()); };
  if (otherwise)
    emit.fillRegion(*second, {}, yields, scf::YieldOp::getOperationName());
  return emit.handles(emit.builder.create(state)->getResults());
}

Handles emitWhile(const Handles &carried, const Body &condition, const Body &body, Position where) {
  Emitter emit(where);
  SmallVector<Value> initial = emit.values(carried);
  TypeRange types = ValueRange(initial).getTypes();
  OperationState state(emit.location, scf::WhileOp::getOperationName());
  state.addOperands(initial);
  state.addTypes(types);
  emit.fillRegion(*state.addRegion(), types, condition, scf::ConditionOp::getOperationName(), true);
  auto carries = [&](const Handles &values) { return emit.asCarried(body(values), types); };
  emit.fillRegion(*state.addRegion(), types, carries, scf::YieldOp::getOperationName());
  return emit.handles(emit.builder.create(state)->getResults());
}

} // namespace heddle::build::detail
