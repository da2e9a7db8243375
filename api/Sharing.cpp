// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tries each way of sharing memory between processes, since drivers do not say which of them work.
#include "api/Sharing.h"
#include "runtime/Driver.h"
#include "runtime/ProcessGroup.h"
#include "runtime/processes/Launcher.h"
#include "support/Error.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <sys/resource.h>

namespace heddle {

std::shared_ptr<Device> openDeviceOfRank(const std::string &driver, int rank) {
  std::string name = driverNameOf(driver);
  for (Driver *each : allDrivers())
    if (each->name() == name && each->deviceCount() > 0) {
      LauncherFacts facts = readLauncher();
      return each->open((facts.rank == rank && facts.localRank >= 0 ? facts.localRank : rank) % each->deviceCount());
    }
  return openDevice(name + ":0"); // says what is wrong
}

/// Whether every process has devices of it.
static bool haveAll(Bootstrap &bootstrap, const Driver &driver) {
  std::vector<std::string> answers = bootstrap.allGather(driver.deviceCount() > 0 ? "yes" : "no", 30);
  return std::all_of(answers.begin(), answers.end(), [](const std::string &answer) { return answer == "yes"; });
}

/// This process's device; null when some process cannot open its own, with what each of those says in `problem`. A
/// process that went on without the others would leave them waiting for it.
static std::shared_ptr<Device> openOnAll(Bootstrap &bootstrap, const Driver &driver, std::string &problem) {
  constexpr size_t mostTextBytes = 1000;
  std::shared_ptr<Device> device;
  std::string mine;
  try {
    device = openDeviceOfRank(driver.name(), bootstrap.rank());
  } catch (const Error &error) {
    mine = std::string(error.what()).substr(0, mostTextBytes);
  }
  std::vector<std::string> all = bootstrap.allGather(mine, 30);
  for (int rank = 0; rank < bootstrap.size(); ++rank)
    if (!all[size_t(rank)].empty())
      problem += fmt::format("{}rank {} has no device: {}", problem.empty() ? "" : "; ", rank, all[size_t(rank)]);
  return problem.empty() ? device : nullptr;
}

static void tryDriver(Bootstrap &bootstrap, const Driver &driver, SharingReport &report) {
  using Clock = std::chrono::steady_clock;
  std::unique_ptr<ProcessGroup> group;
  std::string problem;
  std::shared_ptr<Device> device = openOnAll(bootstrap, driver, problem);
  if (!device) {
    report.ways.push_back({driver.name(), "a group", problem, 0});
    return;
  }
  try {
    group = std::make_unique<ProcessGroup>(bootstrap, device, 30, ProcessGroup::Check::Later);
  } catch (const Error &error) {
    report.ways.push_back({driver.name(), "a group", error.what(), 0});
    return;
  }
  if (report.processes.empty())
    for (int rank = 0; rank < group->ranks(); ++rank)
      report.processes.push_back(group->describe(rank));
  for (SharingKind kind : group->commonSharing()) {
    auto start = Clock::now();
    problem = group->trySharing(kind);
    report.ways.push_back({driver.name(), sharingName(kind), problem,
                           std::chrono::duration<double, std::milli>(Clock::now() - start).count()});
  }
  if (group->commonSharing().empty())
    report.ways.push_back({driver.name(), "none", "its devices have no memory that processes can share", 0});
}

SharingReport examineSharing(const BootstrapOptions &options) {
  std::unique_ptr<Bootstrap> bootstrap = makeBootstrap(options);
  SharingReport report;
  report.rank = bootstrap->rank();
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0)
    report.openFiles = files.rlim_cur;
  for (Driver *driver : allDrivers())
    if (!driver->name().starts_with("sim:") && haveAll(*bootstrap, *driver))
      tryDriver(*bootstrap, *driver, report);
  return report;
}

} // namespace heddle
