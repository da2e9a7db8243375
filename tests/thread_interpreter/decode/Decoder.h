// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From an LLVM function to a Program: every value becomes a list of registers, one a scalar. What only renames scalars
// (extractvalue, shufflevector, freeze, zext, ...) needs no operation at all.
#pragma once
#include "tests/thread_interpreter/Program.h"
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace heddle::threads {

using Slots = llvm::SmallVector<uint32_t, 4>;

/// The blocks that can be reached, each after those that dominate it, and every loop contiguous.
std::vector<const llvm::BasicBlock *> orderBlocks(const llvm::Function &function);

/// An operation before its registers are final.
struct PendingOp {
  Op op;
  Slots in, out;
};
/// Gives values that live inside a straight piece of code the registers of others that are dead.
void shareRegisters(Program &program, std::vector<PendingOp> &pending, std::span<const Handler> jumps);

class Decoder {
public:
  Decoder(const llvm::Module &module, const std::map<std::string, LaneFunction> &functions);
  /// Throws Error with the text of what is not known.
  std::unique_ptr<Program> decode(const llvm::Function &kernel);

private:
  /// A place that holds the target of a jump before its address is known.
  struct Fixup {
    size_t op;
    int64_t Op::*field;             ///< null: in the switch table
    int entry;                      ///< of the switch table; -1: otherwise
    const llvm::BasicBlock *target; ///< null: after the function
  };
  /// One inlined instance of a function.
  struct Instance {
    llvm::DenseMap<const llvm::Value *, Slots> values;
    llvm::DenseMap<const llvm::BasicBlock *, size_t> begins;
    std::vector<Fixup> fixups;
    Slots results;
    bool isKernel = false;
  };

  // DecodeValues.cpp
  static void flatten(llvm::Type *type, llvm::SmallVectorImpl<llvm::Type *> &scalars);
  unsigned bits(llvm::Type *scalar);
  uint64_t mask(llvm::Type *scalar) { return ~uint64_t(0) >> (64 - bits(scalar)); }
  static Scalar classOf(llvm::Type *scalar);
  uint32_t newSlot() { return program->registers++; }
  Slots newSlots(llvm::Type *type);
  uint32_t constant(uint64_t value);
  Slots slots(const llvm::Value *value);
  void evaluate(const llvm::Constant *value, llvm::SmallVectorImpl<uint64_t> &scalars);
  uint64_t evaluateExpression(const llvm::Constant *value);
  void placeGlobals();
  void initialise(uint8_t *bytes, const llvm::Constant *value);
  /// (scalar or vector type, byte offset) of what memory operations access one by one.
  void leaves(llvm::Type *type, uint64_t offset, llvm::SmallVectorImpl<std::pair<llvm::Type *, uint64_t>> &list);

  // Decoder.cpp
  PendingOp &emit(llvm::StringRef name, Scalar scalar, Slots in, Slots out);
  [[noreturn]] void refuse(const llvm::Twine &why);
  void emitFunction(const llvm::Function &function, Instance &inner);
  void emitBlock(const llvm::BasicBlock &block, const llvm::BasicBlock *next);
  void emitTerminator(const llvm::Instruction &terminator, const llvm::BasicBlock *next);
  void emitEdge(const llvm::BasicBlock &from, const llvm::BasicBlock &to);
  bool emitCopies(const llvm::BasicBlock &from, const llvm::BasicBlock &to);
  void emitSwitch(const llvm::SwitchInst &choice);

  // DecodeInstructions.cpp
  void emitInstruction(const llvm::Instruction &instruction);
  void emitElementwise(llvm::StringRef name, const llvm::Instruction &instruction, unsigned operands, Scalar scalar);
  void emitCast(const llvm::CastInst &cast);
  void emitBitCast(const llvm::CastInst &cast);
  void emitAddress(const llvm::GetElementPtrInst &address);
  void emitVector(const llvm::Instruction &instruction);
  void emitAggregate(const llvm::Instruction &instruction);
  void emitAccess(const llvm::Instruction &instruction, const llvm::Value &address, llvm::Type *type,
                  llvm::Align align);
  void emitMasked(const llvm::CallInst &call);
  void emitAtomic(const llvm::Instruction &instruction);
  void emitAlloca(const llvm::AllocaInst &alloca);

  // DecodeCalls.cpp
  void emitCall(const llvm::CallInst &call);
  void emitIntrinsic(const llvm::CallInst &call, llvm::StringRef name);
  bool emitSpecialIntrinsic(const llvm::CallInst &call, llvm::StringRef name);
  void emitBarrier(const llvm::CallInst &call, llvm::StringRef name);
  void emitVectorReduce(const llvm::CallInst &call, llvm::StringRef name);
  void emitGiven(const llvm::CallInst &call, std::string name, llvm::StringRef what);
  void emitInlined(const llvm::CallInst &call, const llvm::Function &function);
  Slots operandSlots(const llvm::CallInst &call);

  const llvm::Module &module;
  const llvm::DataLayout &layout;
  const std::map<std::string, LaneFunction> &functions;
  std::unique_ptr<Program> program;
  std::vector<PendingOp> pending;
  std::vector<const llvm::Instruction *> sources;
  std::vector<std::pair<const llvm::Instruction *, size_t>> barriers;
  llvm::DenseMap<uint64_t, uint32_t> constants;
  llvm::DenseMap<const llvm::GlobalVariable *, uint64_t> globals;
  std::vector<const llvm::Function *> callStack;
  Instance *instance = nullptr;
};

/// The row of an operation; `elementwise` tells which of the two groups of families it is in. Null: unknown.
const Entry *findEntry(llvm::StringRef name, bool elementwise);

} // namespace heddle::threads
