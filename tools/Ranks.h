// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verbs whose ranks are processes: the program starts itself once for each rank, or is one that a launcher has started.
#pragma once
#include "runtime/processes/Bootstrap.h"
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace heddle {

/// `--processes N`, `--bootstrap ADDRESS`, `--rank R` of a verb.
struct RankOptions {
  int processes = 0; ///< 0: not given
  int rank = -1;
  std::string bootstrap;

  /// Whether this process is to start the ranks: it is none itself.
  bool starts() const { return processes && bootstrap.empty(); }
  /// How this process connects to the others; none when it is the only one. Throws Error{Input} for options that do not
  /// go together.
  std::optional<BootstrapOptions> bootstrapOptions() const;
};
void addRankOptions(CLI::App &verb, RankOptions &options);

/// To be called by main: `words` are its own, and `/proc/self/exe` is a program that does with them what this one does.
void rememberProgram(const std::vector<std::string> &words);
/// Those words; empty in a program that has no main of heddle's.
const std::vector<std::string> &rememberedProgram();

/// Starts this program `count` times with its own words and each rank's, and waits. Rank 0 has the standard output;
/// what a rank writes to standard error comes out here with `rank R: ` before each line. When one has failed, the
/// others have two seconds to end, and are killed then. Returns the largest exit code; that of a rank that a signal
/// ended is ErrorClass::Environment. No rank is left. Throws Error{Input} in a program that has no main of heddle's.
int runRanks(int count);

} // namespace heddle
