// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A group whose ranks are processes on several hosts, each with one device: the group of this process's host, a socket
// between any two ranks by which deaths, aborts and short messages go, and a transport between hosts for data.
#pragma once
#include "runtime/ProcessGroup.h"
#include "runtime/StreamTransport.h"
#include "runtime/processes/HostLayout.h"
#include "runtime/processes/Transport.h"

namespace heddle {

/// What carries data between hosts. Automatic: TCP, or unix sockets where all hosts are one machine; MPI for ranks that
/// MPI has brought together. Nccl: NCCL or RCCL, between the memories of GPUs.
enum class TransportKind { Automatic, Loopback, Tcp, Mpi, Nccl };
const char *transportName(TransportKind kind); ///< `automatic`, `loopback`, `tcp`, `mpi`, `nccl`
/// Throws Error{Input} naming them.
TransportKind parseTransport(const std::string &name);

struct HostOptions {
  /// Above 0: that many groups of ranks play hosts on one machine, and share no memory. 0: the hosts that there are.
  int hosts = 0;
  TransportKind transport = TransportKind::Automatic;
  std::string address; ///< of TCP: of an interface of this host; HEDDLE_HOST_ADDRESS, or as the bootstrap says
  double seconds = 30; ///< how long a step of setting up may wait for other ranks
};

/// Where the ranks are. Collective. Throws Error{Input} on every rank for more hosts than ranks, and where ranks were
/// given different options.
class HostSurvey {
public:
  HostSurvey(Bootstrap &bootstrap, const HostOptions &options);
  const HostLayout &layout() const { return hosts; }
  bool isOneHost() const { return hosts.hosts == 1; }
  const HostPlace &place() const { return own; }
  TransportKind transport() const { return kind; } ///< never Automatic

private:
  HostLayout hosts;
  HostPlace own;
  TransportKind kind = TransportKind::Loopback;
};

class HostGroup {
public:
  /// Collective, of all ranks of all hosts. Throws what HostSurvey, Neighbours, ProcessGroup and the transport throw,
  /// on every rank.
  HostGroup(Bootstrap &bootstrap, std::shared_ptr<Device> device, const HostSurvey &survey, double seconds = 30);

  const HostLayout &layout() const { return hosts; }
  int rank() const { return hosts.own; }
  int ranks() const { return hosts.ranks; }
  Neighbours &all() const { return *everyone; }
  const Carrier &carrier() const { return onStreams ? static_cast<Carrier &>(*onStreams) : *transport; }
  Carrier &carrier() { return onStreams ? static_cast<Carrier &>(*onStreams) : *transport; }
  /// One of both is null.
  Transport *bytes() const { return transport.get(); }
  StreamTransport *streams() const { return onStreams.get(); }
  const std::string &deviceName(int rank) const { return devices[size_t(rank)]; }
  double stepSeconds() const { return seconds; }
  void setStepSeconds(double value) { seconds = value; } ///< the same on all ranks, while none is in a step
  /// The processes of this host; of a flat layout this one alone. Once.
  std::unique_ptr<ProcessGroup> takeNode() { return std::move(node); }

  /// What `work` gave on each rank, by rank. Collective. An error of one rank's work is thrown on every rank, of the
  /// same class; the group may go on.
  std::vector<std::string> agree(const std::function<std::string()> &work);

private:
  HostLayout hosts;
  double seconds;
  std::unique_ptr<Neighbours> everyone;
  std::unique_ptr<ProcessGroup> node;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<StreamTransport> onStreams;
  std::vector<std::string> devices;
};

} // namespace heddle
