// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-threads TEXT X,Y,Z ARGUMENT...: runs a kernel for sm_90 in the thread interpreter. An argument is the bits of
// a scalar, a number, or a buffer, @FILE, whose bytes it reads and writes back. It fails where the interpreter finds a
// race or another fault.
#include "support/Error.h"
#include "support/File.h"
#include "tests/executors/Executor.h"
#include <cstdio>
#include <fmt/format.h>

using namespace heddle;

static reference::Grid parseGrid(const std::string &text) {
  reference::Grid grid;
  unsigned x = 1, y = 1, z = 1;
  if (std::sscanf(text.c_str(), "%u,%u,%u", &x, &y, &z) < 1)
    throw inputError("`" + text + "` is no grid: give X,Y,Z");
  grid.x = x, grid.y = y, grid.z = z;
  return grid;
}

static int run(int count, char **words) {
  if (count < 3) {
    fmt::print(stderr, "usage: heddle-threads TEXT X,Y,Z [BITS | @FILE]...\n");
    return 2;
  }
  std::vector<reference::Argument> arguments;
  std::vector<std::string> files;
  for (int i = 3; i < count; ++i) {
    std::string word = words[i];
    files.push_back(word.starts_with("@") ? word.substr(1) : "");
    if (files.back().empty()) {
      arguments.push_back(reference::Argument::scalar(std::stoull(word, nullptr, 0)));
      continue;
    }
    std::string bytes = readFile(files.back());
    arguments.push_back(reference::Argument::buffer({bytes.begin(), bytes.end()}));
  }
  executors::makeThreadsExecutor()->run(readFile(words[1]), parseGrid(words[2]), arguments);
  for (size_t i = 0; i < files.size(); ++i)
    if (!files[i].empty())
      writeFileAtomically(files[i], std::string(arguments[i].bytes.begin(), arguments[i].bytes.end()));
  return 0;
}

int main(int count, char **words) {
  try {
    return run(count, words);
  } catch (const std::exception &error) {
    fmt::print(stderr, "heddle-threads: {}\n", error.what());
    return 1;
  }
}
