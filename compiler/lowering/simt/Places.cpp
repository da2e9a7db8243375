// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who holds what: coordinates of registers, owners among copies, and the operations that only move elements between
// shapes.
#include "compiler/lowering/simt/ThreadEmitter.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

//===-- Types and constants --------------------------------------------------------------------------------------===//

Type ThreadEmitter::threadType(Type element) {
  if (isa<PointerType>(element))
    return LLVM::LLVMPointerType::get(b.getContext(), 1);
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
    return b.getI8Type();
  return element;
}

Value ThreadEmitter::i32(int64_t value) {
  return arith::ConstantIntOp::create(b, value, 32);
}

Value ThreadEmitter::i64(int64_t value) {
  return arith::ConstantIntOp::create(b, value, 64);
}

Value ThreadEmitter::constantOf(Type type, int64_t value) {
  if (auto real = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(b, b.getFloatAttr(real, double(value)));
  return arith::ConstantOp::create(b, IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), uint64_t(value),
                                                                   /*isSigned=*/true, /*implicitTrunc=*/true)));
}

Value ThreadEmitter::zeroOf(Type type) {
  return isa<LLVM::LLVMPointerType>(type) ? Value(LLVM::ZeroOp::create(b, type)) : constantOf(type, 0);
}

//===-- Coordinates ----------------------------------------------------------------------------------------------===//

int64_t ThreadEmitter::registerPart(const LinearLayout &layout, int64_t reg, Dim out) {
  int64_t result = 0;
  for (int bit = 0; reg >> bit; ++bit)
    if (reg >> bit & 1)
      result ^= layout.basis(Dim::Register, bit, out);
  return result;
}

// Runs of bits whose bases double are moved together.
Value ThreadEmitter::placePart(const LinearLayout &layout, Dim out) {
  auto &known = parts[{layout.hash(), out}];
  for (auto &[same, value] : known)
    if (same == layout)
      return value;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  Value sum;
  uint64_t used = 0;
  for (Dim in : {Dim::Lane, Dim::Warp}) {
    Value number = in == Dim::Lane ? lane : warp;
    int bits = layout.inputBits(in);
    for (int bit = 0; bit < bits;) {
      int64_t first = layout.basis(in, bit, out);
      int run = 1;
      while (first && bit + run < bits && layout.basis(in, bit + run, out) == first << run)
        ++run;
      if (first) {
        int64_t span = ((int64_t(1) << run) - 1);
        Value term = bit ? Value(arith::ShRUIOp::create(b, number, i32(bit))) : number;
        if (bit + run < bits || in == Dim::Lane)
          term = arith::AndIOp::create(b, term, i32(span));
        bool isPower = llvm::isPowerOf2_64(uint64_t(first));
        if (isPower && first > 1)
          term = arith::ShLIOp::create(b, term, i32(llvm::Log2_64(uint64_t(first))));
        else if (!isPower)
          term = arith::MulIOp::create(b, term, i32(first)); // one bit: run is 1 or the multiples do not overlap
        uint64_t covered = 0;
        for (int i = 0; i < run; ++i)
          covered |= uint64_t(first) << i;
        if (!sum)
          sum = term;
        else if (used & covered)
          sum = arith::XOrIOp::create(b, sum, term);
        else
          sum = arith::AddIOp::create(
              b, sum, term,
              arith::IntegerOverflowFlagsAttr::get(b.getContext(), arith::IntegerOverflowFlags::nsw |
                                                                       arith::IntegerOverflowFlags::nuw));
        used |= covered;
      }
      bit += run;
    }
  }
  if (!sum)
    sum = i32(0);
  known.push_back({layout, sum});
  return sum;
}

Value ThreadEmitter::coordinate(const LinearLayout &layout, int64_t reg, Dim out) {
  Value place = placePart(layout, out);
  int64_t constant = registerPart(layout, reg, out);
  if (!constant)
    return place;
  uint64_t used = 0;
  for (Dim in : {Dim::Lane, Dim::Warp})
    for (int bit = 0; bit < layout.inputBits(in); ++bit)
      used |= uint64_t(layout.basis(in, bit, out));
  if (used & uint64_t(constant))
    return arith::XOrIOp::create(b, place, i32(constant));
  return arith::AddIOp::create(
      b, place, i32(constant),
      arith::IntegerOverflowFlagsAttr::get(b.getContext(),
                                           arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw));
}

Value ThreadEmitter::isOwner(const LinearLayout &layout) {
  uint64_t mask = block().copies(layout);
  if (!mask)
    return {};
  Value &owner = owners[mask];
  if (!owner) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(prologueEnd);
    Value bits = arith::AndIOp::create(b, thread, i32(int64_t(mask)));
    owner = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bits, i32(0));
  }
  return owner;
}

int64_t ThreadEmitter::firstCopy(const LinearLayout &layout, int64_t reg) {
  return reg & ~int64_t(layout.freeBits(Dim::Register));
}

//===-- Shapes ---------------------------------------------------------------------------------------------------===//

ThreadEmitter::Values ThreadEmitter::emitConstant(arith::ConstantOp op) {
  auto make = [&](Attribute value, Type element) -> Value {
    if (auto real = dyn_cast<FloatAttr>(value)) {
      if (element.getIntOrFloatBitWidth() == 8)
        return arith::ConstantOp::create(b, b.getIntegerAttr(b.getI8Type(), real.getValue().bitcastToAPInt()));
      return arith::ConstantOp::create(b, real);
    }
    return arith::ConstantOp::create(b, cast<TypedAttr>(value));
  };
  auto tile = dyn_cast<RankedTensorType>(op.getType());
  if (!tile)
    return {make(op.getValue(), op.getType())};
  auto elements = cast<DenseElementsAttr>(op.getValue());
  auto count = size_t(registersOf(tile));
  if (elements.isSplat())
    return Values(count, make(elements.getSplatValue<Attribute>(), tile.getElementType()));
  // Few elements that differ: chosen by the place.
  const LinearLayout &layout = layoutOf(tile);
  SmallVector<Attribute> all(elements.getValues<Attribute>());
  Values results;
  for (size_t reg = 0; reg < count; ++reg) {
    Value index = i32(0);
    for (int axis = 0; axis < tile.getRank(); ++axis) {
      index = arith::MulIOp::create(b, index, i32(tile.getDimSize(axis)));
      index = arith::AddIOp::create(b, index, coordinate(layout, int64_t(reg), tileDim(axis)));
    }
    Value chosen = make(all[0], tile.getElementType());
    for (size_t i = 1; i < all.size(); ++i) {
      Value here = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, index, i32(int64_t(i)));
      chosen = arith::SelectOp::create(b, here, make(all[i], tile.getElementType()), chosen);
    }
    results.push_back(chosen);
  }
  return results;
}

ThreadEmitter::Values ThreadEmitter::emitRange(MakeRangeOp op) {
  const LinearLayout &layout = layoutOf(op.getType());
  Values results;
  Type element = elementTypeOf(op.getType());
  for (int64_t reg = 0; reg < registersOf(op.getType()); ++reg) {
    Value index = coordinate(layout, reg, Dim::Dim0);
    if (op.getStart())
      index = arith::AddIOp::create(b, index, i32(op.getStart()));
    if (element.getIntOrFloatBitWidth() > 32)
      index = arith::ExtUIOp::create(b, element, index);
    else if (element.getIntOrFloatBitWidth() < 32)
      index = arith::TruncIOp::create(b, element, index);
    results.push_back(index);
  }
  return results;
}

ThreadEmitter::Values ThreadEmitter::pickRegisters(Type to, Type from, const Values &values,
                                                   llvm::function_ref<void(MutableArrayRef<int64_t>)> map) {
  const LinearLayout &target = layoutOf(to), &source = layoutOf(from);
  auto toRank = cast<RankedTensorType>(to).getRank(), fromRank = cast<RankedTensorType>(from).getRank();
  // Which register of `from` holds an element: by the part of its coordinates that registers add.
  std::map<SmallVector<int64_t, 4>, int64_t> places;
  for (int64_t reg = 0; reg < source.inputSize(Dim::Register); ++reg) {
    SmallVector<int64_t, 4> at;
    for (int axis = 0; axis < fromRank; ++axis)
      at.push_back(registerPart(source, reg, tileDim(axis)));
    places.insert({at, reg});
  }
  Values results;
  for (int64_t reg = 0; reg < target.inputSize(Dim::Register); ++reg) {
    SmallVector<int64_t, 4> at;
    for (int axis = 0; axis < toRank; ++axis)
      at.push_back(registerPart(target, reg, tileDim(axis)));
    at.resize(size_t(std::max(toRank, fromRank)));
    map(at);
    at.resize(size_t(fromRank));
    auto found = places.find(at);
    if (found == places.end())
      llvm::report_fatal_error("simt: a shape operation between layouts that do not fit");
    results.push_back(values[size_t(found->second)]);
  }
  return results;
}

ThreadEmitter::Values ThreadEmitter::emitShape(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return emitConstant(constant);
  if (auto range = dyn_cast<MakeRangeOp>(op))
    return emitRange(range);
  if (auto splat = dyn_cast<SplatOp>(op))
    return Values(size_t(registersOf(splat.getType())), scalar(splat.getSrc()));
  if (auto unsplat = dyn_cast<UnsplatOp>(op))
    return {scalar(unsplat.getSrc())};
  Value source = op->getOperand(0);
  Type from = source.getType(), to = op->getResult(0).getType();
  if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    auto axis = size_t(expand.getAxis());
    return pickRegisters(to, from, of(source), [&](MutableArrayRef<int64_t> at) {
      std::copy(at.begin() + long(axis) + 1, at.end(), at.begin() + long(axis));
    });
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    auto shape = cast<RankedTensorType>(from).getShape();
    return pickRegisters(to, from, of(source), [&](MutableArrayRef<int64_t> at) {
      for (auto [coordinate, size] : llvm::zip(at, shape))
        if (size == 1)
          coordinate = 0;
    });
  }
  if (auto slice = dyn_cast<ExtractSliceOp>(op))
    return pickRegisters(to, from, of(source), [&](MutableArrayRef<int64_t> at) {
      for (auto [coordinate, offset] : llvm::zip(at, slice.getOffsets()))
        coordinate ^= offset;
    });
  if (auto trans = dyn_cast<TransOp>(op)) {
    ArrayRef<int32_t> order = trans.getOrder();
    return pickRegisters(to, from, of(source), [&](MutableArrayRef<int64_t> at) {
      SmallVector<int64_t, 4> moved(at.begin(), at.end());
      for (auto [axis, was] : llvm::enumerate(order))
        moved[size_t(was)] = at[axis];
      llvm::copy(moved, at.begin());
    });
  }
  if (isa<ReshapeOp>(op)) {
    auto newShape = cast<RankedTensorType>(to).getShape(), oldShape = cast<RankedTensorType>(from).getShape();
    return pickRegisters(to, from, of(source), [&](MutableArrayRef<int64_t> at) {
      int64_t flat = 0;
      for (auto [axis, size] : llvm::enumerate(newShape))
        flat = flat * size + at[axis];
      for (size_t axis = oldShape.size(); axis-- > 0; flat /= oldShape[axis])
        at[axis] = flat % oldShape[axis];
    });
  }
  if (auto join = dyn_cast<JoinOp>(op)) {
    // Elements alternate along the last axis, which is in one register bit.
    int last = int(cast<RankedTensorType>(to).getRank()) - 1;
    Values left = pickRegisters(to, from, of(join.getLhs()), [](MutableArrayRef<int64_t>) {});
    Values right = pickRegisters(to, from, of(join.getRhs()), [](MutableArrayRef<int64_t>) {});
    for (size_t reg = 0; reg < left.size(); ++reg)
      if (registerPart(layoutOf(to), int64_t(reg), tileDim(last)))
        left[reg] = right[reg];
    return left;
  }
  if (auto split = dyn_cast<SplitOp>(op)) {
    Values both;
    int last = int(cast<RankedTensorType>(from).getRank()) - 1;
    for (int64_t half : {0, 1})
      llvm::append_range(
          both, pickRegisters(to, from, of(source), [&](MutableArrayRef<int64_t> at) { at[size_t(last)] = half; }));
    return both;
  }
  // cat: the elements of the left tile, then of the right one, in the order of registers.
  auto cat = cast<CatOp>(op);
  Values both = of(cat.getLhs());
  llvm::append_range(both, of(cat.getRhs()));
  return both;
}
