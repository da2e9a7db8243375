// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/checks/PoisonCheck.h"
#include "simulator/checks/Checks.h"

namespace heddle::simulator {

void PoisonCheck::groupBegins(Workgroup &) {}
void PoisonCheck::groupEnds(Workgroup &) {}
void PoisonCheck::waveEnds(Wave &) {}
void PoisonCheck::beforeInstruction(Wave &, const Instruction &) {}
void PoisonCheck::afterInstruction(Wave &, const Instruction &) {}
void PoisonCheck::issued(Wave &, MemoryRequest &) {}
void PoisonCheck::performed(Wave &, MemoryRequest &) {}
void PoisonCheck::landed(Wave &, MemoryRequest &) {}
void PoisonCheck::completed(Wave &, MemoryRequest &) {}
void PoisonCheck::barrierOpens(Workgroup &, bool) {}
void PoisonCheck::kernelBegins(Device &) {}
void PoisonCheck::kernelEnds(Device &) {}

} // namespace heddle::simulator
