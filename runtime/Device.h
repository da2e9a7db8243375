// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A device of any vendor: memory, streams, events and modules. Drivers implement it; everything above uses only this.
#pragma once
#include "runtime/Buffer.h"
#include "runtime/SharedMemory.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heddle {

class Driver;
class Event;
class Module;
class Stream;
struct Chip;
struct Package;

struct MemoryInfo {
  uint64_t totalBytes; ///< what the device may use
  uint64_t freeBytes;  ///< what it could still give
};

/// Which caches of devices may keep a buffer. What else than Normal is for memory in which devices talk to each other;
/// a driver whose devices need no such difference takes no notice. Atomics on it are of integers only: what AMD's chips
/// do for floats in a cache is lost where there is none.
enum class Caching {
  Normal,
  FineGrained, ///< those of its own device, which are kept coherent
  Uncached,
};

/// Safe to use from several threads. Streams, events, buffers and modules keep their device alive.
class Device : public std::enable_shared_from_this<Device> {
public:
  virtual ~Device();

  virtual std::string name() const = 0;        ///< `host:0`: what openDevice takes
  virtual std::string description() const = 0; ///< product and size, for people
  virtual Driver &driver() const = 0;
  virtual int ordinal() const = 0; ///< among the driver's devices
  virtual const Chip &chip() const = 0;
  virtual MemoryInfo memoryInfo() const = 0;
  /// Multiprocessors or compute units of a GPU, or its share of them, which run the blocks of a cooperative launch at
  /// once; 0: as many blocks as there are take turns.
  virtual int computeUnits() const { return 0; }

  /// Contents are undefined, the address is a multiple of 64, on a GPU of 256 (what GPU kernels of collectives rely on
  /// for their arena). `name` appears in messages about addresses. Throws
  /// Error{Environment} naming bytes asked and available.
  Buffer allocate(uint64_t sizeBytes, const std::string &name = "", Caching caching = Caching::Normal);

  /// Memory that others allocated and keep, as an array of another library: copies, bounds checks and messages know it
  /// from then on, and nothing frees it. Ranges may overlap. Throws Error{Input} for address 0, for a range beyond the
  /// address space, and where the device's kernels cannot use memory of others (simulated devices).
  Buffer adopt(uint64_t address, uint64_t sizeBytes, const std::string &name = "");

  // ---- Memory of several processes ----

  /// The ways in which memory of this device can be another process's too, the best first; empty for none.
  virtual std::vector<SharingKind> sharing() const { return {}; }
  /// As allocate, of memory that other processes may import in this way. Throws Error{Input} for a way that the device
  /// does not have.
  Buffer allocateShared(uint64_t sizeBytes, const std::string &name, Caching caching, SharingKind kind);
  /// For one process; `buffer` is of allocateShared. The memory lives until the last process has let go of it; of the
  /// kind CudaHandle until its own process frees it, which must not be before the others have.
  ExportedMemory exportMemory(const Buffer &buffer);
  /// The same of a range of memory of any origin, as of another library: the allocation that holds it goes to the other
  /// process. Throws Error{Input} where no live allocation of this process holds the range and for memory that cannot
  /// be exported, as most memory of hosts.
  virtual ExportedRange exportRange(uint64_t address, uint64_t sizeBytes);
  /// Memory of another process's device, as this device addresses it, until the buffer goes. What `memory` says is
  /// checked as far as the system lets it be. Throws Error{Environment} where it cannot be mapped.
  Buffer importMemory(const ExportedMemory &memory, const std::string &name);
  /// Returns when memory whose buffers are gone has been given back to the driver: waits for the streams of its
  /// devices.
  virtual void finishFreeing() {}
  /// The same for the same piece of hardware in every process; empty for devices that are a program.
  virtual std::string hardwareId() const { return ""; }

  virtual std::unique_ptr<Stream> createStream() = 0;
  /// A stream over one that others made and keep: a `cudaStream_t` or `hipStream_t`, null for the default one. Work
  /// that is put into either comes in one order. Throws Error{Input} where the device has no streams of others.
  virtual std::unique_ptr<Stream> adoptStream(void *handle);
  virtual std::shared_ptr<Event> createEvent() = 0;
  /// While the object lives, this thread may allocate and wait although another thread or library captures a stream:
  /// CUDA refuses both otherwise in captures of its mode `global`, and ends the capture. May be null.
  virtual std::shared_ptr<void> allowInCaptures() { return nullptr; }

  /// Throws Error{Input} for a package of another target or ABI version, Error{Environment} when this machine lacks a
  /// feature it needs or cannot load its binary.
  virtual std::shared_ptr<Module> loadModule(const Package &package) = 0;

protected:
  friend class Buffer;
  virtual uint64_t allocateMemory(uint64_t sizeBytes, const std::string &name) = 0;
  virtual uint64_t allocateCached(uint64_t sizeBytes, const std::string &name, Caching /*caching*/) {
    return allocateMemory(sizeBytes, name);
  }
  virtual void freeMemory(uint64_t address) noexcept = 0;
  virtual uint64_t allocateShareable(uint64_t sizeBytes, const std::string &name, Caching caching, SharingKind kind);
  virtual ExportedMemory exportAllocation(uint64_t address, uint64_t sizeBytes);
  virtual uint64_t importAllocation(const ExportedMemory &memory, const std::string &name);
  virtual void adoptMemory(uint64_t address, uint64_t sizeBytes, const std::string &name);
  virtual void leaveMemory(uint64_t address, uint64_t sizeBytes) noexcept;
};

/// Of the device that has the fewest; 0 for none.
int fewestComputeUnits(const std::vector<std::shared_ptr<Device>> &devices);

/// ` of uncached memory`, for messages; empty for Normal.
const char *kindOfMemory(Caching caching);

} // namespace heddle
