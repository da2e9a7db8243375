// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One SQLite file a user, with what was measured and what was chosen. Each measurement is committed when it is made, so
// a search that is killed at any point goes on where it was, and a finished one can be decided again without a device.
#pragma once
#include "autotune/Configuration.h"
#include "autotune/Key.h"
#include "autotune/Sqlite.h"
#include <functional>

namespace heddle::autotune {

/// What was chosen for a key.
struct TunedResult {
  Key key;
  Configuration configuration;                      ///< empty: the default
  double microseconds = 0, defaultMicroseconds = 0; ///< of a call, medians of the same rounds
  double gain = 0, halfWidth = 0;                   ///< of the configuration over the default: Statistics.h
  int64_t rounds = 0;                               ///< 0: the clock is exact
  std::string measuredAt;                           ///< UTC, `2026-11-27T22:00:00Z`
  std::string origin;                               ///< `measured` here, `imported`, or `shipped` with heddle
};

struct Failure {
  std::string kind; ///< `compile`, `launch`, `wrong`, `time`, `crash`
  std::string reason;
};

/// The measurements of one search.
class Journal {
public:
  std::optional<double> find(const std::string &stage, int64_t round, const std::string &configuration) const;
  void add(const std::string &stage, int64_t round, const std::string &configuration, double microseconds);
  const std::map<std::string, Failure> &failures() const { return failed; }
  void addFailure(const std::string &configuration, const Failure &failure);
  /// What the search decided, by name: how far it came before its budget was spent.
  std::optional<std::string> mark(const std::string &name) const;
  void setMark(const std::string &name, const std::string &value);
  /// The configuration that is being compiled or tried by this process, for Database::noteCrash; empty for none.
  void setAttempt(const std::string &configuration);
  /// A crash was seen: nothing but the attempt may run at a time, so that a second one can be assigned.
  bool isCareful() const { return mark("careful").has_value(); }
  size_t measurementCount() const { return measured.size(); }
  const bool isResumed; ///< there were measurements when it was opened

private:
  friend class Database;
  Journal(std::shared_ptr<Sqlite> sqlite, int64_t id, bool isResumed);
  std::shared_ptr<Sqlite> sqlite;
  int64_t id;
  std::map<std::pair<std::pair<std::string, int64_t>, std::string>, double> measured;
  std::map<std::string, Failure> failed;
  std::map<std::string, std::string> marks;
};

class Database {
public:
  static constexpr int64_t format = 1;
  /// HEDDLE_TUNING_DATABASE, else `heddle/tuning.sqlite` in the user's data folder. Throws Error{Environment} where
  /// there is none.
  static std::string usualPath();

  /// Makes the file and its folders where they are missing. Throws Error{Input} for a file that is damaged, of another
  /// program or of a newer format, which stays as it is; Error{Environment} where it cannot be written.
  explicit Database(const std::string &path);
  /// The same without making anything; null where there is no such file.
  static std::unique_ptr<Database> openExisting(const std::string &path);

  /// The search of a key that was not finished, if it had the same `settings`, else a new one. `settings` say all on
  /// which its course depends but times. The measurements of older searches of the key are forgotten.
  Journal openJournal(const Key &key, const std::string &settings);
  /// The latest finished search, for deciding again; `settings` are those it had.
  std::optional<Journal> finishedJournal(const Key &key, std::string &settings);
  /// Keeps the result and ends the search, in one step.
  void finish(const Journal &journal, const TunedResult &result);

  std::optional<TunedResult> find(const Key &key) const;
  std::vector<TunedResult> results() const; ///< by kernel and extents
  /// Takes results of elsewhere: those of new keys, and those measured later than what there is. How many of them.
  size_t merge(const std::vector<TunedResult> &others);
  /// The number of keys forgotten, whose id begins with `id`, or all for `all`. Throws Error{Input} for an id that is
  /// unknown or begins several.
  size_t forget(const std::string &id);
  /// A process that tunes was ended by a fault: the first time its search becomes careful, the second time the
  /// configuration that it was trying fails with this reason.
  void noteCrash(int64_t process, const std::string &reason);

private:
  void put(const TunedResult &result);
  std::string path;
  std::shared_ptr<Sqlite> sqlite;
};

/// `2026-11-27T22:00:00Z`
std::string timeNow();

} // namespace heddle::autotune
