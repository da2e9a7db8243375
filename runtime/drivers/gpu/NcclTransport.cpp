// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each exchange is one group of NCCL's calls: to each rank a header and the bytes, from each the same. Headers are
// compared when all has arrived, as NCCL does not say who sends what.
#include "runtime/drivers/gpu/NcclTransport.h"
#include "chips/Chip.h"
#include "runtime/HostGroup.h"
#include "runtime/drivers/gpu/GpuGate.h"
#include "runtime/drivers/gpu/GpuStream.h"
#include "support/Knobs.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace heddle {
namespace {

/// After the TransferHeader: the sender's status.
constexpr size_t messageBytes = TransferHeader::size + sizeof(uint64_t), messageStride = 64;
constexpr auto lookEvery = std::chrono::milliseconds(5);

std::vector<int> ranksOf(const StreamTransport::Exchange &exchange) {
  std::vector<int> ranks;
  for (const auto *parts : {&exchange.out, &exchange.in})
    for (const StreamTransport::Part &part : *parts)
      ranks.push_back(part.rank);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

uint64_t bytesOf(const StreamTransport::Exchange &exchange) {
  const auto &parts = exchange.out.empty() ? exchange.in : exchange.out;
  return parts.empty() ? 0 : parts.front().bytes;
}

nccl::Config configuration() {
  nccl::Config config = {};
  config.size = sizeof config;
  config.magic = nccl::configMagic;
  config.version = nccl::configVersion;
  config.blocking = 0;
  config.clusterSize = config.leastBlocks = nccl::undefinedInteger;
  config.mostBlocks = 16; // kernels of ours that wait for other ranks run beside its own
  return config;
}

/// Makes a GPU current on this thread; nothing for a host device.
struct DeviceScope {
  explicit DeviceScope(GpuDevice *gpu) {
    if (gpu)
      scope.emplace(gpu->context());
  }
  std::optional<GpuScope> scope;
};

GpuDevice *gpuOf(Device &device) {
  auto *gpu = dynamic_cast<GpuDevice *>(&device);
  bool isHostOfTests = device.chip().vendor == Vendor::Host && ncclDevice() == "host";
  if (!gpu && !isHostOfTests)
    throw inputError(fmt::format("the transport `nccl` is between GPUs, and this rank has {}", device.name()),
                     {"take `tcp`, or give each rank a GPU: `--device cuda`"});
  return gpu;
}

} // namespace

/// A thread inside of NCCL, which is not aborted meanwhile.
class NcclTransport::Calling {
public:
  explicit Calling(NcclTransport &owner) : owner(owner) {
    std::lock_guard lock(owner.mutex);
    if (owner.isEnding || owner.isClosing)
      throw environmentError(owner.failure);
    ++owner.callers;
  }
  Calling(const Calling &) = delete;
  ~Calling() {
    std::lock_guard lock(owner.mutex);
    --owner.callers;
    owner.changed.notify_all();
  }

private:
  NcclTransport &owner;
};

NcclTransport::NcclTransport(std::shared_ptr<Device> theDevice, const HostLayout &layout,
                             std::function<std::string(int rank)> describe)
    : device(std::move(theDevice)), gpu(gpuOf(*device)), layout(layout), describe(std::move(describe)),
      api(std::make_unique<NcclApi>(ncclLibrary(device->chip().vendor == Vendor::Amd))) {
  api->requireTransport();
  headers = device->allocate(messageStride * uint64_t(layout.hosts + 1), "headers between hosts");
  watcher = std::thread([this] { watch(); });
}

NcclTransport::~NcclTransport() {
  {
    std::lock_guard lock(mutex);
    isClosing = true;
    if (failure.empty())
      failure = "this rank has left the group";
    changed.notify_all();
  }
  watcher.join();
}

std::string NcclTransport::description() const {
  bool isAmd = device->chip().vendor == Vendor::Amd;
  return fmt::format("{} {} ({})", isAmd ? "RCCL" : "NCCL", ncclVersionText(api->version()), api->library());
}

nccl::UniqueId NcclTransport::newId() {
  DeviceScope scope(gpu);
  nccl::UniqueId id = {};
  if (nccl::Result result = api->getUniqueId(&id))
    throw failedCall(api->getUniqueId.symbol, result, others());
  return id;
}

/// The ranks of the rail but this one.
std::vector<int> NcclTransport::others() const {
  std::vector<int> ranks;
  for (int host = 0; host < layout.hosts; ++host)
    if (host != layout.host())
      ranks.push_back(layout.rankOf(host, layout.local()));
  return ranks;
}

void NcclTransport::join(const nccl::UniqueId &id, double seconds, const std::function<void()> &throwIfEnded) {
  guarded([&] {
    {
      Calling calling(*this);
      DeviceScope scope(gpu);
      nccl::Config config = configuration();
      nccl::Communicator made = nullptr;
      nccl::Result result = api->initRankConfig(&made, layout.hosts, id, layout.host(), &config);
      std::lock_guard lock(mutex);
      communicator = made;
      if (result && result != nccl::result::inProgress)
        throw failedCall(api->initRankConfig.symbol, result, others());
    }
    settle(others(), seconds, throwIfEnded);
  });
}

//===-- Failures -------------------------------------------------------------------------------------------------===//

void NcclTransport::end(const std::string &reason) {
  std::lock_guard lock(mutex);
  if (failure.empty())
    failure = reason;
  isEnding = true;
  changed.notify_all();
}

void NcclTransport::throwIfFailed() {
  std::lock_guard lock(mutex);
  if (!failure.empty())
    throw environmentError(failure);
}

void NcclTransport::guarded(const std::function<void()> &work) {
  try {
    throwIfFailed();
    work();
  } catch (const Error &error) {
    end(error.what());
    throw;
  }
}

Error NcclTransport::failedCall(const char *symbol, nccl::Result result, const std::vector<int> &ranks) const {
  Error error = api->error(symbol, result);
  std::string others;
  for (int rank : ranks)
    others += (others.empty() ? "" : ", ") + describe(rank);
  Error named = environmentError(
      fmt::format("{} exchanges with {} of other hosts: {}", describe(layout.own), others, error.what()), error.notes);
  named.notes.emplace_back("the transport `tcp` needs no NCCL");
  return named;
}

/// What is put into a communicator that does not block is in progress until NCCL has done its part on the host.
void NcclTransport::settle(const std::vector<int> &ranks, double seconds, const std::function<void()> &throwIfEnded) {
  Deadline deadline(seconds);
  for (int turn = 0;; ++turn) {
    nccl::Result state = nccl::result::inProgress;
    {
      Calling calling(*this);
      DeviceScope scope(gpu);
      if (nccl::Result result = api->getAsyncError(communicator, &state))
        throw failedCall(api->getAsyncError.symbol, result, ranks);
    }
    if (state == nccl::result::success)
      return;
    if (state != nccl::result::inProgress)
      throw failedCall(api->getAsyncError.symbol, state, ranks);
    if (throwIfEnded)
      throwIfEnded();
    if (deadline.passed())
      throw environmentError(lateText(ranks, seconds),
                             {"NCCL_DEBUG=INFO in the environment lets NCCL say which connections it makes"});
    if (turn > 100)
      std::this_thread::sleep_for(std::chrono::microseconds(turn > 1000 ? 1000 : 20));
  }
}

//===-- Exchanges ------------------------------------------------------------------------------------------------===//

/// Throws after the group has been closed: it would swallow all later calls.
void NcclTransport::callGroup(const Exchange &exchange, const std::vector<int> &ranks, gpu::Stream stream) {
  Calling calling(*this);
  DeviceScope scope(gpu);
  auto at = [&](int slot) { return reinterpret_cast<void *>(headers.address() + messageStride * uint64_t(slot)); };
  std::optional<std::shared_lock<std::shared_mutex>> admitted;
  if (gpu)
    admitted = gpu->context().gate.admit();
  std::optional<Error> error;
  auto call = [&](const auto &function, auto *data, uint64_t bytes, int rank) {
    if (error || bytes == 0)
      return;
    if (nccl::Result result =
            function(data, size_t(bytes), nccl::type::ui8, rank / layout.perHost, communicator, stream))
      if (result != nccl::result::inProgress)
        error = failedCall(function.symbol, result, {rank});
  };
  if (nccl::Result result = api->groupStart())
    throw failedCall(api->groupStart.symbol, result, ranks);
  for (const Part &part : exchange.out) {
    call(api->send, static_cast<const void *>(at(0)), messageBytes, part.rank);
    call(api->send, reinterpret_cast<const void *>(part.address), part.bytes, part.rank);
  }
  for (const Part &part : exchange.in) {
    call(api->receive, at(1 + part.rank / layout.perHost), messageBytes, part.rank);
    call(api->receive, reinterpret_cast<void *>(part.address), part.bytes, part.rank);
  }
  nccl::Result end = api->groupEnd();
  if (error)
    throw *error;
  if (end && end != nccl::result::inProgress)
    throw failedCall(api->groupEnd.symbol, end, ranks);
}

void NcclTransport::putGroup(const Exchange &exchange, const std::vector<int> &ranks, gpu::Stream stream) {
  guarded([&] {
    callGroup(exchange, ranks, stream);
    settle(ranks, exchange.seconds);
  });
}

void NcclTransport::checkHeaders(const std::string &seen, const Exchange &exchange, uint64_t wantedNumber) const {
  TransferHeader wanted{wantedNumber, exchange.what, bytesOf(exchange)};
  for (const Part &part : exchange.in) {
    std::string_view message = std::string_view(seen).substr(messageStride * size_t(part.rank / layout.perHost));
    TransferHeader::check(message.substr(0, TransferHeader::size), wanted, describe(part.rank));
    uint64_t status = 0;
    std::memcpy(&status, message.data() + TransferHeader::size, sizeof status);
    if (status)
      throw environmentError(
          fmt::format("{} has sent {} the result of a kernel that failed", describe(part.rank), describe(layout.own)),
          {"the first error on that rank says what happened"});
  }
}

/// From here the stream's way to the end of the exchange is watched.
std::shared_ptr<NcclTransport::Outstanding> NcclTransport::follow(Stream &stream, const Exchange &exchange,
                                                                  const std::vector<int> &ranks) {
  auto entry = std::make_shared<Outstanding>();
  entry->begin = device->createEvent();
  entry->seconds = exchange.seconds;
  entry->ranks = ranks;
  stream.record(entry->begin);
  std::lock_guard lock(mutex);
  outstanding.push_back(entry);
  changed.notify_all();
  return entry;
}

void NcclTransport::exchange(Stream &stream, const Exchange &exchange) {
  std::vector<int> ranks = ranksOf(exchange);
  for (const auto *parts : {&exchange.out, &exchange.in})
    for (const Part &part : *parts)
      if (part.bytes != bytesOf(exchange) || part.rank < 0 || part.rank >= layout.ranks)
        throw internalError(fmt::format("an exchange of {} bytes with rank {}, and others of {}", part.bytes, part.rank,
                                        bytesOf(exchange)));
  auto mine = std::make_shared<std::string>(TransferHeader{++number, exchange.what, bytesOf(exchange)}.encode());
  mine->resize(messageBytes, '\0');
  auto seen = std::make_shared<std::string>(messageStride * size_t(layout.hosts), '\0');
  stream.copyToDevice(headers.address(), mine->data(), mine->size());
  if (exchange.status)
    stream.copy(headers.address() + TransferHeader::size, exchange.status, sizeof(uint32_t));
  std::shared_ptr<Outstanding> entry;
  if (gpu) {
    entry = follow(stream, exchange, ranks);
    exchange.guard([&] { putGroup(exchange, ranks, static_cast<GpuStream &>(stream).raw()); });
  } else { // what NCCL has taken is done there when it has settled
    stream.hostFunction([=, this] {
      exchange.guard([&] {
        exchange.check();
        putGroup(exchange, ranks, nullptr);
      });
    });
  }
  stream.copyToHost(seen->data(), headers.address() + messageStride, seen->size());
  stream.hostFunction([=, this, wanted = number] {
    if (entry) {
      std::lock_guard lock(mutex);
      entry->isDone = true;
    }
    exchange.guard([&] {
      exchange.check();
      guarded([&] { checkHeaders(*seen, exchange, wanted); });
    });
    mine->clear(); // until here it is needed
  });
}

//===-- The watcher ----------------------------------------------------------------------------------------------===//

void NcclTransport::watch() {
  std::unique_lock lock(mutex);
  while (!isEnding && !isClosing) {
    if (outstanding.empty())
      changed.wait(lock);
    else
      changed.wait_for(lock, lookEvery);
    lookAtOutstanding(lock);
  }
  abortCommunicator(lock);
}

void NcclTransport::lookAtOutstanding(std::unique_lock<std::mutex> &lock) {
  while (!outstanding.empty() && outstanding.front()->isDone)
    outstanding.pop_front();
  if (outstanding.empty() || isEnding)
    return;
  std::shared_ptr<Outstanding> first = outstanding.front(); // the stream comes to the others later
  if (first->deadline && first->deadline->passed()) {
    failure = failure.empty() ? lateText(first->ranks, first->seconds) : failure;
    isEnding = true;
  }
  if (first->deadline || isEnding)
    return;
  lock.unlock(); // functions of the stream may wait for it
  bool isReached = false;
  try {
    std::shared_ptr<void> allowed = device->allowInCaptures();
    isReached = first->begin->query();
  } catch (const Error &) { // the device is lost: then the stream says so
  }
  lock.lock();
  if (isReached)
    first->deadline.emplace(first->seconds);
}

/// Ends NCCL's kernels. Waits for no other rank; no thread is inside of NCCL for long.
void NcclTransport::abortCommunicator(std::unique_lock<std::mutex> &lock) {
  changed.wait_for(lock, std::chrono::seconds(2), [&] { return callers == 0; });
  nccl::Communicator own = std::exchange(communicator, nullptr);
  lock.unlock();
  if (!own)
    return;
  try {
    DeviceScope scope(gpu);
    api->abort(own);
  } catch (const Error &) { // the device is lost
  }
}

std::unique_ptr<StreamTransport> makeNcclTransport(HostGroup &group, std::shared_ptr<Device> device) {
  const HostLayout &layout = group.layout();
  std::unique_ptr<NcclTransport> made;
  std::vector<std::string> ids = group.agree([&] {
    made = std::make_unique<NcclTransport>(std::move(device), layout,
                                           [&all = group.all()](int rank) { return all.describe(rank); });
    if (layout.host() != 0)
      return std::string();
    nccl::UniqueId id = made->newId();
    return std::string(id.bytes, sizeof id.bytes);
  });
  nccl::UniqueId id = {};
  const std::string &bytes = ids[size_t(layout.rankOf(0, layout.local()))];
  std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof id.bytes), id.bytes);
  std::vector<std::string> versions = group.agree([&] {
    try {
      made->join(id, 0.8 * group.stepSeconds(), [&] { // the others wait longer than that
        if (auto error = group.all().failureError())
          throw *error;
      });
    } catch (const Error &error) { // the others are waiting inside of NCCL
      group.all().abort(error.what());
      throw;
    }
    return fmt::format("NCCL {}", made->versionText());
  });
  for (int rank = 1; rank < layout.ranks; ++rank)
    if (versions[size_t(rank)] != versions[0])
      throw environmentError(fmt::format("{} has {}, and {} has {}", group.all().describe(rank), versions[size_t(rank)],
                                         group.all().describe(0), versions[0]),
                             {"give all ranks one library: HEDDLE_NCCL_LIBRARY names it"});
  return made;
}

} // namespace heddle
