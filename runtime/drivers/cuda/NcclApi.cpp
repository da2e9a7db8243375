// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens the library, looks up its entry points, and words its errors.
#include "runtime/drivers/cuda/NcclApi.h"
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>

namespace heddle {

std::string ncclVersionText(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

NcclApi::NcclApi(const std::string &libraryPath) : path(libraryPath) {
  // Read by NCCL when the communicators are made.
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = ::dlerror();
    throw environmentError(
        fmt::format("NCCL cannot be opened: {}", reason ? reason : path),
        {"HEDDLE_NCCL_LIBRARY names it when the system does not find it; Python packages have it in their folder "
         "`nvidia/nccl/lib`"});
  }
  auto load = [&](auto &function, bool required) {
    function.pointer = reinterpret_cast<decltype(function.pointer)>(::dlsym(library, function.symbol));
    if (required && !function)
      throw environmentError(fmt::format("NCCL's library {} has no `{}`", path, function.symbol),
                             {"Heddle compares with NCCL 2.18 or newer; HEDDLE_NCCL_LIBRARY names its library"});
  };
#define HEDDLE_NCCL_LOAD(name, ...) load(name, true);
  HEDDLE_NCCL_REQUIRED(HEDDLE_NCCL_LOAD)
#undef HEDDLE_NCCL_LOAD
#define HEDDLE_NCCL_LOAD(name, ...) load(name, false);
  HEDDLE_NCCL_TRANSPORT(HEDDLE_NCCL_LOAD)
  HEDDLE_NCCL_OPTIONAL(HEDDLE_NCCL_LOAD)
#undef HEDDLE_NCCL_LOAD
  call(getVersion, &libraryVersion);
}

void NcclApi::requireTransport() const {
  auto require = [&](const auto &function) {
    if (!function)
      throw environmentError(fmt::format("NCCL's library {} has no `{}`", path, function.symbol),
                             {"the transport `nccl` is for NCCL 2.17 or newer, and its RCCL; `tcp` needs neither"});
  };
#define HEDDLE_NCCL_CHECK(name, ...) require(name);
  HEDDLE_NCCL_TRANSPORT(HEDDLE_NCCL_CHECK)
#undef HEDDLE_NCCL_CHECK
}

Error NcclApi::error(const char *symbol, nccl::Result result) const {
  const char *meaning = getErrorString(result);
  std::vector<std::string> notes;
  if (const char *last = getLastError ? getLastError(nullptr) : nullptr; last && *last)
    notes.push_back(fmt::format("NCCL's last words: {}", last));
  notes.emplace_back("NCCL_DEBUG=WARN in the environment lets NCCL say more");
  return environmentError(fmt::format("NCCL: {}: {} ({})", symbol, meaning ? meaning : "unknown result", result),
                          std::move(notes));
}

} // namespace heddle
