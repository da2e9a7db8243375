// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Module to HloModule text.
#pragma once
#include "frontend/hlo/Hlo.h"
#include <string>

namespace heddle::hlo {

/// Text that parses to the same module. Asynchronous collectives are printed in their synchronous form.
std::string printModule(const Module &module);

} // namespace heddle::hlo
