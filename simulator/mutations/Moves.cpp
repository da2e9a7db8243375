// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions that are swapped. Waits and cache operations have no operands, so that no register minds where they
// stand; of two loads it is asked.
#include "simulator/checks/RegisterUse.h"
#include "simulator/instructions/WaitCounts.h"
#include "simulator/mutations/Mutations.h"
#include "simulator/mutations/Sequence.h"
#include <algorithm>
#include <cstdlib>
#include <optional>

namespace heddle::simulator {
namespace {

bool isMemoryInstruction(const Instruction &instruction) {
  return startsWithAny(instruction.mnemonic, {"global_", "flat_", "buffer_", "ds_"});
}
bool isStore(const Instruction &instruction) {
  return startsWithAny(instruction.mnemonic, {"global_store", "flat_store", "buffer_store"});
}

bool isWait(const Instruction &instruction) {
  return instruction.mnemonic == "s_waitcnt" && !WaitCounts::of(instruction.immediate).demandsNothing();
}
bool isAfterWait(const Instruction &instruction) {
  return instruction.mnemonic == "s_barrier" || isMemoryInstruction(instruction);
}
/// One that stays in L2.
bool isPlainStore(const Instruction &instruction) {
  return isStore(instruction) && scopeOf(instruction.modifiers, RequestKind::Store) < Scope::Agent;
}
bool isWriteBack(const Instruction &instruction) {
  return instruction.mnemonic == "buffer_wbl2";
}
bool isInvalidation(const Instruction &instruction) {
  return instruction.mnemonic == "buffer_inv";
}
bool isLoad(const Instruction &instruction) {
  return startsWithAny(instruction.mnemonic, {"global_load", "flat_load", "buffer_load"});
}

/// One that a count in `s_waitcnt` lets go in its turn, and that no other wave is to see in an order.
bool isPlainLoad(const Instruction &instruction) {
  bool isVector = startsWithAny(instruction.mnemonic, {"global_load", "buffer_load", "scratch_load"}),
       isLds = startsWithAny(instruction.mnemonic, {"ds_read"});
  return isLds || (isVector && scopeOf(instruction.modifiers, RequestKind::Load) == Scope::Wave);
}

/// Whether two loads of one counter need nothing of each other.
bool areIndependentLoads(const Instruction &first, const Instruction &last) {
  constexpr int64_t mostLdsBytes = 64 * 16; ///< of all lanes
  bool areLds = first.mnemonic.starts_with("ds_"), bothToLds = loadsToLds(first) && loadsToLds(last);
  if (areLds != last.mnemonic.starts_with("ds_") ||
      (bothToLds && std::abs(int64_t(first.modifiers.offset) - int64_t(last.modifiers.offset)) < mostLdsBytes))
    return false;
  RegisterSet firstWritten, lastWritten;
  RegisterUse ofFirst = registerUseOf(first), ofLast = registerUseOf(last);
  for (const RegisterSpan &span : ofFirst)
    if (span.isWritten)
      firstWritten.add(span);
  for (const RegisterSpan &span : ofLast)
    if (span.isWritten)
      lastWritten.add(span);
  return !ofLast.all.meets(firstWritten) && !ofFirst.all.meets(lastWritten);
}

/// The last instruction goes before the first, or the first after the last; those between them stay in their order.
struct MoveRule {
  MutationKind kind;
  bool (*begins)(const Instruction &instruction);
  bool (*ends)(const Instruction &instruction);
  bool lastGoesFirst;
  unsigned most;                                                             ///< instructions
  bool (*fits)(const Instruction &first, const Instruction &last) = nullptr; ///< null: any two do
};
constexpr MoveRule rules[] = {
    {MutationKind::WaitLate, isWait, isAfterWait, false, 2},
    {MutationKind::WriteBackEarly, isPlainStore, isWriteBack, true, 24},
    {MutationKind::InvalidateLate, isInvalidation, isLoad, false, 24},
    {MutationKind::LoadsSwapped, isPlainLoad, isPlainLoad, false, 2, areIndependentLoads},
};

/// What may stand between the two: no barrier, store or cache operation, which would be what counts, and nothing that
/// tells where it stands.
bool mayStandBetween(const Instruction &instruction) {
  return instruction.row && !jumps(instruction) && !isStore(instruction) && !isWriteBack(instruction) &&
         !isInvalidation(instruction) && !startsWithAny(instruction.mnemonic, {"s_endpgm", "s_getpc", "s_barrier"});
}

} // namespace

void MutationMaker::addMoves(std::span<const uint8_t> code, std::vector<Mutation> &mutations) {
  const Instruction first = decoder.decode(code, 0);
  auto rule =
      std::find_if(std::begin(rules), std::end(rules), [&](const MoveRule &each) { return each.begins(first); });
  if (rule == std::end(rules))
    return;
  std::vector<std::string> pieces;
  Instruction next = first;
  for (size_t size = 0; pieces.size() < rule->most && size + next.sizeBytes <= code.size();) {
    pieces.emplace_back(reinterpret_cast<const char *>(code.data()) + size, next.sizeBytes);
    size += next.sizeBytes;
    if (pieces.size() > 1 && rule->ends(next) && (!rule->fits || rule->fits(first, next))) {
      Mutation mutation{rule->kind, "", first.text + "; " + next.text, next.text + "; " + first.text, {}, {}};
      std::rotate(pieces.begin(), rule->lastGoesFirst ? pieces.end() - 1 : pieces.begin() + 1, pieces.end());
      for (const std::string &piece : pieces)
        mutation.bytes += piece;
      mutation.demanded = WaitCounts::of(first.immediate);
      mutations.push_back(std::move(mutation));
      return;
    }
    if ((pieces.size() > 1 && !mayStandBetween(next)) || code.size() < size + 4)
      return;
    next = decoder.decode(code.subspan(size), 0);
  }
}

} // namespace heddle::simulator
