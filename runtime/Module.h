// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A package loaded on a device, and its kernel.
#pragma once
#include "binary/Package.h"
#include <memory>

namespace heddle {

/// The loaded binary of a package. `package()` has all but the bytes of the binary.
class Module {
public:
  explicit Module(Package description) : description(std::move(description)) {}
  virtual ~Module();
  const Package &package() const { return description; }

private:
  Package description;
};

/// The kernel of a module; keeps the code loaded.
struct Kernel {
  std::shared_ptr<Module> module;

  const Package &package() const { return module->package(); }
  const std::vector<PackageArgument> &arguments() const { return package().arguments; }
};

} // namespace heddle
