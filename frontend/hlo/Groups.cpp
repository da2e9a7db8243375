// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The five rows of the group-mode table, and the expansion of ids to devices.
#include "frontend/hlo/Groups.h"
#include "frontend/hlo/Hlo.h"
#include "support/Error.h"
#include <fmt/format.h>
#include <numeric>

namespace heddle::hlo {
namespace {

bool hasGlobalDeviceIds(Opcode opcode) {
  return opcode == Opcode::AllReduce || opcode == Opcode::AllGather || opcode == Opcode::ReduceScatter;
}

int64_t idCount(GroupMode mode, int64_t replicaCount, int64_t partitionCount) {
  switch (mode) {
  case GroupMode::CrossReplica:
  case GroupMode::CrossReplicaAndPartition:
    return replicaCount;
  case GroupMode::CrossPartition:
    return partitionCount;
  case GroupMode::FlattenedIds:
    break;
  }
  return replicaCount * partitionCount;
}

std::string sizeNote(GroupMode mode, int64_t replicaCount, int64_t partitionCount) {
  return fmt::format("the module has replica_count={} and num_partitions={}, and the group mode is {}", replicaCount,
                     partitionCount, groupModeName(mode));
}

/// Each id of 0 .. count-1 exactly once.
void checkCover(const ReplicaGroups &written, int64_t count, const std::string &note) {
  std::vector<bool> seen(static_cast<size_t>(count));
  std::vector<std::string> notes = {fmt::format("replica_groups={}", written.text), note};
  for (const auto &group : written.groups)
    for (int64_t id : group) {
      if (id < 0 || id >= count)
        throw inputError(id < 0 ? fmt::format("id {} of replica_groups is negative", id)
                                : fmt::format("id {} of replica_groups >= {}", id, count),
                         notes);
      if (seen[size_t(id)])
        throw inputError(fmt::format("id {} appears in more than one group", id), notes);
      seen[size_t(id)] = true;
    }
  for (int64_t id = 0; id < count; ++id)
    if (!seen[size_t(id)])
      throw inputError(fmt::format("id {} is in no group", id), notes);
}

/// Appends, for each of `outer`, the group with every id made a device by `device(id, outer index)`.
template <typename Device>
void expand(std::vector<DeviceGroup> &result, const std::vector<std::vector<int64_t>> &groups, int64_t outer,
            Device device) {
  for (int64_t index = 0; index < outer; ++index)
    for (const auto &group : groups) {
      DeviceGroup devices;
      for (int64_t id : group)
        devices.push_back(device(id, index));
      result.push_back(std::move(devices));
    }
}

} // namespace

const char *groupModeName(GroupMode mode) {
  constexpr const char *names[] = {"cross-replica", "cross-partition", "cross-replica-and-partition", "flattened ids"};
  return names[size_t(mode)];
}

GroupMode groupModeOf(const Instruction &collective) {
  const Collective &attributes = *collective.collective;
  if (attributes.useGlobalDeviceIds && !attributes.channelId)
    throw inputError("Invalid combination of has_channel_id and use_global_device_ids",
                     {fmt::format("'{}' has use_global_device_ids=true and no channel_id; add channel_id=1",
                                  opcodeName(collective.opcode))});
  if (!attributes.channelId)
    return GroupMode::CrossReplica;
  if (!hasGlobalDeviceIds(collective.opcode))
    return GroupMode::CrossPartition;
  return attributes.useGlobalDeviceIds ? GroupMode::FlattenedIds : GroupMode::CrossReplicaAndPartition;
}

std::vector<DeviceGroup> deviceGroups(const Instruction &collective, int64_t replicaCount, int64_t partitionCount) {
  const ReplicaGroups &written = collective.collective->replicaGroups;
  GroupMode mode = groupModeOf(collective);
  int64_t count = idCount(mode, replicaCount, partitionCount);
  std::vector<std::vector<int64_t>> groups = written.groups;
  if (!groups.empty()) {
    checkCover(written, count, sizeNote(mode, replicaCount, partitionCount));
  } else if (mode == GroupMode::FlattenedIds) {
    throw inputError("replica groups cannot be empty for kFlattenedID mode",
                     {"list the devices, or leave out use_global_device_ids"});
  } else {
    groups.emplace_back(size_t(count));
    std::iota(groups[0].begin(), groups[0].end(), 0);
  }
  std::vector<DeviceGroup> result;
  if (mode == GroupMode::CrossReplica) {
    expand(result, groups, partitionCount,
           [&](int64_t id, int64_t partition) { return id * partitionCount + partition; });
  } else if (mode == GroupMode::CrossPartition) {
    expand(result, groups, replicaCount, [&](int64_t id, int64_t replica) { return replica * partitionCount + id; });
  } else if (mode == GroupMode::FlattenedIds) {
    result = groups;
  } else {
    for (const auto &group : groups) {
      DeviceGroup devices;
      for (int64_t replica : group)
        for (int64_t partition = 0; partition < partitionCount; ++partition)
          devices.push_back(replica * partitionCount + partition);
      result.push_back(std::move(devices));
    }
  }
  return result;
}

std::vector<std::pair<int64_t, int64_t>> devicePairs(const Instruction &permute, int64_t replicaCount,
                                                     int64_t partitionCount) {
  GroupMode mode = groupModeOf(permute);
  int64_t count = idCount(mode, replicaCount, partitionCount);
  bool crossReplica = mode == GroupMode::CrossReplica;
  std::vector<bool> sends(static_cast<size_t>(count)), receives(static_cast<size_t>(count));
  std::vector<std::pair<int64_t, int64_t>> result;
  for (auto [source, target] : permute.collective->sourceTargetPairs) {
    std::string pair = fmt::format("{{{},{}}}", source, target);
    std::vector<std::string> notes = {sizeNote(mode, replicaCount, partitionCount)};
    if (source < 0 || target < 0 || source >= count || target >= count)
      throw inputError(fmt::format("pair {} of source_target_pairs names an id outside 0 to {}", pair, count - 1),
                       notes);
    if (sends[size_t(source)])
      throw inputError(fmt::format("pair {}: source {} appears twice in source_target_pairs", pair, source), notes);
    if (receives[size_t(target)])
      throw inputError(fmt::format("pair {}: target {} appears twice in source_target_pairs", pair, target), notes);
    sends[size_t(source)] = receives[size_t(target)] = true;
  }
  for (int64_t outer = 0; outer < (crossReplica ? partitionCount : replicaCount); ++outer)
    for (auto [source, target] : permute.collective->sourceTargetPairs) {
      auto device = [&](int64_t id) {
        return crossReplica ? id * partitionCount + outer : outer * partitionCount + id;
      };
      result.emplace_back(device(source), device(target));
    }
  return result;
}

std::optional<int64_t> commonGroupSize(const std::vector<DeviceGroup> &groups) {
  for (const DeviceGroup &group : groups)
    if (group.size() != groups[0].size())
      return std::nullopt;
  return groups.empty() ? 0 : int64_t(groups[0].size());
}

} // namespace heddle::hlo
