// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decodes from the entry along all branches, then cuts what was found into blocks and finds the loops.
#include "simulator/analysis/MachineCode.h"
#include "simulator/decode/Decoder.h"
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace heddle::simulator {
namespace {

/// Where an instruction leads.
struct Successors {
  bool fallsThrough = true, isKnown = true;
  std::vector<uint64_t> targets = {};
};

Successors successorsOf(const Instruction &instruction) {
  const std::string &name = instruction.mnemonic;
  uint64_t behind = instruction.pc + instruction.sizeBytes;
  uint64_t target = behind + uint64_t(int64_t(int16_t(instruction.immediate)) * 4);
  if (name == "s_branch")
    return {.fallsThrough = false, .targets = {target}};
  if (name.starts_with("s_cbranch_") && !name.ends_with("_fork") && !name.ends_with("_join"))
    return {.targets = {target}};
  if (name == "s_call_b64") // it returns through a register
    return {.isKnown = false, .targets = {target}};
  if (name.starts_with("s_endpgm"))
    return {.fallsThrough = false};
  if (name == "s_setpc_b64" || name == "s_rfe_b64" || name.starts_with("s_cbranch_"))
    return {.fallsThrough = false, .isKnown = false};
  if (name == "s_swappc_b64")
    return {.isKnown = false};
  return {};
}

class Reader {
public:
  Reader(const std::string &chip, std::span<const uint8_t> bytes, uint64_t address)
      : decoder(chip), bytes(bytes), address(address) {}

  MachineCode read(uint64_t entry) {
    std::vector<uint64_t> open = {entry};
    leaders.insert(entry);
    while (!open.empty()) {
      uint64_t pc = open.back();
      open.pop_back();
      follow(pc, open);
    }
    makeBlocks(entry);
    return std::move(code);
  }

private:
  /// Decodes from `pc` until control goes elsewhere or where it has been.
  void follow(uint64_t pc, std::vector<uint64_t> &open) {
    while (!found.contains(pc)) {
      if (pc < address || pc - address + 4 > bytes.size() || pc % 4) {
        code.isComplete = false;
        return;
      }
      Instruction instruction = decoder.decode(bytes.subspan(pc - address), pc);
      if (instruction.mnemonic.empty()) { // no instruction
        code.isComplete = false;
        return;
      }
      uint64_t behind = pc + instruction.sizeBytes;
      Successors next = successorsOf(instruction);
      found.emplace(pc, std::move(instruction));
      code.isComplete &= next.isKnown;
      for (uint64_t target : next.targets) {
        leaders.insert(target);
        open.push_back(target);
      }
      if (!next.targets.empty() || !next.fallsThrough)
        leaders.insert(behind);
      if (!next.fallsThrough)
        return;
      pc = behind;
    }
  }

  void makeBlocks(uint64_t entry) {
    std::map<uint64_t, uint32_t> blockAt; // its first address
    uint64_t behind = UINT64_MAX;
    for (auto &[pc, instruction] : found) {
      if (pc != behind || leaders.contains(pc)) {
        blockAt[pc] = uint32_t(code.blocks.size());
        code.blocks.push_back({uint32_t(code.instructions.size()), 0, {}});
      }
      behind = pc + instruction.sizeBytes;
      code.instructions.push_back(instruction);
      code.blocks.back().end = uint32_t(code.instructions.size());
    }
    auto link = [&](CodeBlock &block, uint64_t pc) {
      if (auto place = blockAt.find(pc);
          place != blockAt.end() && std::find(block.next.begin(), block.next.end(), place->second) == block.next.end())
        block.next.push_back(place->second);
    };
    for (CodeBlock &block : code.blocks) {
      const Instruction &last = code.instructions[block.end - 1];
      Successors next = successorsOf(last);
      if (next.fallsThrough)
        link(block, last.pc + last.sizeBytes);
      for (uint64_t target : next.targets)
        link(block, target);
    }
    if (auto place = blockAt.find(entry); place != blockAt.end())
      code.entry = place->second;
    markLoops();
  }

  void markLoops() {
    for (uint32_t start = 0; start < code.blocks.size(); ++start) {
      std::vector<bool> seen(code.blocks.size());
      std::vector<uint32_t> open = code.blocks[start].next;
      while (!open.empty() && !code.blocks[start].isInLoop) {
        uint32_t block = open.back();
        open.pop_back();
        code.blocks[start].isInLoop = block == start;
        if (seen[block])
          continue;
        seen[block] = true;
        std::copy(code.blocks[block].next.begin(), code.blocks[block].next.end(), std::back_inserter(open));
      }
    }
  }

  Decoder decoder;
  std::span<const uint8_t> bytes;
  uint64_t address;
  std::map<uint64_t, Instruction> found;
  std::set<uint64_t> leaders;
  MachineCode code;
};

} // namespace

uint32_t MachineCode::blockOf(uint32_t instruction) const {
  auto behind = std::upper_bound(blocks.begin(), blocks.end(), instruction,
                                 [](uint32_t index, const CodeBlock &block) { return index < block.first; });
  return uint32_t(behind - blocks.begin()) - 1;
}

MachineCode readMachineCode(const std::string &chip, std::span<const uint8_t> bytes, uint64_t address, uint64_t entry) {
  return Reader(chip, bytes, address).read(entry);
}

const char *nameOf(InstructionClass kind) {
  constexpr const char *names[instructionClassCount] = {
      "vector", "matrix", "scalar", "vector memory", "LDS", "scalar memory", "scratch", "branch", "wait", "barrier"};
  return names[unsigned(kind)];
}

InstructionClass classOf(const Instruction &instruction) {
  std::string_view name = instruction.mnemonic;
  auto startsWithAny = [&](std::initializer_list<std::string_view> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return name.starts_with(prefix); });
  };
  if (startsWithAny({"v_mfma_", "v_smfmac_"}))
    return InstructionClass::Matrix;
  if (startsWithAny({"v_"}))
    return InstructionClass::Vector;
  if (startsWithAny({"global_", "buffer_", "tbuffer_", "flat_"}))
    return InstructionClass::VectorMemory;
  if (startsWithAny({"ds_"}))
    return InstructionClass::Lds;
  if (startsWithAny({"scratch_"}))
    return InstructionClass::Scratch;
  if (startsWithAny({"s_load_", "s_buffer_", "s_store_", "s_scratch_", "s_mem", "s_dcache_", "s_atc_", "s_atomic_"}))
    return InstructionClass::ScalarMemory;
  if (startsWithAny({"s_waitcnt"}))
    return InstructionClass::Wait;
  if (name == "s_barrier")
    return InstructionClass::Barrier;
  if (name == "s_branch" || startsWithAny({"s_cbranch_", "s_endpgm", "s_setpc_", "s_swappc_", "s_call_"}))
    return InstructionClass::Branch;
  return InstructionClass::Scalar;
}

} // namespace heddle::simulator
