// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Updates of global memory, with order and scope.
#include "compiler/lowering/nvptx/NvptxTarget.h"
#include "compiler/lowering/peer/PeerTarget.h"
#include "compiler/lowering/simt/RegisterMap.h"
#include "compiler/lowering/simt/Vectors.h"

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

// PTX ISA, `atom` with vectors, which sm_90 has.
int64_t NvptxTarget::mostUpdatedTogether(RMWOp kind, Type element, MemScope scope) const {
  if (kind != RMWOp::FAdd)
    return 1;
  bool isHalf =
      (element.isF16() && chip.hasSum(AtomicSum::F16x2)) || (element.isBF16() && chip.hasSum(AtomicSum::BF16x2));
  constexpr int64_t bits = 128; // of an instruction
  return isHalf || (element.isF32() && chip.hasSum(AtomicSum::F32)) ? bits / element.getIntOrFloatBitWidth() : 1;
}

NvptxTarget::Values NvptxTarget::atomicUpdateTogether(Builder &b, RMWOp kind, Value pointer, ValueRange values,
                                                      MemSemantic semantic, MemScope scope) const {
  Type element = values.front().getType();
  size_t perWord = 32 / element.getIntOrFloatBitWidth(), count = values.size() / perWord;
  Type word = perWord == 1 ? element : b.getI32Type();
  SmallVector<Value> operands = {pointer};
  for (size_t first = 0; first < values.size(); first += perWord)
    operands.push_back(perWord == 1 ? values[first] : packRegister(b, llvm::to_vector(values.slice(first, perWord))));
  std::string results, given, constraints, letter = perWord == 1 ? "f" : "r";
  for (size_t i = 0; i < count; ++i) {
    results += (i ? ", $" : "$") + std::to_string(i);
    given += (i ? ", $" : "$") + std::to_string(count + 1 + i);
    constraints += "=" + letter + ",";
  }
  constraints += "l,";
  for (size_t i = 0; i < count; ++i)
    constraints += letter + ",";
  std::string type = perWord == 1 ? "f32" : element.isBF16() ? "bf16x2" : "f16x2";
  std::string operation = perWord == 1 ? "add" : "add.noftz";
  bool isVector = count > 1; // which names its type before the operation
  if (isVector)
    results = "{" + results + "}", given = "{" + given + "}";
  std::string what = isVector ? "v" + std::to_string(count) + "." + type + "." + operation : operation + "." + type;
  std::string text = "atom." + orderOf(semantic, scope) + ".global." + what + " " + results + ", [$" +
                     std::to_string(count) + "], " + given + ";";
  Type all = isVector ? Type(LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, word))) : word;
  Value made = assembly(b, all, text, constraints + "~{memory}", operands);
  Values old;
  for (size_t i = 0; i < count; ++i) {
    Value each = isVector ? Value(LLVM::ExtractValueOp::create(b, made, ArrayRef<int64_t>{int64_t(i)})) : made;
    if (perWord == 1)
      old.push_back(each);
    else
      llvm::append_range(old, apart(b, LLVM::BitcastOp::create(b, VectorType::get(int64_t(perWord), element), each)));
  }
  return old;
}

void NvptxTarget::fenceBefore(Builder &b, MemSemantic semantic, MemScope scope) const {
  if (semantic == MemSemantic::Release || semantic == MemSemantic::AcquireRelease)
    releaseFence(b, scope);
}

void NvptxTarget::fenceAfter(Builder &b, MemSemantic semantic, MemScope scope) const {
  if (semantic == MemSemantic::Acquire || semantic == MemSemantic::AcquireRelease)
    acquireFence(b, scope);
}

Value NvptxTarget::orderedLoadIf(Builder &b, Value bit, Value pointer, Value other, bool isVolatile) const {
  if (isa<VectorType>(other.getType()))
    return {};
  return peer::emitPredicatedLoad(b, pointer, bit, other, isVolatile ? "volatile" : "relaxed.gpu");
}

Value NvptxTarget::compareAndSwap(Builder &b, Value pointer, Value expected, Value value, MemSemantic semantic,
                                  MemScope scope) const {
  constexpr unsigned sharedMemory = 3; // whose updates are relaxed, of a block
  if (cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace() == sharedMemory) {
    Value both = LLVM::AtomicCmpXchgOp::create(b, pointer, expected, value, LLVM::AtomicOrdering::monotonic,
                                               LLVM::AtomicOrdering::monotonic, blockScope());
    return LLVM::ExtractValueOp::create(b, both, ArrayRef<int64_t>{0});
  }
  unsigned bits = expected.getType().getIntOrFloatBitWidth();
  const char *letter = bits == 64 ? "l" : bits == 16 ? "h" : "r";
  std::string text = "atom." + orderOf(semantic, scope) + ".global.cas.b" + std::to_string(bits) + " $0, [$1], $2, $3;";
  return assembly(b, expected.getType(), text, std::string("=") + letter + ",l," + letter + "," + letter + ",~{memory}",
                  {pointer, expected, value});
}
