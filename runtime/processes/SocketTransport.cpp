// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All parts of an exchange move at once, each as fast as its socket takes and gives it.
#include "runtime/processes/Handshake.h"
#include "runtime/processes/StreamSockets.h"
#include "runtime/processes/Transport.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace heddle {
namespace {

constexpr uint64_t headerMagic = 0x52464E5254444548; // `HEDTRNFR`

class SocketTransport : public Transport {
public:
  SocketTransport(PairedSockets pairs, bool tcp) : sockets(std::move(pairs.sockets)), tcp(tcp) {
    wake.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake)
      throw systemError("an eventfd for a transport", errno);
  }
  void exchange(const std::vector<Part> &out, const std::vector<Part> &in, uint64_t what, double seconds) override;
  void end(const std::string &reason) override;
  void leave() override;
  std::string description() const override { return tcp ? "TCP" : "unix sockets"; }

private:
  struct Transfer {
    Part part;
    bool sends;
    std::string header; ///< to send, or what has come of it
    size_t headerAt = 0, at = 0;
    bool isDone() const { return headerAt == TransferHeader::size && at == part.bytes; }
  };
  bool advance(Transfer &transfer, const TransferHeader &wanted) const;
  [[noreturn]] void fail(const std::string &reason);
  void requireGoing();
  int socketOf(int rank) const;

  std::vector<FileDescriptor> sockets;
  const bool tcp;
  FileDescriptor wake;
  uint64_t number = 0;
  std::mutex mutex;
  std::string failure; ///< why it has failed
};

int SocketTransport::socketOf(int rank) const {
  if (rank < 0 || size_t(rank) >= sockets.size() || !sockets[size_t(rank)])
    throw internalError(fmt::format("a transfer with rank {}, to which there is no socket", rank));
  return sockets[size_t(rank)].get();
}

void SocketTransport::fail(const std::string &reason) {
  {
    std::lock_guard lock(mutex);
    if (failure.empty())
      failure = reason;
  }
  requireGoing();
  throw environmentError(reason);
}

void SocketTransport::requireGoing() {
  std::lock_guard lock(mutex);
  if (!failure.empty())
    throw environmentError(failure);
}

void SocketTransport::end(const std::string &reason) {
  {
    std::lock_guard lock(mutex);
    if (failure.empty())
      failure = reason;
  }
  uint64_t one = 1;
  (void)!::write(wake.get(), &one, sizeof one);
}

/// What was sent before still arrives.
void SocketTransport::leave() {
  for (const FileDescriptor &socket : sockets)
    if (socket)
      ::shutdown(socket.get(), SHUT_WR);
  end("this rank has left the group");
}

/// Whether something moved. Throws where the other end is gone, or sends something else.
bool SocketTransport::advance(Transfer &transfer, const TransferHeader &wanted) const {
  int socket = socketOf(transfer.part.rank);
  auto *data = static_cast<char *>(transfer.part.data);
  bool isHeader = transfer.headerAt < TransferHeader::size;
  ssize_t count = 0;
  if (transfer.sends && isHeader)
    count = ::send(socket, transfer.header.data() + transfer.headerAt, TransferHeader::size - transfer.headerAt,
                   MSG_DONTWAIT | MSG_NOSIGNAL | (transfer.part.bytes ? MSG_MORE : 0));
  else if (transfer.sends)
    count = ::send(socket, data + transfer.at, transfer.part.bytes - transfer.at, MSG_DONTWAIT | MSG_NOSIGNAL);
  else if (isHeader)
    count = ::recv(socket, transfer.header.data() + transfer.headerAt, TransferHeader::size - transfer.headerAt,
                   MSG_DONTWAIT);
  else
    count = ::recv(socket, data + transfer.at, transfer.part.bytes - transfer.at, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return false;
  if (count <= 0)
    throw environmentError(fmt::format("rank {} is gone: it closed its connection for data", transfer.part.rank));
  (isHeader ? transfer.headerAt : transfer.at) += size_t(count);
  if (!transfer.sends && isHeader && transfer.headerAt == TransferHeader::size)
    TransferHeader::check(transfer.header, wanted, fmt::format("rank {}", transfer.part.rank));
  return true;
}

void SocketTransport::exchange(const std::vector<Part> &out, const std::vector<Part> &in, uint64_t what,
                               double seconds) {
  requireGoing();
  ++number;
  std::vector<Transfer> all;
  for (const Part &part : out)
    all.push_back({part, true, TransferHeader{number, what, part.bytes}.encode()});
  for (const Part &part : in)
    all.push_back({part, false, std::string(TransferHeader::size, '\0')});
  Deadline deadline(seconds);
  for (;;) {
    std::vector<pollfd> files = {{wake.get(), POLLIN, 0}};
    std::vector<int> late;
    try {
      for (Transfer &transfer : all) {
        while (!transfer.isDone() && advance(transfer, {number, what, transfer.part.bytes})) {
        }
        if (transfer.isDone())
          continue;
        files.push_back({socketOf(transfer.part.rank), short(transfer.sends ? POLLOUT : POLLIN), 0});
        late.push_back(transfer.part.rank);
      }
    } catch (const Error &error) {
      fail(error.what());
    }
    if (late.empty())
      return;
    if (deadline.passed())
      fail(lateText(std::move(late), seconds));
    ::poll(files.data(), files.size(), deadline.milliseconds());
    requireGoing();
  }
}

} // namespace

std::string lateText(std::vector<int> ranks, double seconds) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return fmt::format("{} did not take part in an exchange between hosts within {:.3g} s", listRanks(ranks), seconds);
}

std::string TransferHeader::encode() const {
  std::string text;
  for (uint64_t value : {headerMagic ^ number * 0x9E3779B97F4A7C15u, number, what, bytes})
    text.append(reinterpret_cast<const char *>(&value), sizeof value);
  return text;
}

void TransferHeader::check(std::string_view seen, const TransferHeader &wanted, const std::string &sender) {
  uint64_t values[4] = {};
  if (seen.size() != size)
    throw environmentError(
        fmt::format("{} sent a header of {} bytes between hosts, it has {}", sender, seen.size(), size));
  std::memcpy(values, seen.data(), size);
  if (values[0] != (headerMagic ^ values[1] * 0x9E3779B97F4A7C15u))
    throw environmentError(fmt::format("{} sent what is no data of heddle between hosts", sender));
  if (values[1] != wanted.number)
    throw environmentError(
        fmt::format("{} is at exchange {} between hosts, this one at {}", sender, values[1], wanted.number));
  if (values[2] != wanted.what || values[3] != wanted.bytes)
    throw environmentError(
        fmt::format(
            "{} exchanges something else than this rank: {} bytes of operation {:016x}, not {} bytes of {:016x}",
            sender, values[3], values[2], wanted.bytes, wanted.what),
        {"every rank of a group launches the same operations in the same order"});
}

std::unique_ptr<Transport> makeSocketTransport(Bootstrap &bootstrap, const std::vector<bool> &peers,
                                               const HostPlace &place, double seconds) {
  return std::make_unique<SocketTransport>(connectPairs(bootstrap, peers, place, seconds), place.tcp);
}

} // namespace heddle
