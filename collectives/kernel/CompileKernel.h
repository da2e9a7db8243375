// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan's kernel as a package, without MLIR in the interface.
#pragma once
#include "binary/Package.h"
#include "collectives/Plan.h"
#include <string>

namespace heddle {

/// The kernel's text in Triton IR with the `peer` dialect: what `heddle compile` takes.
std::string kernelText(const Plan &plan);

/// Compiles for the machine at hand; plans of one kernelKey once in a process.
Package compileKernel(const Plan &plan);

} // namespace heddle
