// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How rank 0 accepts the other ranks: challenge (a nonce), hello (rank, size, job, nonce, proof), welcome (proof). A
// proof is an HMAC-SHA-256 under the group's secret over all of these fields, so that nothing recorded earlier serves
// again.
#pragma once
#include "runtime/processes/Bootstrap.h"
#include "runtime/processes/Sockets.h"
#include <vector>

namespace heddle {

/// Larger than every message of the handshake and every text of a failure.
inline constexpr size_t mostHandshakeBytes = 4096;

struct Hello {
  uint64_t rank = 0, size = 0;
  std::string job, nonce, proof;
};
std::string encodeHello(const Hello &hello);
Hello decodeHello(const std::string &body, const std::string &sender); ///< throws as FieldReader
/// Of the one who says hello, or of rank 0 (`welcomes`).
std::string proofOf(const std::string &secret, bool welcomes, const std::string &challenge, const Hello &hello);

/// What rank 0 has when all have come.
struct AcceptedRanks {
  std::vector<FileDescriptor> links; ///< to ranks 1 to size - 1
  int refused = 0;                   ///< connections that were not of the group
};
/// On rank 0: accepts the processes that prove to be of the group, until all ranks have connected; all others get a
/// refusal, or are dropped when they are silent for five seconds. Throws Error{Environment} naming the missing ranks,
/// and sends the same to those that have connected.
AcceptedRanks acceptRanks(const BootstrapOptions &options, const FileDescriptor &listener, const SocketAddress &address,
                          const Deadline &deadline);

/// On the other ranks: the link to rank 0. Throws Error{Environment} with rank 0's words when it refuses this process,
/// and when it cannot prove that it knows the secret or is of another user.
FileDescriptor connectToRankZero(const BootstrapOptions &options, const SocketAddress &address,
                                 const Deadline &deadline);

/// `rank 2`, `ranks 2 and 3`, `ranks 1, 2 and 3`.
std::string listRanks(const std::vector<int> &ranks);

} // namespace heddle
