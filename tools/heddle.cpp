// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle: the program. Each verb has a file of its own; this one parses the command line and turns errors into exits.
#include "api/Heddle.h"
#include "tools/Output.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <csignal>
#include <fmt/format.h>
#include <new>

namespace {

constexpr const char *overview = R"(heddle: compiles GPU tile kernels and runs them

  heddle compile matmul.ttir -o matmul.hpkg
  heddle compile matmul.ttir --to llvm-ir
  heddle run add.ttir --grid 4 --arg x=@x.npy --arg y=rand:f32[4096]:7 --arg out=f32[4096] --arg n=4096 --out out=out.npy
  heddle run add.hpkg --grid 4 --arg ... --device host --repeat 100
  heddle inspect matmul.hpkg --asm
  heddle doctor

Verbs (each has --help):
  compile   a kernel's Triton IR text to a package
  run       a kernel on a device, from its text or its package
  inspect   what is in a package
  doctor    what this machine has, and every setting with its origin

Options:
  --help, -h    this text
  --version     versions of heddle and LLVM

Exit codes: 0 done, 1 wrong result, 2 bad input, 3 environment, 70 a fault of heddle
)";

/// Quoted where a shell would need it.
std::string joinCommandLine(int count, char **words) {
  std::string line;
  for (int i = 0; i < count; ++i) {
    std::string word = words[i];
    bool plain = !word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                         "0123456789_-+=:,./@%") == std::string::npos;
    line += (i ? " " : "") + (plain ? word : "'" + word + "'");
  }
  return line;
}

int runProgram(int count, char **words) {
  CLI::App program;
  program.require_subcommand(0, 1);
  program.set_help_flag();
  bool help = false, version = false;
  program.add_flag("-h,--help", help);
  program.add_flag("--version", version);
  heddle::VerbAction action;
  std::string commandLine = joinCommandLine(count, words);
  heddle::addCompile(program, action, commandLine);
  heddle::addRun(program, action, commandLine);
  heddle::addInspect(program, action);
  heddle::addDoctor(program, action);
  try {
    program.parse(count, words);
  } catch (const CLI::CallForHelp &) {
    for (CLI::App *verb : program.get_subcommands())
      heddle::printData(verb->get_footer());
    return 0;
  } catch (const CLI::ParseError &error) {
    std::string verb;
    for (CLI::App *chosen : program.get_subcommands())
      verb = " " + chosen->get_name();
    throw heddle::inputError(error.what(), {fmt::format("`heddle{} --help` shows the options", verb)});
  }
  if (version) {
    heddle::printData(fmt::format("heddle {} (LLVM {})\n", heddle::version(), heddle::llvmVersion()));
    return 0;
  }
  if (help) {
    heddle::printData(overview);
    return 0;
  }
  if (!action)
    throw heddle::inputError("no verb: say compile, run, inspect or doctor", {"`heddle --help` shows examples"});
  return action();
}

} // namespace

int main(int count, char **words) {
  std::signal(SIGPIPE, SIG_IGN); // a closed pipe is seen where it is written
  try {
    return runProgram(count, words);
  } catch (const heddle::Error &error) {
    heddle::printError(error);
    return int(error.kind);
  } catch (const std::bad_alloc &) {
    heddle::printError(heddle::environmentError("out of memory"));
    return int(heddle::ErrorClass::Environment);
  } catch (const std::exception &error) {
    heddle::printError(heddle::internalError(error.what()));
    return int(heddle::ErrorClass::Internal);
  }
}
