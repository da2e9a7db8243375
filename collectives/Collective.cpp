// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names, sizes of parts, and the check that refuses what no algorithm has to handle.
#include "collectives/Collective.h"
#include "binary/PeerAbi.h"
#include "support/Error.h"
#include <fmt/format.h>
#include <set>

namespace heddle {

const char *collectiveName(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return "all-reduce";
  case CollectiveKind::AllGather:
    return "all-gather";
  case CollectiveKind::ReduceScatter:
    return "reduce-scatter";
  case CollectiveKind::AllToAll:
    return "all-to-all";
  case CollectiveKind::Permute:
    return "permute";
  case CollectiveKind::Broadcast:
    return "broadcast";
  }
  return "";
}

const char *reductionName(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return "sum";
  case Reduction::Product:
    return "product";
  case Reduction::Minimum:
    return "minimum";
  case Reduction::Maximum:
    return "maximum";
  case Reduction::And:
    return "and";
  case Reduction::Or:
    return "or";
  }
  return "";
}

int Collective::inputParts() const {
  return kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllToAll ? ranks : 1;
}

int Collective::outputParts() const {
  return kind == CollectiveKind::AllGather || kind == CollectiveKind::AllToAll ? ranks : 1;
}

std::string describe(const Collective &collective) {
  std::string what = collectiveName(collective.kind);
  if (collective.reduces())
    what += std::string(" ") + reductionName(collective.reduction);
  return fmt::format("{} of {}[{}] over {} rank{}{}", what, elementTypeName(collective.type),
                     collective.inputElements(), collective.ranks, collective.ranks == 1 ? "" : "s",
                     collective.root ? fmt::format(" from rank {}", collective.root) : "");
}

static void checkReduction(const Collective &collective) {
  bool isBitwise = collective.reduction == Reduction::And || collective.reduction == Reduction::Or;
  bool isSum = collective.reduction == Reduction::Sum || collective.reduction == Reduction::Product;
  if (isFloat(collective.type) && isBitwise)
    throw inputError(fmt::format("{} of {} elements: the type has no bits to combine",
                                 reductionName(collective.reduction), elementTypeName(collective.type)),
                     {"floating types have sum, product, minimum and maximum"});
  if (collective.type == ElementType::I1 && isSum)
    throw inputError(fmt::format("{} of i1 elements has no result of one bit", reductionName(collective.reduction)),
                     {"i1 has and, or, minimum (and) and maximum (or)"});
}

static void checkSources(const Collective &collective) {
  if (int(collective.sources.size()) != collective.ranks)
    throw inputError(fmt::format("permute names the sources of {} ranks, the group has {}", collective.sources.size(),
                                 collective.ranks));
  std::set<int> seen;
  for (int source : collective.sources) {
    if (source < -1 || source >= collective.ranks)
      throw inputError(fmt::format("permute from rank {}: ranks are 0 to {}", source, collective.ranks - 1));
    if (source >= 0 && !seen.insert(source).second)
      throw inputError(fmt::format("permute sends from rank {} twice", source),
                       {"a rank is the source of one rank at most; use a broadcast for several"});
  }
}

void checkCollective(const Collective &collective) {
  if (collective.ranks < 1 || collective.ranks > maxWorldSize)
    throw inputError(fmt::format("{} over {} ranks: a group has 1 to {}", collectiveName(collective.kind),
                                 collective.ranks, maxWorldSize),
                     {fmt::format("give 1 to {} `--devices`, or divide the ranks into such groups", maxWorldSize)});
  int64_t elements = 0;
  if (collective.outer < 0 || collective.inner < 0 ||
      __builtin_mul_overflow(collective.outer, collective.inner, &elements) || elements >= int64_t(1) << 56)
    throw inputError(fmt::format("{} of {} times {} elements does not fit the address space",
                                 collectiveName(collective.kind), collective.outer, collective.inner),
                     {"neither number is negative, and their product is below 2^56"});
  if (collective.reduces())
    checkReduction(collective);
  if (collective.kind == CollectiveKind::Permute)
    checkSources(collective);
  if (collective.root < 0 || collective.root >= collective.ranks)
    throw inputError(fmt::format("{} from rank {}: ranks are 0 to {}", collectiveName(collective.kind), collective.root,
                                 collective.ranks - 1));
}

} // namespace heddle
