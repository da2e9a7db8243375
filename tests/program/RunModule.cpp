// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns values of the evaluator into buffers and back.
#include "tests/program/RunModule.h"
#include "tests/multi_device/TestDevices.h"

namespace heddle::program::testing {

static void appendLeaves(const hlo::reference::Value &value, std::vector<ArrayBytes> &leaves) {
  if (value.shape.isArray())
    leaves.push_back({value.shape, std::string(value.bytes.begin(), value.bytes.end())});
  for (const hlo::reference::Value &element : value.elements)
    appendLeaves(element, leaves);
}

Results runOnDevices(const hlo::Module &module, const Inputs &inputs, const ProgramOptions &options) {
  std::vector<std::shared_ptr<Device>> devices = heddle::testing::openFirstDevices(module.deviceCount());
  Results arrays(devices.size());
  for (size_t device = 0; device < devices.size(); ++device)
    for (const hlo::reference::Value &input : inputs[device])
      appendLeaves(input, arrays[device]);
  Program program(module, devices, options);
  program.run(arrays);
  return program.run(arrays);
}

Results runReference(const hlo::Module &module, const Inputs &inputs) {
  Results results;
  for (const hlo::reference::Value &value : hlo::reference::evaluate(module, inputs))
    appendLeaves(value, results.emplace_back());
  return results;
}

} // namespace heddle::program::testing
