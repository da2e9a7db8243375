// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a collective may not be, and what the messages say.
#include "chips/Chip.h"
#include "collectives/kernel/CompileKernel.h"
#include "runtime/Launch.h"
#include "tests/multi_device/Cases.h"

using namespace heddle;
using namespace heddle::testing;

namespace {

std::string refusal(const Collective &collective, const PlanOptions &options = {}) {
  return errorOf(ErrorClass::Input, [&] { makePlan(collective, hostChip, options); });
}

Collective reduce(ElementType type, Reduction reduction) {
  return makeCollective(CollectiveKind::AllReduce, 2, 1, 8, type, reduction);
}

TEST(Refusals, ReductionsWithoutMeaning) {
  for (ElementType type : allElementTypes()) {
    std::string name = elementTypeName(type);
    for (Reduction reduction : {Reduction::And, Reduction::Or})
      EXPECT_EQ(refusal(reduce(type, reduction)), isFloat(type)
                                                      ? std::string(reductionName(reduction)) + " of " + name +
                                                            " elements: the type has no bits to combine\n"
                                                            "floating types have sum, product, minimum and maximum"
                                                      : "no error");
    for (Reduction reduction : {Reduction::Sum, Reduction::Product})
      EXPECT_EQ(refusal(reduce(type, reduction)), type == ElementType::I1
                                                      ? std::string(reductionName(reduction)) +
                                                            " of i1 elements has no result of one bit\n"
                                                            "i1 has and, or, minimum (and) and maximum (or)"
                                                      : "no error");
    for (Reduction reduction : {Reduction::Minimum, Reduction::Maximum})
      EXPECT_EQ(refusal(reduce(type, reduction)), "no error");
  }
}

TEST(Refusals, RanksAndSizes) {
  const std::string sizes = "\nneither number is negative, and their product is below 2^56";
  const std::string groups = "\ngive 1 to 8 `--devices`, or divide the ranks into such groups";
  for (int ranks : {-1, 0, 9})
    EXPECT_EQ(refusal(makeCollective(CollectiveKind::AllGather, ranks, 1, 8)),
              "all-gather over " + std::to_string(ranks) + " ranks: a group has 1 to 8" + groups);
  EXPECT_EQ(refusal(makeCollective(CollectiveKind::AllReduce, 2, int64_t(1) << 40, int64_t(1) << 40)),
            "all-reduce of 1099511627776 times 1099511627776 elements does not fit the address space" + sizes);
  EXPECT_EQ(refusal(makeCollective(CollectiveKind::Broadcast, 2, 1, -1)),
            "broadcast of 1 times -1 elements does not fit the address space" + sizes);
}

std::string refusalOfLamport(const std::string &algorithm, ElementType type, const Chip &chip,
                             PlanOptions options = {}) {
  options.algorithm = algorithm, options.packets = PacketForm::Lamport;
  std::string error = errorOf(
      ErrorClass::Input, [&] { makePlan(makeCollective(CollectiveKind::AllReduce, 2, 1, 500, type), chip, options); });
  const std::string begin = "has no packets of the form lamport: ";
  if (error == "no error")
    return error;
  expectContains(error, begin);
  return error.substr(error.find(begin) + begin.size(), error.find('\n') - error.find(begin) - begin.size());
}

TEST(Refusals, PacketsOfLamportsForm) {
  PlanOptions small = {"", 1, 32, 2}, large = {"", 1, 512, 1};
  EXPECT_EQ(refusalOfLamport("one_shot_packets", ElementType::F32, hostChip, large), "no error");
  EXPECT_EQ(refusalOfLamport("one_shot_packets", ElementType::F32, sm90Chip, large), "no error");
  EXPECT_EQ(refusalOfLamport("one_shot_pull", ElementType::F32, hostChip), "one_shot_pull has no packets");
  EXPECT_EQ(refusalOfLamport("one_shot_packets", ElementType::F8E4M3FNUZ, hostChip, large), "no error");
  EXPECT_EQ(refusalOfLamport("", ElementType::F32, hostChip), "one_shot_pull, which the plan chooses, has no packets");
  EXPECT_EQ(refusalOfLamport("one_shot_packets", ElementType::F32, hostChip, small),
            "there are 8 rounds: such packets have one");
  large.tileElements = 32, large.tilesPerRound = 16;
  EXPECT_EQ(refusalOfLamport("one_shot_packets", ElementType::F32, sm90Chip, large),
            "a tile has 16 words of 8 bytes for 128 threads");
}

// No form is asked for: then the plan takes the form that it can.
TEST(Refusals, PacketsAreOfTheFormThatCanBe) {
  auto form = [](ElementType type, const PlanOptions &options) {
    return makePlan(makeCollective(CollectiveKind::AllReduce, 2, 1, 500, type), hostChip, options).packets;
  };
  PlanOptions one = {"two_shot_packets", 1, 512, 1}, several = {"two_shot_packets", 1, 64, 1};
  EXPECT_EQ(form(ElementType::BF16, one), PacketForm::Lamport);
  EXPECT_EQ(form(ElementType::BF16, several), PacketForm::LL);
  EXPECT_EQ(form(ElementType::I16, one), PacketForm::Lamport);
  one.packets = PacketForm::LL;
  EXPECT_EQ(form(ElementType::BF16, one), PacketForm::LL);
}

TEST(Refusals, SourcesThatAreNoPermutation) {
  Collective collective = makeCollective(CollectiveKind::Permute, 3, 1, 8);
  collective.sources = {1, 0};
  EXPECT_EQ(refusal(collective), "permute names the sources of 2 ranks, the group has 3");
  collective.sources = {1, 3, 0};
  EXPECT_EQ(refusal(collective), "permute from rank 3: ranks are 0 to 2");
  collective.sources = {1, -2, 0};
  EXPECT_EQ(refusal(collective), "permute from rank -2: ranks are 0 to 2");
  collective.sources = {1, -1, 1};
  EXPECT_EQ(refusal(collective),
            "permute sends from rank 1 twice\na rank is the source of one rank at most; use a broadcast for several");
}

TEST(Refusals, Options) {
  Collective collective = makeCollective(CollectiveKind::AllToAll, 2, 1, 8);
  EXPECT_EQ(refusal(collective, {"one_shot_pull", 0, 0, 0}),
            "all-to-all has no algorithm `one_shot_pull`\nit has exchange_packets, exchange_push, exchange_direct");
  EXPECT_EQ(refusal(collective, {"", 129, 0, 0}), "129 blocks per rank: a collective has 1 to 128");
  for (int tile : {-4, 2, 24, 1 << 17})
    EXPECT_EQ(refusal(collective, {"", 0, tile, 0}),
              "a tile of " + std::to_string(tile) + " elements: it has a power of two from 4 to 65536");
  EXPECT_EQ(refusal(collective, {"", 0, 0, 65537}), "65537 tiles in a round: there are 1 to 65536");
  PlanOptions options;
  options.computeUnits = -1;
  EXPECT_EQ(refusal(collective, options),
            "-1 compute units of a device: there are 1 or more, or 0 for any number of blocks");
}

TEST(Refusals, Groups) {
  EXPECT_EQ(errorOf(ErrorClass::Input, [] { Communicator communicator({}); }), "a group of 0 devices: it has 1 to 8");
  EXPECT_EQ(errorOf(ErrorClass::Input, [] { Communicator communicator(openDevices("host", firstOrdinals(9))); }),
            "a group of 9 devices: it has 1 to 8");
  Communicator communicator(openDevices("host", {0, 1}));
  Plan plan = makePlan(makeCollective(CollectiveKind::AllReduce, 3, 1, 8), hostChip, {"one_shot_pull", 1, 4, 1});
  EXPECT_EQ(errorOf(ErrorClass::Input, [&] { communicator.prepare(plan); }), "a plan for 3 ranks in a group of 2");
  Plan empty = makePlan(makeCollective(CollectiveKind::AllReduce, 3, 1, 0), hostChip);
  EXPECT_EQ(errorOf(ErrorClass::Input, [&] { communicator.prepare(empty); }), "a plan for 3 ranks in a group of 2");
}

// No rank has launched anything: the group goes on.
TEST(Refusals, RanksAndOperationsThatAGroupDoesNotHave) {
  Communicator communicator(openDevices("host", {0, 1}));
  CheckedRun run(communicator, makePlan(makeCollective(CollectiveKind::AllReduce, 2, 1, 8), hostChip), 1);
  Communicator::Operation &operation =
      communicator.prepare(makePlan(makeCollective(CollectiveKind::AllReduce, 2, 1, 8), hostChip));
  for (int rank : {-1, 2})
    EXPECT_EQ(errorOf(ErrorClass::Input, [&] { communicator.launch(operation, rank, {}); }),
              "rank " + std::to_string(rank) + " of a group of 2: ranks are 0 to 1");
  Communicator other(openDevices("host", {0, 1}));
  EXPECT_EQ(errorOf(ErrorClass::Input, [&] { other.launch(operation, 0, {}); }),
            "`all-reduce sum of f32[8] over 2 ranks` was prepared by another group\n"
            "a group launches what its own `prepare` has returned");
  run.run();
  run.expectRight();
}

// Blocks that wait for others must all live at once.
TEST(Refusals, AGridThatCannotLiveAtOnce) {
  std::shared_ptr<Device> device = openFirstDevices(1)[0];
  Plan plan = makePlan(makeCollective(CollectiveKind::AllReduce, 2, 1, 1000), chipUnderTest());
  Launch launch{.kernel = {device->loadModule(compileKernel(plan))}, .grid = {1000000, 1, 1}, .cooperative = true};
  for (const PackageArgument &argument : launch.kernel.package().arguments)
    launch.arguments.push_back(argument.pointer ? LaunchArgument(DeviceAddress(4096)) : LaunchArgument(ScalarBits{0}));
  auto stream = device->createStream();
  std::string report = errorOf(ErrorClass::Input, [&] { stream->launch(launch); });
  expectContains(report, "a cooperative launch of 1000000 ");
  expectContains(report, " runs at most ");
  stream->synchronize();
}

TEST(Refusals, MoreMemoryThanADeviceHas) {
  if (testDriver() == "host")
    GTEST_SKIP() << "the host gives memory that it does not have";
  std::shared_ptr<Device> device = openFirstDevices(1)[0];
  constexpr uint64_t asked = uint64_t(1) << 40;
  std::string report = errorOf(ErrorClass::Environment, [&] { device->allocate(asked, "huge"); });
  expectContains(report,
                 device->name() + ": out of memory: buffer `huge` asks for " + std::to_string(asked) + " bytes, ");
  expectContains(report, " are available");
  expectContains(report, "the device has " + std::to_string(device->memoryInfo().totalBytes) + " bytes in all");
}

} // namespace
