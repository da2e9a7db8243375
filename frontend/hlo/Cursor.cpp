// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lexical pieces, read by hand: what a character means in HLO text depends on what was asked for.
#include "frontend/hlo/Cursor.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace heddle::hlo {

static bool isWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

static bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

Cursor::Cursor(std::string_view text, std::string fileName) : text(text), fileName(std::move(fileName)), lineStarts{0} {
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n')
      lineStarts.push_back(i + 1);
}

Location Cursor::locationOf(size_t offset) const {
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  size_t line = size_t(next - lineStarts.begin());
  return {int(line), int(offset - lineStarts[line - 1]) + 1};
}

std::string Cursor::prefix(Location location) const {
  return fmt::format("{}:{}:{}: ", fileName, location.line, location.column);
}

void Cursor::fail(Location location, const std::string &message, std::vector<std::string> notes) const {
  throw inputError(prefix(location) + message, std::move(notes));
}

void Cursor::failHere(const std::string &message, std::vector<std::string> notes) {
  fail(here(), message, std::move(notes));
}

void Cursor::skipSpace() {
  while (position < text.size()) {
    if (isSpace(text[position])) {
      ++position;
    } else if (text.substr(position, 2) == "//") {
      position = std::min(text.find('\n', position), text.size());
    } else if (text.substr(position, 2) == "/*") {
      size_t end = text.find("*/", position + 2);
      if (end == std::string_view::npos)
        fail(locationOf(position), "this comment is not closed", {"end it with `*/`"});
      position = end + 2;
    } else {
      return;
    }
  }
}

Location Cursor::here() {
  skipSpace();
  return locationOf(position);
}

bool Cursor::atEnd() {
  skipSpace();
  return position == text.size();
}

char Cursor::peek() {
  skipSpace();
  return position < text.size() ? text[position] : '\0';
}

std::string_view Cursor::peekWord() {
  skipSpace();
  size_t end = position;
  // `->` ends a word although words hold dashes.
  while (end < text.size() && isWordCharacter(text[end]) && text.substr(end, 2) != "->")
    ++end;
  return text.substr(position, end - position);
}

char Cursor::peekBehindWord() {
  size_t saved = position;
  skipSpace();
  position += peekWord().size();
  char next = peek();
  position = saved;
  return next;
}

char Cursor::peekSecond() {
  size_t saved = position;
  char next = '\0';
  if (!atEnd()) {
    ++position;
    next = peek();
  }
  position = saved;
  return next;
}

bool Cursor::accept(std::string_view piece) {
  skipSpace();
  if (text.substr(position, piece.size()) != piece)
    return false;
  position += piece.size();
  return true;
}

bool Cursor::acceptCommaBeforeAttribute() {
  size_t saved = position;
  if (accept(",") && !peekWord().empty() && peekBehindWord() == '=')
    return true;
  position = saved;
  return false;
}

std::string Cursor::found() {
  if (atEnd())
    return "the end of the text";
  std::string_view next = peekWord();
  return fmt::format("'{}'", next.empty() ? text.substr(position, 1) : next.substr(0, 60));
}

void Cursor::expect(std::string_view piece) {
  if (!accept(piece))
    failHere(fmt::format("expects '{}', found {}", piece, found()));
}

std::string_view Cursor::word(const char *what) {
  std::string_view next = peekWord();
  if (next.empty())
    failHere(fmt::format("expects {}, found {}", what, found()));
  position += next.size();
  return next;
}

std::string Cursor::name(const char *what) {
  accept("%");
  return std::string(word(what));
}

int64_t Cursor::integer() {
  Location location = here();
  std::string_view next = peekWord();
  int64_t value = 0;
  auto [stop, status] = std::from_chars(next.data(), next.data() + next.size(), value);
  if (status == std::errc::result_out_of_range)
    fail(location, fmt::format("the integer {} does not fit 64 bits", next.substr(0, 60)));
  if (next.empty() || stop != next.data() + next.size() || status != std::errc())
    fail(location, fmt::format("expects an integer, found {}", found()));
  position += next.size();
  return value;
}

bool Cursor::boolean() {
  Location location = here();
  std::string_view next = word("true or false");
  if (next != "true" && next != "false" && next != "0" && next != "1")
    fail(location, fmt::format("expects true or false, found '{}'", next.substr(0, 60)));
  return next == "true" || next == "1";
}

void Cursor::skipQuoted() {
  size_t opened = position;
  char quote = text[position++];
  while (position < text.size() && text[position] != quote)
    position += text[position] == '\\' ? 2 : 1;
  if (position >= text.size()) {
    position = text.size();
    fail(locationOf(opened), "this string is not closed", {fmt::format("end it with `{}`", quote)});
  }
  ++position;
}

std::string Cursor::quoted() {
  char quote = peek();
  if (quote != '"' && quote != '\'')
    failHere(fmt::format("expects a name in quotes, found {}", found()));
  size_t begin = position;
  skipQuoted();
  return std::string(text.substr(begin + 1, position - begin - 2));
}

std::vector<int64_t> Cursor::integers(const char *open, const char *close) {
  std::vector<int64_t> values;
  Location opened = here();
  expect(open);
  if (accept(close))
    return values;
  do
    values.push_back(integer());
  while (accept(","));
  if (atEnd())
    fail(opened, fmt::format("this '{}' is not closed", open));
  expect(close);
  return values;
}

std::string Cursor::rawValue() {
  skipSpace();
  size_t begin = position;
  std::vector<size_t> opened;
  for (; position < text.size(); ++position) {
    char c = text[position];
    if (c == '"') {
      skipQuoted();
      --position;
    } else if (c == '{' || c == '(' || c == '[') {
      opened.push_back(position);
    } else if (c == '}' || c == ')' || c == ']') {
      if (opened.empty())
        break;
      char open = text[opened.back()];
      if (c != (open == '(' ? ')' : char(open + 2)))
        fail(locationOf(opened.back()), fmt::format("this '{}' is closed by '{}'", open, c));
      opened.pop_back();
    } else if (opened.empty() && (c == ',' || c == '\n')) {
      break;
    }
  }
  if (!opened.empty())
    fail(locationOf(opened.back()), fmt::format("this '{}' is not closed", text[opened.back()]));
  std::string_view value = text.substr(begin, position - begin);
  while (!value.empty() && isSpace(value.back()))
    value.remove_suffix(1);
  return std::string(value);
}

std::string Cursor::rawUntil(char open, char close) {
  size_t begin = position - 1;
  std::string value;
  for (int depth = 1; position < text.size(); ++position) {
    char c = text[position];
    depth += c == open ? 1 : c == close ? -1 : 0;
    if (depth == 0) {
      ++position;
      return value;
    }
    if (c == '\n')
      break;
    if (!isSpace(c))
      value += c;
  }
  fail(locationOf(begin), fmt::format("this '{}' is not closed", open));
}

} // namespace heddle::hlo
