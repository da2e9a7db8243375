// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one error of every room that knows no MLIR: a class that decides the exit code, a message with both values, and
// notes with the next step. Compiler rooms report MLIR diagnostics instead; the pipeline turns those into this.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// Who has to act; the value is the program's exit code.
enum class ErrorClass {
  WrongResult = 1, ///< the run finished, and its result is wrong
  Input = 2,       ///< the user's input
  Environment = 3, ///< the machine: files, memory, devices, drivers
  Internal = 70,   ///< a fault of ours; the only class that writes a reproducer
};

/// Thrown by support, binary, chips, runtime, frontend and api; never through a frame of LLVM or MLIR.
/// The message is lower case without a full stop and may begin with a location `file:line:column: `.
class Error : public std::runtime_error {
public:
  Error(ErrorClass kind, const std::string &message, std::vector<std::string> notes = {})
      : std::runtime_error(message), kind(kind), notes(std::move(notes)) {}

  ErrorClass kind;
  std::vector<std::string> notes; ///< each one sentence: the next step, or where the other value comes from
};

inline Error inputError(const std::string &message, std::vector<std::string> notes = {}) {
  return Error(ErrorClass::Input, message, std::move(notes));
}
inline Error environmentError(const std::string &message, std::vector<std::string> notes = {}) {
  return Error(ErrorClass::Environment, message, std::move(notes));
}
inline Error internalError(const std::string &message, std::vector<std::string> notes = {}) {
  return Error(ErrorClass::Internal, message, std::move(notes));
}

} // namespace heddle
