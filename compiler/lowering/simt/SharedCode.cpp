// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes addresses as a sum of what is known when compiling and what depends on thread and loop.
#include "compiler/lowering/simt/SharedCode.h"
#include "compiler/layout/Axes.h"
#include "compiler/lowering/simt/RegisterGroups.h"
#include "compiler/lowering/simt/Vectors.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

Value SharedCode::sharedStart() {
  if (state.sharedAddress)
    return state.sharedAddress;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(state.entry);
  if (!state.shared) // partitions have the kernel's
    state.shared = LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
                                          LLVM::Linkage::External, "heddle_shared", Attribute(),
                                          uint64_t(facts.sharedAlignment), /*addrSpace=*/3);
  b.setInsertionPoint(state.prologueEnd);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  return state.sharedAddress = LLVM::AddressOfOp::create(b, pointer, state.shared.getSymName());
}

Value SharedCode::sharedPointer(Value base, Value byteOffset) {
  return LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{byteOffset});
}

void SharedCode::storeShared(Value pointer, ValueRange values) {
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

SharedCode::Values SharedCode::loadShared(Value pointer, Type type, int64_t count) {
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  if (count == 1)
    return {LLVM::LoadOp::create(b, type, pointer, unsigned(bytes))};
  Value whole = LLVM::LoadOp::create(b, VectorType::get(count, type), pointer, unsigned(bytes * count));
  Values results;
  for (int64_t i = 0; i < count; ++i)
    results.push_back(LLVM::ExtractElementOp::create(b, whole, i32(i)));
  return results;
}

const ThreadState::Ring *SharedCode::ringOf(Value memory) {
  const Values &place = of(memory);
  auto ring = state.rings.find(place[0]);
  return ring != state.rings.end() && isZero(place[1]) ? &ring->second : nullptr;
}

Value SharedCode::stageOf(Value ring, Value stage) {
  int64_t start = ringOf(ring)->start;
  Value offset = arith::MulIOp::create(b, scalar(stage), i32(cast<SharedType>(ring.getType()).getTileBytes()));
  if (start)
    offset = arith::AddIOp::create(b, offset, i32(start));
  return sharedPointer(sharedStart(), offset);
}

uint64_t SharedCode::possibleBits(Value offset) {
  APInt constant;
  if (matchPattern(offset, m_ConstantInt(&constant)))
    return constant.getZExtValue();
  if (auto product = offset.getDefiningOp<arith::MulIOp>())
    return ~((possibleBits(product.getRhs()) & -possibleBits(product.getRhs())) - 1);
  if (auto sum = offset.getDefiningOp<arith::AddIOp>()) {
    uint64_t either = possibleBits(sum.getLhs()) | possibleBits(sum.getRhs());
    return either ? ~((either & -either) - 1) : 0;
  }
  if (auto sum = offset.getDefiningOp<arith::XOrIOp>())
    return possibleBits(sum.getLhs()) | possibleBits(sum.getRhs());
  return ~uint64_t(0);
}

SharedCode::Memory SharedCode::memoryAt(Value value, Value stage) {
  auto type = cast<SharedType>(value.getType());
  int64_t most = 16 / type.getElementBytes();
  if (stage && !type.isPadded() && ringOf(value))
    return {stageOf(value, stage), Value(), type, most};
  const Values &memory = of(value);
  Value base = memory[0], offset = memory[1];
  if (stage) {
    Value step = arith::MulIOp::create(b, scalar(stage), i32(type.getTileElements()));
    offset = isZero(offset) ? step : Value(arith::AddIOp::create(b, offset, step));
  }
  uint64_t bits = possibleBits(offset);
  if (!type.isPadded() && !(bits & uint64_t(type.getTileElements() - 1))) {
    if (bits)
      base = sharedPointer(base, arith::MulIOp::create(b, offset, i32(type.getElementBytes())));
    return {base, Value(), type, most};
  }
  while (most > 1 && bits & uint64_t(most - 1))
    most /= 2;
  for (auto [interval, padding] : llvm::zip(type.getIntervals(), type.getPaddings()))
    while (most > 1 && (interval < most || padding % most))
      most /= 2;
  return {base, offset, type, most};
}

Value SharedCode::firstByteOf(Value memory, Value stage) {
  Memory place = memoryAt(memory, stage);
  if (!place.offset || isZero(place.offset))
    return place.base;
  return sharedPointer(place.base, arith::MulIOp::create(b, place.offset, i32(place.type.getElementBytes())));
}

Value SharedCode::elementPointer(const Memory &memory, const LinearLayout &offsets, int64_t reg) {
  int64_t bytes = memory.type.getElementBytes();
  Value offset = placePart(offsets, Dim::Offset);
  // The bits that registers add to are apart from those of the rows' swizzle in most layouts.
  int64_t constant = registerPart(offsets, reg, Dim::Offset), used = 0;
  for (Dim in : {Dim::Lane, Dim::Warp})
    for (int bit = 0; bit < offsets.inputBits(in); ++bit)
      used |= offsets.basis(in, bit, Dim::Offset);
  if (!memory.offset) {
    if (bytes > 1)
      offset = arith::MulIOp::create(b, offset, i32(bytes));
    if (int64_t crossed = constant & used) {
      offset = arith::XOrIOp::create(b, offset, i32(crossed * bytes));
      constant &= ~used;
    }
    Value pointer = sharedPointer(memory.base, offset);
    return constant ? sharedPointer(pointer, i32(constant * bytes)) : pointer;
  }
  used |= int64_t(possibleBits(memory.offset));
  if (!isZero(memory.offset))
    offset = arith::XOrIOp::create(b, offset, memory.offset);
  if (int64_t crossed = constant & used) {
    offset = arith::XOrIOp::create(b, offset, i32(crossed));
    constant &= ~used;
  }
  // Padding before a sum of disjoint bits is the sum of what is before each.
  Value whole = offset;
  for (auto [interval, padding] : llvm::zip(memory.type.getIntervals(), memory.type.getPaddings())) {
    Value count = arith::ShRUIOp::create(b, offset, i32(llvm::Log2_64(uint64_t(interval))));
    whole = arith::AddIOp::create(b, whole, arith::MulIOp::create(b, count, i32(padding)));
  }
  if (bytes > 1)
    whole = arith::MulIOp::create(b, whole, i32(bytes));
  Value pointer = sharedPointer(memory.base, whole);
  return constant ? sharedPointer(pointer, i32(memory.type.padded(constant) * bytes)) : pointer;
}

//===-- Reads ----------------------------------------------------------------------------------------------------===//

SharedCode::Read SharedCode::startRead(LoadSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  int64_t bits = memoryType(tile.getElementType()).getIntOrFloatBitWidth();
  Read read{op, memoryAt(op.getRing(), op.getStage()), op.getRing().getType().offsetsOf(layoutOf(tile)), {}, {}, {},
            {}};
  const ThreadState::Ring *ring = ringOf(op.getRing());
  if (target.hasMatrixLoads() && !divergent && !read.memory.offset && !(ring && ring->isScratch))
    read.matrix = layout::findMatrixLoad(read.offsets, int(bits));
  if (target.readsTransposed(int(bits)) && !divergent && read.memory.mostContiguous >= 64 / bits)
    read.transposed = layout::findTransposedRead(read.offsets, int(bits));
  if (read.transposed) {
    for (int bit = 0; bit < read.transposed->registerBits; ++bit)
      read.within.push_back(bit);
  } else if (read.matrix) {
    for (int bit = 0; 1 << bit < read.matrix->wordElements; ++bit)
      read.within.push_back(bit);
    read.within.insert(read.within.end(), {read.matrix->matrixBits[0], read.matrix->matrixBits[1]});
  } else {
    read.within = layout::contiguousRegisterBits(read.offsets, read.memory.mostContiguous);
  }
  read.values.resize(size_t(registersOf(tile)));
  return read;
}

Value SharedCode::readRegister(Read &read, int64_t reg) {
  if (Value known = read.values[size_t(reg)])
    return known;
  auto tile = cast<RankedTensorType>(read.op.getTile().getType());
  int64_t first = firstCopy(layoutOf(tile), reg);
  if (first != reg)
    return read.values[size_t(reg)] = readRegister(read, first);
  Type element = tile.getElementType(), stored = memoryType(element);
  first = reg & ~maskOf(read.within);
  SmallVector<int64_t> group = groupOf(first, read.within);
  Values parts;
  if (read.transposed) {
    parts = target.readTransposed(b, elementPointer(read.memory, read.transposed->addresses, first), stored);
  } else if (read.matrix) {
    Value row = elementPointer(read.memory, read.matrix->rows, first);
    for (Value word : target.loadMatrix(b, row, read.matrix->transposed)) {
      if (read.matrix->wordElements == 1) {
        parts.push_back(word);
        continue;
      }
      Value vector = LLVM::BitcastOp::create(b, VectorType::get(read.matrix->wordElements, stored), word);
      for (int64_t i = 0; i < read.matrix->wordElements; ++i)
        parts.push_back(LLVM::ExtractElementOp::create(b, vector, i32(i)));
    }
  } else {
    parts = loadShared(elementPointer(read.memory, read.offsets, first), stored, int64_t(group.size()));
  }
  for (auto [member, part] : llvm::zip(group, parts))
    read.values[size_t(member)] = fromMemory(part, element);
  return read.values[size_t(reg)];
}

Value SharedCode::registerOf(Value operand, int64_t reg) {
  auto load = operand.getDefiningOp<LoadSharedOp>();
  if (!load || !facts.lateReads.contains(load))
    return of(operand)[size_t(reg)];
  auto read = reads.find(load);
  if (read == reads.end()) {
    read = reads.emplace(load, startRead(load)).first;
    unused.push_back(load);
  }
  return readRegister(read->second, reg);
}
