// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle run` of an HLO module.
#pragma once
#include "api/Module.h"

namespace heddle {

/// `outputs` are the texts of `--out`: RESULT=FILE for every rank (FILE gets the rank before `.npy`) or
/// RESULT@RANK=FILE.
int runModuleVerb(ModuleRequest request, const std::vector<std::string> &outputs, bool asJson);

} // namespace heddle
