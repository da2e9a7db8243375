// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions of many elements, as reductions of parts and of their results: a long sum in one accumulator loses digits,
// and runs on one thread.
#pragma once
#include "program/Graph.h"

namespace heddle::program {

/// Adds a `reduce` of one array, whose shape is `from`, or several that make the same. `result` is the shape of the
/// reduction; operands are the array and the first value.
NodeId addReduction(const hlo::Module &module, const hlo::Instruction &reduction, const hlo::Shape &result,
                    const hlo::Shape &from, const std::vector<NodeId> &operands, const AddNode &add);

} // namespace heddle::program
