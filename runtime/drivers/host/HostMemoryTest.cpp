// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Limits, accounts, and what messages say of an address.
#include "runtime/drivers/host/HostMemory.h"
#include "runtime/drivers/host/HostTestSupport.h"
#include <cstdlib>

using namespace heddle;

namespace {

/// Opens a device that nothing else uses under a limit of 1 MiB.
std::shared_ptr<Device> limitedDevice() {
  ::setenv("HEDDLE_HOST_MEMORY", "1M", 1);
  auto device = openDevice("host:40");
  ::unsetenv("HEDDLE_HOST_MEMORY");
  return device;
}

TEST(HostMemory, LimitNamesAskedAndAvailable) {
  auto device = limitedDevice();
  EXPECT_EQ(device->memoryInfo().totalBytes, 1u << 20);
  Buffer first = device->allocate(1000000, "first");
  EXPECT_EQ(device->memoryInfo().freeBytes, 48576u);
  Error error = errorOf([&] { device->allocate(50000, "second"); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_STREQ(error.what(), "host:40: out of memory: buffer `second` asks for 50000 bytes, 48576 are available");
  EXPECT_CONTAINS(error.notes.at(0), "HEDDLE_HOST_MEMORY limits each host device to 1048576 bytes");
  first = Buffer();
  EXPECT_EQ(device->memoryInfo().freeBytes, 1048576u);
  device->allocate(1 << 20);
}

TEST(HostMemory, MoreThanTheMachineHas) {
  auto device = openDevice("host");
  for (uint64_t size : {uint64_t(1) << 50, ~uint64_t(0)}) {
    Error error = errorOf([&] { device->allocate(size); });
    EXPECT_EQ(error.kind, ErrorClass::Environment);
    EXPECT_CONTAINS(error.what(), "host:0: out of memory: buffer asks for " + std::to_string(size) + " bytes, ");
  }
}

TEST(HostMemory, BuffersMoveAndAreAligned) {
  auto device = openDevice("host:1");
  for (uint64_t size : {0, 1, 63, 64, 65, 1000}) {
    Buffer buffer = device->allocate(size);
    EXPECT_EQ(buffer.address() % 64, 0u);
    EXPECT_NE(buffer.address(), 0u);
    EXPECT_EQ(buffer.sizeBytes(), size);
    Buffer other = std::move(buffer);
    EXPECT_EQ(buffer.device(), nullptr);
    buffer = std::move(other);
    EXPECT_EQ(buffer.device(), device.get());
  }
}

TEST(HostMemory, AddressesAreDescribed) {
  HostMemory memory;
  EXPECT_EQ(memory.describeAddress(5), "there are no buffers");
  uint64_t address = memory.allocate(4096, "x", "host:0");
  EXPECT_EQ(memory.describeAddress(address + 4108), "12 bytes past the end of buffer `x` of 4096 bytes");
  EXPECT_EQ(memory.describeAddress(address + 4096), "0 bytes past the end of buffer `x` of 4096 bytes");
  EXPECT_EQ(memory.describeAddress(address - 1), "1 byte before buffer `x` of 4096 bytes");
  EXPECT_EQ(memory.describeAddress(address + 7), "at byte 7 of buffer `x` of 4096 bytes");
  EXPECT_EQ(memory.free(address), 4096u);
  EXPECT_EQ(memory.free(address), 0u);
  address = memory.allocate(8, "", "host:0");
  EXPECT_CONTAINS(memory.describeAddress(address + 9), "1 byte past the end of the buffer at 0x");
  memory.free(address);
}

TEST(HostMemory, OverrunsAreLikelierThanUnderruns) {
  HostMap map = {{1000, 100, "a", ""}, {1200, 100, "b", ""}};
  EXPECT_EQ(nearestAllocation(map, 1104), &map[0]);
  EXPECT_EQ(nearestAllocation(map, 1180), &map[0]);
  EXPECT_EQ(nearestAllocation(map, 1197), &map[1]);
  EXPECT_EQ(nearestAllocation(map, 1300), &map[1]);
  EXPECT_EQ(nearestAllocation(map, 5), &map[0]);
  EXPECT_EQ(nearestAllocation({}, 5), nullptr);
}

TEST(HostMemory, RangesEndWithTheirBuffer) {
  HostMap map = {{100, 10, "a", ""}, {110, 10, "b", ""}, {200, 0, "c", ""}};
  EXPECT_EQ(findAllocation(map, 100, 10), &map[0]);
  EXPECT_EQ(findAllocation(map, 110, 1), &map[1]);
  EXPECT_EQ(findAllocation(map, 105, 6), nullptr);
  EXPECT_EQ(findAllocation(map, 99, 1), nullptr);
  EXPECT_EQ(findAllocation(map, 119, ~uint64_t(0)), nullptr);
  EXPECT_EQ(findAllocation(map, 200, 0), &map[2]);
  EXPECT_EQ(findAllocation(map, 200, 1), nullptr);
}

} // namespace
