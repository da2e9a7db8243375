// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What carries bytes between ranks that share no memory. It copies and computes nothing: so the bits of a sum do not
// depend on it.
#pragma once
#include "runtime/processes/Neighbours.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heddle {

class Carrier {
public:
  virtual ~Carrier() = default;
  /// From any thread: an exchange that runs, and every later one, throws the reason.
  virtual void end(const std::string &reason) = 0;
  /// This rank exchanges nothing more: those that wait for it hear of it, where the transport can tell them.
  virtual void leave() {}
  virtual std::string description() const = 0;          ///< for people: `unix sockets`
  virtual size_t mostBytes() const { return SIZE_MAX; } ///< of one part
};

/// Between memory of processes.
class Transport : public Carrier {
public:
  struct Part {
    int rank;   ///< the other one
    void *data; ///< in this process's memory
    size_t bytes;
  };
  /// Sends `out` and receives `in`; at most one part each for a rank. Returns when all of it has arrived and `out` may
  /// be written again. Of two ranks one sends what the other receives, in the same order of calls; `what` is a number
  /// that has to be equal on both sides: what is exchanged. One thread at a time. Throws Error{Environment} naming the
  /// ranks that did not take part until the deadline, are gone, or exchange something else, and the reason of `end`.
  /// After an error it has failed for good.
  virtual void exchange(const std::vector<Part> &out, const std::vector<Part> &in, uint64_t what, double seconds) = 0;
};

/// What comes before the bytes of a part.
struct TransferHeader {
  uint64_t number = 0; ///< of the exchange, from 1 on
  uint64_t what = 0, bytes = 0;
  static constexpr size_t size = 32;
  std::string encode() const;
  /// Throws Error{Environment} naming the sender for what is no such header, and where it is not what `wanted` is.
  static void check(std::string_view seen, const TransferHeader &wanted, const std::string &sender);
};

/// What an exchange says of those that did not take part in it.
std::string lateText(std::vector<int> ranks, double seconds);

/// Over a socket to each rank r with peers[r], of the streams that connectPairs makes. Collective over all ranks of the
/// bootstrap.
std::unique_ptr<Transport> makeSocketTransport(Bootstrap &bootstrap, const std::vector<bool> &peers,
                                               const HostPlace &place, double seconds);

/// Over messages of MPI; the ranks are those of MPI_COMM_WORLD. Collective; throws as `together` what Mpi::instance
/// throws, and for a bootstrap with other ranks.
std::unique_ptr<Transport> makeMpiTransport(Bootstrap &bootstrap, double seconds);

} // namespace heddle
