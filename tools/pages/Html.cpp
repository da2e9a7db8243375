// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The style of all pages, and how text becomes HTML.
#include "tools/pages/Html.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {

const char *const pageColours = R"(
:root {
  color-scheme: light dark;
  --back: #ffffff; --panel: #f6f8fa; --text: #1f2328; --soft: #59636e; --line: #d1d9e0; --grid: #e4e8ec;
  --series0: #0969da; --series1: #bc4c00; --series2: #1a7f37; --series3: #8250df;
  --first: #bc4c00; --second: #0969da; --high: #cf222e; --medium: #9a6700; --low: #59636e; --good: #1a7f37;
  --new: #dafbe1;
  --kind-vector: #4ac26b; --kind-matrix: #218bff; --kind-scalar: #afb8c1; --kind-vector-memory: #8250df;
  --kind-LDS: #e16f24; --kind-scalar-memory: #c297ff; --kind-scratch: #bf3989; --kind-branch: #6e7781;
  --kind-wait: #eac54f; --kind-barrier: #cf222e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0d1117; --panel: #161b22; --text: #e6edf3; --soft: #9198a1; --line: #3d444d; --grid: #262c34;
    --series0: #58a6ff; --series1: #f0883e; --series2: #3fb950; --series3: #bc8cff;
    --first: #f0883e; --second: #58a6ff; --high: #ff7b72; --medium: #d29922; --low: #9198a1; --good: #3fb950;
    --new: #12361f;
    --kind-vector: #2ea043; --kind-matrix: #388bfd; --kind-scalar: #57606a; --kind-vector-memory: #a371f7;
    --kind-LDS: #db6d28; --kind-scalar-memory: #6e40c9; --kind-scratch: #f778ba; --kind-branch: #8b949e;
    --kind-wait: #d4a72c; --kind-barrier: #f85149;
  }
})";

namespace {

constexpr const char *pageStyle = R"(
body { background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1.5rem;
  max-width: 76rem }
h1 { font-size: 1.5rem; margin: 0 0 .5rem } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-top: 1px solid var(--line);
  padding-top: 1rem } h3 { font-size: 1rem; margin: 1rem 0 .3rem }
p { margin: .4rem 0; max-width: 60rem } a { color: var(--series0) }
pre, code, .listing { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace }
pre, .listing { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; overflow-x: auto;
  margin: .5rem 0; tab-size: 8 }
table { border-collapse: collapse; margin: .5rem 0; font-size: 14px } th, td { border-bottom: 1px solid var(--line);
  padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top } th { color: var(--soft); font-weight: 600 }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.soft { color: var(--soft) } .scroll { overflow-x: auto } .badge { border: 1px solid currentColor; border-radius: 1em;
  padding: 0 .6em; font-size: 12px; white-space: nowrap } .high { color: var(--high) } .medium { color: var(--medium) }
.low { color: var(--low) } .good { color: var(--good) } svg { display: block; max-width: none; margin: .5rem 0 }
.listing { padding: .4rem 0 } .listing span { display: block; padding: 0 .8rem; white-space: pre; min-width: max-content }
.listing .number { display: inline-block; width: 3.2em; padding: 0 1em 0 0; min-width: 0; text-align: right;
  color: var(--soft) }
.listing .first { border-left: 4px solid var(--first); padding-left: calc(.8rem - 4px) }
.listing .second { border-left: 4px solid var(--second); padding-left: calc(.8rem - 4px) }
.listing .note { color: var(--soft) } .listing .note.first { color: var(--first) }
.listing .note.second { color: var(--second) } .listing .new { background: var(--new) }
.columns { display: flex; gap: 1rem; overflow-x: auto; align-items: flex-start } .columns > section { flex: 0 0 34rem;
  min-width: 0 } .columns .listing { max-height: 70vh; overflow: auto }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; border-radius: 2px })";

/// The bytes of the UTF-8 character at the front of the text; 0 where there is none.
size_t characterBytes(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : 0u; };
  unsigned lead = byte(0);
  size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  bool isOverlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  bool isOutside = (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf4 && byte(1) > 0x8f); // surrogates; above U+10FFFF
  return isOverlong || isOutside ? 0 : size;
}

bool isNumber(const std::string &cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.,-+eE% x") == std::string::npos &&
         cell.find_first_of("0123456789") != std::string::npos;
}

} // namespace

std::string escapeHtml(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    size_t size = characterBytes(text);
    char first = text.front();
    if (size == 0 || (uint8_t(first) < 0x20 && first != '\n' && first != '\t') || first == 0x7f)
      escaped += "\xef\xbf\xbd";
    else if (first == '&')
      escaped += "&amp;";
    else if (first == '<')
      escaped += "&lt;";
    else if (first == '>')
      escaped += "&gt;";
    else if (first == '"')
      escaped += "&quot;";
    else if (first == '\'')
      escaped += "&#39;";
    else
      escaped += text.substr(0, size);
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return escaped;
}

/// Escaped, and what stands between two back-ticks as code.
static std::string proseHtml(std::string_view text) {
  std::string html;
  for (size_t open, close; (open = text.find('`')) != std::string_view::npos &&
                           (close = text.find('`', open + 1)) != std::string_view::npos;) {
    html +=
        escapeHtml(text.substr(0, open)) + "<code>" + escapeHtml(text.substr(open + 1, close - open - 1)) + "</code>";
    text.remove_prefix(close + 1);
  }
  return html + escapeHtml(text);
}

void HtmlPage::heading(std::string_view text, std::string_view anchor) {
  body += anchor.empty() ? fmt::format("<h2>{}</h2>\n", escapeHtml(text))
                         : fmt::format("<h2 id=\"{}\">{}</h2>\n", escapeHtml(anchor), escapeHtml(text));
}

void HtmlPage::paragraph(std::string_view text) {
  body += fmt::format("<p>{}</p>\n", proseHtml(text));
}

void HtmlPage::preformatted(std::string_view text) {
  body += fmt::format("<pre>{}</pre>\n", escapeHtml(text));
}

void HtmlPage::table(const std::vector<std::vector<std::string>> &rows) {
  std::vector<bool> isRight(rows.empty() ? 0 : rows.front().size());
  for (size_t column = 0; column < isRight.size(); ++column) {
    bool hasText = false;
    for (size_t row = 1; row < rows.size(); ++row) {
      std::string cell = column < rows[row].size() ? rows[row][column] : "";
      isRight[column] = isRight[column] || isNumber(cell);
      hasText |= !cell.empty() && !isNumber(cell);
    }
    isRight[column] = isRight[column] && !hasText;
  }
  body += "<div class=\"scroll\"><table>\n";
  for (const std::vector<std::string> &row : rows) {
    const char *tag = &row == &rows.front() ? "th" : "td";
    body += "<tr>";
    for (size_t column = 0; column < row.size(); ++column)
      body += fmt::format("<{}{}>{}</{}>", tag, column < isRight.size() && isRight[column] ? " class=\"number\"" : "",
                          proseHtml(row[column]), tag);
    body += "</tr>\n";
  }
  body += "</table></div>\n";
}

std::string HtmlPage::text() const {
  return fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<link rel=\"icon\" href=\"data:,\">\n<title>{0}</title>\n"
                     "<style>{1}{2}\n</style>\n</head>\n<body>\n<h1>{0}</h1>\n{3}</body>\n</html>\n",
                     escapeHtml(title), pageColours, pageStyle, body);
}

} // namespace heddle
