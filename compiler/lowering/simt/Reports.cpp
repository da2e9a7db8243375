// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel tells the runtime, through the launch's record in device memory (binary/LaunchRecord.h): prints and
// failed assertions. A program whose assertion failed ends there with all its threads.
#include "binary/LaunchRecord.h"
#include "compiler/lowering/simt/ThreadEmitter.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

Value ThreadEmitter::bytesAfter(Value pointer, Value offset) {
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{offset});
}

Value ThreadEmitter::recordPointer(int64_t offset) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), 1);
  Value record = entry.getBody().getArguments().back();
  return LLVM::IntToPtrOp::create(b, pointer, Value(arith::AddIOp::create(b, record, i64(offset))));
}

Value ThreadEmitter::addToRecord(int64_t offset, int64_t value) {
  return target.atomicUpdate(b, RMWOp::Add, recordPointer(offset), i64(value), MemSemantic::Relaxed, MemScope::Gpu);
}

void ThreadEmitter::refuseSites(Operation *op) {
  (void)refuse(op, "a kernel has at most " + llvm::Twine(mostRecordedSites) + " prints and assertions");
}

//===-- Prints ---------------------------------------------------------------------------------------------------===//

void ThreadEmitter::emitPrintRoom(PrintRoomOp op) {
  if (isMissingExchange(op, op.getType()))
    return;
  auto take = [&](int64_t) -> Values {
    addToRecord(offsetof(LaunchRecord, lines), int64_t(op.getLines()));
    return {addToRecord(offsetof(LaunchRecord, bytes), int64_t(op.getBytes()))};
  };
  emitted[op.getPlace()] = once(op.getType(), op.getType(), take, {});
}

void ThreadEmitter::emitPrint(simt::PrintOp op) {
  if (divergent)
    return (void)refuse(op, "it stands in a branch that not all threads take");
  int32_t site = sites.ofPrint(op, {op.getPrefix(), op.getHex(), op.getValues(), op.getIsSigned()});
  if (site >= mostRecordedSites)
    return refuseSites(op);
  if (op.getValues().empty())
    return emitPiece(site, -1, {}, scalar(op.getPlaces()[0]));
  for (auto [operand, value] : llvm::enumerate(op.getValues()))
    emitPiece(site, int32_t(operand), value, scalar(op.getPlaces()[operand]));
}

void ThreadEmitter::emitPiece(int32_t site, int32_t operand, Value value, Value place) {
  Type type = value ? value.getType() : b.getI32Type();
  auto tile = dyn_cast<RankedTensorType>(type);
  int64_t elementBytes = value ? memoryType(elementTypeOf(type)).getIntOrFloatBitWidth() / 8 : 0;
  int64_t size = printPieceBytes(tile ? tile.getNumElements() : 1, elementBytes);
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, place, i64(recordedPieceBytes - size));
  when(fits, {},
       [&]() -> Values {
         Value start = bytesAfter(recordPointer(sizeof(LaunchRecord)), place);
         writePieceHeader(start, size, site, operand);
         if (value)
           writePieceElements(start, value, elementBytes);
         return {};
       },
       {});
}

void ThreadEmitter::writePieceHeader(Value start, int64_t size, int32_t site, int32_t operand) {
  when(isOwner(LinearLayout()), {},
       [&]() -> Values {
         Values fields = {i32(size), i32(site), i32(operand)};
         for (int axis = 0; axis < 3; ++axis)
           fields.push_back(target.programId(b, axis));
         for (auto [number, field] : llvm::enumerate(fields))
           LLVM::StoreOp::create(b, field, bytesAfter(start, i64(int64_t(4 * number))), 4);
         return {};
       },
       {});
}

void ThreadEmitter::writePieceElements(Value start, Value value, int64_t elementBytes) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  Type element = elementTypeOf(value.getType());
  LinearLayout layout = tile ? layoutOf(tile) : LinearLayout();
  bool isCut = tile && tile.getNumElements() > recordedLines;
  Value first = bytesAfter(start, i64(sizeof(PrintPiece)));
  when(isOwner(layout), {},
       [&]() -> Values {
         for (auto [reg, each] : llvm::enumerate(of(value))) {
           if (tile && firstCopy(layout, int64_t(reg)) != int64_t(reg))
             continue;
           Value index = tile ? flatIndex(tile, int64_t(reg)) : i32(0), stored = toMemory(each, element);
           Value isKept =
               isCut ? Value(arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, i32(recordedLines))) : Value();
           when(isKept, {},
                [&]() -> Values {
                  Value offset = arith::ExtUIOp::create(b, b.getI64Type(),
                                                        Value(arith::MulIOp::create(b, index, i32(elementBytes))));
                  LLVM::StoreOp::create(b, stored, bytesAfter(first, offset), unsigned(elementBytes));
                  return {};
                },
                {});
         }
         return {};
       },
       {});
}

//===-- tt.assert ------------------------------------------------------------------------------------------------===//

// The complement of the failure's key, so that zero is none and the greatest is the first.
Value ThreadEmitter::failureWord(int32_t site, Value element) {
  Value number = i64(0);
  auto wide = [&](Value value) -> Value { return arith::ExtUIOp::create(b, b.getI64Type(), value); };
  for (int axis = 2; axis >= 0; --axis) {
    number = arith::MulIOp::create(b, number, wide(target.programCount(b, axis)));
    number = arith::AddIOp::create(b, number, wide(target.programId(b, axis)));
  }
  Value key = arith::ShLIOp::create(b, number, i64(failureElementBits + failureSiteBits));
  key = arith::OrIOp::create(b, key, i64(int64_t(site) << failureElementBits));
  key = arith::OrIOp::create(b, key, wide(element));
  return arith::XOrIOp::create(b, key, i64(-1));
}

// All threads learn of a failure and end together, so that nobody waits for one that is gone. In a branch that not all
// of them take, the failure is only noted.
void ThreadEmitter::emitAssert(AssertOp op) {
  int32_t site = sites.of(op);
  if (site >= mostRecordedSites)
    return refuseSites(op);
  auto tile = dyn_cast<RankedTensorType>(op.getCondition().getType());
  Values wrong;
  Value fails;
  for (Value bit : of(op.getCondition())) {
    wrong.push_back(arith::XOrIOp::create(b, bit, constantOf(b.getI1Type(), 1)));
    fails = fails ? Value(arith::OrIOp::create(b, fails, wrong.back())) : wrong.back();
  }
  auto note = [&]() -> Values {
    Value element = i32(tile ? tile.getNumElements() - 1 : 0);
    for (auto [reg, bit] : llvm::enumerate(wrong)) {
      if (!tile)
        break;
      Value lower = arith::MinUIOp::create(b, element, flatIndex(tile, int64_t(reg)));
      element = arith::SelectOp::create(b, bit, lower, element);
    }
    target.atomicUpdate(b, RMWOp::UMax, recordPointer(offsetof(LaunchRecord, failure)), failureWord(site, element),
                        MemSemantic::Relaxed, MemScope::Gpu);
    return {};
  };
  if (divergent)
    return (void)when(fails, {}, note, {});
  endProgramIf(fails, [&] { when(fails, {}, note, {}); });
}

void ThreadEmitter::endProgramIf(Value anyThread, llvm::function_ref<void()> before) {
  Value isOver = target.barrierOr(b, anyThread, options.warps);
  when(isOver, {},
       [&]() -> Values {
         before();
         target.endThread(b);
         return {};
       },
       {});
}

Value ThreadEmitter::someProgramFailed() {
  Value word = LLVM::LoadOp::create(b, b.getI64Type(), recordPointer(offsetof(LaunchRecord, failure)), 8, false, false,
                                    false, false, LLVM::AtomicOrdering::monotonic);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, word, i64(0));
}
