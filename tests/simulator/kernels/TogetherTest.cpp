// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Workgroups on several threads: memory, counts, faults and what checks find are those of one thread, whatever the
// workgroups have to do with each other.
#include "tests/simulator/kernels/SimulatedKernel.h"
#include <bit>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <pthread.h>
#include <system_error>
#include <thread>

namespace heddle::simulator {
namespace {

struct Result {
  std::vector<uint32_t> memory;
  RunStatistics statistics;
  std::string error;
  std::string findings; ///< of all checks that were on
  bool operator==(const Result &other) const {
    return memory == other.memory && error == other.error && findings == other.findings &&
           statistics.instructions == other.statistics.instructions && statistics.waves == other.statistics.waves &&
           statistics.groups == other.statistics.groups;
  }
};

std::vector<uint32_t> numbers(size_t count) {
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1u);
  for (uint32_t &value : values)
    value = std::bit_cast<uint32_t>(float(value % 251));
  return values;
}

/// `act(object, buffer)` launches on a buffer of 2^16 numbers.
template <typename Act>
Result runOn(unsigned threads, Act act, CheckSet checks = {}) {
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  object.options.threads = threads;
  object.options.checks = checks;
  uint64_t buffer = object.buffer(numbers(1 << 16), "numbers");
  Result result;
  try {
    result.statistics = act(object, buffer);
  } catch (const Error &error) {
    result.error = error.what();
    for (const std::string &note : error.notes)
      result.error += "; " + note;
  }
  result.memory = object.read<uint32_t>(buffer);
  result.findings = object.findings;
  return result;
}

/// Without checks and with all of them; returns what these find.
template <typename Act>
std::string expectSame(Act act) {
  std::string findings;
  for (CheckSet checks : {CheckSet(), CheckSet::all()}) {
    Result one = runOn(1, act, checks);
    for (unsigned threads : {2, 3, 64}) {
      Result several = runOn(threads, act, checks);
      EXPECT_TRUE(several == one) << threads << " threads: " << several.error << " instead of " << one.error << "\n"
                                  << several.findings << "instead of\n"
                                  << one.findings;
    }
    findings = one.findings;
  }
  return findings;
}

constexpr Geometry hundredGroups = {{100}, {256}};

TEST(Together, WorkgroupsWithPlacesOfTheirOwn) {
  expectSame([](SimulatedObject &object, uint64_t buffer) {
    return object.run("vector_add", hundredGroups, buffer, buffer + 4 * 30000, buffer + 4 * 60000 / 2, 25600);
  });
  expectSame([](SimulatedObject &object, uint64_t buffer) { // in place
    return object.run("vector_add", hundredGroups, buffer, buffer, buffer, 25600);
  });
  expectSame([](SimulatedObject &object, uint64_t buffer) {
    return object.run("softmax_row", Geometry{{32}, {256}}, buffer, buffer, 1024);
  });
  expectSame([](SimulatedObject &object, uint64_t buffer) {
    return object.run("matmul", Geometry{{8, 8}, {256}}, buffer, buffer + 4 * 16384, buffer + 8 * 16384, 128);
  });
}

/// Each reads what the one before has stored: what ran ahead has read something older.
TEST(Together, WorkgroupsThatFollowEachOther) {
  expectSame([](SimulatedObject &object, uint64_t buffer) {
    return object.run("vector_add", hundredGroups, buffer, buffer + 4 * 30000, buffer + 4 * 256, 25600);
  });
  expectSame([](SimulatedObject &object, uint64_t buffer) { // half of each
    return object.run("vector_add", hundredGroups, buffer, buffer + 4 * 30000, buffer + 4 * 128, 25600);
  });
  expectSame([](SimulatedObject &object, uint64_t buffer) { // and now and then
    return object.run("vector_add", hundredGroups, buffer, buffer + 4 * 30000, buffer + 4 * 2560, 25600);
  });
}

/// All store to the same places: the last one's stay.
TEST(Together, WorkgroupsThatStoreOverEachOther) {
  expectSame([](SimulatedObject &object, uint64_t buffer) {
    object.run("vector_add", hundredGroups, buffer, buffer + 4 * 30000, buffer + 4 * 26000, 25600);
    return object.run("reduce_sum", Geometry{{64}, {256}}, buffer, buffer);
  });
}

TEST(Together, WhatNeedsItsTurn) {
  expectSame([](SimulatedObject &object, uint64_t buffer) { // atomic operations
    return object.run("histogram", hundredGroups, buffer, buffer + 4 * 60000, 25600);
  });
  expectSame([](SimulatedObject &object, uint64_t buffer) {
    return object.run("clock_advances", Geometry{{16}, {64}}, buffer);
  });
  expectSame([](SimulatedObject &object, uint64_t buffer) { // each waits for the one before
    std::memset(object.simulator.bytes(buffer).data(), 0, 4 * 4096);
    return object.run("chain", Geometry{{8}, {64}}, buffer, buffer + 4 * 8192);
  });
}

// ---- With checks ----

/// What a workgroup stores and another one reads or stores, in either order.
TEST(Together, RacesAreFound) {
  for (int shift : {64, 128, 256, 512, 8192, -64, -256, -8192}) {
    std::string findings = expectSame([shift](SimulatedObject &object, uint64_t buffer) {
      uint64_t x = buffer + 4 * 10000;
      return object.run("vector_add", hundredGroups, x, x, uint64_t(int64_t(x) + 4 * shift), 25600);
    });
    EXPECT_NE(findings.find("(global-race)"), std::string::npos) << shift;
  }
  std::string findings = expectSame([](SimulatedObject &object, uint64_t buffer) { // all store the same
    return object.run("reduce_sum", Geometry{{64}, {256}}, buffer, buffer + 4 * 65000);
  });
  EXPECT_EQ(findings, "");
}

/// Of memory that only some workgroups write, before others or themselves read it.
TEST(Together, WhatNothingHasWritten) {
  for (int first : {0, 256 * 20, 256 * 20 + 7})
    expectSame([first](SimulatedObject &object, uint64_t buffer) {
      uint64_t fresh = object.buffer(numbers(1 << 15), "fresh");
      object.simulator.setUninitialised(fresh);
      object.run("vector_add", Geometry{{40}, {256}}, buffer, buffer, fresh + 4 * first, 10000);
      object.run("histogram", hundredGroups, fresh, buffer + 4 * 60000, 25600);
      return object.run("softmax_row", Geometry{{32}, {256}}, fresh, buffer, 1024);
    });
}

/// Sums without return are done in turns, returning ones by one thread.
TEST(Together, AtomicOperations) {
  expectSame([](SimulatedObject &object, uint64_t buffer) {
    object.run("histogram", hundredGroups, buffer, buffer + 4 * 60000, 25600);
    return object.run("histogram", hundredGroups, buffer, buffer + 4 * 3000, 25600); // bins that are read as numbers
  });
  expectSame([](SimulatedObject &object, uint64_t buffer) {
    return object.run("atomics", Geometry{{12}, {64}}, buffer, buffer + 4 * 4096, buffer + 4 * 8192);
  });
}

/// Workgroup 1 does not end in its first turn: which others begin before its next one does not depend on threads.
TEST(Together, AWorkgroupOfTwoTurns) {
  constexpr int steps = 270'000;
  auto act = [](SimulatedObject &object, uint64_t buffer) {
    return object.run("late_exchange", Geometry{{16}, {64}}, buffer, steps);
  };
  uint64_t instructions = runOn(1, act).statistics.instructions;
  EXPECT_GT(instructions, 1u << 20);
  EXPECT_LT(instructions, 1u << 21);
  expectSame(act);
}

size_t countThreads() {
  std::filesystem::directory_iterator tasks("/proc/self/task"), end;
  return size_t(std::distance(tasks, end));
}

/// The same kernel on three devices at once; `arguments(device)` are its pointers, and the number after them.
Result runOnDevices(unsigned threads, const std::string &name, const Geometry &geometry, int number,
                    const std::function<std::vector<uint64_t>(uint64_t buffer, unsigned device)> &pointers,
                    const std::function<bool()> &look = {}) {
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  Simulator &simulator = object.simulator;
  object.options.threads = threads;
  object.options.isCancelled = look;
  uint64_t buffer = object.buffer(numbers(1 << 17), "numbers");
  const AmdKernel &kernel = simulator.object().kernel(name);
  std::vector<std::unique_ptr<KernelRun>> runs;
  for (unsigned device = 0; device < 3; ++device) {
    if (device > 0)
      simulator.addDevice();
    std::vector<uint64_t> own = pointers(buffer, device);
    std::string segment(kernel.kernargBytes, '\0');
    std::memcpy(segment.data(), own.data(), own.size() * sizeof own[0]);
    std::memcpy(segment.data() + kernel.arguments.at(own.size()).offset, &number, sizeof number);
    runs.push_back(simulator.prepare(simulator.loaded(), kernel, geometry, segment, device, object.options));
  }
  SimulationReport report = simulator.run(runs, object.options);
  return {object.read<uint32_t>(buffer), report.statistics, report.error ? report.error->what() : "", ""};
}

/// The workgroups of each device's launch are spread, whatever the devices have to do with each other.
TEST(Together, SeveralDevices) {
  constexpr uint64_t out = 4 * 90000;
  auto apart = [](uint64_t buffer, unsigned device) -> std::vector<uint64_t> {
    return {buffer + 40000 * device, buffer + 4 * 40000, buffer + out + 40000 * device};
  };
  auto chained = [](uint64_t buffer, unsigned device) -> std::vector<uint64_t> { // each reads what the last one stored
    return {device ? buffer + out + 400 * (device - 1) : buffer, buffer + 4 * 40000, buffer + out + 400 * device};
  };
  for (auto pointers : {+apart, +chained}) {
    auto run = [&](unsigned threads) { return runOnDevices(threads, "vector_add", {{40}, {256}}, 10000, pointers); };
    Result one = run(1);
    EXPECT_EQ(one.statistics.groups, 120u);
    EXPECT_EQ(one.error, "");
    for (unsigned threads : {2, 5})
      EXPECT_TRUE(run(threads) == one) << threads << " threads, " << (pointers == +apart ? "apart" : "chained");
  }
  size_t before = countThreads(), most = 0;
  auto own = [](uint64_t buffer, unsigned device) { return std::vector{buffer + 4096 * device}; };
  runOnDevices(4, "late_exchange", {{9}, {64}}, 270'000, own, [&] {
    most = std::max(most, countThreads());
    return false;
  });
  EXPECT_EQ(most, before + 3);
}

TEST(Together, NoMoreThreadsThanWorkgroups) {
  size_t before = countThreads(), most = 0;
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  object.options.threads = 100;
  object.options.isCancelled = [&] {
    most = std::max(most, countThreads());
    return false;
  };
  uint64_t buffer = object.buffer(numbers(64));
  object.run("late_exchange", Geometry{{2}, {64}}, buffer, 270'000); // the second has to wait for the first one's code
  EXPECT_EQ(most, before);
  object.run("late_exchange", Geometry{{9}, {64}}, buffer, 270'000);
  EXPECT_GT(most, before);
  EXPECT_LT(most, before + 9);
}

/// All but the first, which has the code decoded.
TEST(Together, ChecksWatchSeveralThreads) {
  auto act = [](SimulatedObject &object, uint64_t buffer) {
    return object.run("vector_add", hundredGroups, buffer, buffer, buffer, 25600);
  };
  EXPECT_EQ(runOn(1, act, CheckSet::usual()).statistics.groupsApart, 0u);
  EXPECT_EQ(runOn(3, act, CheckSet::usual()).statistics.groupsApart, 99u);
  auto sums = [](SimulatedObject &object, uint64_t buffer) {
    return object.run("histogram", hundredGroups, buffer, buffer + 4 * 60000, 25600);
  };
  EXPECT_EQ(runOn(3, sums, CheckSet::usual()).statistics.groupsApart, 99u);
}

/// Where the host gives no thread, the thread that asks does all the work.
TEST(Together, WorksWithoutThreads) {
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t(1) << 60), 0); // more than there are addresses
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  expectSame([](SimulatedObject &object, uint64_t buffer) {
    return object.run("vector_add", hundredGroups, buffer, buffer, buffer, 25600);
  });
  EXPECT_EQ(pthread_setattr_default_np(&usual), 0);
  pthread_attr_destroy(&usual), pthread_attr_destroy(&huge);
}

TEST(Together, FaultsAreThoseOfTheFirst) {
  EXPECT_NE(runOn(1,
                  [](SimulatedObject &object, uint64_t buffer) {
                    return object.run("vector_add", Geometry{{100}, {256}}, buffer, buffer, buffer + 4 * 51200, 25600);
                  })
                .error,
            "");
  expectSame([](SimulatedObject &object, uint64_t buffer) { // group 56 is the first after the end
    return object.run("vector_add", Geometry{{100}, {256}}, buffer, buffer, buffer + 4 * 51200, 25600);
  });
  expectSame([](SimulatedObject &object, uint64_t buffer) {
    object.options.instructionLimit = 3000;
    return object.run("vector_add", hundredGroups, buffer, buffer, buffer, 25600);
  });
}

} // namespace
} // namespace heddle::simulator
