// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a page shows of the findings of a check beyond their text: what the waves did around each, the kernel's
// instructions, and where the compiler had the sources from.
#pragma once
#include "api/Check.h"
#include "api/InspectCodeObject.h"
#include <map>

namespace heddle {

/// The waves around a finding, in the run that the finding names. There are steps before and after each of the two
/// accesses.
struct FindingTimeline {
  struct Step {
    size_t wave = 0;        ///< of `waves`
    uint64_t number = 0;    ///< how many instructions of all waves the run had executed before it
    uint64_t pc = 0;        ///< in the file
    std::string text, kind; ///< `ds_read_b32 v1, v2`; `LDS`: the instruction's class
    int access = 0;         ///< 1, 2: the first and the second access of the finding; else 0
    bool isAfterGap = false;
  };
  std::vector<std::string> waves; ///< `workgroup 0,0,0 wave 1`
  std::vector<Step> steps;        ///< in the order of the run
};

struct CheckEvidence {
  std::vector<std::optional<FindingTimeline>> timelines; ///< by finding; none where no instruction is at fault
  size_t leftOut = 0;                                    ///< findings beyond the most that are run again
  bool wasStopped =
      false; ///< the request's time limit, which begins again, was over, or it was cancelled: timelines are missing
  std::vector<InspectedInstruction> instructions; ///< empty for code that cannot be decoded from its entry
  std::map<std::string, std::string> sourcePaths; ///< by the name in InstructionPlace: as the compiler had it
};

/// Makes the runs of the findings again, twice each: for the time of the accesses, and for the steps around them.
/// `mostFindings` of them at most. `file`, `name` and `request` are those that gave the findings.
CheckEvidence gatherEvidence(const std::string &file, const std::string &name, const CheckRequest &request,
                             const std::vector<CheckFinding> &findings, size_t mostFindings = 32);

} // namespace heddle
