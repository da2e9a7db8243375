// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that reach into each other's operands: what happens to those when a rank does not come. And kernels for a chip
// that is in no table.
#include "chips/Chip.h"
#include "collectives/Communicator.h"
#include "collectives/kernel/CompileKernel.h"
#include "runtime/DeviceTestSupport.h"
#include "runtime/Driver.h"
#include "support/Error.h"
#include <chrono>
#include <fmt/format.h>
#include <thread>

using namespace heddle;

namespace {

constexpr int ranks = 4;
constexpr int64_t count = 25'000; // of a part

class DirectCall {
public:
  explicit DirectCall(const Algorithm &algorithm) {
    for (int rank = 0; rank < ranks; ++rank)
      devices.push_back(openDevice("host:" + std::to_string(rank)));
    group = std::make_unique<Communicator>(devices, Communicator::Options{0.2});
    collective.kind = algorithm.kinds[0];
    collective.ranks = ranks, collective.inner = count;
    PlanOptions options;
    options.algorithm = algorithm.name;
    operation = &group->prepare(makePlan(collective, hostChip, options));
    for (int rank = 0; rank < ranks; ++rank) {
      inputs.push_back(devices[size_t(rank)]->allocate(uint64_t(collective.inputElements()) * 4));
      outputs.push_back(devices[size_t(rank)]->allocate(uint64_t(collective.outputElements()) * 4));
      group->stream(rank).fill(inputs.back(), 0x5A);
      group->stream(rank).fill(outputs.back(), 0xA5);
    }
    group->synchronize();
  }
  void launch(int rank) {
    group->launch(*operation, rank, {DeviceAddress(inputs[size_t(rank)]), DeviceAddress(outputs[size_t(rank)])});
  }
  std::string error() {
    try {
      group->synchronize();
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorClass::Environment);
      std::string text = error.what();
      for (const std::string &note : error.notes)
        text += "\n" + note;
      return text;
    }
    return "none";
  }
  std::string contents(const Buffer &buffer) {
    std::vector<char> bytes = readBack<char>(*devices[0]->createStream(), buffer);
    return {bytes.begin(), bytes.end()};
  }

  Collective collective;
  std::vector<std::shared_ptr<Device>> devices;
  std::unique_ptr<Communicator> group;
  Communicator::Operation *operation;
  std::vector<Buffer> inputs, outputs;
};

std::string placed(int rank) {
  return fmt::format("rank {} (host:{})", rank, rank);
}

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no `" << part << "` in:\n" << text;
}

std::vector<const Algorithm *> directAlgorithms() {
  std::vector<const Algorithm *> direct;
  for (const Algorithm *algorithm : allAlgorithms())
    if (algorithm->direct)
      direct.push_back(algorithm);
  return direct;
}

TEST(Direct, TouchesNothingWithoutEveryRank) {
  for (const Algorithm *algorithm : directAlgorithms()) {
    SCOPED_TRACE(algorithm->name);
    DirectCall call(*algorithm);
    for (int rank = 0; rank < ranks - 1; ++rank)
      call.launch(rank);
    std::string message = call.error();
    expectContains(message, fmt::format("`{}`, launch 1: {} waited", describe(call.collective), placed(0)));
    expectContains(message, fmt::format("s for {}, block 0: expected epoch 1, saw 0", placed(ranks - 1)));
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(call.contents(call.inputs[size_t(rank)]).find_first_not_of('\x5A'), std::string::npos) << rank;
      EXPECT_EQ(call.contents(call.outputs[size_t(rank)]).find_first_not_of('\xA5'), std::string::npos) << rank;
    }
  }
}

// It finds the signals of all others, whose waits are over, and works on their operands: those outlive its stream, and
// the error comes when it has ended too.
TEST(Direct, ARankThatComesTooLateIsReportedByAllOthers) {
  for (const Algorithm *algorithm : directAlgorithms()) {
    SCOPED_TRACE(algorithm->name);
    DirectCall call(*algorithm);
    for (int rank = 0; rank < ranks - 1; ++rank)
      call.launch(rank);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    call.launch(ranks - 1);
    std::string message = call.error();
    for (int rank = 0; rank < ranks - 1; ++rank)
      expectContains(message, placed(rank) + " waited");
    EXPECT_THROW(call.launch(0), Error);
  }
}

// A chip is data: no table has this one.
TEST(Kernels, AreCompiledForAChipInNoTable) {
  Chip chip = gfx942Chip;
  chip.name = "half-gfx942", chip.computeUnits /= 2;
  Collective collective;
  collective.ranks = ranks, collective.inner = count;
  Package package = compileKernel(makePlan(collective, chip));
  EXPECT_EQ(package.target, "half-gfx942");
  EXPECT_EQ(package.processor, "gfx942");
  EXPECT_FALSE(package.binary.empty());
}

} // namespace
