// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The processes of a group: a socket between any two for the life of the group, by which they pass bytes, on one host
// also file descriptors, hear of each other's death and goodbye, and end what the others wait for.
#pragma once
#include "runtime/processes/Bootstrap.h"
#include "support/Error.h"
#include "support/FileDescriptor.h"
#include <memory>
#include <optional>

namespace heddle {

/// Why a group can do nothing more.
struct GroupFailure {
  enum class Kind {
    Gone,    ///< a process ended, or lost its connection, without a goodbye
    Aborted, ///< a rank ended the group, saying why
    Damaged, ///< a rank sent what is no message
  };
  Kind kind;
  int rank; ///< that is gone, that aborted, that sent it
  std::string text;
};

/// What a process of a group of several hosts says of its own.
struct HostPlace {
  std::string host;    ///< equal for the processes that share memory; at most 128 bytes
  bool tcp = false;    ///< how those of different hosts connect: by TCP, else by unix sockets; equal on all ranks
  std::string address; ///< of tcp: the number of an interface of this host
};

class Neighbours {
public:
  static constexpr size_t mostBytes = 48 << 10; ///< of one rank in one exchange
  static constexpr size_t mostFiles = 8;

  /// Collective. `label` names this rank to people: its device. Throws Error{Environment} on every rank: when processes
  /// are on different hosts or in different network namespaces, of different users, or missing at the deadline.
  Neighbours(Bootstrap &bootstrap, const std::string &label, double seconds);
  /// The same of a group whose processes may be on several hosts.
  Neighbours(Bootstrap &bootstrap, const std::string &label, double seconds, const HostPlace &place);
  /// Tells the others that this rank leaves. Does not wait for them. In a forked process: does nothing: the descriptors
  /// stay open until that process ends.
  ~Neighbours();

  int rank() const;
  int size() const;
  /// `rank 2 (host:2, pid 4711)`
  std::string describe(int rank) const;
  int processId(int rank) const;
  int numberOf(int rank) const; ///< Bootstrap::numberOf
  int refused() const;          ///< connections that did not come from a process of the group

  struct Message {
    std::string bytes;
    std::vector<FileDescriptor> files; ///< of other ranks; none of this rank's own
  };
  /// What each rank gave, by rank: bytes and descriptors, which stay the caller's. Collective; one thread at a time.
  /// Descriptors do not come to other hosts.
  /// Throws Error{Environment} when the group has failed before all gave theirs, a rank has left, or some are silent
  /// until the deadline; the group has failed then.
  std::vector<Message> exchange(const std::string &mine, const std::vector<int> &files, double seconds);
  void barrier(double seconds) { exchange("", {}, seconds); }

  /// The first failure, if any: then exchanges throw it.
  std::optional<GroupFailure> failure() const;
  std::optional<Error> failureError() const;
  /// For who knows already that there is one, and not yet which: until it is there or the time is over.
  void waitForFailure(double seconds) const;
  bool hasLeft(int rank) const;
  /// Asks all ranks that are there, and says which do not answer within the time: `rank 2 (host:2, pid 4711) does not
  /// answer`; empty where all do, and in a group that has failed. A thread of the group answers, whatever the program
  /// waits for: those that do not are stopped, or cut off. Must not be called by onChange's function.
  std::string describeSilent(double seconds = 0.5);
  /// Fails the group, here and on all other ranks; without effect when it has failed.
  void abort(const std::string &reason);
  /// Tells the others that this rank leaves, as the destructor does. Without effect after a failure, and in a forked
  /// process.
  void leave();
  /// Called after a failure, on the thread that has found it, and after a goodbye of another rank; at once, if there
  /// was either. Must not wait for the group. Empty: none; returns when no call is running.
  void onChange(std::function<void()> function);

private:
  Neighbours(Bootstrap &bootstrap, const std::string &label, double seconds, const HostPlace *place);
  struct State;
  std::unique_ptr<State> state;
};

} // namespace heddle
