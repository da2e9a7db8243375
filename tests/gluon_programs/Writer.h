// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of a TTGIR module, as Triton 3.9 prints it: aliases of encodings, parameters, operations line by line.
#pragma once
#include "tests/gluon_programs/Layouts.h"
#include "tests/reference/Evaluator.h"
#include <map>

namespace heddle::gluon_programs {

class Writer {
public:
  Writer(std::string chip, int warps) : chip(std::move(chip)), warps(warps) {}

  std::string fresh() { return "%" + std::to_string(count++); }
  void line(const std::string &text) { body += indentation + text + "\n"; }
  /// `%n = expression`; the name.
  std::string define(const std::string &expression);
  void begin(const std::string &head); ///< of a region
  void end(const std::string &tail = "}");
  void otherwise(); ///< `} else {`

  /// The short name of an encoding: `#blocked1`.
  std::string alias(const std::string &encoding);

  /// A parameter, and its argument: a buffer of `values`, which is `expected` after the run, or an i32.
  std::string buffer(const Element &element, const std::vector<int64_t> &values, const std::vector<int64_t> &expected,
                     bool isDivisible);
  std::string scalar(int64_t value, bool isDivisible = false);
  std::string constant(int64_t value);
  std::string constantTile(const Element &element, const Shape &shape, const std::string &layout, int64_t value);

  std::string text() const;

  std::vector<reference::Argument> arguments, expected;
  std::vector<std::string> notes;    ///< of arguments
  std::vector<std::string> elements; ///< of buffers; empty: a scalar

private:
  std::string chip;
  int warps;
  std::string parameters, body, indentation = "    ";
  int count = 0;
  std::vector<std::pair<std::string, std::string>> aliases; ///< encoding, name
  std::map<std::string, int> kinds;                         ///< aliases of each kind
};

} // namespace heddle::gluon_programs
