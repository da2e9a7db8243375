// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scans: each thread its registers, then lanes by shuffles; where warps share the axis, then what they left of each
// other's totals (LowerReductions.cpp). Layouts are chosen so that positions along the axis count registers first,
// lanes next, warps last. Backwards, everything is the same with positions counted from the other end: registers in the
// reverse order, and a bit of a lane or warp means what its opposite means forwards.
#include "compiler/layout/Axes.h"
#include "compiler/lowering/simt/CombineCode.h"
#include "compiler/lowering/simt/Exchanges.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

namespace {
class Scans : public CombineCode {
public:
  using CombineCode::CombineCode;
  void lower(TileScanOp op);
  void lower(ScanWarpsOp op);
  void lower(JoinScanOp op);

private:
  /// The registers of a thread along the axis.
  struct Line {
    SmallVector<std::pair<int64_t, Values>> scanned; ///< registers
    Values total;
    Values before;     ///< what comes before them, of each operand; empty: no thread has any
    Value exists = {}; ///< i1, whether this thread has any
  };
  /// The lines along the axis that a thread has, scanned over its registers and the lanes before it.
  std::vector<Line> scanLines(Region &region, ValueRange tiles, int axis, bool reverse);
  /// Combines what is before a thread's registers with each.
  void finishScan(Region &region, std::vector<Line> &lines, ValueRange results);
  /// Assertions of the region count where both are combined from elements of the scan (`exist`, i1; null: everywhere),
  /// also from elements that do not begin with the first one, whose result no position has.
  Values combine(Region &region, const Values &earlier, const Values &later, Value exist = {});
  Values select(Value bit, const Values &yes, const Values &no);
  /// Whether the thread comes after its opposite in this bit of its number (i1).
  Value isLater(Value number, int bit, bool reverse);
};
} // namespace

ThreadCode::Values Scans::combine(Region &region, const Values &earlier, const Values &later, Value exist) {
  Values arguments = earlier;
  llvm::append_range(arguments, later);
  return runRegion(region, arguments, exist);
}

ThreadCode::Values Scans::select(Value bit, const Values &yes, const Values &no) {
  Values chosen;
  for (auto [x, y] : llvm::zip(yes, no))
    chosen.push_back(arith::SelectOp::create(b, bit, x, y));
  return chosen;
}

Value Scans::isLater(Value number, int bit, bool reverse) {
  Value part = arith::AndIOp::create(b, number, i32(int64_t(1) << bit));
  return arith::CmpIOp::create(b, reverse ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne, part, i32(0));
}

std::vector<Scans::Line> Scans::scanLines(Region &region, ValueRange tiles, int axis, bool reverse) {
  const LinearLayout &layout = layoutOf(tiles[0].getType());
  std::map<Place, std::map<int64_t, int64_t>> lines;
  for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg) {
    int64_t position = registerPart(layout, reg, tileDim(axis));
    lines[placeOff(axis, layout, reg)].insert({reverse ? -position : position, reg});
  }
  std::vector<int> bits = layout::bitsAlong(layout, Dim::Lane, axis);
  SmallVector<Value> laterLane;
  for (int bit : bits)
    laterLane.push_back(isLater(state.lane, bit, reverse));
  std::vector<Line> results;
  for (auto &[place, registers] : lines) {
    Line line;
    for (auto [position, reg] : registers) {
      Values own;
      for (Value tile : tiles)
        own.push_back(of(tile)[size_t(reg)]);
      line.total = line.scanned.empty() ? own : combine(region, line.total, own);
      line.scanned.push_back({reg, line.total});
    }
    for (auto [bit, later] : llvm::zip(bits, laterLane)) {
      Values other;
      for (Value part : line.total)
        other.push_back(shuffleXor(part, 1 << bit));
      // What precedes this lane's group is extended at its beginning.
      Values before = other;
      Value exists = later;
      if (!line.before.empty()) {
        Value both = arith::AndIOp::create(b, line.exists, later);
        before = select(line.exists, combine(region, other, line.before, both), other);
        before = select(later, before, line.before);
        exists = arith::OrIOp::create(b, line.exists, later);
      }
      std::tie(line.before, line.exists) = {before, exists};
      line.total = combine(region, select(later, other, line.total), select(later, line.total, other));
    }
    results.push_back(std::move(line));
  }
  return results;
}

void Scans::finishScan(Region &region, std::vector<Line> &lines, ValueRange results) {
  const LinearLayout &layout = layoutOf(results[0].getType());
  SmallVector<Values> values(results.size(), Values(size_t(layout.inputSize(Dim::Register))));
  for (Line &line : lines)
    for (auto &[reg, own] : line.scanned) {
      Values whole = own;
      if (!line.before.empty())
        whole = select(line.exists, combine(region, line.before, own, line.exists), own);
      for (size_t i = 0; i < results.size(); ++i)
        values[i][size_t(reg)] = whole[i];
    }
  for (auto [result, list] : llvm::zip(results, values)) {
    for (size_t reg = 0; reg < list.size(); ++reg)
      if (!list[reg])
        list[reg] = list[size_t(firstCopy(layout, int64_t(reg)))];
    made[result] = list;
  }
}

void Scans::lower(TileScanOp op) {
  if (refuseIfDivergent())
    return;
  auto axis = int(op.getAxis());
  const LinearLayout &layout = layoutOf(op.getSources()[0].getType());
  if (!layout::bitsAlong(layout, Dim::Warp, axis).empty()) {
    refuseWithout("lower-reductions");
    return;
  }
  std::vector<Line> lines = scanLines(op.getCombine(), op.getSources(), axis, op.getReverse());
  finishScan(op.getCombine(), lines, op.getScanned());
}

void Scans::lower(ScanWarpsOp op) {
  if (refuseIfDivergent())
    return;
  std::vector<Line> lines = scanLines(op.getCombine(), op.getSources(), int(op.getAxis()), op.getReverse());
  const LinearLayout &layout = layoutOf(op.getSources()[0].getType());
  for (size_t i = 0; i < op.getSources().size(); ++i) {
    Values scanned(size_t(layout.inputSize(Dim::Register))), totals, before;
    for (Line &line : lines) {
      for (auto &[reg, values] : line.scanned)
        scanned[size_t(reg)] = values[i];
      totals.push_back(line.total[i]);
      if (!line.before.empty())
        before.push_back(line.before[i]);
    }
    for (size_t reg = 0; reg < scanned.size(); ++reg)
      if (!scanned[reg])
        scanned[reg] = scanned[size_t(firstCopy(layout, int64_t(reg)))];
    made[op.getScanned()[i]] = scanned;
    made[op.getTotals()[i]] = totals;
    if (!op.getBefore().empty())
      made[op.getBefore()[i]] = before;
  }
}

void Scans::lower(JoinScanOp op) {
  auto axis = int(op.getAxis());
  bool reverse = op.getReverse();
  const LinearLayout &layout = layoutOf(op.getScanned()[0].getType());
  std::map<Place, Line> lines;
  for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg) {
    Values own;
    for (Value tile : op.getScanned())
      own.push_back(of(tile)[size_t(reg)]);
    lines[placeOff(axis, layout, reg)].scanned.push_back({reg, own});
  }
  std::vector<int> laneBits = layout::bitsAlong(layout, Dim::Lane, axis),
                   warpBits = layout::bitsAlong(layout, Dim::Warp, axis);
  Value hasLanesBefore, number;
  for (int bit : laneBits) {
    Value later = isLater(state.lane, bit, reverse);
    hasLanesBefore = hasLanesBefore ? Value(arith::OrIOp::create(b, hasLanesBefore, later)) : later;
  }
  for (auto [position, bit] : llvm::enumerate(warpBits)) {
    Value one = arith::AndIOp::create(b, arith::ShRUIOp::create(b, state.warp, i32(bit)), i32(1));
    one = arith::ShLIOp::create(b, one, i32(int64_t(position)));
    number = number ? Value(arith::OrIOp::create(b, number, one)) : one;
  }
  auto warps = int64_t(1) << warpBits.size();
  std::vector<Line> results;
  for (auto &[place, line] : lines) {
    size_t index = results.size();
    auto rowOf = [&](int64_t row) {
      Values values;
      for (Value total : op.getTotals())
        values.push_back(of(total)[index * size_t(warps) + size_t(row)]);
      return values;
    };
    // All warps from the first one to the one before this one.
    for (int64_t i = 0; i + 1 < warps; ++i) {
      Values row = rowOf(reverse ? warps - 1 - i : i);
      auto after = reverse ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sgt;
      Value isAfter = arith::CmpIOp::create(b, after, number, i32(reverse ? warps - 1 - i : i));
      Values longer = line.before.empty() ? row : combine(op.getCombine(), line.before, row);
      line.before = line.before.empty() ? longer : select(isAfter, longer, line.before);
      if (!line.exists)
        line.exists = isAfter;
    }
    if (hasLanesBefore) {
      // A lane with nothing before it in its warp has what is before the warp, and the reverse.
      Values lanes;
      for (Value before : op.getBefore())
        lanes.push_back(of(before)[index]);
      Value exist = arith::AndIOp::create(b, line.exists, hasLanesBefore);
      Values both = select(line.exists, combine(op.getCombine(), line.before, lanes, exist), lanes);
      line.before = select(hasLanesBefore, both, line.before);
      line.exists = arith::OrIOp::create(b, line.exists, hasLanesBefore);
    }
    results.push_back(std::move(line));
  }
  finishScan(op.getCombine(), results, op.getResult());
}

void simt::addScans(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Scans, TileScanOp, ScanWarpsOp, JoinScanOp>(patterns, state);
}
