// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the drop-in knows of a communicator of NCCL: Heddle's group beside it, or why there is none, and what it has
// prepared. The handle that programs have stays NCCL's.
#pragma once
#include "nccl/Libraries.h"
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::dropin {

/// A call that NCCL and Heddle both can make.
struct Call {
  enum class Kind { AllReduce, AllGather, ReduceScatter, AllToAll };
  Kind kind;
  const void *input;
  void *output;
  size_t count; ///< of a part, as NCCL counts
  int type, reduction;
  Comm comm;
  Stream stream;
};

/// NCCL's own function with the call's arguments.
Result callNccl(const Call &call);

/// Heddle's names; null for what NCCL alone has.
const char *typeName(int type);
int64_t typeBytes(int type);
int reductionNumber(int reduction); ///< of include/heddle.h; -1

/// A rank of a communicator. Safe to use from several threads.
class Entry {
public:
  explicit Entry(Comm comm) : comm(comm) {}
  ~Entry();

  // ---- The offer: one thread makes it, others wait for it ----

  void identify(int ownRank, int rankCount) { rank = ownRank, ranks = rankCount; }
  /// Heddle's group of all ranks; an empty text, or why it cannot be. `secret` is the same on all ranks.
  std::string connect(const std::string &device, const std::string &secret, double deadline);
  void decline(std::string why) { whyNot = std::move(why); }
  /// The offer is over, with what NCCL's functions give for it.
  void settle(Result done);
  /// ncclInProgress while the offer goes on, or its error.
  Result offerResult();
  /// The same when it is over, or ncclInProgress when it takes longer than all that it may wait for.
  Result waitForOffer();

  bool isServed() const { return served; }
  const std::string &reason() const { return whyNot; } ///< after the offer

  // ---- Its life: NCCL lets a thread abort a communicator that others use ----

  enum class Part {
    Call, ///< in a function on the communicator
    Nccl, ///< in NCCL with its handle
  };
  /// That the calling thread is there, while it lives; not when the communicator has ended. Null: no communicator of
  /// Heddle's, and allowed.
  class Stay {
  public:
    Stay(Entry *entry, Part part);
    ~Stay();
    Stay(const Stay &) = delete;
    explicit operator bool() const { return isAllowed; }

  private:
    Entry *const entry;
    const Part part;
    bool isAllowed = true;
  };
  /// No thread gets in any more, and what threads wait for in Heddle ends; returns when none is in NCCL, or after a
  /// moment: then NCCL's own abort has to end its call.
  void end(const char *reason);
  bool hasEnded();
  Result endedError(); ///< of calls after that
  /// For threads that are still in a call, when both sides have ended. Bounded.
  void waitForCalls();

  struct Decision {
    heddle_collective collective = nullptr; ///< of Heddle; null: NCCL makes the call
    bool captures = false;                  ///< the stream is being captured
    const char *how = "";                   ///< the algorithm, or why NCCL does; as long as the entry lives
    Result error = result::success;         ///< the group has failed: neither makes it
  };
  /// Who makes this call: alike on all ranks, as it depends on what a call is on all of them alone. Prepares it at its
  /// first time, for which all ranks have to come.
  Decision decide(const Call &call);
  /// Whether `decide` would give it to Heddle, as far as is known without waiting for other ranks.
  bool isForHeddle(const Call &call);
  /// Makes a call that is Heddle's.
  Result perform(const Call &call, const Decision &decision);
  /// Around work of NCCL's on the communicator, which comes in the order of the calls also on different streams.
  Result beforeNccl(Stream stream);
  void afterNccl(Stream stream);
  /// An error when a rank is known to be gone or to have left: NCCL would wait for it without an end. Of calls in which
  /// every rank waits for every other.
  Result checkRanks(const Call &call);
  /// Without blocking NCCL goes on in the background: what it gives when it is done, or ncclSystemError.
  Result finishNccl(Result started, double seconds);

  /// The first error of Heddle's work; ncclSuccess for none. Does not wait.
  Result checkForErrors();
  std::string lastError();
  void abort(const char *reason);
  /// Tells the other ranks that this one makes no more calls, and does not wait for them: those that wait for it get an
  /// error.
  void leave();
  void waitForWork();                              ///< that was put into streams; errors are for checkForErrors
  bool wasCaptured() const { return hasCaptured; } ///< graphs may have its work

  const Comm comm;
  int rank = -1, ranks = -1; ///< from the offer on

private:
  struct Key {
    Call::Kind kind;
    int type, reduction;
    size_t count;
    bool operator==(const Key &) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key &key) const {
      size_t hash = key.count * 0x9E3779B97F4A7C15u;
      return hash ^ size_t(key.kind) ^ size_t(key.type) << 8 ^ size_t(key.reduction) << 16;
    }
  };
  struct Prepared {
    std::string reason, algorithm; ///< why NCCL makes it; empty: Heddle does, by that algorithm
    heddle_collective eager = nullptr, captured = nullptr;
  };
  Prepared choose(const Call &call) const;
  Prepared &preparedFor(const Call &call);
  /// Heddle's stream over the program's: an error, which ends the group, where there can be none. Null on the host.
  Result streamOver(Stream stream, heddle_stream &own);
  Result isCapturing(Stream stream, bool &captures);
  Result fail(heddle_status status);
  Result fail(Result error, const std::string &text);

  const HeddleCalls *heddle = nullptr;
  std::string whyNot = "it is being offered";
  bool isHost = false;
  heddle_device device = nullptr;
  heddle_communicator group = nullptr;
  std::atomic<bool> served = false;      ///< after the offer
  std::atomic<bool> hasCaptured = false; ///< read while another thread prepares, which holds the mutex

  std::mutex lifeMutex; ///< of what follows
  std::condition_variable lifeChanged;
  Result offered = result::inProgress;
  bool ended = false;
  int inCalls = 0, inNccl = 0; ///< threads

  std::mutex mutex;
  std::unordered_map<Key, Prepared, KeyHash> prepared;
  std::unordered_map<Stream, heddle_stream> streams;

  std::mutex errorMutex;
  std::string errorText;
  int64_t lastCheck = 0; ///< nanoseconds of the steady clock
};

} // namespace heddle::dropin
