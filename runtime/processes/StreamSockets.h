// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stream sockets between processes that may be on different hosts: by TCP, or by unix sockets where all are on one
// machine and only play hosts.
#pragma once
#include "runtime/processes/Neighbours.h"
#include "runtime/processes/Sockets.h"
#include <functional>

namespace heddle {

/// What `work` gave on each rank, by rank. Collective; when it throws on one rank, an Error{Environment} that names it
/// is thrown on all.
std::vector<std::string> together(Bootstrap &bootstrap, double seconds, const std::function<std::string()> &work);

struct PairedSockets {
  std::vector<FileDescriptor> sockets; ///< by rank; those that are no peers have none
  int refused = 0;                     ///< connections that did not come from a process of the group
};

/// A socket to each rank r with peers[r]; of any two ranks each has the other for a peer, or neither. Who connects has
/// to know a token that went through the bootstrap. Collective over all ranks; throws as `together`.
PairedSockets connectPairs(Bootstrap &bootstrap, const std::vector<bool> &peers, const HostPlace &place,
                           double seconds);

} // namespace heddle
