// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans collectives for chips that need not be here, and compiles their kernels into a bundle.
#include "api/Bundles.h"
#include "api/Collectives.h"
#include "collectives/kernel/CompileKernel.h"
#include <fmt/format.h>

namespace heddle {
namespace {

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
            Collective collective =
                collectiveOfSize(kind, type, reduces(kind) ? request.reduction : Reduction::Sum, ranks, size);
            collective.root = kind == CollectiveKind::Broadcast ? request.root : 0;
            Plan plan = planOf(request, collective, lookupChip(target));
            if (plan.rounds == 0 || bundle.findCollective(target, kernelKey(plan)))
              continue;
            if (progress)
              progress(fmt::format("{} for {}: {}", describe(collective), target, plan.algorithm->name));
            addCollective(bundle, plan, request.processor);
          }
  if (bundle.collectives.empty())
    throw inputError("no kernel: the collectives have no elements at these sizes",
                     {"a rank has so many bytes, parts included: give larger ones"});
  return bundle;
}

} // namespace heddle
