// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/analysis/Outstanding.h"
#include "simulator/analysis/MachineCode.h"
#include <algorithm>

namespace heddle::simulator {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Operation::Kind kindOf(const Instruction &instruction, InstructionClass family) {
  const std::string &name = instruction.mnemonic;
  switch (family) {
  case InstructionClass::VectorMemory:
    if (name.starts_with("buffer_inv"))
      return Operation::Kind::None;
    return name.starts_with("flat_") ? Operation::Kind::Flat : Operation::Kind::Vector;
  case InstructionClass::Scratch:
    return Operation::Kind::Vector;
  case InstructionClass::Lds:
    return name == "ds_nop" ? Operation::Kind::None : Operation::Kind::Lds;
  case InstructionClass::ScalarMemory:
    return Operation::Kind::Scalar;
  default:
    return name.starts_with("s_sendmsg") ? Operation::Kind::Scalar : Operation::Kind::None;
  }
}

/// Of LDS: neither reads nor writes nor moves between lanes.
bool isAtomicName(std::string_view name) {
  if (!name.starts_with("ds_"))
    return contains(name, "_atomic_");
  for (std::string_view plain : {"ds_read", "ds_write", "ds_swizzle", "ds_permute", "ds_bpermute", "ds_nop"})
    if (name.starts_with(plain))
      return false;
  return true;
}

bool isTransfer(std::string_view name) {
  return name.starts_with("s_swappc") || name.starts_with("s_setpc") || name.starts_with("s_call") ||
         name.starts_with("s_set_gpr_idx") || contains(name, "movrel");
}

/// An instruction that no table knows may read and write all that its text names.
RegisterUse everythingOf(const Instruction &instruction, bool isMemory) {
  RegisterUse use;
  use.landsLater = isMemory;
  for (unsigned i = 0; i < instruction.operandCount; ++i) {
    const Operand &operand = instruction.operands[i];
    if (operand.isVector() || operand.kind == Operand::Kind::Scalar)
      for (bool isWritten : {false, true})
        use.spans[use.count++] = {operand.isVector(), isWritten, operand.index, operand.words};
  }
  return use;
}

bool overlap(const RegisterSpan &a, const RegisterSpan &b) {
  return a.isVector == b.isVector && a.first < b.first + b.words && b.first < a.first + a.words;
}

} // namespace

Operation operationOf(const Instruction &instruction) {
  std::string_view name = instruction.mnemonic;
  InstructionClass family = classOf(instruction);
  Operation operation;
  operation.kind = kindOf(instruction, family);
  operation.use =
      instruction.row ? registerUseOf(instruction) : everythingOf(instruction, operation.kind != Operation::Kind::None);
  bool isMemory = operation.kind != Operation::Kind::None && operation.kind != Operation::Kind::Scalar;
  operation.writesLds = instruction.modifiers.lds || contains(name, "_lds_");
  bool isLoad = contains(name, "_load_") || contains(name, "ds_read");
  bool isExchange = name.starts_with("ds_swizzle") || contains(name, "permute");
  bool isLoadToRegister = isLoad && !operation.writesLds && operation.kind != Operation::Kind::Lds;
  operation.isVisible = isMemory && !isExchange && !isLoadToRegister;
  operation.isBarrier = family == InstructionClass::Barrier;
  operation.isOrderPoint = name.starts_with("buffer_wbl2") || name.starts_with("buffer_inv") ||
                           name.starts_with("s_dcache_") || isTransfer(name) ||
                           (isMemory && (isAtomicName(name) || instruction.modifiers.sc1));
  return operation;
}

bool needs(const Instruction &instruction, const Operation &operation, const Operation &earlier) {
  if (operation.isBarrier)
    return earlier.isVisible;
  if (isTransfer(instruction.mnemonic))
    return true;
  if (operation.isOrderPoint && earlier.kind != Operation::Kind::Scalar)
    return true;
  if (earlier.writesLds && operation.kind == Operation::Kind::Lds)
    return true;
  if (!earlier.use.landsLater)
    return false;
  bool keepsOrder = operation.kind == earlier.kind &&
                    (operation.kind == Operation::Kind::Vector || operation.kind == Operation::Kind::Lds);
  for (const RegisterSpan &loaded : earlier.use)
    for (const RegisterSpan &used : operation.use)
      if (loaded.isWritten && overlap(loaded, used) && !(used.isWritten && operation.use.landsLater && keepsOrder))
        return true;
  return false;
}

//===-- Queues ---------------------------------------------------------------------------------------------------===//

void Outstanding::Queue::issue(uint32_t index) {
  byAge.insert(byAge.begin(), std::set{index});
  if (byAge.size() > capacity) { // no wait can tell the last two apart
    byAge[capacity - 1].merge(byAge[capacity]);
    byAge.pop_back();
  }
}

void Outstanding::Queue::truncate(unsigned count) {
  if (byAge.size() > count)
    byAge.resize(count);
}

bool Outstanding::Queue::join(const Queue &other) {
  bool grows = other.byAge.size() > byAge.size();
  if (grows)
    byAge.resize(other.byAge.size());
  for (size_t age = 0; age < other.byAge.size(); ++age)
    for (uint32_t index : other.byAge[age])
      grows |= byAge[age].insert(index).second;
  return grows;
}

std::vector<uint32_t> Outstanding::Queue::from(unsigned age) const {
  std::set<uint32_t> found;
  for (size_t at = age; at < byAge.size(); ++at)
    found.insert(byAge[at].begin(), byAge[at].end());
  return {found.begin(), found.end()};
}

unsigned Outstanding::Queue::youngestFrom(unsigned age, uint32_t index) const {
  for (size_t at = age; at < byAge.size(); ++at)
    if (byAge[at].contains(index))
      return unsigned(at);
  return capacity;
}

void Outstanding::note(SkipEffect effect) {
  if (effect != SkipEffect::None)
    maySkip = effect == SkipEffect::MaySet;
}

void Outstanding::issue(uint32_t index, const Operation &operation) {
  if (maySkip && operation.kind != Operation::Kind::Scalar) {
    Outstanding issued = *this;
    issued.maySkip = false;
    issued.issue(index, operation);
    join(issued);
    return;
  }
  if (operation.kind == Operation::Kind::Vector || operation.kind == Operation::Kind::Flat)
    vector.issue(index);
  if (operation.kind == Operation::Kind::Lds || operation.kind == Operation::Kind::Flat)
    local.issue(index);
  if (operation.kind == Operation::Kind::Scalar)
    scalar.insert(index);
}

void Outstanding::waitVector(unsigned count) {
  vector.truncate(count);
}

void Outstanding::waitLocal(unsigned count) {
  local.truncate(count);
  if (count == 0)
    scalar.clear();
}

bool Outstanding::join(const Outstanding &other) {
  bool grows = vector.join(other.vector) || (other.maySkip && !maySkip);
  maySkip |= other.maySkip;
  grows |= local.join(other.local);
  for (uint32_t index : other.scalar)
    grows |= scalar.insert(index).second;
  return grows;
}

} // namespace heddle::simulator
