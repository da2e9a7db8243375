// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What NCCL can do of a collective, and how far its sums may be from ours: it adds in another order.
#include "api/NcclPeer.h"
#include "collectives/Reference.h"
#include "support/Error.h"
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace heddle {
namespace {

std::optional<NcclCollective::Kind> findKind(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return NcclCollective::Kind::AllReduce;
  case CollectiveKind::AllGather:
    return NcclCollective::Kind::AllGather;
  case CollectiveKind::ReduceScatter:
    return NcclCollective::Kind::ReduceScatter;
  case CollectiveKind::AllToAll:
    return NcclCollective::Kind::AllToAll;
  default:
    return std::nullopt;
  }
}

std::optional<NcclCollective::Reduction> findReduction(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return NcclCollective::Reduction::Sum;
  case Reduction::Product:
    return NcclCollective::Reduction::Product;
  case Reduction::Minimum:
    return NcclCollective::Reduction::Minimum;
  case Reduction::Maximum:
    return NcclCollective::Reduction::Maximum;
  default:
    return std::nullopt;
  }
}

/// The distance from 1 to the next number, and the smallest number.
struct Precision {
  double epsilon, smallest;
};

Precision precisionOf(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return {0x1p-52, 0x1p-1074};
  case ElementType::F32:
    return {0x1p-23, 0x1p-149};
  case ElementType::F16:
    return {0x1p-10, 0x1p-24};
  case ElementType::BF16:
    return {0x1p-7, 0x1p-133};
  case ElementType::F8E4M3FN:
    return {0x1p-3, 0x1p-9};
  default: // f8E5M2: NCCL reduces no other
    return {0x1p-2, 0x1p-16};
  }
}

} // namespace

void checkPeer(const BenchmarkRequest &request) {
  if (request.peer.empty())
    return;
  if (request.peer != "nccl")
    throw inputError(fmt::format("there is no peer `{}`", request.peer), {"the peer is nccl"});
  if (request.driver != "cuda")
    throw inputError(fmt::format("the peer nccl runs on CUDA devices, not on `{}`", request.driver),
                     {"give `--device cuda`, or leave `--peer` out"});
  if (!findKind(request.kind))
    throw inputError(fmt::format("the peer nccl is not compared for {}", collectiveName(request.kind)),
                     {"it is for all-reduce, all-gather, reduce-scatter and all-to-all"});
  if (reduces(request.kind) && !findReduction(request.reduction))
    throw inputError(fmt::format("NCCL has no reduction `{}`", reductionName(request.reduction)),
                     {"it has sum, product, minimum and maximum"});
  Collective some;
  some.kind = request.kind;
  some.type = request.type;
  some.reduction = request.reduction;
  NcclGroup::check(ncclCollective(some));
}

bool hasNcclCalls(const Collective &collective, bool inPlace) {
  return !(inPlace && collective.kind == CollectiveKind::AllToAll);
}

NcclCollective ncclCollective(const Collective &collective) {
  return {findKind(collective.kind).value(), collective.type,
          findReduction(collective.reduction).value_or(NcclCollective::Reduction::Sum), collective.partElements()};
}

int64_t countBeyondTolerance(const Collective &c, int rank, const std::vector<std::string> &inputs,
                             const std::string &seen, const std::string &expected) {
  bool rounds = c.reduces() && isFloat(c.type) && (c.reduction == Reduction::Sum || c.reduction == Reduction::Product);
  if (!rounds)
    return reference::countDifferences(c.type, seen, expected);
  int64_t size = elementSizeBytes(c.type), far = 0;
  int64_t first = c.kind == CollectiveKind::ReduceScatter ? rank * c.partElements() : 0;
  Precision precision = precisionOf(c.type);
  for (int64_t i = 0; i < c.outputElements(); ++i) {
    double wanted = loadDouble(c.type, expected.data() + i * size), got = loadDouble(c.type, seen.data() + i * size);
    if (wanted == got || (std::isnan(wanted) && std::isnan(got)))
      continue;
    double magnitude = std::abs(wanted);
    if (c.reduction == Reduction::Sum) {
      magnitude = 0;
      for (const std::string &input : inputs)
        magnitude += std::abs(loadDouble(c.type, input.data() + (first + i) * size));
    }
    double allowed = c.ranks * (precision.epsilon * magnitude + precision.smallest);
    far += !(std::abs(wanted - got) <= allowed);
  }
  return far;
}

} // namespace heddle
