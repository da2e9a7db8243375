// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MPI without its header and without linking to it: the library is opened when a program asks for it, whichever of the
// three binary interfaces it has (Open MPI's, MPICH's, the standard one of MPI 5).
#pragma once
#include "runtime/processes/Bootstrap.h"
#include <climits>
#include <memory>
#include <string>

namespace heddle {

class Mpi {
public:
  /// That of this process: opened and initialised by the first call, and finalised when the process exits in order,
  /// which waits for the other ranks (HEDDLE_MPI_EXIT_TIMEOUT). A program that has initialised MPI keeps it, and
  /// finalises it itself; the first call is collective then. Throws Error{Environment} when there is no library, when
  /// no launcher of MPI has started this process, when the library is not the launcher's (every later call throws that
  /// too), when ranks do not call, and when MPI has been finalised.
  static Mpi &instance();

  int rank() const { return own; }
  int size() const { return count; }
  const std::string &library() const { return name; } ///< `Open MPI (libmpi.so.40)`

  /// Bytes in flight to or from other ranks. Destroying some that have not arrived leaves them to MPI: their memory is
  /// never freed then, and MPI is not finalised.
  class Transfers {
  public:
    explicit Transfers(Mpi &mpi);
    ~Transfers();
    static constexpr size_t mostBytes = INT_MAX;
    /// At most mostBytes. Messages between two ranks with one tag arrive in the order in which they were sent.
    void send(int rank, int tag, std::string bytes);
    void receive(int rank, int tag, size_t bytes); ///< of exactly so many
    /// Whether all have arrived; lets MPI make progress. Throws Error{Environment} for what MPI refuses.
    bool poll();
    bool hasArrived(size_t number) const; ///< in the order of the calls above
    const std::string &bytes(size_t number) const;
    size_t size() const;

  private:
    struct State;
    Mpi &mpi;
    std::unique_ptr<State> state;
  };

  /// Every bootstrap and every transport has tags of its own, so that two do not receive each other's messages, nor
  /// those that one which has failed left. Reused after some thousands: MPI promises tags up to 32767.
  /// Of the next bootstrap, this one and the following: ranks make bootstraps in the same order.
  int nextBootstrapTag() { return 2 * (bootstraps++ % 8000); }
  /// Of the transport with that number, likewise two. Numbers that this process has not used are `transports` and
  /// above.
  static int transportTag(int number) { return 16000 + 2 * (number % 8000); }
  int transports = 0;

  /// From here on the process exits without finalising: other ranks might not, and it would wait for them.
  void giveUp() { failed = true; }

  ~Mpi();

private:
  struct Functions;
  Mpi();
  void open();
  void initialise();
  void chooseConstants();
  void duplicateCommunicator();
  void check(int code, const char *call) const;
  std::string errorText(int code) const;
  bool waitFor(uintptr_t &request, double seconds);
  static void finaliseAtExit(bool hasFailed);

  std::unique_ptr<Functions> call;
  std::string name;
  void *handle = nullptr;
  bool isStandard = false, isOpenMpi = false, isOurs = false, failed = false;
  uintptr_t communicator = 0, byte = 0, errorsReturn = 0;
  int own = 0, count = 1, bootstraps = 0;
};

/// Over MPI's messages, of all ranks of MPI_COMM_WORLD; of a duplicate where MPI is the program's. Throws as
/// Mpi::instance, and Error{Input} for a rank or size other than MPI's.
std::unique_ptr<Bootstrap> makeMpiBootstrap(const BootstrapOptions &options);

bool isOverMpi(const Bootstrap &bootstrap);

/// For loops that wait for other processes by polling: yields at first, sleeps later.
class PollingPause {
public:
  void wait();
  void restart() { turns = 0; }

private:
  int turns = 0;
};

} // namespace heddle
