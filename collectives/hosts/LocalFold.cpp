// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Describes a group to the kernel in which all ranks are this one.
#include "collectives/hosts/LocalFold.h"
#include "binary/PeerAbi.h"
#include "collectives/hosts/HostPlan.h"
#include "runtime/Stream.h"
#include "support/Error.h"

namespace heddle {

Plan LocalFold::planOf(ElementType type, Reduction reduction, int parts, int64_t elements) const {
  return planOfFold(type, reduction, parts, elements, {device->chip(), computeUnits});
}

/// What is found stays where it is.
const LocalFold::Prepared *LocalFold::find(const std::string &name) {
  std::lock_guard lock(mutex);
  auto found = prepared.find(name);
  return found == prepared.end() ? nullptr : &found->second;
}

void LocalFold::prepare(ElementType type, Reduction reduction, int parts, int64_t elements) {
  if (elements == 0)
    return;
  Prepared made;
  made.plan = planOf(type, reduction, parts, elements);
  std::string name = describe(made.plan.collective);
  if (find(name))
    return;
  made.kernel = {device->loadModule(kernels->kernelOf(made.plan))};
  made.arena = device->allocate(uint64_t(made.plan.arena.sizeBytes), "arena of a fold", Caching::Uncached);
  struct Description {
    PeerGroup both[2];
    uint32_t abort[2];
    PeerError error;
  } description{};
  made.group = device->allocate(sizeof description, "group of a fold");
  for (PeerGroup &group : description.both) {
    group.worldSize = uint64_t(parts);
    for (int part = 0; part < parts; ++part)
      group.arena[part] = made.arena.address();
    group.abort = made.group.address() + offsetof(Description, abort);
    group.limitNs = maxLimitNs;
    group.error = made.group.address() + offsetof(Description, error);
  }
  std::unique_ptr<Stream> stream = device->createStream();
  stream->fill(made.arena, 0);
  stream->copyToDevice(made.group, &description);
  stream->synchronize();
  std::lock_guard lock(mutex);
  prepared.emplace(name, std::move(made));
}

void LocalFold::launch(Stream &stream, ElementType type, Reduction reduction, int parts, int64_t elements,
                       uint64_t input, uint64_t output) {
  if (elements == 0)
    return;
  Collective fold;
  fold.kind = CollectiveKind::ReduceScatter;
  fold.type = type, fold.reduction = reduction;
  fold.ranks = parts, fold.inner = elements;
  const Prepared *found = find(describe(fold));
  if (!found)
    throw internalError(describe(fold) + " in one rank's memory was not prepared");
  const Prepared &it = *found;
  Launch launch;
  launch.kernel = it.kernel;
  launch.grid = {it.plan.blocks, 1, 1};
  launch.cooperative = true;
  launch.arguments = {it.group,
                      DeviceAddress(it.arena.address()),
                      DeviceAddress(it.group.address() + sizeof(PeerGroup)),
                      DeviceAddress(it.arena.address()),
                      ScalarBits{0},
                      ScalarBits{0},
                      ScalarBits{uint64_t(fold.outer)},
                      ScalarBits{uint64_t(fold.inner)},
                      DeviceAddress(input),
                      DeviceAddress(output)};
  stream.launch(launch);
}

} // namespace heddle
