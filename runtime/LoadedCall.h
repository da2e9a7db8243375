// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of a bundle, loaded on a device: launch it any number of times, also into a graph.
#pragma once
#include "binary/Bundle.h"
#include "runtime/Buffer.h"
#include "runtime/Device.h"
#include "runtime/Launch.h"
#include "runtime/Stream.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace heddle {

class LoadedCall {
public:
  /// Loads the modules, and allocates the temporaries. `packages` are those that the call's steps number. Throws as
  /// Device::loadModule and Device::allocate.
  LoadedCall(std::shared_ptr<Device> device, BundleCall call,
             const std::vector<std::shared_ptr<const Package>> &packages);

  const BundleCall &call() const { return theCall; }
  /// Puts the steps into a stream of the device. `addresses` are those of the inputs and results, by name; launches of
  /// one object share its temporaries, so they must be in one stream, or ordered by events. Throws Error{Input} for a
  /// missing name, and as Stream::launch. `timeoutSeconds` is Launch's, of each launch.
  void launch(Stream &stream, const std::map<std::string, uint64_t> &addresses, double timeoutSeconds = 0) const;

private:
  uint64_t addressOf(const std::string &name, const std::map<std::string, uint64_t> &addresses) const;

  std::shared_ptr<Device> device;
  BundleCall theCall;
  std::vector<Kernel> kernels; ///< for each step; without a module for a fill
  std::map<std::string, Buffer> temporaries;
};

} // namespace heddle
