// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the compiler can tell of a finished package, and of the machine it would compile for.
#pragma once
#include "binary/Package.h"
#include "compiler/emit/Disassembly.h"
#include "compiler/emit/HostProcessor.h"

namespace heddle {

/// Throws Error{Input} when the package's binary is not host code.
Disassembly disassemblePackage(const Package &package);

} // namespace heddle
