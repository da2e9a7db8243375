// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data flow over machine code, along all paths until nothing grows; where it cannot follow, it says nothing.
#include "simulator/mutations/WaitFlow.h"
#include "simulator/instructions/HardwareRegisters.h"
#include "simulator/mutations/Sequence.h"
#include <algorithm>
#include <set>

namespace heddle::simulator {
namespace {

bool countsInVector(const Instruction &instruction) {
  return startsWithAny(instruction.mnemonic, {"global_", "flat_", "scratch_", "buffer_"});
}
bool countsInLocal(const Instruction &instruction) {
  return startsWithAny(instruction.mnemonic, {"ds_", "flat_"});
}
/// Scalar memory, messages and clocks. What of these counts twice, and what not at all, makes no difference here.
bool countsAsScalar(const Instruction &instruction) {
  return startsWithAny(instruction.mnemonic, {"s_load_", "s_buffer_", "s_mem", "s_dcache_", "s_store_", "s_scratch_",
                                              "s_atomic_", "s_atc_", "s_sendmsg"});
}
bool isRequest(const Instruction &instruction) {
  return countsInVector(instruction) || countsInLocal(instruction) || countsAsScalar(instruction);
}

/// After which others may go on, or be told to, and change what an operation before it still reads. A wave that ends
/// holds no barrier back any more.
bool letsOthersGoOn(const Instruction &instruction) {
  return isRequest(instruction) || instruction.mnemonic == "s_barrier" || instruction.mnemonic == "s_endpgm";
}

/// Where it cannot be said what comes next, or which registers an instruction means.
bool isOpaque(const Instruction &instruction) {
  return !Decoder::isKnown(instruction) || skipEffectOf(instruction) == SkipEffect::MaySet ||
         startsWithAny(instruction.mnemonic, {"s_setpc", "s_swappc", "s_call", "s_rfe", "s_trap", "s_set_gpr_idx",
                                              "s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join"});
}

template <size_t size>
void mark(std::bitset<size> &set, const RegisterSpan &span) {
  for (unsigned index = span.first; index < span.first + unsigned(span.words) && index < size; ++index)
    set.set(index);
}
template <size_t size>
bool touches(const std::bitset<size> &set, const RegisterSpan &span) {
  for (unsigned index = span.first; index < span.first + unsigned(span.words) && index < size; ++index)
    if (set.test(index))
      return true;
  return false;
}

} // namespace

void WaitFlow::Pending::join(const Pending &other) {
  vector = std::max(vector, other.vector);
  local = std::max(local, other.local);
  vectorRows |= other.vectorRows;
  localRows |= other.localRows;
  scalars |= other.scalars;
}

bool WaitFlow::Pending::mayBring(const RegisterUse &use) const {
  return std::any_of(use.begin(), use.end(), [&](const RegisterSpan &span) {
    return span.isVector ? touches(vectorRows, span) || touches(localRows, span) : touches(scalars, span);
  });
}

WaitFlow::WaitFlow(const std::string &chip, std::span<const uint8_t> code, uint64_t address,
                   const std::vector<uint64_t> &entries) {
  Decoder decoder(chip);
  for (uint64_t entry : entries)
    read(decoder, code, address, entry);
  if (isKnown)
    follow(entries);
}

/// All that a wave can come to from `pc` on.
void WaitFlow::read(Decoder &decoder, std::span<const uint8_t> code, uint64_t address, uint64_t first) {
  std::vector<uint64_t> left = {first};
  while (!left.empty() && isKnown) {
    uint64_t pc = left.back();
    left.pop_back();
    if (places.contains(pc))
      continue;
    if (pc < address || pc - address >= code.size() || code.size() - (pc - address) < 4) {
      isKnown = false;
      return;
    }
    Place &place = places[pc];
    place.instruction = decoder.decode(code.subspan(pc - address), pc);
    const Instruction &instruction = place.instruction;
    isKnown = !isOpaque(instruction);
    place.use = registerUseOf(instruction);
    const std::string &name = instruction.mnemonic;
    uint64_t behind = pc + instruction.sizeBytes;
    if (name == "s_branch" || name.starts_with("s_cbranch_"))
      place.next.push_back(behind + uint64_t(int64_t(int16_t(instruction.immediate)) * 4));
    if (name != "s_branch" && name != "s_endpgm")
      place.next.push_back(behind);
    left.insert(left.end(), place.next.begin(), place.next.end());
  }
}

void WaitFlow::step(const Place &place, Pending &pending) {
  const Instruction &instruction = place.instruction;
  if (instruction.mnemonic == "s_waitcnt") {
    WaitCounts counts = WaitCounts::of(instruction.immediate);
    pending.vector = std::min(pending.vector, counts.vector);
    pending.local = std::min(pending.local, counts.local);
    if (counts.vector == 0)
      pending.vectorRows.reset();
    if (counts.local == 0)
      pending.localRows.reset(), pending.scalars.reset();
    return;
  }
  bool inVector = countsInVector(instruction), inLocal = countsInLocal(instruction),
       asScalar = countsAsScalar(instruction);
  pending.vector = std::min(pending.vector + inVector, WaitCounts::anyVector);
  pending.local = std::min(pending.local + inLocal + 2 * asScalar, WaitCounts::anyLocal);
  for (const RegisterSpan &span : place.use) {
    if (!span.isWritten)
      continue;
    if (span.isVector && inVector)
      mark(pending.vectorRows, span);
    if (span.isVector && inLocal)
      mark(pending.localRows, span);
    if (!span.isVector && asScalar)
      mark(pending.scalars, span);
  }
}

/// Until nothing new may be in flight anywhere.
void WaitFlow::follow(const std::vector<uint64_t> &entries) {
  std::set<uint64_t> left(entries.begin(), entries.end()), reached = left;
  while (!left.empty()) {
    uint64_t pc = *left.begin();
    left.erase(left.begin());
    const Place &place = places.at(pc);
    Pending after = place.before;
    step(place, after);
    for (uint64_t next : place.next) {
      Pending joined = places.at(next).before;
      joined.join(after);
      if (reached.insert(next).second || !(joined == places.at(next).before)) {
        places.at(next).before = joined;
        left.insert(next);
      }
    }
  }
}

/// Whether on every way from the wait on, before any operation, barrier or end, and before any register is touched that
/// may be in flight, there is a wait that demands as much.
bool WaitFlow::isDemandedAgain(uint64_t pc, WaitCounts now, WaitCounts weaker) const {
  struct Want {
    uint64_t pc;
    bool vector, local; ///< still to be demanded
    auto operator<=>(const Want &) const = default;
  };
  const Place &wait = places.at(pc);
  std::vector<Want> left = {{wait.next.front(), weaker.vector > now.vector, weaker.local > now.local}};
  std::set<Want> seen;
  while (!left.empty()) {
    Want want = left.back();
    left.pop_back();
    if (!seen.insert(want).second)
      continue;
    const Place &place = places.at(want.pc);
    const Instruction &instruction = place.instruction;
    if (instruction.mnemonic == "s_waitcnt") {
      WaitCounts counts = WaitCounts::of(instruction.immediate);
      want.vector &= counts.vector > now.vector;
      want.local &= counts.local > now.local;
      if (!want.vector && !want.local)
        continue;
    } else if (letsOthersGoOn(instruction) || wait.before.mayBring(place.use))
      return false;
    for (uint64_t next : place.next)
      left.push_back({next, want.vector, want.local});
  }
  return true;
}

bool WaitFlow::maySwapLoads(uint64_t pc) const {
  struct State {
    uint64_t pc;
    unsigned newer; ///< operations after both, in their counter
    bool isSplit;   ///< a wait has let go of the first one alone: in the other order, that one is in flight still
    auto operator<=>(const State &) const = default;
  };
  auto found = places.find(pc);
  if (!isKnown || found == places.end() || found->second.next.size() != 1)
    return false;
  const Place &first = found->second, &second = places.at(first.next.front());
  bool isLocal = countsInLocal(first.instruction);
  unsigned most = isLocal ? WaitCounts::anyLocal : WaitCounts::anyVector;
  RegisterSet brought;
  for (const RegisterSpan &span : first.use)
    if (span.isWritten)
      brought.add(span);
  std::vector<State> left;
  for (uint64_t next : second.next)
    left.push_back({next, 0, false});
  std::set<State> seen;
  while (!left.empty()) {
    State state = left.back();
    left.pop_back();
    if (!seen.insert(state).second)
      continue;
    const Place &place = places.at(state.pc);
    const Instruction &instruction = place.instruction;
    if (instruction.mnemonic == "s_waitcnt") {
      WaitCounts counts = WaitCounts::of(instruction.immediate);
      unsigned count = isLocal ? counts.local : counts.vector;
      if (count <= state.newer)
        continue;
      state.isSplit |= count == state.newer + 1;
    } else {
      // LDS has executed both before it executes what a wave gives it later.
      bool isBehindBoth = first.instruction.mnemonic.starts_with("ds_") && instruction.mnemonic.starts_with("ds_");
      if (state.isSplit && (loadsToLds(first.instruction) || (letsOthersGoOn(instruction) && !isBehindBoth) ||
                            place.use.all.meets(brought)))
        return false;
      state.newer += isLocal ? countsInLocal(instruction) : countsInVector(instruction);
      if (state.newer + 2 >= most) { // a full counter lets go as well
        if (!first.instruction.mnemonic.starts_with("ds_"))
          return false;
        state.isSplit = true;
        if (state.newer > most)
          continue;
      }
    }
    for (uint64_t next : place.next)
      left.push_back({next, state.newer, state.isSplit});
  }
  return true;
}

WaitReason WaitFlow::reasonToWeaken(uint64_t pc, WaitCounts now, WaitCounts weaker) const {
  auto found = places.find(pc);
  if (!isKnown || found == places.end() || found->second.instruction.mnemonic != "s_waitcnt")
    return WaitReason::None;
  const Pending &before = found->second.before;
  bool isVectorIdle = weaker.vector <= now.vector || before.vector <= now.vector,
       isLocalIdle = weaker.local <= now.local || before.local <= now.local;
  if (isVectorIdle && isLocalIdle)
    return WaitReason::NothingUnderWay;
  return isDemandedAgain(pc, now, weaker) ? WaitReason::DemandedAgain : WaitReason::None;
}

} // namespace heddle::simulator
