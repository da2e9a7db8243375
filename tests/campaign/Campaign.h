// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line and the loop of a random campaign: one case per seed, until time or count is up. The programs
// heddle-fuzz* say what a case is.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::testing {

class Campaign {
public:
  struct Words {
    std::string program;      ///< `heddle-fuzz-modules`
    std::string cases;        ///< `modules`
    std::string extension;    ///< of the files of cases: `.hlo`
    uint64_t defaultCount;    ///< without --count and --time
    std::string options = {}; ///< help lines for options of the program's own
  };
  explicit Campaign(Words words);

  /// What a failing case leaves: text for standard output, and files by the end of their names (`.small.hlo`).
  struct Failure {
    std::string shown;
    std::vector<std::pair<std::string, std::string>> files;
  };
  struct Actions {
    std::function<void()> prepare = {};                       ///< after the command line was read; may be empty
    std::function<std::string(uint64_t seed)> describe;       ///< the case as text
    std::function<std::optional<Failure>(uint64_t seed)> run; ///< nothing when all is well
    std::string against = {};                                 ///< for the last line: ` against 'host'`
  };
  /// The program's exit code: 0, 1 when a case failed, else the class of the error, which is printed.
  int conduct(int argc, char **argv, Actions &actions);

  CLI::App app; ///< for further options

private:
  int runSeeds(const Actions &actions);
  void dump(const std::string &name, const std::string &text) const;

  Words words;
  uint64_t seed = 0, count = 0;
  double seconds = 0;
  bool stopOnFirst = false, print = false;
  std::string folder;
};

} // namespace heddle::testing
