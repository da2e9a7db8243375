// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The timeline's file is JSON whatever a kernel is called, and has no more events than it may.
#include "simulator/timing/TraceEvents.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace heddle::simulator {
namespace {

TEST(TraceEvents, AnyNameOfAKernel) {
  TraceEvents events(1, 10);
  nlohmann::json file = nlohmann::json::parse(events.json("a \"b\" \\ \n \xff"));
  std::string name = file["traceEvents"][0]["args"]["name"];
  EXPECT_EQ(name.substr(0, 9), "a \"b\" \\ \n");
}

TEST(TraceEvents, NoMoreThanItMayHave) {
  TraceEvents events(1, 2);
  for (uint64_t i = 0; i < 5; ++i)
    events.inFlight(0, 0, "global_load_dword", 4 * i, 100, 256);
  EXPECT_EQ(events.dropped(), 3u);
  nlohmann::json file = nlohmann::json::parse(events.json("k"));
  int begins = 0;
  for (const auto &event : file["traceEvents"])
    begins += event["ph"] == "b";
  EXPECT_EQ(begins, 2);
  EXPECT_EQ(file["otherData"]["dropped"], 3);
}

} // namespace
} // namespace heddle::simulator
