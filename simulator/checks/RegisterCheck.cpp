// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/checks/RegisterCheck.h"
#include "simulator/checks/Checks.h"

namespace heddle::simulator {

void RegisterCheck::groupBegins(Workgroup &) {}
void RegisterCheck::groupEnds(Workgroup &) {}
void RegisterCheck::waveEnds(Wave &) {}
void RegisterCheck::beforeInstruction(Wave &, const Instruction &) {}
void RegisterCheck::afterInstruction(Wave &, const Instruction &) {}
void RegisterCheck::issued(Wave &, MemoryRequest &) {}
void RegisterCheck::performed(Wave &, MemoryRequest &) {}
void RegisterCheck::landed(Wave &, MemoryRequest &) {}
void RegisterCheck::completed(Wave &, MemoryRequest &) {}
void RegisterCheck::barrierOpens(Workgroup &, bool) {}
void RegisterCheck::kernelBegins(Device &) {}
void RegisterCheck::kernelEnds(Device &) {}

} // namespace heddle::simulator
