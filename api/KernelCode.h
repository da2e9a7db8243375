// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine code of a kernel of an AMD code object, for those that analyse it.
#pragma once
#include "binary/AmdCodeObject.h"
#include "chips/Chip.h"
#include "simulator/analysis/MachineCode.h"

namespace heddle {

/// The object's chip; `name` is for messages. Throws Error{Input} with the chips there are.
const Chip &inspectedChip(const AmdCodeObject &object, const std::string &name);

/// Where arguments are preloaded, without the part that loads them for firmware that cannot. Throws Error{Input} when
/// the file has no code where the kernel begins.
simulator::MachineCode readKernelCode(const AmdCodeObject &object, const AmdKernel &kernel);

} // namespace heddle
