// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Devices by name.
#include "runtime/Driver.h"
#include "chips/Chip.h"
#include "support/TestError.h"
#include <cstdlib>

using namespace heddle;

namespace {

TEST(Driver, HostDevices) {
  auto first = openDevice("host");
  EXPECT_EQ(first->name(), "host:0");
  EXPECT_EQ(first, openDevice("host:0"));
  EXPECT_EQ(openDevice("host:63")->name(), "host:63");
  EXPECT_EQ(first->chip().name, "host");
  EXPECT_CONTAINS(first->description(), "MiB of memory");
  EXPECT_GT(first->memoryInfo().freeBytes, 0u);
}

/// Before anything asks for CUDA: the tests are the same on a machine with a GPU.
[[maybe_unused]] const int noCuda = ::setenv("HEDDLE_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);

TEST(Driver, UnknownNamesListTheDevices) {
  for (const char *name : {"", "tpu", "Host", ":0", "hosts:0"}) {
    EXPECT_EQ(errorOf([&] { openDevice(name); }).kind, ErrorClass::Input) << name;
    EXPECT_CONTAINS(messageOf([&] { openDevice(name); }), "unknown driver");
    EXPECT_CONTAINS(messageOf([&] { openDevice(name); }), "the devices are host:0 to host:63");
  }
  for (const char *name : {"host:64", "host:-1", "host:", "host:x", "host:1x", "host:99999999999", "host:0:0"}) {
    EXPECT_EQ(errorOf([&] { openDevice(name); }).kind, ErrorClass::Input) << name;
    EXPECT_CONTAINS(messageOf([&] { openDevice(name); }), "is not an ordinal from 0 to 63");
  }
}

TEST(Driver, DriversThatAreNotHereSaySo) {
  EXPECT_EQ(errorOf([] { openDevice("sim:gfx950"); }).kind, ErrorClass::Environment);
  EXPECT_CONTAINS(messageOf([] { openDevice("sim:gfx950:1"); }), "this program has no simulated devices");
  for (Driver *driver : allDrivers()) {
    if (driver->deviceCount() > 0)
      continue;
    Error error = errorOf([&] { openDevice(driver->name() + ":3"); });
    EXPECT_EQ(error.kind, ErrorClass::Environment) << driver->name();
    EXPECT_CONTAINS(error.what(), "device `" + driver->name() + ":3`: there is none: " + driver->problem());
  }
}

class OtherDriver : public Driver {
public:
  explicit OtherDriver(std::string name) : own(std::move(name)) {}
  std::string name() const override { return own; }
  int deviceCount() const override { return 0; }
  std::string problem() const override { return "this is a test"; }
  bool canAccessPeer(int, int) const override { return false; }
  std::shared_ptr<Device> open(int) override { return nullptr; }

private:
  std::string own;
};

TEST(Driver, OneThatWasAddedIsFoundByItsName) {
  static OtherDriver other("other"), host("host"), twoWords("two:words");
  static const bool isAdded =
      (addDriver(other), addDriver(twoWords), true); // once in a process, however often the test is repeated
  EXPECT_TRUE(isAdded);
  EXPECT_CONTAINS(messageOf([] { openDevice("other:0"); }), "there is none: this is a test");
  EXPECT_CONTAINS(messageOf([] { openDevice("two:words:3"); }), "there is none: this is a test");
  EXPECT_EQ(driverNameOf("two:words:3"), "two:words");
  EXPECT_EQ(driverNameOf("host:3"), "host");
  EXPECT_EQ(driverNameOf("two:other"), "two");
  for (const char *name : {"two", "two:", "two:other", "two:wordsier"})
    EXPECT_CONTAINS(messageOf([&] { openDevice(name); }), "`two` takes a chip, as in `two:words`");
  EXPECT_EQ(messageOf([] { addDriver(host); }), "there is a driver `host` already");
}

TEST(Driver, ADriverWithoutDevicesSaysWhy) {
  for (const char *name : {"cuda", "cuda:0", "cuda:x"}) {
    EXPECT_EQ(errorOf([&] { openDevice(name); }).kind, ErrorClass::Environment) << name;
    EXPECT_CONTAINS(messageOf([&] { openDevice(name); }), "there is none: the CUDA driver cannot be opened");
  }
}

} // namespace
