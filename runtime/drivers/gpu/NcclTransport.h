// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exchanges between GPUs of several hosts by NCCL or RCCL. The communicator does not block, so that no thread is inside
// of NCCL when another one has to abort it; a thread of its own does that, and watches the deadlines of what the stream
// has.
#pragma once
#include "runtime/StreamTransport.h"
#include "runtime/drivers/cuda/NcclApi.h"
#include "runtime/drivers/gpu/GpuDriver.h"
#include "runtime/processes/Deadline.h"
#include "runtime/processes/HostLayout.h"
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace heddle {

class Event;

class NcclTransport : public StreamTransport {
public:
  /// Opens the library. `describe` names a rank of the group.
  NcclTransport(std::shared_ptr<Device> device, const HostLayout &layout,
                std::function<std::string(int rank)> describe);
  ~NcclTransport() override; ///< waits for no other rank

  nccl::UniqueId newId();
  /// Collective over the rail: makes the communicator. `throwIfEnded` throws when there is no use in waiting any more.
  void join(const nccl::UniqueId &id, double seconds, const std::function<void()> &throwIfEnded);

  void exchange(Stream &stream, const Exchange &exchange) override;
  void end(const std::string &reason) override;
  std::string description() const override;
  std::string versionText() const { return ncclVersionText(api->version()); }

private:
  /// An exchange in the stream.
  struct Outstanding {
    std::shared_ptr<Event> begin; ///< recorded before it
    double seconds;
    std::vector<int> ranks;
    std::optional<Deadline> deadline = std::nullopt; ///< from when `begin` was reached
    bool isDone = false;                             ///< under `mutex`
  };
  class Calling;

  std::vector<int> others() const;
  void throwIfFailed();
  Error failedCall(const char *symbol, nccl::Result result, const std::vector<int> &ranks) const;
  void settle(const std::vector<int> &ranks, double seconds, const std::function<void()> &throwIfEnded = {});
  void putGroup(const Exchange &exchange, const std::vector<int> &ranks, gpu::Stream stream);
  void callGroup(const Exchange &exchange, const std::vector<int> &ranks, gpu::Stream stream);
  void checkHeaders(const std::string &headers, const Exchange &exchange, uint64_t wantedNumber) const;
  /// Calls `work`; what it throws is why the transport has failed.
  void guarded(const std::function<void()> &work);
  std::shared_ptr<Outstanding> follow(Stream &stream, const Exchange &exchange, const std::vector<int> &ranks);
  void watch();
  void lookAtOutstanding(std::unique_lock<std::mutex> &lock);
  void abortCommunicator(std::unique_lock<std::mutex> &lock);

  std::shared_ptr<Device> device;
  GpuDevice *gpu; ///< null for host devices, of tests
  const HostLayout layout;
  std::function<std::string(int rank)> describe;
  std::unique_ptr<NcclApi> api;
  Buffer headers; ///< what this rank sends, and what each host sends
  uint64_t number = 0;

  std::mutex mutex; ///< of what follows; held over no call of NCCL or the device
  std::condition_variable changed;
  nccl::Communicator communicator = nullptr;
  int callers = 0; ///< threads inside of NCCL
  bool isEnding = false, isClosing = false;
  std::string failure;
  std::deque<std::shared_ptr<Outstanding>> outstanding;
  std::thread watcher;
};

} // namespace heddle
