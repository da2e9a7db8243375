// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finding source files, and showing parts of them.
#include "tools/SourceExcerpt.h"
#include "support/Error.h"
#include "support/File.h"
#include "tools/pages/Html.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace heddle {
namespace {

/// What is no file of text that can be shown is nothing.
std::optional<std::vector<std::string>> tryRead(const std::filesystem::path &path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure))
    return std::nullopt;
  try {
    return splitLines(readFile(path.string()));
  } catch (const Error &) {
    return std::nullopt;
  }
}

} // namespace

std::vector<std::string> splitLines(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at - (end > at && text[end - 1] == '\r')));
    at = end + 1;
  }
  return lines;
}

SourceFiles::SourceFiles(std::vector<std::string> folders, std::map<std::string, std::string> paths,
                         const std::string &object)
    : folders(std::move(folders)), paths(std::move(paths)) {
  this->folders.push_back(""); // the path that the compiler had
  this->folders.push_back(std::filesystem::path(object).parent_path().string() + "/.");
  this->folders.push_back(".");
}

const std::optional<std::vector<std::string>> &SourceFiles::lines(const std::string &name) {
  auto [found, isNew] = read.try_emplace(name);
  for (size_t i = 0; isNew && i < folders.size() && !found->second; ++i) {
    if (folders[i].empty())
      found->second = tryRead(paths.contains(name) ? paths.at(name) : "");
    else
      found->second = tryRead(std::filesystem::path(folders[i] == "/." ? "." : folders[i]) / name);
  }
  return found->second;
}

std::string sourceExcerpt(const std::vector<std::string> &lines, const std::vector<SourceNote> &notes,
                          unsigned around) {
  std::vector<bool> isShown(lines.size() + 1);
  for (const SourceNote &note : notes)
    for (size_t line = note.line > around ? note.line - around : 1; line <= note.line + around && line <= lines.size();
         ++line)
      isShown[line] = true;
  std::string html = "<div class=\"listing\">";
  bool isCut = false;
  for (size_t line = 1; line <= lines.size(); ++line) {
    if (!isShown[line]) {
      isCut = true;
      continue;
    }
    if (isCut && html.back() == '\n')
      html += "<span class=\"note\">  ...</span>\n";
    isCut = false;
    std::string style;
    for (const SourceNote &note : notes)
      if (note.line == line && style.empty())
        style = note.style;
    html += fmt::format("<span class=\"{}\"><span class=\"number\">{}</span>{}</span>\n", style, line,
                        escapeHtml(lines[line - 1]));
    for (const SourceNote &note : notes)
      if (note.line == line)
        html += fmt::format("<span class=\"note {}\"><span class=\"number\"></span>{}</span>\n", note.style, note.html);
  }
  return html + "</div>\n";
}

} // namespace heddle
