// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The commands of the console and what each prints.
#include "tools/Step.h"
#include "tools/Output.h"
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <unistd.h>

namespace heddle {

constexpr const char *commands = R"(  enter    one instruction
  n COUNT  COUNT instructions, of whichever waves
  c        to the end
  v N, s N vector register N in all lanes, scalar register N
  q        quit)";

/// Whether the kernel goes on.
bool StepConsole::obey(const SimulatedStop &stop, const std::string &command) {
  if (command.empty())
    return true;
  std::string value = command.size() > 2 && command[1] == ' ' ? command.substr(2) : "";
  auto number = [&](int least) { return parseIntegerOption(command.substr(0, 1), value, least); };
  if (command == "q")
    throw StepQuit();
  if (command == "c") {
    left = UINT64_MAX;
    return true;
  }
  try {
    if (command[0] == 'n' && !value.empty()) {
      left = uint64_t(number(1)) - 1;
      return true;
    }
    if (command[0] == 'v' && !value.empty())
      say(stop.vectorRegister(unsigned(number(0))));
    else if (command[0] == 's' && !value.empty())
      say(stop.scalarRegister(unsigned(number(0))));
    else
      say(fmt::format("there is no command `{}`; there are\n{}", command, commands));
  } catch (const Error &error) {
    say(error.what());
  }
  return false;
}

void StepConsole::stop(const SimulatedStop &stop) {
  if (left > 0) {
    left -= left != UINT64_MAX;
    return;
  }
  for (const std::string &line : stop.written())
    say("  " + line);
  say(stop.line());
  for (const std::string &line : stop.operands())
    say("  " + line);
  std::string command;
  do {
    if (isatty(STDIN_FILENO))
      fmt::print(stderr, "> ");
    if (!std::getline(std::cin, command)) {
      left = UINT64_MAX;
      return;
    }
  } while (!obey(stop, command));
}

} // namespace heddle
