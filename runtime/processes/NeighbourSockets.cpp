// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Connects every pair of processes, checks who is at the other end, and sends packets with descriptors.
#include "runtime/processes/NeighbourSockets.h"
#include "runtime/processes/Handshake.h"
#include "runtime/processes/Secret.h"
#include "runtime/processes/StreamSockets.h"
#include "support/File.h"
#include "support/Sha256.h"
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

namespace heddle {
namespace {

constexpr size_t tokenBytes = 32, mostLabelBytes = 256, mostHostBytes = 128;
constexpr int packetSocket = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;

/// What a rank tells the others about itself. A name without a file says nothing by itself: who introduces himself
/// there has to know the token, which went through the bootstrap.
struct Invitation {
  ProcessIdentity identity;
  std::string name, token;

  std::string encode() const {
    FieldWriter fields;
    fields.number(processProtocolVersion).number(uint64_t(identity.pid)).number(identity.user).text(identity.label);
    fields.text(identity.host).text(identity.pidNamespace).text(name).text(token);
    return fields.bytes;
  }
  static Invitation decode(const std::string &bytes, int rank) {
    FieldReader fields(bytes, fmt::format("rank {}", rank));
    if (uint64_t version = fields.number(); version != processProtocolVersion)
      throw environmentError(
          fmt::format("rank {} speaks version {} of the protocol between processes, this one version {}", rank, version,
                      processProtocolVersion),
          {"all processes of a group run the same heddle"});
    Invitation one;
    one.identity.pid = int(fields.number(INT32_MAX));
    one.identity.user = unsigned(fields.number(UINT32_MAX));
    one.identity.label = fields.text(mostLabelBytes);
    one.identity.host = fields.text(mostHostBytes);
    one.identity.pidNamespace = fields.text(64);
    one.name = fields.text(64);
    one.token = fields.text(tokenBytes);
    fields.end();
    return one;
  }
};

std::string pidNamespace() {
  struct stat facts{};
  return ::stat("/proc/self/ns/pid", &facts) == 0 ? std::to_string(facts.st_ino) : "";
}

sockaddr_un abstractName(const std::string &name, socklen_t &size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), std::min(name.size(), sizeof address.sun_path - 1));
  size = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

class Mesh {
public:
  Mesh(Bootstrap &bootstrap, const std::string &label, double seconds, const HostPlace *place)
      : bootstrap(bootstrap), deadline(seconds), seconds(seconds), own(bootstrap.rank()), place(place) {
    mine.identity = {::getpid(), unsigned(::geteuid()), label.substr(0, mostLabelBytes),
                     place ? place->host.substr(0, mostHostBytes) : bootId(), pidNamespace()};
    mine.name = "heddle-" + hexText(randomBytes(16));
    mine.token = randomBytes(tokenBytes);
    result.sockets.resize(size_t(bootstrap.size()));
  }

  // A step that fails on one rank is an error on all: none waits for what cannot come.
  MeshedSockets make() {
    std::vector<std::string> texts = step([&] { listen(); }, mine.encode());
    step([&] { read(texts); });
    step([&] { connect(); }); // also introduces this rank, so that no rank waits in the next step
    step([&] { accept(); });
    if (place)
      connectHosts();
    return std::move(result);
  }

private:
  std::vector<std::string> step(const std::function<void()> &work, const std::string &good = "") {
    return together(bootstrap, seconds, [&] {
      work();
      return good;
    });
  }

  bool isNear(int rank) const { return result.identities[size_t(rank)].host == mine.identity.host; }

  void connectHosts() {
    std::vector<bool> far;
    for (int rank = 0; rank < bootstrap.size(); ++rank)
      far.push_back(!isNear(rank));
    PairedSockets pairs = connectPairs(bootstrap, far, *place, seconds);
    result.refused += pairs.refused;
    for (int rank = 0; rank < bootstrap.size(); ++rank)
      if (far[size_t(rank)])
        result.sockets[size_t(rank)] = std::move(pairs.sockets[size_t(rank)]);
  }

  void listen() {
    listener.reset(::socket(AF_UNIX, packetSocket, 0));
    socklen_t size = 0;
    sockaddr_un address = abstractName(mine.name, size);
    if (!listener || ::bind(listener.get(), reinterpret_cast<sockaddr *>(&address), size) != 0 ||
        ::listen(listener.get(), Bootstrap::mostRanks) != 0)
      throw systemError("a socket for the processes of this host", errno);
  }

  void read(const std::vector<std::string> &texts) {
    for (int rank = 0; rank < bootstrap.size(); ++rank) {
      invitations.push_back(Invitation::decode(texts[size_t(rank)], rank));
      const ProcessIdentity &its = invitations.back().identity;
      if (!place && its.host != mine.identity.host)
        throw environmentError(
            fmt::format("rank {} is on another host: boot id {}, this one has {}", rank, its.host, mine.identity.host),
            {"a group without a place for hosts is of processes of one host"});
      if (!place && its.user != mine.identity.user)
        throw environmentError(
            fmt::format("rank {} is of user {}, this one of user {}", rank, its.user, mine.identity.user));
      result.identities.push_back(its);
    }
  }

  void connect() {
    for (int rank = 0; rank < own; ++rank) {
      if (!isNear(rank))
        continue;
      const Invitation &host = invitations[size_t(rank)];
      FileDescriptor &socket = result.sockets[size_t(rank)];
      socklen_t size = 0;
      sockaddr_un address = abstractName(host.name, size);
      socket.reset(::socket(AF_UNIX, packetSocket, 0));
      while (!socket || ::connect(socket.get(), reinterpret_cast<sockaddr *>(&address), size) != 0) {
        if (errno != EAGAIN || deadline.passed()) // EAGAIN: its queue is full for a moment
          throw environmentError(fmt::format("rank {} cannot reach rank {}: {}", own, rank, std::strerror(errno)),
                                 {"are both in one network namespace? containers share it with `--network host`"});
        ::usleep(1000);
      }
      checkUser(socket, rank);
      FieldWriter fields;
      fields.number(uint64_t(own)).text(host.token);
      if (!sendPacket(socket.get(), encodeFrame(FrameKind::Introduction, fields.bytes), {}, deadline))
        throw environmentError(fmt::format("rank {} does not listen to rank {}", rank, own));
    }
  }

  void checkUser(const FileDescriptor &socket, int rank) const {
    if (uid_t user = credentialsOf(socket.get()).user; user != ::geteuid())
      throw environmentError(
          fmt::format("the socket of rank {} is of user {}, not of user {}", rank, user, ::geteuid()));
  }

  void accept() {
    while (FileDescriptor socket = acceptFrom(listener.get())) {
      int rank = introduced(socket);
      if (rank < 0)
        ++result.refused;
      else
        result.sockets[size_t(rank)] = std::move(socket);
    }
    listener.reset();
    for (int rank = own + 1; rank < bootstrap.size(); ++rank)
      if (isNear(rank) && !result.sockets[size_t(rank)])
        throw environmentError(fmt::format("rank {} did not introduce itself to rank {}", rank, own));
  }

  /// The rank of one who has connected; -1 for a process that is not of the group.
  int introduced(const FileDescriptor &socket) const {
    try {
      std::optional<Packet> packet;
      if (credentialsOf(socket.get()).user != ::geteuid() ||
          receivePacket(socket.get(), "a process that connected", packet) != PacketState::Received ||
          packet->frame.kind != FrameKind::Introduction)
        return -1;
      FieldReader fields(packet->frame.body, "a process that connected");
      uint64_t rank = fields.number();
      bool knows = equalInConstantTime(fields.text(tokenBytes), mine.token);
      fields.end();
      bool isNew = rank > uint64_t(own) && rank < uint64_t(bootstrap.size()) && !result.sockets[size_t(rank)] &&
                   isNear(int(rank));
      return knows && isNew ? int(rank) : -1;
    } catch (const Error &) {
      return -1;
    }
  }

  Bootstrap &bootstrap;
  const Deadline deadline;
  const double seconds;
  const int own;
  const HostPlace *place; ///< null: all on one host
  Invitation mine;
  FileDescriptor listener;
  std::vector<Invitation> invitations;
  MeshedSockets result;
};

} // namespace

std::string bootId() {
  std::string text = readFile("/proc/sys/kernel/random/boot_id");
  return text.substr(0, text.find('\n'));
}

MeshedSockets meshSockets(Bootstrap &bootstrap, const std::string &label, double seconds, const HostPlace *place) {
  return Mesh(bootstrap, label, seconds, place).make();
}

FileDescriptor openProcess(int socket) {
#ifdef SYS_pidfd_open
  pid_t pid = credentialsOf(socket).pid; // 0 for a process of a namespace that this one does not see
  if (pid > 0)
    return FileDescriptor(int(::syscall(SYS_pidfd_open, pid, 0)));
#endif
  return {};
}

PacketState receivePacket(int socket, const std::string &sender, std::optional<Packet> &packet) {
  static thread_local std::string bytes(frameHeaderBytes + Neighbours::mostBytes + 1, '\0');
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * Neighbours::mostFiles)];
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part, message.msg_iovlen = 1;
  message.msg_control = control, message.msg_controllen = sizeof control;
  ssize_t count = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  // One that has closed with something unread leaves this error once, and what it had sent can be read after it.
  for (int again = 0; again < 2 && count < 0 && errno == ECONNRESET; ++again)
    count = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return PacketState::Nothing;
  if (count <= 0)
    return PacketState::Closed;
  Packet made;
  for (cmsghdr *each = CMSG_FIRSTHDR(&message); each; each = CMSG_NXTHDR(&message, each))
    if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_RIGHTS)
      for (size_t at = 0; at + sizeof(int) <= each->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
        int file = -1;
        std::memcpy(&file, CMSG_DATA(each) + at, sizeof file);
        made.files.emplace_back(file);
      }
  if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
    throw environmentError(
        fmt::format("{} sent a message that is too long, or this process may open no more files", sender));
  FrameReader reader(sender, Neighbours::mostBytes);
  size_t taken = reader.feed({bytes.data(), size_t(count)});
  if (!reader.isComplete() || taken != size_t(count))
    throw environmentError(fmt::format("{} sent {} bytes that are not one message", sender, count));
  made.frame = reader.take();
  packet = std::move(made);
  return PacketState::Received;
}

bool sendPacket(int socket, const std::string &frame, const std::vector<int> &files, const Deadline &deadline) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * Neighbours::mostFiles)] = {};
  iovec part{const_cast<char *>(frame.data()), frame.size()};
  msghdr message{};
  message.msg_iov = &part, message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * files.size());
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * files.size());
    std::memcpy(CMSG_DATA(header), files.data(), sizeof(int) * files.size());
  }
  for (;;) {
    if (::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
      return true;
    if ((errno != EAGAIN && errno != EINTR) || !waitFor(socket, POLLOUT, deadline))
      return false;
  }
}

} // namespace heddle
