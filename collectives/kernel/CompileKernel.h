// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan's kernel as a package, without MLIR in the interface.
#pragma once
#include "binary/Package.h"
#include "collectives/Plan.h"
#include "compiler/pipeline/Compile.h"
#include <string>

namespace heddle {

/// The kernel's text in Triton IR with the `peer` dialect: what `heddle compile` takes.
std::string kernelText(const Plan &plan);

/// What a kernel of the plan is compiled for.
CompileOptions compileOptionsOf(const Plan &plan);

/// Compiles for the plan's target; plans of one kernelKey once in a process.
Package compileKernel(const Plan &plan);

} // namespace heddle
