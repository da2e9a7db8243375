// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moves between the lanes of a warp, and conversions of layouts that need no more.
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/ThreadEmitter.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

void ThreadEmitter::emitConvert(ConvertLayoutOp op) {
  const LinearLayout &source = layoutOf(op.getSrc().getType()), &result = layoutOf(op.getType());
  const Values &values = of(op.getSrc());
  bool needsLanes = false;
  if (!convertsInWarp(source, result, needsLanes) || (needsLanes && divergent)) {
    needsPass(op, "lower-conversions");
    return;
  }
  LinearLayout where = result.invertAndCompose(source);
  Values moved;
  for (int64_t reg = 0; reg < result.inputSize(Dim::Register); ++reg) {
    Value value = values[size_t(registerPart(where, reg, Dim::Register))];
    moved.push_back(needsLanes ? shuffleFrom(value, coordinate(where, reg, Dim::Lane)) : value);
  }
  emitted[op.getResult()] = moved;
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
