// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which devices take part in a collective together, and in which order. Text has three notations and four meanings of
// the numbers; here they become lists of devices. A device's number is replica * partitionCount + partition.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::hlo {

struct Instruction;

/// What the numbers in replica_groups mean.
enum class GroupMode {
  CrossReplica,             ///< replicas; one process group per partition
  CrossPartition,           ///< partitions; one process group per replica
  CrossReplicaAndPartition, ///< replicas, joined by all their partitions
  FlattenedIds,             ///< device numbers
};

const char *groupModeName(GroupMode mode); ///< `cross-replica`, ...

/// `replica_groups` as a list, whatever its notation was. Empty: all in one group.
struct ReplicaGroups {
  std::vector<std::vector<int64_t>> groups;
  std::string text; ///< as written; empty when the attribute was missing
};

/// Devices in rank order.
using DeviceGroup = std::vector<int64_t>;

/// The mode that channel_id and use_global_device_ids choose for a collective. Throws Error{Input}, without a location,
/// for the combination that has none.
GroupMode groupModeOf(const Instruction &collective);

/// The groups of devices of a collective with replica_groups, in the order of the text; for CrossReplica the groups of
/// partition 0 come first, for CrossPartition those of replica 0. Members are in rank order, replica-major in
/// CrossReplicaAndPartition as HLO has it. Throws Error{Input}, without a location: an id twice, missing or out of
/// range, empty groups where they are not allowed.
std::vector<DeviceGroup> deviceGroups(const Instruction &collective, int64_t replicaCount, int64_t partitionCount);

/// The (source, target) devices of a collective-permute, for every replica or partition. Throws as deviceGroups.
std::vector<std::pair<int64_t, int64_t>> devicePairs(const Instruction &permute, int64_t replicaCount,
                                                     int64_t partitionCount);

/// The size that all groups share; nothing when they differ.
std::optional<int64_t> commonGroupSize(const std::vector<DeviceGroup> &groups);

} // namespace heddle::hlo
