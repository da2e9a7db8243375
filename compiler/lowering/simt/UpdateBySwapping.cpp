// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Updates of memory that a chip has no instruction for: compares and swaps until no other thread was faster.
#include "compiler/lowering/simt/GpuTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

static Value combine(ImplicitLocOpBuilder &b, RMWOp kind, Value old, Value value) {
  switch (kind) {
  case RMWOp::And:
    return arith::AndIOp::create(b, old, value);
  case RMWOp::Or:
    return arith::OrIOp::create(b, old, value);
  case RMWOp::Xor:
    return arith::XOrIOp::create(b, old, value);
  case RMWOp::Add:
    return arith::AddIOp::create(b, old, value);
  case RMWOp::FAdd:
    return arith::AddFOp::create(b, old, value);
  case RMWOp::Max:
    return arith::MaxSIOp::create(b, old, value);
  case RMWOp::Min:
    return arith::MinSIOp::create(b, old, value);
  case RMWOp::UMax:
    return arith::MaxUIOp::create(b, old, value);
  case RMWOp::UMin:
    return arith::MinUIOp::create(b, old, value);
  case RMWOp::Exchange:
    break;
  }
  return value;
}

// Of 8 and 16 bits the word around them is swapped.
Value GpuTarget::updateBySwapping(Builder &b, RMWOp kind, Value pointer, Value value, MemSemantic semantic,
                                  MemScope scope) const {
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  Type own = b.getIntegerType(bits), word = b.getIntegerType(std::max(bits, 32u));
  auto as = [&](Type to, Value from) -> Value {
    return from.getType() == to ? from : Value(LLVM::BitcastOp::create(b, to, from));
  };
  auto i32 = [&](int64_t number) -> Value { return arith::ConstantIntOp::create(b, number, 32); };
  Value shift, others;
  if (bits < 32) {
    Value address = LLVM::PtrToIntOp::create(b, b.getI64Type(), pointer);
    auto i64 = [&](int64_t number) -> Value { return arith::ConstantIntOp::create(b, number, 64); };
    Value byte = arith::TruncIOp::create(b, word, arith::AndIOp::create(b, address, i64(3)));
    pointer = LLVM::IntToPtrOp::create(b, pointer.getType(), Value(arith::AndIOp::create(b, address, i64(-4))));
    shift = arith::ShLIOp::create(b, byte, i32(3));
    Value mask = arith::ShLIOp::create(b, i32((int64_t(1) << bits) - 1), shift);
    others = arith::XOrIOp::create(b, mask, i32(-1));
  }
  auto partOf = [&](Value whole) -> Value {
    return as(type, shift ? Value(arith::TruncIOp::create(b, own, arith::ShRUIOp::create(b, whole, shift))) : whole);
  };
  auto with = [&](Value whole, Value part) -> Value {
    part = as(own, part);
    if (!shift)
      return part;
    part = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, word, part), shift);
    return arith::OrIOp::create(b, arith::AndIOp::create(b, whole, others), part);
  };
  // The first word is a guess: a wrong one is answered by the right one.
  Value guess = arith::ConstantIntOp::create(b, 0, word.getIntOrFloatBitWidth());
  auto loop = scf::WhileOp::create(
      b, TypeRange{word}, ValueRange{guess},
      [&](OpBuilder &, Location, ValueRange seen) {
        Value next = with(seen[0], combine(b, kind, partOf(seen[0]), value));
        Value old = compareAndSwap(b, pointer, seen[0], next, semantic, scope);
        Value again = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, old, seen[0]);
        scf::ConditionOp::create(b, again, ValueRange{old});
      },
      [&](OpBuilder &, Location, ValueRange seen) { scf::YieldOp::create(b, seen); });
  return partOf(loop.getResult(0));
}
