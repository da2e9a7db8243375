// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Quotes for a POSIX shell.
#include "support/ShellWord.h"

namespace heddle {

std::string quoteForShell(const std::string &word) {
  bool plain = !word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                       "0123456789_-+=:,./@%") == std::string::npos;
  if (plain)
    return word;
  std::string quoted = "'";
  for (char letter : word)
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

} // namespace heddle
