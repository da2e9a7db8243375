// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What bench and inspect let people say of a collective's plan.
#pragma once
#include "api/Collectives.h"
#include <CLI/CLI.hpp>

namespace heddle {

/// Adds --algorithm, --packets, --blocks, --warps, --tile and --round, which fill `options`; it outlives the parsing.
void addPlanOptions(CLI::App &verb, PlanOptions &options);

} // namespace heddle
