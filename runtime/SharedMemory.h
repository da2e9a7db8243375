// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device memory that crosses from one process to another: the ways in which it can, and what is sent.
#pragma once
#include "support/FileDescriptor.h"
#include <cstdint>
#include <string>

namespace heddle {

enum class SharingKind {
  MemoryFile,     ///< memory of the host, in a file without a name
  CudaDescriptor, ///< cuMemCreate, by a file descriptor
  CudaHandle,     ///< cuMemAlloc, by a handle of 64 bytes (legacy IPC)
};

/// `memory file`, `CUDA descriptor`, `CUDA handle`
const char *sharingName(SharingKind kind);

/// What the importing process needs. A process that has the descriptor or the handle may write the memory.
struct ExportedMemory {
  SharingKind kind = SharingKind::MemoryFile;
  uint64_t sizeBytes = 0; ///< of the buffer; the allocation may be larger
  std::string handle;     ///< of kinds that are bytes
  FileDescriptor file;    ///< of kinds that are descriptors

  static constexpr size_t mostHandleBytes = 64;
};

/// An allocation that is exported whole, and where in it the range begins that was asked for.
struct ExportedRange {
  ExportedMemory memory;
  uint64_t offset = 0; ///< bytes
};

} // namespace heddle
