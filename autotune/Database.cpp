// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables, their version, and the queries; a file of another program or a newer version is refused and left as it
// is.
#include "autotune/Database.h"
#include "autotune/Exchange.h"
#include "support/Error.h"
#include "support/Knobs.h"
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace heddle::autotune {
namespace {

constexpr int64_t applicationId = 0x48644C54; // in the file's head, so that other programs' databases are told apart

constexpr const char *schema[] = {
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, key TEXT NOT NULL, settings TEXT NOT NULL, started TEXT NOT NULL, "
    "finished TEXT)",
    "CREATE INDEX runs_of_key ON runs (key)",
    "CREATE TABLE measurements (run INTEGER NOT NULL, stage TEXT NOT NULL, round INTEGER NOT NULL, configuration TEXT "
    "NOT NULL, microseconds REAL NOT NULL, PRIMARY KEY (run, stage, round, configuration)) WITHOUT ROWID",
    "CREATE TABLE failures (run INTEGER NOT NULL, configuration TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT "
    "NULL, PRIMARY KEY (run, configuration)) WITHOUT ROWID",
    "CREATE TABLE marks (run INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run, name)) "
    "WITHOUT ROWID",
    "CREATE TABLE results (key TEXT PRIMARY KEY, result TEXT NOT NULL, origin TEXT NOT NULL) WITHOUT ROWID",
};

/// All or nothing: rolled back unless commit() is reached.
class Transaction {
public:
  explicit Transaction(Sqlite &sqlite) : sqlite(sqlite) { sqlite.run("BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (isOpen)
      try {
        sqlite.run("ROLLBACK");
      } catch (const Error &) { // the file is as it was either way
      }
  }
  void commit() {
    sqlite.run("COMMIT");
    isOpen = false;
  }

private:
  Sqlite &sqlite;
  bool isOpen = true;
};

void createSchema(Sqlite &sqlite) {
  Transaction all(sqlite);
  if (sqlite.number("SELECT count(*) FROM sqlite_master") == 0) { // else another process was first
    for (const char *statement : schema)
      sqlite.run(statement);
    sqlite.run(fmt::format("PRAGMA application_id = {}", applicationId).c_str());
    sqlite.run(fmt::format("PRAGMA user_version = {}", Database::format).c_str());
  }
  all.commit();
}

/// All searches of a key, with what they measured.
void deleteRuns(Sqlite &sqlite, const std::string &key) {
  for (const char *table : {"measurements", "failures", "marks"})
    sqlite.run(fmt::format("DELETE FROM {} WHERE run IN (SELECT id FROM runs WHERE key = ?)", table).c_str(), key);
  sqlite.run("DELETE FROM runs WHERE key = ?", key);
}

void checkFormat(Sqlite &sqlite, const std::string &path) {
  if (int64_t id = sqlite.number("PRAGMA application_id"); id != applicationId)
    throw inputError(
        fmt::format("`{}` is a database of another program: its application id is {:#x}, and {:#x} is wanted", path, id,
                    applicationId),
        {"it was left as it is; name another file by HEDDLE_TUNING_DATABASE"});
  if (int64_t found = sqlite.number("PRAGMA user_version"); found != Database::format)
    throw inputError(fmt::format("tuning database `{}` has format {}, and this heddle reads format {}", path, found,
                                 Database::format),
                     {"it was left as it is; use the heddle that wrote it, whose `heddle tune --export FILE` writes "
                      "its results as text, or name another file by HEDDLE_TUNING_DATABASE"});
  if (std::string state = sqlite.run("PRAGMA quick_check(1)").at(0).at(0); state != "ok")
    throw inputError(fmt::format("tuning database `{}` is damaged: {}", path, state),
                     {"it was left as it is; move it away, or name another file by HEDDLE_TUNING_DATABASE",
                      "`heddle tune --import FILE` restores exported results"});
}

} // namespace

std::string timeNow() {
  std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

//===-- A search
//---------------------------------------------------------------------------------------------------===//

Journal::Journal(std::shared_ptr<Sqlite> database, int64_t number, bool isResumed)
    : isResumed(isResumed), sqlite(std::move(database)), id(number) {
  for (const auto &row :
       sqlite->run("SELECT stage, round, configuration, microseconds FROM measurements WHERE run = ?", id))
    measured[{{row[0], std::stoll(row[1])}, row[2]}] = std::stod(row[3]);
  for (const auto &row : sqlite->run("SELECT configuration, kind, reason FROM failures WHERE run = ?", id))
    failed[row[0]] = {row[1], row[2]};
  for (const auto &row : sqlite->run("SELECT name, value FROM marks WHERE run = ?", id))
    marks[row[0]] = row[1];
}

std::optional<double> Journal::find(const std::string &stage, int64_t round, const std::string &configuration) const {
  auto found = measured.find({{stage, round}, configuration});
  return found == measured.end() ? std::nullopt : std::optional(found->second);
}

void Journal::add(const std::string &stage, int64_t round, const std::string &configuration, double microseconds) {
  sqlite->run("INSERT OR REPLACE INTO measurements VALUES (?, ?, ?, ?, ?)", id, stage, round, configuration,
              microseconds);
  measured[{{stage, round}, configuration}] = microseconds;
}

void Journal::addFailure(const std::string &configuration, const Failure &failure) {
  sqlite->run("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)", id, configuration, failure.kind, failure.reason);
  failed[configuration] = failure;
}

std::optional<std::string> Journal::mark(const std::string &name) const {
  auto found = marks.find(name);
  return found == marks.end() ? std::nullopt : std::optional(found->second);
}

void Journal::setMark(const std::string &name, const std::string &value) {
  sqlite->run("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", id, name, value);
  marks[name] = value;
}

void Journal::setAttempt(const std::string &configuration) {
  std::string value = configuration.empty() ? "" : fmt::format("{}:{}", ::getpid(), configuration);
  if (mark("attempt").value_or("") != value)
    setMark("attempt", value);
}

//===-- The file
//---------------------------------------------------------------------------------------------------===//

std::string Database::usualPath() {
  std::string path = tuningDatabase();
  if (path.empty())
    throw environmentError("there is no folder for the tuning database: neither XDG_DATA_HOME nor HOME is set",
                           {"name a file by HEDDLE_TUNING_DATABASE"});
  return path;
}

Database::Database(const std::string &name) : path(name) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code status;
  if (path != ":memory:" && !folder.empty())
    std::filesystem::create_directories(folder, status);
  if (status)
    throw environmentError(fmt::format("cannot make the folder `{}`: {}", folder.string(), status.message()),
                           {"HEDDLE_TUNING_DATABASE names another file for the tuning database"});
  sqlite = std::make_shared<Sqlite>(path);
  if (sqlite->number("SELECT count(*) FROM sqlite_master") == 0)
    createSchema(*sqlite);
  checkFormat(*sqlite, path);
  // Commits do not wait for the disk: a killed process loses nothing, and a machine without power the latest
  // measurements at most.
  sqlite->run("PRAGMA journal_mode = WAL");
  sqlite->run("PRAGMA synchronous = NORMAL");
}

std::unique_ptr<Database> Database::openExisting(const std::string &path) {
  std::error_code status;
  return std::filesystem::exists(path, status) ? std::make_unique<Database>(path) : nullptr;
}

Journal Database::openJournal(const Key &key, const std::string &settings) {
  Transaction all(*sqlite);
  auto rows = sqlite->run("SELECT id FROM runs WHERE key = ? AND finished IS NULL AND settings = ? ORDER BY id DESC",
                          key.id(), settings);
  bool isResumed = !rows.empty();
  if (!isResumed) {
    deleteRuns(*sqlite, key.id());
    sqlite->run("INSERT INTO runs (key, settings, started) VALUES (?, ?, ?)", key.id(), settings, timeNow());
  }
  int64_t id = isResumed ? std::stoll(rows[0][0]) : sqlite->lastRow();
  all.commit();
  return Journal(sqlite, id, isResumed);
}

std::optional<Journal> Database::finishedJournal(const Key &key, std::string &settings) {
  auto rows =
      sqlite->run("SELECT id, settings FROM runs WHERE key = ? AND finished IS NOT NULL ORDER BY id DESC", key.id());
  if (rows.empty())
    return std::nullopt;
  settings = rows[0][1];
  return Journal(sqlite, std::stoll(rows[0][0]), true);
}

void Database::put(const TunedResult &result) {
  sqlite->run("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", result.key.id(), lineOf(result), result.origin);
}

void Database::finish(const Journal &journal, const TunedResult &result) {
  Transaction all(*sqlite);
  put(result);
  sqlite->run("UPDATE runs SET finished = ? WHERE id = ?", result.measuredAt, journal.id);
  all.commit();
}

std::optional<TunedResult> Database::find(const Key &key) const {
  auto rows = sqlite->run("SELECT result, origin FROM results WHERE key = ?", key.id());
  if (rows.empty())
    return std::nullopt;
  TunedResult result = parseResult(rows[0][0], fmt::format("{}: key {}", path, key.id()));
  result.origin = rows[0][1];
  return result;
}

std::vector<TunedResult> Database::results() const {
  std::vector<TunedResult> all;
  for (const auto &row : sqlite->run("SELECT result, origin, key FROM results")) {
    all.push_back(parseResult(row[0], fmt::format("{}: key {}", path, row[2])));
    all.back().origin = row[1];
  }
  sortResults(all);
  return all;
}

size_t Database::merge(const std::vector<TunedResult> &others) {
  size_t taken = 0;
  Transaction all(*sqlite);
  for (const TunedResult &other : others) {
    std::optional<TunedResult> own = find(other.key);
    if (own && own->measuredAt >= other.measuredAt)
      continue;
    put(other);
    ++taken;
  }
  all.commit();
  return taken;
}

size_t Database::forget(const std::string &id) {
  Transaction all(*sqlite);
  std::vector<std::string> keys;
  for (const auto &row : sqlite->run("SELECT key FROM results UNION SELECT key FROM runs"))
    if (id == "all" || (!id.empty() && row[0].starts_with(id)))
      keys.push_back(row[0]);
  if (id != "all" && keys.empty())
    throw inputError(fmt::format("tuning database `{}` has no key `{}`", path, id),
                     {"`heddle tune --list` shows the keys; `all` forgets every one"});
  if (id != "all" && keys.size() > 1)
    throw inputError(fmt::format("`{}` begins {} keys, `{}` and `{}` among them", id, keys.size(), keys[0], keys[1]),
                     {"give more of its digits"});
  for (const std::string &key : keys) {
    deleteRuns(*sqlite, key);
    sqlite->run("DELETE FROM results WHERE key = ?", key);
  }
  all.commit();
  return keys.size();
}

void Database::noteCrash(int64_t process, const std::string &reason) {
  std::string prefix = std::to_string(process) + ":";
  for (const auto &row : sqlite->run("SELECT marks.run, marks.value FROM marks JOIN runs ON runs.id = marks.run WHERE "
                                     "marks.name = 'attempt' AND runs.finished IS NULL")) {
    if (!row[1].starts_with(prefix))
      continue;
    Journal journal(sqlite, std::stoll(row[0]), true);
    if (journal.isCareful())
      journal.addFailure(row[1].substr(prefix.size()), {"crash", reason});
    journal.setMark("careful", "yes");
    journal.setMark("attempt", "");
  }
}

} // namespace heddle::autotune
