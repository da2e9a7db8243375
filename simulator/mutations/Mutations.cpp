// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kinds of changes, and the bytes of each for the encodings of the instructions that they fit.
#include "simulator/mutations/Mutations.h"
#include "simulator/instructions/InstructionTable.h"
#include "simulator/instructions/WaitCounts.h"
#include "simulator/mutations/Sequence.h"
#include "support/Error.h"
#include <cstring>
#include <fmt/format.h>
#include <set>

namespace heddle::simulator {
namespace {

constexpr MutationKindInfo kinds[mutationKindCount] = {
    {MutationKind::WaitRemoved, "wait-removed", "`s_waitcnt` becomes `s_nop`"},
    {MutationKind::VectorCountWeakened, "vmcnt-weakened", "`vmcnt(n)` becomes `vmcnt(n + 1)`"},
    {MutationKind::LocalCountWeakened, "lgkmcnt-weakened", "`lgkmcnt(n)` becomes `lgkmcnt(n + 1)`"},
    {MutationKind::WaitFieldDropped, "wait-field-dropped", "a wait for both counters forgets one"},
    {MutationKind::BarrierRemoved, "barrier-removed", "`s_barrier` becomes `s_nop`"},
    {MutationKind::WriteBackRemoved, "write-back-removed", "`buffer_wbl2` or `s_dcache_wb` becomes `s_nop`"},
    {MutationKind::InvalidateRemoved, "invalidate-removed", "`buffer_inv` becomes `s_nop`"},
    {MutationKind::ScopeNarrowed, "scope-narrowed",
     "a load, store, `buffer_wbl2` or `buffer_inv` of the system's or the device's scope gets a narrower one, a scalar "
     "load or store loses `glc`"},
    {MutationKind::MaskRemoved, "mask-removed",
     "`s_and_saveexec_b64 d, m` becomes `s_mov_b64 d, exec`, and `s_and_b64 exec, exec, m` becomes `s_nop`"},
    {MutationKind::LdsBaseMoved, "m0-moved", "what is written to M0 is another place"},
    {MutationKind::OffsetMoved, "offset-moved", "the offset of a memory instruction is 16 bytes further"},
    {MutationKind::WaitLate, "wait-late", "`s_waitcnt` stands after the barrier or memory instruction that follows it"},
    {MutationKind::WriteBackEarly, "write-back-early",
     "`buffer_wbl2` stands before the last store that it writes back"},
    {MutationKind::InvalidateLate, "invalidate-late", "`buffer_inv` stands after the first load that follows it"},
    {MutationKind::LoadsSwapped, "loads-swapped",
     "two plain loads that follow each other, and do not need each other, are swapped"},
    {MutationKind::PageCached, "page-cached", "a buffer given as `uncached:` or `fine:` lies in normal pages"},
};

// ---- Encodings: fields of the first dword ----

constexpr uint32_t noOperation = 0xbf800000, waitOperation = 0xbf8c0000;
constexpr uint32_t sourceExec = 126, sourceLiteral = 255, inlineZero = 128, inlineSixtyFour = 192;

struct Field {
  unsigned first, bits;
  uint64_t get(uint64_t word) const { return word >> first & ((uint64_t(1) << bits) - 1); }
  uint64_t set(uint64_t word, uint64_t value) const {
    uint64_t mask = ((uint64_t(1) << bits) - 1) << first;
    return (word & ~mask) | (value << first & mask);
  }
};

enum class Format : uint8_t { Other, Flat, Buffer, Lds, ScalarMemory };

Format formatOf(const Instruction &instruction) {
  switch (instruction.encoding >> 26 & 63) {
  case 0b110111:
    return Format::Flat;
  case 0b111000:
    return Format::Buffer;
  case 0b110110:
    return Format::Lds;
  case 0b110000:
    return Format::ScalarMemory;
  default:
    return Format::Other;
  }
}

std::string bytesOf(uint64_t word, uint32_t sizeBytes) {
  std::string bytes(sizeBytes, '\0');
  std::memcpy(bytes.data(), &word, std::min<size_t>(sizeBytes, sizeof word));
  return bytes;
}

/// One dword where there was an instruction of `sizeBytes`, and nothing after it.
std::string paddedBytes(uint32_t dword, uint32_t sizeBytes) {
  std::string bytes = bytesOf(dword, 4);
  while (bytes.size() < sizeBytes)
    bytes += bytesOf(noOperation, 4);
  return bytes;
}

} // namespace

std::span<const MutationKindInfo, mutationKindCount> allMutationKinds() {
  return kinds;
}

/// What is to stand there, and what it is to be printed as.
struct MutationMaker::Patch {
  MutationKind kind;
  std::string bytes, mnemonic;
};

void MutationMaker::addWaits(const Instruction &instruction, std::vector<Patch> &patches) const {
  const WaitCounts now = WaitCounts::of(instruction.immediate);
  if (!now.waitsVector() && !now.waitsLocal())
    return;
  auto add = [&](MutationKind kind, unsigned vector, unsigned local) {
    uint16_t changed = WaitCounts{vector, local}.into(instruction.immediate);
    patches.push_back({kind, bytesOf(waitOperation | changed, 4), "s_waitcnt"});
  };
  patches.push_back({MutationKind::WaitRemoved, bytesOf(noOperation, 4), "s_nop"});
  // One more than the largest count is no wait: that mutant is there already.
  if (now.waitsVector() && (now.vector + 1 < WaitCounts::anyVector || now.waitsLocal()))
    add(MutationKind::VectorCountWeakened, now.vector + 1, now.local);
  if (now.waitsLocal() && (now.local + 1 < WaitCounts::anyLocal || now.waitsVector()))
    add(MutationKind::LocalCountWeakened, now.vector, now.local + 1);
  if (now.waitsVector() && now.waitsLocal()) {
    add(MutationKind::WaitFieldDropped, WaitCounts::anyVector, now.local);
    add(MutationKind::WaitFieldDropped, now.vector, WaitCounts::anyLocal);
  }
}

/// To every narrower scope but that of the workgroup, whose waves share a cache.
void MutationMaker::addScopes(const Instruction &instruction, std::vector<Patch> &patches) const {
  Format format = formatOf(instruction);
  const std::string &name = instruction.mnemonic;
  const Field coherent{16, 1};
  if (startsWithAny(name, {"s_load_", "s_buffer_load_", "s_store_", "s_buffer_store_"}) && instruction.modifiers.sc0)
    patches.push_back(
        {MutationKind::ScopeNarrowed, bytesOf(coherent.set(instruction.encoding, 0), instruction.sizeBytes), name});
  if (!startsWithAny(name, {"global_load", "global_store", "flat_load", "flat_store", "buffer_load", "buffer_store",
                            "buffer_wbl2", "buffer_inv"}))
    return;
  const Field narrow{format == Format::Flat ? 16u : 14u, 1}, wide{format == Format::Flat ? 25u : 15u, 1};
  bool sc0 = narrow.get(instruction.encoding), sc1 = wide.get(instruction.encoding);
  if (!sc1)
    return;
  auto add = [&](bool keepsDevice) {
    uint64_t word = wide.set(narrow.set(instruction.encoding, 0), keepsDevice);
    patches.push_back({MutationKind::ScopeNarrowed, bytesOf(word, instruction.sizeBytes), name});
  };
  if (sc0)
    add(true);
  add(false);
}

/// Whether nothing reads SCC before it is written again, whatever way is taken from `first` on. What cannot be seen
/// counts as reading: what lies outside the code or after jumps to computed addresses, and what is too far.
bool MutationMaker::isSccDead(std::span<const uint8_t> code, size_t first) {
  constexpr size_t most = 1024; // instructions
  std::vector<size_t> left = {first};
  std::set<size_t> seen;
  while (!left.empty()) {
    size_t at = left.back();
    left.pop_back();
    if (!seen.insert(at).second)
      continue;
    if (at > code.size() || code.size() - at < 4 || seen.size() > most)
      return false;
    Instruction instruction = decoder.decode(code.subspan(at), 0);
    const std::string &name = instruction.mnemonic;
    if (name == "s_endpgm")
      continue;
    bool isBranch = name == "s_branch" || name.starts_with("s_cbranch_");
    if (!instruction.row || instruction.row->implicit & readsScc || (jumps(instruction) && !isBranch))
      return false;
    if (instruction.row->implicit & writesScc)
      continue;
    size_t behind = at + instruction.sizeBytes;
    if (isBranch)
      left.push_back(behind + size_t(int64_t(int16_t(instruction.immediate)) * 4));
    if (name != "s_branch")
      left.push_back(behind);
  }
  return true;
}

void MutationMaker::addMasks(const Instruction &instruction, bool isSccFree, std::vector<Patch> &patches) const {
  const std::string &name = instruction.mnemonic;
  auto isExec = [&](unsigned operand) {
    return operand < instruction.operandCount && instruction.operands[operand].kind == Operand::Kind::Scalar &&
           instruction.operands[operand].index == execRegister;
  };
  bool isSave = name == "s_and_saveexec_b64", isChange = name == "s_and_b64" && isExec(0) && (isExec(1) || isExec(2));
  if ((!isSave && !isChange) || !isSccFree)
    return;
  constexpr uint32_t move64 = 0xbe800100, destinationMask = 0x7f << 16;
  uint32_t move = move64 | (uint32_t(instruction.encoding) & destinationMask) | sourceExec;
  patches.push_back({MutationKind::MaskRemoved, paddedBytes(isSave ? move : noOperation, instruction.sizeBytes),
                     isSave ? "s_mov_b64" : "s_nop"});
}

void MutationMaker::addLdsBase(const Instruction &instruction, bool isSccFree, std::vector<Patch> &patches) const {
  constexpr uint32_t slotBytes = 256; // of a wave's dwords
  if (instruction.operandCount == 0 || instruction.operands[0].kind != Operand::Kind::Scalar ||
      instruction.operands[0].index != m0Register || !instruction.row || instruction.row->destinations == 0)
    return;
  const std::string &name = instruction.mnemonic;
  bool isMove = name == "s_mov_b32", isSum = name == "s_add_i32" || name == "s_add_u32";
  uint64_t word = instruction.encoding;
  const Field source0{0, 8}, source1{8, 8}, literal{32, 32}, immediate{0, 16};
  bool hasLiteral = source0.get(word) == sourceLiteral || (isSum && source1.get(word) == sourceLiteral);
  auto add = [&](uint64_t changed, const std::string &mnemonic) {
    patches.push_back({MutationKind::LdsBaseMoved, bytesOf(changed, instruction.sizeBytes), mnemonic});
  };
  if ((isMove || isSum) && hasLiteral)
    add(literal.set(word, literal.get(word) + slotBytes), name);
  else if (isSum && source1.get(word) >= inlineZero && source1.get(word) <= inlineSixtyFour)
    add(source1.set(word, source1.get(word) == inlineSixtyFour ? inlineSixtyFour / 2 + 64 : inlineSixtyFour), name);
  else if (name == "s_movk_i32")
    add(immediate.set(word, immediate.get(word) + slotBytes), name);
  else if (isMove && isSccFree) // s_add_u32 m0, x, 64 writes SCC too
    add(uint32_t(1) << 31 | uint32_t(m0Register) << 16 | inlineSixtyFour << 8 | source0.get(word), "s_add_u32");
}

void MutationMaker::addOffsets(const Instruction &instruction, std::vector<Patch> &patches) const {
  const std::string &name = instruction.mnemonic;
  constexpr int64_t step = 16;
  uint64_t word = instruction.encoding;
  auto move = [&](Field field, int64_t by, bool isSigned) {
    int64_t limit = int64_t(1) << (isSigned ? field.bits - 1 : field.bits), value = int64_t(field.get(word));
    if (isSigned && value >= limit)
      value -= 2 * limit;
    value = value + by < limit ? value + by : value - by;
    patches.push_back(
        {MutationKind::OffsetMoved, bytesOf(field.set(word, uint64_t(value)), instruction.sizeBytes), name});
  };
  switch (formatOf(instruction)) {
  case Format::Flat:
    return move({0, 13}, step, true);
  case Format::Buffer:
    if (!startsWithAny(name, {"buffer_wbl2", "buffer_inv"}))
      move({0, 12}, step, false);
    return;
  case Format::Lds:
    if (startsWithAny(name, {"ds_swizzle", "ds_nop", "ds_consume", "ds_append"}))
      return;
    if (name.find("2_b") != std::string::npos || name.find("2st64_") != std::string::npos)
      return move({0, 8}, name.find("st64") != std::string::npos ? 1 : name.ends_with("64") ? 2 : 4, false);
    return move({0, 16}, step, false);
  case Format::ScalarMemory:
    if (startsWithAny(name, {"s_load_", "s_buffer_", "s_store_", "s_atomic_"}))
      move({32, 21}, step, true);
    return;
  case Format::Other:
    return;
  }
}

std::vector<Mutation> MutationMaker::of(std::span<const uint8_t> all, size_t at, uint32_t &sizeBytes) {
  std::span<const uint8_t> code = all.subspan(at);
  Instruction instruction = decoder.decode(code, 0);
  sizeBytes = std::min<uint32_t>(instruction.sizeBytes, uint32_t(code.size()));
  const std::string &name = instruction.mnemonic;
  std::vector<Patch> patches;
  auto remove = [&](MutationKind kind) { patches.push_back({kind, paddedBytes(noOperation, sizeBytes), "s_nop"}); };
  if (name == "s_waitcnt")
    addWaits(instruction, patches);
  else if (name == "s_barrier")
    remove(MutationKind::BarrierRemoved);
  else if (name == "buffer_wbl2" || name == "s_dcache_wb")
    remove(MutationKind::WriteBackRemoved);
  else if (name == "buffer_inv")
    remove(MutationKind::InvalidateRemoved);
  if (sizeBytes == 4 || sizeBytes == 8) {
    bool mayWriteScc = name == "s_and_saveexec_b64" || name == "s_and_b64" || name == "s_mov_b32";
    bool isSccFree = mayWriteScc && isSccDead(all, at + sizeBytes);
    addMasks(instruction, isSccFree, patches);
    addScopes(instruction, patches);
    addLdsBase(instruction, isSccFree, patches);
    addOffsets(instruction, patches);
  }
  std::vector<Mutation> mutations;
  for (const Patch &patch : patches) {
    std::span bytes(reinterpret_cast<const uint8_t *>(patch.bytes.data()), patch.bytes.size());
    Instruction changed = decoder.decode(bytes, 0);
    if (changed.mnemonic != patch.mnemonic || changed.text == instruction.text)
      throw internalError(fmt::format("`{}` was to become `{}` ({}), and became `{}`", instruction.text, patch.mnemonic,
                                      infoOf(patch.kind).name, changed.text));
    Mutation mutation{patch.kind, patch.bytes, instruction.text, changed.text, {}, {}};
    if (name == "s_waitcnt") {
      mutation.demanded = WaitCounts::of(instruction.immediate);
      if (changed.mnemonic == name)
        mutation.left = WaitCounts::of(changed.immediate);
    }
    mutation.scope = scopeOf(instruction.modifiers, RequestKind::Load);
    mutation.narrowed = scopeOf(changed.modifiers, RequestKind::Load);
    mutations.push_back(std::move(mutation));
  }
  addMoves(code, mutations);
  return mutations;
}

} // namespace heddle::simulator
