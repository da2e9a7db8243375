// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The grid, ranges, changes of shape, and matrix products of the builder.
#include "compiler/dialects/ttg/TritonGpu.h"
#include "frontend/build/Emitter.h"

using namespace mlir;

namespace heddle::build::detail {

static RankedTensorType tileOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static triton::ProgramDim gridAxis(const Emitter &emit, int axis) {
  if (axis < 0 || axis > 2)
    emit.fail("the grid has no axis " + std::to_string(axis) + "; it has 0, 1 and 2");
  return static_cast<triton::ProgramDim>(axis);
}

Handle emitProgramId(int axis, Position where) {
  Emitter emit(where);
  return emit.handle(
      triton::GetProgramIdOp::create(emit.builder, emit.location, emit.builder.getI32Type(), gridAxis(emit, axis)));
}

Handle emitProgramCount(int axis, Position where) {
  Emitter emit(where);
  return emit.handle(
      triton::GetNumProgramsOp::create(emit.builder, emit.location, emit.builder.getI32Type(), gridAxis(emit, axis)));
}

Handle emitRange(int32_t start, int32_t end, Position where) {
  Emitter emit(where);
  int64_t size = end - start;
  Type type = emit.type({ElementType::I32, false, &size, 1});
  return emit.handle(
      emit.create("tt.make_range", type, {}, {emit.i32Attribute("start", start), emit.i32Attribute("end", end)}));
}

/// The layout of which the tile's is a slice.
static Attribute expandedEncoding(const Emitter &emit, Value tile, int axis) {
  Attribute layout = tileOf(tile).getEncoding();
  if (!emit.hasLayouts || triton::gpu::isUnresolved(layout))
    return layout;
  auto slice = dyn_cast<triton::gpu::SliceAttr>(layout);
  if (!slice || slice.getDim() != axis)
    emit.fail(
        "a dimension is inserted at axis " + std::to_string(axis) + " of a tile in " + quoted(layout) +
            ", which is no slice of that axis",
        {"give the tile the layout SliceLayout{" + std::to_string(axis) + ", L}, where L is the layout of the result"});
  return slice.getParent();
}

Handle emitExpandDims(Handle x, int axis, Position where) {
  Emitter emit(where);
  Value value = emit.value(x);
  SmallVector<int64_t> shape(tileOf(value).getShape());
  shape.insert(shape.begin() + axis, 1);
  auto type = RankedTensorType::get(shape, tileOf(value).getElementType(), expandedEncoding(emit, value, axis));
  return emit.handle(emit.create("tt.expand_dims", type, value, emit.i32Attribute("axis", axis)));
}

Handle emitReshape(Handle x, const TileType &type, bool anyOrder, Position where) {
  Emitter emit(where);
  Value value = emit.value(x);
  Type wanted = emit.type(type);
  if (isa<RankedTensorType>(value.getType()))
    emit.refuseLayouts("reshape, or a reduction over all elements of several dimensions,");
  if (!isa<RankedTensorType>(value.getType()))
    return emit.handle(isa<RankedTensorType>(wanted) ? emit.create("tt.splat", wanted, value) : value);
  if (!isa<RankedTensorType>(wanted))
    return emit.handle(emit.create("tt.unsplat", wanted, value));
  return emit.handle(triton::ReshapeOp::create(emit.builder, emit.location, wanted, value, anyOrder));
}

Handle emitTranspose(Handle x, const std::vector<int32_t> &order, Position where) {
  Emitter emit(where);
  Value value = emit.value(x);
  SmallVector<int64_t> shape;
  for (int32_t dimension : order)
    shape.push_back(tileOf(value).getDimSize(dimension));
  Attribute layout = tileOf(value).getEncoding();
  if (emit.hasLayouts && !(layout = transposedEncoding(layout, order)))
    emit.fail("a tile in " + quoted(tileOf(value).getEncoding()) + " cannot be transposed",
              {"convert it to a BlockedLayout or a LinearLayout before"});
  auto type = RankedTensorType::get(shape, tileOf(value).getElementType(), layout);
  return emit.handle(emit.create("tt.trans", type, value,
                                 emit.builder.getNamedAttr("order", emit.builder.getDenseI32ArrayAttr(order))));
}

Handle emitJoin(Handle x, Handle y, Position where) {
  Emitter emit(where);
  emit.refuseLayouts("join");
  Value left = emit.value(x);
  SmallVector<int64_t> shape(tileOf(left).getShape());
  shape.push_back(2);
  return emit.handle(emit.create("tt.join", tileOf(left).clone(shape), {left, emit.value(y)}));
}

std::pair<Handle, Handle> emitSplit(Handle x, Position where) {
  Emitter emit(where);
  emit.refuseLayouts("split");
  Value value = emit.value(x);
  Type half = tileOf(value).clone(tileOf(value).getShape().drop_back());
  auto split = triton::SplitOp::create(emit.builder, emit.location, half, half, value);
  return {emit.handle(split.getOutLHS()), emit.handle(split.getOutRHS())};
}

Handle emitConcatenate(Handle x, Handle y, Position where) {
  Emitter emit(where);
  emit.refuseLayouts("concatenate");
  Value left = emit.value(x);
  SmallVector<int64_t> shape(tileOf(left).getShape());
  shape.front() *= 2;
  return emit.handle(emit.create("tt.cat", tileOf(left).clone(shape), {left, emit.value(y)}));
}

Handle emitGather(Handle source, Handle indices, int axis, Position where) {
  Emitter emit(where);
  Value from = emit.value(source), index = emit.value(indices);
  Type result = tileOf(index).clone(tileOf(from).getElementType());
  return emit.handle(triton::GatherOp::create(emit.builder, emit.location, result, from, index, uint32_t(axis)));
}

Handle emitHistogram(Handle x, Handle mask, const TileType &type, Position where) {
  Emitter emit(where);
  emit.refuseLayouts("histogram");
  SmallVector<Value> operands{emit.value(x)};
  if (mask)
    operands.push_back(emit.value(mask));
  return emit.handle(emit.create("tt.histogram", emit.type(type), operands));
}

Handle emitDot(Handle a, Handle b, Handle c, Precision precision, int32_t mostImprecise, Position where) {
  Emitter emit(where);
  Value accumulator = emit.value(c);
  if (auto operand = dyn_cast_or_null<triton::gpu::DotOperandAttr>(tileOf(emit.value(a)).getEncoding()))
    accumulator = emit.inEncoding(accumulator, operand.getParent());
  return emit.handle(triton::DotOp::create(emit.builder, emit.location, accumulator.getType(), emit.value(a),
                                           emit.value(b), accumulator, static_cast<triton::InputPrecision>(precision),
                                           uint32_t(mostImprecise)));
}

} // namespace heddle::build::detail
