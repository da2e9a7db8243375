// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests of checks: lines of assembly, executed by one wave while checks watch.
#pragma once
#include "simulator/checks/Checks.h"
#include "simulator/decode/TestAssembler.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Workgroup.h"

namespace heddle::simulator {

/// A workgroup of one wave with 1024 bytes of LDS and 16 of scratch a lane, and 4096 bytes of global memory. v[0:1] are
/// addresses of a word for each lane, v2 the lane's number times 4, s[0:1] the memory's address; these and all scalar
/// registers up to s31 count as written when the program begins, and all registers but these are 0.
class CheckedProgram {
public:
  explicit CheckedProgram(CheckSet checks, Policy policy = Policy::Earliest, const std::string &chip = "gfx942");

  /// Executes the lines.
  CheckedProgram &run(const std::string &text) { return repeat(text, 1); }
  /// Executes them again and again, as a loop does.
  CheckedProgram &repeat(const std::string &text, unsigned times);
  /// All reports, one after the other.
  std::string report() const;
  /// Of the only finding its title and what it needs; "" when there is none.
  std::string summary() const;

  MemorySystem system;
  Device &device;
  Checks checks;
  MemoryPort port;
  PendingRequests pending;
  Workgroup group;
  Allocation *memory;
  Wave *wave;

private:
  void begin();
  void execute(const Instruction &instruction);

  std::string chip;
  bool hasBegun = false;
  uint64_t end = 0; ///< of the code up to now
  std::vector<std::unique_ptr<std::vector<Instruction>>> programs;
};

/// A set of one.
CheckSet only(Check check);

} // namespace heddle::simulator
