// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles candidates on several threads, ahead of the search and never while one is timed.
#include "autotune/DeviceClock.h"
#include "support/Error.h"
#include "support/Hash.h"
#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <thread>

namespace heddle::autotune {

using namespace kernels;

CandidateCompiler::CandidateCompiler(const Space &space, const Chip &chip, const DeviceClockOptions &options)
    : space(space), chip(chip), options(options), made(options.compiled->made) {}

void CandidateCompiler::expect(const std::vector<size_t> &candidates) {
  expected = candidates;
  next = 0;
}

std::string CandidateCompiler::identityOf(const Step &step) const {
  return fmt::format("{} {} {}", step.name, step.warps, hashHex(step.text));
}

void CandidateCompiler::compileAll(const std::vector<const Step *> &steps,
                                   const std::function<void(const Package &)> &load) {
  std::atomic<size_t> taken = 0;
  std::mutex mutex;
  auto work = [&] {
    for (size_t i = taken++; i < steps.size(); i = taken++) {
      const Step &step = *steps[i];
      CompiledPackages::Made result;
      try {
        CompileOptions chosen = options.compile;
        chosen.chip = &chip;
        chosen.warps = step.warps;
        result.package = std::make_shared<const Package>(compile(step.text, step.name, chosen).package);
        if (load)
          load(*result.package);
      } catch (const std::exception &error) {
        result.package = nullptr;
        result.error = error.what();
      }
      std::lock_guard lock(mutex);
      made[identityOf(step)] = std::move(result);
    }
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min<size_t>(size_t(options.threads), steps.size()); ++i)
    others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();
}

std::vector<std::shared_ptr<const Package>>
CandidateCompiler::packagesOf(size_t candidate, const std::function<void(const Package &)> &load) {
  std::vector<const Step *> missing;
  std::map<std::string, bool> seen;
  auto want = [&](size_t number) {
    for (const Step &step : space.candidates[number].plan.steps)
      if (std::string identity = identityOf(step);
          step.fills.empty() && !made.count(identity) && seen.try_emplace(identity, true).second)
        missing.push_back(&step);
  };
  want(candidate);
  if (!missing.empty()) {
    // Several for each thread, since some take longer than others.
    const size_t most = options.threads > 1 ? size_t(options.threads) * 3 : 1;
    while (next < expected.size() && missing.size() < most)
      want(expected[next++]);
    compileAll(missing, load);
  }
  std::vector<std::shared_ptr<const Package>> packages;
  for (const Step &step : space.candidates[candidate].plan.steps) {
    if (!step.fills.empty()) {
      packages.push_back(nullptr);
      continue;
    }
    const CompiledPackages::Made &found = made.at(identityOf(step));
    if (!found.package)
      throw CandidateFailure("compile", found.error);
    packages.push_back(found.package);
  }
  return packages;
}

} // namespace heddle::autotune
