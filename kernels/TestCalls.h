// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of library kernels share: a call on a device against the plain reference, bit by bit.
#pragma once
#include "kernels/RunOnce.h"
#include "runtime/Driver.h"
#include "support/TestDevice.h"
#include "support/TestError.h"
#include <gtest/gtest.h>

namespace heddle::kernels {

struct TestCall {
  std::string kernel;
  std::map<std::string, int64_t> extents;
  std::map<std::string, std::string> options = {};
  ElementType type = ElementType::BF16;
  std::function<void(std::map<std::string, ArrayType> &)> arrange = nullptr; ///< the arrays' types
  std::function<void(HostArrays &)> change = nullptr;                        ///< the inputs' contents
};

/// Runs the call on `device` and compares all results with the reference.
inline HostArrays expectReference(const TestCall &test) {
  std::string device = testDevice();
  const LibraryKernel &kernel = lookupKernel(test.kernel);
  std::shared_ptr<Device> opened = openDevice(device);
  CallRequest request{.inputs = arraysOfShape(kernel, test.extents, test.type), .options = test.options};
  if (test.arrange)
    test.arrange(request.inputs);
  Prepared prepared(opened, kernel, request);
  HostArrays inputs = makeInputs(kernel, prepared.call(), 1);
  if (test.change)
    test.change(inputs);
  std::unique_ptr<Stream> stream = opened->createStream();
  CallBuffers buffers(opened, *stream, prepared, inputs);
  prepared.launch(*stream, buffers.addresses());
  HostArrays results = buffers.results(*stream, prepared.plan());
  HostArrays expected = referenceResults(kernel, prepared.call(), prepared.plan(), inputs);
  for (const auto &[array, value] : results) {
    Difference difference = compareArrays(array, value, expected.at(array));
    EXPECT_EQ(difference.elements, 0) << test.kernel << " on " << device << ": " << difference.first;
  }
  return results;
}

/// The same as `heddle run` would be told.
inline std::string refusal(const std::string &name, const CallRequest &request) {
  const LibraryKernel &kernel = lookupKernel(name);
  return messageOf([&] { planCall(kernel, checkCall(kernel, request)); });
}

} // namespace heddle::kernels
