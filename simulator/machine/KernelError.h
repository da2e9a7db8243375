// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What ended a kernel early: an error whose notes keep the instructions that they name.
#pragma once
#include "simulator/state/ReportLine.h"
#include "support/Error.h"

namespace heddle::simulator {

class KernelError : public Error {
public:
  KernelError(const std::string &message, std::vector<ReportLine> noteLines)
      : Error(ErrorClass::WrongResult, message, textsOf(noteLines)), lines(std::move(noteLines)) {}
  /// Of one that names no instruction.
  explicit KernelError(const Error &error) : Error(error), lines(error.notes.begin(), error.notes.end()) {}

  std::vector<ReportLine> lines; ///< the notes
};

} // namespace heddle::simulator
