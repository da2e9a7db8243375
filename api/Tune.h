// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tuning of library kernels for tools and bindings: searches, and the database of their results. docs/tuning.md.
#pragma once
#include "api/KernelLibrary.h"
#include <functional>

namespace heddle {

struct TuneProgress {
  std::string shape, stage;
  size_t shapeNumber = 0, shapes = 1;
  size_t done = 0, all = 0, failures = 0;
  double bestMicroseconds = 0, defaultMicroseconds = 0;
};

struct TuneRequest {
  LibraryRequest library;          ///< its `shape` is not used
  std::vector<std::string> shapes; ///< empty: one call, of the arrays that are given
  double budgetSeconds = 0;        ///< for all shapes; 0: until each is done
  uint64_t seed = 1;
  double margin = 0.03;    ///< by which the default must be beaten
  bool isCold = false;     ///< caches are emptied before each call
  std::string forceBefore; ///< measures again what was not measured after this time, `2026-11-27T22:00:00Z`
  bool replays = false;    ///< decides again from the database's measurements, and makes none
  int threads = 0;         ///< that compile at the same time; 0: one for each processor, at most 16
  std::function<void(const TuneProgress &)> progress = nullptr;
  std::function<bool()> isCancelled = nullptr;
};

struct TunedCandidate {
  std::string configuration;
  std::string fate;   ///< `failed`, `screened`, `shortlisted`, `finalist`, `chosen`, `not reached`
  std::string reason; ///< of a failure: `compile: ...`
  double microseconds = 0, quartileRange = 0;
  double gain = 0, halfWidth = 0; ///< over the default
  size_t rounds = 0;
};
struct PrunedCandidate {
  std::string configuration, reason;
};

/// What was found for one shape.
struct TuneResult {
  std::string shape, key; ///< the key's id
  std::map<std::string, std::string> keyParts;
  std::string configuration; ///< `default`, or as `block_k=64,warps=4`
  std::string reason;        ///< why this one
  double microseconds = 0, defaultMicroseconds = 0, gain = 0, halfWidth = 0;
  size_t rounds = 0, measurements = 0;
  bool wasKnown = false, wasResumed = false, isCutShort = false;
  std::string clock; ///< how time was measured, in words
  std::vector<TunedCandidate> candidates;
  std::vector<PrunedCandidate> pruned;
  std::string error; ///< why there is no result for this shape
};

/// The device was lost because of a candidate, which has been noted: the same request in a new process goes on.
struct TuneDeviceLost : Error {
  using Error::Error;
};
/// TuneRequest::isCancelled said so. The same request goes on.
struct TuneCancelled : Error {
  using Error::Error;
};

/// Tunes each shape in turn and gives each result to `done`. A shape that fails has an error, and the next one follows.
/// Throws Error{Input} where the kernel, its arguments or the database are refused.
void tuneLibraryKernel(const TuneRequest &request, const std::function<void(const TuneResult &)> &done);

/// The candidates of each shape for a device or, if `target` is not empty, for a chip, without measuring any.
std::vector<TuneResult> describeSpace(const TuneRequest &request, const std::string &target);

//===-- The database
//-------------------------------------------------------------------------------------------------===//

struct TunedEntry {
  std::string key, origin, configuration, measuredAt;
  std::map<std::string, std::string> keyParts;
  double microseconds = 0, defaultMicroseconds = 0, gain = 0, halfWidth = 0;
  bool isStale = false; ///< of another version of the kernel: it is not used
};
std::string tuningTime();            ///< now, for TuneRequest::forceBefore
std::string tuningDatabasePath();    ///< throws Error{Environment} where there is none
std::vector<TunedEntry> listTuned(); ///< of the database, then what is shipped
std::string exportTuned();           ///< the database's results as text
/// Merges a file that exportTuned wrote, or another database: results of new keys, and later ones. How many of how
/// many.
std::pair<size_t, size_t> importTuned(const std::string &path);
size_t forgetTuned(const std::string &key); ///< how many; `all` for all
/// For one that started this program: a process that tuned was ended by a fault.
void noteTuningCrash(int64_t process, const std::string &reason);

} // namespace heddle
