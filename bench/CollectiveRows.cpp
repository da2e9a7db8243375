// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduce over 4 host devices: a large one against the plain loop that sums the four inputs once, where memory is
// the limit, and the time of a small one, where threads have to meet.
#include "bench/HostKernel.h"
#include "bench/PlainLoops.h"
#include "bench/Rows.h"
#include "chips/Chip.h"
#include "collectives/Communicator.h"
#include "runtime/Driver.h"
#include "runtime/Stream.h"
#include <cstring>
#include <fmt/format.h>

namespace heddle::bench {
namespace {

constexpr int ranks = 4;

std::vector<std::shared_ptr<Device>> openHostDevices() {
  std::vector<std::shared_ptr<Device>> devices;
  for (int rank = 0; rank < ranks; ++rank)
    devices.push_back(openDevice(fmt::format("host:{}", rank)));
  return devices;
}

class AllReduce {
public:
  AllReduce(int64_t count, bool inPlace) : count(count), group(openHostDevices()) {
    Collective collective;
    collective.ranks = ranks;
    collective.inner = count;
    PlanOptions options;
    options.direct = true;
    operation = &group.prepare(makePlan(collective, hostChip, options));
    for (int rank = 0; rank < ranks; ++rank) {
      memory.push_back(group.device(rank)->allocate(uint64_t(count) * sizeof(float)));
      inputs.push_back(reinterpret_cast<float *>(memory.back().address()));
      memory.push_back(group.device(rank)->allocate(uint64_t(count) * sizeof(float)));
      outputs.push_back(inPlace ? inputs.back() : reinterpret_cast<float *>(memory.back().address()));
      fillRandom(inputs.back(), size_t(count), uint32_t(rank) + 1);
    }
    memory.push_back(group.device(0)->allocate(uint64_t(count) * sizeof(float)));
    plain = reinterpret_cast<float *>(memory.back().address());
    std::memset(plain, 0, size_t(count) * sizeof(float));
  }

  void run() {
    for (int rank = 0; rank < ranks; ++rank)
      group.launch(*operation, rank,
                   {DeviceAddress(uint64_t(inputs[size_t(rank)])), DeviceAddress(uint64_t(outputs[size_t(rank)]))});
    for (int rank = 0; rank < ranks; ++rank)
      group.stream(rank).synchronize();
  }
  void runPlain() { sumFour(inputs[0], inputs[1], inputs[2], inputs[3], plain, count); }
  void check() {
    group.synchronize();
    for (const float *output : outputs)
      expectClose(output, plain, size_t(count), 0);
  }

private:
  int64_t count;
  Communicator group;
  Communicator::Operation *operation;
  std::vector<Buffer> memory;
  std::vector<float *> inputs, outputs;
  float *plain;
};

Outcome measureLarge(const Budget &budget, bool inPlace) {
  constexpr int64_t bytes = int64_t(64) << 20;
  AllReduce reduce(bytes / 4, inPlace);
  if (inPlace) { // sums of sums have no other side: one call decides
    reduce.runPlain();
    reduce.run();
    reduce.check();
  }
  Outcome outcome;
  outcome.comparison = compare(budget, [&] { reduce.run(); }, [&] { reduce.runPlain(); });
  if (!inPlace)
    reduce.check();
  outcome.rate = fmt::format("{:.2f} GB/s algbw", double(bytes) / outcome.comparison->heddleMilliseconds.p50 / 1e6);
  return outcome;
}

Outcome measureSmall(const Budget &budget) {
  AllReduce reduce(256, /*inPlace=*/false);
  reduce.runPlain();
  std::vector<double> samples;
  for (double used = 0; used < budget.seconds * 1000 || int(samples.size()) < budget.leastSamples;) {
    samples.push_back(millisecondsOf([&] { reduce.run(); }));
    used += samples.back();
  }
  reduce.check();
  Outcome outcome;
  outcome.milliseconds = spreadOf(samples);
  return outcome;
}

} // namespace

void addCollectiveRows(std::vector<Row> &rows) {
  rows.push_back({"all_reduce/64M", "64 MB f32 on 4 host devices, against the plain loop that sums four arrays", 0, 0.5,
                  true, [](const Budget &budget) { return measureLarge(budget, false); }});
  rows.push_back({"all_reduce/64M/in-place", "the same in place, against the plain loop", 0, 0.5, true,
                  [](const Budget &budget) { return measureLarge(budget, true); }});
  rows.push_back({"all_reduce/1K", "1 KB f32 on 4 host devices, from launch to the end of all streams", 0, 0.2, false,
                  measureSmall});
}

} // namespace heddle::bench
