// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which bits of a wave's registers nothing has written: a bit for each bit of a scalar register, because those hold a
// bit for each lane, and for each byte of a vector register and lane. Where only some bits of such a byte are poison,
// as when a lane holds a spilled scalar register, they stand apart.
#pragma once
#include "simulator/checks/RegisterUse.h"
#include <bit>
#include <unordered_map>
#include <utility>

namespace heddle::simulator {

/// A vector register: bit l of bytes[b] is byte b of lane l.
struct PoisonRow {
  uint64_t bytes[4] = {0, 0, 0, 0};

  uint64_t lanes() const { return bytes[0] | bytes[1] | bytes[2] | bytes[3]; }
  static PoisonRow ofLanes(uint64_t lanes) { return {{lanes, lanes, lanes, lanes}}; }
  /// Those of a scalar in each lane.
  static PoisonRow ofBits(uint32_t bits) {
    PoisonRow row;
    for (unsigned byte = 0; byte < 4; ++byte)
      row.bytes[byte] = bits >> (8 * byte) & 0xFF ? allLanes : 0;
    return row;
  }
  /// One half, at the lowest place.
  PoisonRow half(bool high) const { return {{bytes[2 * high], bytes[2 * high + 1], 0, 0}}; }
  /// Every bit of the bytes that are poison in `lane`.
  uint32_t bitsOf(unsigned lane) const {
    uint32_t bits = 0;
    for (unsigned byte = 0; byte < 4; ++byte)
      bits |= (bytes[byte] >> lane & 1 ? 0xFFu : 0u) << (8 * byte);
    return bits;
  }
  /// Bytes of `lane` of which any bit is set.
  void addBits(unsigned lane, uint32_t bits) {
    for (unsigned byte = 0; byte < 4; ++byte)
      bytes[byte] |= uint64_t((bits >> (8 * byte) & 0xFF) != 0) << lane;
  }
};

/// Poison bits of a word of a lane that are not whole bytes.
struct PartialWord {
  uint8_t word, lane;
  uint32_t bits;
};

/// Where poison came from: a register that the wave began with, or an entry of the check's own list. 0 is nowhere.
using PoisonOrigin = uint32_t;
inline constexpr PoisonOrigin firstRowOrigin = 1, firstScalarOrigin = firstRowOrigin + 512,
                              sccOrigin = firstScalarOrigin + 128, firstListedOrigin = sccOrigin + 1;

struct PoisonRegisters {
  PoisonRow rows[512];
  uint32_t scalars[128];
  std::unordered_map<uint32_t, uint32_t> partial; ///< bits by row * 64 + lane, where they are not whole bytes
  bool scc = true;
  RegisterSet maybe; ///< all that have any poison, and perhaps others; SCC is not among them
  PoisonOrigin rowOrigins[512], scalarOrigins[128], sccFrom = sccOrigin; ///< of what is poison

  /// As a wave begins: `given` are scalar registers that the launch sets, and it sets v0 and EXEC.
  void begin(uint64_t given) {
    partial.clear();
    scc = true;
    maybe.addAll();
    maybe.set(true, 0, false);
    sccFrom = sccOrigin;
    for (unsigned block = 0; block < std::size(changed); ++block) // most waves use few rows
      for (uint64_t rest = std::exchange(changed[block], 0); rest; rest &= rest - 1) {
        unsigned index = 64 * block + unsigned(std::countr_zero(rest));
        rows[index] = PoisonRow::ofLanes(index ? allLanes : 0);
        rowOrigins[index] = firstRowOrigin + index;
      }
    // Three loops, for each to become vector code: this is done for every wave.
    for (unsigned index = 0; index < 64; ++index)
      scalars[index] = uint32_t(given >> index & 1) - 1;
    for (unsigned index = 64; index < 128; ++index)
      scalars[index] = index < execRegister ? ~0u : 0;
    for (unsigned index = 0; index < 128; ++index)
      scalarOrigins[index] = firstScalarOrigin + index;
    uint64_t *maybeScalar = maybe.words + RegisterSet::firstScalarWord;
    maybeScalar[0] = ~given;
    maybeScalar[1] = (uint64_t(1) << (execRegister - 64)) - 1;
  }
  /// After a row has changed.
  void noteRow(unsigned row) {
    changed[row / 64] |= uint64_t(1) << row % 64;
    maybe.set(true, row, rows[row].lanes());
  }
  /// These lanes of a row are written with what is not poison.
  void cleanRow(unsigned row, uint64_t lanes) {
    forgetPartial(row, lanes);
    for (uint64_t &bytes : rows[row].bytes)
      bytes &= ~lanes;
    noteRow(row);
  }
  void setScalar(unsigned index, uint32_t bits) {
    maybe.set(false, index, bits);
    scalars[index] = bits;
  }
  uint32_t bitsOf(unsigned row, unsigned lane) const {
    if (!partial.empty())
      if (auto found = partial.find(row * waveLanes + lane); found != partial.end())
        return found->second;
    return rows[row].bitsOf(lane);
  }
  /// Before the lanes of a row get other poison.
  void forgetPartial(unsigned row, uint64_t lanes) {
    if (partial.empty())
      return;
    for (; lanes; lanes &= lanes - 1)
      partial.erase(row * waveLanes + unsigned(std::countr_zero(lanes)));
  }
  /// After it.
  void notePartial(unsigned row, unsigned lane, uint32_t bits) {
    if (bits != rows[row].bitsOf(lane))
      partial[row * waveLanes + lane] = bits;
  }
  uint64_t scalar64(unsigned index) const { return uint64_t(scalars[index + 1]) << 32 | scalars[index]; }

private:
  uint64_t changed[8] = {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull}; ///< rows, since a wave began
};

/// What must not depend on poison.
enum class PoisonSink : uint8_t { Branch, Jump, Address, Descriptor, Exec, M0, SharedStore };

/// Who is told when it does.
class PoisonReporter {
public:
  virtual ~PoisonReporter() = default;
  virtual void reached(Wave &wave, const Instruction &instruction, PoisonSink sink, PoisonOrigin origin, int lane) = 0;
};

} // namespace heddle::simulator
