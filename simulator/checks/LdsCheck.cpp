// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/checks/LdsCheck.h"
#include "simulator/checks/Checks.h"

namespace heddle::simulator {

void LdsCheck::groupBegins(Workgroup &) {}
void LdsCheck::groupEnds(Workgroup &) {}
void LdsCheck::waveEnds(Wave &) {}
void LdsCheck::beforeInstruction(Wave &, const Instruction &) {}
void LdsCheck::afterInstruction(Wave &, const Instruction &) {}
void LdsCheck::issued(Wave &, MemoryRequest &) {}
void LdsCheck::performed(Wave &, MemoryRequest &) {}
void LdsCheck::landed(Wave &, MemoryRequest &) {}
void LdsCheck::completed(Wave &, MemoryRequest &) {}
void LdsCheck::barrierOpens(Workgroup &, bool) {}
void LdsCheck::kernelBegins(Device &) {}
void LdsCheck::kernelEnds(Device &) {}

} // namespace heddle::simulator
