// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Updates of global memory, with order and scope.
#include "compiler/lowering/nvptx/NvptxTarget.h"
#include "compiler/lowering/peer/PeerTarget.h"

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

// LLVM 22 prints `atomicrmw` without its order and scope; PTX then means relaxed, gpu scope. So the instruction is
// written here.
Value NvptxTarget::atomicUpdate(Builder &b, RMWOp kind, Value pointer, Value value, MemSemantic semantic,
                                MemScope scope) const {
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits < 32 && kind != RMWOp::FAdd) // PTX has no such operations
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

Value NvptxTarget::orderedLoadIf(Builder &b, Value bit, Value pointer, Value other, bool isVolatile) const {
  if (isa<VectorType>(other.getType()))
    return {};
  return peer::emitPredicatedLoad(b, pointer, bit, other, isVolatile ? "volatile" : "relaxed.gpu");
}

Value NvptxTarget::compareAndSwap(Builder &b, Value pointer, Value expected, Value value, MemSemantic semantic,
                                  MemScope scope) const {
  unsigned bits = expected.getType().getIntOrFloatBitWidth();
  const char *letter = bits == 64 ? "l" : bits == 16 ? "h" : "r";
  std::string text = "atom." + orderOf(semantic, scope) + ".global.cas.b" + std::to_string(bits) + " $0, [$1], $2, $3;";
  return assembly(b, expected.getType(), text, std::string("=") + letter + ",l," + letter + "," + letter + ",~{memory}",
                  {pointer, expected, value});
}
