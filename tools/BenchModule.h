// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle bench` of HLO modules: each beside itself without fusion.
#pragma once
#include "tools/BenchReport.h"

namespace heddle {

/// The files of `request.inputs`, one row each. The exit code: ErrorClass::WrongResult when results differ.
int benchModules(const BenchVerbRequest &request);

} // namespace heddle
