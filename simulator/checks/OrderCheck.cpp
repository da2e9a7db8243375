// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/checks/OrderCheck.h"
#include "simulator/checks/Checks.h"

namespace heddle::simulator {

void OrderCheck::groupBegins(Workgroup &) {}
void OrderCheck::groupEnds(Workgroup &) {}
void OrderCheck::waveEnds(Wave &) {}
void OrderCheck::beforeInstruction(Wave &, const Instruction &) {}
void OrderCheck::afterInstruction(Wave &, const Instruction &) {}
void OrderCheck::issued(Wave &, MemoryRequest &) {}
void OrderCheck::performed(Wave &, MemoryRequest &) {}
void OrderCheck::landed(Wave &, MemoryRequest &) {}
void OrderCheck::completed(Wave &, MemoryRequest &) {}
void OrderCheck::barrierOpens(Workgroup &, bool) {}
void OrderCheck::kernelBegins(Device &) {}
void OrderCheck::kernelEnds(Device &) {}

} // namespace heddle::simulator
