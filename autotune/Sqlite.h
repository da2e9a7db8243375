// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SQLite in our words: a connection and its statements, which close themselves and throw our errors.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace heddle::autotune {

class Sqlite {
public:
  /// `path` may be `:memory:`. Errors of this and of all statements are Error{Environment} naming the path; of a file
  /// that is damaged or no database Error{Input}.
  explicit Sqlite(std::string path);
  ~Sqlite();
  Sqlite(const Sqlite &) = delete;

  /// One statement. Values are bound to `?` in order; the result is every row, as text.
  template <typename... Values>
  std::vector<std::vector<std::string>> run(const char *sql, const Values &...values) {
    Statement statement = prepare(sql);
    int index = 0;
    (bind(statement, ++index, values), ...);
    return rows(statement);
  }
  int64_t number(const char *sql); ///< the first column of the only row
  int64_t lastRow() const;

private:
  struct Finalize {
    void operator()(sqlite3_stmt *statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;
  Statement prepare(const char *sql);
  void bind(Statement &statement, int index, const std::string &value);
  void bind(Statement &statement, int index, int64_t value);
  void bind(Statement &statement, int index, double value);
  std::vector<std::vector<std::string>> rows(Statement &statement);
  [[noreturn]] void fail(int code);

  std::string path;
  sqlite3 *connection = nullptr;
};

} // namespace heddle::autotune
