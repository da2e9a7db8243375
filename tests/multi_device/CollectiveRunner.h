// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs one collective on the ranks of a communicator with inputs and outputs as bytes.
#pragma once
#include "collectives/Communicator.h"
#include "runtime/Buffer.h"
#include "runtime/Device.h"
#include "runtime/Driver.h"
#include "runtime/Stream.h"

namespace heddle::testing {

inline std::vector<std::shared_ptr<Device>> openDevices(const std::string &driver, const std::vector<int> &ordinals) {
  std::vector<std::shared_ptr<Device>> devices;
  for (int ordinal : ordinals)
    devices.push_back(openDevice(driver + ":" + std::to_string(ordinal)));
  return devices;
}

/// Device buffers with the inputs, and outputs full of 0xA5.
class CollectiveRun {
public:
  CollectiveRun(Communicator &communicator, const Plan &plan, const std::vector<std::string> &inputs)
      : communicator(communicator), operation(communicator.prepare(plan)), inputs(inputs) {
    const Collective &c = plan.collective;
    uint64_t bytes = uint64_t(c.outputElements() * elementSizeBytes(c.type));
    for (int rank = 0; rank < communicator.ranks(); ++rank) {
      in.push_back(communicator.device(rank)->allocate(std::max<uint64_t>(1, inputs[size_t(rank)].size()), "input"));
      out.push_back(communicator.device(rank)->allocate(std::max<uint64_t>(1, bytes), "output"));
      outputs.emplace_back(bytes, '\0');
      if (!inputs[size_t(rank)].empty())
        communicator.stream(rank).copyToDevice(in.back().address(), inputs[size_t(rank)].data(),
                                               inputs[size_t(rank)].size());
      communicator.stream(rank).fill(out.back(), 0xA5);
    }
  }
  void launch(int rank) {
    communicator.launch(operation, rank, {DeviceAddress(in[size_t(rank)]), DeviceAddress(out[size_t(rank)])});
    if (!outputs[size_t(rank)].empty())
      communicator.stream(rank).copyToHost(outputs[size_t(rank)].data(), out[size_t(rank)].address(),
                                           outputs[size_t(rank)].size());
  }
  /// All ranks, and waits.
  const std::vector<std::string> &run() {
    for (int rank = 0; rank < communicator.ranks(); ++rank)
      launch(rank);
    communicator.synchronize();
    return outputs;
  }
  std::vector<std::string> outputs; ///< after synchronize

private:
  Communicator &communicator;
  Communicator::Operation &operation;
  std::vector<std::string> inputs;
  std::vector<Buffer> in, out;
};

} // namespace heddle::testing
