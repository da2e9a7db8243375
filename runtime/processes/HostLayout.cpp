// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts the runs of ranks that name one host.
#include "runtime/processes/HostLayout.h"
#include <fmt/format.h>
#include <set>

namespace heddle {

std::vector<bool> HostLayout::rail() const {
  std::vector<bool> peers(size_t(ranks), false);
  for (int each = 0; each < hosts; ++each)
    if (each != host())
      peers[size_t(rankOf(each, local()))] = true;
  return peers;
}

std::string HostLayout::describe() const {
  auto plural = [](int count) { return count == 1 ? "" : "s"; };
  if (flat)
    return fmt::format("{} hosts with different numbers of ranks, or ranks out of order: each of {} ranks by itself",
                       machines, ranks);
  return fmt::format("{} host{} of {} rank{}", hosts, plural(hosts), perHost, plural(perHost));
}

HostLayout layOutHosts(const std::vector<std::string> &hostOfRank, int own) {
  HostLayout layout;
  layout.ranks = int(hostOfRank.size());
  layout.own = own;
  layout.machines = int(std::set<std::string>(hostOfRank.begin(), hostOfRank.end()).size());
  layout.hosts = layout.machines;
  layout.perHost = layout.ranks / layout.hosts;
  layout.flat = layout.hosts * layout.perHost != layout.ranks;
  for (int rank = 0; rank < layout.ranks && !layout.flat; ++rank)
    layout.flat = hostOfRank[size_t(rank)] != hostOfRank[size_t(rank / layout.perHost * layout.perHost)];
  if (layout.flat)
    layout.hosts = layout.ranks, layout.perHost = 1;
  return layout;
}

} // namespace heddle
