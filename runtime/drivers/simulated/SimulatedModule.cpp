// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/simulated/SimulatedModule.h"
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

/// Sources: LLVM's AMDGPU user guide, "Kernel Descriptor" (granules of LDS), and its lib/Target/AMDGPU,
/// Utils/AMDGPUBaseInfo.cpp, for GFX90A (waves of a SIMD, workgroups and barriers of a unit, registers of a SIMD).
int64_t groupsPerUnit(const AmdKernel &kernel, const Chip &chip, int64_t threads, int64_t dynamicLdsBytes) {
  constexpr int64_t simds = 4, wavesPerSimd = 8, barriers = 16;
  constexpr int64_t vectorRegisters = 512, scalarRegisters = 800; // of each SIMD; a wave's registers are of one
  int64_t ldsGranule = chip.name == std::string_view("gfx950") ? 1280 : 512;
  int64_t waves = (threads + simulator::waveLanes - 1) / simulator::waveLanes;
  int64_t resident = simds * std::min({wavesPerSimd, vectorRegisters / int64_t(kernel.vectorRegisters()),
                                       scalarRegisters / int64_t(kernel.scalarRegisters())});
  int64_t groups = resident / waves;
  if (waves > 1) // one wave needs no barrier
    groups = std::min(groups, barriers);
  if (int64_t lds = int64_t(kernel.groupBytes) + dynamicLdsBytes)
    groups = std::min(groups, chip.sharedMemoryBytes / ((lds + ldsGranule - 1) / ldsGranule * ldsGranule));
  return std::max<int64_t>(1, groups); // it was checked that one fits
}

int64_t SimulatedModule::mostCooperative() const {
  return groupsPerUnit(kernel, engine.chip, package().threads, int64_t(package().sharedBytes)) *
         engine.chip.computeUnits;
}

} // namespace heddle
