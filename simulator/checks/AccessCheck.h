// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where single accesses lead (Check::Bounds, Misaligned, LostUpdate): what the range of a buffer descriptor makes of
// them, whether their addresses are multiples of what they move, and whether the memory there carries them out. What
// lies outside every allocation, and atomic operations that are not aligned, are faults of the run and none of this.
#pragma once
#include "simulator/checks/Findings.h"
#include "simulator/checks/PerInstruction.h"
#include "simulator/memory/AddressSpace.h"
#include "simulator/memory/Watcher.h"

namespace heddle::simulator {

/// How an instruction comes by its addresses.
struct AccessPlan {
  enum class Kind : uint8_t { Other, Scalar, Buffer };
  Kind kind = Kind::Other;
  bool isForAnyMemory = true; ///< but an atomic operation that only a device's ordinary memory carries out
  uint8_t address = 0;        ///< place of the operand; of buffers, descriptor and the offset of all lanes follow
};
AccessPlan accessPlanOf(const Instruction &instruction);

class AccessCheck final : public Watcher {
public:
  AccessCheck(Findings &findings, CheckSet checks, AddressSpace &memory)
      : findings(findings), checks(checks), memory(memory) {}

  void issued(Wave &wave, MemoryRequest &request) override;

private:
  void checkAlignment(Wave &wave, const MemoryRequest &request, const AccessPlan &plan);
  void reportMisaligned(Wave &wave, const MemoryRequest &request, const AccessPlan &plan, uint64_t address,
                        unsigned demanded, int lane);
  void checkUpdate(Wave &wave, const MemoryRequest &request);
  void checkBuffer(Wave &wave, const MemoryRequest &request, const AccessPlan &plan);
  void reportBuffer(Wave &wave, const MemoryRequest &request, const AccessPlan &plan, const char *title, unsigned lane,
                    const std::string &needs);

  Findings &findings;
  CheckSet checks;
  AddressSpace &memory;
  PerInstruction<AccessPlan, accessPlanOf> plans;
};

} // namespace heddle::simulator
