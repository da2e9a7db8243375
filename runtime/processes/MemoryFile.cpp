// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes and checks memory files: size, seals and owner, before anything of them is mapped.
#include "runtime/processes/MemoryFile.h"
#include "runtime/processes/Sockets.h"
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace heddle {

FileDescriptor createMemoryFile(const std::string &name, uint64_t sizeBytes) {
  FileDescriptor file(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  auto size = off_t(sizeBytes);
  // Without fallocate, memory that is not there would be a signal at the first access.
  if (!file || ::ftruncate(file.get(), size) != 0 || ::fallocate(file.get(), 0, 0, size) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    throw systemError(fmt::format("{} bytes of memory that processes share", sizeBytes), errno);
  return file;
}

void checkMemoryFile(const FileDescriptor &file, uint64_t sizeBytes, const std::string &owner) {
  struct stat facts{};
  int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || ::fstat(file.get(), &facts) != 0)
    throw systemError(fmt::format("{} sent no memory file", owner), errno);
  if (!(seals & F_SEAL_SHRINK))
    throw environmentError(fmt::format("{} sent a memory file whose size is not sealed", owner));
  if (uint64_t(facts.st_size) < sizeBytes)
    throw environmentError(
        fmt::format("{} sent a memory file of {} bytes, announced were {}", owner, uint64_t(facts.st_size), sizeBytes));
}

FileMapping::FileMapping(const FileDescriptor &file, uint64_t sizeBytes, bool writable) : size(sizeBytes) {
  start = ::mmap(nullptr, sizeBytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED) {
    start = nullptr;
    throw systemError(fmt::format("mapping {} bytes of shared memory", sizeBytes), errno);
  }
}

FileMapping::~FileMapping() {
  if (start)
    ::munmap(start, size);
}

} // namespace heddle
