// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who last wrote and read each byte of a block's shared memory. Accesses are ordered by vector clocks: of a warp among
// the warps (barriers), of a lane among its warp's lanes (shuffles, bar.warp.sync).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::threads {

struct Warp;
struct Op;

class SharedChecks {
public:
  explicit SharedChecks(size_t sizeBytes) : writes(sizeBytes), firstReads(sizeBytes), lastReads(sizeBytes) {}

  // read() and write() end the run where the bytes are an mbarrier's; its own operations have use() and change().
  void read(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes);
  /// Before the bytes change; `values` is what will be there, or null when it is not known yet.
  void write(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes, const uint8_t *values);
  /// An asynchronous copy begins: until arrive(), no thread may touch the bytes.
  void depart(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes);
  /// `clock`: that of the lane up to which others must know it to be ordered after the copy.
  void arrive(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes, uint32_t clock);
  /// A copy reads the bytes at any time until releaseRead() with the same bytes: until then no thread may write them.
  void holdRead(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes);
  void releaseRead(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes);
  /// A use of an mbarrier: ordered after its init, and before its inval.
  void use(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes);
  /// Its init and inval.
  void change(Warp &warp, unsigned lane, const Op &op, uint32_t offset, uint32_t bytes,
              const uint8_t *values = nullptr);

private:
  struct Access {
    uint64_t clock : 32 = 0; ///< zero: none
    uint64_t thread : 10 = 0;
    uint64_t atomic : 1 = 0;
    uint64_t inFlight : 1 = 0;
    uint64_t op : 20 = 0;
    bool operator==(const Access &) const = default;
  };
  static Access now(const Warp &warp, unsigned lane, const Op &op);
  static bool races(const Warp &warp, unsigned lane, const Op &op, Access before);
  void report(Warp &warp, unsigned lane, const Op &op, uint32_t offset, Access before);

  struct HeldRead {
    uint32_t offset, bytes;
    Access access;
  };
  std::vector<HeldRead> heldReads;
  std::vector<Access> writes, firstReads, lastReads;
};

} // namespace heddle::threads
