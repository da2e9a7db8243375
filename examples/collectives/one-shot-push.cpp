// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An all-reduce algorithm that is not in the table, with the program that tests it:
// docs/tutorials/collective-algorithm.md.
#include "api/Heddle.h"
#include "collectives/Communicator.h"
#include "collectives/Reference.h"
#include "collectives/model/ProtocolModel.h"
#include "runtime/Buffer.h"
#include "runtime/Driver.h"
#include "runtime/Stream.h"
#include "support/Error.h"
#include <cstdio>
#include <cstring>

using namespace heddle;

// [algorithm]
static void write(ProtocolWriter &w, const Collective &collective) {
  w.eachTile([&] {
    TileHandle own = w.input(Rank::fixed(0));
    for (int k = 1; k <= collective.ranks; ++k)
      w.store(Rank::own(k), {0, Rank::own()}, own);
  });
  w.barrier();
  w.eachTile([&] {
    TileHandle sum = w.fold([&](int rank) { return w.load(Rank::own(), {0, Rank::fixed(rank)}); });
    w.output(Rank::fixed(0), sum);
  });
}

static const Algorithm oneShotPush = {
    "one_shot_push",
    "stores the input into the memory of every rank, one barrier, folds its own memory",
    {CollectiveKind::AllReduce},
    /*slices=*/false,
    /*stagingSlots=*/[](int ranks) { return ranks; },
    /*inboxSlots=*/[](int) { return 0; },
    /*barriers=*/1,
    write};
// [algorithm]

// The same without its barrier: what the checks have to find.
static void writeWithoutBarrier(ProtocolWriter &w, const Collective &collective) {
  w.eachTile([&] {
    TileHandle own = w.input(Rank::fixed(0));
    for (int k = 1; k <= collective.ranks; ++k)
      w.store(Rank::own(k), {0, Rank::own()}, own);
    w.output(Rank::fixed(0), w.fold([&](int rank) { return w.load(Rank::own(), {0, Rank::fixed(rank)}); }));
  });
}

static const Algorithm broken = {"one_shot_push_without_barrier",
                                 "stores the input into the memory of every rank, folds its own memory",
                                 {CollectiveKind::AllReduce},
                                 /*slices=*/false,
                                 /*stagingSlots=*/[](int ranks) { return ranks; },
                                 /*inboxSlots=*/[](int) { return 0; },
                                 /*barriers=*/0,
                                 writeWithoutBarrier};

static Plan planOf(const Algorithm &algorithm, int ranks, int64_t count, const Chip &chip) {
  Collective collective;
  collective.kind = CollectiveKind::AllReduce, collective.type = ElementType::F32;
  collective.ranks = ranks, collective.outer = 1, collective.inner = count;
  PlanOptions options;
  options.own = &algorithm;
  return makePlan(collective, chip, options);
}

/// Runs it on the devices, and compares every element of every rank with the plain reference.
static int64_t runAndCompare(const Algorithm &algorithm, const std::vector<std::string> &names) {
  std::vector<std::shared_ptr<Device>> devices;
  for (const std::string &name : names)
    devices.push_back(openDevice(name));
  Communicator group(devices);
  Plan plan = planOf(algorithm, group.ranks(), 3000, devices[0]->chip());
  Communicator::Operation &operation = group.prepare(plan);
  int64_t wrong = 0;
  for (uint64_t seed = 0; seed < 3; ++seed) { // from the third round on, buffers are used again
    std::vector<std::string> inputs = reference::randomInputs(plan.collective, seed, /*special=*/true);
    std::vector<std::string> expected = reference::runCollective(plan.collective, inputs);
    std::vector<Buffer> in, out;
    for (int rank = 0; rank < group.ranks(); ++rank) {
      const std::string &bytes = inputs[size_t(rank)];
      in.push_back(devices[size_t(rank)]->allocate(int64_t(bytes.size()), "input"));
      out.push_back(devices[size_t(rank)]->allocate(int64_t(bytes.size()), "output"));
      group.stream(rank).copyToDevice(in.back(), bytes.data());
    }
    for (int rank = 0; rank < group.ranks(); ++rank)
      group.launch(operation, rank, {DeviceAddress(in[size_t(rank)]), DeviceAddress(out[size_t(rank)])});
    group.synchronize();
    for (int rank = 0; rank < group.ranks(); ++rank) {
      std::string seen(expected[size_t(rank)].size(), '\0');
      group.stream(rank).copyToHost(seen.data(), out[size_t(rank)]);
      group.stream(rank).synchronize();
      wrong += reference::countDifferences(ElementType::F32, seen, expected[size_t(rank)]);
    }
  }
  return wrong;
}

static int run(const std::vector<std::string> &arguments) {
  const Algorithm *algorithm = &oneShotPush;
  std::vector<std::string> devices;
  bool isModel = false, isText = false;
  for (const std::string &argument : arguments)
    if (argument == "--broken")
      algorithm = &broken;
    else if (argument == "--model")
      isModel = true;
    else if (argument == "--describe")
      isText = true;
    else
      devices.push_back(argument);
  if (isModel || isText) {
    Plan plan = planOf(*algorithm, 2, 1000, hostChip);
    std::fputs((isModel ? promelaModel(plan) : describe(plan)).c_str(), stdout);
    return 0;
  }
  if (devices.empty())
    devices = {"host:0", "host:1", "host:2", "host:3"};
  int64_t wrong = runAndCompare(*algorithm, devices);
  std::printf("%s on %zu devices: %lld wrong elements\n", algorithm->name, devices.size(),
              static_cast<long long>(wrong));
  return wrong ? 1 : 0;
}

int main(int argc, char **argv) {
  try {
    useSimulatedDevices();
    return run({argv + 1, argv + argc});
  } catch (const Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    for (const std::string &note : error.notes)
      std::fprintf(stderr, "  note: %s\n", note.c_str());
    return int(error.kind);
  }
}
