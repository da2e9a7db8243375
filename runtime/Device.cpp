// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of the interfaces that are no driver's: ownership of buffers, and the homes of the virtual tables.
#include "runtime/Device.h"
#include "runtime/Event.h"
#include "runtime/Module.h"
#include "runtime/Stream.h"

namespace heddle {

Device::~Device() = default;
Event::~Event() = default;
Module::~Module() = default;
Stream::~Stream() = default;

Buffer Device::allocate(uint64_t sizeBytes, const std::string &name) {
  return Buffer(shared_from_this(), allocateMemory(sizeBytes, name), sizeBytes);
}

Buffer::~Buffer() {
  if (owner)
    owner->freeMemory(start);
}

} // namespace heddle
