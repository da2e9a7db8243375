// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sockets for processes that must trust each other: unix sockets of one user, TCP on one named interface. None blocks,
// none is inherited by programs that this one starts.
#pragma once
#include "runtime/processes/Deadline.h"
#include "runtime/processes/Frame.h"
#include "support/FileDescriptor.h"
#include <optional>
#include <string>
#include <sys/types.h>

namespace heddle {

/// `unix:/run/job/socket`, `unix:@name`, `tcp:192.0.2.1:4711`, `tcp:[2001:db8::1]:4711`.
struct SocketAddress {
  bool isTcp = false;
  std::string host; ///< of tcp
  int port = 0;
  std::string path; ///< of unix; `@name` has no file
  /// Throws Error{Input} for another form, a unix name of more than 107 bytes, and a port out of range.
  static SocketAddress parse(const std::string &text);
  std::string text() const;
};

/// Listens. A unix path must lie in a folder of this user with mode 0700. A socket file at which no process listens is
/// replaced; one at which a process listens is an error, as is a name in use. TCP addresses that stand for all
/// interfaces are refused: Error{Input}. Error{Environment} for the rest.
FileDescriptor listenAt(const SocketAddress &address);

/// Tries until it succeeds or the deadline passes: Error{Environment} with the last reason.
FileDescriptor connectTo(const SocketAddress &address, const Deadline &deadline);

/// The next connection that waits; none: invalid.
FileDescriptor acceptFrom(int listener);

struct PeerCredentials {
  pid_t pid;
  uid_t user;
};
/// Of the process at the other end of a unix socket: as it was when it connected, or listened.
PeerCredentials credentialsOf(int socket);

/// Writes all of it. Throws Error{Environment} naming `to` when the deadline passes or the connection is gone.
void sendAll(int socket, const std::string &bytes, const std::string &to, const Deadline &deadline);

enum class ReadState { Incomplete, Complete, Closed };
/// Reads what has come, up to the end of the frame, without waiting. Throws as FrameReader::feed.
ReadState readFrame(int socket, FrameReader &reader);
/// Waits for a whole frame. Throws Error{Environment} when the deadline passes or the connection closes.
Frame receiveFrame(int socket, FrameReader &reader, const Deadline &deadline);

/// True when it is ready, false at the deadline.
bool waitFor(int file, short events, const Deadline &deadline);

Error systemError(const std::string &what, int number);

} // namespace heddle
