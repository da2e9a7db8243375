// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel finds when it starts: arguments, dispatch packet, scalar and vector registers. Source: LLVM's AMDGPU
// user guide, "Initial Kernel Execution State", "Kernel Argument Segment", "HSA AQL packets".
#pragma once
#include "binary/AmdCodeObject.h"
#include "simulator/memory/AddressSpace.h"
#include "simulator/state/Workgroup.h"
#include <array>
#include <string>

namespace heddle {
struct Chip;
}

namespace heddle::simulator {

/// `{256}` is 256 x 1 x 1.
struct Extents {
  uint32_t x = 1, y = 1, z = 1;
  uint32_t operator[](unsigned axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
};

struct Geometry {
  Extents groups = {}; ///< workgroups
  Extents items = {};  ///< work-items of each
  uint32_t dynamicLdsBytes = 0;
  uint32_t itemsPerGroup() const { return items.x * items.y * items.z; }
  uint64_t groupCount() const { return uint64_t(groups.x) * groups.y * groups.z; }
};

/// Throws Error{Input} for a geometry that the kernel or the chip does not allow, with both numbers.
void checkGeometry(const AmdKernel &kernel, const Chip &chip, const Geometry &geometry);

class Launch {
public:
  /// `arguments` are the bytes of the kernarg segment's explicit part; hidden arguments are filled in here. `codeBase`
  /// is where the file's address 0 lies. With `preloads` the kernel starts after the code that loads what was
  /// preloaded.
  Launch(AddressSpace &memory, const AmdKernel &kernel, const Geometry &geometry, std::string arguments,
         uint64_t codeBase, bool preloads, uint64_t seed);
  ~Launch();
  Launch(const Launch &) = delete;

  uint32_t wavesPerGroup() const { return (geometry.itemsPerGroup() + waveLanes - 1) / waveLanes; }
  uint32_t ldsBytes() const { return kernel.groupBytes + geometry.dynamicLdsBytes; }
  std::array<uint32_t, 3> groupId(uint64_t number) const;

  /// Registers of wave `wave.indexInGroup` of the group, its scratch and its entry; what nothing defines gets a
  /// pattern.
  void start(Wave &wave, const Workgroup &group) const;
  void startLds(std::vector<uint8_t> &lds) const;

  const AmdKernel &kernel;
  const Geometry geometry;

private:
  void fillHiddenArguments(std::string &arguments) const;
  void writeDispatchPacket();
  unsigned startScalars(Wave &wave) const;

  AddressSpace &memory;
  uint64_t arguments = 0, packet = 0, queue = 0; ///< addresses
  uint64_t entry = 0;
  std::vector<uint32_t> preloaded;
  uint32_t pattern;
};

} // namespace heddle::simulator
