// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that combine elements: along registers, then lanes, then through shared memory across warps. Histogram and
// gather.
#include "compiler/layout/Encodings.h"
#include "compiler/lowering/simt/ThreadEmitter.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

Value ThreadEmitter::flatIndex(Type tile, int64_t reg, int skippedAxis) {
  auto shape = cast<RankedTensorType>(tile).getShape();
  const LinearLayout &layout = layoutOf(tile);
  Value index;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    if (int(axis) == skippedAxis)
      continue;
    Value at = coordinate(layout, reg, tileDim(int(axis)));
    if (index && size > 1)
      index = arith::MulIOp::create(b, index, i32(size));
    index = !index ? at : size > 1 ? Value(arith::AddIOp::create(b, index, at)) : index;
  }
  return index ? index : i32(0);
}

// Neighbours first, so that chains are short.
ThreadEmitter::Values ThreadEmitter::fold(Region &region, SmallVector<Values> parts) {
  while (parts.size() > 1) {
    SmallVector<Values> next;
    for (size_t i = 0; i + 1 < parts.size(); i += 2) {
      Values arguments = parts[i];
      llvm::append_range(arguments, parts[i + 1]);
      next.push_back(runRegion(region, arguments));
      if (failed)
        return {};
    }
    if (parts.size() % 2)
      next.push_back(parts.back());
    parts = std::move(next);
  }
  return parts.front();
}

Value ThreadEmitter::warpNumber(ArrayRef<int> bits) {
  Value number;
  for (auto [position, bit] : llvm::enumerate(bits)) {
    Value one = arith::AndIOp::create(b, arith::ShRUIOp::create(b, warp, i32(bit)), i32(1));
    one = arith::ShLIOp::create(b, one, i32(int64_t(position)));
    number = number ? Value(arith::OrIOp::create(b, number, one)) : one;
  }
  return number;
}

//===-- Lanes ----------------------------------------------------------------------------------------------------===//

Value ThreadEmitter::laneBit(int bit) {
  Value masked = arith::AndIOp::create(b, lane, i32(int64_t(1) << bit));
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

// How often lanes share their elements, so that the fewest instructions do.
static size_t chooseSharing(size_t elements, size_t bits, bool staysShared) {
  size_t best = 0, least = std::numeric_limits<size_t>::max();
  for (size_t times = 0; times <= bits && llvm::isPowerOf2_64(elements) && elements >> times; ++times) {
    size_t left = elements >> times;
    // Who shares chooses what to keep and what to give away; any step shuffles and combines what is left.
    size_t cost = 4 * (elements - left) + 2 * left * (bits - times) + (times && !staysShared ? elements : 0);
    if (cost < least)
      best = times, least = cost;
  }
  return best;
}

static bool isWord(Value value) {
  return value.getType().isInteger(32) || value.getType().isF32();
}

// By themselves two lanes would both combine what both have. With several elements each takes one half of them, gives
// the other one away and has half the work from there on.
void ThreadEmitter::combineLanes(Region &region, KeptParts &kept, ArrayRef<int> bits, bool staysShared) {
  size_t shared = chooseSharing(kept.parts.size(), bits.size(), staysShared), operands = kept.parts.front().size();
  for (auto [step, bit] : llvm::enumerate(bits)) {
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
      if (failed)
        return;
    }
  }
}

void ThreadEmitter::unshare(KeptParts &kept) {
  int64_t mask = 0;
  for (int bit : kept.sharing)
    mask |= int64_t(1) << bit;
  SmallVector<Values> all;
  for (size_t element = 0; element < kept.registers.size() && mask; ++element) {
    int64_t holder = 0;
    for (size_t half = kept.registers.size() / 2, step = 0; step < kept.sharing.size(); ++step, half /= 2)
      holder |= int64_t((element & half) != 0) << kept.sharing[step];
    Value from = arith::OrIOp::create(b, arith::AndIOp::create(b, lane, i32(~mask)), i32(holder));
    Values values;
    for (Value value : kept.parts[element % kept.parts.size()])
      values.push_back(shuffleFrom(value, from));
    all.push_back(values);
  }
  if (mask)
    kept.parts = std::move(all);
  kept.sharing.clear();
}

//===-- Warps ----------------------------------------------------------------------------------------------------===//

ThreadEmitter::PartsOfWarps ThreadEmitter::exchangeAcrossWarps(ValueRange sources, int axis, ArrayRef<int> warpBits,
                                                               const KeptParts &kept) {
  auto tile = cast<RankedTensorType>(sources[0].getType());
  LinearLayout layout = layoutOf(tile);
  int64_t warps = int64_t(1) << warpBits.size(), lines = tile.getNumElements() / tile.getDimSize(axis), bytes = 0;
  SmallVector<int64_t> starts, sizes;
  for (Value source : sources) {
    starts.push_back(bytes);
    sizes.push_back(memoryType(elementTypeOf(source.getType())).getIntOrFloatBitWidth() / 8);
    bytes += int64_t(llvm::alignTo(uint64_t(warps * lines * sizes.back()), 16));
  }
  Value base = scratch(bytes), number = warpNumber(warpBits);
  // One lane of each warp writes an element: the others along the axis, if they do not share, and copies hold the same.
  uint64_t silent = 0;
  for (int bit = 0; bit < layout.inputBits(Dim::Lane); ++bit)
    if (layout.basis(Dim::Lane, bit, tileDim(axis)))
      silent |= uint64_t(!llvm::is_contained(kept.sharing, bit)) << bit;
  silent |=
      layout.freeBits(Dim::Lane) | (uint64_t(target.lanesPerWarp() - 1) & ~uint64_t(layout.inputSize(Dim::Lane) - 1));
  uint64_t copies = layout.freeBits(Dim::Warp) * uint64_t(target.lanesPerWarp());
  Value writer;
  if (silent | copies)
    writer = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                   arith::AndIOp::create(b, thread, i32(int64_t(silent | copies))), i32(0));
  // All warps' parts of an element are neighbours: one access reads them.
  auto pointerOf = [=, this](size_t operand, Value element, Value row) {
    Value index = arith::AddIOp::create(b, arith::MulIOp::create(b, element, i32(warps)), row);
    index = arith::AddIOp::create(b, arith::MulIOp::create(b, index, i32(sizes[operand])), i32(starts[operand]));
    return sharedPointer(base, index);
  };
  Values indices;
  for (int64_t reg : kept.registers)
    indices.push_back(flatIndex(tile, reg, axis));
  Values own = indices;
  for (int bit : kept.sharing)
    own = chooseHalf(b, laneBit(bit), own, /*upper=*/true);
  when(writer, {},
       [&]() -> Values {
         for (auto [part, index] : llvm::zip(kept.parts, own))
           for (size_t i = 0; i < sources.size(); ++i)
             storeShared(pointerOf(i, index, number), toMemory(part[i], elementTypeOf(sources[i].getType())));
         return {};
       },
       {});
  meetForScratch();
  return [=, this](size_t number) {
    SmallVector<Values> rows;
    rows.resize(size_t(warps));
    for (size_t i = 0; i < sources.size(); ++i) {
      Type element = elementTypeOf(sources[i].getType());
      int64_t width = std::min(warps, 16 / sizes[i]);
      for (int64_t row = 0; row < warps; row += width) {
        Value pointer = pointerOf(i, indices[number], i32(row));
        for (auto [at, part] : llvm::enumerate(loadShared(pointer, memoryType(element), width)))
          rows[size_t(row) + at].push_back(fromMemory(part, element));
      }
    }
    return rows;
  };
}

// A result that one thread needs is combined in it. LLVM would do that in all threads, as late as the result is needed:
// until then all parts would live in registers.
void ThreadEmitter::combineWarps(ReduceOp op, ArrayRef<int> warpBits, KeptParts &kept) {
  PartsOfWarps partsOf = exchangeAcrossWarps(op.getSrcs(), int(op.getAxis()), warpBits, kept);
  auto combine = [&] {
    auto each = llvm::map_to_vector(llvm::seq(kept.registers.size()), partsOf);
    return llvm::map_to_vector(each, [&](const auto &parts) { return fold(op.getCombineOp(), parts); });
  };
  if (isForOwner(op))
    kept.parts = {inOwner(op->getResultTypes(), [&] { return combine().front(); })};
  else
    kept.parts = combine();
}

void ThreadEmitter::emitReduce(ReduceOp op) {
  if (divergent)
    return (void)refuse(op, "it stands in a branch that not all threads take");
  // One instruction does it for the whole block, and tells every thread the same. Barriers between devices rely on
  // that: there the copies of a bit that threads hold differ (transforms/BlockMeeting.cpp).
  if (analysis::isAny(op)) {
    Value some;
    for (Value bit : of(op.getSrcs()[0]))
      some = some ? Value(arith::OrIOp::create(b, some, bit)) : bit;
    emitted[op.getResult()[0]] = {target.barrierOr(b, some, options.warps)};
    pending.clear();
    return;
  }
  auto tile = cast<RankedTensorType>(op.getSrcs()[0].getType());
  LinearLayout layout = layoutOf(tile);
  int axis = int(op.getAxis());
  Dim along = tileDim(axis);
  // The registers of each kept element, in the order of the axis.
  using Place = SmallVector<int64_t, 4>;
  auto keptPart = [&](const LinearLayout &of, int64_t reg, bool skips) {
    Place place;
    int out = 0;
    for (int i = 0; i < tile.getRank(); ++i)
      if (i != axis)
        place.push_back(registerPart(of, reg, tileDim(skips ? out++ : i)));
    return place;
  };
  std::map<Place, std::map<int64_t, int64_t>> groups;
  for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg)
    groups[keptPart(layout, reg, false)].insert({registerPart(layout, reg, along), reg});
  KeptParts kept;
  std::map<Place, size_t> numbers;
  for (auto &[place, registers] : groups) {
    SmallVector<Values> parts;
    for (auto [position, reg] : registers) {
      Values part;
      for (Value source : op.getSrcs())
        part.push_back(of(source)[size_t(reg)]);
      parts.push_back(part);
    }
    numbers[place] = kept.parts.size();
    kept.parts.push_back(fold(op.getCombineOp(), parts));
    kept.registers.push_back(registers.begin()->second);
    if (failed)
      return;
  }
  auto bitsAlong = [&](Dim in) {
    SmallVector<int> bits;
    for (int bit = 0; bit < layout.inputBits(in); ++bit)
      if (layout.basis(in, bit, along))
        bits.push_back(bit);
    return bits;
  };
  SmallVector<int> warpBits = bitsAlong(Dim::Warp);
  combineLanes(op.getCombineOp(), kept, bitsAlong(Dim::Lane), !warpBits.empty());
  if (failed)
    return;
  if (warpBits.empty()) {
    unshare(kept);
  } else {
    combineWarps(op, warpBits, kept);
  }
  for (auto [number, result] : llvm::enumerate(op.getResult())) {
    if (!isa<RankedTensorType>(result.getType())) {
      emitted[result] = {kept.parts.front()[number]};
      continue;
    }
    const LinearLayout &to = layoutOf(result.getType());
    Values registers;
    for (int64_t reg = 0; reg < to.inputSize(Dim::Register); ++reg)
      registers.push_back(kept.parts[numbers.at(keptPart(to, reg, true))][number]);
    emitted[result] = registers;
  }
}

//===-- Histogram and gather -------------------------------------------------------------------------------------===//

void ThreadEmitter::emitHistogram(HistogramOp op) {
  if (divergent)
    return (void)refuse(op, "it stands in a branch that not all threads take");
  auto bins = cast<RankedTensorType>(op.getType());
  auto source = cast<RankedTensorType>(op.getSrc().getType());
  int64_t count = bins.getDimSize(0);
  LinearLayout from = layoutOf(source), to = layoutOf(bins);
  Type word = b.getI32Type();
  Value base = scratch(4 * count), binOwner = isOwner(to), owner = isOwner(from);
  auto pointerOf = [&](Value index) { return sharedPointer(base, arith::MulIOp::create(b, index, i32(4))); };
  when(binOwner, {},
       [&]() -> Values {
         for (int64_t reg = 0; reg < to.inputSize(Dim::Register); ++reg)
           storeShared(pointerOf(coordinate(to, reg, Dim::Dim0)), i32(0));
         return {};
       },
       {});
  meetForScratch();
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  for (int64_t reg = 0; reg < from.inputSize(Dim::Register); ++reg) {
    if (firstCopy(from, reg) != reg)
      continue;
    Value value = of(op.getSrc())[size_t(reg)];
    Type wide = b.getI64Type();
    if (value.getType() != wide)
      value = arith::ExtSIOp::create(b, wide, value);
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, value, i64(count));
    Value bit = both(both(owner, masks.empty() ? Value() : masks[size_t(reg)]), inside);
    when(bit, {},
         [&]() -> Values {
           Value index = arith::TruncIOp::create(b, word, value);
           LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, pointerOf(index), i32(1),
                                     LLVM::AtomicOrdering::monotonic, target.blockScope());
           return {};
         },
         {});
  }
  meetForScratch();
  Values results;
  Type element = bins.getElementType();
  for (int64_t reg = 0; reg < to.inputSize(Dim::Register); ++reg) {
    Value value = loadShared(pointerOf(coordinate(to, reg, Dim::Dim0)), word, 1).front();
    unsigned bits = element.getIntOrFloatBitWidth();
    results.push_back(bits > 32   ? Value(arith::ExtUIOp::create(b, element, value))
                      : bits < 32 ? Value(arith::TruncIOp::create(b, element, value))
                                  : value);
  }
  emitted[op.getResult()] = results;
}

void ThreadEmitter::emitGather(GatherOp op) {
  if (divergent)
    return (void)refuse(op, "it stands in a branch that not all threads take");
  auto source = cast<RankedTensorType>(op.getSrc().getType()), result = cast<RankedTensorType>(op.getType());
  LinearLayout from = layoutOf(source), to = layoutOf(result);
  Type element = source.getElementType(), stored = memoryType(element);
  int64_t bytes = stored.getIntOrFloatBitWidth() / 8;
  Value base = scratch(source.getNumElements() * bytes);
  when(isOwner(from), {},
       [&]() -> Values {
         for (int64_t reg = 0; reg < from.inputSize(Dim::Register); ++reg)
           if (firstCopy(from, reg) == reg)
             storeShared(sharedPointer(base, arith::MulIOp::create(b, flatIndex(source, reg), i32(bytes))),
                         toMemory(of(op.getSrc())[size_t(reg)], element));
         return {};
       },
       {});
  meetForScratch();
  Values results;
  for (int64_t reg = 0; reg < to.inputSize(Dim::Register); ++reg) {
    Value index = i32(0);
    for (int axis = 0; axis < source.getRank(); ++axis) {
      Value at = coordinate(to, reg, tileDim(axis));
      if (axis == int(op.getAxis())) {
        at = of(op.getIndices())[size_t(reg)];
        unsigned bits = at.getType().getIntOrFloatBitWidth();
        if (bits > 32)
          at = arith::TruncIOp::create(b, b.getI32Type(), at);
        else if (bits < 32)
          at = arith::ExtUIOp::create(b, b.getI32Type(), at);
        at = arith::AndIOp::create(b, at, i32(source.getDimSize(axis) - 1)); // an index outside reads something
      }
      index = arith::AddIOp::create(b, arith::MulIOp::create(b, index, i32(source.getDimSize(axis))), at);
    }
    Value pointer = sharedPointer(base, arith::MulIOp::create(b, index, i32(bytes)));
    results.push_back(fromMemory(loadShared(pointer, stored, 1).front(), element));
  }
  emitted[op.getResult()] = results;
}
