// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line: finds the verb, each of which has a file of its own, and says what is wrong with the words.
#include "tools/Program.h"
#include "api/Heddle.h"
#include "support/ShellWord.h"
#include "support/Suggest.h"
#include "tools/Output.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <cctype>
#include <fmt/format.h>

namespace {

constexpr const char *overview = R"(heddle: compiles GPU tile kernels and runs them

  heddle compile matmul.ttir -o matmul.hpkg
  heddle compile matmul.ttir --to llvm-ir
  heddle run add.ttir --grid 4 --arg x=@x.npy --arg y=rand:f32[4096]:7 --arg out=f32[4096] --arg n=4096 --out out=out.npy
  heddle run add.hpkg --grid 4 --arg ... --device host --repeat 100
  heddle inspect matmul.hpkg --asm
  heddle simulate add.hsaco --grid 4 --block 256 --arg x=@x.npy --arg out=f32[1024] --out out=out.npy
  heddle check add.hsaco --grid 4 --block 256 --arg x=rand:f32[1024]:7 --arg out=f32[1024]
  heddle bench all-reduce -b 1K -e 64M -f 4
  heddle tune kernel:fp8_rowwise_2d --shape M=16640,K=5120 --device cuda
  heddle doctor

Verbs (each has --help):
  compile   a kernel's Triton IR text to a package
  package   kernels of the library and of collectives to a bundle, for programs without a compiler
  run       a kernel on a device, from its text or its package
  inspect   what is in a package, what each phase makes of a kernel, what a collective or a module does
  simulate  a kernel of an AMD code object, without such a device
  check     whether such a kernel is right under many schedules that the memory model allows
  mutate    whether `check` finds faults that are put into such a kernel
  bench     how fast a collective is, and whether its result is right
  tune      which tile parameters make a kernel of the library fastest
  doctor    what this machine has, and every setting with its origin

Options:
  --help, -h    this text
  --version     versions of heddle and LLVM

Exit codes: 0 done, 1 wrong result, 2 bad input, 3 environment, 70 a fault of heddle
)";

std::string joinCommandLine(const std::vector<std::string> &words) {
  std::string line;
  for (const std::string &word : words)
    line += (line.empty() ? "" : " ") + heddle::quoteForShell(word);
  return line;
}

/// What the command line does wrong, in our words where we have better ones than the parser's.
heddle::Error describeMisuse(CLI::App &program, const CLI::ParseError &error) {
  std::vector<std::string> known, notes;
  CLI::App *at = &program;
  for (CLI::App *verb : program.get_subcommands())
    at = verb;
  for (const CLI::Option *option : at->get_options())
    for (const std::string &name : option->get_lnames())
      known.push_back("--" + name);
  for (const CLI::App *verb : at->get_subcommands(nullptr))
    known.push_back(verb->get_name());
  std::string message = error.what();
  message[0] = char(std::tolower(message[0]));
  if (error.get_exit_code() == int(CLI::ExitCodes::ArgumentMismatch)) {
    std::string option = std::string(error.what()).substr(0, std::string(error.what()).find(':'));
    bool missing = message.ends_with("missing");
    message = fmt::format("`{}` {}", option, missing ? "wants a value" : "is given more than once");
  }
  std::vector<std::string> extras = at->remaining();
  if (extras.empty())
    extras = program.remaining();
  bool isMissing = error.get_exit_code() == int(CLI::ExitCodes::RequiredError);
  if (!extras.empty() && (isMissing || error.get_exit_code() == int(CLI::ExitCodes::ExtrasError))) {
    std::string extra = extras.front();
    std::string option = extra.substr(0, extra.find('='));
    message = fmt::format("{} `{}`",
                          extra[0] == '-'  ? "unknown option"
                          : at == &program ? "unknown verb"
                                           : "unexpected",
                          extra[0] == '-' ? option : extra);
    if (std::string close = heddle::closestName(option, known); !close.empty())
      notes.push_back(fmt::format("the closest is `{}`", close));
  }
  notes.push_back(fmt::format("`heddle{} --help` shows what there is", at == &program ? "" : " " + at->get_name()));
  return heddle::inputError(message, notes);
}

} // namespace

namespace heddle {

int runCommandLine(const std::vector<std::string> &words) {
  CLI::App program;
  program.require_subcommand(0, 1);
  program.set_help_flag();
  bool help = false, version = false;
  program.add_flag("-h,--help", help);
  program.add_flag("--version", version);
  VerbAction action;
  std::string commandLine = joinCommandLine(words);
  addCompile(program, action, commandLine);
  addPackage(program, action);
  addRun(program, action, commandLine);
  addInspect(program, action);
  addSimulate(program, action);
  addCheck(program, action);
  addMutate(program, action);
  addBench(program, action);
  addTune(program, action);
  addDoctor(program, action);
  try {
    program.parse(std::vector<std::string>(words.rbegin(), words.rend() - 1)); // CLI11 takes the last word first
  } catch (const CLI::CallForHelp &) {
    for (CLI::App *verb : program.get_subcommands())
      printData(verb->get_footer());
    return 0;
  } catch (const CLI::ParseError &error) {
    throw describeMisuse(program, error);
  }
  if (version) {
    printData(fmt::format("heddle {} (LLVM {})\n", heddle::version(), llvmVersion()));
    return 0;
  }
  if (help) {
    printData(overview);
    return 0;
  }
  if (!action)
    throw inputError("no verb: say compile, package, run, inspect, simulate, check, mutate, bench, tune or doctor",
                     {"`heddle --help` shows examples"});
  return action();
}

} // namespace heddle
