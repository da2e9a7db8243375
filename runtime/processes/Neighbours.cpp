// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread reads all sockets; other threads wait for what it stores. On one host sockets pass packets, between hosts
// they are streams of frames. A process that ends closes its sockets,
// unless a child of it holds them too: therefore a descriptor of the process itself is watched as well, where the
// system gives one.
#include "runtime/processes/Neighbours.h"
#include "runtime/processes/NeighbourSockets.h"
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <fmt/format.h>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>

namespace heddle {

struct Neighbours::State {
  struct Peer {
    ProcessIdentity identity;
    FileDescriptor socket, process;
    std::unique_ptr<FrameReader> stream; ///< of a socket to another host, which has no packets
    std::deque<Message> inbox;
    bool left = false, closed = false;
    uint64_t answered = 0; ///< the last probe that it has answered
  };

  void watch();
  bool readPeer(int rank);
  PacketState receive(int rank, std::optional<Packet> &packet);
  void take(int rank, Packet packet);
  void close(int rank);
  void fail(GroupFailure seen);
  GroupFailure decodeFailure(const std::string &body, const std::string &sender) const;
  void sendToAll(FrameKind kind, const std::string &body, const std::vector<int> &files, const Deadline &deadline);
  void sendTo(Peer &peer, const std::string &frame, const std::vector<int> &files, const Deadline &deadline);
  void notify();
  std::string describe(int rank) const;
  std::vector<int> missing() const;
  std::vector<int> silent() const;

  int own = 0, size = 1, refused = 0;
  std::vector<int> numbers; ///< Bootstrap::numberOf, by rank
  const pid_t creator = ::getpid();
  std::vector<Peer> peers; ///< by rank; that of the own rank has no socket
  FileDescriptor stop;
  std::thread watcher;

  mutable std::mutex mutex; ///< of inboxes, left, closed, failure, bytes that go out
  std::condition_variable changed;
  std::optional<GroupFailure> failure;
  bool failing = false; ///< the others are being told
  uint64_t probes = 0;
  std::atomic<bool> hasSaidGoodbye = false;
  std::mutex exchanging, probing, calling, sending; ///< `sending`: of frames in streams
  std::function<void()> callback;                   ///< under `calling`
};

std::string Neighbours::State::describe(int rank) const {
  const ProcessIdentity &identity = peers[size_t(rank)].identity;
  return fmt::format("rank {} ({}, pid {})", numbers[size_t(rank)], identity.label, identity.pid);
}

Neighbours::Neighbours(Bootstrap &bootstrap, const std::string &label, double seconds)
    : Neighbours(bootstrap, label, seconds, nullptr) {}

Neighbours::Neighbours(Bootstrap &bootstrap, const std::string &label, double seconds, const HostPlace &place)
    : Neighbours(bootstrap, label, seconds, &place) {}

Neighbours::Neighbours(Bootstrap &bootstrap, const std::string &label, double seconds, const HostPlace *place)
    : state(std::make_unique<State>()) {
  state->own = bootstrap.rank();
  state->size = bootstrap.size();
  MeshedSockets mesh = meshSockets(bootstrap, label, seconds, place);
  state->refused = bootstrap.refused() + mesh.refused;
  state->peers.resize(size_t(state->size));
  for (int rank = 0; rank < state->size; ++rank) {
    State::Peer &peer = state->peers[size_t(rank)];
    peer.identity = mesh.identities[size_t(rank)];
    peer.socket = std::move(mesh.sockets[size_t(rank)]);
    peer.closed = rank == state->own;
    state->numbers.push_back(bootstrap.numberOf(rank));
    bool isRemote = peer.identity.host != mesh.identities[size_t(state->own)].host;
    if (isRemote)
      peer.stream = std::make_unique<FrameReader>(state->describe(rank), mostBytes);
    else if (rank != state->own)
      peer.process = openProcess(peer.socket.get());
  }
  state->stop.reset(::eventfd(0, EFD_CLOEXEC));
  if (!state->stop)
    throw systemError("an eventfd for the watcher of a group", errno);
  sigset_t all, before; // signals are for the program's own threads
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  state->watcher = std::thread([raw = state.get()] { raw->watch(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Neighbours::~Neighbours() {
  if (::getpid() != state->creator) {
    (void)state.release(); // there is no such thread here, and its locks may be held for ever
    return;
  }
  leave();
  uint64_t one = 1;
  (void)!::write(state->stop.get(), &one, sizeof one);
  state->watcher.join();
}

int Neighbours::rank() const {
  return state->own;
}
int Neighbours::size() const {
  return state->size;
}
int Neighbours::refused() const {
  return state->refused;
}
std::string Neighbours::describe(int rank) const {
  return state->describe(rank);
}
int Neighbours::numberOf(int rank) const {
  return state->numbers[size_t(rank)];
}
int Neighbours::processId(int rank) const {
  return state->peers[size_t(rank)].identity.pid;
}

//===-- The thread -----------------------------------------------------------------------------------------------===//

void Neighbours::State::watch() {
  for (;;) {
    std::vector<pollfd> files = {{stop.get(), POLLIN, 0}};
    std::vector<int> ranks = {own};
    for (int rank = 0; rank < size; ++rank) {
      Peer &peer = peers[size_t(rank)];
      if (peer.closed)
        continue;
      for (int file : {peer.socket.get(), peer.process.get()}) {
        files.push_back({file, POLLIN, 0});
        ranks.push_back(rank);
      }
    }
    ::poll(files.data(), files.size(), -1);
    if (files[0].revents)
      return;
    // What all have said comes before who is gone: one may have said why.
    std::vector<int> gone;
    for (size_t i = 1; i < files.size(); i += 2)
      if ((files[i].revents || files[i + 1].revents) && (!readPeer(ranks[i]) || files[i + 1].revents))
        gone.push_back(ranks[i]);
    for (int rank : gone)
      close(rank);
  }
}

void Neighbours::State::close(int rank) {
  Peer &peer = peers[size_t(rank)];
  bool left = false;
  {
    std::lock_guard lock(mutex);
    peer.closed = true;
    left = peer.left;
  }
  if (!left)
    fail({GroupFailure::Kind::Gone, rank,
          fmt::format("{} is gone: its process ended or closed its connection without leaving the group",
                      describe(rank))});
}

PacketState Neighbours::State::receive(int rank, std::optional<Packet> &packet) {
  Peer &peer = peers[size_t(rank)];
  if (!peer.stream)
    return receivePacket(peer.socket.get(), describe(rank), packet);
  ReadState result = readFrame(peer.socket.get(), *peer.stream);
  if (result != ReadState::Complete)
    return result == ReadState::Closed ? PacketState::Closed : PacketState::Nothing;
  packet = Packet{peer.stream->take(), {}};
  return PacketState::Received;
}

/// Everything that has come; false when the connection is closed.
bool Neighbours::State::readPeer(int rank) {
  for (;;) {
    try {
      std::optional<Packet> packet;
      PacketState result = receive(rank, packet);
      if (result != PacketState::Received)
        return result == PacketState::Nothing;
      take(rank, std::move(*packet));
    } catch (const Error &error) {
      fail({GroupFailure::Kind::Damaged, rank, error.what()});
      return true;
    }
  }
}

static uint64_t probeNumber(const std::string &body, const std::string &sender) {
  FieldReader fields(body, sender);
  uint64_t number = fields.number();
  fields.end();
  return number;
}

void Neighbours::State::take(int rank, Packet packet) {
  Peer &peer = peers[size_t(rank)];
  if (packet.frame.kind == FrameKind::Data) {
    std::lock_guard lock(mutex);
    if (peer.inbox.size() >= 2) // all others have to answer one exchange before the next begins
      throw environmentError(fmt::format("{} sent more than it was asked for", describe(rank)));
    peer.inbox.push_back({std::move(packet.frame.body), std::move(packet.files)});
    changed.notify_all();
  } else if (packet.frame.kind == FrameKind::Abort) {
    fail(decodeFailure(packet.frame.body, describe(rank)));
  } else if (packet.frame.kind == FrameKind::Goodbye) {
    {
      std::lock_guard lock(mutex);
      peer.left = true;
      changed.notify_all();
    }
    notify();
  } else if (packet.frame.kind == FrameKind::Probe) {
    probeNumber(packet.frame.body, describe(rank));
    sendTo(peer, encodeFrame(FrameKind::Answer, packet.frame.body), {}, Deadline(0.1));
  } else if (packet.frame.kind == FrameKind::Answer) {
    std::lock_guard lock(mutex);
    peer.answered = probeNumber(packet.frame.body, describe(rank));
    changed.notify_all();
  } else {
    throw environmentError(
        fmt::format("{} sent a message of kind {} to a group", describe(rank), int(packet.frame.kind)));
  }
}

GroupFailure Neighbours::State::decodeFailure(const std::string &body, const std::string &sender) const {
  FieldReader fields(body, sender);
  GroupFailure seen;
  seen.kind = GroupFailure::Kind(fields.number(uint64_t(GroupFailure::Kind::Damaged)));
  seen.rank = int(fields.number(uint64_t(size - 1)));
  seen.text = fields.text(mostBytes);
  fields.end();
  return seen;
}

/// Tells the others first: this process may end as soon as it knows, and what they would see then is its end alone.
void Neighbours::State::fail(GroupFailure seen) {
  {
    std::unique_lock lock(mutex);
    if (std::exchange(failing, true)) { // another thread is at it: what it has found is the first
      changed.wait_until(lock, Deadline(1).time(), [&] { return failure.has_value(); });
      return;
    }
  }
  FieldWriter fields;
  fields.number(uint64_t(seen.kind)).number(uint64_t(seen.rank)).text(seen.text);
  if (!hasSaidGoodbye) // who has left is missed by none but those that wait
    sendToAll(FrameKind::Abort, fields.bytes, {}, Deadline(0.1));
  {
    std::lock_guard lock(mutex);
    failure = std::move(seen);
    changed.notify_all();
  }
  notify();
}

void Neighbours::State::notify() {
  std::lock_guard lock(calling);
  if (callback)
    callback();
}

//===-- For the group --------------------------------------------------------------------------------------------===//

void Neighbours::State::sendToAll(FrameKind kind, const std::string &body, const std::vector<int> &files,
                                  const Deadline &deadline) {
  std::string frame = encodeFrame(kind, body);
  for (Peer &peer : peers)
    if (peer.socket)
      sendTo(peer, frame, files, deadline);
}

void Neighbours::State::sendTo(Peer &peer, const std::string &frame, const std::vector<int> &files,
                               const Deadline &deadline) {
  if (!peer.stream) {
    sendPacket(peer.socket.get(), frame, files, deadline);
    return;
  }
  std::lock_guard lock(sending);
  try {
    sendAll(peer.socket.get(), frame, "", deadline);
  } catch (const Error &) { // the thread that reads sees its end
  }
}

/// Of the last probe.
std::vector<int> Neighbours::State::silent() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size; ++rank)
    if (const Peer &peer = peers[size_t(rank)]; !peer.closed && !peer.left && peer.answered != probes)
      ranks.push_back(rank);
  return ranks;
}

std::vector<int> Neighbours::State::missing() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size; ++rank)
    if (rank != own && peers[size_t(rank)].inbox.empty())
      ranks.push_back(rank);
  return ranks;
}

std::vector<Neighbours::Message> Neighbours::exchange(const std::string &mine, const std::vector<int> &files,
                                                      double seconds) {
  State &all = *state;
  if (mine.size() > mostBytes || files.size() > mostFiles)
    throw inputError(fmt::format("{} bytes and {} descriptors in an exchange, at most {} and {} are allowed",
                                 mine.size(), files.size(), mostBytes, mostFiles));
  if (::getpid() != all.creator)
    throw environmentError(fmt::format("the group belongs to process {}, not to its child {}", all.creator, ::getpid()),
                           {"fork before the group is made, or start a new program"});
  std::lock_guard one(all.exchanging);
  if (auto error = failureError())
    throw *error;
  Deadline deadline(seconds);
  all.sendToAll(FrameKind::Data, mine, files, deadline);
  std::unique_lock lock(all.mutex);
  auto leaver = [&] {
    for (int rank : all.missing())
      if (all.peers[size_t(rank)].left)
        return rank;
    return -1;
  };
  all.changed.wait_until(lock, deadline.time(), [&] { return all.failure || all.missing().empty() || leaver() >= 0; });
  if (std::vector<int> missing = all.missing(); !missing.empty() && !all.failure) {
    std::string names;
    for (int rank : missing)
      names += (names.empty() ? "" : ", ") + all.describe(rank);
    int left = leaver();
    std::string text = left >= 0 ? fmt::format("{} has left the group", all.describe(left))
                                 : fmt::format("{} did not take part within {:.3g} s", names, seconds);
    lock.unlock();
    abort(text); // the ranks are out of step from here on
    throw environmentError(text);
  }
  std::vector<Message> messages;
  // What a rank answers to a complete exchange, its end included, may arrive before this thread looks.
  bool isComplete = all.missing().empty();
  for (int rank = 0; rank < all.size && isComplete; ++rank) {
    std::deque<Message> &inbox = all.peers[size_t(rank)].inbox;
    messages.push_back(rank == all.own ? Message{mine, {}} : std::move(inbox.front()));
    if (rank != all.own)
      inbox.pop_front();
  }
  lock.unlock();
  if (!isComplete)
    throw *failureError();
  return messages;
}

std::optional<GroupFailure> Neighbours::failure() const {
  std::lock_guard lock(state->mutex);
  return state->failure;
}

std::optional<Error> Neighbours::failureError() const {
  std::optional<GroupFailure> seen = failure();
  if (!seen)
    return std::nullopt;
  bool isAbort = seen->kind == GroupFailure::Kind::Aborted && seen->rank != state->own;
  return environmentError(isAbort ? fmt::format("{} ended the group: {}", state->describe(seen->rank), seen->text)
                                  : seen->text,
                          {"the group has failed for good: make a new one of the processes that are left"});
}

void Neighbours::waitForFailure(double seconds) const {
  std::unique_lock lock(state->mutex);
  state->changed.wait_until(lock, Deadline(seconds).time(), [&] { return state->failure.has_value(); });
}

bool Neighbours::hasLeft(int rank) const {
  std::lock_guard lock(state->mutex);
  return state->peers[size_t(rank)].left;
}

std::string Neighbours::describeSilent(double seconds) {
  State &all = *state;
  if (::getpid() != all.creator || failure())
    return {};
  std::lock_guard one(all.probing);
  Deadline deadline(seconds);
  FieldWriter number;
  {
    std::lock_guard lock(all.mutex);
    number.number(++all.probes);
  }
  all.sendToAll(FrameKind::Probe, number.bytes, {}, deadline);
  std::unique_lock lock(all.mutex);
  all.changed.wait_until(lock, deadline.time(), [&] { return all.failure || all.silent().empty(); });
  std::vector<int> silent = all.failure ? std::vector<int>() : all.silent();
  std::string names;
  for (int rank : silent)
    names += (names.empty() ? "" : ", ") + all.describe(rank);
  return names.empty() ? names : names + (silent.size() == 1 ? " does not answer" : " do not answer");
}

void Neighbours::abort(const std::string &reason) {
  if (::getpid() == state->creator)
    state->fail({GroupFailure::Kind::Aborted, state->own, reason.substr(0, mostBytes - 64)});
}

void Neighbours::leave() {
  if (::getpid() != state->creator || failure() || state->hasSaidGoodbye.exchange(true))
    return;
  state->sendToAll(FrameKind::Goodbye, "", {}, Deadline(0.1));
}

void Neighbours::onChange(std::function<void()> function) {
  bool isLate = false;
  {
    std::lock_guard lock(state->calling);
    state->callback = std::move(function);
    std::lock_guard both(state->mutex);
    isLate = state->failure.has_value();
    for (const State::Peer &peer : state->peers)
      isLate |= peer.left;
  }
  if (isLate)
    state->notify();
}

} // namespace heddle
