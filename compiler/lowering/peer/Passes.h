// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constructors and registration of the passes declared in Passes.td.
#pragma once
#include "mlir/Pass/Pass.h"

namespace heddle {
#define GEN_PASS_DECL
#include "compiler/lowering/peer/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/lowering/peer/Passes.h.inc"
} // namespace heddle
