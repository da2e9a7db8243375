// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loading of code objects: both versions, preloaded arguments, what is refused, and damaged files.
#include "chips/Chip.h"
#include "support/TestError.h"
#include "tests/simulator/kernels/SimulatedKernel.h"
#include <random>

namespace heddle::simulator {
namespace {

TEST(Loader, BothVersionsOfCodeObjects) {
  EXPECT_EQ(parseAmdCodeObject(readObject("kernels-v5.hsaco"), "v5").version, 5);
  EXPECT_EQ(parseAmdCodeObject(readObject("kernels-gfx942-O3.hsaco"), "v6").version, 6);
  SimulatedObject object("kernels-v5.hsaco");
  uint64_t out = object.buffer(std::vector<uint32_t>(24 * 15));
  object.run("places", {.groups = {3, 5}, .items = {8, 3}}, out);
  EXPECT_EQ(object.read<uint32_t>(out).back(), 23u | 14u << 16);
}

TEST(Loader, DescriptionOfAKernel) {
  AmdCodeObject object = parseAmdCodeObject(readObject("kernels-gfx950-O3.hsaco"), "kernels");
  EXPECT_EQ(object.chip, "gfx950");
  const AmdKernel &kernel = object.kernel("vector_add");
  EXPECT_EQ(kernel.arguments.at(3).name, "n");
  EXPECT_EQ(kernel.arguments.at(3).valueKind, "by_value");
  EXPECT_EQ(kernel.arguments.at(3).offset, 24u);
  EXPECT_EQ(object.kernel("reduce_sum").groupBytes, 4096u);
  EXPECT_EQ(object.relocations.size(), 1u);
}

class Preload : public testing::TestWithParam<std::tuple<const char *, bool, Policy>> {};

TEST_P(Preload, ByFirmwareOrByTheKernelItself) {
  auto [file, preloads, policy] = GetParam();
  SimulatedObject object(file);
  ASSERT_GT(object.simulator.object().kernel("").preloadedWords(), 0u);
  object.options.preloads = preloads;
  object.options.policy = policy;
  std::vector<int> x(64);
  for (int i = 0; i < 64; ++i)
    x[i] = i;
  uint64_t out = object.buffer(std::vector<int>(64));
  object.run("scale", {.items = {64}}, object.buffer(x), out, 7, -3);
  std::vector<int> result = object.read<int>(out);
  for (int i = 0; i < 64; ++i)
    ASSERT_EQ(result[i], 7 * i - 3);
}

INSTANTIATE_TEST_SUITE_P(All, Preload,
                         testing::Combine(testing::Values("preload-v5.hsaco", "preload-v6.hsaco"), testing::Bool(),
                                          testing::Values(Policy::Earliest, Policy::Latest)));

TEST(Refusal, ChipThatIsNotSimulated) {
  EXPECT_CONTAINS(messageOf([] { SimulatedObject object("other-chip.hsaco"); }),
                  "the code object is for gfx90a, which is not simulated\n`gfx942` and `gfx950` are");
}

TEST(Refusal, KernelThatIsNotThere) {
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  std::string message = messageOf([&] { object.run("vector_ad", {}); });
  EXPECT_CONTAINS(message, "the code object has no kernel `vector_ad`");
  EXPECT_CONTAINS(message, "the closest is `vector_add`");
  EXPECT_CONTAINS(message, "`scan`, ");
}

TEST(Refusal, TooMuchLds) {
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  EXPECT_CONTAINS(
      messageOf([&] { object.run("reduce_sum", {.items = {1024}, .dynamicLdsBytes = 62 * 1024}); }),
      "kernel `reduce_sum` takes 67584 bytes of LDS (4096 of its own, 63488 dynamic), and gfx942 has 65536");
  SimulatedObject larger("kernels-gfx950-O3.hsaco");
  EXPECT_CONTAINS(messageOf([&] { larger.run("reduce_sum", {.items = {1024}, .dynamicLdsBytes = 160 * 1024}); }),
                  "and gfx950 has 163840");
}

TEST(Refusal, TooLargeAWorkgroup) {
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  EXPECT_CONTAINS(messageOf([&] { object.run("scan", {.items = {512, 3}}); }),
                  "a workgroup of 512 x 3 x 1 work-items, and 1024 are the most on gfx942");
  SimulatedObject limited("preload-v6.hsaco");
  EXPECT_CONTAINS(messageOf([&] { limited.run("scale", {.items = {128}}); }),
                  "a workgroup of 128 work-items, and kernel `scale` is compiled for at most 64");
}

TEST(Fault, AccessOutsideEveryBuffer) {
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  uint64_t x = object.buffer(std::vector<float>(100), "x"), y = object.buffer(std::vector<float>(128), "y");
  std::string message = messageOf([&] { object.run("vector_add", {.items = {256}}, x, y, y, 128); });
  EXPECT_CONTAINS(message, "kernel `vector_add`: reads 4 bytes at 0x");
  EXPECT_CONTAINS(message, "global_load_dword");
  EXPECT_CONTAINS(message, "workgroup 0,0,0 wave 1 lane 36");
  EXPECT_CONTAINS(message, "0 bytes past the end of `x`, 400 bytes at");
}

/// A store may fault when its wave does something else, and then not by itself but as something that happens to caches.
TEST(Fault, OfAStoreOnItsWay) {
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  uint64_t x = object.buffer(std::vector<float>(1024), "x"), nowhere = 256;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    object.options.policy = Policy::Random;
    object.options.schedule = Schedule::Random;
    object.options.seed = seed;
    EXPECT_CONTAINS(messageOf([&] { object.run("vector_add", {.groups = {4}, .items = {256}}, x, x, nowhere, 1024); }),
                    "kernel `vector_add`: writes 4 bytes at 0x");
  }
}

TEST(Fault, KernelThatDoesNotEnd) {
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  object.options.instructionLimit = 10'000;
  std::string message = messageOf([&] { object.run("forever", {.items = {64}}, object.buffer(std::vector<int>(1))); });
  EXPECT_CONTAINS(message, "kernel `forever` has not ended after");
  EXPECT_CONTAINS(message, "workgroup 0,0,0 wave 0 reads 0x0 again and again from byte 0 of `buffer`");
}

TEST(Fault, KernelThatWaitsForEver) {
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  object.options.instructionLimit = 50'000'000;
  for (const char *name : {"forever", "forever_in_two_places"}) {
    std::string message = messageOf([&] { object.run(name, {.items = {64}}, object.buffer(std::vector<int>(64))); });
    EXPECT_CONTAINS(message, std::string("kernel `") + name + "` waits for ever");
    EXPECT_CONTAINS(message, "reads 0x0 again and again from byte 0 of `buffer`");
  }
}

/// What ended before counts no more: a process may launch for as long as it lives.
TEST(Fault, TheLimitIsNotOfLaunchesThatHaveEnded) {
  SimulatedObject object("peers-gfx942.hsaco");
  const AmdKernel &kernel = object.simulator.object().kernel("spin");
  uint64_t out = object.buffer(std::vector<uint32_t>(64));
  auto launch = [&](uint32_t steps) {
    std::string segment(kernel.kernargBytes, '\0');
    std::memcpy(segment.data() + kernel.arguments[0].offset, &out, 8);
    std::memcpy(segment.data() + kernel.arguments[1].offset, &steps, 4);
    return object.simulator.prepare(object.simulator.loaded(), kernel, {.items = {64}}, segment, 0, object.options);
  };
  object.options.instructionLimit = 10'000;
  object.options.schedule = Schedule::RoundRobin; // many passes, each of which looks at the limit
  Session session(object.simulator, object.options);
  auto runToEnd = [&](uint32_t steps) {
    auto run = launch(steps);
    session.begin(*run);
    while (session.pass())
      ;
    return run;
  };
  for (int i = 0; i < 3; ++i) {
    auto run = runToEnd(1000);
    EXPECT_FALSE(run->error) << run->error->what();
    EXPECT_GT(run->statistics.instructions, 3'400u);
    EXPECT_LT(run->statistics.instructions, 10'000u);
  }
  auto endless = runToEnd(1'000'000);
  ASSERT_TRUE(endless->error);
  EXPECT_CONTAINS(endless->error->what(), "kernel `spin` has not ended after 100");
}

TEST(Fault, KernelThatWaitsForAWorkgroupWithoutAPlace) {
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  object.options.instructionLimit = 100'000;
  object.options.residentGroups = 2;
  uint64_t flags = object.buffer(std::vector<uint32_t>(8)), sums = object.buffer(std::vector<uint32_t>(8));
  EXPECT_CONTAINS(messageOf([&] { object.run("chain", {.groups = {8}, .items = {64}}, flags, sums); }),
                  "6 workgroups have not started; a kernel that waits for them needs more than 2 alive at once");
}

TEST(Fault, InstructionThatIsUnknownWhereItIsReached) {
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  uint64_t out = object.buffer(std::vector<int>(64));
  object.run("unknown", {.items = {64}}, out, 0);
  EXPECT_EQ(object.read<int>(out)[63], 1);
  std::string message = messageOf([&] { object.run("unknown", {.items = {64}}, out, 1); });
  EXPECT_CONTAINS(message, "kernel `unknown`: the simulator does not know the instruction `v_clrexcp`");
  EXPECT_CONTAINS(message, "pc 0x");
  EXPECT_CONTAINS(message, "v_clrexcp  workgroup 0,0,0 wave 0");
}

TEST(Fault, Trap) {
  SimulatedObject object("kernels-gfx942-O3.hsaco");
  std::string message = messageOf([&] { object.run("traps", {.items = {64}}); });
  EXPECT_CONTAINS(message, "the kernel traps");
  EXPECT_CONTAINS(message, "s_trap 2");
}

/// Loads and runs; errors are what a damaged file should give, and nothing else may come out.
void tryObject(const std::string &bytes) {
  try {
    Simulator simulator(parseAmdCodeObject(bytes, "damaged"));
    SimulationOptions options;
    options.instructionLimit = 2000;
    options.residentGroups = 1;
    for (const AmdKernel &kernel : simulator.object().kernels)
      simulator.launch(kernel, {.items = {64}}, std::string(kernel.kernargBytes, '\0'), options);
  } catch (const Error &error) {
    EXPECT_NE(error.kind, ErrorClass::Internal) << error.what();
  }
}

constexpr size_t abiVersionOffset = 8; // in the ELF header; 4 is code object version 6

/// Version 4 has other hidden arguments, which a kernel that reads none does without.
std::string asVersion4(std::string bytes) {
  bytes[abiVersionOffset] = 2;
  return bytes;
}

TEST(Loader, Version4) {
  AmdCodeObject object = parseAmdCodeObject(asVersion4(readObject("preload-v5.hsaco")), "v4");
  EXPECT_EQ(object.version, 4);
  EXPECT_EQ(object.kernels.size(), 1u);
  std::string older = readObject("preload-v5.hsaco");
  older[abiVersionOffset] = 1;
  EXPECT_CONTAINS(messageOf([&] { parseAmdCodeObject(older, "v3"); }),
                  "has code object version 3, and Heddle reads 4 to 6");
}

/// The size of the only argument `out`, of 8 bytes, becomes 127: it ends beyond the block that the descriptor declares.
TEST(Loader, ArgumentBeyondTheDeclaredBlock) {
  std::string bytes = readObject("preload-v5.hsaco");
  uint32_t declared = parseAmdCodeObject(bytes, "whole").kernels[0].declaredKernargBytes;
  size_t size = bytes.find(std::string(".size\x08", 6));
  ASSERT_NE(size, std::string::npos);
  bytes[size + 5] = 127;
  AmdKernel kernel = parseAmdCodeObject(bytes, "large").kernels[0];
  EXPECT_EQ(kernel.declaredKernargBytes, declared);
  EXPECT_GE(kernel.kernargBytes, 127u);
}

class DamagedObjects : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Versions, DamagedObjects, testing::Values(4, 5, 6));

TEST_P(DamagedObjects, GiveErrorsAndNoCrash) {
  std::string good = readObject(GetParam() == 6 ? "preload-v6.hsaco" : "preload-v5.hsaco");
  if (GetParam() == 4)
    good = asVersion4(good);
  std::mt19937 random{unsigned(GetParam() + 1)};
  for (size_t size = 0; size < good.size(); size += 97)
    tryObject(good.substr(0, size));
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = good;
    // Most of the bytes that matter are in the headers, the note and the descriptor, at the front.
    size_t range = round % 2 ? bytes.size() : 0x900;
    for (int i = 0; i <= round % 4; ++i)
      bytes[random() % range] = char(random() % 3 ? random() : random() % 2 ? 0xff : 0);
    tryObject(bytes);
  }
}

} // namespace
} // namespace heddle::simulator
