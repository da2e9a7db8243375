// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An all-reduce between devices from C++: what collectives/Communicator.h is for. docs/collectives.md shows it.
#include "collectives/Communicator.h"
#include "runtime/Buffer.h"
#include "runtime/Driver.h"
#include "runtime/Stream.h"
#include "support/Error.h"
#include <cstdio>

using namespace heddle;

static void sumOverRanks(const std::vector<std::string> &deviceNames) {
  std::vector<std::shared_ptr<Device>> devices;
  for (const std::string &name : deviceNames)
    devices.push_back(openDevice(name));
  Communicator group(devices);

  constexpr int64_t count = 1000;
  Collective collective;
  collective.kind = CollectiveKind::AllReduce, collective.type = ElementType::F32;
  collective.ranks = group.ranks(), collective.outer = 1, collective.inner = count;
  PlanOptions options;
  options.direct = true; // the operands are plain buffers
  options.computeUnits = group.computeUnits();
  Plan plan = makePlan(collective, devices[0]->chip(), options);
  Communicator::Operation &sum = group.prepare(plan); // compiles and allocates, once for all calls of this size

  std::vector<Buffer> inputs, outputs;
  std::vector<float> values(count), result(count);
  for (int rank = 0; rank < group.ranks(); ++rank) {
    std::fill(values.begin(), values.end(), float(rank + 1));
    inputs.push_back(devices[size_t(rank)]->allocate(count * sizeof(float), "input"));
    outputs.push_back(devices[size_t(rank)]->allocate(count * sizeof(float), "output"));
    group.stream(rank).copyToDevice(inputs.back(), values.data());
    group.stream(rank).synchronize(); // `values` is used again
  }
  for (int rank = 0; rank < group.ranks(); ++rank) // every rank launches the same operations in the same order
    group.launch(sum, rank, {DeviceAddress(inputs[size_t(rank)]), DeviceAddress(outputs[size_t(rank)])});
  group.stream(0).copyToHost(result.data(), outputs[0]); // after all launches: the copy may wait for rank 0's
  group.synchronize();                                   // throws what went wrong, with the rank that was missing
  std::printf("%d ranks: sum[0] = %g, sum[%d] = %g\n", group.ranks(), result[0], int(count) - 1, result[count - 1]);
}

int main(int count, char **words) {
  try {
    sumOverRanks(count > 1 ? std::vector<std::string>(words + 1, words + count)
                           : std::vector<std::string>{"host:0", "host:1", "host:2", "host:3"});
  } catch (const Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    for (const std::string &note : error.notes)
      std::fprintf(stderr, "  note: %s\n", note.c_str());
    return int(error.kind);
  }
}
