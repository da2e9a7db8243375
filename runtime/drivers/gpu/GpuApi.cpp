// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens a vendor's library by one of its names and looks up the entry points that both vendors have.
#include "runtime/drivers/gpu/GpuApi.h"
#include <dlfcn.h>
#include <fmt/format.h>

namespace heddle {

void GpuApi::open(std::span<const std::string> names) {
  std::string tried, reasons;
  for (const std::string &name : names) {
    path = name;
    handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle)
      return;
    const char *said = ::dlerror();
    std::string reason = said ? said : name;
    if (reason == name + ": cannot open shared object file: No such file or directory")
      tried += (tried.empty() ? "" : ", ") + name;
    else
      reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  if (!tried.empty())
    reasons += (reasons.empty() ? "" : "; ") + tried + ": cannot open shared object file: No such file or directory";
  throw environmentError(fmt::format("the {} cannot be opened: {}", vendor.library, reasons), {vendor.hint});
}

void *GpuApi::lookUp(const char *symbol, bool required) const {
  void *found = ::dlsym(handle, symbol);
  if (!found && required)
    throw environmentError(fmt::format("the {} {} has no `{}`", vendor.library, path, symbol), {vendor.old});
  return found;
}

void GpuApi::initialise() {
  call(vendor.library, init, 0u);
  call(vendor.library, driverGetVersion, &driverVersion);
}

Error GpuApi::error(const std::string &where, const char *symbol, gpu::Result result) const {
  const char *name = nullptr, *meaning = nullptr;
  if (getErrorName(result, &name) != gpu::result::success || !name)
    name = "unknown error";
  if (getErrorString(result, &meaning) != gpu::result::success || !meaning)
    meaning = "this driver does not know its meaning";
  std::vector<std::string> notes;
  for (const gpu::Advice &each : vendor.advice)
    if (each.result == result)
      notes.emplace_back(each.text);
  return environmentError(fmt::format("{}: {}: {} ({}): {}", where, symbol, name, result, meaning), std::move(notes));
}

} // namespace heddle
