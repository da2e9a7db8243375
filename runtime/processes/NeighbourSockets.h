// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sockets between the processes of a group: how they are made, and the packets that go through those of one host,
// each one frame with at most a few file descriptors.
#pragma once
#include "runtime/processes/Neighbours.h"
#include "runtime/processes/Sockets.h"

namespace heddle {

/// A process as the others of its group know it.
struct ProcessIdentity {
  int pid = 0;
  unsigned user = 0;
  std::string label;        ///< of the owner: its device
  std::string host;         ///< the boot id of its system, or HostPlace::host
  std::string pidNamespace; ///< in which `pid` counts
};

struct MeshedSockets {
  std::vector<ProcessIdentity> identities; ///< by rank
  std::vector<FileDescriptor> sockets;     ///< by rank; none to the own rank
  int refused = 0;
};

/// Collective. Throws Error{Environment} on every rank when one of them cannot reach another; without a place also when
/// they are on several hosts. Sockets between ranks of different hosts are streams.
MeshedSockets meshSockets(Bootstrap &bootstrap, const std::string &label, double seconds, const HostPlace *place);

/// The boot id of this system.
std::string bootId();

/// A descriptor that can be read when the process at the other end of the socket has ended; invalid where the system
/// gives none.
FileDescriptor openProcess(int socket);

struct Packet {
  Frame frame;
  std::vector<FileDescriptor> files;
};
enum class PacketState { Received, Nothing, Closed };
/// Without waiting. Throws Error{Environment} naming the sender for what is no packet of a group.
PacketState receivePacket(int socket, const std::string &sender, std::optional<Packet> &packet);
/// False when the other end takes nothing until the deadline, or is gone.
bool sendPacket(int socket, const std::string &frame, const std::vector<int> &files, const Deadline &deadline);

} // namespace heddle
