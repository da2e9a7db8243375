// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tile from one layout to another: by renaming registers, by one shuffle for each register, or through shared memory
// whose places are chosen so that neither side meets a bank twice.
#include "compiler/layout/Axes.h"
#include "compiler/layout/Swizzle.h"
#include "compiler/lowering/simt/ThreadEmitter.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

//===-- Shared memory --------------------------------------------------------------------------------------------===//

Value ThreadEmitter::scratch(int64_t bytes, bool perWarp) {
  meetForScratch(); // with whoever reads what was there before
  return shared.allocate(b, entry, prologueEnd, bytes, perWarp);
}

Value ThreadEmitter::sharedPointer(Value base, Value byteOffset) {
  return LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{byteOffset});
}

void ThreadEmitter::storeShared(Value pointer, ValueRange values) {
  Type type = values.front().getType();
  int64_t bytes = type.getIntOrFloatBitWidth() / 8, count = int64_t(values.size());
  Value whole = values.front();
  if (count > 1) {
    whole = LLVM::PoisonOp::create(b, VectorType::get(count, type));
    for (auto [i, value] : llvm::enumerate(values))
      whole = LLVM::InsertElementOp::create(b, whole, value, i32(int64_t(i)));
  }
  LLVM::StoreOp::create(b, whole, pointer, unsigned(bytes * count));
}

ThreadEmitter::Values ThreadEmitter::loadShared(Value pointer, Type type, int64_t count) {
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  if (count == 1)
    return {LLVM::LoadOp::create(b, type, pointer, unsigned(bytes))};
  Value whole = LLVM::LoadOp::create(b, VectorType::get(count, type), pointer, unsigned(bytes * count));
  Values results;
  for (int64_t i = 0; i < count; ++i)
    results.push_back(LLVM::ExtractElementOp::create(b, whole, i32(i)));
  return results;
}

//===-- Conversions ----------------------------------------------------------------------------------------------===//

ThreadEmitter::Values ThreadEmitter::convert(const Values &values, Type from, Type to) {
  const LinearLayout &source = layoutOf(from), &result = layoutOf(to);
  if (source == result)
    return values;
  LinearLayout where = result.invertAndCompose(source); // a place of the result -> the place that has its element
  auto count = result.inputSize(Dim::Register);
  bool warpsStay = where.sublayoutIsZero({Dim::Register, Dim::Lane}, {Dim::Warp}) &&
                   where.sublayoutIsZero({Dim::Warp}, {Dim::Register, Dim::Lane});
  for (int bit = 0; warpsStay && bit < where.inputBits(Dim::Warp); ++bit)
    warpsStay = where.basis(Dim::Warp, bit, Dim::Warp) == int64_t(1) << bit;
  bool lanesPick = warpsStay && where.sublayoutIsZero({Dim::Lane}, {Dim::Register});
  if (!lanesPick || divergent)
    return convertThroughShared(values, from, to);
  bool lanesStay = where.sublayoutIsZero({Dim::Register}, {Dim::Lane});
  for (int bit = 0; lanesStay && bit < where.inputBits(Dim::Lane); ++bit)
    lanesStay = where.basis(Dim::Lane, bit, Dim::Lane) == int64_t(1) << bit;
  Values results;
  for (int64_t reg = 0; reg < count; ++reg) {
    Value value = values[size_t(registerPart(where, reg, Dim::Register))];
    results.push_back(lanesStay ? value : shuffleFrom(value, coordinate(where, reg, Dim::Lane)));
  }
  return results;
}

namespace {
/// How a thread accesses the scratch: register bits that are neighbours there, and the rest.
struct SharedAccess {
  layout::LinearLayout offsets; ///< (register, lane, warp) -> (offset, register): the place and the repetition
  std::vector<int> vectorBits;

  int64_t width() const { return int64_t(1) << vectorBits.size(); }
};
} // namespace

static SharedAccess accessOf(const layout::LinearLayout &registers, const layout::ScratchLayout &scratch,
                             int64_t elementBits) {
  layout::LinearLayout offsets = registers.flattenOutputs(layout::Dim::Dim0).invertAndCompose(scratch.layout);
  return {offsets, layout::contiguousRegisterBits(offsets, 128 / elementBits)};
}

// Whether each place of the scratch is written and read by one and the same warp of `warps`.
static bool isPerWarp(const layout::LinearLayout &from, const layout::LinearLayout &to,
                      const layout::ScratchLayout &scratch, int warps) {
  using layout::Dim;
  auto warpAt = [&](const layout::LinearLayout &registers) {
    return scratch.layout.invertAndCompose(registers.flattenOutputs(Dim::Dim0))
        .sublayout({Dim::Offset, Dim::Register}, {Dim::Warp});
  };
  for (const layout::LinearLayout &side : {from, to})
    if (side.freeBits(Dim::Warp) || side.inputSize(Dim::Warp) != warps)
      return false;
  layout::LinearLayout writer = warpAt(from);
  return writer.sublayoutIsZero({Dim::Register}, {Dim::Warp}) && writer == warpAt(to);
}

ThreadEmitter::Values ThreadEmitter::convertThroughShared(const Values &values, Type from, Type to) {
  Type element = elementTypeOf(from), stored = memoryType(element);
  int64_t bits = stored.getIntOrFloatBitWidth(), bytes = bits / 8;
  const LinearLayout &source = layoutOf(from), &result = layoutOf(to);
  layout::ScratchLayout scratchLayout = layout::chooseScratch(source, result, int(bits), target.sharedMemoryBanks());
  SharedAccess write = accessOf(source, scratchLayout, bits), read = accessOf(result, scratchLayout, bits);
  Values results(size_t(result.inputSize(Dim::Register)));
  Value owner = isOwner(source);
  auto eachGroup = [&](const SharedAccess &access, int64_t count, int64_t repetition,
                       llvm::function_ref<void(Value, ArrayRef<int64_t>)> body, Value base) {
    uint64_t within = 0;
    for (int bit : access.vectorBits)
      within |= uint64_t(1) << bit;
    for (int64_t reg = 0; reg < count; ++reg) {
      if (uint64_t(reg) & within || registerPart(access.offsets, reg, Dim::Register) != repetition)
        continue;
      SmallVector<int64_t> group;
      for (int64_t i = 0; i < access.width(); ++i) {
        int64_t member = reg;
        for (auto [position, bit] : llvm::enumerate(access.vectorBits))
          if (i >> position & 1)
            member |= int64_t(1) << bit;
        group.push_back(member);
      }
      Value offset = coordinate(access.offsets, reg, Dim::Offset);
      if (bytes > 1)
        offset = arith::MulIOp::create(b, offset, i32(bytes));
      body(sharedPointer(base, offset), group);
    }
  };
  bool perWarp = isPerWarp(source, result, scratchLayout, options.warps);
  for (int64_t repetition = 0; repetition < scratchLayout.repetitions(); ++repetition) {
    Value base = scratch(scratchLayout.offsets() * bytes, perWarp);
    when(owner, {},
         [&]() -> Values {
           eachGroup(
               write, source.inputSize(Dim::Register), repetition,
               [&](Value pointer, ArrayRef<int64_t> group) {
                 if (firstCopy(source, group.front()) != group.front())
                   return;
                 Values parts;
                 for (int64_t reg : group)
                   parts.push_back(toMemory(values[size_t(reg)], element));
                 storeShared(pointer, parts);
               },
               base);
           return {};
         },
         {});
    meetForScratch();
    eachGroup(
        read, result.inputSize(Dim::Register), repetition,
        [&](Value pointer, ArrayRef<int64_t> group) {
          Values parts = loadShared(pointer, stored, int64_t(group.size()));
          for (auto [reg, part] : llvm::zip(group, parts))
            results[size_t(reg)] = fromMemory(part, element);
        },
        base);
  }
  return results;
}

ThreadEmitter::Values ThreadEmitter::broadcastFromOwners(Type tile, Type element,
                                                         llvm::function_ref<Values(int64_t)> valuesOf,
                                                         int64_t together) {
  bool isTile = isa<RankedTensorType>(tile);
  LinearLayout layout = isTile ? layoutOf(tile) : LinearLayout();
  // Copies of a register are made of the first one's.
  auto eachElement = [&](llvm::function_ref<Values(int64_t)> make, int64_t step) {
    Values made;
    for (int64_t reg = 0; reg < registersOf(tile); reg += step) {
      int64_t first = isTile ? firstCopy(layout, reg) : reg;
      Values more = first == reg ? make(reg) : Values(ArrayRef<Value>(made).slice(size_t(first), size_t(step)));
      made.append(more.begin(), more.end());
    }
    return made;
  };
  Value owner = isOwner(layout);
  if (!owner)
    return eachElement(valuesOf, together);
  Type stored = memoryType(element);
  int64_t bytes = stored.getIntOrFloatBitWidth() / 8;
  Value base = scratch((isTile ? cast<RankedTensorType>(tile).getNumElements() : 1) * bytes);
  auto pointerTo = [&](int64_t reg) -> Values {
    return {isTile ? sharedPointer(base, arith::MulIOp::create(b, flatIndex(tile, reg), i32(bytes))) : base};
  };
  Values pointers = eachElement(pointerTo, 1);
  when(owner, {},
       [&]() -> Values {
         auto storeAll = [&](int64_t reg) {
           Values values = valuesOf(reg);
           for (auto [i, value] : llvm::enumerate(values))
             storeShared(pointers[size_t(reg) + i], toMemory(value, element));
           return values;
         };
         eachElement(storeAll, together);
         return {};
       },
       {});
  meetForScratch();
  auto load = [&](int64_t reg) -> Values {
    return {fromMemory(loadShared(pointers[size_t(reg)], stored, 1).front(), element)};
  };
  return eachElement(load, 1);
}

//===-- Between lanes --------------------------------------------------------------------------------------------===//

// Words of 32 bits go between lanes; narrower values are widened, wider ones cut.
static Value throughWords(ImplicitLocOpBuilder &b, Value value, llvm::function_ref<Value(Value)> move) {
  Type type = value.getType(), word = b.getI32Type();
  if (isa<LLVM::LLVMPointerType>(type)) {
    Value moved = throughWords(b, LLVM::PtrToIntOp::create(b, b.getI64Type(), value), move);
    return LLVM::IntToPtrOp::create(b, type, moved);
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  Type integer = b.getIntegerType(bits);
  if (type != integer)
    value = LLVM::BitcastOp::create(b, integer, value);
  if (bits < 32) {
    value = move(arith::ExtUIOp::create(b, word, value));
    value = arith::TruncIOp::create(b, integer, value);
  } else if (bits == 32) {
    value = move(value);
  } else {
    Value halves = LLVM::BitcastOp::create(b, VectorType::get(2, word), value);
    Value result = LLVM::PoisonOp::create(b, halves.getType());
    for (int i = 0; i < 2; ++i) {
      Value index = arith::ConstantIntOp::create(b, i, 32);
      Value half = move(LLVM::ExtractElementOp::create(b, halves, index));
      result = LLVM::InsertElementOp::create(b, result, half, index);
    }
    value = LLVM::BitcastOp::create(b, integer, result);
  }
  return type == integer ? value : Value(LLVM::BitcastOp::create(b, type, value));
}

Value ThreadEmitter::shuffleXor(Value value, int mask) {
  return throughWords(b, value, [&](Value word) { return target.shuffleXor(b, word, mask); });
}

std::pair<Value, Value> ThreadEmitter::pairXor(Value value, int mask) {
  Type type = value.getType();
  if (auto both = target.bothLanes(b, as(b.getI32Type(), value), mask))
    return {as(type, both->first), as(type, both->second)};
  return {value, shuffleXor(value, mask)};
}

Value ThreadEmitter::shuffleFrom(Value value, Value from) {
  return throughWords(b, value, [&](Value word) { return target.shuffleFrom(b, word, from); });
}
