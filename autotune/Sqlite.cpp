// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of SQLite, each with its error turned into one of ours that names the file.
#include "autotune/Sqlite.h"
#include "support/Error.h"
#include <fmt/format.h>
#include <sqlite3.h>

namespace heddle::autotune {

constexpr int busyMilliseconds = 20'000; // another process commits in far less

Sqlite::Sqlite(std::string name) : path(std::move(name)) {
  int code = sqlite3_open_v2(path.c_str(), &connection,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  if (code == SQLITE_OK)
    code = sqlite3_busy_timeout(connection, busyMilliseconds);
  if (code == SQLITE_OK)
    return;
  std::string reason = connection ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  sqlite3_close_v2(connection);
  throw environmentError(fmt::format("tuning database `{}`: {}", path, reason),
                         {"HEDDLE_TUNING_DATABASE names another file"});
}

Sqlite::~Sqlite() {
  sqlite3_close_v2(connection);
}

void Sqlite::Finalize::operator()(sqlite3_stmt *statement) const {
  sqlite3_finalize(statement);
}

void Sqlite::fail(int code) {
  const char *reason = sqlite3_errmsg(connection);
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
    throw inputError(fmt::format("tuning database `{}` is damaged, or no database: {}", path, reason),
                     {"it was left as it is; move it away, or name another file by HEDDLE_TUNING_DATABASE",
                      "`heddle tune --import FILE` restores exported results"});
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    throw environmentError(
        fmt::format("tuning database `{}` is in use by another process for {} s", path, busyMilliseconds / 1000),
        {"wait for the other `heddle tune`, or name another file by HEDDLE_TUNING_DATABASE"});
  throw environmentError(fmt::format("tuning database `{}`: {}", path, reason),
                         {"HEDDLE_TUNING_DATABASE names another file"});
}

Sqlite::Statement Sqlite::prepare(const char *sql) {
  sqlite3_stmt *statement = nullptr;
  if (int code = sqlite3_prepare_v2(connection, sql, -1, &statement, nullptr); code != SQLITE_OK)
    fail(code);
  return Statement(statement);
}

void Sqlite::bind(Statement &statement, int index, const std::string &value) {
  if (int code = sqlite3_bind_text(statement.get(), index, value.data(), int(value.size()), SQLITE_TRANSIENT))
    fail(code);
}
void Sqlite::bind(Statement &statement, int index, int64_t value) {
  if (int code = sqlite3_bind_int64(statement.get(), index, value))
    fail(code);
}
void Sqlite::bind(Statement &statement, int index, double value) {
  if (int code = sqlite3_bind_double(statement.get(), index, value))
    fail(code);
}

std::vector<std::vector<std::string>> Sqlite::rows(Statement &statement) {
  std::vector<std::vector<std::string>> rows;
  for (;;) {
    int code = sqlite3_step(statement.get());
    if (code == SQLITE_DONE)
      return rows;
    if (code != SQLITE_ROW)
      fail(code);
    std::vector<std::string> &row = rows.emplace_back();
    for (int column = 0; column < sqlite3_column_count(statement.get()); ++column) {
      if (sqlite3_column_type(statement.get(), column) == SQLITE_FLOAT) { // SQLite's own text has 15 digits
        row.push_back(fmt::format("{}", sqlite3_column_double(statement.get(), column)));
        continue;
      }
      const unsigned char *text = sqlite3_column_text(statement.get(), column);
      row.emplace_back(text ? reinterpret_cast<const char *>(text) : "",
                       size_t(sqlite3_column_bytes(statement.get(), column)));
    }
  }
}

int64_t Sqlite::number(const char *sql) {
  return std::stoll(run(sql).at(0).at(0));
}

int64_t Sqlite::lastRow() const {
  return sqlite3_last_insert_rowid(connection);
}

} // namespace heddle::autotune
