// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who reads data of whom in an algorithm with barriers: the ranks that a barrier which waited for sources alone would
// wait for. A fault to plant in the model.
#pragma once
#include "collectives/Plan.h"
#include <set>
#include <vector>

namespace heddle {

/// For each rank the ranks whose data it reads, without itself.
std::vector<std::set<int>> dataSources(const Plan &plan);

} // namespace heddle
