// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory of GPUs between real processes, by both of CUDA's ways, and each call of them failing in turn. The fake's
// memory is files, and each process has a fake of its own.
#include "runtime/ProcessGroup.h"
#include "runtime/SymmetricMemory.h"
#include "runtime/processes/TestProcesses.h"
#include "support/TestPaths.h"
#include "tests/fake_cuda/CudaTestSupport.h"

using namespace heddle;
using heddle::testing::TestProcesses, heddle::testing::TestRank;

namespace {

/// A GPU for each rank.
std::shared_ptr<Device> openGpu(CudaDriver &driver, const TestRank &self,
                                const std::function<void(FakeCuda &)> &change) {
  FakeCuda &fake = fakeCuda() = FakeCuda();
  fake.devices = self.size;
  change(fake);
  return driver.open(self.rank);
}

/// Shares memory on each rank, writes into that of all, and says what it finds, how it was shared, and what is left.
void shareMemory(const TestRank &self, const std::function<void(FakeCuda &)> &change) {
  CudaDriver driver(buildPath("test/fake-cuda.so"));
  {
    std::shared_ptr<Device> device = openGpu(driver, self, change);
    auto bootstrap = self.bootstrap();
    ProcessGroup group(*bootstrap, device, 20);
    self.say(sharingName(group.sharing()));
    SymmetricMemory memory(group, 1000, "flags");
    std::unique_ptr<Stream> stream = device->createStream();
    uint64_t mark = uint64_t(100 + self.rank), seen = 0;
    for (int rank = 0; rank < self.size; ++rank)
      stream->copyToDevice(memory.address(rank) + 8 * uint64_t(self.rank), &mark, 8);
    stream->synchronize();
    group.neighbours().barrier(20);
    for (int rank = 0; rank < self.size; ++rank) {
      stream->copyToHost(&seen, memory.address(self.rank) + 8 * uint64_t(rank), 8);
      stream->synchronize();
      if (seen != uint64_t(100 + rank))
        self.say("rank " + std::to_string(rank) + " wrote " + std::to_string(seen));
    }
    memory.release(group);
  }
  CudaDriver(buildPath("test/fake-cuda.so")).open(0); // gives back what had to wait
  const FakeCuda &fake = fakeCuda();
  self.say(fmt::format("left: {} allocations, {} ranges", fake.liveAllocations, fake.liveReservations));
}

constexpr const char *nothingLeft = "left: 0 allocations, 0 ranges\n";

TEST(CudaSharing, ByDescriptorsFirst) {
  for (int size : {1, 2, 3}) {
    TestProcesses processes(size, [](const TestRank &self) { shareMemory(self, [](FakeCuda &) {}); });
    for (int rank = 0; rank < size; ++rank)
      EXPECT_EQ(processes.finish(rank), std::string("CUDA descriptor\n") + nothingLeft);
  }
}

TEST(CudaSharing, ByHandlesWhereADriverHasNoDescriptors) {
  TestProcesses processes(3, [](const TestRank &self) {
    shareMemory(self, [&](FakeCuda &fake) { fake.hasDescriptors = self.rank != 1; }); // one is enough
  });
  for (int rank : {0, 1, 2})
    EXPECT_EQ(processes.finish(rank), std::string("CUDA handle\n") + nothingLeft);
}

// A call that fails on one rank takes all ranks to the other way.
TEST(CudaSharing, ByHandlesWhereACallFails) {
  for (const char *symbol : {"cuMemGetAllocationGranularity", "cuMemCreate", "cuMemExportToShareableHandle",
                             "cuMemImportFromShareableHandle", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"}) {
    TestProcesses processes(2, [=](const TestRank &self) {
      shareMemory(self, [&](FakeCuda &fake) {
        if (self.rank == 1)
          fake.failures = {{symbol, {1, 101}}};
      });
    });
    for (int rank : {0, 1})
      EXPECT_EQ(processes.finish(rank), std::string("CUDA handle\n") + nothingLeft) << symbol;
  }
}

TEST(CudaSharing, SaysWhatFailsOnWhichRank) {
  for (const char *symbol : {"cuIpcGetMemHandle", "cuIpcOpenMemHandle_v2"}) {
    TestProcesses processes(2, [=](const TestRank &self) {
      shareMemory(self, [&](FakeCuda &fake) {
        fake.hasDescriptors = false;
        if (self.rank == 1)
          fake.failures = {{symbol, {1, 101}}};
      });
    });
    for (int rank : {0, 1}) {
      std::string text = processes.finish(rank);
      EXPECT_CONTAINS(text, "error: the cuda devices have no memory that 2 processes can share");
      EXPECT_CONTAINS(text, "note: CUDA handle: ");
      EXPECT_CONTAINS(text, symbol);
      if (rank == 0)
        EXPECT_CONTAINS(text, "rank 1 (cuda:1, pid ");
    }
  }
}

TEST(CudaSharing, OneGpuIsGivenOnce) {
  TestProcesses processes(
      2, [](const TestRank &self) { shareMemory(self, [&](FakeCuda &fake) { fake.firstUuid = 1 - self.rank; }); });
  for (int rank : {0, 1}) {
    std::string text = processes.finish(rank);
    EXPECT_CONTAINS(text, "have the same GPU, GPU-fa000000-0000-0000-0000-000000000001");
    EXPECT_CONTAINS(text, "give each process a GPU of its own");
  }
}

} // namespace
