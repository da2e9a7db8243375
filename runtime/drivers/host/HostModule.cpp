// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A package is refused before any of its code is loaded; dlopen itself trusts what it is given.
#include "runtime/drivers/host/HostModule.h"
#include "runtime/drivers/host/CpuFeatures.h"
#include "support/BufferSpec.h"
#include "support/Error.h"
#include "support/File.h"
#include <atomic>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace heddle {
namespace {

void checkPackage(const Package &package) {
  if (package.target != "host")
    throw inputError(
        fmt::format("kernel `{}` was compiled for target {}, the device is host", package.kernel, package.target),
        {"compile it with `--target host`"});
  if (package.abiVersion != hostAbiVersion)
    throw inputError(
        fmt::format("kernel `{}` was compiled for version {} of the host interface, this runtime has version {}",
                    package.kernel, package.abiVersion, hostAbiVersion),
        {"compile it again"});
  auto missing = missingCpuFeatures(package.features);
  if (!missing.empty())
    throw environmentError(fmt::format("kernel `{}` was compiled for {}, and this processor lacks {}", package.kernel,
                                       package.processor, fmt::join(missing, ", ")),
                           {"compile it on this machine, or for a processor that both have"});
  for (const PackageSite &site : package.sites)
    for (const PackageSite::Operand &operand : site.operands)
      countElements(operand.shape); // printing relies on it
}

void checkElf(const Package &package) {
  Elf64_Ehdr header;
  bool elf = package.binary.size() >= sizeof header;
  if (elf) {
    std::memcpy(&header, package.binary.data(), sizeof header);
    elf = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
          header.e_type == ET_DYN;
  }
  if (package.binaryKind != "elf-shared-object" || !elf)
    throw inputError(fmt::format("kernel `{}`: its binary of kind `{}` and {} bytes is no ELF shared object",
                                 package.kernel, package.binaryKind, package.binary.size()));
#ifdef __x86_64__
  if (header.e_machine != EM_X86_64)
    throw environmentError(fmt::format("kernel `{}`: its binary is for ELF machine {}, this machine is {}",
                                       package.kernel, header.e_machine, EM_X86_64));
#endif
}

/// dlopen takes two equal paths for one library, and descriptors are used again; so each path is spelled differently,
/// by an `.` or none in each of its places.
std::string uniqueDescriptorPath(int descriptor) {
  static std::atomic<uint32_t> counter{0};
  std::string path = "/proc/self/fd";
  for (uint32_t number = counter.fetch_add(1), bit = 0; bit < 32; ++bit)
    path += number >> bit & 1 ? "/./" : "/";
  return path + std::to_string(descriptor);
}

/// Null when this system has no memfd; `reason` is then errno, else dlopen's text.
void *openFromMemory(const std::string &binary, std::string &reason) {
  int descriptor = ::memfd_create("heddle-kernel", MFD_CLOEXEC);
  if (descriptor < 0) {
    reason = std::strerror(errno);
    return nullptr;
  }
  std::string_view rest = binary;
  while (!rest.empty()) {
    ssize_t written = ::write(descriptor, rest.data(), rest.size());
    if (written <= 0) {
      reason = std::strerror(errno);
      ::close(descriptor);
      return nullptr;
    }
    rest.remove_prefix(size_t(written));
  }
  void *library = ::dlopen(uniqueDescriptorPath(descriptor).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    reason = ::dlerror();
  ::close(descriptor); // the mapping stays
  return library;
}

void *openFromFile(const std::string &binary, std::string &reason) {
  static std::atomic<unsigned> counter{0};
  std::error_code code;
  auto folder = std::filesystem::temp_directory_path(code);
  std::string path = fmt::format("{}/heddle-{}-{}.so", folder.string(), ::getpid(), counter.fetch_add(1));
  try {
    writeFileAtomically(path, binary);
  } catch (const Error &error) {
    reason = error.what();
    return nullptr;
  }
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    reason = ::dlerror();
  ::unlink(path.c_str());
  return library;
}

Package withoutBinary(Package package) {
  package.binary.clear();
  return package;
}

} // namespace

std::shared_ptr<HostModule> HostModule::load(const Package &package) {
  checkPackage(package);
  checkElf(package);
  std::string reason;
  void *library = openFromMemory(package.binary, reason);
  if (!library)
    library = openFromFile(package.binary, reason);
  if (!library)
    throw environmentError(fmt::format("kernel `{}`: its binary cannot be loaded: {}", package.kernel, reason));
  auto entry = reinterpret_cast<HostEntry>(::dlsym(library, package.entry.c_str()));
  if (!entry) {
    ::dlclose(library);
    throw inputError(fmt::format("kernel `{}`: its binary has no symbol `{}`", package.kernel, package.entry));
  }
  return std::shared_ptr<HostModule>(new HostModule(withoutBinary(package), entry, library));
}

std::shared_ptr<HostModule> HostModule::fromFunction(const Package &package, HostEntry entry) {
  checkPackage(package);
  return std::shared_ptr<HostModule>(new HostModule(withoutBinary(package), entry, nullptr));
}

HostModule::~HostModule() {
  if (library)
    ::dlclose(library);
}

} // namespace heddle
