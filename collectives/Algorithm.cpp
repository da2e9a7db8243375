// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collectives/Algorithm.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {

bool Algorithm::does(CollectiveKind kind) const {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

const std::vector<const Algorithm *> &allAlgorithms() {
  static const std::vector<const Algorithm *> all = {
      &oneShotPackets,   &oneShotPull,    &twoShotPackets, &twoShotPull,   &twoShotDirect,
      &twoShotPush,      &gatherPackets,  &gatherPush,     &gatherPull,    &gatherDirectPush,
      &gatherDirectPull, &scatterPackets, &scatterPull,    &scatterDirect, &exchangePackets,
      &exchangePush,     &exchangeDirect, &permutePull,    &broadcastPull, &broadcastScatter};
  return all;
}

const Algorithm &findAlgorithm(CollectiveKind kind, const std::string &name) {
  std::string known;
  for (const Algorithm *algorithm : allAlgorithms()) {
    if (!algorithm->does(kind))
      continue;
    if (algorithm->name == name)
      return *algorithm;
    known += std::string(known.empty() ? "" : ", ") + algorithm->name;
  }
  throw inputError(fmt::format("{} has no algorithm `{}`", collectiveName(kind), name), {"it has " + known});
}

} // namespace heddle
