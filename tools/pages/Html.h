// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Self-contained HTML pages for reports that are looked at: one style for light and dark screens, no script, nothing
// that is loaded from elsewhere.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The text with `&`, `<`, `>` and quotes escaped. Bytes that are no UTF-8 and control characters but line feed and tab
/// become U+FFFD, so that any text of a user gives a valid page.
std::string escapeHtml(std::string_view text);

/// The custom properties of the colours, for pages and for SVG files: `--text`, `--back`, `--series0`, `--kind-LDS`,
/// ... Each has a value for light screens and one for dark ones.
extern const char *const pageColours;

class HtmlPage {
public:
  /// `title` is the heading of the page too.
  explicit HtmlPage(std::string title) : title(std::move(title)) {}

  void add(std::string_view html) { body += html; } ///< as it is
  void heading(std::string_view text, std::string_view anchor = "");
  void paragraph(std::string_view text); ///< what stands between two back-ticks is code, in a table's cell too
  void preformatted(std::string_view text);
  /// The first row is the heading. Columns whose cells below it are numbers, or empty, are aligned to
  /// the right.
  void table(const std::vector<std::vector<std::string>> &rows);
  std::string text() const; ///< the whole file

private:
  std::string title, body;
};

} // namespace heddle
