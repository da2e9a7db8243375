// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A libnccl.so.2 for real processes without a GPU: its ranks share a file that all map, and every collective is done
// when its call, or the end of its group, returns. Memory of devices is memory of the host, as with the fake libcuda.
// It reduces f32 and i32. Waits end after 30 seconds, and when the communicator is aborted. A call with the handle of a
// communicator that has ended ends the process with 99. fakeNcclCount says how often a function was called.
//
// Without blocking, groups of sends and receives run on threads, and are in progress until all has been moved.
// FAKE_NCCL_SILENT: on streams of the fake libcuda all-gathers never end, as if other ranks did not come, and such
// groups when the communicator is aborted. FAKE_NCCL_FAIL=symbol:N: its call N is a system error.
#include "nccl/Nccl.h"
#include "tests/fake_cuda/FakeCuda.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace heddle::dropin;

namespace {

constexpr int mostRanks = 16;
constexpr size_t slotBytes = size_t(1) << 20;

/// A message of one rank to another, or a piece of one.
struct Mail {
  std::atomic<int> isFull;
  uint32_t size;
  char bytes[4088];
};

/// The begin of the file; the slots follow.
struct Rendezvous {
  std::atomic<int> come, count, generation;
  int colors[mostRanks], keys[mostRanks];
  Mail mail[mostRanks][mostRanks]; ///< by sender and receiver
};
constexpr size_t rendezvousBytes = (sizeof(Rendezvous) + 4095) / 4096 * 4096;

} // namespace

namespace heddle::dropin {
struct CommHandle {
  int rank, ranks;
  std::string token;
  Rendezvous *rendezvous;
  int splits = 0;
  bool blocks = true;
  std::atomic<int> questions = 0;  ///< until a call is no longer in progress
  std::atomic<int> users = 0;      ///< threads in a call
  std::atomic<int> running = 0;    ///< groups of sends and receives
  std::atomic<Result> outcome = 0; ///< of those
  std::atomic<bool> isAborted = false, isOver = false;
  char *slot(int of) const { return reinterpret_cast<char *>(rendezvous) + rendezvousBytes + size_t(of) * slotBytes; }
};
} // namespace heddle::dropin

namespace {

/// How often a function was called, with this call.
int countCall(const std::string &symbol, int by = 1) {
  static auto *mutex = new std::mutex;
  static auto *all = new std::map<std::string, int>;
  std::lock_guard lock(*mutex);
  return (*all)[symbol] += by;
}
/// A send or a receive of a communicator that does not block.
struct Transfer {
  Comm comm;
  Stream stream;
  bool sends;
  int peer;
  std::function<Result()> work;
};
struct GroupState {
  std::vector<Transfer> transfers;
  int depth = 0;
  std::vector<std::function<Result()>> calls;
  std::vector<Comm> comms; ///< of the calls
};
thread_local GroupState group;

/// A thread in a call with a handle, which is never freed, so that a late use is found.
class Use {
public:
  explicit Use(Comm comm) : comm(comm) {
    ++comm->users;
    if (!comm->isOver)
      return;
    std::fprintf(stderr, "fake NCCL: a call with the handle of a communicator that has ended\n");
    std::_Exit(99);
  }
  Use(const Use &) = delete;
  ~Use() { --comm->users; }

private:
  Comm comm;
};

bool waitUntil(const std::function<bool()> &holds) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int turn = 0; !holds(); ++turn) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    if (turn > 100)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

bool barrier(Comm comm) {
  Rendezvous &rendezvous = *comm->rendezvous;
  int generation = rendezvous.generation;
  if (comm->isAborted)
    return false;
  if (++rendezvous.count == comm->ranks) {
    rendezvous.count = 0;
    ++rendezvous.generation;
    return true;
  }
  return waitUntil([&] { return comm->isAborted || rendezvous.generation != generation; }) && !comm->isAborted;
}

Result join(Comm *place, const std::string &token, int rank, int ranks, bool waits = true) {
  const char *folder = std::getenv("TMPDIR");
  std::string path = std::string(folder ? folder : "/tmp") + "/fake-nccl-" + token;
  size_t bytes = rendezvousBytes + size_t(ranks) * slotBytes;
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void *memory = file >= 0 && ::ftruncate(file, off_t(bytes)) == 0
                     ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                     : MAP_FAILED;
  if (file >= 0)
    ::close(file);
  if (memory == MAP_FAILED)
    return result::systemError;
  *place = new CommHandle{rank, ranks, token, static_cast<Rendezvous *>(memory)};
  if (++(*place)->rendezvous->come == ranks)
    ::unlink(path.c_str());
  return !waits || waitUntil([&] { return (*place)->rendezvous->come >= ranks; }) ? result::success
                                                                                  : result::systemError;
}

size_t bytesOf(int type) {
  constexpr size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return sizes[type];
}

constexpr int average = 4, firstOwn = 5; ///< reductions; from the last on those that the program made

/// The factors of reductions that the program made.
std::vector<float> &factors() {
  static auto *all = new std::vector<float>;
  return *all;
}

/// Folds the input of the next rank; the first is `isFirst`.
template <typename Number>
void reduceTo(void *result, const void *more, size_t bytes, int reduction, bool isFirst) {
  for (size_t i = 0; i < bytes / sizeof(Number); ++i) {
    Number &place = static_cast<Number *>(result)[i], next = static_cast<const Number *>(more)[i];
    if (reduction >= firstOwn)
      next = Number(float(next) * factors()[size_t(reduction - firstOwn)]);
    place = isFirst                           ? next
            : reduction == reduction::product ? place * next
            : reduction == reduction::maximum ? std::max(place, next)
            : reduction == reduction::minimum ? std::min(place, next)
                                              : place + next;
  }
}

template <typename Number>
void divide(void *result, size_t bytes, int by) {
  for (size_t i = 0; i < bytes / sizeof(Number); ++i)
    static_cast<Number *>(result)[i] /= Number(by);
}

/// What a call gives that is done: without blocking it is in progress until it has been asked for a few times.
Result finish(Comm comm, Result done) {
  if (done || comm->blocks)
    return done;
  comm->questions = 3;
  return result::inProgress;
}

/// Counts the call; whether FAKE_NCCL_FAIL says that it fails.
bool fails(const char *symbol) {
  int number = countCall(symbol);
  const char *text = std::getenv("FAKE_NCCL_FAIL");
  return text && std::string(text) == std::string(symbol) + ":" + std::to_string(number);
}

/// Runs now, or at the end of the group.
Result enter(const char *symbol, Comm comm, std::function<Result()> work) {
  if (fails(symbol))
    return result::systemError;
  Use use(comm);
  if (group.depth == 0)
    return finish(comm, work());
  group.calls.push_back(std::move(work));
  group.comms.push_back(comm);
  return result::success;
}

/// One that makes a communicator.
Result enter(const char *symbol, std::function<Result()> work) {
  if (fails(symbol))
    return result::systemError;
  if (group.depth == 0)
    return work();
  group.calls.push_back(std::move(work));
  return result::success;
}

/// Puts work into a stream of the fake libcuda that runs when a thread waits for it; false where there is none.
bool putIntoStream(Stream stream, void (*work)(void *), void *data) {
  const char *path = std::getenv("HEDDLE_CUDA_LIBRARY");
  void *library = stream && std::getenv("FAKE_NCCL_SILENT") && path ? ::dlopen(path, RTLD_NOW) : nullptr;
  if (!library)
    return false;
  auto *control = reinterpret_cast<heddle::FakeCuda *(*)()>(::dlsym(library, "fakeCuda"))();
  auto *launch = reinterpret_cast<int (*)(Stream, void (*)(void *), void *)>(::dlsym(library, "cuLaunchHostFunc"));
  control->hold = true;
  launch(stream, work, data);
  return true;
}

/// Work that never ends.
bool isSilent(Stream stream) {
  return putIntoStream(
      stream,
      [](void *) {
        for (;;)
          ::pause();
      },
      nullptr);
}

/// Moves all pieces of a message.
Result transfer(Comm comm, bool sends, int peer, char *data, size_t size) {
  Mail &mail = sends ? comm->rendezvous->mail[comm->rank][peer] : comm->rendezvous->mail[peer][comm->rank];
  for (size_t at = 0; at < size; at += sizeof mail.bytes) {
    auto piece = uint32_t(std::min(sizeof mail.bytes, size - at));
    if (!waitUntil([&] { return comm->isAborted || bool(mail.isFull) != sends; }) || comm->isAborted)
      return result::remoteError;
    if (sends)
      mail.size = piece;
    else if (mail.size != piece)
      return result::invalidUsage;
    std::memcpy(sends ? mail.bytes : data + at, sends ? data + at : mail.bytes, piece);
    mail.isFull = sends;
  }
  return result::success;
}

/// One after the other of those with one rank in one direction, and side by side otherwise.
void runTransfers(std::vector<Transfer> transfers) {
  Comm comm = transfers.front().comm;
  if (putIntoStream(
          transfers.front().stream,
          [](void *data) {
            auto *own = static_cast<Comm>(data);
            waitUntil([&] { return own->isAborted.load(); });
          },
          comm))
    return;
  std::map<std::pair<bool, int>, std::vector<Transfer>> queues;
  for (Transfer &each : transfers)
    queues[{each.sends, each.peer}].push_back(std::move(each));
  comm->running += int(queues.size());
  comm->users += int(queues.size()); // before the threads run: the communicator may be aborted at once
  for (auto &[key, queue] : queues)
    std::thread([comm, queue = std::move(queue)] {
      for (const Transfer &each : queue)
        if (Result done = each.work())
          comm->outcome = done;
      --comm->running;
      --comm->users;
    }).detach();
}

/// A send or a receive.
Result enterTransfer(const char *symbol, Transfer given) {
  if (given.comm->blocks)
    return enter(symbol, given.comm, std::move(given.work));
  if (fails(symbol))
    return result::systemError;
  Use use(given.comm);
  group.transfers.push_back(std::move(given));
  if (group.depth == 0)
    runTransfers(std::exchange(group.transfers, {}));
  return result::inProgress;
}

/// `output` gets what `take` says of the slots, piece by piece: each rank's input is `all` bytes.
Result move(Comm comm, const void *input, size_t all, const std::function<void(size_t at, size_t bytes)> &take) {
  std::string given(static_cast<const char *>(input), all);
  for (size_t at = 0; at < all; at += slotBytes) {
    size_t bytes = std::min(slotBytes, all - at);
    std::memcpy(comm->slot(comm->rank), given.data() + at, bytes);
    if (!barrier(comm))
      return result::remoteError;
    take(at, bytes);
    if (!barrier(comm))
      return result::remoteError;
  }
  return result::success;
}

/// What every rank's input becomes, of `count` elements, in `reduced`.
Result reduceAll(Comm comm, const void *input, size_t count, int type, int reduction, std::string &reduced) {
  if (count == 0)
    return result::success;
  if ((type != type::f32 && type != type::i32) || reduction < 0 || reduction >= firstOwn + int(factors().size()))
    return 4;
  bool isFloat = type == type::f32;
  reduced.resize(count * bytesOf(type));
  Result done = move(comm, input, reduced.size(), [&](size_t at, size_t bytes) {
    for (int rank = 0; rank < comm->ranks; ++rank)
      (isFloat ? reduceTo<float> : reduceTo<int>)(reduced.data() + at, comm->slot(rank), bytes, reduction, rank == 0);
  });
  if (reduction == average)
    (isFloat ? divide<float> : divide<int>)(reduced.data(), reduced.size(), comm->ranks);
  return done;
}

} // namespace

extern "C" {

int fakeNcclCount(const char *symbol) {
  return countCall(symbol, 0);
}

Result ncclGetVersion(int *version) {
  *version = 22809;
  return result::success;
}

const char *ncclGetErrorString(Result error) {
  return error ? "what the fake says of it" : "no error";
}

const char *ncclGetLastError(Comm) {
  return "the fake's last error";
}

Result ncclGetUniqueId(UniqueId *id) {
  if (fails("ncclGetUniqueId"))
    return result::systemError;
  std::memset(id->bytes, 0, sizeof id->bytes);
  std::string text = std::to_string(::getpid()) + "-" + std::to_string(countCall("ncclGetUniqueId", 0));
  std::memcpy(id->bytes, text.data(), text.size());
  return result::success;
}

Result ncclCommInitRank(Comm *comm, int ranks, UniqueId id, int rank) {
  return enter("ncclCommInitRank", [=] { return join(comm, id.bytes, rank, ranks); });
}

/// Without blocking it is in progress until it has been asked a few times.
Result ncclCommInitRankConfig(Comm *comm, int ranks, UniqueId id, int rank, Config *config) {
  if (fails("ncclCommInitRankConfig"))
    return result::systemError;
  bool blocks = !config || config->blocking != 0;
  if (blocks || group.depth > 0) {
    Result done = ncclCommInitRank(comm, ranks, id, rank);
    if (!done && !blocks)
      group.calls.push_back([comm] {
        (*comm)->blocks = false;
        return finish(*comm, result::success);
      });
    return done;
  }
  if (Result done = join(comm, id.bytes, rank, ranks, /*waits=*/false))
    return done;
  (*comm)->blocks = false;
  return finish(*comm, result::success);
}

Result ncclCommInitAll(Comm *, int, const int *) {
  return result::invalidUsage;
}

Result ncclCommSplit(Comm comm, int color, int key, Comm *made, Config *) {
  return enter("ncclCommSplit", comm, [=] {
    comm->rendezvous->colors[comm->rank] = color;
    comm->rendezvous->keys[comm->rank] = key;
    if (!barrier(comm))
      return Result(result::remoteError);
    int rank = 0, ranks = 0;
    for (int other = 0; other < comm->ranks; ++other) {
      bool isSame = comm->rendezvous->colors[other] == color;
      ranks += isSame;
      rank += isSame &&
              (comm->rendezvous->keys[other] < key || (comm->rendezvous->keys[other] == key && other < comm->rank));
    }
    std::string token = comm->token + "." + std::to_string(comm->splits++) + "." + std::to_string(color);
    *made = nullptr;
    Result done = color < 0 ? Result(result::success) : join(made, token, rank, ranks);
    return barrier(comm) ? done : Result(result::remoteError);
  });
}

Result ncclCommFinalize(Comm) {
  return result::success;
}

Result ncclCommDestroy(Comm comm) {
  countCall("ncclCommDestroy");
  {
    Use use(comm);
  }
  comm->isOver = true;
  waitUntil([&] { return comm->users == 0; });
  ::munmap(comm->rendezvous, rendezvousBytes + size_t(comm->ranks) * slotBytes);
  return result::success;
}

/// Ends the calls of other threads first.
Result ncclCommAbort(Comm comm) {
  countCall("ncclCommAbort");
  comm->isAborted = true;
  return ncclCommDestroy(comm);
}

Result ncclCommGetAsyncError(Comm comm, Result *error) {
  Use use(comm);
  if (fails("ncclCommGetAsyncError"))
    return result::systemError;
  bool lacksRanks = comm->rendezvous->come < comm->ranks;
  *error = lacksRanks || comm->running > 0 || comm->questions-- > 0 ? result::inProgress : Result(comm->outcome);
  return result::success;
}

Result ncclCommCount(Comm comm, int *count) {
  *count = comm->ranks;
  return result::success;
}

Result ncclCommUserRank(Comm comm, int *rank) {
  *rank = comm->rank;
  return result::success;
}

/// Each rank's own, as the tests give them out.
Result ncclCommCuDevice(Comm comm, int *device) {
  *device = comm->rank;
  return result::success;
}

Result ncclGroupStart() {
  ++group.depth;
  return result::success;
}

Result ncclGroupEnd() {
  if (--group.depth > 0)
    return result::success;
  if (fails("ncclGroupEnd")) {
    group.transfers.clear();
    return result::systemError;
  }
  bool hasTransfers = !group.transfers.empty();
  if (hasTransfers)
    runTransfers(std::exchange(group.transfers, {}));
  std::vector<Comm> comms = std::exchange(group.comms, {});
  std::deque<Use> uses(comms.begin(), comms.end());
  Result first = result::success;
  for (const auto &call : std::exchange(group.calls, {})) {
    Result done = call();
    first = first ? first : done;
  }
  for (Comm comm : comms)
    first = first ? first : finish(comm, result::success);
  return first ? first : Result(hasTransfers ? result::inProgress : result::success);
}

Result ncclRedOpCreatePreMulSum(int *reduction, void *scalar, int type, int, Comm) {
  if (type != type::f32)
    return 4;
  *reduction = firstOwn + int(factors().size());
  factors().push_back(*static_cast<const float *>(scalar));
  return result::success;
}

Result ncclAllReduce(const void *input, void *output, size_t count, int type, int reduction, Comm comm, Stream) {
  return enter("ncclAllReduce", comm, [=] {
    std::string reduced;
    Result done = reduceAll(comm, input, count, type, reduction, reduced);
    std::memcpy(output, reduced.data(), reduced.size());
    return done;
  });
}

Result ncclReduceScatter(const void *input, void *output, size_t count, int type, int reduction, Comm comm, Stream) {
  return enter("ncclReduceScatter", comm, [=] {
    std::string reduced;
    Result done = reduceAll(comm, input, size_t(comm->ranks) * count, type, reduction, reduced);
    size_t bytes = reduced.size() / size_t(comm->ranks);
    std::memcpy(output, reduced.data() + size_t(comm->rank) * bytes, bytes);
    return done;
  });
}

Result ncclAlltoAll(const void *input, void *output, size_t count, int type, Comm comm, Stream) {
  return enter("ncclAlltoAll", comm, [=] {
    size_t part = count * bytesOf(type), mine = size_t(comm->rank) * part;
    return move(comm, input, size_t(comm->ranks) * part, [=](size_t at, size_t bytes) {
      size_t begin = std::max(at, mine), end = std::min(at + bytes, mine + part);
      for (int rank = 0; begin < end && rank < comm->ranks; ++rank)
        std::memcpy(static_cast<char *>(output) + size_t(rank) * part + (begin - mine), comm->slot(rank) + (begin - at),
                    end - begin);
    });
  });
}

Result ncclAllGather(const void *input, void *output, size_t count, int type, Comm comm, Stream stream) {
  if (isSilent(stream))
    return result::success;
  return enter("ncclAllGather", comm, [=] {
    size_t all = count * bytesOf(type);
    auto *from = static_cast<const char *>(input), *to = static_cast<const char *>(output);
    if (from < to + size_t(comm->ranks) * all && from + all > to && from != to + size_t(comm->rank) * all)
      return Result(4); // in place, the input is the rank's part of the output
    return move(comm, input, all, [=](size_t at, size_t bytes) {
      for (int rank = 0; rank < comm->ranks; ++rank)
        std::memcpy(static_cast<char *>(output) + size_t(rank) * all + at, comm->slot(rank), bytes);
    });
  });
}

Result ncclBroadcast(const void *input, void *output, size_t count, int type, int root, Comm comm, Stream) {
  return enter("ncclBroadcast", comm, [=] {
    const void *from = comm->rank == root ? input : output;
    return move(comm, from, count * bytesOf(type), [=](size_t at, size_t bytes) {
      std::memcpy(static_cast<char *>(output) + at, comm->slot(root), bytes);
    });
  });
}

/// One piece of a message between two ranks at a time: with blocking the sends of a group come first, and it has at
/// most one for each rank, of at most a piece.
Result ncclSend(const void *input, size_t count, int type, int peer, Comm comm, Stream stream) {
  size_t bytes = count * bytesOf(type);
  if (comm->blocks && bytes > sizeof(Mail::bytes))
    return result::invalidArgument;
  auto *data = static_cast<char *>(const_cast<void *>(input));
  return enterTransfer("ncclSend", {comm, stream, true, peer, [=] { return transfer(comm, true, peer, data, bytes); }});
}

Result ncclRecv(void *output, size_t count, int type, int peer, Comm comm, Stream stream) {
  size_t bytes = count * bytesOf(type);
  auto *data = static_cast<char *>(output);
  return enterTransfer("ncclRecv",
                       {comm, stream, false, peer, [=] { return transfer(comm, false, peer, data, bytes); }});
}

} // extern "C"
