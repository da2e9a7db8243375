// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Simulated devices as devices: names, memory, copies, events, host functions, modules that do not fit.
#include "binary/AmdAbi.h"
#include "chips/Chip.h"
#include "runtime/PeerAccess.h"
#include "runtime/SymmetricMemory.h"
#include "runtime/drivers/simulated/SimulatedModule.h"
#include "runtime/drivers/simulated/SimulatedTestSupport.h"
#include <future>
#include <thread>

using namespace heddle;

namespace {

TEST(SimulatedDevice, HasANameAChipAndMemory) {
  auto device = openSimulated("sim:gfx942");
  EXPECT_EQ(device->name(), "sim:gfx942:0");
  EXPECT_EQ(device, openDevice("sim:gfx942:0"));
  EXPECT_NE(device, openDevice("sim:gfx950:0"));
  EXPECT_EQ(openDevice("sim:gfx950:63")->ordinal(), 63);
  EXPECT_EQ(device->chip().name, "gfx942");
  EXPECT_CONTAINS(device->description(), "304 compute units");
  EXPECT_EQ(device->memoryInfo().totalBytes, uint64_t(192) << 30);
}

TEST(SimulatedDevice, WrongNamesSayWhatThereIs) {
  addSimulatedDrivers();
  EXPECT_CONTAINS(messageOf([] { openDevice("sim"); }), "`sim` takes a chip, as in `sim:gfx942`");
  EXPECT_CONTAINS(messageOf([] { openDevice("sim:sm_90"); }), "`sim` takes a chip");
  EXPECT_CONTAINS(messageOf([] { openDevice("sim:gfx942:64"); }), "`64` is not an ordinal from 0 to 63");
  EXPECT_CONTAINS(messageOf([] { openDevice("tpu"); }), "sim:gfx950:0 to sim:gfx950:63");
}

TEST(SimulatedDevice, CopiesRoundTripAndReachOtherDevices) {
  TestStream one("sim:gfx942:0"), two("sim:gfx942:1");
  requirePeerAccess({one.device, two.device});
  expectCopiesRoundTrip(*one.device, *two.device);
  Buffer b = two.device->allocate(4000, "b");
  EXPECT_CONTAINS(messageOf([&] { one.stream->fill(b.address() + 4, 0, 4000); }),
                  "4000 bytes from byte 4 on do not fit");
  EXPECT_CONTAINS(messageOf([&] { one.stream->fill(b.address() + 5000, 0, 4); }),
                  "1000 bytes past the end of buffer `b`");
}

TEST(SimulatedDevice, SymmetricMemoryIsZero) {
  TestStream one("sim:gfx950:0"), two("sim:gfx950:1");
  SymmetricMemory memory({one.device, two.device}, 256, "flags");
  EXPECT_NE(memory.address(0), memory.address(1));
  for (int rank : {0, 1})
    EXPECT_EQ(two.read(memory.of(rank)), std::vector<uint32_t>(64));
}

TEST(SimulatedDevice, OutOfMemoryNamesBothNumbers) {
  auto device = openSimulated("sim:gfx942");
  uint64_t before = device->memoryInfo().freeBytes;
  Error error = errorOf([&] { device->allocate(uint64_t(193) << 30, "weights"); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "sim:gfx942:0: out of memory: buffer `weights` asks for 207232172032 bytes, ");
  EXPECT_CONTAINS(error.what(), " are available");
  EXPECT_GT(before, 0u);
}

TEST(SimulatedDevice, FreedMemoryStaysUntilItsWorkHasRun) {
  TestStream one("sim:gfx942");
  std::vector<uint32_t> values = {1, 2, 3}, back(3);
  Buffer a = one.buffer(values);
  uint64_t address = a.address();
  one.stream->copyToHost(back.data(), a);
  a = Buffer();
  EXPECT_CONTAINS(messageOf([&] { one.stream->fill(address, 0, 4); }), "lies in no live buffer");
  Buffer other = one.device->allocate(12);
  EXPECT_NE(other.address(), address);
  one.stream->synchronize();
  EXPECT_EQ(back, values);
}

TEST(SimulatedDevice, StreamsWaitForEventsOfOtherDevices) {
  TestStream producer("sim:gfx942:0"), consumer("sim:gfx942:1");
  auto event = producer.device->createEvent();
  std::vector<int> order;
  producer.stream->hostFunction([&] { order.push_back(1); });
  producer.stream->record(event);
  consumer.stream->wait(event);
  consumer.stream->hostFunction([&] { order.push_back(2); });
  consumer.stream->synchronize(); // the producer goes on meanwhile
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_TRUE(event->query());
  EXPECT_EQ(event->millisecondsSince(*event), 0);
  auto never = producer.device->createEvent();
  EXPECT_CONTAINS(messageOf([&] { event->millisecondsSince(*never); }), "the start event was not recorded");
}

/// Their clocks differ, and their locks.
TEST(SimulatedDevice, EventsOfAnotherChipAreRefused) {
  TestStream one("sim:gfx942"), other("sim:gfx950");
  auto own = one.device->createEvent(), foreign = other.device->createEvent();
  EXPECT_EQ(messageOf([&] { one.stream->record(foreign); }), "the event belongs to a device of another driver");
  EXPECT_EQ(messageOf([&] { one.stream->wait(foreign); }), "the event belongs to a device of another driver");
  EXPECT_EQ(messageOf([&] { one.stream->wait(nullptr); }), "there is no event");
  one.stream->record(own);
  other.stream->record(foreign);
  own->synchronize();
  foreign->synchronize();
  EXPECT_EQ(messageOf([&] { own->millisecondsSince(*foreign); }),
            "elapsed time: the event belongs to a device of another driver");
}

TEST(SimulatedDevice, AskingAgainAndAgainEnds) {
  TestStream one("sim:gfx942");
  auto event = one.device->createEvent();
  bool ran = false;
  one.stream->hostFunction([&] { ran = true; });
  one.stream->record(event);
  while (!event->query())
    std::this_thread::yield();
  EXPECT_TRUE(ran);
}

TEST(SimulatedDevice, HostFunctionsMayWaitForOthersButNotForTheirOwnStream) {
  TestStream one("sim:gfx942:0"), two("sim:gfx942:1");
  std::string message;
  bool ran = false;
  one.stream->hostFunction([&] {
    two.stream->hostFunction([&] { ran = true; });
    two.stream->synchronize();
    message = messageOf([&] { one.stream->synchronize(); });
  });
  one.stream->synchronize();
  EXPECT_TRUE(ran);
  EXPECT_EQ(message, "a host function waits for its own stream");
}

TEST(SimulatedDevice, AskingDoesNotWaitForAHostFunction) {
  TestStream one("sim:gfx942");
  auto event = one.device->createEvent();
  std::promise<void> go;
  one.stream->hostFunction([&] { go.get_future().wait(); });
  one.stream->record(event);
  EXPECT_FALSE(event->query());
  go.set_value();
  event->synchronize();
  EXPECT_TRUE(event->query());
}

TEST(SimulatedDevice, TheFirstErrorStaysWithTheStream) {
  TestStream one("sim:gfx942");
  bool ran = false;
  one.stream->hostFunction([] { throw inputError("first"); });
  one.stream->hostFunction([&] { ran = true; });
  auto event = one.device->createEvent();
  one.stream->record(event);
  event->synchronize();
  EXPECT_EQ(messageOf([&] { one.stream->synchronize(); }), "first");
  EXPECT_FALSE(ran);
  one.stream->hostFunction([&] { ran = true; });
  one.stream->synchronize();
  EXPECT_TRUE(ran);
}

std::string loadMessage(const std::function<void(Package &)> &change) {
  Package package = simulatedPackage("kernels", "vector_add", "gfx942", 256);
  change(package);
  return messageOf([&] { openSimulated("sim:gfx942")->loadModule(package); });
}

TEST(SimulatedModule, WhatDoesNotFitIsRefused) {
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.target = "gfx950"; }),
                  "compiled for target gfx950, the device sim:gfx942:0 is gfx942");
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.target = "host"; }), "compiled for target host");
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.binaryKind = "ptx"; }), "its binary is of kind `ptx`");
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.abiVersion = amdAbiVersion + 1; }), "compile it again");
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.binary = "nothing"; }), "the code of kernel `vector_add`");
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.entry = "nobody"; }), "has no kernel `nobody`");
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.sites.emplace_back(); }), "prints or asserts");
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.threads = 512; }), "compiled for at most 256");
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.threads = 0; }), "at least one element");
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.sharedBytes = 1 << 20; }), "1048576 bytes of LDS");
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.arguments.pop_back(); }), "describes 3 arguments, its code object 4");
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.arguments[3].type = "i64"; }),
                  "argument `n`: the package describes a number of 8 bytes, its code object a number of 4");
  EXPECT_CONTAINS(loadMessage([](Package &p) { p.arguments[3].pointer = true; }), "a pointer of 8 bytes");
}

TEST(SimulatedModule, APackageTakesItsDescriptionFromTheCodeObject) {
  Package package = simulatedPackage("kernels", "vector_add", "gfx950", 256);
  EXPECT_EQ(package.target, "gfx950");
  ASSERT_EQ(package.arguments.size(), 4u);
  EXPECT_EQ(package.arguments[0].name, "x");
  EXPECT_TRUE(package.arguments[2].pointer);
  EXPECT_EQ(package.arguments[2].type, "f32");
  EXPECT_FALSE(package.arguments[3].pointer);
  EXPECT_EQ(package.arguments[3].type, "i32");
  EXPECT_EQ(Package::parse(package.serialize(), "again").binary, package.binary);
}

TEST(SimulatedModule, TypesAreNamedInWordsOfSeveralLanguages) {
  auto typeOf = [](const char *name, uint64_t size, const char *kind = "by_value") {
    AmdArgument argument;
    argument.typeName = name, argument.sizeBytes = size, argument.valueKind = kind;
    return namedType(argument);
  };
  EXPECT_EQ(typeOf("float", 4), ElementType::F32);
  EXPECT_EQ(typeOf("uint", 4), ElementType::UI32);
  EXPECT_EQ(typeOf("bfloat", 2), ElementType::BF16);
  EXPECT_EQ(typeOf("float*", 8, "global_buffer"), ElementType::F32);
  EXPECT_EQ(typeOf("i8", 8, "global_buffer"), ElementType::I8);
  EXPECT_EQ(typeOf("long", 4), std::nullopt); // of C on another system
  EXPECT_EQ(typeOf("float*", 8), std::nullopt);
  EXPECT_EQ(typeOf("Pair", 8), std::nullopt);
  EXPECT_EQ(typeOf("", 4), std::nullopt);
}

} // namespace
