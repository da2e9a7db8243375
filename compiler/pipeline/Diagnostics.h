// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MLIR's diagnostics as messages in Heddle's form: `file:line:column: what is wrong`, notes with the next step.
#pragma once
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>
#include <vector>

namespace heddle {

struct Message {
  std::string text; ///< with its location in front when it has one
  std::vector<std::string> notes;
};

/// While it lives, keeps the diagnostics of a context. Not for use by several threads.
class DiagnosticCollection {
public:
  /// `text` and `name` are those of the input, or empty.
  DiagnosticCollection(mlir::MLIRContext *context, const std::string &text, const std::string &name);

  std::vector<Message> errors, warnings, remarks;

private:
  void collect(mlir::Diagnostic &diagnostic);
  void noteTextPosition(mlir::Location location, const std::string &message, std::vector<std::string> &notes);
  void noteClosestOperation(const std::string &message, std::vector<std::string> &notes);

  mlir::MLIRContext *context;
  const std::string &text, &name;
  bool busy = false; ///< reading the text again for a position
  mlir::ScopedDiagnosticHandler handler;
};

/// The innermost position: a call site's callee, the first part of a fused location that has one.
std::optional<mlir::FileLineColLoc> innermost(mlir::Location location);

/// `file:line:column` of the innermost source position in `location`; empty when it has none.
std::string formatLocation(mlir::Location location);

} // namespace heddle
