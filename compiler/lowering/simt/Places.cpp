// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who holds what: coordinates of registers, owners among copies.
#include "compiler/lowering/simt/ThreadCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

int64_t ThreadCode::registerPart(const LinearLayout &layout, int64_t reg, Dim out) {
  int64_t result = 0;
  for (int bit = 0; reg >> bit; ++bit)
    if (reg >> bit & 1)
      result ^= layout.basis(Dim::Register, bit, out);
  return result;
}

/// Whether registers have a coordinate's bit where the thread's number has one that a mask takes away from the lanes'
/// part: LLVM drops the mask of `(thread & 31) | 32`, and then what only the constant distinguishes is no longer a base
/// and an offset of it.
static bool coversNextBits(const layout::LinearLayout &tile, layout::Dim out, int64_t above, int threadBitsAbove) {
  uint64_t lost = ((uint64_t(1) << threadBitsAbove) - 1) * uint64_t(above);
  for (int bit = 0; bit < tile.inputBits(layout::Dim::Register); ++bit)
    if (uint64_t(tile.basis(layout::Dim::Register, bit, out)) & lost)
      return true;
  return false;
}

// Runs of bits whose bases double are moved together.
Value ThreadCode::placePart(const LinearLayout &layout, Dim out) {
  auto &known = state.parts[{layout.hash(), out}];
  for (auto &[same, value] : known)
    if (same == layout)
      return value;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(state.prologueEnd);
  Value sum;
  uint64_t used = 0;
  for (Dim in : {Dim::Lane, Dim::Warp}) {
    Value number = in == Dim::Lane ? state.lane : state.warp;
    int bits = layout.inputBits(in);
    for (int bit = 0; bit < bits;) {
      int64_t first = layout.basis(in, bit, out);
      int run = 1;
      while (first && bit + run < bits && layout.basis(in, bit + run, out) == first << run)
        ++run;
      if (first) {
        int64_t span = ((int64_t(1) << run) - 1);
        // Kernels with matmuls have few addresses, and every base takes a register.
        if (in == Dim::Lane && bit + run == bits && !facts.multiplies &&
            coversNextBits(layout, out, first << run, layout.inputBits(Dim::Warp)))
          number = laneAlone();
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

Value ThreadCode::laneAlone() {
  if (!state.laneAlone) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(state.prologueEnd);
    Value number = target.laneNumber(b);
    state.laneAlone = number ? number : state.lane;
  }
  return state.laneAlone;
}

Value ThreadCode::coordinate(const LinearLayout &layout, int64_t reg, Dim out) {
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

Value ThreadCode::isOwner(const LinearLayout &layout) {
  uint64_t mask = block().copies(layout);
  if (!mask)
    return {};
  Value &owner = state.owners[mask];
  if (!owner) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(state.prologueEnd);
    Value bits = arith::AndIOp::create(b, state.thread, i32(int64_t(mask)));
    owner = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bits, i32(0));
  }
  return owner;
}

int64_t ThreadCode::firstCopy(const LinearLayout &layout, int64_t reg) {
  return reg & ~int64_t(layout.freeBits(Dim::Register));
}

Value ThreadCode::flatIndex(Type tile, int64_t reg) {
  auto shape = cast<RankedTensorType>(tile).getShape();
  const LinearLayout &layout = layoutOf(tile);
  Value index;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    Value at = coordinate(layout, reg, tileDim(int(axis)));
    if (index && size > 1)
      index = arith::MulIOp::create(b, index, i32(size));
    index = !index ? at : size > 1 ? Value(arith::AddIOp::create(b, index, at)) : index;
  }
  return index ? index : i32(0);
}
