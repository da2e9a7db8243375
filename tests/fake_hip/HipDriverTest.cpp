// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Machines of all kinds, by the fake: none, other chips, broken and several GPUs; memory of each kind.
#include "chips/Chip.h"
#include "tests/fake_hip/HipTestSupport.h"

using namespace heddle;

namespace {

class HipDriverTest : public HipTest {};

TEST_F(HipDriverTest, DevicesAndTheirDescription) {
  EXPECT_EQ(driver.deviceCount(), 2);
  EXPECT_EQ(driver.problem(), "");
  EXPECT_CONTAINS(driver.description(), "HIP 6.3 in ");
  auto device = driver.open(1);
  EXPECT_EQ(device->name(), "hip:1");
  EXPECT_EQ(device->ordinal(), 1);
  EXPECT_EQ(device->chip().name, "gfx942") << "without the features behind it";
  EXPECT_EQ(device->description(), "Simulated GPU, gfx942, 304 compute units, 196608 MiB of memory");
  EXPECT_EQ(device, driver.open(1));
  EXPECT_EQ(&device->driver(), &driver);
  EXPECT_CONTAINS(messageOf([&] { driver.open(2); }), "device `hip:2`: there are 2 HIP devices");
}

TEST_F(HipDriverTest, TheOtherChip) {
  fake.architecture = "gfx950";
  EXPECT_EQ(driver.open(0)->chip().name, "gfx950");
}

TEST_F(HipDriverTest, AChipWithoutCodeIsNamedWithThoseThatHaveSome) {
  fake.architecture = "gfx90a:sramecc+:xnack-";
  Error error = errorOf([&] { driver.open(0); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_EQ(std::string(error.what()), "hip:0: Simulated GPU is a gfx90a, and Heddle makes code for gfx942, gfx950");
}

TEST_F(HipDriverTest, WithoutALibrary) {
  HipDriver none("/nowhere/libamdhip64.so.6");
  EXPECT_EQ(none.deviceCount(), 0);
  EXPECT_EQ(none.description(), "");
  EXPECT_CONTAINS(none.problem(), "the HIP runtime cannot be opened: /nowhere/libamdhip64.so.6");
  EXPECT_CONTAINS(none.problem(), "HEDDLE_HIP_LIBRARY");
  EXPECT_EQ(errorOf([&] { none.open(0); }).kind, ErrorClass::Environment);
  EXPECT_FALSE(none.canAccessPeer(0, 1));
}

TEST_F(HipDriverTest, TheVersionsOfTheLibraryAreTriedInTurn) {
  HipDriver none("libamdhip64.so");
  if (none.deviceCount() > 0 || none.description() != "")
    GTEST_SKIP() << "this machine has one";
  EXPECT_CONTAINS(none.problem(), "cannot be opened: libamdhip64.so.7, libamdhip64.so.6, libamdhip64.so: cannot open");
}

TEST_F(HipDriverTest, AMissingEntryPointIsNamed) {
  HipDriver wrong("libdl.so.2");
  EXPECT_CONTAINS(wrong.problem(),
                  "the HIP runtime libdl.so.2 has no `hipInit`; Heddle needs HIP of ROCm 6.0 or newer");
}

TEST_F(HipDriverTest, WithoutAGpu) {
  fake.failures["hipInit"] = {1, 100};
  EXPECT_EQ(driver.deviceCount(), 0);
  EXPECT_CONTAINS(driver.problem(), "HIP runtime: hipInit: hipErrorNoDevice (100)");
  EXPECT_CONTAINS(driver.problem(), "HIP_VISIBLE_DEVICES");
  fake = FakeHip();
  fake.devices = 0;
  HipDriver empty(buildPath("test/libamdhip64.so"));
  EXPECT_EQ(empty.problem(), "the HIP runtime has no device");
}

TEST_F(HipDriverTest, EveryFailingCallOfOpeningIsNamed) {
  for (const char *symbol :
       {"hipDeviceGet", "hipDeviceGetName", "hipGetDevicePropertiesR0600", "hipDeviceGetAttribute"}) {
    fake.failures = {{symbol, {1, 1}}};
    EXPECT_CONTAINS(messageOf([&] { driver.open(0); }), std::string("hip:0: ") + symbol + ": hipErrorInvalidValue (1)");
  }
  driver.open(0);
  for (const char *symbol : {"hipDeviceCanAccessPeer", "hipDeviceEnablePeerAccess"}) {
    fake.failures = {{symbol, {1, 1}}};
    EXPECT_CONTAINS(messageOf([&] { driver.open(1); }), std::string(symbol) + ": hipErrorInvalidValue (1)");
  }
  fake.failures = {{"hipDeviceGetName", {1, 4711}}};
  EXPECT_CONTAINS(messageOf([&] { driver.open(1); }), "hip:1: hipDeviceGetName: unknown error (4711)");
  EXPECT_EQ(driver.open(1)->name(), "hip:1");
}

TEST_F(HipDriverTest, PeerAccessIsAskedAndEnabledOnce) {
  auto first = driver.open(0), second = driver.open(1);
  second.reset();
  driver.open(1);
  EXPECT_TRUE(driver.canAccessPeer(0, 1));
  EXPECT_TRUE(driver.canAccessPeer(1, 1));
  EXPECT_FALSE(driver.canAccessPeer(0, 2));
  EXPECT_EQ(fake.count("hipDeviceCanAccessPeer"), 2);
  EXPECT_EQ(fake.count("hipDeviceEnablePeerAccess"), 2);
}

TEST_F(HipDriverTest, DevicesThatDoNotReachEachOther) {
  fake.peers = false;
  auto first = driver.open(0), second = driver.open(1);
  EXPECT_FALSE(driver.canAccessPeer(0, 1));
  EXPECT_EQ(fake.count("hipDeviceEnablePeerAccess"), 0);
  Buffer from = first->allocate(64), to = second->allocate(64);
  auto stream = first->createStream();
  stream->fill(from, 5);
  stream->copy(to.address(), from.address(), 64);
  EXPECT_EQ(readBack<uint8_t>(*stream, to), std::vector<uint8_t>(64, 5));
  EXPECT_EQ(fake.count("hipMemcpyPeerAsync"), 1);
}

// 1 is hipDeviceMallocFinegrained, 3 hipDeviceMallocUncached.
TEST_F(HipDriverTest, MemoryOfEachKind) {
  auto device = driver.open(0);
  Buffer data = device->allocate(64), flags = device->allocate(64, "flags", Caching::FineGrained),
         packets = device->allocate(64, "packets", Caching::Uncached);
  EXPECT_EQ(fake.kinds, (std::vector<unsigned>{0, 1, 3}));
  EXPECT_EQ(data.address() % 256, 0u);
  auto stream = device->createStream();
  stream->fill(packets, 7);
  EXPECT_EQ(readBack<uint8_t>(*stream, packets), std::vector<uint8_t>(64, 7));
}

TEST_F(HipDriverTest, MemoryThatRunsOutIsNamed) {
  auto device = driver.open(0);
  for (const char *symbol : {"hipMalloc", "hipExtMallocWithFlags"}) {
    fake.failures = {{symbol, {1, 2}}};
    Error error =
        errorOf([&] { device->allocate(1 << 20, "big", symbol[3] == 'M' ? Caching::Normal : Caching::Uncached); });
    EXPECT_EQ(error.kind, ErrorClass::Environment);
    EXPECT_CONTAINS(error.what(),
                    symbol[3] == 'M'
                        ? "hip:0: out of memory: buffer `big` asks for 1048576 bytes, "
                        : "hip:0: out of memory: buffer `big` asks for 1048576 bytes of uncached memory, ");
  }
}

TEST_F(HipDriverTest, AKindOfMemoryThatIsRefusedIsNamed) {
  auto device = driver.open(0);
  fake.failures = {{"hipExtMallocWithFlags", {1, 1}}};
  EXPECT_CONTAINS(messageOf([&] { device->allocate(4096, "flags", Caching::Uncached); }),
                  "hip:0: 4096 bytes of uncached memory for buffer `flags`: hipExtMallocWithFlags: "
                  "hipErrorInvalidValue (1)");
}

TEST_F(HipDriverTest, LinksAreAsTheRuntimeSays) {
  EXPECT_EQ(driver.linkBetween(0, 1).kind, "xGMI");
  EXPECT_EQ(driver.linkBetween(0, 1).hops, 1);
  fake.linkType = 2, fake.hops = 3;
  EXPECT_EQ(driver.linkBetween(1, 0).kind, "PCIe");
  EXPECT_EQ(driver.linkBetween(1, 0).hops, 3);
  EXPECT_EQ(driver.linkBetween(0, 0).kind, "") << "of itself";
  EXPECT_EQ(driver.linkBetween(0, 2).kind, "") << "there is none";
  fake.failures = {{"hipExtGetLinkTypeAndHopCount", {1, 1}}};
  EXPECT_EQ(driver.linkBetween(0, 1).kind, "") << "it fails";
}

TEST_F(HipDriverTest, FreedMemoryStaysUntilQueuedWorkHasRun) {
  auto device = driver.open(0);
  auto stream = driver.open(1)->createStream();
  {
    Buffer buffer = device->allocate(256);
    stream->fill(buffer, 1);
  }
  EXPECT_EQ(fake.count("hipFree"), 0);
  EXPECT_CONTAINS(messageOf([&] { stream->fill(4096, 0, 4); }), "there are no buffers");
  stream->synchronize();
  EXPECT_EQ(fake.count("hipFree"), 1);
  EXPECT_EQ(fake.liveAllocations, 0);
  EXPECT_EQ(fake.waits, std::vector<std::string>());
}

TEST_F(HipDriverTest, EverythingIsGivenBack) {
  {
    HipDriver shortLived(buildPath("test/libamdhip64.so"));
    auto device = shortLived.open(0);
    auto stream = device->createStream();
    auto event = device->createEvent();
    Buffer buffer = device->allocate(1024);
    stream->fill(buffer, 1);
    stream->record(event);
    stream->beginCapture();
    stream->fill(buffer, 2);
    auto graph = stream->endCapture();
    stream->launch(*graph);
    stream->launch({.kernel = {device->loadModule(hipPackage("early_end"))}, .arguments = {buffer}});
  }
  EXPECT_EQ(fake.liveAllocations, 0);
  EXPECT_EQ(fake.livePinned, 0);
  EXPECT_EQ(fake.liveStreams, 0);
  EXPECT_EQ(fake.liveEvents, 0);
  EXPECT_EQ(fake.liveModules, 0);
  EXPECT_EQ(fake.liveGraphs, 0);
  EXPECT_EQ(fake.lost, 0);
}

TEST_F(HipDriverTest, TheCallersDeviceIsPutBack) {
  auto current = reinterpret_cast<gpu::Result (*)(int *)>(
      ::dlsym(::dlopen(buildPath("test/libamdhip64.so").c_str(), RTLD_NOW), "hipGetDevice"));
  auto device = driver.open(1);
  Buffer buffer = device->allocate(64);
  int number = -1;
  ASSERT_EQ(current(&number), 0);
  EXPECT_EQ(number, 0);
}

} // namespace
