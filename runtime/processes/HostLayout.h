// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which ranks are on which host, and whether all hosts have equally many: then a rank has a number within its host, and
// the ranks with one number, one on each host, form a rail.
#pragma once
#include <string>
#include <vector>

namespace heddle {

struct HostLayout {
  int ranks = 1;
  int hosts = 1;     ///< 1 to ranks
  int perHost = 1;   ///< ranks of each host; hosts * perHost == ranks
  int own = 0;       ///< this rank: host() * perHost + local()
  bool flat = false; ///< each rank is taken for a host of its own, since hosts have not one run of equally many ranks
  int machines = 1;  ///< hosts that there are, also of a flat layout

  int host() const { return own / perHost; }
  int local() const { return own % perHost; }
  int rankOf(int host, int local) const { return host * perHost + local; }
  std::vector<bool> rail() const; ///< by rank: those of the other hosts with this rank's number
  std::string describe() const;   ///< `2 hosts of 4 ranks`
};

/// `hostOfRank` names the host of each rank; `own` is this one. A pure function, so that all ranks have one layout.
HostLayout layOutHosts(const std::vector<std::string> &hostOfRank, int own);

} // namespace heddle
