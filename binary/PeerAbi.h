// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels that talk to other devices and the runtime agree on: the records of a group of ranks, which lie in each
// rank's device memory. The compiler emits code against these layouts and the runtime fills them; docs/peer.md
// describes the protocol.
#pragma once
#include <cstddef>
#include <cstdint>

namespace heddle {

/// Ranks a group may have: the length of every table of ranks.
inline constexpr int maxWorldSize = 8;

/// `PeerGroup::limitNs` counts at most as this, so that deadlines do not wrap around.
inline constexpr uint64_t maxLimitNs = uint64_t(1) << 62;

/// A group as one rank sees it; does not change while a kernel runs.
struct PeerGroup {
  uint64_t rank;                ///< this rank, 0 to worldSize - 1
  uint64_t worldSize;           ///< 1 to maxWorldSize
  uint64_t arena[maxWorldSize]; ///< where each rank's symmetric memory begins, as this rank addresses it
  uint64_t abort;               ///< address of a u32; nonzero asks every wait to end
  uint64_t limitNs;             ///< how long the waits of one call may last, all together
  uint64_t error;               ///< address of this rank's PeerError
};

/// What a kernel of a collective finds at its argument `group`.
struct CollectiveGroups {
  PeerGroup arena, staging;
  /// Of operands in windows: added to the address that a rank tells of operand o, which is the rank's own, it gives the
  /// address at which this rank's device reaches it; modulo 2^64. Operand 0 is the input, 1 the output.
  uint64_t shift[2][maxWorldSize];
};

enum class PeerErrorState : uint32_t {
  Free = 0,    ///< nothing failed since the runtime set it
  Writing = 1, ///< claimed by the one writer
  Written = 2, ///< stored last, with release order
};

enum class PeerErrorReason : uint32_t {
  Deadline = 1,
  Abort = 2,
};

/// The first wait of a rank that ended without what it waited for. Zeroed by the runtime, written at most once.
struct PeerError {
  uint32_t state;     ///< PeerErrorState
  uint32_t reason;    ///< PeerErrorReason
  uint32_t peer;      ///< the rank that was waited for
  uint32_t block;     ///< program id along x
  uint64_t expected;  ///< epoch, or flag of a packet
  uint64_t seen;      ///< what the memory held instead
  uint64_t elapsedNs; ///< since the call's deadline was set
  uint64_t tag;       ///< which call, as the operation was told
};

static_assert(offsetof(PeerGroup, rank) == 0 && offsetof(PeerGroup, worldSize) == 8 &&
              offsetof(PeerGroup, arena) == 16 && offsetof(PeerGroup, abort) == 80 &&
              offsetof(PeerGroup, limitNs) == 88 && offsetof(PeerGroup, error) == 96 && sizeof(PeerGroup) == 104);
static_assert(offsetof(CollectiveGroups, staging) == sizeof(PeerGroup) && sizeof(CollectiveGroups) == 336);
static_assert(offsetof(PeerError, state) == 0 && offsetof(PeerError, reason) == 4 && offsetof(PeerError, peer) == 8 &&
              offsetof(PeerError, block) == 12 && offsetof(PeerError, expected) == 16 &&
              offsetof(PeerError, seen) == 24 && offsetof(PeerError, elapsedNs) == 32 &&
              offsetof(PeerError, tag) == 40 && sizeof(PeerError) == 48);

} // namespace heddle
