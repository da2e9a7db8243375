// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle inspect --html`: the phases of a text side by side, and the machine code of a kernel with its registers.
#pragma once
#include "api/Heddle.h"
#include "api/InspectCodeObject.h"

namespace heddle {

/// What a phase left of a text.
struct PhaseText {
  PhaseDescription phase;
  double milliseconds = 0;
  std::string text; ///< empty where the phase leaves none
};
/// Compiles the text up to each phase in turn. Throws what compile() throws.
std::vector<PhaseText> textOfPhases(const std::string &text, const std::string &name, CompileOptions options);

struct InspectPageContent {
  std::string title;
  std::vector<std::vector<std::string>> rows; ///< what `heddle inspect` prints, two columns
  std::vector<PhaseText> phases;              ///< of a text
  std::optional<InspectedKernel> code;        ///< AMD code, with live registers
  std::string assembly;                       ///< of other code
};
std::string inspectPage(const InspectPageContent &content);

} // namespace heddle
