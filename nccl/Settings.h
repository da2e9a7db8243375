// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the environment tells the drop-in. All ranks compare theirs before one serves a call.
#pragma once
#include <cstdint>
#include <string>

namespace heddle::dropin {

struct Settings {
  int64_t mostBytes = -1;      ///< HEDDLE_NCCL_BYTES: of calls that Heddle makes; -1: those whose plan has packets
  double deadline = 1800;      ///< HEDDLE_NCCL_DEADLINE: seconds
  double setupSeconds = 120;   ///< HEDDLE_NCCL_SETUP: how long the ranks of a new communicator wait for each other
  int reservedUnits = 32;      ///< HEDDLE_NCCL_RESERVE: compute units that NCCL's kernels find free
  std::string driver = "cuda"; ///< HEDDLE_NCCL_DEVICE: `cuda`, or `host` for tests
  std::string
      whyNot;       ///< a variable of NCCL's by which the program chooses among NCCL's algorithms, or one that is wrong
  std::string text; ///< equal for equal settings
};
const Settings &settings(); ///< read once

} // namespace heddle::dropin
