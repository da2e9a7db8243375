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
  auto found = source.walk([&](AllocOp alloc) {
    if (alloc.getStart())
      return WalkResult::advance();
    (void)refuse(alloc, "it has no place in shared memory: run place-shared-memory first");
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

Value ThreadEmitter::sharedStart() {
  if (sharedAddress)
    return sharedAddress;
  OpBuilder::InsertionGuard guard(b);
  int64_t alignment = scratchAlignment;
  source.walk([&](AllocOp alloc) { alignment = alloc.getScratch() ? alignment : memoryAlignment; });
  b.setInsertionPoint(entry);
  shared = LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
                                  LLVM::Linkage::External, "heddle_shared", Attribute(), alignment, /*addrSpace=*/3);
  b.setInsertionPoint(prologueEnd);
  sharedAddress = LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 3), shared.getSymName());
  return sharedAddress;
}

void ThreadEmitter::sizeShared() {
  kernel.sharedBytes = placedBytes(source);
  if (!shared || !target.ownsSharedMemory())
    return;
  shared.setGlobalType(LLVM::LLVMArrayType::get(b.getI8Type(), unsigned(kernel.sharedBytes)));
  shared.setLinkage(LLVM::Linkage::Internal);
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

Value ThreadEmitter::stageOf(Value ring, Value stage) {
  auto start = int64_t(*ring.getDefiningOp<AllocOp>().getStart());
  Value offset = arith::MulIOp::create(b, scalar(stage), i32(cast<SharedType>(ring.getType()).getTileBytes()));
  if (start)
    offset = arith::AddIOp::create(b, offset, i32(start));
  return sharedPointer(sharedStart(), offset);
}

//===-- Views ----------------------------------------------------------------------------------------------------===//

void ThreadEmitter::emitAlloc(AllocOp op) {
  OpBuilder::InsertionGuard guard(b);
  Value start = sharedStart();
  b.setInsertionPoint(prologueEnd);
  emitted[op.getRing()] = {sharedPointer(start, i32(int64_t(*op.getStart()))), i32(0)};
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

uint64_t ThreadEmitter::possibleBits(Value offset) {
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

void ThreadEmitter::emitStoreShared(StoreSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  Type element = tile.getElementType();
  const LinearLayout &layout = layoutOf(tile);
  LinearLayout offsets = op.getRing().getType().offsetsOf(layout);
  Memory memory = memoryAt(op.getRing(), op.getStage());
  std::vector<int> together = layout::contiguousRegisterBits(offsets, memory.mostContiguous);
  const Values &values = of(op.getTile());
  auto store = [&](int64_t reg) {
    Values parts;
    for (int64_t member : groupOf(reg, together))
      parts.push_back(toMemory(values[size_t(member)], element));
    storeShared(elementPointer(memory, offsets, reg), parts);
  };
  // Which part an element belongs to registers tell, or the thread as well.
  bool isInParts = offsets.hasOutput(Dim::Register), threadsTell = false;
  for (Dim in : {Dim::Lane, Dim::Warp})
    for (int bit = 0; isInParts && bit < offsets.inputBits(in); ++bit)
      threadsTell |= offsets.basis(in, bit, Dim::Register) != 0;
  auto wanted = int64_t(op.getPart());
  when(isOwner(layout), {},
       [&]() -> Values {
         for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg) {
           if (reg & maskOf(together) || firstCopy(layout, reg) != reg)
             continue;
           if (isInParts && !threadsTell && registerPart(offsets, reg, Dim::Register) != wanted)
             continue;
           Value isWanted;
           if (threadsTell)
             isWanted = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, coordinate(offsets, reg, Dim::Register),
                                              i32(wanted));
           when(isWanted, {},
                [&]() -> Values {
                  store(reg);
                  return {};
                },
                {});
         }
         return {};
       },
       {});
  // A fence is dear; the one after the next store is for both.
  if (publishes && !isa_and_nonnull<StoreSharedOp>(op->getNextNode()))
    target.publishShared(b);
}

struct ThreadEmitter::SharedRead {
  Memory memory;
  LinearLayout offsets;
  int64_t part = 0; ///< of the tile, which alone is in memory
  std::optional<layout::MatrixLoad> matrix;
  std::vector<int> within; ///< register bits that one instruction covers
  Values values;
};

// Reads of a stage are those of pipelined loops; an author who reads views has placed the reads himself. A sum that one
// thread needs is read by that thread.
bool ThreadEmitter::canReadLate(LoadSharedOp op) {
  if (!op.getTile().hasOneUse())
    return false;
  Operation *user = *op.getTile().user_begin();
  auto dot = dyn_cast<MatrixDotOp>(user);
  bool readsLate = dot ? op.getStage() && dot.getInstruction() : isa<ReduceOp>(user) && isReducedByOwner(user);
  if (!readsLate || user->getBlock() != op->getBlock())
    return false;
  for (Operation *between = op->getNextNode(); between != user; between = between->getNextNode())
    if (!isMemoryEffectFree(between) && !isa<GlobalLoadOp, LoadSharedOp>(between))
      return false;
  return true;
}

void ThreadEmitter::emitLoadShared(LoadSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  int64_t bits = memoryType(tile.getElementType()).getIntOrFloatBitWidth();
  auto read = std::make_shared<SharedRead>();
  read->memory = memoryAt(op.getRing(), op.getStage());
  read->offsets = op.getRing().getType().offsetsOf(layoutOf(tile));
  read->part = int64_t(op.getPart());
  bool isInParts = read->offsets.hasOutput(Dim::Register);
  auto scratch = op.getRing().getDefiningOp<AllocOp>();
  bool isScratch = scratch && scratch.getScratch();
  if (target.hasMatrixLoads() && !divergent && !read->memory.offset && !isScratch)
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
    if (!isInParts || registerPart(read->offsets, reg, Dim::Register) == read->part)
      readShared(op, reg);
    else if (op.getRest())
      read->values[size_t(reg)] = of(op.getRest())[size_t(reg)];
    else
      read->values[size_t(reg)] = LLVM::PoisonOp::create(b, threadType(tile.getElementType()));
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
  LinearLayout offsets = ring.offsetsOf(layout);
  int64_t elements = int64_t(op.getElements()), elementBytes = ring.getElementType().getIntOrFloatBitWidth() / 8;
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
