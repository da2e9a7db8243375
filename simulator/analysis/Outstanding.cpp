// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each instruction is to the counters, and the operations in flight by age, as sets that are joined.
#include "simulator/analysis/Outstanding.h"
#include "simulator/analysis/MachineCode.h"
#include "simulator/instructions/WaitCounts.h"
#include <algorithm>
#include <iterator>

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
    if (name.starts_with("ds_gws_") || instruction.modifiers.gds) // not by LDS, and in no order with it
      return Operation::Kind::Flat;
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
  RegisterSet all;
  for (const RegisterSpan &span : use)
    all.add(span);
  use.all = RegisterMask(all);
  return use;
}

/// Their data registers are read, and results written, when the request completes.
bool isScalarStoreOrAtomic(std::string_view name) {
  return name.starts_with("s_store_") || name.starts_with("s_buffer_store_") || name.starts_with("s_scratch_store_") ||
         name.starts_with("s_atomic_") || name.starts_with("s_buffer_atomic_");
}

/// What these read and write stands in their text.
bool isPlain(std::string_view name) {
  return name == "v_nop" || name == "s_setvskip" || name == "s_nop";
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
  bool isRequest = operation.kind != Operation::Kind::None;
  operation.use = instruction.row && !isScalarStoreOrAtomic(name) ? registerUseOf(instruction)
                                                                  : everythingOf(instruction, isRequest);
  bool isMemory = isRequest && operation.kind != Operation::Kind::Scalar;
  operation.writesLds = instruction.modifiers.lds || contains(name, "_lds_");
  bool isLoad = contains(name, "_load_") || contains(name, "ds_read");
  bool isExchange = name.starts_with("ds_swizzle") || contains(name, "permute");
  bool isLoadToRegister = isLoad && !operation.writesLds && operation.kind != Operation::Kind::Lds;
  operation.isVisible = (isMemory && !isExchange && !isLoadToRegister) || isScalarStoreOrAtomic(name);
  operation.isBarrier = family == InstructionClass::Barrier;
  operation.isTransfer = isTransfer(name);
  operation.isUnknown = !instruction.row && !isRequest && !isPlain(name);
  operation.isEnd = name.starts_with("s_endpgm");
  operation.isVector = isMemory || name.starts_with("v_");
  operation.isOrderPoint = name.starts_with("buffer_wbl2") || name.starts_with("buffer_inv") ||
                           name.starts_with("s_dcache_") || name.starts_with("s_sendmsg") || operation.isTransfer ||
                           (isMemory && (isAtomicName(name) || instruction.modifiers.sc1));
  return operation;
}

/// In LDS: operations of LDS are in order with each other, and loads to LDS with each other, but not the ones with the
/// others.
static bool needsInLds(const Operation &operation, const Operation &earlier) {
  bool isLds = operation.kind == Operation::Kind::Lds || operation.kind == Operation::Kind::Flat;
  return (earlier.writesLds && isLds) ||
         (operation.writesLds && earlier.kind == Operation::Kind::Lds && earlier.isVisible);
}

bool needs(const Operation &operation, const Operation &earlier) {
  if (operation.isTransfer || operation.isUnknown)
    return true;
  if (operation.isBarrier)
    return earlier.isVisible;
  if (operation.isEnd) // which waits for the wave's operations, as it may for no other wave's
    return earlier.writesLds || (earlier.kind == Operation::Kind::Scalar && earlier.isVisible);
  if (operation.isOrderPoint && (earlier.kind != Operation::Kind::Scalar || earlier.isVisible))
    return true;
  if (needsInLds(operation, earlier))
    return true;
  if (!earlier.use.landsLater)
    return false;
  bool keepsOrder = operation.kind == earlier.kind && operation.isOrdered();
  for (const RegisterSpan &loaded : earlier.use)
    for (const RegisterSpan &used : operation.use)
      if (loaded.isWritten && overlap(loaded, used) && !(used.isWritten && operation.use.landsLater && keepsOrder))
        return true;
  return false;
}

//===-- Counters -------------------------------------------------------------------------------------------------===//

/// Into the sorted `all`; true when it grows.
static bool merge(std::vector<uint32_t> &all, const std::vector<uint32_t> &more) {
  if (std::includes(all.begin(), all.end(), more.begin(), more.end()))
    return false;
  std::vector<uint32_t> merged;
  merged.reserve(all.size() + more.size());
  std::set_union(all.begin(), all.end(), more.begin(), more.end(), std::back_inserter(merged));
  all = std::move(merged);
  return true;
}

void CounterState::issue(uint32_t index, bool isOrdered) {
  if (!isOrdered) {
    merge(loose, {index});
    return;
  }
  byAge.insert(byAge.begin(), {index});
  if (byAge.size() > capacity) { // no wait can tell the last two apart
    merge(byAge[capacity - 1], byAge[capacity]);
    byAge.pop_back();
  }
}

void CounterState::wait(unsigned count) {
  if (byAge.size() > count)
    byAge.resize(count);
  if (count == 0)
    loose.clear();
}

bool CounterState::join(const CounterState &other) {
  bool grows = merge(loose, other.loose);
  if (other.byAge.size() > byAge.size()) {
    byAge.resize(other.byAge.size());
    grows = true;
  }
  for (size_t age = 0; age < other.byAge.size(); ++age)
    grows |= merge(byAge[age], other.byAge[age]);
  return grows;
}

std::vector<uint32_t> CounterState::from(unsigned count) const {
  std::vector<uint32_t> found;
  if (count == 0)
    found = loose;
  for (size_t age = count; age < byAge.size(); ++age)
    merge(found, byAge[age]);
  return found;
}

unsigned CounterState::countFor(unsigned count, uint32_t index) const {
  if (std::binary_search(loose.begin(), loose.end(), index))
    return 0;
  for (size_t age = count; age < byAge.size(); ++age)
    if (std::binary_search(byAge[age].begin(), byAge[age].end(), index))
      return unsigned(age);
  return capacity;
}

void Outstanding::issue(uint32_t index, const Operation &operation, bool mayBeSkipped) {
  auto issueIn = [&](CounterState &state) {
    if (!mayBeSkipped)
      return state.issue(index, operation.isOrdered());
    CounterState without = state;
    state.issue(index, operation.isOrdered());
    state.join(without);
  };
  if (operation.countsInVector())
    issueIn(vector);
  if (operation.countsInLocal())
    issueIn(local);
}

void Outstanding::wait(uint16_t immediate) {
  WaitCounts counts = WaitCounts::of(immediate);
  if (counts.waitsVector())
    vector.wait(counts.vector);
  if (counts.waitsLocal())
    local.wait(counts.local);
}

bool Outstanding::join(const Outstanding &other) {
  bool grows = vector.join(other.vector);
  return local.join(other.local) || grows;
}

} // namespace heddle::simulator
