// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The verbs of `heddle`, one file each. A verb adds its subcommand and returns what to do when it is chosen.
#pragma once
#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace heddle {

/// What a chosen verb does; returns the exit code and throws heddle::Error.
using VerbAction = std::function<int()>;

/// Each sets `action` when the command line names its verb. `commandLine` is the whole of it, for reproducers.
void addCompile(CLI::App &program, VerbAction &action, const std::string &commandLine);
void addPackage(CLI::App &program, VerbAction &action);
void addRun(CLI::App &program, VerbAction &action, const std::string &commandLine);
void addInspect(CLI::App &program, VerbAction &action);
void addSimulate(CLI::App &program, VerbAction &action);
void addCheck(CLI::App &program, VerbAction &action);
void addMutate(CLI::App &program, VerbAction &action);
void addBench(CLI::App &program, VerbAction &action);
void addTune(CLI::App &program, VerbAction &action);
void addDoctor(CLI::App &program, VerbAction &action);

} // namespace heddle
