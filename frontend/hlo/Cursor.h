// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A place in HLO text and the lexical pieces that can be read there. Every failure names file, line and column.
#pragma once
#include "frontend/hlo/Hlo.h"
#include "support/Error.h"
#include <string>
#include <string_view>
#include <vector>

namespace heddle::hlo {

class Cursor {
public:
  Cursor(std::string_view text, std::string fileName);

  /// Where the next piece begins, white space and comments skipped.
  Location here();
  Location locationOf(size_t offset) const;
  bool atEnd();

  /// The next character after white space and comments; 0 at the end.
  char peek();
  /// Whether the next character stands here, nothing skipped before it.
  bool adjacent(char character) const { return position < text.size() && text[position] == character; }
  /// The next letters, digits, `_`, `.` and `-`, without moving; empty when there are none.
  std::string_view peekWord();
  /// The character after the next word or, without one, the next character.
  char peekBehindWord();
  /// The character after the next one.
  char peekSecond();

  bool accept(std::string_view piece);
  bool acceptCommaBeforeAttribute(); ///< a comma, if a word and `=` follow it
  void expect(std::string_view piece);
  std::string_view word(const char *what); ///< `what` says what was expected
  std::string name(const char *what);      ///< a word; a leading `%` is dropped
  int64_t integer();
  bool boolean();
  std::string quoted(); ///< in single or double quotes, without them
  std::vector<int64_t> integers(const char *open, const char *close);

  /// The raw text of an attribute's value: up to a comma, a line's end or a closing bracket that belongs to what
  /// surrounds it; brackets are balanced, quotes respected.
  std::string rawValue();
  /// Raw text up to the bracket that closes the one just read, which is consumed; on one line, white space
  /// removed.
  std::string rawUntil(char open, char close);

  [[noreturn]] void fail(Location location, const std::string &message, std::vector<std::string> notes = {}) const;
  [[noreturn]] void failHere(const std::string &message, std::vector<std::string> notes = {});
  std::string prefix(Location location) const; ///< `FILE:LINE:COLUMN: `

  size_t offset() const { return position; }
  void moveTo(size_t offset) { position = offset; }
  std::string_view slice(size_t from, size_t to) const { return text.substr(from, to - from); }

private:
  void skipSpace();
  void skipQuoted();
  std::string found();

  std::string_view text;
  std::string fileName;
  std::vector<size_t> lineStarts;
  size_t position = 0;
};

} // namespace heddle::hlo
