// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A record of requests that has room for few: what it keeps is right, and what has no room lets the workgroup run in
// its turn.
#include "simulator/checks/GroupRecorder.h"
#include "simulator/state/Fault.h"
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

TEST(GroupRecord, RefusesARequestForWhichItHasNoRoom) {
  auto wave = std::make_unique<Wave>();
  auto request = std::make_unique<MemoryRequest>();
  request->kind = RequestKind::Store;
  request->space = Space::Global;
  request->words = 1;
  constexpr size_t room = 4096;
  GroupRecord record(room);
  std::string message;
  while (message.empty() && record.entries.size() < room) {
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      request->address[lane] = 1000 * record.entries.size() + lane;
    try {
      record.addRequest(*wave, *request);
    } catch (const Fault &fault) {
      message = fault.what();
    }
  }
  EXPECT_NE(message.find("a record has 4096 at most"), std::string::npos) << message;
  ASSERT_GE(record.entries.size(), 2u);
  ASSERT_LT(record.entries.size(), 8u); // addresses alone take 512 bytes
  for (size_t number = 0; number < record.entries.size(); ++number) {
    record.readRequest(record.entries[number].value, *request);
    EXPECT_EQ(request->address[3], 1000 * number + 3);
  }
}

} // namespace
} // namespace heddle::simulator
