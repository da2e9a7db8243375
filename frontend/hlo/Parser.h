// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HloModule text to Module. docs/hlo.md says what is read and what is refused.
#pragma once
#include "frontend/hlo/Hlo.h"
#include <string>
#include <string_view>

namespace heddle::hlo {

struct ParseOptions {
  /// Used when the module's header names no replica_count, or no num_partitions.
  int64_t replicaCount = 1;
  int64_t partitionCount = 1;
  /// When not 0 and the header names no replica_count: as many replicas as make this many devices with the partitions
  /// that it names (one, when they do not divide it).
  int64_t deviceCount = 0;
};

/// The module, with every shape inferred or checked. Throws Error{Input} whose message begins with
/// `FILE:LINE:COLUMN: `; `fileName` serves only for that.
Module parseModule(std::string_view text, const std::string &fileName, const ParseOptions &options = {});

} // namespace heddle::hlo
