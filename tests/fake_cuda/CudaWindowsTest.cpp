// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Windows in memory of GPUs, between real processes: memory of Heddle's and of other libraries, by both of CUDA's ways,
// and each call of them failing in turn.
#include "collectives/BundledKernels.h"
#include "collectives/Communicator.h"
#include "runtime/ProcessGroup.h"
#include "runtime/processes/TestProcesses.h"
#include "support/TestPaths.h"
#include "tests/fake_cuda/CudaTestSupport.h"

using namespace heddle;
using heddle::testing::TestProcesses, heddle::testing::TestRank;

namespace {

constexpr uint64_t piece = uint64_t(2) << 20; ///< of memory that is mapped

/// Memory as another library maps it, from so many physical pieces.
class MappedMemory {
public:
  MappedMemory(Device &device, int pieces)
      : gpu(dynamic_cast<CudaDevice &>(device).context()), api(static_cast<const CudaApi &>(gpu.api)), pieces(pieces) {
    GpuScope scope(gpu);
    cuda::MemoryProperties properties{};
    properties.type = cuda::memory::pinned;
    properties.handleTypes = cuda::memory::fileDescriptor;
    properties.location = {cuda::memory::onDevice, gpu.number};
    api.call("reserve", api.addressReserve, &start, piece * size_t(pieces), size_t(0), cuda::Address(0), 0ull);
    for (int i = 0; i < pieces; ++i) {
      cuda::MemoryHandle handle = 0;
      api.call("create", api.memoryCreate, &handle, piece, &properties, 0ull);
      api.call("map", api.memoryMap, start + piece * uint64_t(i), piece, size_t(0), handle, 0ull);
      api.memoryRelease(handle);
    }
  }
  ~MappedMemory() {
    GpuScope scope(gpu);
    for (int i = 0; i < pieces; ++i)
      api.memoryUnmap(start + piece * uint64_t(i), piece);
    api.addressFree(start, piece * size_t(pieces));
  }
  MappedMemory(const MappedMemory &) = delete;
  uint64_t address() const { return start; }

private:
  const GpuContext &gpu;
  const CudaApi &api;
  int pieces;
  cuda::Address start = 0;
};

/// A rank of a group on the fake, while it lives.
struct Rank {
  explicit Rank(
      const TestRank &self, const std::function<void(FakeCuda &)> &change = [](FakeCuda &) {})
      : self(self), library(buildPath("test/fake-cuda.so")), driver(library) {
    FakeCuda &fake = fakeCuda() = FakeCuda();
    fake.devices = self.size;
    change(fake);
    device = driver.open(self.rank);
    Communicator::Options options{.deadlineSeconds = 20, .kernels = std::make_shared<BundledKernels>(nullptr)};
    group = std::make_unique<Communicator>(std::make_unique<ProcessGroup>(*self.bootstrap(), device, 20), options);
  }
  /// Each rank writes a word into the window of each, and says what it finds in its own.
  void tryWindow(const Window &window, uint64_t own) {
    Buffer known = device->adopt(own, 8 * uint64_t(self.size)); // copies are of memory that the device knows
    std::unique_ptr<Stream> stream = device->createStream();
    for (int rank = 0; rank < self.size; ++rank) {
      uint64_t mark = uint64_t(100 + 10 * rank + self.rank);
      stream->copyToDevice(window.address(rank) + 8 * uint64_t(self.rank), &mark, 8);
      stream->synchronize();
    }
    group->processes()->neighbours().barrier(20);
    std::string seen;
    for (int rank = 0; rank < self.size; ++rank) {
      uint64_t word = 0;
      stream->copyToHost(&word, own + 8 * uint64_t(rank), 8);
      stream->synchronize();
      seen += (rank ? " " : "") + std::to_string(word);
    }
    self.say(seen);
  }
  /// After all memory of the test is freed.
  void sayWhatIsLeft() {
    group.reset();
    device.reset();
    CudaDriver(library).open(0); // gives back what had to wait
    self.say(fmt::format("left: {} allocations, {} ranges", fakeCuda().liveAllocations, fakeCuda().liveReservations));
  }

  const TestRank &self;
  const std::string library;
  CudaDriver driver;
  std::shared_ptr<Device> device;
  std::unique_ptr<Communicator> group;
};

std::string marks(int rank, int size) {
  std::string text;
  for (int from = 0; from < size; ++from)
    text += (from ? " " : "") + std::to_string(100 + 10 * rank + from);
  return text + "\n";
}

constexpr const char *nothingLeft = "left: 0 allocations, 0 ranges\n";

TEST(CudaWindows, InMemoryOfTheCommunicator) {
  for (bool hasDescriptors : {true, false})
    for (int size : {1, 2, 3}) {
      TestProcesses processes(size, [=](const TestRank &self) {
        Rank rank(self, [=](FakeCuda &fake) { fake.hasDescriptors = hasDescriptors; });
        {
          Buffer buffer = rank.group->allocate(self.rank, 1000, "x");
          Window &window = rank.group->registerWindow({buffer.address() + 100}, 900, "x");
          rank.tryWindow(window, buffer.address() + 100);
          rank.group->deregister(window);
        }
        rank.sayWhatIsLeft();
      });
      for (int rank = 0; rank < size; ++rank)
        EXPECT_EQ(processes.finish(rank), marks(rank, size) + nothingLeft) << hasDescriptors;
    }
}

// Two windows of one allocation: a handle of it opens at one address however often.
TEST(CudaWindows, InAllocationsOfOthersAtAnyOffset) {
  TestProcesses processes(3, [=](const TestRank &self) {
    Rank rank(self);
    {
      Buffer buffer = rank.device->allocate(2 * piece, "x");
      uint64_t first = buffer.address() + 512 * uint64_t(self.rank), second = buffer.address() + piece + 256;
      Window &one = rank.group->registerWindow({first}, 4096, "one");
      Window &two = rank.group->registerWindow({second}, 4096, "two");
      rank.tryWindow(one, first);
      rank.group->deregister(one);
      rank.tryWindow(two, second);
      rank.group->deregister(two);
    }
    rank.sayWhatIsLeft();
  });
  for (int rank : {0, 1, 2})
    EXPECT_EQ(processes.finish(rank), marks(rank, 3) + marks(rank, 3) + nothingLeft);
}

// Memory must not be freed while another process has its handle open, and that is closed only when streams are idle.
TEST(CudaWindows, HandlesAreClosedWhenTheWindowEnds) {
  TestProcesses processes(2, [=](const TestRank &self) {
    Rank rank(self);
    {
      Buffer buffer = rank.device->allocate(piece, "x");
      Window &window = rank.group->registerWindow({buffer.address()}, piece);
      std::unique_ptr<Stream> other = rank.device->createStream();
      other->beginCapture(); // no moment for what may wait
      rank.group->deregister(window);
      self.say(std::to_string(fakeCuda().count("cuIpcCloseMemHandle")) + " closed");
      other->endCapture();
    }
    rank.sayWhatIsLeft();
  });
  for (int rank : {0, 1})
    EXPECT_EQ(processes.finish(rank), std::string("1 closed\n") + nothingLeft);
}

// Ranks whose memory crosses in different ways make one window.
TEST(CudaWindows, InMappedMemoryOfOthers) {
  TestProcesses processes(2, [=](const TestRank &self) {
    Rank rank(self);
    {
      std::optional<MappedMemory> mapped;
      Buffer buffer;
      if (self.rank == 0)
        mapped.emplace(*rank.device, 1);
      else
        buffer = rank.device->allocate(piece);
      uint64_t own = (mapped ? mapped->address() : buffer.address()) + 4096;
      Window &window = rank.group->registerWindow({own}, 8192);
      rank.tryWindow(window, own);
      rank.group->deregister(window);
    }
    rank.sayWhatIsLeft();
  });
  for (int rank : {0, 1})
    EXPECT_EQ(processes.finish(rank), marks(rank, 2) + nothingLeft);
}

/// Whose memory is registered while a call fails.
enum class Origin { Communicator, Allocated, Mapped };

/// Rank 1's memory is of `origin`; says the error of the registration, and tries again.
void registerWithFailure(const TestRank &self, Origin origin, bool hasDescriptors, const std::string &symbol,
                         int failingRank) {
  Rank rank(self, [=](FakeCuda &fake) { fake.hasDescriptors = hasDescriptors; });
  {
    std::optional<MappedMemory> mapped;
    Buffer buffer;
    if (origin == Origin::Mapped)
      mapped.emplace(*rank.device, 1);
    else
      buffer = origin == Origin::Communicator ? rank.group->allocate(self.rank, piece) : rank.device->allocate(piece);
    uint64_t own = mapped ? mapped->address() : buffer.address();
    if (self.rank == failingRank)
      fakeCuda().failures = {{symbol, {1, 101}}};
    try {
      rank.group->registerWindow({own}, 4096);
      self.say("no error");
    } catch (const Error &error) {
      self.say(error.what());
    }
    Window &window = rank.group->registerWindow({own}, 4096);
    rank.tryWindow(window, own);
    rank.group->deregister(window);
  }
  rank.sayWhatIsLeft();
}

TEST(CudaWindows, SayWhatFailsOnWhichRank) {
  struct Case {
    Origin origin;
    bool hasDescriptors;
    std::vector<const char *> symbols;
  };
  std::vector<Case> cases = {
      {Origin::Communicator,
       true,
       {"cuMemGetAllocationGranularity", "cuMemImportFromShareableHandle", "cuMemAddressReserve", "cuMemMap",
        "cuMemSetAccess"}},
      {Origin::Communicator, false, {"cuMemGetAddressRange_v2", "cuIpcGetMemHandle", "cuIpcOpenMemHandle_v2"}},
      {Origin::Allocated, true, {"cuMemGetAddressRange_v2", "cuIpcGetMemHandle", "cuIpcOpenMemHandle_v2"}},
      {Origin::Mapped,
       true,
       {"cuMemGetAddressRange_v2", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle",
        "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"}},
  };
  for (const Case &each : cases)
    for (const char *symbol : each.symbols) {
      TestProcesses processes(
          2, [&](const TestRank &self) { registerWithFailure(self, each.origin, each.hasDescriptors, symbol, 1); });
      for (int rank : {0, 1}) {
        std::string text = processes.finish(rank);
        EXPECT_CONTAINS(text.substr(0, text.find('\n')), symbol);
        EXPECT_EQ(text.starts_with("rank 1 (cuda:1, pid "), rank == 0) << text;
        EXPECT_TRUE(text.ends_with("\n" + marks(rank, 2) + nothingLeft)) << symbol << ":\n" << text;
      }
    }
}

// Without the call that tells mapped memory it is taken for an allocation, whose handle there is none of.
TEST(CudaWindows, MappedMemoryThatTheDriverDoesNotKnow) {
  TestProcesses processes(2, [](const TestRank &self) {
    registerWithFailure(self, Origin::Mapped, true, "cuMemRetainAllocationHandle", 1);
  });
  for (int rank : {0, 1}) {
    std::string text = processes.finish(rank);
    EXPECT_CONTAINS(text.substr(0, text.find('\n')), "cuIpcGetMemHandle");
    EXPECT_TRUE(text.ends_with(nothingLeft)) << text;
  }
}

TEST(CudaWindows, MemoryThatCannotBeSharedIsRefusedOnAllRanks) {
  TestProcesses processes(2, [](const TestRank &self) {
    Rank rank(self);
    auto tryIt = [&](uint64_t mine, uint64_t sizeBytes) {
      Buffer good; // not on rank 1, where it could get the address of what was freed
      if (self.rank != 1)
        good = rank.group->allocate(self.rank, 4 * piece);
      try {
        rank.group->registerWindow({self.rank == 1 ? mine : good.address()}, sizeBytes);
        self.say("no error");
      } catch (const Error &error) {
        self.say(error.what());
        for (const std::string &note : error.notes)
          self.say("note: " + note);
      }
    };
    {
      MappedMemory segments(*rank.device, 2);
      tryIt(segments.address() + piece + 4096, 4096); // as PyTorch's expandable segments
      Buffer shorter = rank.device->allocate(piece);
      tryIt(shorter.address() + 96, piece);
      uint64_t freed = shorter.address();
      shorter = Buffer();
      CudaDriver(rank.library).open(0);
      tryIt(freed, 4096);
      uint64_t onStack = 0;
      tryIt(uint64_t(&onStack), 8);
    }
    rank.sayWhatIsLeft();
  });
  for (int rank : {0, 1}) {
    std::string text = processes.finish(rank);
    EXPECT_CONTAINS(text, "cuda:1: sharing 4096 bytes at 0x");
    EXPECT_CONTAINS(text, ": it is mapped from several allocations, and one can be exported\n");
    EXPECT_CONTAINS(text, ": they begin at byte 96 of an allocation of 2097152 bytes, which has less\n");
    EXPECT_CONTAINS(text, "cuda:1: sharing 8 bytes at 0x");
    EXPECT_EQ(text.find("no error"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with(nothingLeft)) << text;
  }
}

} // namespace
