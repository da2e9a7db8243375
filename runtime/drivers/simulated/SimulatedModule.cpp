// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lays out the arguments of a launch as the code object's metadata says, and checks its geometry.
#include "runtime/drivers/simulated/SimulatedModule.h"
#include "binary/AmdOccupancy.h"
#include "binary/AmdPackage.h"
#include "support/Error.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace heddle {
namespace {

Package withoutBinary(Package package) {
  package.binary.clear();
  return package;
}

} // namespace

SimulatedModule::SimulatedModule(SimulatedEngine &engine, const std::string &device, unsigned ordinal,
                                 const Package &package, simulator::LoadedObject &loaded)
    : Module(withoutBinary(package)), engine(engine), ordinal(ordinal), device(device), loaded(loaded),
      kernel(loaded.object.kernel(package.entry)), arguments(explicitArguments(kernel)) {}

std::shared_ptr<SimulatedModule> SimulatedModule::load(SimulatedEngine &engine, const std::string &device,
                                                       unsigned ordinal, const Package &package) {
  requireAmdPackage(package, device, engine.chip.name);
  AmdCodeObject object = parseAmdCodeObject(package.binary, fmt::format("the code of kernel `{}`", package.kernel));
  const AmdKernel &kernel = object.kernel(package.entry);
  requireAmdArguments(package, explicitArguments(kernel));
  simulator::Geometry geometry;
  geometry.items.x = uint32_t(std::clamp<int64_t>(package.threads, 0, UINT32_MAX));
  geometry.dynamicLdsBytes = uint32_t(std::min<uint64_t>(package.sharedBytes, INT32_MAX));
  const auto &shape = kernel.requiredWorkgroup;
  if (!shape[0] || uint64_t(shape[0]) * shape[1] * shape[2] != uint64_t(package.threads))
    simulator::checkGeometry(kernel, engine.chip, geometry);
  return std::shared_ptr<SimulatedModule>(
      new SimulatedModule(engine, device, ordinal, package, engine.load(object, ordinal)));
}

SimulatedModule::~SimulatedModule() {
  engine.unload(loaded);
}

simulator::Geometry SimulatedModule::geometryOf(const Launch &launch) const {
  simulator::Geometry geometry;
  geometry.groups = {uint32_t(launch.grid[0]), uint32_t(launch.grid[1]), uint32_t(launch.grid[2])};
  const auto &shape = kernel.requiredWorkgroup;
  geometry.items =
      shape[0] ? simulator::Extents{shape[0], shape[1], shape[2]} : simulator::Extents{uint32_t(package().threads)};
  geometry.dynamicLdsBytes = uint32_t(package().sharedBytes);
  simulator::checkGeometry(kernel, engine.chip, geometry);
  return geometry;
}

std::string SimulatedModule::segmentOf(const Launch &launch) const {
  std::string segment(kernel.kernargBytes, '\0'); // no record
  std::vector<uint64_t> slots = argumentSlots(launch);
  for (size_t i = 0; i < slots.size(); ++i)
    std::memcpy(segment.data() + arguments[i].offset, &slots[i], arguments[i].sizeBytes);
  return segment;
}

void SimulatedModule::setRecord(std::string &segment, uint64_t address) const {
  std::memcpy(segment.data() + arguments.back().offset, &address, sizeof address);
}

int64_t SimulatedModule::mostCooperative() const {
  AmdOccupancy occupancy = occupancyOf(kernel, engine.chip, package().threads, int64_t(package().sharedBytes));
  return std::max<int64_t>(1, occupancy.groupsPerUnit) * engine.chip.computeUnits; // it was checked that one fits
}

} // namespace heddle
