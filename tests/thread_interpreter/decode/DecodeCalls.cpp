// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls: intrinsics by their name, functions of the module inlined, inline assembly and external functions as given.
#include "support/Error.h"
#include "tests/thread_interpreter/Machine.h"
#include "tests/thread_interpreter/decode/Decoder.h"
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>

using namespace heddle::threads;
using namespace llvm;

Slots Decoder::operandSlots(const CallInst &call) {
  Slots all;
  for (const Value *operand : call.args())
    if (!operand->getType()->isMetadataTy())
      all.append(slots(operand));
  return all;
}

void Decoder::emitCall(const CallInst &call) {
  if (auto *assembly = dyn_cast<InlineAsm>(call.getCalledOperand()))
    return emitGiven(call, normaliseAssembly(assembly->getAsmString().str()), "inline assembly");
  const Function *function = call.getCalledFunction();
  if (!function)
    refuse("indirect calls are not supported");
  if (function->isIntrinsic())
    return emitIntrinsic(call, Intrinsic::getBaseName(function->getIntrinsicID()));
  if (!function->isDeclaration())
    return emitInlined(call, *function);
  emitGiven(call, function->getName().str(), "external function");
}

/// What the text of a load, store, atomic or fence says of order and scope: `st.release.sys.global.b32 ...`.
static void readAssembly(StringRef text, Op &op) {
  if (text.starts_with("@")) // the predicate; what it forbids is not accessed
    text = text.split(' ').second;
  StringRef instruction = text.split(' ').first;
  auto has = [&](StringRef part) { return instruction.contains(part); };
  op.access = instruction.starts_with("ld.")                                        ? Access::Read
              : instruction.starts_with("st.")                                      ? Access::Write
              : instruction.starts_with("atom.") || instruction.starts_with("red.") ? Access::Update
                                                                                    : Access::None;
  bool fences = instruction.starts_with("fence.") || instruction.starts_with("membar.");
  if (op.access == Access::None && !fences)
    return;
  op.order = has(".acq_rel") || fences             ? Order::AcquireRelease
             : has(".acquire")                     ? Order::Acquire
             : has(".release")                     ? Order::Release
             : has(".relaxed") || has(".volatile") ? Order::Relaxed
                                                   : Order::Plain;
  op.scope = has(".cta") ? Scope::Block : has(".gpu") || has("membar.gl") ? Scope::Device : Scope::System;
}

// `[$2+16]`: the operand is an address 16 bytes after, and the text is that of `[$2]`.
static std::optional<std::pair<unsigned, int64_t>> takeOffset(std::string &text) {
  size_t plus = text.find('+'), open = text.rfind("[$", plus), close = text.find(']', plus);
  unsigned number = 0;
  int64_t bytes = 0;
  if (plus == std::string::npos || open == std::string::npos || close == std::string::npos ||
      StringRef(text).slice(open + 2, plus).getAsInteger(10, number) ||
      StringRef(text).slice(plus + 1, close).getAsInteger(10, bytes))
    return std::nullopt;
  text.erase(plus, close - plus);
  return std::pair(number, bytes);
}

void Decoder::emitGiven(const CallInst &call, std::string name, StringRef what) {
  if (findGroupMatrixOp(name)) {
    Slots out = newSlots(call.getType());
    emit(name, Scalar::Integer, operandSlots(call), out);
    instance->values[&call] = out;
    return;
  }
  Slots operands = operandSlots(call), out = newSlots(call.getType());
  if (auto offset = name.starts_with("@") ? takeOffset(name) : std::nullopt) {
    uint32_t &pointer = operands[offset->first - out.size()], sum = newSlot();
    emit("address.offset", Scalar::Integer, {pointer}, {sum}).op.immediate = offset->second;
    pointer = sum;
  }
  const LaneFunction *function = nullptr;
  for (const auto *known : {&standardAssembly(), &functions}) // the test's own come last and win
    if (auto row = known->find(name); row != known->end())
      function = &row->second;
  if (!function)
    refuse("unknown " + what + " '" + name + "'; give it a meaning with define()");
  Op &op = emit("call", Scalar::Integer, operands, out).op;
  op.immediate = program->functions.size();
  readAssembly(name, op);
  program->functions.push_back(*function);
  instance->values[&call] = out;
}

void Decoder::emitInlined(const CallInst &call, const Function &function) {
  Instance inner;
  for (const auto &[argument, operand] : llvm::zip_equal(function.args(), call.args()))
    inner.values[&argument] = slots(operand);
  inner.results = newSlots(call.getType());
  instance->values[&call] = inner.results;
  emitFunction(function, inner);
}

void Decoder::emitIntrinsic(const CallInst &call, StringRef name) {
  if (isa<DbgInfoIntrinsic>(call) || emitSpecialIntrinsic(call, name))
    return;
  SmallVector<Type *> operands, results;
  if (call.arg_size())
    flatten(call.getArgOperand(0)->getType(), operands);
  flatten(call.getType(), results);
  Scalar scalar = operands.empty() ? Scalar::Integer : classOf(operands[0]);
  if (findEntry(name, true))
    return emitElementwise(name, call, call.arg_size(), scalar);
  Slots out = newSlots(call.getType());
  instance->values[&call] = out;
  if (!findEntry(name, false) && !findMatrixOp(std::string_view(name.data(), name.size())))
    refuse("unknown intrinsic '" + name + "'");
  Op &op = emit(name, scalar, operandSlots(call), out).op;
  op.mask = results.empty() ? 0 : mask(results[0]);
  auto spaceOf = [&](unsigned operand) {
    Type *type = operand < call.arg_size() ? call.getArgOperand(operand)->getType() : nullptr;
    return type && type->isPointerTy() ? type->getPointerAddressSpace() : 0;
  };
  op.space = spaceOf(0);
  op.second = spaceOf(1);
  if (name.starts_with("llvm.nvvm.membar.") || name == "llvm.nvvm.fence.sc.cluster") {
    op.order = Order::AcquireRelease;
    op.scope = name.ends_with(".sys") ? Scope::System : name.ends_with(".cta") ? Scope::Block : Scope::Device;
  }
  if (name.starts_with("llvm.nvvm.cp.async.bulk.tensor.reduce.")) { // PTX ISA: relaxed, in the scope of the device
    op.order = Order::Relaxed;
    op.scope = Scope::Device;
  }
  if (name.contains(".mma."))
    op.second = call.getArgOperand(0)->getType()->isVectorTy();
  if (name.contains(".cp.async.c"))
    name.rtrim(".s").rsplit('.').second.getAsInteger(10, op.elementSize);
}

bool Decoder::emitSpecialIntrinsic(const CallInst &call, StringRef name) {
  if (name.starts_with("llvm.vector.reduce.")) {
    emitVectorReduce(call, name);
  } else if (name == "llvm.masked.load" || name == "llvm.masked.store") {
    emitMasked(call);
  } else if (name.starts_with("llvm.nvvm.barrier.cta.")) {
    emitBarrier(call, name);
  } else if (name == "llvm.nvvm.bar.warp.sync") {
    barriers.push_back({&call, pending.size()});
    return false;
  } else if (name == "llvm.expect" || name == "llvm.ssa.copy" || name.starts_with("llvm.nvvm.move.")) {
    instance->values[&call] = slots(call.getArgOperand(0));
  } else if (name == "llvm.nvvm.reflect" || name == "llvm.is.constant") {
    instance->values[&call] = {constant(0)};
  } else {
    return false;
  }
  return true;
}

// llvm.nvvm.barrier.cta.{sync,arrive,red.OP}[.aligned].{all,count}
void Decoder::emitBarrier(const CallInst &call, StringRef name) {
  Slots out = newSlots(call.getType());
  instance->values[&call] = out;
  bool arrives = name.contains(".arrive.");
  if (name.contains(".sync."))
    barriers.push_back({&call, pending.size()});
  Op &op = emit(arrives ? "barrier.arrive" : "barrier.wait", Scalar::Integer, operandSlots(call), out).op;
  op.immediate = name.ends_with(".count");
  op.second = name.contains(".and.") ? 1 : name.contains(".or.") ? 2 : name.contains(".popc.") ? 3 : 0;
}

// From the first element to the last; those with a start value begin there.
void Decoder::emitVectorReduce(const CallInst &call, StringRef name) {
  StringRef kind = name.substr(StringRef("llvm.vector.reduce.").size());
  static constexpr std::pair<StringRef, StringRef> operations[] = {{"add", "add"},
                                                                   {"mul", "mul"},
                                                                   {"and", "and"},
                                                                   {"or", "or"},
                                                                   {"xor", "xor"},
                                                                   {"smax", "llvm.smax"},
                                                                   {"smin", "llvm.smin"},
                                                                   {"umax", "llvm.umax"},
                                                                   {"umin", "llvm.umin"},
                                                                   {"fadd", "fadd"},
                                                                   {"fmul", "fmul"},
                                                                   {"fmax", "llvm.maxnum"},
                                                                   {"fmin", "llvm.minnum"},
                                                                   {"fmaximum", "llvm.maximum"},
                                                                   {"fminimum", "llvm.minimum"}};
  auto found = llvm::find_if(operations, [&](const auto &row) { return row.first == kind; });
  if (found == std::end(operations))
    refuse("unknown intrinsic '" + name + "'");
  Slots values = operandSlots(call);
  uint32_t result = values[0];
  for (uint32_t value : ArrayRef(values).drop_front()) {
    uint32_t next = newSlot();
    Op &op = emit(found->second, classOf(call.getType()), {result, value}, {next}).op;
    op.width = bits(call.getType());
    op.mask = mask(call.getType());
    result = next;
  }
  instance->values[&call] = {result};
}
