// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each pair is asked for once, and an unknown device is one warning.
#include "runtime/PeerAccess.h"
#include "runtime/Device.h"
#include "runtime/Driver.h"
#include <gtest/gtest.h>
#include <map>

using namespace heddle;

namespace {

TEST(PeerAccess, AsksOnceForEachPair) {
  std::map<std::pair<int, int>, int> asked;
  PeerAccess access(4, [&](int from, int to) {
    ++asked[{from, to}];
    return from < to;
  });
  for (int time = 0; time < 3; ++time)
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to)
        EXPECT_EQ(access.allowed(from, to), from <= to) << from << " to " << to;
  EXPECT_EQ(asked.size(), 12u);
  for (const auto &[pair, times] : asked) {
    EXPECT_EQ(times, 1);
    EXPECT_NE(pair.first, pair.second) << "a device reaches itself";
  }
  EXPECT_TRUE(access.warnings().empty());
}

TEST(PeerAccess, AnUnknownOrdinalIsOneWarning) {
  PeerAccess access(2, [](int, int) { return true; });
  for (int time = 0; time < 3; ++time) {
    EXPECT_FALSE(access.allowed(0, 2));
    EXPECT_FALSE(access.allowed(2, 0));
    EXPECT_FALSE(access.allowed(2, 2));
    EXPECT_FALSE(access.allowed(-1, 1));
  }
  EXPECT_EQ(access.warnings(),
            (std::vector<std::string>{"peer access asked for device 2, but the driver has 2 devices",
                                      "peer access asked for device -1, but the driver has 2 devices"}));
  EXPECT_TRUE(access.allowed(0, 1));
}

TEST(PeerAccess, OfNoDevice) {
  PeerAccess access(0, [](int, int) { return true; });
  EXPECT_FALSE(access.allowed(0, 0));
}

TEST(PeerAccess, HostDevicesReachEachOther) {
  requirePeerAccess({openDevice("host:0"), openDevice("host:63"), openDevice("host:0")});
}

} // namespace
