// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines of source files with notes below them, for pages. A code object names its sources; the files may have moved.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// The lines of a text, without their ends `\n` or `\r\n`.
std::vector<std::string> splitLines(const std::string &text);

/// Where source files are looked for: in the folders that the user names, at the path that the compiler had, beside the
/// object, and in the working folder. The first that can be read is taken.
class SourceFiles {
public:
  SourceFiles(std::vector<std::string> folders, std::map<std::string, std::string> paths, const std::string &object);
  /// The lines of the file that is called `name` in debug information; none when it is nowhere.
  const std::optional<std::vector<std::string>> &lines(const std::string &name);

private:
  std::vector<std::string> folders;
  std::map<std::string, std::string> paths;
  std::map<std::string, std::optional<std::vector<std::string>>> read;
};

struct SourceNote {
  unsigned line = 0;
  std::string style; ///< `first`, `second`, or nothing
  std::string html;  ///< what stands below the line
};

/// The lines with notes and `around` lines before and after each; what is left out between them is a line `...`.
std::string sourceExcerpt(const std::vector<std::string> &lines, const std::vector<SourceNote> &notes, unsigned around);

} // namespace heddle
