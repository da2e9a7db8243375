// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Most values are born and die inside one straight piece of code. They share registers, which keeps a warp's registers
// in the cache. An operation's results never take a register of its own operands.
#include "tests/thread_interpreter/decode/Decoder.h"
#include <algorithm>

using namespace heddle::threads;

static constexpr uint32_t none = ~0u;

/// The piece of each operation: pieces begin at targets of jumps and after jumps.
static std::vector<uint32_t> findPieces(const Program &program, const std::vector<PendingOp> &pending,
                                        std::span<const Handler> jumps) {
  auto [jump, branch, choose] = std::tuple(jumps[0], jumps[1], jumps[2]);
  std::vector<char> begins(pending.size() + 1);
  for (size_t i = 0; i < pending.size(); ++i) {
    const Op &op = pending[i].op;
    if (std::find(jumps.begin(), jumps.end(), op.run) == jumps.end())
      continue;
    begins[i + 1] = true;
    if (op.run == jump || op.run == branch)
      begins[op.immediate] = true;
    if (op.run == branch)
      begins[op.second] = true;
    if (op.run == choose) {
      const SwitchTable &table = program.switches[op.immediate];
      begins[table.otherwise] = true;
      for (const auto &entry : table.cases)
        begins[entry.second] = true;
    }
  }
  std::vector<uint32_t> pieces(pending.size());
  uint32_t piece = 0;
  for (size_t i = 0; i < pending.size(); ++i)
    pieces[i] = piece += begins[i];
  return pieces;
}

namespace {
struct Life {
  uint32_t piece = none;
  uint32_t last = 0;   ///< the last operation that names the register
  bool shared = false; ///< may share: one piece, written before it is read
};
} // namespace

static std::vector<Life> findLives(const Program &program, const std::vector<PendingOp> &pending,
                                   const std::vector<uint32_t> &pieces) {
  std::vector<Life> lives(program.registers);
  for (uint32_t i = 0; i < pending.size(); ++i) {
    for (uint32_t slot : pending[i].in) {
      lives[slot].shared &= lives[slot].piece == pieces[i];
      lives[slot].piece = pieces[i];
      lives[slot].last = i;
    }
    for (uint32_t slot : pending[i].out) {
      lives[slot].shared = lives[slot].piece == none;
      lives[slot].piece = pieces[i];
      lives[slot].last = i;
    }
  }
  return lives;
}

void heddle::threads::shareRegisters(Program &program, std::vector<PendingOp> &pending,
                                     std::span<const Handler> jumps) {
  std::vector<Life> lives = findLives(program, pending, findPieces(program, pending, jumps));
  std::vector<uint32_t> names(program.registers, none), free;
  uint32_t registers = 0;
  auto name = [&](uint32_t slot) {
    if (names[slot] == none) {
      if (lives[slot].shared && !free.empty()) {
        names[slot] = free.back();
        free.pop_back();
      } else {
        names[slot] = registers++;
      }
    }
    return names[slot];
  };
  for (auto &entry : program.constants)
    entry.first = name(entry.first);
  for (uint32_t &slot : program.parameters)
    slot = name(slot);
  for (uint32_t i = 0; i < pending.size(); ++i) {
    Slots dying;
    auto rename = [&](uint32_t &slot) {
      uint32_t old = slot;
      slot = name(old);
      if (lives[old].shared && lives[old].last == i && !llvm::is_contained(dying, slot))
        dying.push_back(slot);
    };
    llvm::for_each(pending[i].in, rename);
    llvm::for_each(pending[i].out, rename);
    free.insert(free.end(), dying.begin(), dying.end());
  }
  program.registers = registers;
}
