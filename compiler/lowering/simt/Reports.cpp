// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel tells the runtime, through the launch's record in device memory (binary/LaunchRecord.h): prints and
// failed assertions. A program whose assertion failed ends there with all its threads.
#include "binary/LaunchRecord.h"
#include "compiler/lowering/simt/RecordCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class Reports : public RecordCode {
public:
  using RecordCode::RecordCode;
  void lower(PrintRoomOp op);
  void lower(simt::PrintOp op);
  void lower(AssertOp op);

private:
  int32_t site(); ///< of this operation; refuses it where there are too many
  /// Makes a piece of the launch's record at `place`: one operand, or none (null).
  void writePiece(int32_t operand, Value value, Value place);
  void writePieceHeader(Value start, int64_t size, int32_t operand);
  void writePieceElements(Value start, Value value, int64_t elementBytes);
  Value failureWord(Value element);
};
} // namespace

//===-- The launch's record --------------------------------------------------------------------------------------===//

Value RecordCode::bytesAfter(Value pointer, Value offset) {
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{offset});
}

Value RecordCode::recordPointer(int64_t offset) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), 1);
  auto parameters = state.entry.getBody().getArguments(); // tensor maps come after it
  Value record = parameters[parameters.size() - 1 - state.kernel.tensorMaps.size()];
  return LLVM::IntToPtrOp::create(b, pointer, Value(arith::AddIOp::create(b, record, i64(offset))));
}

Value RecordCode::addToRecord(int64_t offset, int64_t value) {
  return target.atomicUpdate(b, RMWOp::Add, recordPointer(offset), i64(value), MemSemantic::Relaxed, MemScope::Gpu);
}

void RecordCode::endProgramIf(Value anyThread, llvm::function_ref<void()> before) {
  Value isOver = blockBarrierOr(anyThread);
  when(isOver, [&] {
    before();
    target.endThread(b);
  });
}

Value RecordCode::someProgramFailed() {
  Value word = LLVM::LoadOp::create(b, b.getI64Type(), recordPointer(offsetof(LaunchRecord, failure)), 8, false, false,
                                    false, false, LLVM::AtomicOrdering::monotonic);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, word, i64(0));
}

int32_t Reports::site() {
  int32_t number = facts.siteOf.lookup(op);
  if (number >= mostRecordedSites)
    refuse("a kernel has at most " + llvm::Twine(mostRecordedSites) + " prints and assertions");
  return number;
}

//===-- Prints ---------------------------------------------------------------------------------------------------===//

void Reports::lower(PrintRoomOp op) {
  if (isMissingExchange(op.getType()))
    return;
  auto take = [&](int64_t) -> Values {
    addToRecord(offsetof(LaunchRecord, lines), int64_t(op.getLines()));
    return {addToRecord(offsetof(LaunchRecord, bytes), int64_t(op.getBytes()))};
  };
  made[op.getPlace()] = once(op.getType(), op.getType(), take, {});
}

void Reports::lower(simt::PrintOp op) {
  if (refuseIfDivergent())
    return;
  if (op.getValues().empty())
    return writePiece(-1, {}, scalar(op.getPlaces()[0]));
  for (auto [operand, value] : llvm::enumerate(op.getValues()))
    writePiece(int32_t(operand), value, scalar(op.getPlaces()[operand]));
}

void Reports::writePiece(int32_t operand, Value value, Value place) {
  Type type = value ? value.getType() : b.getI32Type();
  auto tile = dyn_cast<RankedTensorType>(type);
  int64_t elementBytes = value ? memoryType(elementTypeOf(type)).getIntOrFloatBitWidth() / 8 : 0;
  int64_t size = printPieceBytes(tile ? tile.getNumElements() : 1, elementBytes);
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, place, i64(recordedPieceBytes - size));
  when(fits, [&] {
    Value start = bytesAfter(recordPointer(sizeof(LaunchRecord)), place);
    writePieceHeader(start, size, operand);
    if (value)
      writePieceElements(start, value, elementBytes);
  });
}

void Reports::writePieceHeader(Value start, int64_t size, int32_t operand) {
  when(isOwner(LinearLayout()), [&] {
    Values fields = {i32(size), i32(site()), i32(operand)};
    for (int axis = 0; axis < 3; ++axis)
      fields.push_back(target.programId(b, axis));
    for (auto [number, field] : llvm::enumerate(fields))
      LLVM::StoreOp::create(b, field, bytesAfter(start, i64(int64_t(4 * number))), 4);
  });
}

void Reports::writePieceElements(Value start, Value value, int64_t elementBytes) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  Type element = elementTypeOf(value.getType());
  LinearLayout layout = tile ? layoutOf(tile) : LinearLayout();
  bool isCut = tile && tile.getNumElements() > recordedLines;
  Value first = bytesAfter(start, i64(sizeof(PrintPiece)));
  when(isOwner(layout), [&] {
    for (auto [reg, each] : llvm::enumerate(of(value))) {
      if (tile && firstCopy(layout, int64_t(reg)) != int64_t(reg))
        continue;
      Value index = tile ? flatIndex(tile, int64_t(reg)) : i32(0), stored = toMemory(each, element);
      Value isKept =
          isCut ? Value(arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, i32(recordedLines))) : Value();
      when(isKept, [&] {
        Value offset =
            arith::ExtUIOp::create(b, b.getI64Type(), Value(arith::MulIOp::create(b, index, i32(elementBytes))));
        LLVM::StoreOp::create(b, stored, bytesAfter(first, offset), unsigned(elementBytes));
      });
    }
  });
}

//===-- tt.assert ------------------------------------------------------------------------------------------------===//

// The complement of the failure's key, so that zero is none and the greatest is the first.
Value Reports::failureWord(Value element) {
  Value number = i64(0);
  auto wide = [&](Value value) -> Value { return arith::ExtUIOp::create(b, b.getI64Type(), value); };
  for (int axis = 2; axis >= 0; --axis) {
    number = arith::MulIOp::create(b, number, wide(target.programCount(b, axis)));
    number = arith::AddIOp::create(b, number, wide(target.programId(b, axis)));
  }
  Value key = arith::ShLIOp::create(b, number, i64(failureElementBits + failureSiteBits));
  key = arith::OrIOp::create(b, key, i64(int64_t(site()) << failureElementBits));
  key = arith::OrIOp::create(b, key, wide(element));
  return arith::XOrIOp::create(b, key, i64(-1));
}

// All threads learn of a failure and end together, so that none waits for one that is gone. In a branch that not all
// of them take, the failure is only noted.
void Reports::lower(AssertOp op) {
  auto tile = dyn_cast<RankedTensorType>(op.getCondition().getType());
  Values wrong;
  Value fails;
  for (Value bit : of(op.getCondition())) {
    wrong.push_back(inverted(bit));
    fails = fails ? Value(arith::OrIOp::create(b, fails, wrong.back())) : wrong.back();
  }
  auto note = [&] {
    Value element = i32(tile ? tile.getNumElements() - 1 : 0);
    for (auto [reg, bit] : llvm::enumerate(wrong)) {
      if (!tile)
        break;
      Value lower = arith::MinUIOp::create(b, element, flatIndex(tile, int64_t(reg)));
      element = arith::SelectOp::create(b, bit, lower, element);
    }
    target.atomicUpdate(b, RMWOp::UMax, recordPointer(offsetof(LaunchRecord, failure)), failureWord(element),
                        MemSemantic::Relaxed, MemScope::Gpu);
  };
  if (divergent)
    return when(fails, note);
  endProgramIf(fails, [&] { when(fails, note); });
}

void simt::addReports(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Reports, PrintRoomOp, simt::PrintOp, AssertOp>(patterns, state);
}
