// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options that say which kernel of a code object runs with which arguments: the same for `heddle simulate`, `check`
// and `mutate`.
#pragma once
#include "api/Heddle.h"
#include "api/Simulate.h"

namespace CLI {
class App;
}

namespace heddle {

struct KernelOptions {
  std::string input, grid, block;
  std::vector<std::string> arguments, buffers;
  SimulateRequest run;
  CompileOptions compile;    ///< for a kernel's text
  std::string compileOption; ///< the first option given that only a kernel's text can obey, with its value

  void add(CLI::App &verb);
  /// Fills `run` and reads the file. Throws Error{Input} for what is missing or no value.
  std::string parse(const std::string &verb);
  /// `heddle simulate K.hsaco --grid ...`: all that parse() has read.
  std::string commandLine() const;

private:
  void takeBlock(const CodeObjectFile &file);
};

/// What --help says of them.
extern const char *const kernelOptionsHelp;

} // namespace heddle
