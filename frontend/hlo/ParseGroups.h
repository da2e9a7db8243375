// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The three notations of replica_groups.
#pragma once
#include "frontend/hlo/Cursor.h"

namespace heddle::hlo {

/// More devices than this in a module, a list or a mesh are refused.
inline constexpr int64_t mostDevices = 65536;

/// The value of `replica_groups=`: a list, an iota `[2,4]<=[8]T(0)`, or axes of a mesh, made a list.
ReplicaGroups parseReplicaGroups(Cursor &cursor);

} // namespace heddle::hlo
