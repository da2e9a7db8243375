// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that reach into each other's operands: what happens to those when a rank does not come.
#include "chips/Chip.h"
#include "collectives/Communicator.h"
#include "runtime/Driver.h"
#include "runtime/Stream.h"
#include "support/Error.h"
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace heddle;

namespace {

constexpr int ranks = 4;
constexpr int64_t count = 100'000;

class Direct : public testing::Test {
protected:
  Direct() {
    for (int rank = 0; rank < ranks; ++rank)
      devices.push_back(openDevice("host:" + std::to_string(rank)));
    group = std::make_unique<Communicator>(devices, Communicator::Options{0.3, 1});
    Collective collective;
    collective.ranks = ranks, collective.inner = count;
    PlanOptions options;
    options.direct = true;
    operation = &group->prepare(makePlan(collective, hostChip, options));
    for (int rank = 0; rank < ranks; ++rank) {
      inputs.push_back(devices[size_t(rank)]->allocate(count * 4));
      outputs.push_back(devices[size_t(rank)]->allocate(count * 4));
      group->stream(rank).fill(inputs.back(), 0);
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
  std::string output(int rank) {
    std::string bytes(count * 4, '\0');
    std::unique_ptr<Stream> stream = devices[size_t(rank)]->createStream();
    stream->copyToHost(bytes.data(), outputs[size_t(rank)]);
    stream->synchronize();
    return bytes;
  }

  std::vector<std::shared_ptr<Device>> devices;
  std::unique_ptr<Communicator> group;
  Communicator::Operation *operation;
  std::vector<Buffer> inputs, outputs;
};

TEST_F(Direct, TouchesNothingWithoutEveryRank) {
  ASSERT_EQ(operation->plan().algorithm, &twoShotDirect);
  for (int rank = 0; rank < ranks - 1; ++rank)
    launch(rank);
  std::string message = error();
  EXPECT_NE(message.find("`all-reduce sum of f32[100000] over 4 ranks`, launch 1: rank 0 (host:0) waited"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("s for rank 3 (host:3), block 0: expected epoch 1, saw 0"), std::string::npos) << message;
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(output(rank), std::string(count * 4, '\xA5')) << rank;
}

// It finds the signals of all others, whose waits are over, and works on their operands: those outlive its stream, and
// the error comes when it has ended too.
TEST_F(Direct, ARankThatComesTooLateIsReportedByAllOthers) {
  for (int rank = 0; rank < ranks - 1; ++rank)
    launch(rank);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  launch(ranks - 1);
  std::string message = error();
  for (int rank = 0; rank < ranks - 1; ++rank)
    EXPECT_NE(message.find("rank " + std::to_string(rank) + " (host:" + std::to_string(rank) + ") waited"),
              std::string::npos)
        << message;
  EXPECT_THROW(launch(0), Error);
}

} // namespace
