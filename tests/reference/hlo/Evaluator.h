// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plain evaluator of HLO modules: element by element, all devices in lock step, sharing no code with any lowering.
// What the compiler's results are compared with.
#pragma once
#include "frontend/hlo/Hlo.h"
#include "tests/reference/hlo/Value.h"

namespace heddle::hlo::reference {

/// inputs[device][parameter]; one result for each of the module's replicaCount * partitionCount devices, device number
/// replica * partitionCount + partition. Collectives fold in rank order, sums from +0.0, in f32 (f64 for f64) with one
/// rounding at the end. Throws Error{Input}: inputs that do not fit, a collective that only some devices reach, a loop
/// of more than 100000 trips, values above 1 GiB.
std::vector<Value> evaluate(const Module &module, const std::vector<std::vector<Value>> &inputs);

} // namespace heddle::hlo::reference
