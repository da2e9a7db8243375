// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the processes of a group find each other: all that a group needs of a launcher, of MPI or of a store is that each
// process knows its rank and that bytes can be gathered from all.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class Bootstrap {
public:
  static constexpr int mostRanks = 1024;
  static constexpr size_t mostBytes = size_t(1) << 20; ///< of one rank in one allGather

  virtual ~Bootstrap() = default;
  virtual int rank() const = 0; ///< 0 to size() - 1
  virtual int size() const = 0;
  /// What each rank gave, by rank; any lengths up to mostBytes. Collective: all ranks make the same calls in the same
  /// order. A call ends within its deadline, at most half a second later, or throws Error{Environment} naming the
  /// ranks that did not come; the bootstrap has failed then, and every later call throws. Not for several threads.
  virtual std::vector<std::string> allGather(std::string_view mine, double seconds) = 0;
  /// For people: of a bootstrap of some ranks of a larger group, the number that a rank has there.
  virtual int numberOf(int rank) const { return rank; }
  /// Of the network interface by which this process reached the others; empty where that was none.
  virtual std::string localAddress() const { return ""; }
  /// Connections that were refused so far, because they did not come from a process of the group.
  virtual int refused() const { return 0; }
};

/// Over an all-gather of the caller's: MPI's, a key-value store's. `allGather(mine, seconds)` gives one text for each
/// rank, as above. Throws Error{Input} for a size out of range and a rank that is not below it.
std::unique_ptr<Bootstrap>
makeBootstrap(int rank, int size,
              std::function<std::vector<std::string>(const std::string &mine, double seconds)> allGather);

struct BootstrapOptions {
  /// `unix:PATH`, a socket in a folder of mode 0700; `unix:@NAME`, a socket without a file; `tcp:ADDRESS:PORT`, an
  /// address of a network interface of rank 0, which needs a secret; `inherited:N[,N...]`, open sockets: of rank 0 one
  /// to each other rank in their order, of the others one to rank 0; `env`, as the launcher's variables say; `mpi`, the
  /// ranks of MPI_COMM_WORLD (runtime/processes/Mpi.h).
  std::string address;
  int rank = -1, size = 0; ///< as the launcher's variables say when not given
  std::string job;         ///< ranks of another job are refused; at most 256 bytes
  std::string secret;      ///< what all ranks know; HEDDLE_SECRET_FILE or HEDDLE_SECRET when empty
  double seconds = 30;     ///< until all ranks have come
};

/// Rank 0 listens, the others connect. Each proves that it knows the secret, over a unix socket also that it is of the
/// same user. Throws Error{Input} for an address or a rank that cannot be, Error{Environment} when ranks are missing at
/// the deadline (rank 0 names them), when this rank is refused (saying why) and for what the system refuses.
std::unique_ptr<Bootstrap> makeBootstrap(const BootstrapOptions &options);

} // namespace heddle
