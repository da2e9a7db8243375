// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What can be told of a kernel in an AMD code object without running it: what it takes of the chip, its instructions,
// and what each of its waits waits for.
#pragma once
#include "binary/AmdCodeObject.h"
#include "binary/AmdOccupancy.h"
#include "binary/Package.h"
#include <optional>
#include <string>
#include <vector>

namespace heddle {

struct CodeObjectRequest {
  std::string kernel;          ///< may be empty when the object has one
  int64_t workItems = 0;       ///< of a workgroup; 0: what the kernel was compiled for
  int64_t dynamicLdsBytes = 0; ///< beside what the kernel declares
  bool liveRegisters = false;  ///< whether InspectedInstruction::liveVectorRegisters is wanted
};

struct InspectedInstruction {
  uint64_t address = 0; ///< in the file
  uint32_t sizeBytes = 0;
  std::string text, line; ///< `kernels.py:12`; empty where nothing is known
  bool isInLoop = false;
  std::string kind = {};            ///< `LDS`: its class (simulator/analysis/MachineCode.h)
  uint32_t liveVectorRegisters = 0; ///< before it, where it was asked for
};

/// A counter of a wait (simulator/analysis/Waits.h), with indices of InspectedKernel::instructions.
struct InspectedCounter {
  std::string name; ///< `vmcnt`, `lgkmcnt`
  unsigned count = 0;
  std::vector<size_t> waitsFor;
  std::optional<unsigned> enough;
  std::optional<size_t> user;
  bool waitsTooLong = false;
  std::string exactClass, exactText; ///< `larger`, and what that is (simulator/analysis/ExactCount.h)
  std::optional<unsigned> exact;
  std::optional<size_t> exactUser;
};

struct InspectedWait {
  size_t instruction = 0;
  std::vector<InspectedCounter> counters;
  bool waitsForNothing = false, waitsTooLong = false;
  std::string tooLongClass; ///< the class of the counters that wait too long; empty when none does
};

struct InstructionCount {
  std::string name; ///< `vector`, `LDS`
  int64_t all = 0, inLoops = 0;
};

struct InspectedKernel {
  std::string chip;
  int codeObjectVersion = 0;
  AmdKernel kernel;
  int64_t workItems = 0, dynamicLdsBytes = 0, ldsBytesOfUnit = 0;
  std::optional<AmdOccupancy> occupancy; ///< none when the number of work-items is not known
  std::vector<InspectedInstruction> instructions;
  std::vector<InstructionCount> counts; ///< by class; the last one is `all`
  bool isComplete = true;               ///< MachineCode::isComplete
  std::vector<InspectedWait> waits;

  int64_t codeBytes() const;
  const InstructionCount &count(const std::string &name) const;
};

/// Whether the package's binary is one.
bool hasCodeObject(const Package &package);

/// Of the object in `file`, called `name` in messages. Where arguments are preloaded the code is that after the part
/// that loads them for firmware that cannot. Throws Error{Input} for what is no code object, a kernel that it lacks,
/// and a chip whose instructions Heddle does not know.
InspectedKernel inspectCodeObject(const std::string &file, const std::string &name, const CodeObjectRequest &request);

} // namespace heddle
