// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device memory with an owner.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace heddle {

class Device;

/// One allocation of a device, freed with the object, or memory of others that a device adopted, which is left to them.
/// Streams may still be using the memory when the object goes: a device keeps its own until what had been put into
/// streams before has run. Movable; an empty Buffer has no device and address 0.
class Buffer {
public:
  Buffer() = default;
  Buffer(std::shared_ptr<Device> device, uint64_t address, uint64_t sizeBytes, bool adopted = false)
      : owner(std::move(device)), start(address), size(sizeBytes), adopted(adopted) {}
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
  bool isAdopted() const { return adopted; }

private:
  void swap(Buffer &other) noexcept {
    std::swap(owner, other.owner);
    std::swap(start, other.start);
    std::swap(size, other.size);
    std::swap(adopted, other.adopted);
  }

  std::shared_ptr<Device> owner;
  uint64_t start = 0;
  uint64_t size = 0;
  bool adopted = false;
};

} // namespace heddle
