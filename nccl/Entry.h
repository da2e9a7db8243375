// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the drop-in knows of a communicator of NCCL: Heddle's group beside it, or why there is none, and what it has
// prepared. The handle that programs have stays NCCL's.
#pragma once
#include "nccl/Libraries.h"
#include <atomic>
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
  Entry(Comm comm, int rank, int ranks) : comm(comm), rank(rank), ranks(ranks) {}
  ~Entry();

  /// Heddle's group of all ranks; an empty text, or why it cannot be. `secret` is the same on all ranks.
  std::string connect(const std::string &device, const std::string &secret, double deadline);
  void decline(std::string why) { whyNot = std::move(why); }
  bool isServed() const { return whyNot.empty(); }
  const std::string &reason() const { return whyNot; }

  struct Decision {
    heddle_collective collective = nullptr; ///< of Heddle; null: NCCL makes the call
    bool captures = false;                  ///< the stream is being captured
    const char *how = "";                   ///< the algorithm, or why NCCL does; as long as the entry lives
    Result error = result::success;         ///< the group has failed: neither makes it
  };
  /// Who makes this call: alike on all ranks, as it depends on what a call is on all of them alone. Prepares it at its
  /// first time, for which all ranks have to come.
  Decision decide(const Call &call);
  /// Makes a call that is Heddle's.
  Result perform(const Call &call, const Decision &decision);
  /// Around work of NCCL's on the communicator, which comes in the order of the calls also on different streams. An
  /// error when a rank is known to be gone: NCCL would wait for it without an end.
  Result beforeNccl(Stream stream);
  void afterNccl(Stream stream);

  /// The first error of Heddle's work; ncclSuccess for none. Does not wait.
  Result checkForErrors();
  std::string lastError();
  void abort(const char *reason);
  /// Whether a thread waits for other ranks in `decide`.
  bool isPreparing() const { return preparing > 0; }
  void waitForWork();                              ///< that was put into streams; errors are for checkForErrors
  bool wasCaptured() const { return hasCaptured; } ///< graphs may have its work

  const Comm comm;
  const int rank, ranks;

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
  heddle_stream streamOver(Stream stream);
  bool isCapturing(Stream stream);
  Result fail(heddle_status status);

  const HeddleCalls *heddle = nullptr;
  std::string whyNot = "it was not offered";
  bool isHost = false;
  heddle_device device = nullptr;
  heddle_communicator group = nullptr;
  std::atomic<bool> hasCaptured = false; ///< read while another thread prepares, which holds the mutex
  std::atomic<int> preparing = 0;

  std::mutex mutex;
  std::unordered_map<Key, Prepared, KeyHash> prepared;
  std::unordered_map<Stream, heddle_stream> streams;

  std::mutex errorMutex;
  std::string errorText;
  int64_t lastCheck = 0; ///< nanoseconds of the steady clock
};

} // namespace heddle::dropin
