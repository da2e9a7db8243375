// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that combine elements along an axis: along registers, then lanes. Where warps share the axis they exchange
// what is left of each (LowerReductions.cpp).
#include "compiler/analysis/Uniformity.h"
#include "compiler/layout/Axes.h"
#include "compiler/lowering/simt/CombineCode.h"
#include "compiler/lowering/simt/Exchanges.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

namespace {
class Reductions : public CombineCode {
public:
  using CombineCode::CombineCode;
  void lower(TileReduceOp op);
  void lower(ReduceWarpsOp op);

private:
  /// A list of operands for each element off the axis, in the order of their coordinates. Where lanes share the
  /// elements out among them, each has its own lists only: of those before, the upper half where the first of `sharing`
  /// is set in the lane's number, and so on.
  struct KeptParts {
    llvm::SmallVector<Values> parts;
    size_t elements = 0;            ///< of all lanes together
    llvm::SmallVector<int> sharing; ///< bits of the lane's number
  };
  /// The results of `op`, from what is left of its operands along the axis.
  void bindReduced(TileReduceOp op, const KeptParts &kept);
  /// The numbers of registers, by their positions along the axis, and what they hold of each tile.
  std::pair<SmallVector<int64_t>, SmallVector<Values>> partsOf(ValueRange tiles,
                                                               const std::map<int64_t, int64_t> &registers);
  /// Combines the registers along the axis, each list in the order of its positions there, or those of even positions
  /// first and those of odd ones.
  KeptParts combineRegisters(Region &region, ValueRange tiles, int axis);
  /// Combines the parts of lanes along the axis, of which the first `shared` share the elements out.
  void combineLanes(Region &region, KeptParts &kept, ArrayRef<int> bits, size_t shared);
  /// The same for the last two bits of the number of a lane of 64, when lanes of each row of 16 have the same parts;
  /// false, and nothing is done, where the target has no way for that.
  bool combineRows(Region &region, KeptParts &kept);
  /// The same for all lanes of a warp of 32, by one instruction for each element; false, and nothing is done, where the
  /// target has none.
  bool combineWarp(Region &region, KeptParts &kept);
  /// Each lane has all elements again.
  void unshare(KeptParts &kept);
  Value laneBit(int bit); ///< i1
};
} // namespace

//===-- Lanes ----------------------------------------------------------------------------------------------------===//

Value Reductions::laneBit(int bit) {
  Value masked = arith::AndIOp::create(b, state.lane, i32(int64_t(1) << bit));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked, i32(0));
}

// The half of `values` that is `upper` where the bit is set, and the other one elsewhere.
static SmallVector<Value> chooseHalf(ImplicitLocOpBuilder &b, Value bit, ArrayRef<Value> values, bool upper) {
  size_t half = values.size() / 2;
  SmallVector<Value> chosen;
  for (size_t i = 0; i < half; ++i)
    chosen.push_back(
        arith::SelectOp::create(b, bit, values[upper ? half + i : i], values[upper ? i : half + i]).getResult());
  return chosen;
}

/// In the order of the lanes' numbers.
static SmallVector<int> lanesAlong(const layout::LinearLayout &layout, int axis) {
  std::vector<int> bits = layout::bitsAlong(layout, layout::Dim::Lane, axis);
  llvm::sort(bits);
  return {bits.begin(), bits.end()};
}

static bool isWord(Value value) {
  return value.getType().isInteger(32) || value.getType().isF32();
}

// By themselves two lanes would both combine what both have. With several elements each takes one half of them, gives
// the other one away and has half the work from there on.
void Reductions::combineLanes(Region &region, KeptParts &kept, ArrayRef<int> bits, size_t shared) {
  size_t operands = kept.parts.front().size();
  if (shared == 0 && bits.size() == 5 && target.lanesPerWarp() == 32 && combineWarp(region, kept))
    return;
  bool isWholeWarp = shared == 0 && bits.size() == 6; // of 64 lanes
  for (auto [step, bit] : llvm::enumerate(bits)) {
    if (isWholeWarp && step == 4 && combineRows(region, kept))
      return;
    SmallVector<Values> given = kept.parts;
    if (step < shared) {
      Value isUpper = laneBit(bit);
      given.assign(kept.parts.size() / 2, Values());
      SmallVector<Values> mine(given.size());
      for (size_t operand = 0; operand < operands; ++operand) {
        Values all;
        for (const Values &part : kept.parts)
          all.push_back(part[operand]);
        for (auto [to, value] : llvm::zip(given, chooseHalf(b, isUpper, all, /*upper=*/false)))
          to.push_back(value);
        for (auto [to, value] : llvm::zip(mine, chooseHalf(b, isUpper, all, /*upper=*/true)))
          to.push_back(value);
      }
      kept.parts = std::move(mine);
      kept.sharing.push_back(bit);
    }
    for (auto [part, other] : llvm::zip(kept.parts, given)) {
      // The operands of one fold keep one order.
      bool mayChangePlaces = step >= shared && llvm::all_of(part, isWord);
      for (auto [own, value] : llvm::zip(part, other))
        if (mayChangePlaces)
          std::tie(own, value) = pairXor(value, 1 << bit);
        else
          value = shuffleXor(value, 1 << bit);
      part = fold(region, {part, other});
    }
  }
}

// The last row has combined what it has with the row before, and so has the second; then the last has all four.
bool Reductions::combineRows(Region &region, KeptParts &kept) {
  for (int mask : {16, 32})
    for (Values &part : kept.parts) {
      Values before;
      for (Value value : part)
        before.push_back(fromRowBefore(value, mask));
      if (!before.front())
        return false;
      part = fold(region, {part, before});
    }
  for (Values &part : kept.parts)
    for (Value &value : part)
      value = fromLastLane(value);
  return true;
}

bool Reductions::combineWarp(Region &region, KeptParts &kept) {
  Operation *combine = onlyOperation(region);
  if (!combine || !combine->getResult(0).getType().isInteger(32))
    return false;
  for (Values &part : kept.parts) {
    Value all = target.combineWarp(b, combine, part.front());
    if (!all)
      return false;
    part = {all};
  }
  return true;
}

void Reductions::unshare(KeptParts &kept) {
  int64_t mask = 0;
  for (int bit : kept.sharing)
    mask |= int64_t(1) << bit;
  SmallVector<Values> all;
  for (size_t element = 0; element < kept.elements && mask; ++element) {
    int64_t holder = 0;
    for (size_t half = kept.elements / 2, step = 0; step < kept.sharing.size(); ++step, half /= 2)
      holder |= int64_t((element & half) != 0) << kept.sharing[step];
    Value from = arith::OrIOp::create(b, arith::AndIOp::create(b, state.lane, i32(~mask)), i32(holder));
    Values values;
    for (Value value : kept.parts[element % kept.parts.size()])
      values.push_back(shuffleFrom(value, from));
    all.push_back(values);
  }
  if (mask)
    kept.parts = std::move(all);
  kept.sharing.clear();
}

//===-- Reductions -----------------------------------------------------------------------------------------------===//

/// Whether the registers of both lists are adjacent, one by one.
static bool arePairs(ArrayRef<int64_t> even, ArrayRef<int64_t> odd) {
  return even.size() == odd.size() && llvm::all_of(llvm::zip(even, odd), [](auto both) {
           auto [first, second] = both;
           return first % 2 == 0 && second == first + 1;
         });
}

std::pair<SmallVector<int64_t>, SmallVector<ThreadCode::Values>>
Reductions::partsOf(ValueRange tiles, const std::map<int64_t, int64_t> &registers) {
  std::pair<SmallVector<int64_t>, SmallVector<Values>> result;
  for (auto [position, reg] : registers) {
    result.first.push_back(reg);
    result.second.push_back(llvm::map_to_vector(tiles, [&](Value tile) { return registerOf(tile, reg); }));
  }
  return result;
}

Reductions::KeptParts Reductions::combineRegisters(Region &region, ValueRange tiles, int axis) {
  const LinearLayout &layout = layoutOf(tiles[0].getType());
  std::map<Place, std::map<int64_t, int64_t>> groups;
  for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg)
    groups[placeOff(axis, layout, reg)].insert({registerPart(layout, reg, tileDim(axis)), reg});
  KeptParts kept;
  bool inPairs = foldsPairs(region);
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    auto next = std::next(group);
    auto [registers, parts] = partsOf(tiles, group->second);
    if (inPairs && next != groups.end() && registers.size() > 1) {
      auto [others, otherParts] = partsOf(tiles, next->second);
      if (arePairs(registers, others)) { // adjacent elements off the axis
        auto [even, odd] = foldPairs(region, parts, otherParts);
        kept.parts.append({even, odd});
        ++group;
        continue;
      }
    }
    SmallVector<int64_t> evens, odds;
    SmallVector<Values> even, odd;
    for (auto [i, reg] : llvm::enumerate(registers)) {
      (i % 2 ? odds : evens).push_back(reg);
      (i % 2 ? odd : even).push_back(parts[i]);
    }
    if (inPairs && registers.size() > 2 && arePairs(evens, odds)) { // and along it
      auto [first, second] = foldPairs(region, even, odd);
      parts = {first, second};
    }
    kept.parts.push_back(fold(region, parts));
  }
  kept.elements = kept.parts.size();
  return kept;
}

void Reductions::bindReduced(TileReduceOp op, const KeptParts &kept) {
  auto axis = int(op.getAxis());
  const LinearLayout &layout = layoutOf(op.getSources()[0].getType());
  std::map<Place, size_t> numbers; // in the order of `kept`
  for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg)
    numbers[placeOff(axis, layout, reg)] = 0;
  for (size_t next = 0; auto &[place, number] : numbers)
    number = next++;
  for (auto [operand, result] : llvm::enumerate(op.getTotals())) {
    if (!isa<RankedTensorType>(result.getType())) {
      made[result] = {kept.parts.front()[operand]};
      continue;
    }
    const LinearLayout &to = layoutOf(result.getType());
    Values registers;
    for (int64_t reg = 0; reg < to.inputSize(Dim::Register); ++reg) {
      auto number = numbers.find(placeOff(-1, to, reg));
      if (number == numbers.end())
        return refuse("its result has another layout than its source leaves");
      registers.push_back(kept.parts[number->second][operand]);
    }
    made[result] = registers;
  }
}

void Reductions::lower(TileReduceOp op) {
  if (refuseIfDivergent())
    return;
  // One instruction does it for the whole block, and tells every thread the same. Barriers between devices rely on
  // that: there the copies of a bit that threads hold differ (transforms/BlockBarriers.cpp).
  if (analysis::isAny(op)) {
    Value some;
    for (Value bit : of(op.getSources()[0]))
      some = some ? Value(arith::OrIOp::create(b, some, bit)) : bit;
    made[op.getTotals()[0]] = {blockBarrierOr(some)};
    return;
  }
  auto axis = int(op.getAxis());
  const LinearLayout &layout = layoutOf(op.getSources()[0].getType());
  if (!layout::bitsAlong(layout, Dim::Warp, axis).empty()) {
    refuseWithout("lower-reductions");
    return;
  }
  if (facts.byOwner.contains(op) && op.getSources()[0].getDefiningOp<LoadSharedOp>()) {
    KeptParts kept;
    kept.parts = {inOwner(op->getResultTypes(),
                          [&] { return combineRegisters(op.getCombine(), op.getSources(), axis).parts.front(); })};
    return bindReduced(op, kept);
  }
  KeptParts kept = combineRegisters(op.getCombine(), op.getSources(), axis);
  combineLanes(op.getCombine(), kept, lanesAlong(layout, axis),
               size_t(lanesThatShare(layout, axis, /*staysShared=*/false)));
  unshare(kept);
  bindReduced(op, kept);
}

void Reductions::lower(ReduceWarpsOp op) {
  if (refuseIfDivergent())
    return;
  auto axis = int(op.getAxis());
  const LinearLayout &layout = layoutOf(op.getSources()[0].getType()), &left = layoutOf(op.getTotals()[0].getType());
  KeptParts kept = combineRegisters(op.getCombine(), op.getSources(), axis);
  auto shared = size_t(llvm::Log2_64(kept.elements)) - size_t(left.inputBits(Dim::Register));
  combineLanes(op.getCombine(), kept, lanesAlong(layout, axis), shared);
  for (auto [operand, result] : llvm::enumerate(op.getTotals())) {
    Values registers;
    for (const Values &part : kept.parts)
      registers.push_back(part[operand]);
    made[result] = registers;
  }
}

void simt::addReductions(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Reductions, TileReduceOp, ReduceWarpsOp>(patterns, state);
}
