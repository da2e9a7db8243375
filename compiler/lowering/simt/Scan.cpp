// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scans: each thread its registers, then lanes by shuffles, then warps by one round through shared memory. Layouts are
// chosen so that positions along the axis count registers first, lanes next, warps last.
#include "compiler/layout/Axes.h"
#include "compiler/lowering/simt/ThreadEmitter.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

namespace {
/// What comes before a thread's registers, of each operand; some threads have none.
struct Prefix {
  llvm::SmallVector<Value> values; ///< empty: no thread has one
  Value exists;                    ///< i1
};
} // namespace

/// The bits of `in` that move along the axis, those of small steps first.
static SmallVector<int> bitsAlong(const layout::LinearLayout &layout, layout::Dim in, int axis) {
  SmallVector<int> bits;
  for (int bit = 0; bit < layout.inputBits(in); ++bit)
    if (layout.basis(in, bit, tileDim(axis)))
      bits.push_back(bit);
  llvm::sort(bits,
             [&](int x, int y) { return layout.basis(in, x, tileDim(axis)) < layout.basis(in, y, tileDim(axis)); });
  return bits;
}

// Backwards, everything is the same with positions counted from the other end: registers in the reverse order, and a
// bit of a lane or warp means what its opposite means forwards.
void ThreadEmitter::emitScan(ScanOp op) {
  if (divergent)
    return (void)refuse(op, "it stands in a branch that not all threads take");
  auto tile = cast<RankedTensorType>(op.getSrcs()[0].getType());
  LinearLayout layout = layoutOf(tile);
  int axis = int(op.getAxis());
  if (!isScanOrdered(layout, axis))
    llvm::report_fatal_error("simt: a scan along an axis that lanes and warps do not follow in order");
  bool reverse = op.getReverse();
  size_t operands = op.getSrcs().size();
  auto combine = [&](const Values &earlier, const Values &later) {
    Values arguments = earlier;
    llvm::append_range(arguments, later);
    return failed ? later : runRegion(op.getCombineOp(), arguments);
  };
  auto select = [&](Value bit, const Values &yes, const Values &no) {
    Values chosen;
    for (auto [x, y] : llvm::zip(yes, no))
      chosen.push_back(arith::SelectOp::create(b, bit, x, y));
    return chosen;
  };
  auto isLater = [&](Value number, int bit) -> Value { // whether the thread comes behind its opposite in this bit
    Value part = arith::AndIOp::create(b, number, i32(int64_t(1) << bit));
    return arith::CmpIOp::create(b, reverse ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne, part, i32(0));
  };

  // The registers of each line, in the order of the scan.
  using Place = SmallVector<int64_t, 4>;
  std::map<Place, std::map<int64_t, int64_t>> lines;
  for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg) {
    Place place;
    for (int i = 0; i < tile.getRank(); ++i)
      if (i != axis)
        place.push_back(registerPart(layout, reg, tileDim(i)));
    int64_t position = registerPart(layout, reg, tileDim(axis));
    lines[place].insert({reverse ? -position : position, reg});
  }
  struct Line {
    SmallVector<std::pair<int64_t, Values>> scanned; ///< registers
    Values total;
    Prefix prefix; ///< of the lanes before
  };
  std::vector<Line> results;
  SmallVector<int> laneBits = bitsAlong(layout, Dim::Lane, axis), warpBits = bitsAlong(layout, Dim::Warp, axis);
  SmallVector<Value> laterLane;
  for (int bit : laneBits)
    laterLane.push_back(isLater(lane, bit));
  for (auto &[place, registers] : lines) {
    Line line;
    for (auto [position, reg] : registers) {
      Values own;
      for (Value source : op.getSrcs())
        own.push_back(of(source)[size_t(reg)]);
      line.total = line.scanned.empty() ? own : combine(line.total, own);
      line.scanned.push_back({reg, line.total});
    }
    for (auto [bit, later] : llvm::zip(laneBits, laterLane)) {
      Values other;
      for (Value part : line.total)
        other.push_back(shuffleXor(part, 1 << bit));
      // What lies before this lane's group grows in front.
      Prefix before{other, later};
      if (!line.prefix.values.empty()) {
        Values both = combine(other, line.prefix.values);
        both = select(line.prefix.exists, both, other);
        before = {select(later, both, line.prefix.values), arith::OrIOp::create(b, line.prefix.exists, later)};
      }
      line.prefix = before;
      line.total = combine(select(later, other, line.total), select(later, line.total, other));
    }
    results.push_back(std::move(line));
  }
  if (failed)
    return;
  if (!warpBits.empty()) {
    KeptParts totals;
    for (Line &line : results) {
      totals.parts.push_back(line.total);
      totals.registers.push_back(line.scanned.front().first);
    }
    PartsOfWarps partsOf = exchangeAcrossWarps(op.getSrcs(), axis, warpBits, totals);
    auto parts = llvm::map_to_vector(llvm::seq(results.size()), partsOf);
    Value number = warpNumber(warpBits);
    auto warps = int64_t(1) << warpBits.size();
    for (auto [line, rows] : llvm::zip(results, parts)) {
      Prefix before; // all warps from the first one to the one before this one
      for (int64_t i = 0; i + 1 < warps; ++i) {
        int64_t row = reverse ? warps - 1 - i : i;
        auto behind = reverse ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sgt;
        Value isBehind = arith::CmpIOp::create(b, behind, number, i32(row));
        Values longer = before.values.empty() ? rows[size_t(row)] : combine(before.values, rows[size_t(row)]);
        before.values = before.values.empty() ? longer : select(isBehind, longer, before.values);
        if (!before.exists)
          before.exists = isBehind;
      }
      if (!line.prefix.values.empty()) {
        // A lane without a prefix in its warp has that of the warps, and the reverse.
        Values both = select(before.exists, combine(before.values, line.prefix.values), line.prefix.values);
        before = {select(line.prefix.exists, both, before.values),
                  arith::OrIOp::create(b, before.exists, line.prefix.exists)};
      }
      line.prefix = before;
    }
  }
  SmallVector<Values> values(operands, Values(size_t(layout.inputSize(Dim::Register))));
  for (Line &line : results)
    for (auto &[reg, own] : line.scanned) {
      Values whole = own;
      if (!line.prefix.values.empty())
        whole = select(line.prefix.exists, combine(line.prefix.values, own), own);
      for (size_t i = 0; i < operands; ++i)
        values[i][size_t(reg)] = whole[i];
    }
  for (auto [result, list] : llvm::zip(op.getResult(), values)) {
    for (size_t reg = 0; reg < list.size(); ++reg)
      if (!list[reg])
        list[reg] = list[size_t(firstCopy(layout, int64_t(reg)))];
    emitted[result] = list;
  }
}
