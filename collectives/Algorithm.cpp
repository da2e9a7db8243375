// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of algorithms, and what those with packets share.
#include "collectives/Algorithm.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {

bool Algorithm::does(CollectiveKind kind) const {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

void sendParts(ProtocolWriter &writer, int ranks) {
  if (writer.hasCostlyInput()) {
    for (int k = 1; k < ranks; ++k)
      writer.send(Rank::own(k), {0, Rank::own()}, writer.input(Rank::own(k)));
    return;
  }
  std::vector<TileHandle> parts;
  for (int k = 1; k < ranks; ++k)
    parts.push_back(writer.input(Rank::own(k)));
  for (int k = 1; k < ranks; ++k)
    writer.send(Rank::own(k), {0, Rank::own()}, parts[size_t(k - 1)]);
}

void putOutReceived(ProtocolWriter &writer, int ranks, int base) {
  std::vector<TileHandle> received;
  for (int k = 1; k < ranks; ++k)
    received.push_back(writer.receive(Rank::own(k), {base, Rank::own(k)}));
  for (int k = 1; k < ranks; ++k)
    writer.output(Rank::own(k), received[size_t(k - 1)]);
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
