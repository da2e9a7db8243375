// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every rank listens, the higher of two ranks connects and introduces itself. Strangers may connect too: several
// introductions are read at once, so that one who says nothing keeps no rank out.
#include "runtime/processes/StreamSockets.h"
#include "runtime/processes/Handshake.h"
#include "runtime/processes/Secret.h"
#include "support/Sha256.h"
#include <arpa/inet.h>
#include <fmt/format.h>
#include <list>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace heddle {
namespace {

constexpr size_t tokenBytes = 32, mostPending = 64;
constexpr double patienceSeconds = 5; ///< for the introduction of a process that has connected

SocketAddress listeningAddress(const HostPlace &place) {
  if (!place.tcp)
    return SocketAddress::parse("unix:@heddle-" + hexText(randomBytes(16)));
  if (place.address.empty())
    throw environmentError("it has no address at which ranks of other hosts could reach it",
                           {"name one of an interface of this host by HEDDLE_HOST_ADDRESS"});
  SocketAddress address;
  address.isTcp = true;
  address.host = place.address; // port 0: any that is free
  return address;
}

int portOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr *>(&address), &size) != 0)
    throw systemError("the port of a socket", errno);
  return ntohs(address.ss_family == AF_INET ? reinterpret_cast<sockaddr_in *>(&address)->sin_port
                                            : reinterpret_cast<sockaddr_in6 *>(&address)->sin6_port);
}

/// A host that vanishes says nothing: its silence ends the connection after some seconds.
void watchConnection(int socket) {
  auto set = [&](int level, int name, int value) { ::setsockopt(socket, level, name, &value, sizeof value); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 5);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

class Pairing {
public:
  Pairing(Bootstrap &bootstrap, const std::vector<bool> &peers, const HostPlace &place, double seconds)
      : bootstrap(bootstrap), peers(peers), place(place), deadline(seconds), seconds(seconds), own(bootstrap.rank()) {
    result.sockets.resize(peers.size());
  }

  PairedSockets make() {
    std::vector<std::string> invitations = together(bootstrap, seconds, [&] { return listen(); });
    together(bootstrap, seconds, [&] { return connect(invitations); });
    together(bootstrap, seconds, [&] { return accept(); });
    return std::move(result);
  }

private:
  std::string listen() {
    SocketAddress address = listeningAddress(place);
    listener = listenAt(address);
    if (address.isTcp)
      address.port = portOf(listener.get());
    token = randomBytes(tokenBytes);
    FieldWriter fields;
    fields.text(address.text()).text(token);
    return fields.bytes;
  }

  std::string connect(const std::vector<std::string> &invitations) {
    for (int rank = 0; rank < own; ++rank) {
      if (!peers[size_t(rank)])
        continue;
      FieldReader fields(invitations[size_t(rank)], fmt::format("rank {}", rank));
      SocketAddress address = SocketAddress::parse(fields.text(256));
      std::string theirs = fields.text(tokenBytes);
      fields.end();
      if (address.isTcp != place.tcp)
        throw environmentError(fmt::format("rank {} listens at {}, rank {} connects by {}", rank, address.text(), own,
                                           place.tcp ? "TCP" : "unix sockets"));
      FileDescriptor socket = connectTo(address, deadline);
      checkUser(socket, rank);
      FieldWriter mine;
      mine.number(uint64_t(own)).text(theirs);
      sendAll(socket.get(), encodeFrame(FrameKind::Introduction, mine.bytes), fmt::format("rank {}", rank), deadline);
      keep(rank, std::move(socket));
    }
    return "";
  }

  void checkUser(const FileDescriptor &socket, int rank) const {
    if (place.tcp)
      return;
    if (uid_t user = credentialsOf(socket.get()).user; user != ::geteuid())
      throw environmentError(
          fmt::format("the socket of rank {} is of user {}, not of user {}", rank, user, ::geteuid()));
  }

  struct Connection {
    FileDescriptor socket;
    FrameReader reader{"a process that connected", 128};
    Deadline patience{patienceSeconds};
  };

  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int rank = own + 1; rank < bootstrap.size(); ++rank)
      if (peers[size_t(rank)] && !result.sockets[size_t(rank)])
        ranks.push_back(rank);
    return ranks;
  }

  std::string accept() {
    std::list<Connection> pending;
    while (!missing().empty()) {
      if (deadline.passed())
        throw environmentError(fmt::format("{} did not introduce themselves to rank {}", listRanks(missing()), own));
      std::vector<pollfd> files = {{pending.size() < mostPending ? listener.get() : -1, POLLIN, 0}};
      for (const Connection &each : pending)
        files.push_back({each.socket.get(), POLLIN, 0});
      ::poll(files.data(), files.size(), deadline.milliseconds(100));
      for (auto each = pending.begin(); each != pending.end();)
        each = serve(*each) ? std::next(each) : pending.erase(each);
      while (pending.size() < mostPending) {
        FileDescriptor socket = acceptFrom(listener.get());
        if (!socket)
          break;
        pending.emplace_back().socket = std::move(socket);
      }
    }
    result.refused += int(pending.size());
    listener.reset();
    return "";
  }

  /// Whether there is more to come from it.
  bool serve(Connection &connection) {
    try {
      ReadState state = readFrame(connection.socket.get(), connection.reader);
      if (state == ReadState::Incomplete && !connection.patience.passed())
        return true;
      int rank = state == ReadState::Complete ? introduced(connection) : -1;
      if (rank >= 0)
        keep(rank, std::move(connection.socket));
      else
        ++result.refused;
    } catch (const Error &) {
      ++result.refused;
    }
    return false;
  }

  /// -1 for a process that is not of the group.
  int introduced(Connection &connection) const {
    if (!place.tcp && credentialsOf(connection.socket.get()).user != ::geteuid())
      return -1;
    Frame frame = connection.reader.take();
    if (frame.kind != FrameKind::Introduction)
      return -1;
    FieldReader fields(frame.body, "a process that connected");
    uint64_t rank = fields.number();
    bool knows = equalInConstantTime(fields.text(tokenBytes), token);
    fields.end();
    bool isNew = rank > uint64_t(own) && rank < uint64_t(bootstrap.size()) && peers[size_t(rank)] &&
                 !result.sockets[size_t(rank)];
    return knows && isNew ? int(rank) : -1;
  }

  void keep(int rank, FileDescriptor socket) {
    if (place.tcp)
      watchConnection(socket.get());
    result.sockets[size_t(rank)] = std::move(socket);
  }

  Bootstrap &bootstrap;
  const std::vector<bool> &peers;
  const HostPlace &place;
  const Deadline deadline;
  const double seconds;
  const int own;
  FileDescriptor listener;
  std::string token;
  PairedSockets result;
};

} // namespace

std::vector<std::string> together(Bootstrap &bootstrap, double seconds, const std::function<std::string()> &work) {
  std::string text;
  try {
    text = "+" + work();
  } catch (const Error &error) {
    text = "-" + std::string(error.what()) + (error.notes.empty() ? "" : ": " + error.notes.front());
  }
  std::vector<std::string> texts = bootstrap.allGather(text, seconds);
  for (size_t rank = 0; rank < texts.size(); ++rank)
    if (!texts[rank].starts_with('+'))
      throw environmentError(fmt::format("rank {} cannot join the group: {}", bootstrap.numberOf(int(rank)),
                                         texts[rank].empty() ? "it says nothing" : texts[rank].substr(1)));
  for (std::string &each : texts)
    each.erase(0, 1);
  return texts;
}

PairedSockets connectPairs(Bootstrap &bootstrap, const std::vector<bool> &peers, const HostPlace &place,
                           double seconds) {
  return Pairing(bootstrap, peers, place, seconds).make();
}

} // namespace heddle
