// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that processes share: files without a name, which vanish with the last descriptor and mapping, and whose size
// is sealed, so that no process can take the memory from under another.
#pragma once
#include "support/FileDescriptor.h"
#include <cstdint>
#include <string>

namespace heddle {

/// `name` is for /proc only. The memory is reserved and zero. Throws Error{Environment} when the system gives none.
FileDescriptor createMemoryFile(const std::string &name, uint64_t sizeBytes);

/// Throws Error{Environment} unless `file` is a memory file of at least so many bytes whose size is sealed; `owner`
/// names the process that sent it.
void checkMemoryFile(const FileDescriptor &file, uint64_t sizeBytes, const std::string &owner);

/// A mapping of a whole file, unmapped with the object.
class FileMapping {
public:
  FileMapping() = default;
  /// Throws Error{Environment}.
  FileMapping(const FileDescriptor &file, uint64_t sizeBytes, bool writable);
  FileMapping(FileMapping &&other) noexcept
      : start(std::exchange(other.start, nullptr)), size(std::exchange(other.size, 0)) {}
  FileMapping &operator=(FileMapping &&other) noexcept {
    std::swap(start, other.start);
    std::swap(size, other.size);
    return *this;
  }
  ~FileMapping();
  void *address() const { return start; }

private:
  void *start = nullptr;
  uint64_t size = 0;
};

} // namespace heddle
