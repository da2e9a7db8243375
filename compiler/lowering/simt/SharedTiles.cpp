// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory objects of shared memory: where they lie, their views, copies into them, and reads of them, by the target's
// matrix loads where the layouts allow.
#include "compiler/layout/Axes.h"
#include "compiler/layout/MatrixLoad.h"
#include "compiler/lowering/simt/PlaceShared.h"
#include "compiler/lowering/simt/ThreadEmitter.h"
#include "compiler/lowering/simt/Vectors.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

//===-- Places ---------------------------------------------------------------------------------------------------===//

LogicalResult ThreadEmitter::findMemory() {
  Operation *last = nullptr;
  bool endsInEntry = source.getBody().hasOneBlock();
  auto found = source.walk([&](AllocOp alloc) {
    if (!alloc.getStart()) {
      (void)refuse(alloc, "it has no place in shared memory: run place-shared-memory first");
      return WalkResult::interrupt();
    }
    for (Operation *user : usersOf(alloc.getRing())) {
      Operation *here = source.getBody().front().findAncestorOpInBlock(*user);
      endsInEntry &= here && !passesOn(user);
      if (here && (!last || last->isBeforeInBlock(here)))
        last = here;
    }
    return WalkResult::advance();
  });
  if (found.wasInterrupted())
    return failure();
  shared.firstByte = placedBytes(source);
  if (!shared.firstByte)
    return success();
  shared.alignment = memoryAlignment;
  if (endsInEntry)
    for (BarrierOp barrier : source.getBody().getOps<BarrierOp>())
      if (!last || last->isBeforeInBlock(barrier)) {
        memoryEnd = barrier;
        break;
      }
  return success();
}

Value ThreadEmitter::sharedStart() {
  return shared.base(b, entry, prologueEnd);
}

Value ThreadEmitter::stageOf(Value ring, Value stage) {
  auto start = int64_t(*ring.getDefiningOp<AllocOp>().getStart());
  Value offset = arith::MulIOp::create(b, scalar(stage), i32(cast<SharedType>(ring.getType()).getTileBytes()));
  if (start)
    offset = arith::AddIOp::create(b, offset, i32(start));
  return sharedPointer(sharedStart(), offset);
}

//===-- Views ----------------------------------------------------------------------------------------------------===//

void ThreadEmitter::emitAlloc(AllocOp op) {
  emitted[op.getRing()] = {sharedPointer(sharedStart(), i32(int64_t(*op.getStart()))), i32(0)};
}

void ThreadEmitter::emitView(Operation *op) {
  Values memory = of(op->getOperand(0));
  auto from = cast<SharedType>(op->getOperand(0).getType()), to = cast<SharedType>(op->getResult(0).getType());
  Value &offset = memory[1];
  if (auto index = dyn_cast<IndexOp>(op)) {
    Value stage = arith::MulIOp::create(b, scalar(index.getStage()), i32(from.getTileElements()));
    offset = isZero(offset) ? stage : Value(arith::AddIOp::create(b, offset, stage));
  } else if (auto part = dyn_cast<SubsliceOp>(op)) {
    layout::Coordinates at;
    for (auto [axis, coordinate] : llvm::enumerate(part.getOffsets()))
      at.push_back({layout::tileDim(int(axis)), coordinate});
    if (int64_t step = from.placeOf().applyFlat(at))
      offset = isZero(offset) ? i32(step) : Value(arith::XOrIOp::create(b, offset, i32(step)));
  } else if (int64_t was = from.getElementBytes(), is = to.getElementBytes(); was != is && !isZero(offset)) {
    offset = arith::DivUIOp::create(b, arith::MulIOp::create(b, offset, i32(was)), i32(is));
  }
  emitted[op->getResult(0)] = memory;
}

/// Bits that an offset may have, as far as the operations of views tell.
static uint64_t possibleBits(Value offset) {
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

ThreadEmitter::Memory ThreadEmitter::memoryAt(Value value, Value stage) {
  auto type = cast<SharedType>(value.getType());
  int64_t most = 16 / type.getElementBytes();
  if (value.getDefiningOp<AllocOp>() && stage && !type.isPadded())
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

//===-- Reads and writes -----------------------------------------------------------------------------------------===//

/// The registers that differ from `first` in these bits, in their order.
static SmallVector<int64_t> groupOf(int64_t first, ArrayRef<int> bits) {
  SmallVector<int64_t> group = {first};
  for (int bit : bits)
    for (size_t i = 0, count = group.size(); i < count; ++i)
      group.push_back(group[i] | int64_t(1) << bit);
  return group;
}

static int64_t maskOf(ArrayRef<int> bits) {
  int64_t mask = 0;
  for (int bit : bits)
    mask |= int64_t(1) << bit;
  return mask;
}

Value ThreadEmitter::elementPointer(const Memory &memory, const LinearLayout &offsets, int64_t reg) {
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

/// As `layout`, of a tile of which it holds a part.
static layout::LinearLayout within(const layout::LinearLayout &layout, const layout::LinearLayout &whole) {
  return {layout.inputs(), whole.outputs()};
}

void ThreadEmitter::emitStoreShared(StoreSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  Type element = tile.getElementType();
  const LinearLayout &layout = layoutOf(tile), &shared = op.getRing().getType().getLayout();
  LinearLayout offsets = within(layout, shared).invertAndCompose(shared);
  Memory memory = memoryAt(op.getRing(), op.getStage());
  std::vector<int> together = layout::contiguousRegisterBits(offsets, memory.mostContiguous);
  const Values &values = of(op.getTile());
  when(isOwner(layout), {},
       [&]() -> Values {
         for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg) {
           if (reg & maskOf(together) || firstCopy(layout, reg) != reg)
             continue;
           Values parts;
           for (int64_t member : groupOf(reg, together))
             parts.push_back(toMemory(values[size_t(member)], element));
           storeShared(elementPointer(memory, offsets, reg), parts);
         }
         return {};
       },
       {});
  // A fence is dear; the one behind the next store is for both.
  if (publishes && !isa_and_nonnull<StoreSharedOp>(op->getNextNode()))
    target.publishShared(b);
}

struct ThreadEmitter::SharedRead {
  Memory memory;
  LinearLayout offsets;
  std::optional<layout::MatrixLoad> matrix;
  std::vector<int> within; ///< register bits that one instruction covers
  Values values;
};

// Reads of a stage are those of pipelined loops; an author who reads views has placed the reads himself.
bool ThreadEmitter::canReadLate(LoadSharedOp op) {
  if (!op.getStage() || !op.getTile().hasOneUse())
    return false;
  auto dot = dyn_cast<MatrixDotOp>(*op.getTile().user_begin());
  if (!dot || dot->getBlock() != op->getBlock() || !dot.getInstruction())
    return false;
  for (Operation *between = op->getNextNode(); between != dot; between = between->getNextNode())
    if (!isMemoryEffectFree(between) && !isa<GlobalLoadOp, LoadSharedOp>(between))
      return false;
  return true;
}

void ThreadEmitter::emitLoadShared(LoadSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  int64_t bits = memoryType(tile.getElementType()).getIntOrFloatBitWidth();
  auto read = std::make_shared<SharedRead>();
  const LinearLayout &shared = op.getRing().getType().getLayout();
  read->memory = memoryAt(op.getRing(), op.getStage());
  read->offsets = within(layoutOf(tile), shared).invertAndCompose(shared);
  if (target.hasMatrixLoads() && !divergent && !read->memory.offset)
    read->matrix = layout::findMatrixLoad(read->offsets, int(bits));
  if (read->matrix) {
    for (int bit = 0; 1 << bit < read->matrix->wordElements; ++bit)
      read->within.push_back(bit);
    read->within.insert(read->within.end(), {read->matrix->matrixBits[0], read->matrix->matrixBits[1]});
  } else {
    read->within = layout::contiguousRegisterBits(read->offsets, read->memory.mostContiguous);
  }
  read->values.resize(size_t(registersOf(tile)));
  sharedReads[op] = read;
  if (canReadLate(op))
    return;
  for (int64_t reg = 0; reg < registersOf(tile); ++reg)
    readShared(op, reg);
  emitted[op.getTile()] = read->values;
  sharedReads.erase(op);
}

Value ThreadEmitter::readShared(LoadSharedOp op, int64_t reg) {
  SharedRead &read = *sharedReads.lookup(op);
  if (Value known = read.values[size_t(reg)])
    return known;
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  int64_t first = firstCopy(layoutOf(tile), reg);
  if (first != reg)
    return read.values[size_t(reg)] = readShared(op, first);
  Type element = tile.getElementType(), stored = memoryType(element);
  first = reg & ~maskOf(read.within);
  SmallVector<int64_t> group = groupOf(first, read.within);
  Values parts;
  if (read.matrix) {
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

void ThreadEmitter::emitAsyncCopy(AsyncCopyOp op) {
  auto tile = cast<RankedTensorType>(op.getPointers().getType());
  const LinearLayout &layout = layoutOf(tile);
  SharedType ring = op.getRing().getType();
  LinearLayout offsets = layout.invertAndCompose(ring.getLayout());
  int64_t elements = int64_t(op.getElements()), elementBytes = ring.getElementType().getIntOrFloatBitWidth() / 8;
  orderAccess(op);
  const Values &pointers = of(op.getPointers());
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  Memory memory = memoryAt(op.getRing(), op.getStage());
  when(isOwner(layout), {},
       [&]() -> Values {
         for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); reg += elements) {
           if (firstCopy(layout, reg) != reg)
             continue;
           Value sourceBytes;
           if (!masks.empty())
             sourceBytes = arith::SelectOp::create(b, masks[size_t(reg)], i32(elements * elementBytes), i32(0));
           target.asyncCopy(b, elementPointer(memory, offsets, reg), pointers[size_t(reg)], elements * elementBytes,
                            sourceBytes);
         }
         return {};
       },
       {});
}
