// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exchanges what each rank is over the new NCCL communicator, and makes a Heddle communicator where all agree.
#include "nccl/Offer.h"
#include "nccl/Log.h"
#include "nccl/Settings.h"
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <sys/random.h>
#include <thread>
#include <unistd.h>

namespace heddle::dropin {
namespace {

constexpr int mostRanks = 8;
std::atomic<int> threads = 0; ///< of offerLater

/// What a rank tells the others, as bytes.
struct Facts {
  char host[64], network[64], settings[64]; ///< alike for ranks that may form a group
  char process[64];                         ///< another for each rank
  char secret[48];                          ///< of rank 0
  char whyNot[208];                         ///< empty: this rank can serve
};
constexpr size_t statusBytes = 256;
static_assert(sizeof(Facts) < 1024);

void put(char *place, size_t size, const std::string &text) {
  std::snprintf(place, size, "%s", text.c_str());
}

std::string firstLine(const char *path) {
  char text[64] = {};
  int file = ::open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? 0 : ::read(file, text, sizeof text - 1);
  if (file >= 0)
    ::close(file);
  return std::string(text, size_t(length > 0 ? length : 0)).substr(0, std::strcspn(text, "\n"));
}

std::string linkAt(const char *path) {
  char text[64] = {};
  return ::readlink(path, text, sizeof text - 1) > 0 ? text : "";
}

std::string randomText() {
  unsigned char bytes[16] = {};
  if (::getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes))
    return "";
  std::string text;
  char digits[3];
  for (unsigned char byte : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

Facts ownFacts(bool isAlone) {
  Facts facts{};
  std::string problem = settings().whyNot, secret = randomText(), version;
  if (problem.empty())
    if (const HeddleCalls *heddle = heddleLibrary(problem)) // others may choose other plans
      version = std::string(" ") + heddle->version();
  if (problem.empty() && !isAlone)
    problem = "its process makes several ranks at once";
  if (problem.empty() && secret.empty())
    problem = "there are no random numbers";
  put(facts.host, sizeof facts.host, firstLine("/proc/sys/kernel/random/boot_id"));
  put(facts.network, sizeof facts.network, linkAt("/proc/self/ns/net"));
  put(facts.process, sizeof facts.process, std::to_string(::getpid()) + " " + linkAt("/proc/self/ns/pid"));
  put(facts.settings, sizeof facts.settings, settings().text + version);
  put(facts.secret, sizeof facts.secret, secret);
  put(facts.whyNot, sizeof facts.whyNot, problem);
  return facts;
}

/// Of one communicator; `mine` and `all` are bytes of the host.
struct Exchange {
  std::shared_ptr<Entry> entry;
  std::unique_ptr<ExchangeMemory> memory;
  int device = 0;
  std::string mine, all;
};

/// Where NCCL takes a rank's part of an all-gather in place.
size_t ownPlace(const Exchange &exchange) {
  return size_t(exchange.entry->rank) * exchange.mine.size();
}

/// Of an offer whose communicators another thread has ended.
Result endedMeanwhile() {
  return result::remoteError;
}

/// Starts the all-gather of each, while no thread can end them.
Result startExchange(std::vector<Exchange> &exchanges) {
  std::deque<Entry::Stay> stays;
  for (Exchange &each : exchanges)
    if (!stays.emplace_back(each.entry.get(), Entry::Part::Nccl))
      return endedMeanwhile();
  InsideNccl inside;
  Result first = nccl().groupStart();
  if (first)
    return first;
  for (Exchange &each : exchanges) {
    each.memory->lend();
    Result done = nccl().allGather(each.memory->address() + ownPlace(each), each.memory->address(), each.mine.size(),
                                   type::ui8, each.entry->comm, each.memory->stream());
    first = first ? first : done;
  }
  Result end = nccl().groupEnd();
  return first && first != result::inProgress ? first : end;
}

/// An all-gather of each, over NCCL. One group, as the ranks of several may be in this process.
Result exchangeAll(std::vector<Exchange> &exchanges) {
  for (Exchange &each : exchanges) {
    size_t bytes = each.mine.size();
    each.all.resize(bytes * size_t(each.entry->ranks));
    each.memory = std::make_unique<ExchangeMemory>(settings().driver == "host", each.device, each.all.size());
    // A rank that left here would leave the others in their call: the error is NCCL's then, too.
    if (!each.memory->isReady() || !each.memory->write(ownPlace(each), each.mine.data(), bytes)) {
      say("rank %d of %d: no memory of device %d for an exchange of %zu bytes", each.entry->rank, each.entry->ranks,
          each.device, each.all.size());
      return result::systemError;
    }
  }
  Result first = startExchange(exchanges);
  for (Exchange &each : exchanges) {
    if (first == result::success || first == result::inProgress)
      first = each.entry->finishNccl(first, settings().setupSeconds);
    auto isOver = [&] { return each.entry->hasEnded(); };
    double seconds = settings().setupSeconds;
    if (first || each.memory->read(each.all.data(), each.all.size(), seconds, isOver))
      continue;
    if (isOver())
      return endedMeanwhile();
    say("rank %d of %d: the other ranks did not exchange what they are within %g s (HEDDLE_NCCL_SETUP); "
        "libheddle_nccl.so must be in all of them, or in none",
        each.entry->rank, each.entry->ranks, seconds);
    first = result::systemError;
  }
  return first;
}

Facts factsOf(const Exchange &exchange, int rank) {
  Facts facts{};
  std::memcpy(&facts, exchange.all.data() + size_t(rank) * sizeof facts, sizeof facts);
  return facts;
}

/// Why these ranks cannot form a group, alike on all of them; empty when they can.
std::string whyNotTogether(const Exchange &exchange) {
  Facts first = factsOf(exchange, 0);
  for (int rank = 0; rank < exchange.entry->ranks; ++rank) {
    Facts facts = factsOf(exchange, rank);
    std::string who = "rank " + std::to_string(rank) + ": ";
    if (facts.whyNot[0])
      return who + facts.whyNot;
    if (std::strcmp(facts.host, first.host) || std::strcmp(facts.network, first.network))
      return who + "it is on another host than rank 0, or in another network namespace";
    for (int other = 0; other < rank; ++other)
      if (!std::strcmp(facts.process, factsOf(exchange, other).process))
        return who + "its process is that of rank " + std::to_string(other);
    if (std::strcmp(facts.settings, first.settings))
      return who + "its settings are `" + facts.settings + "`, and those of rank 0 `" + first.settings + "`";
  }
  return "";
}

/// What each rank says of its own try; the first that failed is the reason on all.
std::string reasonOf(const Exchange &exchange) {
  for (int rank = 0; rank < exchange.entry->ranks; ++rank)
    if (const char *text = exchange.all.data() + size_t(rank) * statusBytes; *text)
      return "rank " + std::to_string(rank) + ": " + std::string(text, ::strnlen(text, statusBytes));
  return "";
}

} // namespace

static Result negotiate(std::vector<Exchange> &exchanges, bool isAlone);

static Result prepareOffer(const std::vector<std::shared_ptr<Entry>> &entries, std::vector<Exchange> &exchanges) {
  for (const auto &entry : entries) {
    Entry::Stay stay(entry.get(), Entry::Part::Nccl);
    if (!stay)
      return endedMeanwhile();
    int rank = 0, ranks = 0, device = 0;
    if (Result failed = nccl().commCount(entry->comm, &ranks))
      return failed;
    if (nccl().commUserRank(entry->comm, &rank) || nccl().commCuDevice(entry->comm, &device))
      return result::internalError;
    entry->identify(rank, ranks);
    entry->decline(std::to_string(ranks) + " ranks");
    if (ranks >= 2 && ranks <= mostRanks)
      exchanges.push_back({entry, nullptr, device, "", ""});
  }
  return result::success;
}

Result offer(const std::vector<std::shared_ptr<Entry>> &entries) {
  std::vector<Exchange> exchanges;
  Result done = prepareOffer(entries, exchanges);
  if (!done && !exchanges.empty())
    done = negotiate(exchanges, entries.size() == 1);
  for (const auto &entry : entries) {
    entry->settle(done);
    if (logsCalls() && !done)
      say("rank %d of %d: communicator: %s", entry->rank, entry->ranks,
          entry->isServed() ? "heddle beside nccl" : ("nccl (" + entry->reason() + ")").c_str());
  }
  return done;
}

/// NCCL's own state of a communicator that is made in the background, when that is over or takes too long.
static Result waitForNccl(Entry &entry) {
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(settings().setupSeconds);
  Result state = result::inProgress;
  while (state == result::inProgress) {
    {
      Entry::Stay stay(&entry, Entry::Part::Nccl);
      if (!stay)
        return endedMeanwhile();
      if (Result failed = nccl().commGetAsyncError(entry.comm, &state))
        return failed;
    }
    if (state != result::inProgress)
      break;
    if (std::chrono::steady_clock::now() > end) {
      say("NCCL did not make a communicator within %g s (HEDDLE_NCCL_SETUP)", settings().setupSeconds);
      return result::systemError;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return state;
}

/// Other ranks may be blocked in making it, or offer it on a thread, too: all do it right after it has been made,
/// whatever its program calls next.
void offerLater(std::shared_ptr<Entry> entry) {
  ++threads;
  std::thread([entry = std::move(entry)]() mutable {
    Result made = waitForNccl(*entry);
    if (made)
      entry->settle(made);
    else
      (void)offer({entry});
    entry.reset();
    --threads;
  }).detach();
}

int offersInBackground() {
  return threads;
}

/// `isAlone`: this process makes no other communicator at once.
static Result negotiate(std::vector<Exchange> &exchanges, bool isAlone) {
  CurrentDevice current(settings().driver == "host", exchanges.front().device);
  Facts own = ownFacts(isAlone);
  for (Exchange &each : exchanges)
    each.mine.assign(reinterpret_cast<const char *>(&own), sizeof own);
  if (Result failed = exchangeAll(exchanges))
    return failed;

  // Ranks that cannot be together all know it; of the others each tries, and all hear how it went.
  std::erase_if(exchanges, [](Exchange &each) {
    std::string why = whyNotTogether(each);
    each.entry->decline(why);
    return !why.empty();
  });
  for (Exchange &each : exchanges) {
    const std::string &driver = settings().driver;
    std::string name = driver + ":" + std::to_string(driver == "host" ? each.entry->rank : each.device);
    std::string problem = each.entry->connect(name, factsOf(each, 0).secret, settings().deadline);
    each.mine = problem.substr(0, statusBytes - 1);
    each.mine.resize(statusBytes, '\0');
  }
  if (Result failed = exchanges.empty() ? result::success : exchangeAll(exchanges))
    return failed;
  for (Exchange &each : exchanges)
    each.entry->decline(reasonOf(each));
  return result::success;
}

} // namespace heddle::dropin
