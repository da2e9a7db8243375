// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A group whose ranks are processes of one host, each with one device: who they are, how they share memory, and how
// they take a step together.
#pragma once
#include "runtime/Device.h"
#include "runtime/processes/Neighbours.h"

namespace heddle {

class ProcessGroup {
public:
  /// Collective, as all that follows: every process calls it, with a device of one chip. Finds out for real how the
  /// devices' memory can be shared. Throws on every rank: Error{Input} for devices of different chips and for one GPU
  /// that is given twice, Error{Environment} when memory cannot be shared, and what Neighbours throws. `seconds` is how
  /// long a step of setting up may wait for other ranks.
  enum class Check { Now, Later }; ///< Later: sharing() is the first way in common, whether it works or not
  ProcessGroup(Bootstrap &bootstrap, std::shared_ptr<Device> device, double seconds = 30, Check check = Check::Now);

  int rank() const { return neighbours().rank(); }
  int ranks() const { return neighbours().size(); }
  const std::shared_ptr<Device> &device() const { return own; }
  int computeUnits() const { return fewestUnits; } ///< of the device that has the fewest
  SharingKind sharing() const { return kind; }     ///< of more than one rank
  const std::string &deviceName(int rank) const { return members[size_t(rank)].device; }
  std::string describe(int rank) const { return neighbours().describe(rank); } ///< `rank 2 (host:2, pid 4711)`
  Neighbours &neighbours() const { return *all; }
  double stepSeconds() const { return seconds; }
  void setStepSeconds(double value) { seconds = value; } ///< the same on all ranks, while none is in a step

  /// A group of some of these processes alone, those of `ranks` in this order, of which this one is one; collective
  /// over them. Each list of ranks is joined once. Throws as the constructor.
  std::unique_ptr<ProcessGroup> part(const std::vector<int> &ranks, double seconds) const;

  /// What `work` gave on each rank. An error of one rank's work is thrown on every rank, of the same class: the group
  /// stays in step, and may go on.
  std::vector<std::string> agree(const std::function<std::string()> &work);
  /// The same of bytes with descriptors, which `work` has to keep open until the call returns.
  std::vector<Neighbours::Message> exchange(const std::function<std::string(std::vector<int> &files)> &work);

  /// One way of sharing memory, tried: each rank writes into the memory of each and looks for what all have written.
  /// Empty on all ranks or on none; else what went wrong.
  std::string trySharing(SharingKind kind);
  /// Those that all ranks' devices have, in the order of rank 0.
  std::vector<SharingKind> commonSharing() const;

private:
  struct Member {
    std::string device, chip, hardware;
    int units = 0;
    std::vector<SharingKind> sharing;
  };
  void readMembers();
  void checkMembers() const;

  std::shared_ptr<Device> own;
  double seconds;
  std::unique_ptr<Neighbours> all;
  std::vector<Member> members; ///< by rank
  int fewestUnits = 0;
  std::string token; ///< random, the same on all ranks
  SharingKind kind = SharingKind::MemoryFile;
};

} // namespace heddle
