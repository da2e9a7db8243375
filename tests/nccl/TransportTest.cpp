// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The transport over NCCL on streams of the fake libcuda, between real processes: bytes, and waits of the stream that
// end by an abort alone, at a deadline or when the group ends.
#include "runtime/drivers/cuda/CudaDriver.h"
#include "runtime/drivers/gpu/NcclTransport.h"
#include "runtime/processes/TestProcesses.h"
#include "support/TestPaths.h"
#include "tests/fake_cuda/CudaTestSupport.h"
#include <dlfcn.h>

using namespace heddle;
using heddle::testing::TestProcesses, heddle::testing::TestRank, heddle::testing::now;

namespace {

constexpr uint64_t bytes = 20000; ///< of a part

/// A rank of as many hosts as there are ranks, with its transport.
class Rank {
public:
  explicit Rank(const TestRank &self) : self(self), bootstrap(self.bootstrap()) {
    ::setenv("HEDDLE_NCCL_LIBRARY", library.c_str(), 1);
    ::setenv("HEDDLE_CUDA_LIBRARY", buildPath("test/fake-cuda.so").c_str(), 1);
    fakeCuda().devices = self.size;
    device = driver.open(self.rank);
    stream = device->createStream();
    std::vector<std::string> names;
    for (int rank = 0; rank < self.size; ++rank)
      names.push_back(std::to_string(rank));
    transport = std::make_unique<NcclTransport>(device, layOutHosts(names, self.rank),
                                                [](int rank) { return fmt::format("rank {} (cuda:{})", rank, rank); });
    nccl::UniqueId id = self.rank == 0 ? transport->newId() : nccl::UniqueId();
    std::string first = bootstrap->allGather(std::string_view(id.bytes, sizeof id.bytes), 10).front();
    std::copy(first.begin(), first.end(), id.bytes);
    transport->join(id, 10, {});
    out = device->allocate(bytes, "out");
    in = device->allocate(bytes * uint64_t(self.size), "in");
    stream->fill(out, uint8_t(1 + self.rank));
    stream->fill(in, 0);
  }

  /// With all other ranks.
  void exchange(uint64_t what, double seconds = 10, uint64_t status = 0) {
    StreamTransport::Exchange exchange;
    for (int rank = 0; rank < self.size; ++rank)
      if (rank != self.rank) {
        exchange.out.push_back({rank, out.address(), bytes});
        exchange.in.push_back({rank, in.address() + bytes * uint64_t(rank), bytes});
      }
    exchange.what = what;
    exchange.seconds = seconds;
    exchange.status = status;
    exchange.guard = [](const std::function<void()> &work) { work(); };
    exchange.check = [] {};
    transport->exchange(*stream, exchange);
  }
  /// Of other ranks, as they should be.
  bool hasAll() {
    std::vector<uint8_t> seen = readBack<uint8_t>(*stream, in);
    for (int rank = 0; rank < self.size; ++rank)
      for (uint64_t i = 0; i < bytes; ++i)
        if (seen[uint64_t(rank) * bytes + i] != (rank == self.rank ? 0 : 1 + rank))
          return false;
    return true;
  }
  int aborts() const {
    void *opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<int (*)(const char *)>(::dlsym(opened, "fakeNcclCount"))("ncclCommAbort");
  }
  /// Until NCCL's communicator has been aborted; then the stream ends.
  std::string failureAfter(double seconds) {
    for (double end = now() + seconds; aborts() == 0 && now() < end;)
      ::usleep(1000);
    return errorOf([&] { stream->synchronize(); }).what();
  }

  const TestRank &self;
  const std::string library = buildPath("test/nccl/libnccl.so.2");
  std::unique_ptr<Bootstrap> bootstrap;
  CudaDriver driver{buildPath("test/fake-cuda.so")};
  std::shared_ptr<Device> device;
  Buffer out, in;
  std::unique_ptr<NcclTransport> transport;
  std::unique_ptr<Stream> stream; ///< goes first
};

TEST(NcclTransports, MoveBytesInTheOrderOfTheStream) {
  for (int size : {2, 3}) {
    TestProcesses processes(size, [](const TestRank &self) {
      Rank rank(self);
      for (uint64_t call = 1; call <= 5; ++call) {
        rank.stream->fill(rank.in, 0);
        rank.exchange(call);
        if (!rank.hasAll())
          self.say("wrong bytes");
      }
      self.say(rank.transport->description().substr(0, 12) + std::to_string(rank.aborts()));
    });
    for (int rank = 0; rank < size; ++rank)
      EXPECT_EQ(processes.finish(rank), "NCCL 2.28.9 0\n");
  }
}

TEST(NcclTransports, SayWhoseResultIsNotToBeUsed) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    Buffer status = rank.device->allocate(4, "status");
    rank.stream->fill(status, self.rank == 1);
    rank.exchange(1, 10, status.address());
    if (self.rank == 0) {
      self.say(errorOf([&] { rank.stream->synchronize(); }).what());
      self.say(errorOf([&] { rank.exchange(2); }).what()); // has failed for good
    } else {
      rank.stream->synchronize();
    }
    rank.bootstrap->allGather("", 10);
  });
  std::string wanted = "rank 1 (cuda:1) has sent rank 0 (cuda:0) the result of a kernel that failed\n";
  EXPECT_EQ(processes.finish(0), wanted + wanted);
}

TEST(NcclTransports, RefuseWhatTheOtherDoesNotMean) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    rank.exchange(uint64_t(5 + self.rank));
    self.say(errorOf([&] { rank.stream->synchronize(); }).what());
    rank.bootstrap->allGather("", 10);
  });
  EXPECT_EQ(processes.finish(0),
            "rank 1 (cuda:1) exchanges something else than this rank: 20000 bytes of operation 0000000000000006, not "
            "20000 bytes of 0000000000000005\n");
}

// The stream has come to what NCCL waits in.
TEST(NcclTransports, AbortAtTheDeadlineOfTheStream) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    ::setenv("FAKE_NCCL_SILENT", "1", 1);
    double started = now();
    rank.exchange(1, 0.5);
    self.say(rank.failureAfter(10));
    self.say(now() - started < 5 ? "soon" : "late");
  });
  for (int rank : {0, 1})
    EXPECT_EQ(processes.finish(rank),
              fmt::format("rank {} did not take part in an exchange between hosts within 0.5 s\nsoon\n", 1 - rank));
}

TEST(NcclTransports, AbortWhenTheGroupEnds) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    ::setenv("FAKE_NCCL_SILENT", "1", 1);
    rank.exchange(1, 30);
    rank.transport->end("rank 7 is gone");
    double started = now();
    self.say(rank.failureAfter(10));
    self.say(now() - started < 5 ? "soon" : "late");
  });
  for (int rank : {0, 1})
    EXPECT_EQ(processes.finish(rank), "rank 7 is gone\nsoon\n");
}

} // namespace
