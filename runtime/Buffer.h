// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device memory with an owner.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace heddle {

class Device;

/// One allocation of a device, freed with the object. Streams may still be using the memory then: the device keeps it
/// until what had been put into streams before has run. Movable; an empty Buffer has no device and address 0.
class Buffer {
public:
  Buffer() = default;
  Buffer(std::shared_ptr<Device> device, uint64_t address, uint64_t sizeBytes)
      : owner(std::move(device)), start(address), size(sizeBytes) {}
  Buffer(Buffer &&other) noexcept { swap(other); }
  Buffer &operator=(Buffer &&other) noexcept {
    Buffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Buffer();

  Device *device() const { return owner.get(); }
  uint64_t address() const { return start; }
  uint64_t sizeBytes() const { return size; }

private:
  void swap(Buffer &other) noexcept {
    std::swap(owner, other.owner);
    std::swap(start, other.start);
    std::swap(size, other.size);
  }

  std::shared_ptr<Device> owner;
  uint64_t start = 0;
  uint64_t size = 0;
};

} // namespace heddle
