// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of several devices as their compute units see it. Between a compute unit and the memory that all share
// stand three places where data may be late or old:
//
//   the vector cache of the unit      written through; kept until buffer_inv
//   the L2 of the unit's XCD          written back; clean lines kept until buffer_inv sc1, dirty ones until wbl2 sc1
//   what the device agrees on         the same for sc0 sc1: clean lines of other devices' memory, and what was released
//                                     to the device but not to the system
//
// Nothing leaves these places by itself, which is more than hardware does and as much as LLVM's documented sequences
// allow: a kernel that is right here synchronises at each scope that it needs. Which pages pass which place by is what
// PageType says. Sources: LLVM's AMDGPU user guide, "Memory Model GFX942"; Linux, drivers/gpu/drm/amd/amdgpu (GC 9.4.3,
// 9.5.0: page types).
#pragma once
#include "simulator/memory/AddressSpace.h"
#include "simulator/memory/Cache.h"
#include "simulator/memory/MemoryRequest.h"
#include <random>

namespace heddle::simulator {

/// How a device caches a page of a buffer.
enum class PageType : uint8_t {
  Uncached, ///< UC: not in L2
  Coherent, ///< CC: never old in L2
  Local,    ///< RW: of its own memory. Writes of others reach its only L2, but not the several of a chip in one piece
  Remote,   ///< NC: of others' memory; old until it is invalidated
};

struct Device;
struct PendingRequest;

struct ComputeUnit {
  explicit ComputeUnit(const std::shared_ptr<LinePool> &pool) : vector(pool), scalar(pool) {}

  Device *device = nullptr;
  unsigned index = 0, xcd = 0;
  Cache vector, scalar;
  bool isUsed = false; ///< its caches may have lines; among Device::usedUnits
  /// Vector memory requests of its waves, in order of issue; performed ones are taken out now and then.
  std::vector<PendingRequest *> issued;
  bool hasIssued = false; ///< perhaps; among Device::issuingUnits
};

struct DeviceShape {
  unsigned xcds = 8, unitsPerXcd = 38;
  bool cachesHostMemory = false; ///< normal host memory is NC, not UC
};

struct Device {
  explicit Device(const std::shared_ptr<LinePool> &pool) : agreed(pool) {}

  unsigned index = 0;
  DeviceShape shape;
  std::vector<Cache> l2;                           ///< by XCD
  Cache agreed;                                    ///< what the device agrees on
  std::vector<std::unique_ptr<ComputeUnit>> units; ///< adjacent workgroups are on different XCDs
  std::vector<ComputeUnit *> usedUnits;            ///< most launches need few
  std::vector<ComputeUnit *> issuingUnits;         ///< that may have requests which are not performed
  unsigned runningKernels = 0;
  uint32_t launch = 0; ///< that which begins or ends, for Watcher
};

/// Lines that a cache keeps; beyond, clean ones are forgotten all at once and dirty ones written back, as may happen at
/// any time.
struct CacheLimits {
  size_t vector = 8192, scalar = 8192, l2 = 131072, agreed = 1048576;
};

/// Lines that were asked of the L2s.
struct CacheCounts {
  uint64_t hits = 0, misses = 0; ///< by reads of vector and scalar caches
  uint64_t writes = 0;           ///< by stores, of lines or parts of them
};

class MemorySystem {
public:
  AddressSpace home; ///< what all devices and the host share

  Device &addDevice(const DeviceShape &shape);
  PageType pageTypeOf(const Allocation &allocation, const Device &device) const;

  // Each throws Fault for an address outside every allocation.

  void read(ComputeUnit &unit, Scope scope, uint64_t address, unsigned size, void *out);
  /// Loads of `size` bytes at each lane's address plus `offset` may read what lies at the result plus the lane's
  /// address: the caches know of it. 0 where they may have something else, or where lanes lead out of the buffer.
  uintptr_t readLent(ComputeUnit &unit, const MemoryRequest &request, uint64_t lanes, unsigned offset, unsigned size);
  /// Below Scope::Agent through the scalar cache.
  void readScalar(ComputeUnit &unit, Scope scope, uint64_t address, unsigned size, void *out);
  void writeScalar(ComputeUnit &unit, Scope scope, uint64_t address, unsigned size, const void *in);
  void write(ComputeUnit &unit, Scope scope, uint64_t address, unsigned size, const void *in);
  /// The bytes where a read-modify-write of `scope` is done, for the caller to read and change at once. Aligned, so
  /// that they lie in one line; AddressSpace::toChange says which may lie past the end of an allocation.
  uint8_t *change(ComputeUnit &unit, Scope scope, uint64_t address, unsigned size) {
    return change(unit, scope, address, size, {});
  }
  /// The same, of whose line other bytes, too, are changed before the next call: those of `others`, all in one
  /// allocation.
  uint8_t *change(ComputeUnit &unit, Scope scope, uint64_t address, unsigned size, const ByteMask &others);

  void writeBack(ComputeUnit &unit, Scope scope);  ///< buffer_wbl2
  void invalidate(ComputeUnit &unit, Scope scope); ///< buffer_inv
  void writeBackScalar(ComputeUnit &unit);         ///< s_dcache_wb
  void invalidateScalar(ComputeUnit &unit);        ///< s_dcache_inv; what is not written back stays
  void beginKernel(Device &device);                ///< acquires at system scope
  void endKernel(Device &device);                  ///< releases at system scope
  /// Something that caches may do at any time, or nothing.
  void disturb(ComputeUnit &unit, std::mt19937_64 &random);

  /// Between these nothing writes memory but by the functions here, so that caches need no copies of what does not
  /// change. No kernel runs at either.
  void beginLending();
  void endLending();

  std::vector<std::unique_ptr<Device>> devices;
  CacheLimits limits;
  CacheCounts l2Counts;

private:
  std::shared_ptr<LinePool> lines = std::make_shared<LinePool>();

  const Allocation &holder(uint64_t address, unsigned size, bool writes);
  bool hasLentLines(const Allocation &allocation, const Device &device) const {
    return allocation.lendsLines && pageTypeOf(allocation, device) == PageType::Local;
  }
  bool hasRoomFor(const ComputeUnit &unit, uint64_t lines) const {
    return unit.vector.size() + lines < limits.vector && unit.device->l2[unit.xcd].size() + lines < limits.l2;
  }
  /// Call before a cache of the unit gets a line.
  static void use(ComputeUnit &unit) {
    if (!std::exchange(unit.isUsed, true))
      unit.device->usedUnits.push_back(&unit);
  }
  void touchLent(ComputeUnit &unit, Scope scope, uint64_t group, uint64_t lines);
  void touchLentRange(ComputeUnit &unit, Scope scope, uint64_t first, uint64_t end);
  void touchLentInL2(ComputeUnit &unit, Scope scope, uint64_t group, uint64_t lines);
  void stopLendingLines(const Allocation &allocation);
  uint8_t *homeLine(const Allocation &allocation, uint64_t line) const {
    return allocation.bytes.get() + (line - allocation.base);
  }
  const uint8_t *readLine(ComputeUnit &unit, Scope scope, const Allocation &allocation, uint64_t line);
  const uint8_t *readThroughL2(ComputeUnit &unit, Scope scope, const Allocation &allocation, uint64_t line);
  const uint8_t *readAgreed(Device &device, Scope scope, const Allocation &allocation, PageType page, uint64_t line);
  void writeLine(ComputeUnit &unit, Scope scope, const Allocation &allocation, uint64_t address, unsigned size,
                 const uint8_t *in);
  /// After the vector cache.
  void writeThroughL2(ComputeUnit &unit, Scope scope, const Allocation &allocation, uint64_t address, unsigned size,
                      const uint8_t *in);
  void cleanScalar(ComputeUnit &unit, CacheLine &line);
  void writeHome(const Allocation &allocation, const Device &writer, uint64_t line, const uint8_t *bytes,
                 const ByteMask &mask);
  template <typename Action>
  void forEachCache(Action action);
  void stopLending(const Allocation &allocation);
  void fill(Cache &cache, CacheLine &line, const Allocation &allocation, const uint8_t *bytes);
  void moveToAgreed(Device &device, CacheLine &line);
  void moveToHome(Device &device, CacheLine &line);
  void moveHome(Device &device, const CacheLine &line);
  void limit(Device &device, Cache &l2);
  CacheLine &agreedLine(Device &device, uint64_t line);
};

class LendingMemory {
public:
  explicit LendingMemory(MemorySystem &system) : system(system) { system.beginLending(); }
  ~LendingMemory() { system.endLending(); }
  LendingMemory(const LendingMemory &) = delete;

private:
  MemorySystem &system;
};

} // namespace heddle::simulator
