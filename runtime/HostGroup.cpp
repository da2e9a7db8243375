// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// First the sockets between all ranks, by which every later step that fails is made known to all; then the groups of
// the hosts, side by side, and the transport.
#include "runtime/HostGroup.h"
#include "runtime/processes/Frame.h"
#include "runtime/processes/Mpi.h"
#include "runtime/processes/NeighbourSockets.h"
#include "runtime/processes/StreamSockets.h"
#include "support/Error.h"
#include "support/Knobs.h"
#include <fmt/format.h>
#include <set>
#include <sys/stat.h>

namespace heddle {
namespace {

constexpr TransportKind transports[] = {TransportKind::Automatic, TransportKind::Loopback, TransportKind::Tcp,
                                        TransportKind::Mpi, TransportKind::Nccl};

/// Equal for processes that can reach each other's unix sockets and share memory.
std::string machineOfProcess() {
  struct stat facts{};
  std::string network = ::stat("/proc/self/ns/net", &facts) == 0 ? std::to_string(facts.st_ino) : "";
  return bootId() + "/" + network;
}

/// The ranks of one host, as a bootstrap over the sockets of all. Every host makes the same number of calls, unless it
/// fails: then it aborts the whole group.
class NodeBootstrap : public Bootstrap {
public:
  NodeBootstrap(Neighbours &all, const HostLayout &layout) : all(all), layout(layout) {}
  int rank() const override { return layout.local(); }
  int size() const override { return layout.perHost; }
  int numberOf(int rank) const override { return layout.rankOf(layout.host(), rank); }
  std::vector<std::string> allGather(std::string_view mine, double seconds) override {
    std::vector<Neighbours::Message> messages = all.exchange(std::string(mine), {}, seconds);
    std::vector<std::string> texts;
    for (int rank = 0; rank < size(); ++rank)
      texts.push_back(std::move(messages[size_t(numberOf(rank))].bytes));
    return texts;
  }

private:
  Neighbours &all;
  const HostLayout &layout;
};

} // namespace

const char *transportName(TransportKind kind) {
  switch (kind) {
  case TransportKind::Automatic:
    return "automatic";
  case TransportKind::Loopback:
    return "loopback";
  case TransportKind::Tcp:
    return "tcp";
  case TransportKind::Mpi:
    return "mpi";
  case TransportKind::Nccl:
    return "nccl";
  }
  return "";
}

TransportKind parseTransport(const std::string &name) {
  for (TransportKind kind : transports)
    if (name == transportName(kind))
      return kind;
  throw inputError(fmt::format("there is no transport `{}` between hosts", name),
                   {"the transports are automatic, loopback, tcp, mpi, nccl"});
}

HostSurvey::HostSurvey(Bootstrap &bootstrap, const HostOptions &options) {
  FieldWriter mine;
  mine.text(machineOfProcess()).number(uint64_t(std::max(0, options.hosts))).number(uint64_t(options.transport));
  std::vector<std::string> names, texts = bootstrap.allGather(mine.bytes, options.seconds);
  std::set<std::string> machines;
  for (int rank = 0; rank < bootstrap.size(); ++rank) {
    FieldReader fields(texts[size_t(rank)], fmt::format("rank {}", rank));
    std::string machine = fields.text(128);
    uint64_t theirs = fields.number(), transport = fields.number(uint64_t(TransportKind::Nccl));
    fields.end();
    machines.insert(machine);
    if (theirs != uint64_t(std::max(0, options.hosts)) || transport != uint64_t(options.transport))
      throw inputError(fmt::format("rank {} has {} hosts over `{}`, rank {} has {} over `{}`", rank, theirs,
                                   transportName(TransportKind(transport)), bootstrap.rank(), options.hosts,
                                   transportName(options.transport)),
                       {"every rank of a group has the same options"});
    if (options.hosts > 0) // the first hosts have one rank more where they are not equally many
      machine += fmt::format("/{}", int64_t(rank) * options.hosts / bootstrap.size());
    names.push_back(machine);
  }
  if (options.hosts > bootstrap.size())
    throw inputError(fmt::format("{} hosts for {} ranks: each has one at least", options.hosts, bootstrap.size()));
  if (options.hosts > 0 && machines.size() > 1)
    throw inputError(fmt::format("`hosts` is {}, which ranks of one machine play, and these are on {} machines",
                                 options.hosts, machines.size()),
                     {"leave `hosts` out: hosts are found by themselves"});
  hosts = layOutHosts(names, bootstrap.rank());
  bool isOneMachine = machines.size() == 1;
  kind = options.transport;
  if (kind == TransportKind::Automatic)
    kind = isOverMpi(bootstrap) ? TransportKind::Mpi : isOneMachine ? TransportKind::Loopback : TransportKind::Tcp;
  if (kind == TransportKind::Loopback && !isOneMachine)
    throw inputError(fmt::format("`loopback` joins hosts that are one machine, and these are {}", machines.size()),
                     {"take `tcp` or `mpi`"});
  own.host = names[size_t(bootstrap.rank())];
  own.tcp = kind == TransportKind::Tcp || !isOneMachine;
  own.address = !options.address.empty() ? options.address : hostAddress();
  if (own.address.empty())
    own.address = bootstrap.localAddress();
  if (own.address.empty() && isOneMachine)
    own.address = "127.0.0.1";
}

HostGroup::HostGroup(Bootstrap &bootstrap, std::shared_ptr<Device> device, const HostSurvey &survey, double seconds)
    : hosts(survey.layout()), seconds(seconds),
      everyone(std::make_unique<Neighbours>(bootstrap, device->name(), seconds, survey.place())) {
  try {
    for (std::string &name : agree([&] { return device->name(); }))
      devices.push_back(std::move(name));
    NodeBootstrap nodeBootstrap(*everyone, hosts);
    node = std::make_unique<ProcessGroup>(nodeBootstrap, device, seconds);
    if (survey.transport() == TransportKind::Mpi)
      transport = makeMpiTransport(bootstrap, seconds);
    else if (survey.transport() == TransportKind::Nccl)
      onStreams = makeNcclTransport(*this, device);
    else
      transport = makeSocketTransport(bootstrap, hosts.rail(), survey.place(), seconds);
    everyone->barrier(seconds);
  } catch (const Error &error) {
    everyone->abort(error.what());
    throw;
  }
}

std::vector<std::string> HostGroup::agree(const std::function<std::string()> &work) {
  FieldWriter mine;
  std::optional<Error> failure;
  try {
    std::string text = work();
    mine.number(0).text(text);
  } catch (const Error &error) {
    failure = error;
    mine.number(uint64_t(error.kind)).text(std::string(error.what()).substr(0, Neighbours::mostBytes / 2));
  }
  std::vector<std::string> texts;
  std::vector<Neighbours::Message> messages;
  try {
    messages = everyone->exchange(mine.bytes, {}, seconds);
  } catch (const Error &) {
    if (!failure) // what this rank knows of its own says more
      throw;
  }
  if (failure)
    throw *failure;
  for (int rank = 0; rank < ranks(); ++rank) {
    FieldReader fields(messages[size_t(rank)].bytes, everyone->describe(rank));
    uint64_t status = fields.number(uint64_t(ErrorClass::Internal));
    texts.push_back(fields.text(Neighbours::mostBytes));
    fields.end();
    if (status)
      throw Error(ErrorClass(status), fmt::format("{}: {}", everyone->describe(rank), texts.back()));
  }
  return texts;
}

} // namespace heddle
