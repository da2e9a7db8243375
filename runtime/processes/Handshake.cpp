// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rank 0 talks to all that connect at once, each with a deadline, until every rank is there or a process is refused.
#include "runtime/processes/Handshake.h"
#include "runtime/processes/Secret.h"
#include "support/Sha256.h"
#include <fmt/format.h>
#include <list>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace heddle {
namespace {

constexpr size_t nonceBytes = 32, proofBytes = 32, mostJobBytes = 256, mostPending = 64;
constexpr double patienceSeconds = 5; ///< for the hello of a process that has connected
constexpr double hasteSeconds = 0.1;  ///< and when others want its place

std::string describePeer(int socket, bool isTcp) {
  if (isTcp)
    return "a process that connected";
  return fmt::format("the process with pid {}", credentialsOf(socket).pid);
}

/// Of a process that has not yet said hello.
struct Connection {
  FileDescriptor socket;
  FrameReader reader;
  std::string challenge;
  Deadline patience{patienceSeconds}, haste{hasteSeconds};
};

class Acceptor {
public:
  Acceptor(const BootstrapOptions &options, const FileDescriptor &listener, bool isTcp)
      : options(options), listener(listener), isTcp(isTcp) {
    accepted.links.resize(size_t(options.size - 1));
  }

  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int rank = 1; rank < options.size; ++rank)
      if (!accepted.links[size_t(rank - 1)])
        ranks.push_back(rank);
    return ranks;
  }

  /// Waits for something to happen, and deals with it. Throws when a rank that had come is gone.
  void step(const Deadline &deadline) {
    bool isFull = pending.size() >= mostPending;
    std::vector<pollfd> files = {{isFull ? -1 : listener.get(), POLLIN, 0}};
    for (const Connection &connection : pending)
      files.push_back({connection.socket.get(), POLLIN, 0});
    size_t firstLink = files.size();
    for (const FileDescriptor &link : accepted.links)
      files.push_back({link.get(), POLLRDHUP, 0});
    ::poll(files.data(), files.size(), deadline.milliseconds(isFull ? 10 : 200));
    size_t at = 1;
    for (auto connection = pending.begin(); connection != pending.end(); ++at) {
      bool hasMore = !files[at].revents || serve(*connection);
      bool stays = hasMore && !(isFull ? connection->haste : connection->patience).passed();
      accepted.refused += hasMore && !stays; // was silent too long
      connection = stays ? std::next(connection) : pending.erase(connection);
    }
    if (files[0].revents)
      acceptPending();
    for (size_t link = 0; link < accepted.links.size(); ++link)
      if (firstLink + link < files.size() && files[firstLink + link].fd >= 0 && files[firstLink + link].revents)
        throw environmentError(fmt::format("rank {} came and was gone before all ranks had come", link + 1));
  }

  /// Those who come when all ranks have come.
  void close() {
    acceptPending();
    for (const Connection &connection : pending)
      refuse(connection.socket, fmt::format("all {} ranks have come", options.size));
    pending.clear();
  }

  void sendToAll(FrameKind kind, const std::string &body) noexcept {
    for (const FileDescriptor &link : accepted.links)
      if (link)
        try {
          sendAll(link.get(), encodeFrame(kind, body.substr(0, mostHandshakeBytes)), "a rank", Deadline(1));
        } catch (const Error &) { // it has its own deadline
        }
  }

  AcceptedRanks accepted;
  std::string lastRefusal;

private:
  void acceptPending() {
    while (pending.size() < mostPending) { // the others wait in the listener's queue
      FileDescriptor socket = acceptFrom(listener.get());
      if (!socket)
        return;
      if (!isTcp && credentialsOf(socket.get()).user != ::geteuid()) {
        refuse(socket, fmt::format("user {} is not user {}", credentialsOf(socket.get()).user, ::geteuid()));
        continue;
      }
      std::string name = describePeer(socket.get(), isTcp);
      pending.push_back({std::move(socket), FrameReader(name, mostHandshakeBytes), randomBytes(nonceBytes)});
      Connection &connection = pending.back();
      try {
        sendAll(connection.socket.get(), encodeFrame(FrameKind::Challenge, connection.challenge), name, Deadline(1));
      } catch (const Error &) {
        ++accepted.refused;
        pending.pop_back();
      }
    }
  }

  void refuse(const FileDescriptor &socket, const std::string &why) {
    ++accepted.refused;
    lastRefusal = why;
    try {
      sendAll(socket.get(), encodeFrame(FrameKind::Refusal, why), "a process that was refused", Deadline(1));
    } catch (const Error &) { // it does not listen
    }
  }

  /// Whether there is more to come of it.
  bool serve(Connection &connection) {
    try {
      ReadState state = readFrame(connection.socket.get(), connection.reader);
      if (state == ReadState::Incomplete)
        return true;
      if (state == ReadState::Closed)
        ++accepted.refused;
      else
        admit(connection, connection.reader.take());
    } catch (const Error &error) {
      refuse(connection.socket, error.what());
    }
    return false;
  }

  void admit(Connection &connection, const Frame &frame) {
    if (frame.kind != FrameKind::Hello)
      return refuse(connection.socket, fmt::format("a message of kind {} in place of a hello", int(frame.kind)));
    Hello hello = decodeHello(frame.body, connection.reader.from());
    if (!equalInConstantTime(hello.proof, proofOf(options.secret, false, connection.challenge, hello)))
      return refuse(connection.socket, "it has another secret than rank 0");
    if (hello.job != options.job)
      return refuse(connection.socket, fmt::format("it is of job `{}`, rank 0 of job `{}`", hello.job, options.job));
    if (hello.size != uint64_t(options.size))
      return refuse(connection.socket,
                    fmt::format("rank {} counts {} processes, rank 0 counts {}", hello.rank, hello.size, options.size));
    if (hello.rank == 0 || hello.rank >= uint64_t(options.size))
      return refuse(connection.socket, fmt::format("rank {} of {} processes", hello.rank, options.size));
    FileDescriptor &link = accepted.links[size_t(hello.rank - 1)];
    if (link)
      return refuse(connection.socket, fmt::format("rank {} is there already", hello.rank));
    sendAll(connection.socket.get(),
            encodeFrame(FrameKind::Welcome, proofOf(options.secret, true, connection.challenge, hello)),
            connection.reader.from(), Deadline(1));
    link = std::move(connection.socket);
  }

  const BootstrapOptions &options;
  const FileDescriptor &listener;
  const bool isTcp;
  std::list<Connection> pending;
};

} // namespace

std::string encodeHello(const Hello &hello) {
  FieldWriter writer;
  writer.number(hello.rank).number(hello.size).text(hello.job).text(hello.nonce).text(hello.proof);
  return writer.bytes;
}

Hello decodeHello(const std::string &body, const std::string &sender) {
  FieldReader reader(body, sender);
  Hello hello;
  hello.rank = reader.number();
  hello.size = reader.number();
  hello.job = reader.text(mostJobBytes);
  hello.nonce = reader.text(nonceBytes);
  hello.proof = reader.text(proofBytes);
  reader.end();
  if (hello.nonce.size() != nonceBytes)
    throw environmentError(fmt::format("{} sent a nonce of {} bytes, not {}", sender, hello.nonce.size(), nonceBytes));
  return hello;
}

std::string proofOf(const std::string &secret, bool welcomes, const std::string &challenge, const Hello &hello) {
  FieldWriter fields;
  fields.text(welcomes ? "heddle welcome" : "heddle hello").number(processProtocolVersion);
  fields.number(hello.rank).number(hello.size).text(hello.job).text(challenge).text(hello.nonce);
  return hmacSha256(secret, fields.bytes);
}

std::string listRanks(const std::vector<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += fmt::format("{} {}", i == 0 ? "" : i + 1 == ranks.size() ? " and" : ",", ranks[i]);
  return text;
}

AcceptedRanks acceptRanks(const BootstrapOptions &options, const FileDescriptor &listener, const SocketAddress &address,
                          const Deadline &deadline) {
  Acceptor acceptor(options, listener, address.isTcp);
  try {
    for (std::vector<int> missing = acceptor.missing(); !missing.empty(); missing = acceptor.missing()) {
      acceptor.step(deadline);
      if (!deadline.passed() || acceptor.missing().empty())
        continue;
      std::vector<std::string> notes;
      if (acceptor.accepted.refused)
        notes.push_back(
            fmt::format("{} connections at `{}` were refused{}", acceptor.accepted.refused, address.text(),
                        acceptor.lastRefusal.empty() ? "" : ", the last one because " + acceptor.lastRefusal));
      throw environmentError(fmt::format("{} of {} did not come to `{}` within {:.3g} s", listRanks(acceptor.missing()),
                                         options.size, address.text(), options.seconds),
                             notes);
    }
  } catch (const Error &error) {
    acceptor.sendToAll(FrameKind::Failure, error.what());
    throw;
  }
  acceptor.sendToAll(FrameKind::All, "");
  acceptor.close();
  return std::move(acceptor.accepted);
}

FileDescriptor connectToRankZero(const BootstrapOptions &options, const SocketAddress &address,
                                 const Deadline &deadline) {
  FileDescriptor link = connectTo(address, deadline);
  if (!address.isTcp && credentialsOf(link.get()).user != ::geteuid())
    throw environmentError(fmt::format("user {} listens at `{}`, not user {}", credentialsOf(link.get()).user,
                                       address.text(), ::geteuid()));
  FrameReader reader("rank 0", mostHandshakeBytes);
  Frame challenge = receiveFrame(link.get(), reader, deadline);
  Hello hello{uint64_t(options.rank), uint64_t(options.size), options.job, randomBytes(nonceBytes), ""};
  hello.proof = proofOf(options.secret, false, challenge.body, hello);
  if (challenge.kind == FrameKind::Challenge)
    try {
      sendAll(link.get(), encodeFrame(FrameKind::Hello, encodeHello(hello)), "rank 0", deadline);
    } catch (const Error &) { // it has hung up, and may have said why
    }
  Frame answer = challenge.kind == FrameKind::Challenge ? receiveFrame(link.get(), reader, deadline) : challenge;
  if (answer.kind == FrameKind::Refusal)
    throw environmentError(
        fmt::format("rank 0 at `{}` refused rank {}: {}", address.text(), options.rank, answer.body));
  if (answer.kind != FrameKind::Welcome ||
      !equalInConstantTime(answer.body, proofOf(options.secret, true, challenge.body, hello)))
    throw environmentError(fmt::format("who listens at `{}` does not know the secret of this group", address.text()));
  Frame begin = receiveFrame(link.get(), reader, deadline);
  if (begin.kind == FrameKind::Failure)
    throw environmentError(begin.body);
  if (begin.kind != FrameKind::All)
    throw environmentError(fmt::format("rank 0 at `{}` sent a message of kind {} where all ranks have come or failed",
                                       address.text(), int(begin.kind)));
  return link;
}

} // namespace heddle
