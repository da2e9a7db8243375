// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What waits wait for, read off a kernel's machine code: which operations may be in flight at each instruction, on all
// ways that lead there. It says of some changes of a wait that no launch at all can tell them apart.
#pragma once
#include "simulator/checks/RegisterUse.h"
#include "simulator/decode/Decoder.h"
#include "simulator/instructions/WaitCounts.h"
#include <bitset>
#include <map>
#include <span>
#include <vector>

namespace heddle::simulator {

/// Why a wait may demand less.
enum class WaitReason : uint8_t {
  None,            ///< it may not, or it is not known
  NothingUnderWay, ///< no more can be in flight than it lets go on, whatever way leads there
  DemandedAgain,   ///< on every way from it another wait demands as much before anything depends on it
};

class WaitFlow {
public:
  /// `code` lies at `address`; a wave begins at any of `entries`.
  WaitFlow(const std::string &chip, std::span<const uint8_t> code, uint64_t address,
           const std::vector<uint64_t> &entries);

  /// Why the wait at `pc`, which demands `now`, may demand no more than `weaker`. Of code that jumps to computed
  /// addresses or addresses registers relatively nothing is known.
  WaitReason reasonToWeaken(uint64_t pc, WaitCounts now, WaitCounts weaker) const;
  /// Whether the load at `pc` and the one after it, which need nothing of each other, may be swapped: on every way,
  /// each wait lets go of both or of none, or before a wait lets go of both nothing touches what the first one brings,
  /// and nothing lets others change what it reads: no operation, barrier or end.
  bool maySwapLoads(uint64_t pc) const;

private:
  /// What may be in flight: at most so many operations, and the registers that they may bring.
  struct Pending {
    unsigned vector = 0, local = 0;
    std::bitset<512> vectorRows, localRows;
    std::bitset<128> scalars;
    bool operator==(const Pending &) const = default;
    void join(const Pending &other);
    bool mayBring(const RegisterUse &use) const;
  };
  struct Place {
    Instruction instruction;
    RegisterUse use;
    std::vector<uint64_t> next; ///< addresses
    Pending before;
  };
  void read(Decoder &decoder, std::span<const uint8_t> code, uint64_t address, uint64_t pc);
  void follow(const std::vector<uint64_t> &entries);
  static void step(const Place &place, Pending &pending);
  bool isDemandedAgain(uint64_t pc, WaitCounts now, WaitCounts weaker) const;

  std::map<uint64_t, Place> places;
  bool isKnown = true;
};

} // namespace heddle::simulator
