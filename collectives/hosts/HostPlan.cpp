// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares the algorithms of an all-reduce, and numbers of chunks, by the model's times: steps of one chunk run beside
// those of others, on the links within hosts and between them.
#include "collectives/hosts/HostPlan.h"
#include "binary/PeerAbi.h"
#include "collectives/Reference.h"
#include "support/Error.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace heddle {
namespace {

constexpr int64_t cutBytes = 64; ///< shards and pieces begin aligned
constexpr HostAlgorithm allReduceAlgorithms[] = {HostAlgorithm::Whole, HostAlgorithm::Shards, HostAlgorithm::Pieces};
constexpr int64_t chunkCounts[] = {1, 2, 4, 8, 16};

/// Elements that a chunk is a multiple of.
int64_t unitOf(const HostPlan &plan, HostAlgorithm algorithm) {
  int64_t aligned = std::max<int64_t>(1, cutBytes / elementSizeBytes(plan.collective.type));
  return aligned * plan.perHost * (algorithm == HostAlgorithm::Pieces ? plan.hosts : 1);
}

struct StepTimes {
  double node = 0, rail = 0;
};

/// Of one chunk: what its steps within the host take together, and what those between hosts do.
StepTimes timesOf(const HostPlan &plan, HostAlgorithm algorithm, double bytes, const HostModel &model) {
  double g = plan.perHost, h = plan.hosts, shard = bytes / g;
  StepTimes times;
  if (algorithm == HostAlgorithm::Whole) {
    double oneShot = model.node.time(bytes * (g - 1)), twoShot = 2 * model.node.time(bytes * (g - 1) / g);
    times.node = (g > 1 ? std::min(oneShot, twoShot) : 0) + model.node.time(bytes * h);
    times.rail = model.rail.time(bytes * (h - 1));
  } else {
    bool pieces = algorithm == HostAlgorithm::Pieces;
    times.node = (g > 1 ? 2 * model.node.time(bytes * (g - 1) / g) : 0) + model.node.time(pieces ? shard : shard * h);
    times.rail = pieces ? 2 * model.rail.time(shard * (h - 1) / h) : model.rail.time(shard * (h - 1));
  }
  return times;
}

double pipelined(const StepTimes &chunk, int64_t chunks) {
  return chunk.node + chunk.rail + double(chunks - 1) * std::max(chunk.node, chunk.rail);
}

void cut(HostPlan &plan, HostAlgorithm algorithm, int64_t chunks) {
  plan.algorithm = algorithm;
  plan.chunks.clear();
  int64_t left = plan.collective.partElements();
  if (algorithm != HostAlgorithm::Whole) {
    int64_t unit = unitOf(plan, algorithm), units = left / unit,
            each = (units + chunks - 1) / std::max<int64_t>(1, chunks);
    for (; units > 0; units -= each)
      plan.chunks.push_back(std::min(each, units) * unit);
    left %= unit;
  }
  plan.rest = left;
}

double estimate(const HostPlan &plan, const HostModel &model) {
  double size = elementSizeBytes(plan.collective.type), total = 0;
  if (!plan.chunks.empty())
    total += pipelined(timesOf(plan, plan.algorithm, double(plan.chunks.front()) * size, model),
                       int64_t(plan.chunks.size()));
  if (plan.rest) {
    StepTimes rest = timesOf(plan, HostAlgorithm::Whole, double(plan.rest) * size, model);
    total += rest.node + rest.rail;
  }
  return total;
}

void planAllReduce(HostPlan &plan, const HostModel &model, const HostPlanOptions &options) {
  std::optional<HostPlan> best;
  for (HostAlgorithm algorithm : allReduceAlgorithms) {
    if (!options.algorithm.empty() && options.algorithm != hostAlgorithmName(algorithm))
      continue;
    for (int64_t chunks : chunkCounts) {
      HostPlan tried = plan;
      cut(tried, algorithm, options.chunks ? options.chunks : chunks);
      tried.microseconds = estimate(tried, model);
      if (!best || tried.microseconds < best->microseconds)
        best = tried;
    }
  }
  if (!best)
    throw inputError(fmt::format("an all-reduce between hosts has no algorithm `{}`", options.algorithm),
                     {"it has hosts_whole, hosts_shards, hosts_pieces"});
  plan = *best;
}

void planHostByHost(HostPlan &plan, const HostModel &model, const HostPlanOptions &options) {
  if (!options.algorithm.empty() && options.algorithm != hostAlgorithmName(HostAlgorithm::HostByHost))
    throw inputError(
        fmt::format("{} between hosts has no algorithm `{}`", collectiveName(plan.collective.kind), options.algorithm),
        {"it has hosts_by_host"});
  plan.algorithm = HostAlgorithm::HostByHost;
  double part = double(plan.collective.partElements() * elementSizeBytes(plan.collective.type));
  double sent = plan.collective.kind == CollectiveKind::AllToAll ? part * plan.perHost : part;
  StepTimes step{plan.perHost > 1 ? model.node.time(part * (plan.perHost - 1)) : 0, model.rail.time(sent)};
  plan.microseconds = pipelined(step, plan.hosts);
}

double numberIn(std::string_view &text, const std::string &whole) {
  double value = 0;
  auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool isLast = stop == text.data() + text.size();
  if (status != std::errc() || !(value > 0) || value > 1e12 || (!isLast && *stop != ','))
    throw inputError(
        fmt::format("`{}` is no model of hosts: it begins with `{}` where a number above 0 is wanted", whole, text),
        {"give four numbers, as 20,2000,50,1000: microseconds and MB/s of a step in a host, then between "
         "hosts"});
  text.remove_prefix(size_t(stop - text.data()) + (isLast ? 0 : 1));
  return value;
}

} // namespace

HostModel parseHostModel(const std::string &text) {
  std::string_view left = text;
  HostModel model;
  for (double *each : {&model.node.microseconds, &model.node.bytesPerMicrosecond, &model.rail.microseconds,
                       &model.rail.bytesPerMicrosecond})
    *each = numberIn(left, text);
  if (!left.empty())
    throw inputError(fmt::format("`{}` is no model of hosts: `{}` is left after four numbers", text, left));
  return model;
}

std::string describe(const HostModel &model) {
  return fmt::format("{:.4g},{:.4g},{:.4g},{:.4g}", model.node.microseconds, model.node.bytesPerMicrosecond,
                     model.rail.microseconds, model.rail.bytesPerMicrosecond);
}

const char *hostAlgorithmName(HostAlgorithm algorithm) {
  switch (algorithm) {
  case HostAlgorithm::Whole:
    return "hosts_whole";
  case HostAlgorithm::Shards:
    return "hosts_shards";
  case HostAlgorithm::Pieces:
    return "hosts_pieces";
  case HostAlgorithm::HostByHost:
    return "hosts_by_host";
  }
  return "";
}

void checkHostCollective(const Collective &collective) {
  Collective few = collective;
  few.ranks = std::min(collective.ranks, maxWorldSize);
  checkCollective(few);
  int64_t bytes = 0;
  if (collective.ranks < 1 ||
      __builtin_mul_overflow(collective.partElements() * elementSizeBytes(collective.type), collective.ranks, &bytes))
    throw inputError(fmt::format("{} has too many elements", describe(collective)));
}

HostPlan makeHostPlan(const Collective &collective, const HostLayout &layout, const HostModel &model,
                      const HostPlanOptions &options) {
  if (collective.kind == CollectiveKind::Permute || collective.kind == CollectiveKind::Broadcast)
    throw inputError(fmt::format("{} is for ranks of one host, and these are on {}", collectiveName(collective.kind),
                                 layout.machines),
                     {"between hosts there are all-reduce, all-gather, reduce-scatter and all-to-all"});
  checkHostCollective(collective);
  if (collective.ranks != layout.ranks)
    throw inputError(fmt::format("a collective of {} ranks in a group of {}", collective.ranks, layout.ranks));
  if (layout.hosts > maxWorldSize || layout.perHost > maxWorldSize)
    throw inputError(fmt::format("{}: there are at most {} of each", layout.describe(), maxWorldSize));
  if (collective.outer != 1)
    throw inputError(fmt::format("{}: between hosts a part is one run of elements", describe(collective)));
  if (options.chunks < 0 || options.chunks > HostPlan::mostChunks)
    throw inputError(fmt::format("{} chunks: there are 1 to {}", options.chunks, HostPlan::mostChunks));
  HostPlan plan;
  plan.collective = collective;
  plan.hosts = layout.hosts, plan.perHost = layout.perHost;
  if (collective.kind == CollectiveKind::AllReduce)
    planAllReduce(plan, model, options);
  else
    planHostByHost(plan, model, options);
  return plan;
}

uint64_t largestPartBytes(const HostPlan &plan) {
  const Collective &c = plan.collective;
  int64_t elements = c.partElements() * (c.kind == CollectiveKind::AllToAll ? plan.perHost : 1);
  if (c.kind == CollectiveKind::AllReduce) {
    int64_t chunk = plan.chunks.empty() ? 0 : plan.chunks.front(); // the others are no larger
    int64_t shares = plan.perHost * (plan.algorithm == HostAlgorithm::Pieces ? plan.hosts : 1);
    elements = std::max(chunk / shares, plan.rest);
  }
  return uint64_t(elements) * uint64_t(elementSizeBytes(c.type));
}

std::string hostPlanKey(const HostPlan &plan) {
  const Collective &c = plan.collective;
  return fmt::format("{} {} {}, {} hosts of {} ranks, {}, chunks of {{{}}} and {}, part [{}]", collectiveName(c.kind),
                     c.reduces() ? reductionName(c.reduction) : "copy", elementTypeName(c.type), plan.hosts,
                     plan.perHost, hostAlgorithmName(plan.algorithm), fmt::join(plan.chunks, ","), plan.rest, c.inner);
}

//===-- Kernels --------------------------------------------------------------------------------------------------===//

Plan planOfNode(const HostPlan &plan, CollectiveKind kind, int64_t inner, const HostKernelOptions &kernels) {
  Collective collective = plan.collective;
  collective.kind = kind;
  collective.ranks = plan.perHost;
  collective.inner = inner;
  PlanOptions options;
  options.computeUnits = kernels.computeUnits;
  return makePlanBeside(kernels.reservedUnits, collective, kernels.chip, options);
}

Plan planOfFold(ElementType type, Reduction reduction, int parts, int64_t elements, const HostKernelOptions &kernels) {
  Collective fold;
  fold.kind = CollectiveKind::ReduceScatter;
  fold.type = type, fold.reduction = reduction;
  fold.ranks = parts, fold.inner = elements;
  PlanOptions options;
  options.own = &foldParts;
  options.computeUnits = kernels.computeUnits;
  return makePlan(fold, kernels.chip, options);
}

std::vector<int64_t> foldsOf(const HostPlan &plan) {
  if (plan.collective.kind == CollectiveKind::ReduceScatter)
    return {plan.collective.partElements()};
  std::vector<int64_t> folds;
  if (plan.collective.kind != CollectiveKind::AllReduce)
    return folds;
  for (int64_t elements : plan.chunks)
    folds.push_back(elements / plan.perHost / (plan.algorithm == HostAlgorithm::Pieces ? plan.hosts : 1));
  folds.push_back(plan.rest);
  return folds;
}

std::vector<Plan> kernelsOf(const HostPlan &plan, const HostKernelOptions &options) {
  const Collective &c = plan.collective;
  std::vector<Plan> kernels;
  auto addOfNode = [&](CollectiveKind kind, int64_t inner) {
    if (plan.perHost > 1 && inner > 0)
      kernels.push_back(planOfNode(plan, kind, inner, options));
  };
  if (c.kind == CollectiveKind::AllReduce)
    addOfNode(c.kind, plan.rest);
  else
    addOfNode(c.kind, c.inner);
  for (int64_t elements : plan.chunks)
    for (CollectiveKind kind : {CollectiveKind::ReduceScatter, CollectiveKind::AllGather})
      addOfNode(kind, elements / plan.perHost);
  for (int64_t elements : foldsOf(plan))
    if (elements > 0)
      kernels.push_back(planOfFold(c.type, c.reduction, plan.hosts, elements, options));
  return kernels;
}

std::vector<HostPlan> possibleHostPlans(const Collective &collective, const HostLayout &layout,
                                        const HostPlanOptions &options) {
  std::vector<HostPlan> plans;
  HostModel any;
  if (collective.kind != CollectiveKind::AllReduce)
    return {makeHostPlan(collective, layout, any, options)};
  for (HostAlgorithm algorithm : allReduceAlgorithms) {
    if (!options.algorithm.empty() && options.algorithm != hostAlgorithmName(algorithm))
      continue;
    for (int64_t chunks : chunkCounts)
      plans.push_back(makeHostPlan(collective, layout, any,
                                   {hostAlgorithmName(algorithm), options.chunks ? options.chunks : chunks}));
  }
  if (plans.empty()) // says what there is
    makeHostPlan(collective, layout, any, options);
  return plans;
}

static void writeFold(ProtocolWriter &w, const Collective &) {
  w.eachTile([&] { w.output(Rank::fixed(0), w.fold([&](int rank) { return w.input(Rank::fixed(rank)); })); });
}

const Algorithm foldParts = {"fold_parts",
                             "folds the parts of its own input, which copies have brought; no barrier",
                             {CollectiveKind::ReduceScatter},
                             /*slices=*/false,
                             [](int) { return 0; },
                             [](int) { return 0; },
                             /*barriers=*/0,
                             writeFold};

std::vector<std::string> reference::runHostCollective(const HostPlan &plan, const std::vector<std::string> &inputs) {
  const Collective &c = plan.collective;
  if (!c.reduces())
    return runCollective(c, inputs);
  Collective node = c, hosts = c;
  node.ranks = plan.perHost, node.kind = CollectiveKind::AllReduce;
  node.inner = c.inputElements(); // the part of a reduce-scatter is cut out at the end
  hosts.ranks = plan.hosts, hosts.kind = CollectiveKind::AllReduce, hosts.inner = node.inner;
  std::vector<std::string> partials;
  for (int host = 0; host < plan.hosts; ++host) {
    auto first = inputs.begin() + host * plan.perHost;
    partials.push_back(runCollective(node, {first, first + plan.perHost}).front());
  }
  std::string whole = runCollective(hosts, partials).front();
  std::vector<std::string> outputs;
  size_t size = size_t(c.outputElements() * elementSizeBytes(c.type));
  for (int rank = 0; rank < c.ranks; ++rank)
    outputs.push_back(c.kind == CollectiveKind::AllReduce ? whole : whole.substr(size * size_t(rank), size));
  return outputs;
}

} // namespace heddle
