// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which rule a diagnostic is of: the numbers of the dialects' verifiers, and words for what has none.
#pragma once
#include <string>

namespace heddle::gluon_programs {

/// The identifier of the rule that says `message`; empty: none that is known here.
std::string ruleOf(const std::string &message);

} // namespace heddle::gluon_programs
