// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NCCL by its fake, on the fake libcuda: loading, the order of calls, data, graphs and errors.
#include "runtime/drivers/cuda/Nccl.h"
#include "runtime/drivers/cuda/NcclApi.h"
#include "tests/fake_cuda/CudaTestSupport.h"
#include "tests/fake_cuda/FakeNccl.h"
#include <cstdlib>

using namespace heddle;

namespace {

using Kind = NcclCollective::Kind;

FakeNccl &fakeNccl() {
  return fakeOf<FakeNccl>("test/fake-nccl.so", "fakeNccl");
}

class NcclTest : public CudaTest {
protected:
  NcclTest() { nccl = FakeNccl(); }

  void open() { group = std::make_unique<NcclGroup>(devices, library); }

  /// The outputs of both ranks, whose inputs count up from 1 and from 101.
  std::vector<std::vector<float>> run(const NcclCollective &collective, size_t inputs, size_t outputs) {
    std::vector<NcclGroup::Operands> operands;
    buffers.clear();
    for (int rank = 0; rank < 2; ++rank) {
      auto values = countUp<float>(inputs, float(100 * rank + 1));
      Buffer input = devices[size_t(rank)]->allocate(4 * inputs), output = devices[size_t(rank)]->allocate(4 * outputs);
      group->stream(rank).copyToDevice(input, values.data());
      group->stream(rank).synchronize();
      operands.push_back({input.address(), output.address()});
      buffers.push_back(std::move(input));
      buffers.push_back(std::move(output));
    }
    nccl.calls.clear();
    group->launch(collective, operands);
    return {readBack<float>(group->stream(0), buffers[1]), readBack<float>(group->stream(1), buffers[3])};
  }

  using Values = std::vector<std::vector<float>>;
  FakeNccl &nccl = fakeNccl();
  std::string library = buildPath("test/fake-nccl.so");
  std::vector<std::shared_ptr<Device>> devices = {driver.open(0), driver.open(1)};
  std::vector<Buffer> buffers;
  std::unique_ptr<NcclGroup> group;
};

TEST_F(NcclTest, WithoutALibrary) {
  Error error = errorOf([&] { NcclApi api("/nowhere/libnccl.so.2"); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "NCCL cannot be opened: /nowhere/libnccl.so.2");
  ASSERT_EQ(error.notes.size(), 1u);
  EXPECT_CONTAINS(error.notes[0], "HEDDLE_NCCL_LIBRARY");
}

TEST_F(NcclTest, ALibraryThatIsNotNccl) {
  EXPECT_CONTAINS(messageOf([&] { NcclApi api("libdl.so.2"); }), "NCCL's library libdl.so.2 has no `ncclGetVersion`");
}

TEST_F(NcclTest, OpensWithoutMulticastAndGivesEverythingBack) {
  ::unsetenv("NCCL_NVLS_ENABLE");
  open();
  EXPECT_EQ(group->description(), "NCCL 2.27.3 (" + library + ")");
  EXPECT_EQ(nccl.devices, (std::vector<int>{0, 1}));
  EXPECT_EQ(nccl.multicast, "0");
  EXPECT_EQ(nccl.calls, (std::vector<std::string>{"ncclGetVersion", "ncclCommInitAll"}));
  EXPECT_EQ(nccl.liveCommunicators, 2);
  group.reset();
  EXPECT_EQ(nccl.liveCommunicators, 0);
  EXPECT_EQ(fake.liveStreams, 0);
}

TEST_F(NcclTest, OneGroupACall) {
  open();
  EXPECT_EQ(run({.kind = Kind::AllReduce, .partElements = 2}, 2, 2), (Values{{102, 104}, {102, 104}}));
  EXPECT_EQ(nccl.calls, (std::vector<std::string>{"ncclGroupStart", "ncclAllReduce", "ncclAllReduce", "ncclGroupEnd"}));
  EXPECT_EQ(run({.kind = Kind::AllGather, .partElements = 2}, 2, 4), (Values{{1, 2, 101, 102}, {1, 2, 101, 102}}));
  EXPECT_EQ(run({.kind = Kind::ReduceScatter, .partElements = 2}, 4, 2), (Values{{102, 104}, {106, 108}}));
}

TEST_F(NcclTest, AllToAllIsSendsAndReceives) {
  open();
  EXPECT_EQ(run({.kind = Kind::AllToAll, .partElements = 2}, 4, 4), (Values{{1, 2, 101, 102}, {3, 4, 103, 104}}));
  EXPECT_EQ(std::count(nccl.calls.begin(), nccl.calls.end(), "ncclSend"), 4);
  EXPECT_EQ(std::count(nccl.calls.begin(), nccl.calls.end(), "ncclRecv"), 4);
}

TEST_F(NcclTest, TypesThatNcclHasNotAreMovedAndNotReduced) {
  open();
  NcclCollective gather{.kind = Kind::AllGather, .type = ElementType::I16, .partElements = 4};
  EXPECT_EQ(run(gather, 2, 4), (Values{{1, 2, 101, 102}, {1, 2, 101, 102}}));
  NcclCollective sum{.type = ElementType::I16, .partElements = 4};
  EXPECT_CONTAINS(messageOf([&] { NcclGroup::check(sum); }), "NCCL does not reduce i16 elements");
}

TEST_F(NcclTest, InGraphsOfAllRanks) {
  open();
  run({.kind = Kind::AllReduce, .partElements = 2}, 2, 2);
  std::vector<NcclGroup::Operands> operands = {{buffers[0].address(), buffers[1].address()},
                                               {buffers[2].address(), buffers[3].address()}};
  std::vector<std::unique_ptr<Graph>> graphs;
  for (int rank = 0; rank < 2; ++rank) {
    group->stream(rank).fill(buffers[size_t(2 * rank + 1)], 0);
    group->stream(rank).beginCapture();
  }
  group->launch({.kind = Kind::AllReduce, .partElements = 2}, operands);
  for (int rank = 0; rank < 2; ++rank)
    graphs.push_back(group->stream(rank).endCapture());
  EXPECT_EQ(readBack<float>(group->stream(0), buffers[1]), (std::vector<float>{0, 0}));
  for (int rank = 0; rank < 2; ++rank)
    group->stream(rank).launch(*graphs[size_t(rank)]);
  EXPECT_EQ(readBack<float>(group->stream(0), buffers[1]), (std::vector<float>{102, 104}));
}

TEST_F(NcclTest, ErrorsNameTheCallAndTheNextStep) {
  nccl.failures["ncclCommInitAll"] = 2;
  nccl.lastError = "no interface";
  Error error = errorOf([&] { open(); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_EQ(std::string(error.what()), "NCCL: ncclCommInitAll: unhandled system error (2)");
  EXPECT_EQ(error.notes, (std::vector<std::string>{"NCCL's last words: no interface",
                                                   "NCCL_DEBUG=WARN in the environment lets NCCL say more"}));
  EXPECT_EQ(fake.liveStreams, 0);
}

// What it cannot be asked to destroy without a risk of waiting for ever stays.
TEST_F(NcclTest, AFailedCallEndsItsGroup) {
  open();
  nccl.failures["ncclAllReduce"] = 5;
  NcclCollective collective{.kind = Kind::AllReduce, .partElements = 2};
  EXPECT_CONTAINS(messageOf([&] { run(collective, 2, 2); }), "NCCL: ncclAllReduce: what the fake says of it (5)");
  EXPECT_EQ(nccl.calls, (std::vector<std::string>{"ncclGroupStart", "ncclAllReduce", "ncclGroupEnd"}));
  group.reset();
  EXPECT_EQ(nccl.liveCommunicators, 2);
}

TEST_F(NcclTest, AGpuThatStandsForSeveralDevicesIsRefused) {
  ::setenv("HEDDLE_DEVICES_PER_GPU", "2", 1);
  CudaDriver shared(buildPath("test/fake-cuda.so"));
  auto shared0 = shared.open(0), shared2 = shared.open(2);
  for (const char *name : {"HEDDLE_DEVICES_PER_GPU", "CUDA_DEVICE_MAX_CONNECTIONS"})
    ::unsetenv(name);
  EXPECT_CONTAINS(messageOf([&] { NcclGroup group({shared0, shared2}, library); }),
                  "NCCL has each GPU once, and cuda:0 and cuda:2 are one GPU\nHEDDLE_DEVICES_PER_GPU");
}

TEST_F(NcclTest, OtherDevicesAreRefused) {
  std::vector<std::shared_ptr<Device>> host = {openDevice("host:0")};
  EXPECT_EQ(messageOf([&] { NcclGroup hosts(host, library); }), "NCCL runs on CUDA devices, not on host:0");
}

} // namespace
