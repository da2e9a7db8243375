// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows, one after the other, each in a process of its own: the host device's threads are fixed at their first use,
// and no row finds what another left. Exit codes: 0 all targets met, 1 a target missed, 2 bad arguments, 3 a row
// failed.
#include "bench/Report.h"
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace heddle::bench;
using nlohmann::json;

namespace {

json measureHere(const Row &row, const Budget &budget) {
  if (row.threads > 0)
    ::setenv("HEDDLE_HOST_THREADS", std::to_string(row.threads).c_str(), /*replace=*/1);
  try {
    return toJson(row, row.measure(budget));
  } catch (const std::exception &error) {
    return {{"row", row.name}, {"target", row.target}, {"error", error.what()}};
  }
}

json measureApart(const Row &row, const Budget &budget) {
  int ends[2];
  if (::pipe(ends) != 0)
    return {{"row", row.name}, {"target", row.target}, {"error", "no pipe"}};
  pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    std::string text = measureHere(row, budget).dump();
    for (size_t done = 0; done < text.size();) {
      ssize_t written = ::write(ends[1], text.data() + done, text.size() - done);
      if (written <= 0)
        break;
      done += size_t(written);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = ::read(ends[0], piece, sizeof piece)) > 0;)
    text.append(piece, size_t(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  json result = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (result.is_discarded())
    return {
        {"row", row.name}, {"target", row.target}, {"error", fmt::format("its process ended with status {}", status)}};
  return result;
}

int exitCode(const json &results) {
  int code = 0;
  for (const json &result : results) {
    if (result.contains("error"))
      return 3;
    if (result["target"] != 0 && result.contains("met") && !result["met"])
      code = 1;
  }
  return code;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("measures the rows of the project's speed targets on this machine");
  std::string filter;
  bool asJson = false, list = false;
  Budget budget;
  app.add_option("--filter", filter, "only rows whose name contains this");
  app.add_option("--seconds", budget.seconds, "seconds of samples for each row")->check(CLI::Range(0.0, 3600.0));
  app.add_flag("--json", asJson, "print JSON instead of tables");
  app.add_flag("--list", list, "print the rows and stop");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::vector<Row> rows;
  addVectorAddRows(rows), addSoftmaxRows(rows), addMatmulRow(rows), addCollectiveRows(rows), addCompileRows(rows);
  std::erase_if(rows, [&](const Row &row) { return row.name.find(filter) == std::string::npos; });
  if (rows.empty()) {
    fmt::print(stderr, "heddle-bench: error: no row's name contains '{}'; see --list\n", filter);
    return 2;
  }
  json results = json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (list) {
      fmt::print("{:<32}{}\n", rows[i].name, rows[i].what);
      continue;
    }
    fmt::print(stderr, "[{}/{}] {}\n", i + 1, rows.size(), rows[i].name);
    results.push_back(measureApart(rows[i], budget));
  }
  if (list)
    return 0;
  fmt::print("{}", asJson ? results.dump(2) + "\n" : table(results));
  return exitCode(results);
}
