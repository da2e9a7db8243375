// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moves between the lanes of a warp.
#include "compiler/lowering/simt/ThreadCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

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

Value ThreadCode::shuffleXor(Value value, int mask) {
  return throughWords(b, value, [&](Value word) { return target.shuffleXor(b, word, mask); });
}

std::pair<Value, Value> ThreadCode::pairXor(Value value, int mask) {
  Type type = value.getType();
  if (auto both = target.bothLanes(b, as(b.getI32Type(), value), mask))
    return {as(type, both->first), as(type, both->second)};
  return {value, shuffleXor(value, mask)};
}

Value ThreadCode::fromRowBefore(Value value, int mask) {
  bool isKnown = true;
  Value moved = throughWords(b, value, [&](Value word) {
    std::optional<Value> before = target.fromRowBefore(b, word, mask);
    isKnown &= before.has_value();
    return before.value_or(word);
  });
  return isKnown ? moved : Value();
}

Value ThreadCode::fromLastLane(Value value) {
  return throughWords(b, value, [&](Value word) { return target.fromLastLane(b, word); });
}

Value ThreadCode::shuffleFrom(Value value, Value from) {
  return throughWords(b, value, [&](Value word) { return target.shuffleFrom(b, word, from); });
}
