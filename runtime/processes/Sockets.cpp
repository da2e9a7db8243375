// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addresses, listening and connecting, with errors that say which address and why; every wait has a deadline.
#include "runtime/processes/Sockets.h"
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>

namespace heddle {
namespace {

constexpr int socketFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// No name is looked up: that would trust the name server.
AddressList resolve(const SocketAddress &address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_NUMERICHOST;
  addrinfo *found = nullptr;
  int failure = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failure)
    throw inputError(fmt::format("`{}`: `{}` is no address: {}", address.text(), address.host, ::gai_strerror(failure)),
                     {"give the number of a network interface of rank 0's host, as 192.0.2.1 or [2001:db8::1]"});
  return {found, &::freeaddrinfo};
}

bool isEveryInterface(const sockaddr *address) {
  if (address->sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in *>(address)->sin_addr.s_addr == htonl(INADDR_ANY);
  return address->sa_family == AF_INET6 && std::memcmp(&reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr,
                                                       &in6addr_any, sizeof in6addr_any) == 0;
}

struct UnixName {
  sockaddr_un address{};
  socklen_t size = 0;
};

UnixName unixName(const std::string &path) {
  UnixName name;
  name.address.sun_family = AF_UNIX;
  std::memcpy(name.address.sun_path, path.data(), path.size());
  name.size = socklen_t(offsetof(sockaddr_un, sun_path) + path.size());
  if (path[0] == '@')
    name.address.sun_path[0] = '\0';
  else
    ++name.size;
  return name;
}

void checkFolder(const std::string &path) {
  std::string folder = path.substr(0, path.rfind('/'));
  if (path.rfind('/') == std::string::npos)
    folder = ".";
  struct stat facts{};
  if (::stat(folder.empty() ? "/" : folder.c_str(), &facts) != 0)
    throw systemError(fmt::format("`unix:{}`: the folder `{}`", path, folder), errno);
  if (facts.st_uid != ::geteuid() || (facts.st_mode & 077) != 0)
    throw environmentError(
        fmt::format("`unix:{}`: the folder `{}` has mode {:04o} and owner {}, it must have mode 0700 "
                    "and owner {}",
                    path, folder, unsigned(facts.st_mode) & 07777, facts.st_uid, ::geteuid()),
        {"make a folder with `mktemp -d`, or use a name without a file, `unix:@NAME`"});
}

FileDescriptor listenUnix(const SocketAddress &address) {
  bool hasFile = address.path[0] != '@';
  if (hasFile)
    checkFolder(address.path);
  UnixName name = unixName(address.path);
  auto *raw = reinterpret_cast<const sockaddr *>(&name.address);
  FileDescriptor socket(::socket(AF_UNIX, socketFlags, 0));
  if (!socket)
    throw systemError("a unix socket", errno);
  if (::bind(socket.get(), raw, name.size) != 0) {
    int failure = errno;
    FileDescriptor probe(::socket(AF_UNIX, socketFlags, 0));
    bool isStale = hasFile && failure == EADDRINUSE && ::connect(probe.get(), raw, name.size) != 0 &&
                   errno == ECONNREFUSED && ::unlink(address.path.c_str()) == 0;
    if (!isStale || ::bind(socket.get(), raw, name.size) != 0)
      throw systemError(fmt::format("cannot listen at `{}`", address.text()), isStale ? errno : failure);
  }
  if (::listen(socket.get(), 128) != 0)
    throw systemError(fmt::format("cannot listen at `{}`", address.text()), errno);
  return socket;
}

FileDescriptor listenTcp(const SocketAddress &address) {
  AddressList list = resolve(address);
  if (isEveryInterface(list->ai_addr))
    throw inputError(fmt::format("`{}` stands for every interface of this host", address.text()),
                     {"name the address of the one interface that the other ranks reach"});
  FileDescriptor socket(::socket(list->ai_family, socketFlags, 0));
  int one = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
      ::bind(socket.get(), list->ai_addr, list->ai_addrlen) != 0 || ::listen(socket.get(), 128) != 0)
    throw systemError(fmt::format("cannot listen at `{}`", address.text()), errno);
  return socket;
}

/// Invalid, with errno, when it does not succeed now.
FileDescriptor tryConnect(const SocketAddress &address, const addrinfo *resolved, const Deadline &deadline) {
  UnixName name;
  const sockaddr *raw = nullptr;
  socklen_t size = 0;
  if (resolved) {
    raw = resolved->ai_addr, size = resolved->ai_addrlen;
  } else {
    name = unixName(address.path);
    raw = reinterpret_cast<const sockaddr *>(&name.address), size = name.size;
  }
  FileDescriptor socket(::socket(raw->sa_family, socketFlags, 0));
  if (!socket || ::connect(socket.get(), raw, size) == 0)
    return socket;
  int failure = errno;
  if (failure == EINPROGRESS && waitFor(socket.get(), POLLOUT, deadline.sooner(5))) {
    socklen_t length = sizeof failure;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failure, &length);
    if (failure == 0)
      return socket;
  }
  errno = failure;
  return {};
}

} // namespace

Error systemError(const std::string &what, int number) {
  return environmentError(fmt::format("{}: {}", what, std::strerror(number)));
}

SocketAddress SocketAddress::parse(const std::string &text) {
  SocketAddress address;
  constexpr const char *forms = "an address is `unix:PATH`, `unix:@NAME` or `tcp:ADDRESS:PORT`";
  if (text.starts_with("unix:")) {
    address.path = text.substr(5);
    constexpr size_t most = sizeof(sockaddr_un::sun_path) - 1;
    if (address.path.empty() || address.path == "@" || address.path.find('\0') != std::string::npos)
      throw inputError(fmt::format("address `{}` has no name", text), {forms});
    if (address.path.size() > most)
      throw inputError(fmt::format("address `{}`: a name of {} bytes, a unix socket's has at most {}", text,
                                   address.path.size(), most),
                       {"use a shorter folder, or a name without a file, `unix:@NAME`"});
    return address;
  }
  size_t colon = text.rfind(':');
  if (!text.starts_with("tcp:") || colon <= 4)
    throw inputError(fmt::format("address `{}` is of no known form", text), {forms});
  address.isTcp = true;
  address.host = text.substr(4, colon - 4);
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  const char *end = text.data() + text.size();
  auto [stop, status] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (status != std::errc() || stop != end || address.port < 1 || address.port > 65535 || address.host.empty())
    throw inputError(fmt::format("address `{}`: `{}` is no port from 1 to 65535", text, text.substr(colon + 1)),
                     {forms});
  return address;
}

std::string SocketAddress::text() const {
  if (!isTcp)
    return "unix:" + path;
  bool isV6 = host.find(':') != std::string::npos;
  return fmt::format("tcp:{}{}{}:{}", isV6 ? "[" : "", host, isV6 ? "]" : "", port);
}

FileDescriptor listenAt(const SocketAddress &address) {
  return address.isTcp ? listenTcp(address) : listenUnix(address);
}

FileDescriptor connectTo(const SocketAddress &address, const Deadline &deadline) {
  AddressList resolved = address.isTcp ? resolve(address) : AddressList(nullptr, &::freeaddrinfo);
  for (;;) {
    FileDescriptor socket = tryConnect(address, resolved.get(), deadline);
    int failure = errno;
    if (socket) {
      int one = 1;
      if (address.isTcp)
        ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      return socket;
    }
    if (deadline.passed()) {
      Error error = systemError(fmt::format("no process listens at `{}`", address.text()), failure);
      error.notes.push_back("does rank 0 run, on a host that the address reaches");
      throw error;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

FileDescriptor acceptFrom(int listener) {
  return FileDescriptor(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

PeerCredentials credentialsOf(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    throw systemError("the credentials of a unix socket's peer", errno);
  return {credentials.pid, credentials.uid};
}

bool waitFor(int file, short events, const Deadline &deadline) {
  for (;;) {
    pollfd wanted{file, events, 0};
    if (::poll(&wanted, 1, deadline.milliseconds()) > 0)
      return true;
    if (deadline.passed())
      return false;
  }
}

void sendAll(int socket, const std::string &bytes, const std::string &to, const Deadline &deadline) {
  for (size_t sent = 0; sent < bytes.size();) {
    ssize_t count = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0)
      sent += size_t(count);
    else if (errno == EAGAIN || errno == EINTR) {
      if (!waitFor(socket, POLLOUT, deadline))
        throw environmentError(fmt::format("{} takes no messages", to));
    } else
      throw systemError(fmt::format("the connection to {}", to), errno);
  }
}

ReadState readFrame(int socket, FrameReader &reader) {
  char bytes[1 << 14];
  while (!reader.isComplete()) {
    ssize_t count = ::recv(socket, bytes, std::min(sizeof bytes, reader.wanted()), MSG_DONTWAIT);
    if (count > 0)
      reader.feed({bytes, size_t(count)});
    else if (count < 0 && (errno == EAGAIN || errno == EINTR))
      return ReadState::Incomplete;
    else
      return ReadState::Closed;
  }
  return ReadState::Complete;
}

Frame receiveFrame(int socket, FrameReader &reader, const Deadline &deadline) {
  for (;;) {
    ReadState state = readFrame(socket, reader);
    if (state == ReadState::Complete)
      return reader.take();
    if (state == ReadState::Closed)
      throw environmentError(fmt::format("{} closed the connection", reader.from()));
    if (!waitFor(socket, POLLIN, deadline))
      throw environmentError(fmt::format("{} did not answer in time", reader.from()));
  }
}

} // namespace heddle
