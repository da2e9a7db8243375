// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans collectives for chips that need not be here, and compiles their kernels into a bundle.
#include "api/Bundles.h"
#include "api/Collectives.h"
#include "collectives/hosts/HostPlan.h"
#include "collectives/kernel/CompileKernel.h"
#include <fmt/format.h>

namespace heddle {
namespace {

/// What a rank of several hosts may run for a collective.
std::vector<Plan> plansOfHosts(const CollectiveBundleRequest &request, const Collective &collective, const Chip &chip) {
  if (collective.ranks % request.hosts != 0)
    throw inputError(
        fmt::format("{} ranks on {} hosts: a bundle is for hosts with equally many", collective.ranks, request.hosts),
        {fmt::format("ranks of unequal hosts are each one by itself: `--hosts {}`", collective.ranks)});
  std::vector<std::string> hostOfRank;
  for (int rank = 0; rank < collective.ranks; ++rank)
    hostOfRank.push_back(std::to_string(rank * request.hosts / collective.ranks));
  int units = request.computeUnits ? request.computeUnits : chip.computeUnits;
  std::vector<Plan> plans;
  for (const HostPlan &plan : possibleHostPlans(collective, layOutHosts(hostOfRank, 0), {request.algorithm, 0}))
    for (Plan &kernel : kernelsOf(plan, {chip, units, request.reservedUnits}))
      plans.push_back(std::move(kernel));
  return plans;
}

/// A rank's part of what heddle_communicator_prepare asks for.
Plan planOf(const CollectiveBundleRequest &request, const Collective &collective, const Chip &chip) {
  PlanOptions options;
  options.algorithm = request.algorithm;
  options.computeUnits = request.computeUnits ? request.computeUnits : chip.computeUnits;
  return makePlanBeside(request.reservedUnits, collective, chip, options);
}

void addCollective(Bundle &bundle, const Plan &plan, const std::string &processor) {
  CompileOptions options = compileOptionsOf(plan);
  if (!plan.isGpu())
    options.processor = processor;
  std::string key = kernelKey(plan);
  size_t number = bundle.add(compile(kernelText(plan), key, options).package);
  bundle.collectives.push_back({plan.target, key, layoutKey(plan), number});
}

} // namespace

Bundle bundleCollectives(const CollectiveBundleRequest &request, const BundleProgress &progress) {
  requireBundleTargets(request.targets);
  Bundle bundle;
  bundle.producer = "heddle " + version();
  for (const std::string &target : request.targets)
    for (CollectiveKind kind : request.kinds)
      for (ElementType type : request.types)
        for (int ranks : request.ranks)
          for (int64_t size : request.sizes) {
            Reduction reduction = reduces(kind) ? request.reduction : Reduction::Sum;
            Collective collective = request.hosts > 1 ? hostCollectiveOfSize(kind, type, reduction, ranks, size)
                                                      : collectiveOfSize(kind, type, reduction, ranks, size);
            collective.root = kind == CollectiveKind::Broadcast ? request.root : 0;
            const Chip &chip = lookupChip(target);
            std::vector<Plan> plans = request.hosts > 1 ? plansOfHosts(request, collective, chip)
                                                        : std::vector<Plan>{planOf(request, collective, chip)};
            for (const Plan &plan : plans) {
              if (plan.rounds == 0 || bundle.findCollective(target, kernelKey(plan)))
                continue;
              if (progress)
                progress(fmt::format("{} for {}: {}", describe(plan.collective), target, plan.algorithm->name));
              addCollective(bundle, plan, request.processor);
            }
          }
  if (bundle.collectives.empty())
    throw inputError("no kernel: the collectives have no elements at these sizes",
                     {"a rank has so many bytes, parts included: give larger ones"});
  return bundle;
}

} // namespace heddle
