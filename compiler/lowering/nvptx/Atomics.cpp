// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Updates of global memory, with order and scope.
#include "compiler/lowering/nvptx/NvptxTarget.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nvptx;
using namespace heddle::simt;
using namespace heddle::triton;

static std::string orderOf(MemSemantic semantic, MemScope scope) {
  const char *order = semantic == MemSemantic::Relaxed   ? "relaxed"
                      : semantic == MemSemantic::Acquire ? "acquire"
                      : semantic == MemSemantic::Release ? "release"
                                                         : "acq_rel";
  const char *where = scope == MemScope::Gpu ? "gpu" : scope == MemScope::Cta ? "cta" : "sys";
  return std::string(order) + "." + where;
}

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
  case RMWOp::Max:
    return arith::MaxSIOp::create(b, old, value);
  case RMWOp::Min:
    return arith::MinSIOp::create(b, old, value);
  case RMWOp::UMax:
    return arith::MaxUIOp::create(b, old, value);
  case RMWOp::UMin:
    return arith::MinUIOp::create(b, old, value);
  case RMWOp::Exchange:
  case RMWOp::FAdd:
    break;
  }
  return value;
}

// PTX has no such operations on 8 and 16 bits: compares and swaps the word around them until nobody else was faster.
Value NvptxTarget::updateBySwapping(Builder &b, RMWOp kind, Value pointer, Value value, MemSemantic semantic,
                                    MemScope scope) const {
  Type type = value.getType(), own = b.getIntegerType(type.getIntOrFloatBitWidth()), word = b.getI32Type();
  Value given = own == type ? value : Value(LLVM::BitcastOp::create(b, own, value));
  Value address = LLVM::PtrToIntOp::create(b, b.getI64Type(), pointer);
  auto i64 = [&](int64_t number) -> Value { return arith::ConstantIntOp::create(b, number, 64); };
  Value wordPointer = LLVM::IntToPtrOp::create(b, pointer.getType(), Value(arith::AndIOp::create(b, address, i64(-4))));
  Value byte = arith::TruncIOp::create(b, word, arith::AndIOp::create(b, address, i64(3)));
  Value shift = arith::ShLIOp::create(b, byte, i32(b, 3));
  Value mask = arith::ShLIOp::create(b, i32(b, (int64_t(1) << own.getIntOrFloatBitWidth()) - 1), shift);
  Value others = arith::XOrIOp::create(b, mask, i32(b, -1));
  auto partOf = [&](Value whole) -> Value {
    return arith::TruncIOp::create(b, own, arith::ShRUIOp::create(b, whole, shift));
  };
  // The first word is a guess: a wrong one is answered by the right one.
  auto loop = scf::WhileOp::create(
      b, TypeRange{word}, ValueRange{i32(b, 0)},
      [&](OpBuilder &, Location, ValueRange seen) {
        Value part = arith::ExtUIOp::create(b, word, combine(b, kind, partOf(seen[0]), given));
        Value next =
            arith::OrIOp::create(b, arith::AndIOp::create(b, seen[0], others), arith::ShLIOp::create(b, part, shift));
        Value old = compareAndSwap(b, wordPointer, seen[0], next, semantic, scope);
        Value again = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, old, seen[0]);
        scf::ConditionOp::create(b, again, ValueRange{old});
      },
      [&](OpBuilder &, Location, ValueRange seen) { scf::YieldOp::create(b, seen); });
  Value old = partOf(loop.getResult(0));
  return own == type ? old : Value(LLVM::BitcastOp::create(b, type, old));
}

// LLVM 22 prints `atomicrmw` without its order and scope; PTX then means relaxed, gpu scope. So the instruction is
// written here.
Value NvptxTarget::atomicUpdate(Builder &b, RMWOp kind, Value pointer, Value value, MemSemantic semantic,
                                MemScope scope) const {
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits < 32 && kind != RMWOp::FAdd)
    return updateBySwapping(b, kind, pointer, value, semantic, scope);
  bool real = isa<FloatType>(type);
  std::string operation;
  switch (kind) {
  case RMWOp::And:
    operation = "and.b";
    break;
  case RMWOp::Or:
    operation = "or.b";
    break;
  case RMWOp::Xor:
    operation = "xor.b";
    break;
  case RMWOp::Add:
    operation = "add.u";
    break;
  case RMWOp::FAdd:
    operation = bits == 16 ? type.isBF16() ? "add.noftz.bf" : "add.noftz.f" : "add.f";
    break;
  case RMWOp::Max:
    operation = "max.s";
    break;
  case RMWOp::Min:
    operation = "min.s";
    break;
  case RMWOp::UMax:
    operation = "max.u";
    break;
  case RMWOp::UMin:
    operation = "min.u";
    break;
  case RMWOp::Exchange:
    operation = "exch.b";
    break;
  }
  Type carried = b.getIntegerType(bits);
  const char *letter = bits == 64 ? "l" : bits == 16 ? "h" : "r";
  if (real && kind != RMWOp::Exchange && bits > 16) {
    carried = type;
    letter = bits == 64 ? "d" : "f";
  }
  Value given = carried == type ? value : Value(LLVM::BitcastOp::create(b, carried, value));
  std::string text =
      "atom." + orderOf(semantic, scope) + ".global." + operation + std::to_string(bits) + " $0, [$1], $2;";
  Value old = assembly(b, carried, text, std::string("=") + letter + ",l," + letter + ",~{memory}", {pointer, given});
  return carried == type ? old : Value(LLVM::BitcastOp::create(b, type, old));
}

Value NvptxTarget::compareAndSwap(Builder &b, Value pointer, Value expected, Value value, MemSemantic semantic,
                                  MemScope scope) const {
  unsigned bits = expected.getType().getIntOrFloatBitWidth();
  const char *letter = bits == 64 ? "l" : bits == 16 ? "h" : "r";
  std::string text = "atom." + orderOf(semantic, scope) + ".global.cas.b" + std::to_string(bits) + " $0, [$1], $2, $3;";
  return assembly(b, expected.getType(), text, std::string("=") + letter + ",l," + letter + "," + letter + ",~{memory}",
                  {pointer, expected, value});
}
