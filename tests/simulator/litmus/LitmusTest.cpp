// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What two or four lanes may see of each other's accesses, near and far, on each kind of page: outcomes that the memory
// model forbids never come, and those that it allows do come, or the simulated memory would hide what hardware does.
#include "tests/simulator/kernels/SimulatedKernel.h"
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

enum class Near { Group, Xcd, Device, System }; ///< what the roles have in common, and nothing nearer
using Values = std::array<uint32_t, 8>;

struct Shape {
  std::string name;  ///< of the kernel: message, plain, ...
  std::string order; ///< relaxed, acqrel, seqcst
  unsigned roles;
  bool (*isBad)(const Values &out, uint32_t x, unsigned roles);
};

bool messageIsBad(const Values &out, uint32_t, unsigned) {
  return out[2] == 1 && out[3] == 0;
}
bool storesAreBad(const Values &out, uint32_t, unsigned) {
  return out[0] == 0 && out[2] == 0;
}
bool loadsAreBad(const Values &out, uint32_t, unsigned) {
  return out[0] == 1 && out[2] == 1;
}
bool readersAreBad(const Values &out, uint32_t, unsigned) {
  return out[4] == 1 && out[5] == 0 && out[6] == 1 && out[7] == 0;
}
bool coherenceIsBad(const Values &out, uint32_t, unsigned) {
  return out[0] < 2 || out[3] < out[2];
}
bool countIsBad(const Values &, uint32_t x, unsigned roles) {
  return x != 4 * roles;
}

const Shape shapes[] = {
    {"message", "relaxed", 2, messageIsBad},     {"message", "acqrel", 2, messageIsBad},
    {"message", "seqcst", 2, messageIsBad},      {"plain", "relaxed", 2, messageIsBad},
    {"plain", "acqrel", 2, messageIsBad},        {"stores", "relaxed", 2, storesAreBad},
    {"stores", "acqrel", 2, storesAreBad},       {"stores", "seqcst", 2, storesAreBad},
    {"loads", "relaxed", 2, loadsAreBad},        {"loads", "acqrel", 2, loadsAreBad},
    {"loads", "seqcst", 2, loadsAreBad},         {"readers", "relaxed", 4, readersAreBad},
    {"readers", "acqrel", 4, readersAreBad},     {"readers", "seqcst", 4, readersAreBad},
    {"coherence", "relaxed", 2, coherenceIsBad}, {"count", "relaxed", 2, countIsBad},
};

struct Case {
  std::string chip;
  Near near;
  Placement placement;
};

constexpr unsigned mostRoles = 4;

class Litmus {
public:
  explicit Litmus(const Case &given)
      : where(given), simulator(given.chip, given.near == Near::System ? mostRoles : 1),
        loaded(simulator.load(parseAmdCodeObject(readObject("litmus-" + given.chip + ".hsaco"), "litmus"))) {
    for (uint64_t *address : {&x, &y})
      *address = simulator.allocate(256, address == &x ? "x" : "y", 0, given.placement);
    out = simulator.allocate(64, "out", hostOwner, Placement::Uncached);
  }

  /// Whether the outcome is the bad one. Failures to end are failures of the test.
  bool run(const Shape &shape, const std::string &scope, const SimulationOptions &options) {
    for (uint64_t address : {x, y, out})
      std::memset(simulator.bytes(address).data(), 0, simulator.bytes(address).size());
    // Whose memory it is decides the page type.
    for (uint64_t address : {x, y})
      const_cast<Allocation *>(simulator.system.home.owner(address))->owner =
          int(options.seed % simulator.deviceCount());
    std::vector<std::unique_ptr<KernelRun>> runs;
    unsigned devices = where.near == Near::System ? shape.roles : 1;
    for (unsigned device = 0; device < devices; ++device)
      runs.push_back(prepare(shape, scope, device, options));
    report = simulator.run(runs, options);
    EXPECT_FALSE(report.error) << report.error->what();
    Values values;
    std::memcpy(values.data(), simulator.bytes(out).data(), sizeof values);
    uint32_t last;
    std::memcpy(&last, simulator.bytes(x).data(), 4);
    return shape.isBad(values, last, shape.roles);
  }

  SimulationReport report;
  int extra = 0; ///< last argument, of the kernels that have it

private:
  std::unique_ptr<KernelRun> prepare(const Shape &shape, const std::string &scope, unsigned device,
                                     const SimulationOptions &options) {
    struct {
      uint64_t x, y, out;
      int32_t by, self, first, step, extra;
    } arguments = {x, y, out, 0, int(device), 0, 1, extra};
    constexpr int cold = 16;
    Geometry geometry;
    geometry.items = {64};
    switch (where.near) {
    case Near::Group:
      geometry.items = {64 * shape.roles};
      break;
    case Near::Xcd:
    case Near::Device:
      arguments.by = 1;
      arguments.step = where.near == Near::Xcd ? 8 : 1; // adjacent workgroups are on different XCDs
      geometry.groups = {uint32_t(arguments.step) * (shape.roles - 1) + 1};
      break;
    case Near::System:
      arguments.by = 2;
      break;
    }
    if (options.checks.any())
      arguments.by |= cold;
    std::string bytes(reinterpret_cast<const char *>(&arguments), sizeof arguments);
    bool isPlain = shape.order.empty();
    if (isPlain)
      geometry.items = {128};
    const AmdKernel &kernel =
        loaded.object.kernel(isPlain ? shape.name : fmt::format("{}_{}_{}", shape.name, shape.order, scope));
    return simulator.prepare(loaded, kernel, geometry, bytes, device, options);
  }

  Case where;
  Simulator simulator;
  LoadedObject &loaded;
  uint64_t x = 0, y = 0, out = 0;
};

/// Whether the scope holds all roles. A read-modify-write is done at the device at least.
bool isWide(const Shape &shape, const std::string &given, Near near) {
  std::string scope = shape.name == "count" && given == "group" ? "device" : given;
  return near == Near::Group || (near != Near::System ? scope != "group" : scope == "all");
}

/// What synchronises forbids it, and what holds both waves.
bool isForbidden(const Shape &shape, const std::string &scope, Near near) {
  if (!isWide(shape, scope, near))
    return false;
  if (shape.name == "coherence" || shape.name == "count" || shape.order == "seqcst")
    return true;
  return shape.order == "acqrel" && shape.name != "stores" && shape.name != "readers";
}

/// Allowed, and the simulated memory is weak enough to show it.
bool mustCome(const Shape &shape, const std::string &scope, const Case &where) {
  if (shape.name == "readers" || shape.name == "coherence" || shape.name == "count")
    return false; // memory is one place where all agree
  if (isForbidden(shape, scope, where.near))
    return false;
  if (isWide(shape, scope, where.near))
    return where.near != Near::Group; // the vector cache sees all waves of a workgroup in the order of issue
  // A scope that is too narrow shows where caches lie between the waves, by what stays old.
  return where.placement == Placement::Normal && shape.order == "relaxed" && shape.name != "loads";
}

std::vector<SimulationOptions> runsToTry() {
  std::vector<SimulationOptions> list;
  for (Policy policy : {Policy::Earliest, Policy::Latest, Policy::Reordered})
    for (Schedule schedule : {Schedule::RunToBlock, Schedule::RoundRobin, Schedule::LeapFrog, Schedule::Frozen})
      for (uint64_t seed = 0; seed < 4; ++seed) {
        SimulationOptions options;
        options.policy = policy, options.schedule = schedule, options.seed = seed, options.caches = true;
        list.push_back(options);
      }
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SimulationOptions options;
    options.policy = Policy::Random, options.schedule = Schedule::Random, options.seed = seed;
    list.push_back(options);
  }
  return list;
}

class LitmusTest : public testing::TestWithParam<Case> {};

TEST_P(LitmusTest, ForbiddenOutcomesNeverComeAndAllowedOnesDo) {
  Litmus litmus(GetParam());
  std::vector<SimulationOptions> runs = runsToTry();
  for (const Shape &shape : shapes)
    for (const std::string scope : {"group", "device", "all"}) {
      bool forbidden = isForbidden(shape, scope, GetParam().near), needed = mustCome(shape, scope, GetParam());
      if (!forbidden && !needed)
        continue;
      size_t bad = 0, i = 0;
      size_t most = forbidden ? 300 : runs.size();
      for (; i < most && !bad; ++i)
        bad += litmus.run(shape, scope, runs[i]);
      std::string name = fmt::format("{}_{}_{}", shape.name, shape.order, scope);
      if (forbidden)
        EXPECT_EQ(bad, 0u) << name << " in run " << i - 1;
      else
        EXPECT_GT(bad, 0u) << name << " never shows";
    }
}

/// No alarm where synchronisation is right, and one where it is not, whatever the run happened to read.
TEST_P(LitmusTest, FindingsSayWhatIsNotOrdered) {
  Litmus litmus(GetParam());
  for (const Shape &shape : shapes)
    for (const std::string scope : {"group", "device", "all"}) {
      std::string name = fmt::format("{}_{}_{}", shape.name, shape.order, scope);
      bool wide = isWide(shape, scope, GetParam().near), findsRace = false, findsScope = false;
      for (SimulationOptions options : runsToTry()) {
        if (options.seed >= 40)
          break;
        options.checks = parseChecks("global-race,narrow-scope");
        litmus.run(shape, scope, options);
        for (const Finding &finding : litmus.report.findings) {
          findsRace |= finding.check == Check::GlobalRace;
          findsScope |= finding.check == Check::NarrowScope;
          bool allowed = !wide || (shape.name == "plain" && shape.order == "relaxed");
          ASSERT_TRUE(allowed) << name << "\n" << finding.text();
        }
      }
      // In a workgroup the cache orders data and flag by issue. Without sight of the flag nothing is read.
      bool isNear = GetParam().near == Near::Group;
      if (shape.name == "plain" && shape.order == "relaxed" && wide && !isNear)
        EXPECT_TRUE(findsRace) << name;
      if (shape.name != "plain" && !wide && GetParam().placement == Placement::Normal)
        EXPECT_TRUE(findsScope) << name;
    }
}

/// LLVM 22 drops the wait after buffer_wbl2 when the wave itself has stored nothing: the flag overtakes the data.
class LitmusOfAnothersData : public LitmusTest {};
TEST_P(LitmusOfAnothersData, AFlagThatDoesNotWaitForTheWriteBack) {
  Shape shape{"publish_for_another", "", 2, messageIsBad};
  for (int waits : {0, 1}) {
    Litmus litmus(GetParam());
    litmus.extra = waits;
    size_t bad = 0, found = 0;
    for (SimulationOptions options : runsToTry()) {
      if (options.seed >= 300)
        break;
      options.checks = parseChecks("global-race,narrow-scope");
      bad += litmus.run(shape, "", options);
      for (const Finding &finding : litmus.report.findings) {
        ++found;
        ASSERT_TRUE(finding.needs);
        EXPECT_NE(finding.needs->text().find("s_waitcnt vmcnt(0) between buffer_wbl2"), std::string::npos)
            << finding.text();
      }
    }
    bool isHidden = waits || GetParam().placement != Placement::Normal; // nothing has to be written back there
    EXPECT_EQ(bad > 0, !isHidden) << waits;
    EXPECT_EQ(found > 0, !isHidden) << waits;
  }
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  const char *near[] = {"Group", "Xcd", "Device", "System"}, *placement[] = {"Normal", "FineGrained", "Uncached"};
  return fmt::format("{}_{}_{}", info.param.chip, near[int(info.param.near)], placement[int(info.param.placement)]);
}

std::vector<Case> casesOf(std::initializer_list<Near> distances) {
  std::vector<Case> cases;
  for (const char *chip : {"gfx942", "gfx950"})
    for (Near near : distances)
      for (Placement placement : {Placement::Normal, Placement::FineGrained, Placement::Uncached})
        cases.push_back({chip, near, placement});
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, LitmusTest,
                         testing::ValuesIn(casesOf({Near::Group, Near::Xcd, Near::Device, Near::System})), nameOf);
INSTANTIATE_TEST_SUITE_P(All, LitmusOfAnothersData, testing::ValuesIn(casesOf({Near::Device})), nameOf);

} // namespace
} // namespace heddle::simulator
