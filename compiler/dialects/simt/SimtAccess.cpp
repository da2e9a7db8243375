// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How wide accesses of global memory are, and the rules of buffer accesses, of parts of tiles and of matmuls in
// registers.
#include "compiler/dialects/simt/SimtVerify.h"
#include "compiler/dialects/triton/TritonVerify.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include <set>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::Dim;
using layout::LinearLayout;

//===-- Accesses -------------------------------------------------------------------------------------------------===//

int64_t simt::contiguousRegisters(const LinearLayout &layout, AccessWidth width, int64_t most) {
  int64_t count = 1;
  most = std::min(most, width.elements);
  for (int bit = 0; bit < layout.inputBits(Dim::Register) && 2 * count <= most; ++bit, count *= 2)
    for (const LinearLayout::Output &out : layout.outputs())
      if (layout.basis(Dim::Register, bit, out.dim) != (out.dim == layout::tileDim(width.axis) ? count : 0))
        return count;
  return count;
}

LogicalResult simt::verifyAccess(Operation *op, Type pointer, int64_t elements, int64_t axis, ValueRange values,
                                 Value mask) {
  Type pointee = cast<triton::PointerType>(getElementTypeOrSelf(pointer)).getPointeeType();
  auto tile = dyn_cast<RankedTensorType>(pointer);
  // Rule S29: tiles have layouts; the axis is one of the tile's.
  if (tile && (!hasLayout(tile) || axis < 0 || axis >= tile.getRank()))
    return op->emitOpError() << "accesses " << tile << " along axis " << axis
                             << (hasLayout(tile) ? "" : ": its tiles have layouts");
  // Rule S30: values and mask are as the pointers.
  Type value = triton::valueTypeOf(pointer), bits = triton::maskTypeOf(pointer);
  for (Value given : values)
    if (given && given.getType() != value)
      return op->emitOpError() << "accesses " << value << " through its pointers, and has " << given.getType();
  if (mask && mask.getType() != bits)
    return op->emitOpError() << "has a mask of " << mask.getType() << " where " << bits << " is needed";
  // Rule S31: registers of one instruction are contiguous, of 16 bytes at most.
  int64_t most = 128 / std::max<int64_t>(8, triton::elementBits(pointee));
  bool fits = elements >= 1 && elements <= most && llvm::isPowerOf2_64(uint64_t(elements));
  int64_t found = tile && fits ? contiguousRegisters(layoutOf(tile), {int(axis), elements}, elements) : 1;
  if (!fits || found != elements)
    return op->emitOpError() << "accesses " << elements << " elements of " << pointee
                             << " at once: it takes a power of "
                             << "two, " << most << " at most, and the layout has " << found
                             << " contiguous registers along axis " << axis;
  return success();
}

LogicalResult GlobalLoadOp::verify() {
  // Rule S32: the value of masked elements needs a mask.
  if (getOther() && !getMask())
    return emitOpError() << "has " << getOther().getType() << " for masked elements, and no mask";
  return verifyAccess(*this, getPointer().getType(), int64_t(getElements()), int64_t(getAxis()),
                      {getResult(), getOther()}, getMask());
}

void GlobalLoadOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getPointerMutable());
  if (getIsVolatile()) // neither merged nor moved
    effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult GlobalStoreOp::verify() {
  return verifyAccess(*this, getPointer().getType(), int64_t(getElements()), int64_t(getAxis()), getValue(), getMask());
}

//===-- Parts of tiles -------------------------------------------------------------------------------------------===//

SmallVector<int64_t> simt::coordinatesOfRegister(const LinearLayout &layout, int64_t reg) {
  SmallVector<int64_t> at(layout.outputs().size(), 0);
  for (int bit = 0; reg >> bit; ++bit)
    for (size_t axis = 0; reg >> bit & 1 && axis < at.size(); ++axis)
      at[axis] ^= layout.basis(Dim::Register, bit, layout.outputs()[axis].dim);
  return at;
}

bool simt::placeThreadsAlike(const LinearLayout &a, const LinearLayout &b) {
  for (Dim in : {Dim::Lane, Dim::Warp}) {
    if (a.inputBits(in) != b.inputBits(in))
      return false;
    for (int bit = 0; bit < a.inputBits(in); ++bit)
      for (const LinearLayout::Output &out : a.outputs())
        if (a.basis(in, bit, out.dim) != b.basis(in, bit, out.dim))
          return false;
  }
  return true;
}

/// Whether each bit of a register's or thread's number moves along one axis by a power of two, and no two alike: then
/// the coordinates of both add up.
static bool hasBitsOfItsOwn(const LinearLayout &layout) {
  std::set<std::pair<size_t, int64_t>> taken;
  for (Dim in : {Dim::Register, Dim::Lane, Dim::Warp})
    for (int bit = 0; bit < layout.inputBits(in); ++bit)
      for (auto [axis, out] : llvm::enumerate(layout.outputs()))
        for (int64_t basis = layout.basis(in, bit, out.dim), low = 0; basis; basis ^= low) {
          low = basis & -basis;
          if (!taken.insert({axis, low}).second)
            return false;
        }
  return true;
}

LogicalResult ExtractSliceOp::verify() {
  auto from = cast<RankedTensorType>(getSource().getType()), to = cast<RankedTensorType>(getType());
  ArrayRef<int64_t> offsets = getOffsets();
  // Rule S24: a part of the tile, with layouts, at a multiple of its size where coordinates are no sums.
  bool fits = hasLayout(from) && hasLayout(to) && from.getElementType() == to.getElementType() &&
              from.getRank() == to.getRank() && int64_t(offsets.size()) == from.getRank();
  if (!fits)
    return emitOpError() << "takes " << to << " at " << offsets.size() << " coordinates out of " << from;
  const LinearLayout &source = layoutOf(from), &part = layoutOf(to);
  auto verifyOffsets = hasBitsOfItsOwn(source) && hasBitsOfItsOwn(part) ? triton::verifyWithin : triton::verifyPart;
  if (failed(verifyOffsets(*this, offsets, to.getShape(), from.getShape())))
    return failure();
  // Rule S25: each thread has the elements of its part.
  fits = placeThreadsAlike(source, part);
  std::set<SmallVector<int64_t>> held;
  for (int64_t reg = 0; fits && reg < source.inputSize(Dim::Register); ++reg)
    held.insert(coordinatesOfRegister(source, reg));
  for (int64_t reg = 0; fits && reg < part.inputSize(Dim::Register); ++reg) {
    SmallVector<int64_t> at = coordinatesOfRegister(part, reg);
    for (auto [coordinate, offset] : llvm::zip(at, offsets))
      coordinate += offset;
    fits = held.count(at);
  }
  if (!fits)
    return emitOpError() << "takes " << to << " out of " << from << ", whose threads hold other elements";
  return success();
}

//===-- Buffers --------------------------------------------------------------------------------------------------===//

static LogicalResult verifyBuffer(Operation *op, Type pointer, RankedTensorType tile, RankedTensorType offsets,
                                  Value mask, int64_t elements) {
  Type pointee = cast<triton::PointerType>(pointer).getPointeeType();
  auto like = [&](Type element) { return tile.clone(element); };
  // Rule S19: offsets, mask and values are of one shape and layout, and of the pointee's elements.
  Builder b(op->getContext());
  if (!hasLayout(tile) || tile.getElementType() != pointee || offsets != like(b.getI32Type()) ||
      (mask && mask.getType() != like(b.getI1Type())))
    return op->emitOpError() << "accesses " << tile << " through " << pointer << " at offsets " << offsets
                             << (mask ? " under a mask of another layout" : "");
  // Rule S20: registers of one instruction are contiguous, of 16 bytes at most.
  int64_t bits = std::max<int64_t>(8, triton::elementBits(pointee)) * elements;
  if (elements < 1 || !llvm::isPowerOf2_64(uint64_t(elements)) || bits > 128 ||
      elements > layoutOf(tile).inputSize(Dim::Register))
    return op->emitOpError() << "accesses " << elements << " elements of " << pointee << " at once in a tile with "
                             << layoutOf(tile).inputSize(Dim::Register) << " registers";
  return success();
}

LogicalResult BufferLoadOp::verify() {
  auto tile = cast<RankedTensorType>(getType());
  // Rule S21: the value of masked elements needs a mask.
  if (getOther() && (!getMask() || getOther().getType() != tile))
    return emitOpError() << "has " << getOther().getType() << " for masked elements of " << tile
                         << (getMask() ? "" : " and no mask");
  return verifyBuffer(*this, getPointer().getType(), tile, cast<RankedTensorType>(getOffsets().getType()), getMask(),
                      int64_t(getElements()));
}

LogicalResult BufferStoreOp::verify() {
  return verifyBuffer(*this, getPointer().getType(), cast<RankedTensorType>(getValue().getType()),
                      cast<RankedTensorType>(getOffsets().getType()), getMask(), int64_t(getElements()));
}

LogicalResult BufferUpdateOp::verify() {
  auto tile = cast<RankedTensorType>(getValue().getType());
  // Rule S72: the old values are a tile like that of the new ones.
  if (getResult() && getResult().getType() != tile)
    return emitOpError() << "has the result " << getResult().getType() << " of an update by " << tile;
  if (failed(verifyBuffer(*this, getPointer().getType(), tile, cast<RankedTensorType>(getOffsets().getType()),
                          getMask(), /*elements=*/1)))
    return failure();
  bool isExtremum = getKind() == triton::RMWOp::Max || getKind() == triton::RMWOp::Min;
  if (tile.getElementType().isF64() && isExtremum)
    return success(); // what only buffers have
  return verifyUpdate(*this, getKind(), tile.getElementType());
}

//===-- Matrix products ------------------------------------------------------------------------------------------===//

LogicalResult MatrixDotOp::verify() {
  auto a = cast<RankedTensorType>(getA().getType()), b = cast<RankedTensorType>(getB().getType()),
       d = cast<RankedTensorType>(getType());
  int64_t rank = d.getRank();
  // Rule S22: shapes as of a product, all with layouts.
  bool fits = rank >= 2 && a.getRank() == rank && b.getRank() == rank && hasLayout(a) && hasLayout(b) && hasLayout(d);
  fits = fits && a.getDimSize(rank - 1) == b.getDimSize(rank - 2) && a.getDimSize(rank - 2) == d.getDimSize(rank - 2) &&
         b.getDimSize(rank - 1) == d.getDimSize(rank - 1);
  if (!fits)
    return emitOpError() << "multiplies " << a << " by " << b << " into " << d;
  MatrixAttr instruction = getInstructionAttr();
  // Rule S33: one way to multiply; only groups of warps go on while the thread does.
  if ((instruction && getWarpGroups()) || (getPending() && !getWarpGroups()) || int64_t(getPending()) < 0)
    return emitOpError() << "has " << (instruction ? "an instruction" : "no instruction") << ", "
                         << (getWarpGroups() ? "is" : "is not") << " by warp groups and leaves "
                         << int64_t(getPending()) << " matmuls pending";
  // Rule S23: tiles of whole instructions, or of one, part of whose rows or columns repeat others; not where lanes hold
  // pieces of K besides (4 x 64, 64 x 4).
  if (!instruction)
    return success();
  int64_t m = instruction.getM(), n = instruction.getN();
  bool isNone = m < 1 || n < 1 || instruction.getK() < 1;
  bool repeats = !isNone && std::max(m, n) / std::min(m, n) <= 2;
  auto divides = [&](int64_t size, int64_t step) { return size % step == 0 || (repeats && step % size == 0); };
  if (isNone || !divides(d.getDimSize(rank - 2), m) || !divides(d.getDimSize(rank - 1), n) ||
      a.getDimSize(rank - 1) % instruction.getK())
    return emitOpError() << "multiplies " << a << " by " << b << " with an instruction of " << instruction.getM() << "x"
                         << instruction.getN() << "x" << instruction.getK();
  return success();
}
