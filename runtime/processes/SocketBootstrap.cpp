// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses the kind of bootstrap from its address, with what the launcher's variables fill in.
#include "runtime/processes/SocketBootstrap.h"
#include "runtime/processes/Handshake.h"
#include "runtime/processes/Launcher.h"
#include "runtime/processes/Mpi.h"
#include "runtime/processes/Secret.h"
#include "runtime/processes/Sockets.h"
#include <arpa/inet.h>
#include <charconv>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace heddle {
namespace {

constexpr double graceSeconds = 0.5; ///< that rank 0's report has to arrive in

size_t mostAllBytes(int size) {
  return size_t(size) * (Bootstrap::mostBytes + 16) + 64;
}

void checkSize(int rank, int size) {
  if (size < 1 || size > Bootstrap::mostRanks || rank < 0 || rank >= size)
    throw inputError(fmt::format("rank {} of {} processes: a group has 1 to {}, and ranks from 0 on", rank, size,
                                 Bootstrap::mostRanks));
}

void checkBytes(std::string_view mine) {
  if (mine.size() > Bootstrap::mostBytes)
    throw inputError(
        fmt::format("{} bytes in an allGather, at most {} are allowed", mine.size(), Bootstrap::mostBytes));
}

class CallbackBootstrap : public Bootstrap {
public:
  using Gather = std::function<std::vector<std::string>(const std::string &, double)>;
  CallbackBootstrap(int rank, int size, Gather gather) : own(rank), count(size), gather(std::move(gather)) {}
  int rank() const override { return own; }
  int size() const override { return count; }
  std::vector<std::string> allGather(std::string_view mine, double seconds) override {
    checkBytes(mine);
    std::vector<std::string> texts = gather(std::string(mine), seconds);
    if (texts.size() != size_t(count))
      throw inputError(fmt::format("the all-gather of the caller gave {} texts for {} ranks", texts.size(), count));
    if (texts[size_t(own)] != mine)
      throw inputError(fmt::format("the all-gather of the caller does not have rank {}'s own text at its place", own));
    return texts;
  }

private:
  const int own, count;
  Gather gather;
};

/// `inherited:5,6,7`
std::vector<FileDescriptor> inheritedLinks(const std::string &address, int rank, int size) {
  std::vector<FileDescriptor> links;
  std::string_view numbers = std::string_view(address).substr(address.find(':') + 1);
  while (!numbers.empty()) {
    int number = -1;
    const char *end = numbers.data() + numbers.size();
    auto [stop, status] = std::from_chars(numbers.data(), end, number);
    if (status != std::errc() || number < 0 || (stop != end && *stop != ',') || ::fcntl(number, F_GETFD) < 0)
      throw inputError(
          fmt::format("address `{}`: `{}` does not begin with the number of an open socket", address, numbers));
    ::fcntl(number, F_SETFD, FD_CLOEXEC);
    ::fcntl(number, F_SETFL, ::fcntl(number, F_GETFL) | O_NONBLOCK);
    links.emplace_back(number);
    numbers.remove_prefix(size_t((stop == end ? stop : stop + 1) - numbers.data()));
  }
  size_t wanted = rank == 0 ? size_t(size - 1) : 1;
  if (links.size() != wanted)
    throw inputError(fmt::format("address `{}`: {} sockets for rank {} of {}, it needs {}", address, links.size(), rank,
                                 size, wanted));
  return links;
}

/// Fills in what the launcher's variables say.
BootstrapOptions complete(BootstrapOptions options) {
  bool asksLauncher = options.address.empty() || options.address == "env";
  if (asksLauncher || options.rank < 0 || options.size == 0) {
    LauncherFacts facts = readLauncher();
    if (facts.launcher.empty())
      throw inputError(asksLauncher ? "no launcher has set this process's rank"
                                    : fmt::format("`{}`: this process's rank or the number of processes is not known",
                                                  options.address),
                       {"start it by torchrun or srun, or give rank and number of processes"});
    if (options.rank < 0)
      options.rank = facts.rank;
    if (options.size == 0)
      options.size = facts.size;
    if (options.job.empty())
      options.job = facts.job.substr(0, 256);
    if (asksLauncher && facts.address.empty())
      throw inputError(fmt::format("{} says rank and size, but no address for {} processes{}", facts.launcher,
                                   options.size, facts.oneHost ? "" : " of several hosts"),
                       {"give an address that rank 0 listens at, as `tcp:ADDRESS:PORT`, or `mpi`"});
    if (asksLauncher)
      options.address = facts.address;
  }
  checkSize(options.rank, options.size);
  constexpr size_t longestJob = 256;
  if (options.job.size() > longestJob)
    throw inputError(fmt::format("a job name of {} bytes, at most {} are allowed", options.job.size(), longestJob));
  if (!(options.seconds > 0) || options.seconds > Deadline::longest)
    throw inputError(
        fmt::format("{} s for ranks to come: it is above 0 and at most {} s", options.seconds, Deadline::longest));
  return options;
}

} // namespace

std::unique_ptr<Bootstrap> makeBootstrap(int rank, int size, CallbackBootstrap::Gather allGather) {
  checkSize(rank, size);
  return std::make_unique<CallbackBootstrap>(rank, size, std::move(allGather));
}

std::unique_ptr<Bootstrap> makeBootstrap(const BootstrapOptions &given) {
  if (given.address == "mpi")
    return makeMpiBootstrap(given);
  BootstrapOptions options = complete(given);
  if (options.address.starts_with("inherited:"))
    return std::make_unique<SocketBootstrap>(options.rank, options.size,
                                             inheritedLinks(options.address, options.rank, options.size));
  SocketAddress address = SocketAddress::parse(options.address);
  if (options.secret.empty())
    options.secret = readSecret();
  if (address.isTcp && options.secret.empty())
    throw inputError(fmt::format("`{}`: processes over tcp need a secret", options.address),
                     {"name a file of mode 0600 by HEDDLE_SECRET_FILE, the same on every rank"});
  Deadline deadline(options.seconds);
  if (options.size == 1)
    return std::make_unique<SocketBootstrap>(0, 1, std::vector<FileDescriptor>());
  if (options.rank != 0) {
    std::vector<FileDescriptor> links;
    links.push_back(connectToRankZero(options, address, Deadline(options.seconds + graceSeconds)));
    return std::make_unique<SocketBootstrap>(options.rank, options.size, std::move(links));
  }
  // The file goes as soon as all have connected: nothing remains, whatever happens later.
  struct Listener {
    const SocketAddress &address;
    FileDescriptor socket = listenAt(address);
    ~Listener() {
      if (!address.isTcp && address.path[0] != '@')
        ::unlink(address.path.c_str());
    }
  } listener{address};
  AcceptedRanks accepted = acceptRanks(options, listener.socket, address, deadline);
  return std::make_unique<SocketBootstrap>(0, options.size, std::move(accepted.links), accepted.refused);
}

SocketBootstrap::SocketBootstrap(int rank, int size, std::vector<FileDescriptor> theLinks, int refused)
    : own(rank), count(size), links(std::move(theLinks)), refusals(refused) {
  for (size_t link = 0; link < links.size(); ++link)
    readers.emplace_back(fmt::format("rank {}", own == 0 ? link + 1 : 0),
                         own == 0 ? mostBytes + 64 : mostAllBytes(size));
}

std::string SocketBootstrap::localAddress() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char text[INET6_ADDRSTRLEN] = "";
  if (links.empty() || ::getsockname(links[0].get(), reinterpret_cast<sockaddr *>(&address), &size) != 0)
    return "";
  if (address.ss_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in *>(&address)->sin_addr, text, sizeof text);
  else if (address.ss_family == AF_INET6)
    ::inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6 *>(&address)->sin6_addr, text, sizeof text);
  return text;
}

std::vector<std::string> SocketBootstrap::allGather(std::string_view mine, double seconds) {
  checkBytes(mine);
  if (!failure.empty())
    throw environmentError("the bootstrap has failed before: " + failure);
  ++round;
  try {
    return own == 0 ? gatherAtRankZero(std::string(mine), seconds) : gatherThroughRankZero(std::string(mine), seconds);
  } catch (const Error &error) {
    failure = error.what();
    for (const FileDescriptor &link : links)
      try {
        if (own == 0)
          sendAll(link.get(), encodeFrame(FrameKind::Failure, failure.substr(0, mostHandshakeBytes)), "",
                  Deadline(0.1));
      } catch (const Error &) { // it is the one that is gone, or has its own deadline
      }
    throw;
  }
}

void SocketBootstrap::collect(std::vector<std::string> &texts, const Deadline &deadline, double seconds) {
  std::vector<bool> here(size_t(count), false);
  here[0] = true;
  for (;;) {
    std::vector<int> missing;
    std::vector<pollfd> files;
    for (int rank = 1; rank < count; ++rank)
      if (!here[size_t(rank)]) {
        missing.push_back(rank);
        files.push_back({links[size_t(rank - 1)].get(), POLLIN, 0});
      }
    if (missing.empty())
      return;
    if (deadline.passed())
      throw environmentError(
          fmt::format("{} of {} did not take part within {:.3g} s", listRanks(missing), count, seconds));
    ::poll(files.data(), files.size(), deadline.milliseconds());
    for (int rank : missing) {
      FrameReader &reader = readers[size_t(rank - 1)];
      ReadState state = readFrame(links[size_t(rank - 1)].get(), reader);
      if (state == ReadState::Closed)
        throw environmentError(fmt::format("rank {} of {} is gone: it closed its connection", rank, count));
      if (state == ReadState::Incomplete)
        continue;
      Frame frame = reader.take();
      FieldReader fields(frame.body, reader.from());
      uint64_t itsRound = fields.number();
      if (frame.kind != FrameKind::Gather || itsRound != round)
        throw environmentError(fmt::format("rank {} is at allGather {} (message kind {}), rank 0 at {}", rank, itsRound,
                                           int(frame.kind), round));
      texts[size_t(rank)] = fields.text(mostBytes);
      fields.end();
      here[size_t(rank)] = true;
    }
  }
}

std::vector<std::string> SocketBootstrap::gatherAtRankZero(const std::string &mine, double seconds) {
  Deadline deadline(seconds);
  std::vector<std::string> texts(static_cast<size_t>(count));
  texts[0] = mine;
  collect(texts, deadline, seconds);
  FieldWriter all;
  all.number(round);
  for (const std::string &text : texts)
    all.text(text);
  std::string frame = encodeFrame(FrameKind::All, all.bytes);
  for (int rank = 1; rank < count; ++rank)
    sendAll(links[size_t(rank - 1)].get(), frame, fmt::format("rank {}", rank), deadline);
  return texts;
}

std::vector<std::string> SocketBootstrap::decodeAll(const std::string &body, int size, uint64_t round) {
  FieldReader fields(body, "rank 0");
  uint64_t itsRound = fields.number();
  if (itsRound != round)
    throw environmentError(fmt::format("rank 0 is at allGather {}, this one at {}", itsRound, round));
  std::vector<std::string> texts;
  for (int rank = 0; rank < size; ++rank)
    texts.push_back(fields.text(mostBytes));
  fields.end();
  return texts;
}

std::vector<std::string> SocketBootstrap::gatherThroughRankZero(const std::string &mine, double seconds) {
  Deadline deadline(seconds + graceSeconds);
  FieldWriter fields;
  fields.number(round).text(mine);
  try {
    sendAll(links[0].get(), encodeFrame(FrameKind::Gather, fields.bytes), "rank 0", deadline);
  } catch (const Error &) { // it has hung up, and may have said why
  }
  Frame frame = receiveFrame(links[0].get(), readers[0], deadline);
  if (frame.kind == FrameKind::Failure)
    throw environmentError(frame.body);
  if (frame.kind != FrameKind::All)
    throw environmentError(fmt::format("rank 0 sent a message of kind {} in an allGather", int(frame.kind)));
  return decodeAll(frame.body, count, round);
}

} // namespace heddle
