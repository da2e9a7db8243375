// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is ordered before what in device memory, by vector clocks over the threads of all ranks and the streams of the
// host: an access that another agent's conflicting access is not ordered before is a race, whatever value it sees.
//
// The rules are those of PTX's memory consistency model: a release that an acquire reads from orders what came before
// it, and what its thread knows of others; a barrier of a block orders its threads; a relaxed access orders nothing,
// but a relaxed store comes after the end of its stream's earlier kernels and copies, which is a release; two strong
// accesses whose scopes reach each other do not race.
#pragma once
#include "tests/thread_interpreter/Program.h"
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

namespace heddle::threads {

struct Machine;
struct Warp;
struct Block;

/// The latest clock of each thread of a block that is known.
using Clocks = std::vector<uint32_t>;

class Knowledge {
public:
  bool has(uint32_t slot, uint32_t thread, uint32_t clock) const {
    return slot < slots.size() && slots[slot] && thread < slots[slot]->size() && (*slots[slot])[thread] >= clock;
  }
  void join(const Knowledge &other);
  /// `count` threads from `first` on are known up to `clock`.
  void learn(uint32_t slot, uint32_t first, uint32_t count, uint32_t lanes, uint32_t clock);

private:
  std::vector<std::shared_ptr<const Clocks>> slots; ///< by slot; null: nothing
};
using Known = std::shared_ptr<const Knowledge>; ///< null: nothing
void joinInto(Known &known, const Known &other);

/// Of one thread: what it knows, what a fence released, and what relaxed loads saw that a fence may acquire.
struct LaneOrder {
  Known known, released, seen;
  Scope releasedScope = Scope::System;
};

/// A stream of the host, whose copies and fills are accesses too.
struct HostAgent {
  uint32_t slot = 0, clock = 1;
  Known known;
};

class DeviceOrder {
public:
  explicit DeviceOrder(Machine &machine) : machine(machine) {}

  /// A slot stands for one agent at a time: a stream, or one block after another of a stream.
  enum class AgentKind { Block, Stream };
  uint32_t takeSlot(uint32_t device, AgentKind kind);
  void returnSlot(uint32_t slot);
  void nameSlot(uint32_t slot, std::string name) { slots[slot].name = std::move(name); }
  uint32_t &clockOf(uint32_t slot) { return slots[slot].clock; }

  void access(Warp &warp, unsigned lane, const Op &op, uint64_t address, uint32_t bytes, Access access);
  void fence(Warp &warp, uint32_t lanes, Order order, Scope scope);
  /// A copy of one aligned word counts as strong: it is whole, and orders nothing.
  void access(HostAgent &agent, const char *what, uint64_t address, uint64_t bytes, Access access);
  /// Memory that is new, or gone: nothing is known of it.
  void forget(uint64_t address, uint64_t bytes);

  /// Adds what `lanes` know and did to what an arrival makes known.
  void arrive(Warp &warp, uint32_t lanes, Knowledge &known);
  void synchronise(Warp &warp, uint32_t lanes);
  void end(Block &block, Knowledge &known);

private:
  struct Slot {
    uint32_t device = 0, clock = 1;
    AgentKind kind = AgentKind::Block;
    std::string name;
  };
  struct Stamp {
    uint32_t clock = 0; ///< zero: none
    uint32_t site : 29 = 0;
    uint32_t strong : 1 = 0;
    uint32_t scope : 2 = 0;
    uint16_t slot = 0, thread = 0;
    bool operator==(const Stamp &) const = default;
  };
  /// Readers that do not know of each other: so many are remembered.
  static constexpr unsigned mostReaders = 6, lineBytes = 64;
  /// Of bytes that have been accessed together.
  struct Cell {
    Stamp write;
    std::array<Stamp, mostReaders> reads;
  };
  /// Cells are made smaller when an access asks for it, and one again by a store to the whole line.
  struct Line {
    uint32_t cellBytes = lineBytes; ///< or 4, or 1
    std::vector<Cell> cells = std::vector<Cell>(1);
    unsigned nextReader = 0;
    bool hasMessages = false;

    void refine(uint32_t bytes);
  };
  /// What the last store to an address released.
  struct Message {
    Known known;
    Scope scope;
    uint32_t slot;
  };

  uint32_t siteOf(const Program &program, const Op &op);
  bool reaches(Scope scope, uint32_t fromSlot, uint32_t toSlot) const;
  bool races(const Stamp &before, const Stamp &now, const Known &known) const;
  void report(const Stamp &before, const Stamp &now, uint64_t address);
  std::string describe(const Stamp &stamp) const;
  void check(const Stamp &now, const Known &known, uint64_t address, uint64_t bytes, Access access);
  void checkCell(Line &line, Cell &cell, const Stamp &now, const Known &known, uint64_t address, Access access);
  void publish(Warp &warp, unsigned lane, const Op &op, uint64_t address, bool updates);
  void observe(Warp &warp, unsigned lane, const Op &op, uint64_t address);

  Machine &machine;
  std::vector<Slot> slots;
  std::map<AgentKind, std::vector<uint32_t>> freeSlots; ///< of two kinds, for the sake of messages
  std::deque<std::string> sites;                        ///< what an instruction is called
  std::unordered_map<std::string, uint32_t> hostSites;
  std::unordered_map<uint64_t, Line> lines;       ///< by address / lineBytes
  std::unordered_map<uint64_t, Message> messages; ///< by address
};

} // namespace heddle::threads
