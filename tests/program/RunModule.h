// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A module on devices, with inputs that are values of the reference evaluator.
#pragma once
#include "program/Program.h"
#include "tests/reference/hlo/Evaluator.h"

namespace heddle::program::testing {

using Inputs = std::vector<std::vector<hlo::reference::Value>>; ///< [device][parameter]
using Results = std::vector<std::vector<ArrayBytes>>;           ///< [device][array], tuples taken apart

/// Runs `module` on as many of the tests' devices as it is for, twice: what the first run left must not matter.
Results runOnDevices(const hlo::Module &module, const Inputs &inputs, const ProgramOptions &options = {});

/// What the reference makes of the same.
Results runReference(const hlo::Module &module, const Inputs &inputs);

} // namespace heddle::program::testing
