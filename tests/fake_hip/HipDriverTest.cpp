// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What GpuDriverTest.cpp does not test for both vendors: chips, versions, links, and memory of each kind.
#include "chips/Chip.h"
#include "tests/fake_hip/HipTestSupport.h"

using namespace heddle;

namespace {

class HipDriverTest : public HipTest {};

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

TEST_F(HipDriverTest, TheVersionsOfTheLibraryAreTriedInTurn) {
  HipDriver none("libamdhip64.so");
  if (none.deviceCount() > 0 || none.description() != "")
    GTEST_SKIP() << "this machine has one";
  EXPECT_CONTAINS(none.problem(), "cannot be opened: libamdhip64.so.7, libamdhip64.so.6, libamdhip64.so: cannot open");
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
