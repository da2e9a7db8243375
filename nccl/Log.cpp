// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes lines to standard error, each in one piece.
#include "nccl/Log.h"
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace heddle::dropin {

void say(const char *format, ...) {
  char line[1024];
  int start = std::snprintf(line, sizeof line, "heddle_nccl[%d]: ", int(::getpid()));
  va_list arguments;
  va_start(arguments, format);
  int rest = std::vsnprintf(line + start, sizeof line - size_t(start) - 1, format, arguments);
  va_end(arguments);
  size_t length = std::min(size_t(start) + size_t(std::max(rest, 0)), sizeof line - 2);
  line[length] = '\n';
  (void)!::write(STDERR_FILENO, line, length + 1);
}

bool logsCalls() {
  static const bool logs = [] {
    const char *value = std::getenv("HEDDLE_NCCL_LOG");
    bool calls = value && std::strcmp(value, "calls") == 0;
    if (value && *value && !calls && std::strcmp(value, "off") != 0)
      say("HEDDLE_NCCL_LOG is `%s`, and `calls` or `off` is wanted", value);
    return calls;
  }();
  return logs;
}

} // namespace heddle::dropin
