// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host code from a package: a shared object that is loaded from memory, and its entry.
#pragma once
#include "binary/HostAbi.h"
#include "runtime/Module.h"
#include <memory>

namespace heddle {

class HostModule : public Module {
public:
  /// Checks target, ABI version and CPU features, loads the binary and finds the entry. Errors as Device::loadModule.
  static std::shared_ptr<HostModule> load(const Package &package);
  /// For tests: the package's description around a function of this process. The same checks but for the binary.
  static std::shared_ptr<HostModule> fromFunction(const Package &package, HostEntry entry);
  ~HostModule() override;

  HostEntry entry() const { return function; }

private:
  HostModule(Package description, HostEntry entry, void *library)
      : Module(std::move(description)), function(entry), library(library) {}

  HostEntry function;
  void *library; ///< of dlopen; null for a function of this process
};

} // namespace heddle
